"""The classical Runge-Kutta method, as simulator, filter and rollouts share it, and the slope of a state."""

import jax.numpy as jnp

from haltere.dynamics.state import Motion, State
from haltere.lie import so3

STAGES = ((0.0, 1.0 / 6.0), (0.5, 1.0 / 3.0), (0.5, 1.0 / 3.0), (1.0, 1.0 / 6.0))
"""Runge-Kutta of fourth order: where each stage stands on the last slope, and what it weighs."""


def rate_of_change(state: State, motion: Motion) -> State:
    """Time derivative of every entry of the state, as a `State`."""
    spin = jnp.concatenate([jnp.zeros(1, state.twist.dtype), state.twist[3:]])
    return State(
        position=state.R_WB @ state.twist[:3],
        wxyz=0.5 * so3.multiply_wxyz(state.wxyz, spin),
        twist=motion.acceleration,
        joint_angles=state.joint_rates,
        joint_rates=motion.joint_accelerations,
        rotor_angles=state.rotor_rates,
        rotor_rates=motion.rotor_accelerations,
    )
