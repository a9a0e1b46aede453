"""Exact derivatives of the accelerations, by automatic differentiation of the one physics source.

The configuration is perturbed on the right: translation in body axes, rotation vector in body axes, then joint and
rotor angles, so the columns agree with the tangent of Pinocchio's free-flyer. [Hong2021] announces such derivatives
and prints none.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from haltere.dynamics.model import Model
from haltere.dynamics.solve import forward_dynamics
from haltere.dynamics.state import Drive, Environment, State
from haltere.foundation.arrays import Array, compiled, pytree


@pytree
@dataclass(frozen=True)
class Derivatives:
    """Jacobians of (base acceleration, joint accelerations, rotor accelerations), n = 6 + J + R rows."""

    d_configuration: Array
    """(n, n) by (translation, rotation, joint angles, rotor angles)."""
    d_velocity: Array
    """(n, n) by (twist, joint rates, rotor rates)."""
    d_drive: Array
    """(n, J + R) by the joints' and rotors' torques or accelerations."""


@compiled
def acceleration_derivatives(
    model: Model,
    state: State,
    drive: Drive,
    environment: Environment | None = None,
    link_wrenches: Array | None = None,
) -> Derivatives:
    """Derivatives of all accelerations at this state."""
    joints, rotors = model.topology.joints, model.topology.rotors

    def accelerations(configuration: Array, velocity: Array, driven: Array) -> Array:
        moved = Drive(
            drive.joints + driven[:joints],
            drive.rotors + driven[joints:],
            drive.joint_torque_given,
            drive.rotor_torque_given,
        )
        there = state.displaced(configuration, velocity)
        motion = forward_dynamics(model, there, moved, environment, link_wrenches)
        return jnp.concatenate([motion.acceleration, motion.joint_accelerations, motion.rotor_accelerations])

    still = jnp.zeros(6 + joints + rotors, model.dtype)
    return Derivatives(*jax.jacfwd(accelerations, argnums=(0, 1, 2))(still, still, still[6:]))
