"""Mass and its distribution as ten numbers, linear in every dynamic equation.

    pi = (m, h_x, h_y, h_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz) = parameters                          (1)

with first moment h = m c and rotational inertia I about the frame's ORIGIN, in the order of Pinocchio. The
generalized inertia of a linear-first twist V = (v, w) is, with [x] the cross-product matrix ([Hong2021] eq. (10)),

    G = [[m 1, -[h]], [[h], I]] = generalized_inertia(parameters)                                     (2)

and seen from a frame in which the body frame stands at (R, p) ([Hong2021] eq. (17), written for pi)

    h' = R h + m p,  I' = R I R^T - m [p][p] - [p][R h] - [R h][p].                                   (3)
"""

import jax.numpy as jnp
import numpy as np

from haltere.foundation.arrays import Array
from haltere.lie import so3

PARAMETER_NAMES = ("mass", "mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz")


def inertial_parameters(mass: Array, com: Array, inertia_com: Array) -> Array:
    """(10,) of equation (1) from mass (kg), com (3,) (m) and inertia (3, 3) about the com (kg m2)."""
    lever = so3.hat(com)
    return pack(mass, mass * com, inertia_com - mass * (lever @ lever))


def pack(mass: Array, moment: Array, inertia: Array) -> Array:
    """(10,) from mass, first moment (3,) and inertia (3, 3) about the origin."""
    return jnp.stack(
        [
            mass,
            moment[0],
            moment[1],
            moment[2],
            inertia[0, 0],
            inertia[0, 1],
            inertia[1, 1],
            inertia[0, 2],
            inertia[1, 2],
            inertia[2, 2],
        ]
    )


def unpacked(parameters: Array) -> tuple[Array, Array, Array]:
    """Mass, com (3,) and inertia (3, 3) about the com: the inverse of `inertial_parameters`; mass must not be zero."""
    mass = parameters[0]
    com = parameters[1:4] / mass
    lever = so3.hat(com)
    return mass, com, inertia_matrix(parameters) + mass * (lever @ lever)


def inertia_matrix(parameters: Array) -> Array:
    """(3, 3) rotational inertia about the frame's origin."""
    xx, xy, yy, xz, yz, zz = (parameters[i] for i in range(4, 10))
    return jnp.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz]).reshape(3, 3)


def generalized_inertia(parameters: Array) -> Array:
    """(6, 6) of equation (2), linear first."""
    coupling = so3.hat(parameters[1:4])
    upper = jnp.concatenate([parameters[0] * np.eye(3, dtype=parameters.dtype), -coupling], axis=1)
    return jnp.concatenate([upper, jnp.concatenate([coupling, inertia_matrix(parameters)], axis=1)])


def transform_inertia(parameters: Array, R: Array, p: Array) -> Array:
    """(10,) of the same body seen from a frame in which the body frame stands at rotation R, position p: (3)."""
    mass, moment = parameters[0], R @ parameters[1:4]
    lever, first = so3.hat(p), so3.hat(moment)
    cross = lever @ first
    inertia = R @ inertia_matrix(parameters) @ R.T - mass * (lever @ lever) - cross - cross.T
    return pack(mass, moment + mass * p, inertia)
