"""Rotations in three dimensions: matrices, unit quaternions and rotation vectors.

Functions take single elements (use `jax.vmap` for batches) and keep the dtype of their arguments. A rotation
matrix is R = R_AB; a quaternion q = (w, u) = `wxyz` (Hamilton) has unit length; x = `x` is a rotation vector
(rad), a perturbation stands on the right and is given in B. W = hat(x), c_k = c_k(|x|^2) of `lie.angles`.

    (1)  hat(x) y = x cross y
    (2)  R(q) = I + 2 (w hat(u) + hat(u)^2)                                          [Sola2017]
    (3)  R(n, sin a, cos a) = I + sin a hat(n) + (1 - cos a) hat(n)^2                [Sola2017]
    (4)  (q a)_i = sum_jk M_ijk q_j a_k, with R(q a) = R(q) R(a)                     [Sola2017]
    (5)  Exp(x) = I + c_1 W + c_2 W^2                                                [Sola2018]
    (6)  J_l(x) = I + c_2 W + c_3 W^2,  J_r(x) = J_l(-x)                             [Sola2018]
    (7)  J_l^-1(x) = I - W / 2 + g W^2,  g = (c_2 - c_3) / (4 c_1) at |x|^2 / 4: no digits are lost
    (8)  4 q q' = K(R), linear in R: its largest column is a multiple of q
    (9)  Log(q) = 2 arc(|u|^2, |w|) sign(w) u

`hat` ... `conjugate_wxyz` use only + - * / and constant tensors: the physics core is built of them and any
algebra can evaluate it. `exp` and all below have branches and stay outside of it.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

from haltere.foundation.arrays import Array, ArrayLike
from haltere.lie.angles import arc, stumpff

#: hat(x)_ij = sum_k HAT_ijk x_k.
HAT = np.zeros((3, 3, 3))
HAT[[2, 0, 1], [1, 2, 0], [0, 1, 2]] = 1.0
HAT[[1, 2, 0], [2, 0, 1], [0, 1, 2]] = -1.0

#: (a b)_i = sum_jk _MULTIPLY_ijk a_j b_k.
_MULTIPLY = np.zeros((4, 4, 4))
_MULTIPLY[[0, 1, 2, 3], 0, [0, 1, 2, 3]] = 1.0
_MULTIPLY[[1, 2, 3], [1, 2, 3], 0] = 1.0
_MULTIPLY[0, [1, 2, 3], [1, 2, 3]] = -1.0
_MULTIPLY[1:, 1:, 1:] = HAT.transpose(0, 2, 1)

_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


def as_float(x: ArrayLike) -> Array:
    """Return x as a floating-point array; its dtype stays if it is one already."""
    array = jnp.asarray(x)
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)


def contract(tensor: np.ndarray, x: Array) -> Array:
    """Contract the last axis of a constant tensor (..., n) with x (n): one `dot_general`."""
    return lax.dot_general(np.asarray(tensor, x.dtype), x, (((tensor.ndim - 1,), (0,)), ((), ())))


def matmul(a: Array, b: Array) -> Array:
    """Multiply two matrices, or a matrix and a vector: one `dot_general`, no nested function."""
    return lax.dot_general(a, b, (((1,), (0,)), ((), ())))


def _identity(like: Array) -> np.ndarray:
    return np.eye(3, dtype=like.dtype)


def hat(x: ArrayLike) -> Array:
    """Return the skew matrix (3, 3) of x (3), eq. (1), that makes the cross product with x."""
    return contract(HAT, as_float(x))


def vee(matrix: ArrayLike) -> Array:
    """Return x (3) from a skew matrix hat(x) (3, 3); of any other matrix the skew part is taken."""
    a = as_float(matrix)
    return 0.5 * lax.dot_general(np.asarray(HAT, a.dtype), a, (((0, 1), (0, 1)), ((), ())))


def from_wxyz(wxyz: ArrayLike) -> Array:
    """Return the rotation matrix R_AB (3, 3) of a quaternion (4) of unit length, eq. (2).

    It is not normalised: for |q| = 1 + e the result is orthogonal up to terms of order e.
    """
    q = as_float(wxyz)
    skew = hat(q[1:])
    return 2.0 * (q[0] * skew + matmul(skew, skew)) + _identity(skew)


def rodrigues(axis: ArrayLike, sin: ArrayLike, cos: ArrayLike) -> Array:
    """Return the rotation matrix (3, 3) about a unit axis (3) from sine and cosine of the angle, eq. (3)."""
    skew = hat(axis)
    return as_float(sin) * skew + (1.0 - as_float(cos)) * matmul(skew, skew) + _identity(skew)


def multiply_wxyz(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the Hamilton product (4) of two quaternions (4), eq. (4): a_AB times b_BC gives AC."""
    return matmul(contract(_MULTIPLY, as_float(b)), as_float(a))


