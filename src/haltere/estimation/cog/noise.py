"""How noisy each row is, learnt in flight from how far it wanders within 0.2 to 1.6 s.

With r the residual of a row at the windows, every half window, the mean squares of its changes are fitted by white
noise and two Ornstein-Uhlenbeck processes, all not negative:

    D(n) = mean (r_k - r_(k-n))^2 = 2 a + 2 b (1 - exp(-n h / fast)) + 2 c (1 - exp(-n h / slow))           (1)
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from haltere.estimation.cog.settings import CogSettings
from haltere.foundation.arrays import Array, pytree

LAGS = (2, 4, 8, 16)
ROWS = 5
_MASKS = np.asarray([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1) if i + j + k], float)


@pytree
@dataclass(frozen=True)
class NoiseLevels:
    """What has been seen of the rows."""

    residuals: Array
    """(17, ROWS) the last first; NaN where there was none."""
    squared_changes: Array
    """(4, ROWS) sums of equation (1), faded."""
    weights: Array
    """(4, ROWS) of what was summed."""
    variances: Array
    """(3, ROWS) a, b, c."""

    @classmethod
    def begin(cls, settings: CogSettings, lever: Array) -> "NoiseLevels":
        """As little is known as the settings say, with the weight of a few seconds."""
        torque, force = settings.torque_noise * lever, jnp.asarray(settings.force_noise)
        size = jnp.concatenate([jnp.full(2, torque), jnp.full(3, force)]) ** 2
        weights = jnp.full((4, ROWS), 10.0)
        variances = jnp.stack([0.5 * size, 0.25 * size, 0.25 * size])
        design = _design(settings)
        return cls(
            jnp.full((LAGS[-1] + 1, ROWS), jnp.nan), weights * (design @ variances), weights, variances
        )

    def forgetting_residuals(self) -> "NoiseLevels":
        """After a change, across which residuals do not compare."""
        return NoiseLevels(
            jnp.full_like(self.residuals, jnp.nan), self.squared_changes, self.weights, self.variances
        )

    def add(self, settings: CogSettings, residual: Array) -> "NoiseLevels":
        """With the residuals (ROWS,) of a window; NaN where there is none."""
        r = jnp.concatenate([residual[None], self.residuals[:-1]])
        change = r[0] - r[jnp.asarray(LAGS)]
        there = jnp.isfinite(change)
        usual = self.squared_changes / self.weights
        square = jnp.minimum(jnp.where(there, change, 0.0) ** 2, 16.0 * usual)
        keep = jnp.where(there, jnp.exp(-0.5 * settings.window / settings.noise_memory), 1.0)
        squares = keep * self.squared_changes + square
        weights = keep * self.weights + there
        return NoiseLevels(r, squares, weights, fit_variances(settings, squares / weights))


def _design(settings: CogSettings) -> np.ndarray:
    """(4, 3) of equation (1)."""
    lag = np.asarray(LAGS) * 0.5 * settings.window
    fast, slow = 1.0 - np.exp(-lag / settings.fast), 1.0 - np.exp(-lag / settings.slow)
    return 2.0 * np.stack([np.ones_like(lag), fast, slow], axis=1)


def fit_variances(settings: CogSettings, changes: Array) -> Array:
    """(3, ROWS) from D (4, ROWS): least squares of relative deviations, the best set of terms that are not negative."""
    design = _design(settings)
    X = design[None] / jnp.maximum(changes.T, 1e-30)[:, :, None]
    N, b = jnp.einsum("rli,rlj->rij", X, X), jnp.einsum("rli->ri", X)
    scale = jnp.sqrt(jnp.einsum("rii->ri", N))
    N, b = N / (scale[:, :, None] * scale[:, None, :]), b / scale
    masks = jnp.asarray(_MASKS)
    both = masks[:, :, None] * masks[:, None, :]
    system = N[:, None] * both + jnp.eye(3) * (1.0 - masks[:, None, :] + 1e-9)
    found = _solve3(system, b[:, None] * masks)
    worse = jnp.any(found < 0.0, axis=-1)
    misfit = -jnp.einsum("rmi,ri->rm", found, b)
    best = jnp.argmin(jnp.where(worse, jnp.inf, misfit), axis=1)
    return jnp.take_along_axis(found, best[:, None, None], axis=1)[:, 0].T / scale.T


def _solve3(A: Array, b: Array) -> Array:
    """X of A x = b for matrices (..., 3, 3), by Cramer's rule."""
    rows = A[..., 0, :], A[..., 1, :], A[..., 2, :]
    first = jnp.cross(rows[1], rows[2])
    adjugate = jnp.stack([first, jnp.cross(rows[2], rows[0]), jnp.cross(rows[0], rows[1])], axis=-1)
    det = jnp.sum(rows[0] * first, axis=-1)
    return jnp.einsum("...ij,...j->...i", adjugate, b) / det[..., None]
