"""Own vehicle from URDF: a robot description becomes an airframe, is flown, and can be written for others.

    python examples/own_vehicle_from_urdf.py [FOLDER]

SDF, MJCF and PX4 parameters are read in the same way.
"""

import sys
import tempfile
from pathlib import Path

import haltere as ht
from haltere.airframe.foreign import ImportOptions, read_foreign

ROTOR = """
<link name="rotor_{k}"><inertial><mass value="0.01"/>
  <inertia ixx="1e-6" iyy="1e-6" izz="2e-6" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="motor_{k}" type="continuous"><parent link="body"/><child link="rotor_{k}"/>
  <origin xyz="{x} {y} 0.02"/><axis xyz="0 0 {spin}"/></joint>"""
BODY = """<robot name="own"><link name="body"><inertial><mass value="0.8"/>
  <inertia ixx="6e-3" iyy="6e-3" izz="1e-2" ixy="0" ixz="0" iyz="0"/></inertial></link>{rotors}</robot>"""

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
corners = [(0.15, -0.15, 1), (-0.15, 0.15, 1), (0.15, 0.15, -1), (-0.15, -0.15, -1)]
rotors = "".join(ROTOR.format(k=k, x=x, y=y, spin=spin) for k, (x, y, spin) in enumerate(corners))
(folder / "own.urdf").write_text(BODY.format(rotors=rotors), encoding="utf-8")

# URDF does not say how strong rotors are: N/(rad/s)^2, m, rad/s
given = ImportOptions(thrust_coefficient=8e-6, torque_ratio=0.016, max_speed=900.0)
airframe, notes = read_foreign(folder / "own.urdf", given)
print(airframe.name, airframe.body.mass, "kg,", [rotor.name for rotor in airframe.rotors])
print(*notes, sep="\n")

print("rank without a scale:", ht.observe(airframe, sensors=("pose", "imu")).rank)
exported = ht.export(airframe, to="mjcf", out=folder / "own", overwrite=True)
print(exported.files)
