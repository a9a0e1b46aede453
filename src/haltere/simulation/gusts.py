"""Wind: a constant part and Dryden turbulence.

The three components of a gust are white noise through the Dryden filters at air speed V ([MIL8785C], section 3.7), with
T = L / V:

    H_u(s) = s_u sqrt(2 T / pi) / (1 + T s)                                                           (1)
    H_v(s) = s_v sqrt(T / pi) (1 + sqrt(3) T s) / (1 + T s)^2,  H_w alike                              (2)

in their state-space form, made discrete exactly over one step and started in the steady state, so that the variance is
s^2 from the first sample on. u is along the mean wind, w is up.
"""

from dataclasses import dataclass
from typing import Self

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from haltere.foundation.arrays import Array

FOOT = 0.3048


@dataclass(frozen=True)
class Gusts:
    """Turbulence by standard deviation (m/s) and length scale (m) along, across and up, at air speed V (m/s)."""

    sigma: tuple[float, float, float]
    length: tuple[float, float, float]
    speed: float

    @classmethod
    def low_altitude(cls, wind_speed: float, altitude: float = 5.0, air_speed: float | None = None) -> Self:
        """Below 300 m, from the wind speed at 6 m above the ground ([MIL8785C], low-altitude model)."""
        height = max(altitude, 3.0) / FOOT
        root = 0.177 + 0.000823 * height
        sigma_w = 0.1 * wind_speed
        sigma_u = sigma_w / root**0.4
        long = height / root**1.2 * FOOT
        return cls(
            (sigma_u, sigma_u, sigma_w), (long, long, max(altitude, 3.0)), air_speed or max(wind_speed, 1.0)
        )

    @property
    def diffusion(self) -> tuple[float, float, float]:
        """(along, across, up) of the random walk that moves as these gusts do over short times, m/s/sqrt(s)."""
        along, across, up = (
            s * (self.speed / L) ** 0.5 for s, L in zip(self.sigma, self.length, strict=True)
        )
        return 2.0**0.5 * along, 3.0**0.5 * across, 3.0**0.5 * up

    def series(self, key: Array, samples: int, dt: float) -> Array:
        """(samples, 3) gust velocities in (along, across, up) at steps of `dt` seconds, m/s."""
        keys = jax.random.split(key, 3)
        columns = [self._component(keys[i], samples, dt, i) for i in range(3)]
        return jnp.stack(columns, axis=1)

    def _component(self, key: Array, samples: int, dt: float, i: int) -> Array:
        sigma, T = self.sigma[i], self.length[i] / self.speed
        if i == 0:
            A, B, C = np.array([[-1.0 / T]]), np.array([[1.0]]), np.array([sigma * np.sqrt(2.0 / T)])
        else:
            A = np.array([[0.0, 1.0], [-1.0 / T**2, -2.0 / T]])
            B = np.array([[0.0], [1.0]])
            C = sigma * np.sqrt(1.0 / T) * np.array([1.0 / T, np.sqrt(3.0)])
        n = len(A)
        block = scipy.linalg.expm(np.block([[-A, B @ B.T], [np.zeros((n, n)), A.T]]) * dt)
        step = block[n:, n:].T
        spread = step @ block[:n, n:]
        steady = scipy.linalg.solve_continuous_lyapunov(A, -B @ B.T)
        root, first = (np.linalg.cholesky(0.5 * (m + m.T)) for m in (spread, steady))
        draws = jax.random.normal(key, (samples, n))

        def advance(x: Array, draw: Array) -> tuple[Array, Array]:
            return jnp.asarray(step) @ x + jnp.asarray(root) @ draw, jnp.asarray(C) @ x

        return jax.lax.scan(advance, jnp.asarray(first) @ draws[0], draws)[1]


def along_wind(mean: Array, gusts: Array) -> Array:
    """(samples, 3) gusts rotated from (along, across, up) to world axes; along x where there is no mean wind."""
    heading = jnp.arctan2(mean[1], mean[0])
    c, s = jnp.cos(heading), jnp.sin(heading)
    return jnp.stack(
        [c * gusts[:, 0] - s * gusts[:, 1], s * gusts[:, 0] + c * gusts[:, 1], gusts[:, 2]], axis=1
    )
