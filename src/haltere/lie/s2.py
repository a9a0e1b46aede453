"""Directions: the unit sphere S2 with tangent coordinates of two components.

For a unit vector n = (x, y, z) = `n` (3), B(n) = `basis` (3, 2) has orthonormal columns with b1 cross b2 = n.

    (1)  B(n) = first two columns of the least rotation that takes e_z to n; where that is ill-conditioned,
         near -e_z, of the least rotation from -e_z, after a rotation by pi about x
    (2)  n + d  = cos|d| n + sin|d| / |d| B(n) d               along the great circle of length |d| (rad)
    (3)  m - n  = arc(|B(n)' m|^2, n . m) B(n)' m              so that n + (m - n) = m

No basis of the sphere is continuous everywhere: this one jumps on the circle z = `BASIS_SWITCH` only.
Box-plus and box-minus as in [Hertzberg2013].
"""

import jax.numpy as jnp
import numpy as np

from haltere.foundation.arrays import Array, ArrayLike
from haltere.lie.angles import arc, stumpff
from haltere.lie.so3 import as_float

#: Below this z the basis of the opposite pole is used; 1 / (1 + z) stays below 10.
BASIS_SWITCH = -0.9

_HALF_TURN = np.array([1.0, -1.0, -1.0])


def basis(n: ArrayLike) -> Array:
    """Return the tangent basis B (3, 2) at the unit vector n (3), eq. (1)."""
    vector = as_float(n)
    flip = jnp.where(vector[2] < BASIS_SWITCH, np.asarray(_HALF_TURN, vector.dtype), 1.0)
    x, y, z = flip * vector
    scale = 1.0 / (1.0 + z)
    cross = -x * y * scale
    columns = jnp.stack([jnp.stack([1.0 - x * x * scale, cross]), jnp.stack([cross, 1.0 - y * y * scale])])
    return flip[:, None] * jnp.concatenate([columns, -jnp.stack([x, y])[None]])


def box_plus(n: ArrayLike, d: ArrayLike) -> Array:
    """Return the unit vector (3) reached from n (3) by d (2), rad, in the basis at n, eq. (2)."""
    vector, step = as_float(n), as_float(d)
    c0, c1, *_ = stumpff(step @ step)
    return c0 * vector + c1 * (basis(vector) @ step)


def box_minus(m: ArrayLike, n: ArrayLike) -> Array:
    """Return d (2), rad, of length at most pi, with `box_plus(n, d)` = m, for unit vectors (3), eq. (3).

    For m = -n every direction is right and (pi, 0) is given.
    """
    target, vector = as_float(m), as_float(n)
    across, along = basis(vector).T @ target, vector @ target
    sine2 = across @ across
    opposite = (sine2 == 0.0) & (along < 0.0)
    factor = arc(jnp.where(opposite, 1.0, sine2), along)
    return jnp.where(opposite, jnp.asarray([jnp.pi, 0.0], vector.dtype), factor * across)
