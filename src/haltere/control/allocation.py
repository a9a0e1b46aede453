"""From a wanted wrench to squared rotor speeds: least-norm, and the best one inside the limits.

With allocation B (k, R), wrench w (k), weights W = diag(weights) and limits low <= u <= high, the bounded
allocation is the one minimum of

    J(u) = |W^(1/2) (B u - w)|^2 + e s |u - u_p|^2 / d^2,   low <= u <= high                               (1)

u_p = `preferred`, e = `regularisation` (small), d = largest high - low, s = largest row of W^(1/2) B d,
squared: so e is relative. Without `preferred`, u_p is the weighted least-norm solution moved into the limits.
Hence: where the least-norm solution is inside the limits it is the answer, whatever e; else what cannot be
met is given up in the order of the weights, yaw first by `priority_weights`. Weights, not strict priorities:
one convex problem, whose answer is continuous in w and B.

Method: a primal active set ([Harkegard2002]). Each rotor is low, free or high; the free ones solve the normal
equations

    z = A_f^T (A_f A_f^T + e s 1)^-1 (b - A_c u_c - A_f u_p)     k by k, unrolled, for any number of rotors  (2)

and are followed until a rotor meets its limit and stays there, or, at the minimum for these sides, the rotor
that pulls most strongly away from its limit is let go. J falls in every round, so the rounds end; they start
from the least-norm solution moved into the limits and are few. `ROUNDS` bounds them. The answer is always
inside the limits; a wrench that is not finite gives `preferred` (or the lowest speeds) and `valid` = False.
"""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from haltere.dynamics.solve import ldl_solve
from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.lie import so3

ROUNDS = 64
"""Most changes of sides; 16 rotors with random limits have needed up to 19."""
_REFINEMENTS = 3

Carry = tuple[Array, Array, Array, Array]


@pytree
@dataclass(frozen=True)
class Allocation:
    """An answer of `allocate_bounded`."""

    u: Array
    """(R,) squared rotor speeds, (rad/s)^2."""
    residual: Array
    """(k,) B u - w: what is too much, N and N m."""
    saturated: Array
    """(R,) whether the rotor stands at one of its limits."""
    valid: Array
    """() False if wrench or allocation were not finite and `preferred` was given instead."""
    rounds: Array
    """() changes of sides; 0 where the least-norm solution was inside the limits."""


def allocate_pinv(B: ArrayLike, wrench: ArrayLike) -> Array:
    """(R,) least-norm squared speeds for `wrench` (k,) with allocation B (k, R); may be outside the limits."""
    table = so3.as_float(B)
    scale = jnp.max(jnp.abs(table))
    safe = jnp.where(scale > 0.0, scale, 1.0)
    inverse = jnp.linalg.pinv(table / safe, rtol=1e2 * float(np.finfo(table.dtype).eps))
    return inverse @ (so3.as_float(wrench) / safe)


def priority_weights(B: Array, low: Array, high: Array, priority: Array) -> Array:
    """(k,) weights that count each row in units of what the rotors can give: priority / authority^2.

    Args:
        B: (k, R) allocation.
        low: (R,) least squared speeds.
        high: (R,) largest squared speeds.
        priority: (k,) how much a missing full authority of each row matters; zero leaves a row out.
    """
    authority2 = jnp.sum((B * (high - low)) ** 2, axis=1)
    reachable = authority2 > jnp.max(authority2) * 1e3 * float(np.finfo(B.dtype).eps) ** 2
    return jnp.where(reachable, priority / jnp.where(reachable, authority2, 1.0), 0.0)


