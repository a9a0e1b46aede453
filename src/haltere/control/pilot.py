"""Pilots for the simulator, functions (memory, time, state) -> (memory, `Command`), and the state they begin in."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from haltere.control.controller import GeometricController, Integral
from haltere.control.geometric import allocate, control_step
from haltere.dynamics import Model, State
from haltere.dynamics.motors import Motors
from haltere.foundation.arrays import Array, ArrayLike
from haltere.lie import so3
from haltere.simulation.closed_loop import Command, Controller
from haltere.trajectory import Reference, Trajectory, flat_motion, flat_wrench

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
        motors: how the pilot makes a command of a rotor speed.
        joints: (J,) joint angles in rad to command, or a function of time in s.
        period: time between two calls, s.
    """
    angles = _at_time(joints)

    def pilot(integral: Integral, time: Array, state: State) -> tuple[Integral, Command]:
        squared_speeds, later = control_step(controller, integral, state, trajectory.at(time), period)
        return later, Command(motors.command(jnp.sqrt(squared_speeds)), angles(time))

    return pilot, Integral.zero()


def stay_at_rest(rotors: int, joints: JointAngles) -> tuple[Controller[Integral], Integral]:
    """The pilot that commands nothing to so many rotors, and its memory."""
    angles = _at_time(joints)

    def pilot(memory: Integral, time: Array, state: State) -> tuple[Integral, Command]:
        del state
        return memory, Command(jnp.zeros(rotors), angles(time))

    return pilot, Integral.zero()


def _at_time(joints: JointAngles) -> Callable[[Array], Array]:
    return joints if callable(joints) else lambda time: joints


def start_on_trajectory(
    model: Model,
    controller: GeometricController,
    trajectory: Trajectory,
    t: ArrayLike = 0.0,
    joint_angles: ArrayLike | None = None,
) -> State:
    """The state at time `t` (s) of a vehicle that flies `trajectory` exactly.

    Attitude, angular rates and rotor speeds follow by flatness from the numbers of `controller`, which should be
    the true ones.

    Args:
        model: the vehicle.
        controller: its numbers.
        trajectory: what it flies.
        t: when, s.
        joint_angles: (J,) rad of its joints; zero where not given.
    """
    rest = State.rest(model)
    held = rest.joint_angles if joint_angles is None else jnp.asarray(joint_angles, model.dtype)
    position, wxyz, twist, speeds = _state_on(controller, trajectory.at(t))
    return State(position, wxyz, twist, held, rest.joint_rates, rest.rotor_angles, speeds)


@jax.jit
def _state_on(controller: GeometricController, reference: Reference) -> tuple[Array, Array, Array, Array]:
    vehicle, hover = controller.vehicle, controller.hover
    motion = flat_motion(vehicle, hover, reference)
    R_WB = motion.R_WH @ hover.frame.T
    twist = jnp.concatenate([R_WB.T @ reference.velocity, hover.frame @ motion.rate])
    u = allocate(controller, flat_wrench(vehicle, hover, motion)).u
    return reference.position, so3.to_wxyz(R_WB), twist, jnp.sqrt(jnp.maximum(u, 0.0))
