"""The linear algebra of a Kalman filter whose measurements are few and whose parameters stand still.

With P = `cov` (n, n), H (k, n), R (k, k) the update is Joseph's form, multiplied out to one product of rank k,

    W = P H^T,  S = H W + R,  K = W S^-1                                                                  (1)
    (1 - K H) P (1 - K H)^T + K R K^T = P - B K^T - K B^T,   B = W - K S / 2                              (2)

which keeps P symmetric and stays right for any gain, also for K = 0 where a reading is missing or rejected. In a step
only the first d errors move: with Phi (d, n) their new covariances are Phi P, and those of all others with each other
stay.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from haltere.algebra import as_one_kernel, product
from haltere.foundation.arrays import Array


class Gain(NamedTuple):
    """What an update did."""

    gain: Array
    """(n, k) K, zero where the reading was not used."""
    weighted: Array
    """(k,) S^-1 times the innovation, zero where it was not used."""
    nis: Array
    """() normalised innovation squared."""
    used: Array
    """() whether the reading was used."""
    shift: Array
    """(n,) K times the innovation: how far the mean moves."""


def update(
    cov: Array, H: Array, R: Array, innovation: Array, valid: Array, gate: float = jnp.inf
) -> tuple[Array, Gain]:
    """Equations (1) and (2): the new covariance, and what the update did.

    Args:
        cov: (n, n), symmetric.
        H: (k, n).
        R: (k,) variances of the reading.
        innovation: (k,) reading minus what was expected.
        valid: () whether there is a reading.
        gate: largest normalised innovation squared that is believed.
    """
    gain, B = gain_of(cov, H, R, innovation, valid, gate)
    change = gain.gain @ B
    return cov - change - change.T, gain


def gain_of(
    cov: Array, H: Array, R: Array, innovation: Array, valid: Array, gate: float = jnp.inf
) -> tuple[Gain, Array]:
    """What an update does, and B^T (k, n) of equation (2), with which the covariance is still to change."""
    W = H @ cov  # W^T of equation (1), as cov is symmetric: long rows
    S = W @ H.T + jnp.diag(R)
    found: tuple[Gain, Array] = as_one_kernel(_gain, W, S, innovation, valid, jnp.asarray(gate))
    return found


def _gain(W: Array, S: Array, innovation: Array, valid: Array, gate: Array) -> tuple[Gain, Array]:
    """The gain, and B^T of equation (2), from W^T (k, n) and S (k, k)."""
    solved = solve(S, jnp.concatenate([innovation[:, None], W], axis=1))
    weighted = solved[:, 0]
    nis = product(innovation, weighted)
    used = valid & (nis <= gate)
    K = jnp.where(used, solved[:, 1:], 0.0)
    gain = Gain(
        K.T,
        jnp.where(used, weighted, 0.0),
        jnp.where(valid, nis, 0.0),
        used,
        product(innovation, K),
    )
    return gain, W - 0.5 * product(S, K)


def propagate(cov: Array, Phi: Array) -> Array:
    """(n, n) covariance after a step in which only the first d errors move, by Phi (d, n)."""
    d = Phi.shape[0]
    rows = Phi @ cov
    upper = jnp.concatenate([rows @ Phi.T, rows[:, d:]], axis=1)
    return jnp.concatenate([upper, jnp.concatenate([rows[:, d:].T, cov[d:, d:]], axis=1)])


def solve(S: Array, B: Array) -> Array:
    """S^-1 B for a small symmetric positive definite S (k, k) and B (k, m): elimination of all rows by each, a loop."""
    k = S.shape[0]

    def eliminated(i: Array, rows: Array) -> Array:
        pivot = rows[i] / rows[i, i]
        return (rows - rows[:, i][:, None] * pivot).at[i].set(pivot)

    rows: Array = jax.lax.fori_loop(0, k, eliminated, jnp.concatenate([S, B], axis=1))
    return rows[:, k:]
