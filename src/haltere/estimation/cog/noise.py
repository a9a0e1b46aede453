"""How noisy each row is, learnt in flight from how far it wanders within 0.2 to 6.4 s.

With r the residual of a row at the windows, every half window, the mean squares of its changes are fitted by white
noise and two Ornstein-Uhlenbeck processes, all not negative:

    D(n) = mean (r_k - r_(k-n))^2 = 2 a + 2 b (1 - exp(-n h / fast)) + 2 c (1 - exp(-n h / slow))           (1)

The memory of the slow one is the longest of `MEMORIES` that fits as well as the best: wind that turns within 3 s
averages out of an offset in 20 s, wind that turns within 12 s does not.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np

from haltere.estimation.cog.settings import CogSettings
from haltere.foundation.arrays import Array, pytree

LAGS = (2, 4, 8, 16, 32, 64)
ROWS = 5
MEMORIES = (1.5, 3.0, 6.0, 12.0)
"""s of the slow disturbances."""
AS_WELL = 0.05
"""Sum of squared deviations by which a longer memory may fit worse than the best."""
SPANS = 10.0
"""Times its length over which a lag is remembered, at least."""
_MASKS = np.asarray([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1) if i + j + k], float)


@pytree
@dataclass(frozen=True)
class NoiseLevels:
    """What has been seen of the rows."""

    residuals: Array
    """(65, ROWS) the last first; NaN where there was none."""
    squared_changes: Array
    """(6, ROWS) sums of equation (1), faded."""
    weights: Array
    """(6, ROWS) of what was summed."""
    levels: Array
    """(4, ROWS) a, b, c and the memory of c, s."""

    @classmethod
    def begin(cls, settings: CogSettings, lever: Array) -> "NoiseLevels":
        """As little is known as the settings say, with the weight of a few seconds."""
        torque, force = settings.torque_noise * lever, jnp.asarray(settings.force_noise)
        size = jnp.concatenate([jnp.full(2, torque), jnp.full(3, force)]) ** 2
        weights = jnp.full((len(LAGS), ROWS), 10.0)
        first = jnp.stack([0.5 * size, 0.25 * size, 0.25 * size])
        levels = jnp.concatenate([first, jnp.full((1, ROWS), MEMORIES[-1])])
        none = jnp.full((LAGS[-1] + 1, ROWS), jnp.nan)
        return cls(none, weights * (_design(settings)[-1] @ first), weights, levels)

    def forgetting_residuals(self) -> "NoiseLevels":
        """After a change, across which residuals do not compare."""
        return replace(self, residuals=jnp.full_like(self.residuals, jnp.nan))

    def add(self, settings: CogSettings, residual: Array) -> "NoiseLevels":
        """With the residuals (ROWS,) of a window; NaN where there is none."""
        r = jnp.concatenate([residual[None], self.residuals[:-1]])
        change = r[0] - r[jnp.asarray(LAGS)]
        there = jnp.isfinite(change)
        usual = self.squared_changes / self.weights
        square = jnp.minimum(jnp.where(there, change, 0.0) ** 2, 16.0 * usual)
        memory = jnp.maximum(settings.noise_memory, SPANS * 0.5 * settings.window * jnp.asarray(LAGS))
        keep = jnp.where(there, jnp.exp(-0.5 * settings.window / memory)[:, None], 1.0)
        squares = keep * self.squared_changes + square
        weights = keep * self.weights + there
        return NoiseLevels(r, squares, weights, fit_levels(settings, squares / weights, weights))


def _design(settings: CogSettings) -> np.ndarray:
    """(memories, lags, 3) of equation (1)."""
    lag = np.asarray(LAGS) * 0.5 * settings.window
    fast, slow = (1.0 - np.exp(-lag / np.asarray(memory)[:, None]) for memory in ((settings.fast,), MEMORIES))
    return 2.0 * np.stack([np.ones_like(slow), np.broadcast_to(fast, slow.shape), slow], axis=-1)


def fit_levels(settings: CogSettings, changes: Array, weights: Array) -> Array:
    """(4, ROWS) from D (lags, ROWS), a mean over `weights` (lags, ROWS) windows.

    Least squares of relative deviations, each as sure as the time that was seen is longer than its lag; of all sets of
    terms the best without a negative one.
    """
    rows = jnp.arange(changes.shape[1])
    design = jnp.asarray(_design(settings))
    # a longer lag never wanders less; one that has been seen little is as the one before it
    D = jax.lax.cummax(changes, axis=0)
    sure = jnp.sqrt(0.5 * weights.T / jnp.asarray(LAGS))
    X = sure[:, :, None] * design[:, None] / jnp.maximum(D.T, 1e-30)[:, :, None]
    N, b = jnp.einsum("mrli,mrlj->mrij", X, X), jnp.einsum("mrli,rl->mri", X, sure)
    scale = jnp.sqrt(jnp.einsum("mrii->mri", N))
    N, b = N / (scale[..., :, None] * scale[..., None, :]), b / scale
    masks = jnp.asarray(_MASKS)
    both = masks[:, :, None] * masks[:, None, :]
    system = N[:, :, None] * both + jnp.eye(3) * (1.0 - masks[:, None, :] + 1e-9)
    found = _solve3(system, b[:, :, None] * masks)
    worse = jnp.any(found < 0.0, axis=-1)
    misfit = jnp.where(worse, jnp.inf, -jnp.einsum("mrki,mri->mrk", found, b))
    least, mask = jnp.min(misfit, axis=2), jnp.argmin(misfit, axis=2)
    fits = least < jnp.min(least, axis=0) + AS_WELL
    memory = len(MEMORIES) - 1 - jnp.argmax(fits[::-1], axis=0)
    mask = mask[memory, rows]
    chosen = found[memory, rows, mask] / scale[memory, rows]
    return jnp.concatenate([chosen.T, jnp.asarray(MEMORIES)[memory][None]])


def _solve3(A: Array, b: Array) -> Array:
    """X of A x = b for matrices (..., 3, 3), by Cramer's rule."""
    rows = A[..., 0, :], A[..., 1, :], A[..., 2, :]
    first = jnp.cross(rows[1], rows[2])
    adjugate = jnp.stack([first, jnp.cross(rows[2], rows[0]), jnp.cross(rows[0], rows[1])], axis=-1)
    det = jnp.sum(rows[0] * first, axis=-1)
    return jnp.einsum("...ij,...j->...i", adjugate, b) / det[..., None]
