"""A sine whose frequency rises evenly, along any of the axes and in yaw.

With f_0, f_1 = `band_hz`, T = `duration`, amplitude A_j = `amplitude` and middle y_0 = `centre`:

    y_j(t) = y_0j + A_j sin(2 pi (f_0 t + (f_1 - f_0) t^2 / (2 T)))                                       (1)
"""

from dataclasses import dataclass

import jax.numpy as jnp

from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.trajectory.harmonic import CENTRE
from haltere.trajectory.reference import Trajectory, Values, four, numbers, taylor


@pytree
@dataclass(frozen=True)
class Chirp(Trajectory):
    """Equation (1); columns are x, y, z (m) and yaw (rad)."""

    centre: Array
    """(4,) m and rad."""
    amplitude: Array
    """(4,) m and rad."""
    band_hz: Array
    """(2,) frequency at the start and at the end, Hz."""
    duration: Array

    def derivatives(self, t: ArrayLike) -> Array:
        """(5, 4) by nested forward differentiation."""

        def flat(time: Array) -> Array:
            rise = (self.band_hz[1] - self.band_hz[0]) / (2.0 * self.duration)
            return self.centre + self.amplitude * jnp.sin(
                2.0 * jnp.pi * (self.band_hz[0] + rise * time) * time
            )

        return taylor(flat, t)


def chirp(
    amplitude: Values,
    band_hz: Values = (0.1, 1.0),
    duration: Values = 30.0,
    centre: Values = CENTRE,
    yaw: Values = 0.0,
) -> Chirp:
    """Equation (1) from plain numbers: `amplitude` (4,) m and rad, `centre` (3,) m, mean `yaw` rad."""
    return Chirp(four(centre, yaw), numbers(amplitude), numbers(band_hz), numbers(duration))
