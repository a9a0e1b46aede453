"""Throw: where is the IMU? Thrown by hand with motors off, the vehicle tumbles, and its accelerometer shows it.

python examples/throw.py [FOLDER]
"""

import sys
import tempfile
from pathlib import Path

import haltere as ht
from haltere.identification.tumble.imu_position import locate_imu
from haltere.identification.tumble.tumble import find_tumbles

SCENARIO = """
airframe = "hummingbird"
duration = 1.0
[trajectory]
kind = "throw"
velocity = [0, 0, 5]
spin = {spin}
[controller]
kind = "none"
"""
folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
throws = []
for name, spin in {
    "roll": [12, 0.5, 0.5],
    "pitch": [0.5, 12, 0.5],
}.items():  # two axes: one shows nothing along itself
    scenario = folder / f"{name}.toml"
    scenario.write_text(SCENARIO.format(spin=spin), encoding="utf-8")
    flight = ht.simulate(scenario)
    throws += find_tumbles(flight)

found = locate_imu(throws)
print("IMU from the centre of mass, m:", found.position.round(4))
print("95 % ellipsoid, half axes, m:", found.ellipsoid()[0].round(4))
print("the airframe file has:", ht.load_airframe("hummingbird").imu[0].position)
