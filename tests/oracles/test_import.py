"""Descriptions by others become airframes with the same mass matrix as Pinocchio and MuJoCo see; and there and back."""

import jax.numpy as jnp
import mujoco
import numpy as np
import pinocchio as pin
import pytest

from haltere.airframe import AirframeError, from_catalogue
from haltere.airframe.foreign import ImportOptions, read_foreign
from haltere.dynamics import Compact, Model
from haltere.exporters import render
from haltere.identification.described import DescribedVehicle

from .test_export import in_vacuum

URDF = """<robot name="strange">
<link name="base"><inertial><origin xyz="0.01 0 0.02" rpy="0.3 -0.2 0.5"/><mass value="1.2"/>
  <inertia ixx="0.02" iyy="0.025" izz="0.04" ixy="0.001" ixz="0" iyz="0.002"/></inertial></link>
<link name="battery"><inertial><origin xyz="0 0.01 0" rpy="0 0 1"/><mass value="0.4"/>
  <inertia ixx="0.001" iyy="0.002" izz="0.0025" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="b" type="fixed"><parent link="base"/><child link="battery"/>
  <origin xyz="0 0.02 -0.03" rpy="0.1 0.2 0.3"/></joint>
<link name="imu_link"/>
<joint name="i" type="fixed"><parent link="battery"/><child link="imu_link"/><origin xyz="0.01 0 0.05"/></joint>
<link name="arm"><inertial><origin xyz="0.1 0 0"/><mass value="0.2"/>
  <inertia ixx="0.0001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="a" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
  <origin xyz="0 0 -0.05" rpy="0 0 0.7"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<link name="rotor_1"/>
<joint name="r" type="continuous"><parent link="base"/><child link="rotor_1"/><axis xyz="0 0 -1"/>
  <origin xyz="0.2 0 0.03"/></joint></robot>"""

SDF = """<sdf version="1.9"><model name="gz"><link name="base_link"><pose>0 0 0.24 0 0 0</pose>
<inertial><mass>2.0</mass><inertia><ixx>0.02</ixx><iyy>0.02</iyy><izz>0.04</izz></inertia></inertial>
<sensor name="imu_sensor" type="imu"/></link>
<link name="rotor_0"><pose>0.174 -0.174 0.30 0 0 0</pose><inertial><mass>0.016</mass>
<inertia><ixx>3.8e-7</ixx><iyy>2.6e-5</iyy><izz>2.6e-5</izz></inertia></inertial></link>
<joint name="rotor_0_joint" type="revolute"><parent>base_link</parent><child>rotor_0</child>
<axis><xyz>0 0 1</xyz></axis></joint>
<plugin filename="gz-sim-multicopter-motor-model-system" name="x"><jointName>rotor_0_joint</jointName>
<linkName>rotor_0</linkName><turningDirection>ccw</turningDirection><timeConstantUp>0.0125</timeConstantUp>
<maxRotVelocity>1000.0</maxRotVelocity><motorConstant>8.54858e-06</motorConstant>
<momentConstant>0.016</momentConstant></plugin></model></sdf>"""


CIRCLE = """<sdf><model name="m"><link name="a"/><link name="b"/><link name="c"/>
<joint type="fixed"><parent>b</parent><child>c</child></joint>
<joint type="fixed"><parent>c</parent><child>b</child></joint></model></sdf>"""


def test_a_strange_urdf_weighs_what_pinocchio_says(tmp_path):
    path = tmp_path / "strange.urdf"
    path.write_text(URDF, encoding="utf-8")
    airframe, notes = read_foreign(path, ImportOptions(thrust_coefficient=1e-5, torque_ratio=0.02))
    model = pin.buildModelFromXML(URDF, pin.JointModelFreeFlyer())
    data = model.createData()
    q = pin.neutral(model)
    arm = model.joints[model.getJointId("a")]
    q[arm.idx_q] = 0.6
    pin.centerOfMass(model, data, q)
    G = pin.crba(model, data, q)[:6, :6]
    G = np.triu(G) + np.triu(G, 1).T
    ours = np.asarray(Compact.from_model(Model.from_airframe(airframe), jnp.asarray([0.6])).inertia)
    np.testing.assert_allclose(ours, G, rtol=1e-9, atol=1e-12)
    assert [r.spin for r in airframe.rotors] == ["cw"]
    assert any("check it" in note for note in notes)
    frame = data.oMf[model.getFrameId("imu_link")]
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    frame = data.oMf[model.getFrameId("imu_link")].translation
    np.testing.assert_allclose(airframe.imu[0].position, frame, atol=1e-12)


def test_gazebos_motor_plugin_names_everything(tmp_path):
    path = tmp_path / "gz.sdf"
    path.write_text(SDF, encoding="utf-8")
    airframe, _ = read_foreign(path)
    rotor = airframe.rotors[0]
    assert (rotor.spin, rotor.torque_ratio, rotor.time_constant) == ("ccw", 0.016, 0.0125)
    assert rotor.speed_limits == (0.0, 1000.0)
    np.testing.assert_allclose(rotor.position, (0.174, -0.174, 0.06), atol=1e-12)
    assert airframe.total_mass == pytest.approx(2.016)
    assert airframe.imu[0].name == "imu"


