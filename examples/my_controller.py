"""My own controller in the simulator: a function of its memory, the time and the state.

    python examples/my_controller.py [FOLDER]

It is written with jax.numpy because it is compiled together with the simulator.
"""

import sys
import tempfile
from pathlib import Path

import jax.numpy as jnp

import haltere as ht

HOVER, GOAL = 0.29, jnp.array([0.0, 0.0, 2.5])  # mean squared command at hover; where to go, m
MIXER = jnp.array([[0, -1, 1], [1, 0, -1], [0, 1, 1], [-1, 0, -1]])  # roll, pitch, yaw to each rotor


def controller(integral, time, state):
    """Hold a point: position error to tilt, tilt error to differences between rotors."""
    _, x, y, z = state.wxyz
    velocity, rates = state.twist[:3], state.twist[3:]
    error = GOAL - state.position
    integral = integral + 0.002 * error[2]
    wish = 0.12 * error - 0.14 * velocity  # acceleration along x and y as an angle, rad
    tilt = jnp.clip(jnp.array([-wish[1], wish[0]]), -0.3, 0.3)
    torque = (
        jnp.append(0.25 * (tilt - 2.0 * jnp.array([x, y])), -0.2 * z) - jnp.array([0.04, 0.04, 0.2]) * rates
    )
    thrust = HOVER * (1.0 + 0.4 * error[2] - 0.4 * velocity[2] + 0.2 * integral)
    return integral, jnp.sqrt(jnp.clip(thrust + MIXER @ torque, 0.0, 1.0))


folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
scenario = {"airframe": "hummingbird", "duration": 6.0, "trajectory": {"centre": [0.5, -0.5, 2.0]}}
flight = ht.simulate(scenario, controller=controller, memory=0.0)
print(flight)  # sensors with noise, motors with lag, and the truth beside them
print("ends at", flight["truth.position"].values[-1].round(3), "m")
print("saved as", flight.save(folder / "own.mcap", overwrite=True))
