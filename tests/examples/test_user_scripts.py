"""Four scripts as a user writes them from the documentation alone, each in a process of its own.

Nothing is configured: JAX has its own defaults (32 bits), and only `import haltere as ht` is used.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

LOG_TO_PARAMETERS = """
import haltere as ht

flight = ht.read("log.mcap")
mended = ht.diagnose(flight).mended
result = ht.identify(mended, known={"mass": (0.5, 0.005)})
thrust = result.parameters["rotors.m1.thrust_coefficient"]
assert abs(thrust.value - 0.5 * 9.81 / 4 / 800.0**2) < 3 * thrust.sigma
assert "rotors.m1.effectiveness.p" in result.parameters
files = result.save("out")
assert files["report"].exists()
"""
ONLINE_FILTER = """
import numpy as np
import haltere as ht

vehicle = ht.VehicleFilter("hummingbird", known={"mass": (0.716, 1e-3)})
imu = ([0.0, 0.0, 9.81], [0.0, 0.0, 0.0])
pose = ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0])
belief = vehicle.begin(pose=pose, rotor_speeds=np.full(4, 453.2), imu=imu)
for k in range(40):
    belief = vehicle.predict(belief, imu, np.full(4, 453.2), dt=0.005)
    if k % 4 == 3:
        belief = vehicle.correct(belief, pose)
assert belief.causal.precision.dtype == np.float64
mass = vehicle.estimate(belief)["mass"]
assert abs(mass.value - 0.716) < 0.01
"""
OWN_CONTROLLER = """
import jax.numpy as jnp
import haltere as ht

def controller(memory, time, state):
    height = state.position[2]
    return memory, jnp.sqrt(0.29 + 0.1 * (2.0 - height) - 0.1 * state.twist[2]) * jnp.ones(4)

scenario = {"airframe": "hummingbird", "duration": 2.0, "trajectory": {"kind": "hover", "centre": [0, 0, 1.5]}}
flight = ht.simulate(scenario, controller=controller)
assert flight["truth.position"].values[-1][2] > 1.6
"""
FLEET = """
from concurrent.futures import ProcessPoolExecutor
import haltere as ht

if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        fleet = ht.identify_fleet(["log.mcap", "log.mcap", "missing.ulg"], executor=pool)
    assert len(fleet.results) == 2
    assert len(fleet.failures) == 1
    fleet.report("fleet.html")
"""


def run(folder, code):
    script = folder / "script.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def log(tmp_path):
    from tests.docs.test_architecture import made_log

    made_log(tmp_path / "log.mcap")
    return tmp_path


def test_a_log_becomes_parameters(log):
    run(log, LOG_TO_PARAMETERS)


def test_a_fleet_over_a_process_pool(log):
    run(log, FLEET)


@pytest.mark.slow
def test_a_filter_is_fed_sample_by_sample(tmp_path):
    run(tmp_path, ONLINE_FILTER)


@pytest.mark.slow
def test_an_own_controller_flies(tmp_path):
    run(tmp_path, OWN_CONTROLLER)
