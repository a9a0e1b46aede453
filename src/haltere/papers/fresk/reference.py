"""The "ground truth estimator" of [Fresk2017] Section IV-A: the position error, integrated until it vanishes.

    offset' = gain e,   e = position error of the hover, body axes, x and y only                           (1)

The mixer flies with `offset`; when the error stays zero the offset is the one that holds the vehicle, whatever its
cause: centre of mass, weak rotors, wash. A vehicle that drifts to +x is heavier there. It is slow: the loop gain g^2 m
/ (I k_x k_R) times `gain` must stay well below the bandwidth of the position.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from haltere.foundation.arrays import Array, pytree

GAIN = 0.01
"""1/s: with 25 m of drift per metre of offset, a time constant of 4 s."""


@pytree
@dataclass(frozen=True)
class ReferenceCog:
    """What has been integrated, (3,) m."""

    offset: Array

    def tick(self, error: Array, dt: float, gain: float = GAIN) -> "ReferenceCog":
        """After `dt` s with the position error (3,) in body axes, m."""
        across = jnp.asarray([1.0, 1.0, 0.0])
        return ReferenceCog(self.offset + dt * gain * across * error)
