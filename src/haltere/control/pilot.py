"""Pilots for the simulator: functions (memory, time, state) -> (memory, `Command`) that a closed loop calls."""

from collections.abc import Callable

import jax.numpy as jnp

from haltere.control.controller import GeometricController, Integral
from haltere.control.geometric import step as control_step
from haltere.dynamics import State
from haltere.dynamics.motors import Motors
from haltere.foundation.arrays import Array
from haltere.simulation.closed_loop import Command, Controller
from haltere.trajectory import Trajectory

JointAngles = Array | Callable[[Array], Array]
"""(J,) rad to command: always the same, or at a time in s."""


def track(
    controller: GeometricController,
    trajectory: Trajectory,
    motors: Motors,
    joints: JointAngles,
    *,
    period: float,
) -> tuple[Controller[Integral], Integral]:
    """The pilot that follows `trajectory`, and its first memory.

    Args:
        controller: what the pilot knows.
        trajectory: what to fly.
        motors: how the pilot turns a rotor speed into a command.
        joints: (J,) joint angles in rad to command, or a function of time in s.
        period: time between two calls, s.
    """
    angles = _at_time(joints)

    def pilot(integral: Integral, time: Array, state: State) -> tuple[Integral, Command]:
        squared_speeds, later = control_step(controller, integral, state, trajectory.at(time), period)
        return later, Command(motors.command(jnp.sqrt(squared_speeds)), angles(time))

    return pilot, Integral.zero()


def rest(rotors: int, joints: JointAngles) -> tuple[Controller[Integral], Integral]:
    """The pilot that commands nothing to so many rotors, and its memory."""
    angles = _at_time(joints)

    def pilot(memory: Integral, time: Array, state: State) -> tuple[Integral, Command]:
        del state
        return memory, Command(jnp.zeros(rotors), angles(time))

    return pilot, Integral.zero()


def _at_time(joints: JointAngles) -> Callable[[Array], Array]:
    return joints if callable(joints) else lambda time: joints
