"""The moving part of a filter's state, of a vehicle in a turn."""

import jax.numpy as jnp

from haltere.lie import so3


def turning_vehicle():
    """The moving blocks, with biases."""
    return {
        "position": jnp.asarray([0.3, -0.2, 1.5]),
        "velocity": jnp.asarray([1.0, -0.5, 0.3]),
        "attitude": so3.exp_wxyz(jnp.asarray([0.3, -0.2, 0.8])),
        "rates": jnp.asarray([0.9, -1.3, 0.7]),
        "accel_bias": jnp.asarray([0.1, -0.1, 0.05]),
        "gyro_bias": jnp.asarray([0.01, 0.0, -0.01]),
    }
