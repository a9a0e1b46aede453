"""Names of foreign files become names that airframe files can hold, and a note says so."""

import pytest

from haltere.airframe import dumps, loads
from haltere.airframe.foreign import ImportOptions, read_foreign

OPTIONS = ImportOptions(
    mass=1.0, inertia=(0.01, 0.01, 0.02), thrust_coefficient=1e-6, torque_ratio=0.01, max_speed=900.0
)
INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
URDF = f"""<robot name="Mein Flügel &lt;b&gt;"><link name="base link">{INERTIAL}</link>
<link name="rotor/1&#10;x">{INERTIAL}</link><link name="rotor_1_x">{INERTIAL}</link>
<link name="imu [/b]"/>
<joint name="a" type="continuous"><parent link="base link"/><child link="rotor/1&#10;x"/><axis xyz="0 0 1"/></joint>
<joint name="b" type="continuous"><parent link="base link"/><child link="rotor_1_x"/><axis xyz="0 0 1"/></joint>
<joint name="c" type="fixed"><parent link="base link"/><child link="imu [/b]"/></joint></robot>"""
SDF = """<sdf><model name="a b"><link name="base"><inertial><mass>1</mass></inertial></link></model></sdf>"""
MJCF = """<mujoco model="é"><worldbody><body name="b"><inertial mass="1" diaginertia="1 1 1"/>
<site name="front left"/></body></worldbody>
<actuator><general site="front left" gear="0 0 1e-6 0 0 -1e-8"/></actuator></mujoco>"""
PX4 = "param set CA_ROTOR_COUNT 1\n"


@pytest.mark.parametrize(
    ("file", "text", "names"),
    [
        ("a.urdf", URDF, ("Mein_Flugel_b", "rotor_1_x_2", "rotor_1_x", "imu_b")),
        (
            "a.sdf",
            SDF.replace("</mass>", "</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>"),
            ("a_b",),
        ),
        ("a.xml", MJCF, ("e", "front_left")),
        ("my vehicle.params", PX4, ("my_vehicle", "m1", "imu")),
    ],
)
def test_names_are_changed_and_told(tmp_path, file, text, names):
    path = tmp_path / file
    path.write_text(text, encoding="utf-8")
    airframe, notes = read_foreign(path, OPTIONS)
    found = (airframe.name, *(rotor.name for rotor in airframe.rotors), *(imu.name for imu in airframe.imu))
    assert found == names
    (note,) = (note for note in notes if "names that were changed" in note)
    assert names[0] in note
    assert loads(dumps(airframe)) == airframe