@pytest.mark.parametrize("name", ["indiflight-3inch", "hong-tilt-wing", "quad-arm"])
@pytest.mark.parametrize("target", ["urdf", "mjcf"])
def test_there_and_back_again(tmp_path, name, target):
    airframe = in_vacuum(name)
    document = render(DescribedVehicle.from_airframe(airframe), target).documents[0]
    path = tmp_path / f"vehicle{document.ending}"
    path.write_text(document.text, encoding="utf-8")
    first = airframe.rotors[0]
    names = tuple(r.name for r in airframe.rotors)
    given = ImportOptions(
        thrust_coefficient=first.thrust_coefficient, torque_ratio=first.torque_ratio, rotors=names
    )
    back, _ = read_foreign(path, given)
    before, after = Model.from_airframe(airframe), Model.from_airframe(back)
    angles = jnp.linspace(0.1, 0.3, before.topology.joints)
    order = [after.topology.joint_names.index(n) for n in before.topology.joint_names]
    turned = jnp.zeros_like(angles).at[jnp.asarray(order, int)].set(angles)
    np.testing.assert_allclose(
        Compact.from_model(after, turned).inertia,
        Compact.from_model(before, angles).inertia,
        rtol=1e-9,
        atol=1e-12,
    )
    assert {r.name: r.spin for r in back.rotors} == {r.name: r.spin for r in airframe.rotors}
    if target == "mjcf":
        assert [r.name for r in back.rotors] == list(names)
        for a, b in zip(airframe.rotors, back.rotors, strict=True):
            np.testing.assert_allclose(b.position, a.position, atol=1e-12)
            np.testing.assert_allclose(b.axis, a.axis, atol=1e-12)
            assert b.thrust_coefficient == pytest.approx(a.thrust_coefficient)
            assert b.torque_ratio == pytest.approx(a.torque_ratio)


def test_mujoco_weighs_the_same(tmp_path):
    text = render(DescribedVehicle.from_airframe(in_vacuum("quad-arm")), "mjcf").documents[0].text
    model = mujoco.MjModel.from_xml_string(text)
    path = tmp_path / "v.xml"
    path.write_text(text, encoding="utf-8")
    assert read_foreign(path)[0].total_mass == pytest.approx(float(np.sum(model.body_mass)), rel=1e-12)


def test_px4_parameters_there_and_back(tmp_path):
    airframe = from_catalogue("x500")
    path = tmp_path / "x500.px4.params"
    path.write_text(
        render(DescribedVehicle.from_airframe(airframe), "px4").documents[0].text, encoding="utf-8"
    )
    with pytest.raises(AirframeError, match="--mass, --inertia"):
        read_foreign(path, ImportOptions(max_speed=1000.0))
    top = airframe.rotors[0].speed_limits[1]
    back, notes = read_foreign(path, ImportOptions(mass=2.0, inertia=(0.02, 0.02, 0.04), max_speed=top))
    again = render(DescribedVehicle.from_airframe(back), "px4").documents[0].text
    ours = [x for x in path.read_text(encoding="utf-8").splitlines() if x.startswith("param set CA_ROTOR")]
    theirs = [x for x in again.splitlines() if x.startswith("param set CA_ROTOR")]
    for a, b in zip(ours, theirs, strict=True):
        assert a.split()[2] == b.split()[2]
        assert float(a.split()[3]) == pytest.approx(float(b.split()[3]), abs=2e-6)
    assert notes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "CA_ROTOR_COUNT"),
        ("<html/>", "outermost element"),
        ("<robot><link", "no XML"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><robot/>', "entities"),
        ("<robot name='x'/>", "links without parent"),
        ("<mujoco/>", "no body"),
        ("<sdf/>", "no model"),
        (CIRCLE, "circle"),
        (URDF.replace('"1.2"', '"heavy"'), "heavy"),
        (URDF, "thrust-coefficient"),
    ],
)
def test_faults_are_told(tmp_path, text, said):
    path = tmp_path / "file.xml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(AirframeError, match=said):
        read_foreign(path)


def broken(text, draw):
    """`text` with some words dropped, doubled or exchanged, or cut off."""
    words = text.replace(">", "> ").replace("<", " <").split(" ")
    for _ in range(draw.integers(1, 4)):
        i, j = draw.integers(0, len(words), 2)
        kind = draw.integers(4)
        if kind == 0:
            words[i] = ""
        elif kind == 1:
            words[i] = words[j]
        elif kind == 2:
            words[i] = str(
                draw.choice(["nan", "-1", "1e400", "name='x'", "<link name='q'/>", "0 0 0", "body"])
            )
        else:
            words = words[: max(i, 5)]
    return " ".join(words)


@pytest.mark.parametrize("kind", ["urdf", "sdf", "mjcf", "px4"])
def test_broken_files_are_told_or_read_but_never_a_traceback(tmp_path, kind):
    draw = np.random.default_rng(7)
    subject = DescribedVehicle.from_airframe(in_vacuum("quad-arm"))
    text = {"urdf": URDF, "sdf": SDF}.get(kind) or render(subject, kind).documents[0].text
    path = tmp_path / "file"
    given = ImportOptions(2.0, (0.02, 0.02, 0.04), 1e-5, 0.02, 900.0)
    read, said = 0, []
    for _ in range(400):
        path.write_text(broken(text, draw), encoding="utf-8")
        try:
            read_foreign(path, given)
            read += 1
        except AirframeError as error:
            said.append(str(error))
    assert read > 0
    assert [text for text in said if "\n" in text] == []
