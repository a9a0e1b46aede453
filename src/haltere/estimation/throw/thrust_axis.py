"""The direction in which a vehicle hovers with least effort, from its effectiveness alone, at every tick.

With specific force f = F u and angular acceleration t = T u of squared rotor speeds u (m,), the best hover is

    min u^T W u   with  |F u| = g,  T u = 0,  low <= u <= high          [Blaha2024] eq. (6)                 (1)

Steps, as in [Blaha2024] Section 3.3 with two changes. Columns are divided by sqrt(W), so W = 1 below. N (m, m-3) is the
null space of T by Householder reflections with column pivoting of T^T. Instead of the largest eigenpair of
N^T F^T F N (m-3, m-3), that of the (3, 3) matrix with the same non-zero eigenvalues is iterated,

    M = B B^T,  B = F N,    d <- M^(2^p) d / |M^(2^p) d|                                                   (2)

so the iterate is the thrust direction d itself: it costs the same for any number of rotors, and a warm start survives a
change of N. p squarings do the work of 2^p steps. Then u = g N B^T d / (d^T M d), with the sign that makes it positive.
F and T are per squared speed, not per command: errors of the maximum speeds then do not distort |u|^2.

The bounds are checked, not imposed: `ThrustAxis.inside` says whether the answer keeps them; if not,
`haltere.trajectory.hover_attitudes` solves (1) as it stands. `gap` near 1 means several hover attitudes that are as
good.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.lie.so3 import as_float

SQUARINGS = 4
RANK = 1e-5
"""Rows of T whose pivot is smaller than this fraction of the largest cause no rotation."""


@pytree
@dataclass(frozen=True)
class ThrustAxis:
    """The answer, in the axes of F (of the IMU)."""

    axis: Array
    """(3,) unit, the direction of the specific force in hover: up, where the vehicle hangs still."""
    u: Array
    """(m,) squared speeds in hover, (rad/s)^2."""
    gain: Array
    """() specific force per length of the weighted u: the larger the cheaper."""
    gap: Array
    """() second largest eigenvalue of M over the largest: 0 where there is one hover axis, 1 where two are equal."""
    inside: Array
    """() whether u keeps its bounds: whether the vehicle can hover so."""
    steerable: Array
    """() whether the rotors rotate it about three axes."""


def null_space(T: Array) -> tuple[Array, Array]:
    """(m, m-3) orthonormal columns N with T N = 0 for T (3, m), and whether T has rank 3.

    Householder reflections of T^T with column pivoting, unrolled: no library call for each vehicle of a batch.
    """
    A = T.T
    size = A.shape[0]
    Q = jnp.eye(size, dtype=A.dtype)
    rows = jnp.arange(size)
    pivots = []
    for k in range(3):
        below = rows >= k
        norms = jnp.sum(jnp.where(below[:, None], A, 0.0) ** 2, axis=0)
        norms = jnp.where(jnp.arange(3) >= k, norms, -1.0)
        best = jnp.argmax(norms)
        order = jnp.arange(3).at[k].set(best).at[best].set(k)
        A = A[:, order]
        x = jnp.where(below, A[:, k], 0.0)
        length = jnp.sqrt(jnp.maximum(x @ x, 0.0))
        pivots.append(length)
        v = x.at[k].add(jnp.where(x[k] < 0.0, -1.0, 1.0) * length)
        square = v @ v
        scale = jnp.where(square > 0.0, 2.0 / jnp.where(square > 0.0, square, 1.0), 0.0)
        A = A - scale * jnp.outer(v, v @ A)
        Q = Q - scale * jnp.outer(Q @ v, v)
    return Q[:, 3:], pivots[2] > RANK * pivots[0]


def thrust_axis(
    F: ArrayLike,
    T: ArrayLike,
    low: ArrayLike = 0.0,
    high: ArrayLike = jnp.inf,
    weights: ArrayLike | None = None,
    guess: ArrayLike | tuple[float, float, float] = (0.577, 0.577, 0.578),
    gravity: float = STANDARD_GRAVITY,
    squarings: int = SQUARINGS,
) -> ThrustAxis:
    """One step; call it again with the last `axis` as `guess` while F and T are being learnt.

    Args:
        F: (3, m) specific force per squared speed, m/s2 per (rad/s)^2.
        T: (3, m) angular acceleration per squared speed, rad/s2 per (rad/s)^2.
        low: least squared speeds (m,) or one number, (rad/s)^2.
        high: largest ones.
        weights: (m,) diagonal of W, cost of each rotor; equal if None.
        guess: (3,) where to start.
        gravity: m/s2.
        squarings: p of equation (2).
    """
    force, torque = as_float(F), as_float(T)
    rotors = force.shape[1]
    root = jnp.ones(rotors, force.dtype) if weights is None else jnp.sqrt(jnp.asarray(weights, force.dtype))
    unit = jnp.max(jnp.abs(force / root))
    safe = jnp.where(unit > 0.0, unit, 1.0)
    N, steerable = null_space(torque / root / jnp.maximum(jnp.max(jnp.abs(torque)), 1e-300))
    B = (force / root / safe) @ N
    M = B @ B.T
    power = M
    for _ in range(squarings):
        power = power @ power
        power = power / jnp.maximum(jnp.trace(power), 1e-300)
    start = jnp.asarray(guess, force.dtype) + 1e-6 * jnp.asarray([0.3, -0.5, 0.8], force.dtype)
    d = power @ start
    d = M @ (d / jnp.maximum(jnp.linalg.norm(d), 1e-300))
    d = d / jnp.maximum(jnp.linalg.norm(d), 1e-300)
    most = d @ M @ d
    rest = jnp.trace(M) - most
    other = (jnp.trace(M @ M) - most**2) / jnp.where(rest > 1e-12 * most, rest, jnp.inf)
    z = N @ (B.T @ d) / jnp.where(most > 0.0, most, 1.0)
    sign = jnp.where(jnp.sum(z / root) < 0.0, -1.0, 1.0)
    u = sign * gravity / safe * z / root
    slack = 1e-9 * jnp.max(jnp.abs(u))
    inside = jnp.all((u >= low - slack) & (u <= high + slack)) & jnp.all(jnp.isfinite(u)) & (most > 1e-12)
    return ThrustAxis(
        sign * d, u, safe * jnp.sqrt(most), other / jnp.maximum(most, 1e-300), inside, steerable
    )
