"""Rigid motions: poses, twists, adjoints, exponential and its Jacobians.

A pose X_AB is a rotation matrix R = `R` = R_AB and a position p = `p` = p_AB in A (m). A twist V = (v, w) is
linear first; so are the 6-vectors x = (r, f) = `x` of the exponential (m, rad). Wrenches are force first and
go with the transposed adjoints. W = hat(f), P = hat(r), k = r . f, c_k = c_k(|f|^2) of `lie.angles`.

    (1)  Ad(X) = [[R, hat(p) R], [0, R]]              Ad(X_AB) moves a twist from B to A     [Hong2021]
    (2)  Ad(X)^-1 = [[R', -R' hat(p)], [0, R']]
    (3)  ad(V) = [[hat(w), hat(v)], [0, hat(w)]]      d/ds Ad(Exp(s V)) at s = 0             [Hong2021]
    (4)  Exp(x) = (Exp(f), J_l(f) r)                                                         [Sola2018]
    (5)  J_l(x) = [[J_l(f), Q], [0, J_l(f)]],  J_r(x) = J_l(-x)                              [Barfoot2017]
    (6)  Q = P/2 + c_3 (W P + P W + W P W) + c_4 (W W P + P W W - 3 W P W)
             + (c_4 - 3 c_5)/2 (W P W W + W W P W),   with W P W = -k W

`Ad`, `Ad_inverse`, `ad`, `multiply` and `inverse` use only + - * / and constant tensors, for the physics
core; the others have branches.
"""

import jax.numpy as jnp
import numpy as np

from haltere.foundation.arrays import Array, ArrayLike
from haltere.lie import so3
from haltere.lie.angles import stumpff

#: ad(V)_ij = sum_k _AD_ijk V_k.
_AD = np.zeros((6, 6, 6))
_AD[:3, :3, 3:] = so3.HAT
_AD[3:, 3:, 3:] = so3.HAT
_AD[:3, 3:, :3] = so3.HAT


def _blocks(diagonal: Array, corner: Array) -> Array:
    zero = np.zeros((3, 3), diagonal.dtype)
    top = jnp.concatenate([diagonal, corner], axis=1)
    return jnp.concatenate([top, jnp.concatenate([zero, diagonal], axis=1)], axis=0)


def Ad(R: ArrayLike, p: ArrayLike) -> Array:
    """Return the adjoint matrix (6, 6) of the pose (R_AB (3, 3), p_AB (3) in A, m), eq. (1)."""
    rotation = so3.as_float(R)
    return _blocks(rotation, so3.matmul(so3.hat(p), rotation))


def Ad_inverse(R: ArrayLike, p: ArrayLike) -> Array:
    """Return the inverse (6, 6) of `Ad(R, p)`, eq. (2): it moves a twist from A to B."""
    transposed = so3.as_float(R).T
    return _blocks(transposed, -so3.matmul(transposed, so3.hat(p)))


def ad(V: ArrayLike) -> Array:
    """Return the matrix (6, 6) of the Lie bracket with the twist V = (v, w) (6), m/s and rad/s, eq. (3)."""
    return so3.contract(_AD, so3.as_float(V))


def multiply(R_AB: ArrayLike, p_AB: ArrayLike, R_BC: ArrayLike, p_BC: ArrayLike) -> tuple[Array, Array]:
    """Return the pose (R_AC (3, 3), p_AC (3) in A, m) of two poses in a row."""
    rotation = so3.as_float(R_AB)
    turned = so3.matmul(rotation, so3.as_float(p_BC))
    return so3.matmul(rotation, so3.as_float(R_BC)), so3.as_float(p_AB) + turned


def inverse(R_AB: ArrayLike, p_AB: ArrayLike) -> tuple[Array, Array]:
    """Return the pose (R_BA (3, 3), p_BA (3) in B, m)."""
    transposed = so3.as_float(R_AB).T
    return transposed, -so3.matmul(transposed, so3.as_float(p_AB))


def exp(x: ArrayLike) -> tuple[Array, Array]:
    """Return the pose (R (3, 3), p (3), m) of x = (r, f) (6), m and rad, eq. (4)."""
    vector = so3.as_float(x)
    return so3.exp(vector[3:]), so3.matmul(so3.left_jacobian(vector[3:]), vector[:3])


def log(R: ArrayLike, p: ArrayLike) -> Array:
    """Return x = (r, f) (6), m and rad, |f| at most pi, with `exp(x)` = (R (3, 3), p (3))."""
    turn = so3.log(R)
    return jnp.concatenate([so3.matmul(so3.left_jacobian_inverse(turn), so3.as_float(p)), turn])


def _corner(x: Array) -> Array:
    """Return Q (3, 3) of eq. (6)."""
    shift, turn = x[:3], x[3:]
    *_, c3, c4, c5 = stumpff(turn @ turn)
    W, P = so3.hat(turn), so3.hat(shift)
    WP, k = so3.matmul(W, P), shift @ turn
    WWP = so3.matmul(W, WP)
    first = WP + WP.T - k * W
    second = WWP - WWP.T + 3.0 * k * W
    return 0.5 * P + c3 * first + c4 * second - (c4 - 3.0 * c5) * k * so3.matmul(W, W)


def left_jacobian(x: ArrayLike) -> Array:
    """Return J_l (6, 6), eq. (5): Exp(x + d) = Exp(J_l d) Exp(x) to first order in d (6), m and rad."""
    vector = so3.as_float(x)
    return _blocks(so3.left_jacobian(vector[3:]), _corner(vector))


def left_jacobian_inverse(x: ArrayLike) -> Array:
    """Return the inverse (6, 6) of `left_jacobian`; it does not exist at an angle of 2 pi."""
    vector = so3.as_float(x)
    inverse_turn = so3.left_jacobian_inverse(vector[3:])
    return _blocks(inverse_turn, -so3.matmul(inverse_turn, so3.matmul(_corner(vector), inverse_turn)))


def right_jacobian(x: ArrayLike) -> Array:
    """Return J_r (6, 6), eq. (5): Exp(x + d) = Exp(x) Exp(J_r d) to first order in d (6), m and rad."""
    return left_jacobian(-so3.as_float(x))


def right_jacobian_inverse(x: ArrayLike) -> Array:
    """Return the inverse (6, 6) of `right_jacobian`; it does not exist at an angle of 2 pi."""
    return left_jacobian_inverse(-so3.as_float(x))


def box_plus(R: ArrayLike, p: ArrayLike, d: ArrayLike) -> tuple[Array, Array]:
    """Return the pose X_AB Exp(d): (R_AB (3, 3), p_AB (3), m) moved by d (6), m and rad, in B."""
    return multiply(R, p, *exp(d))


def box_minus(R_a: ArrayLike, p_a: ArrayLike, R_b: ArrayLike, p_b: ArrayLike) -> Array:
    """Return d (6), m and rad, with `box_plus(R_b, p_b, d)` = (R_a (3, 3), p_a (3))."""
    return log(*multiply(*inverse(R_b, p_b), R_a, p_a))