def conjugate_wxyz(wxyz: ArrayLike) -> Array:
    """Return the conjugate (4) of a quaternion (4): the inverse rotation if its length is one."""
    q = as_float(wxyz)
    return q * np.asarray(_CONJUGATE, q.dtype)


def exp(x: ArrayLike) -> Array:
    """Return the rotation matrix (3, 3) of a rotation vector (3), rad, eq. (5)."""
    vector = as_float(x)
    skew = hat(vector)
    _, c1, c2, *_ = stumpff(vector @ vector)
    return c1 * skew + c2 * matmul(skew, skew) + _identity(skew)


def exp_wxyz(x: ArrayLike) -> Array:
    """Return the unit quaternion (4) of a rotation vector (3), rad; w >= 0 up to an angle of pi."""
    vector = as_float(x)
    c0, c1, *_ = stumpff(0.25 * (vector @ vector))
    return jnp.concatenate([c0[None], 0.5 * c1 * vector])


def _quaternion_direction(R: Array) -> Array:
    """Return a multiple of the quaternion of R, length at least 1, eq. (8)."""
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    u = 2.0 * vee(R)
    block = R + R.T + (1.0 - trace) * _identity(R)
    matrix = jnp.concatenate([jnp.concatenate([1.0 + trace[None], u])[None], jnp.column_stack([u, block])])
    return matrix[jnp.argmax(jnp.diagonal(matrix))]


def to_wxyz(R: ArrayLike) -> Array:
    """Return the unit quaternion (4) with w >= 0 of a rotation matrix (3, 3), eq. (8); any angle."""
    q = _quaternion_direction(as_float(R))
    return jnp.where(q[0] < 0.0, -1.0, 1.0) * q / jnp.sqrt(q @ q)


def log_wxyz(wxyz: ArrayLike) -> Array:
    """Return the rotation vector (3), rad, at most pi long, of a quaternion (4) of any length > 0, eq. (9)."""
    q = as_float(wxyz)
    positive = jnp.where(q[0] < 0.0, -q, q)
    return 2.0 * arc(positive[1:] @ positive[1:], positive[0]) * positive[1:]


def log(R: ArrayLike) -> Array:
    """Return the rotation vector (3), rad, of length at most pi, of a rotation matrix (3, 3), eqs. (8), (9).

    At an angle of exactly pi one of the two opposite answers is given.
    """
    return log_wxyz(_quaternion_direction(as_float(R)))


def left_jacobian(x: ArrayLike) -> Array:
    """Return J_l (3, 3), eq. (6): Exp(x + d) = Exp(J_l d) Exp(x) to first order in d (3), rad."""
    vector = as_float(x)
    skew = hat(vector)
    _, _, c2, c3, *_ = stumpff(vector @ vector)
    return c2 * skew + c3 * matmul(skew, skew) + _identity(skew)


def left_jacobian_inverse(x: ArrayLike) -> Array:
    """Return the inverse (3, 3) of `left_jacobian`, eq. (7); it does not exist at |x| = 2 pi."""
    vector = as_float(x)
    skew = hat(vector)
    _, c1, c2, c3, *_ = stumpff(0.25 * (vector @ vector))
    return 0.25 * (c2 - c3) / c1 * matmul(skew, skew) - 0.5 * skew + _identity(skew)


def right_jacobian(x: ArrayLike) -> Array:
    """Return J_r (3, 3), eq. (6): Exp(x + d) = Exp(x) Exp(J_r d) to first order in d (3), rad."""
    return left_jacobian(-as_float(x))


def right_jacobian_inverse(x: ArrayLike) -> Array:
    """Return the inverse (3, 3) of `right_jacobian`; it does not exist at |x| = 2 pi."""
    return left_jacobian_inverse(-as_float(x))


def box_plus(R: ArrayLike, d: ArrayLike) -> Array:
    """Return R_AB Exp(d) (3, 3): the rotation followed by d (3), rad, in B."""
    return matmul(as_float(R), exp(d))


def box_minus(a: ArrayLike, b: ArrayLike) -> Array:
    """Return d (3), rad, with `box_plus(b, d)` = a, for rotation matrices (3, 3)."""
    return log(matmul(as_float(b).T, as_float(a)))


def box_plus_wxyz(wxyz: ArrayLike, d: ArrayLike) -> Array:
    """Return the quaternion (4) q Exp(d), rotated by d (3), rad, in B; its length is that of q."""
    return multiply_wxyz(wxyz, exp_wxyz(d))


def box_minus_wxyz(a: ArrayLike, b: ArrayLike) -> Array:
    """Return d (3), rad, with `box_plus_wxyz(b, d)` = a up to sign, for unit quaternions (4)."""
    return log_wxyz(multiply_wxyz(conjugate_wxyz(b), a))
