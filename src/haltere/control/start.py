"""A vehicle already on its trajectory: the state in which a flight begins without a transient."""

import jax
import jax.numpy as jnp

from haltere.control.controller import GeometricController
from haltere.control.geometric import allocate
from haltere.dynamics import Model, State
from haltere.foundation.arrays import Array, ArrayLike
from haltere.lie import so3
from haltere.trajectory import Reference, Trajectory, flat_motion, flat_wrench


def start(
    model: Model,
    controller: GeometricController,
    trajectory: Trajectory,
    t: ArrayLike = 0.0,
    joint_angles: ArrayLike | None = None,
) -> State:
    """The state at time `t` (s) of a vehicle that flies `trajectory` exactly.

    Attitude, turning and rotor speeds follow by flatness from the numbers of `controller`, which should be
    the true ones.

    Args:
        model: the vehicle.
        controller: its numbers.
        trajectory: what it flies.
        t: when, s.
        joint_angles: (J,) rad at which its joints are held; zero where not given.
    """
    rest = State.rest(model)
    held = rest.joint_angles if joint_angles is None else jnp.asarray(joint_angles, model.dtype)
    position, wxyz, twist, speeds = _on(controller, trajectory.at(t))
    return State(position, wxyz, twist, held, rest.joint_rates, rest.rotor_angles, speeds)


@jax.jit
def _on(controller: GeometricController, reference: Reference) -> tuple[Array, Array, Array, Array]:
    vehicle, hover = controller.vehicle, controller.hover
    motion = flat_motion(vehicle, hover, reference)
    R_WB = motion.R_WH @ hover.frame.T
    twist = jnp.concatenate([R_WB.T @ reference.velocity, hover.frame @ motion.rate])
    u = allocate(controller, flat_wrench(vehicle, hover, motion)).u
    return reference.position, so3.to_wxyz(R_WB), twist, jnp.sqrt(jnp.maximum(u, 0.0))