def allocate_bounded(
    B: ArrayLike,
    wrench: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    weights: ArrayLike | None = None,
    preferred: ArrayLike | None = None,
    regularisation: float | None = None,
) -> Allocation:
    """The minimum of equation (1); works in `jit`, `vmap`, `scan`, differentiates both ways, float32 and float64.

    Args:
        B: (k, R) wrench per squared speed, k at most 6, force rows N, torque rows N m.
        wrench: (k,) wanted.
        low: (R,) least squared speeds, (rad/s)^2.
        high: (R,) largest squared speeds, above `low`.
        weights: (k,) of the rows; by default each row counts by its authority (`priority_weights` of ones).
        preferred: (R,) squared speeds to be near to among equals.
        regularisation: e of equation (1); by default 1.5e-8 (float64) or 3e-5 (float32).
    """
    table, wish = so3.as_float(B), so3.as_float(wrench)
    least, most = jnp.asarray(low, table.dtype), jnp.asarray(high, table.dtype)
    eps = float(np.finfo(table.dtype).eps)
    small = regularisation if regularisation is not None else (1.5e-8 if eps < 1e-10 else 3e-5)
    valid = jnp.all(jnp.isfinite(wish)) & jnp.all(jnp.isfinite(table))
    wish, table = jnp.where(valid, wish, 0.0), jnp.where(valid, table, 0.0)
    if weights is None:
        weights = priority_weights(table, least, most, jnp.ones(table.shape[0], table.dtype))
    root = jnp.sqrt(jnp.asarray(weights, table.dtype))

    unit = jnp.max(most - least)
    A, b = root[:, None] * table * unit, root * wish
    size = jnp.sqrt(jnp.max(jnp.sum(A * A, axis=1)))
    size = jnp.where(size > 0.0, size, 1.0)
    A, b = A / size, b / size
    floor, ceiling = least / unit, most / unit

    start = jnp.zeros_like(floor) if preferred is None else jnp.asarray(preferred, table.dtype) / unit
    start = jnp.where(jnp.isfinite(start), start, floor)
    easy = _least_norm(A, b, start, 0.02 * eps**0.5)
    inside = jnp.all((easy >= floor) & (easy <= ceiling))
    near = jnp.clip(easy if preferred is None else start, floor, ceiling)
    frozen = lax.stop_gradient((A, b, floor, ceiling, near, jnp.asarray(small, table.dtype)))
    begin = jnp.clip(easy, floor, ceiling)
    begin = jnp.where(jnp.isfinite(begin), begin, floor)
    side, reached, rounds = _descend(*frozen, *lax.stop_gradient((begin, inside)))
    exact = _solve(A, b, floor, ceiling, near, frozen[-1], side)
    slack = _slack(table.dtype)
    tight = jnp.where(jnp.all((exact >= floor - slack) & (exact <= ceiling + slack)), exact, reached)
    v = jnp.where(inside, easy, tight)
    fallback = jnp.clip(start, floor, ceiling)
    valid = valid & jnp.all(jnp.isfinite(v))
    u = jnp.clip(jnp.where(valid, v, fallback) * unit, least, most)
    return Allocation(u, table @ u - wish, (u <= least) | (u >= most), valid, rounds)


def _least_norm(A: Array, b: Array, near: Array, damping: float) -> Array:
    """(R,) least-squares solution nearest to `near`, by damped steps that leave no damping behind."""
    kernel = A @ A.T + damping * jnp.eye(A.shape[0], dtype=A.dtype)

    def refined(_: int, v: Array) -> Array:
        return v + A.T @ ldl_solve(kernel, b - A @ v)

    v: Array = lax.fori_loop(0, _REFINEMENTS, refined, near)
    return v


def _slack(dtype: Any) -> float:
    """What counts as zero among speeds relative to their range."""
    return 10.0 * float(np.finfo(dtype).eps ** 0.75)


def _solve(A: Array, b: Array, floor: Array, ceiling: Array, near: Array, small: Array, side: Array) -> Array:
    """(R,) minimum of (1) over the free rotors with the others at their sides, by equation (2)."""
    free = side == 0
    held = jnp.where(side < 0, floor, jnp.where(side > 0, ceiling, near))
    A_f = jnp.where(free, A, 0.0)
    kernel = A_f @ A_f.T + small * jnp.eye(A.shape[0], dtype=A.dtype)
    return held + A_f.T @ ldl_solve(kernel, b - A @ held)


def _descend(
    A: Array, b: Array, floor: Array, ceiling: Array, near: Array, small: Array, begin: Array, done: Array
) -> tuple[Array, Array, Array]:
    """(R,) -1, 0, 1 for rotors that are low, free or high at the minimum of (1), (R,) that point, and rounds."""
    slack = _slack(A.dtype)

    def again(carry: Carry) -> Array:
        _, _, finished, rounds = carry
        return ~finished & (rounds < ROUNDS)

    def change(carry: Carry) -> Carry:
        side, v, _, rounds = carry
        step = _solve(A, b, floor, ceiling, near, small, side) - v
        wall = jnp.where(step < 0.0, floor, ceiling)
        moving = (side == 0) & (jnp.abs(step) > slack)
        share = jnp.where(moving, (wall - v) / jnp.where(moving, step, 1.0), jnp.inf)
        first = jnp.argmin(share)
        blocked = share[first] < 1.0
        v = jnp.clip(v + jnp.where(blocked, share[first], 1.0) * step, floor, ceiling)
        pull = -side * (A.T @ (A @ v - b) + small * (v - near))
        loosest = jnp.argmin(pull)
        finished = ~blocked & (pull[loosest] >= -slack * small)
        met = side.at[first].set(jnp.sign(step[first]).astype(side.dtype))
        freed = jnp.where(finished, side, side.at[loosest].set(0))
        return jnp.where(blocked, met, freed), v, finished, rounds + 1

    side = jnp.where(begin <= floor, -1, jnp.where(begin >= ceiling, 1, 0))
    side, v, _, rounds = lax.while_loop(again, change, (side, begin, done, jnp.asarray(0)))
    return side, v, rounds


__all__ = ["Allocation", "allocate_bounded", "allocate_pinv", "priority_weights"]
