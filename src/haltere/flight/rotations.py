"""Rotations in NumPy: trains of unit quaternions wxyz, their matrices and rates, and cross-product matrices.

With quaternion q of a body in the world and q* its conjugate,

    (1)  rotate(q, v) = vec(q (0, v) q*)
    (2)  roll phi, pitch theta, yaw psi about the fixed x, y, z in turn:  q = q_z(psi) q_y(theta) q_x(phi)
    (3)  the angular velocity in body axes:  w = 2 vec(q* dq/dt)
    (4)  the acceleration of a point at r from the centre of mass, less that of the centre, in body axes:
         X r,  X = [w']x + [w]x [w]x

Flight controllers log in world NED and body FRD; ours are ENU and FLU. With D = diag(1, -1, -1) and T the exchange of
north and east with z reversed (both are their own inverse):

    (5)  v_FLU = D v_FRD
    (6)  p_ENU = T p_NED
    (7)  R_(ENU <- FLU) = T R_(NED <- FRD) D
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from haltere.foundation.numbers import Floats

HALF = np.sqrt(0.5)
Q_WORLD = np.array([0.0, HALF, HALF, 0.0])
"""T as a quaternion wxyz: a rotation by pi about the bisector of x and y."""


def multiply(p: Floats, q: Floats) -> Floats:
    """Return the products (..., 4) of quaternions wxyz."""
    w, v = p[..., :1], p[..., 1:]
    s, u = q[..., :1], q[..., 1:]
    scalar = w * s - np.sum(v * u, axis=-1, keepdims=True)
    return np.asarray(np.concatenate([scalar, w * u + s * v + np.cross(v, u)], axis=-1))


def conjugate(wxyz: Floats) -> Floats:
    """Return the inverse rotations (..., 4) of unit quaternions."""
    return np.asarray(wxyz * np.array([1.0, -1.0, -1.0, -1.0]))


def normalize(wxyz: Floats) -> Floats:
    """Return quaternions (T, 4) of length one; NaN where the length is too far from it to be one."""
    length = np.linalg.norm(wxyz, axis=1, keepdims=True)
    valid = (length > 0.5) & (length < 2.0)
    return np.asarray(np.where(valid, wxyz / np.where(valid, length, 1.0), np.nan))


def unwrap(wxyz: Floats) -> Floats:
    """Return quaternions (T, 4) with signs chosen so that neighbours are near each other."""
    flips = np.nansum(wxyz[1:] * wxyz[:-1], axis=1) < 0.0
    sign = np.concatenate([[1.0], np.where(np.cumsum(flips) % 2 == 1, -1.0, 1.0)])
    return np.asarray(wxyz * sign[:, None])


def rotate(wxyz: Floats, vectors: Floats) -> Floats:
    """Return vectors (T, 3) rotated by quaternions (T, 4), eq. (1)."""
    u, w = wxyz[:, 1:], wxyz[:, :1]
    twice = 2.0 * np.cross(u, vectors)
    return np.asarray(vectors + w * twice + np.cross(u, twice))


def angular_rates(wxyz: Floats, rate: float) -> Floats:
    """Return angular velocities (T, 3), rad/s, in body axes, of quaternions (T, 4) at a rate in Hz, eq. (3)."""
    slope = np.gradient(wxyz, 1.0 / rate, axis=0)
    w, v = wxyz[:, :1], wxyz[:, 1:]
    dw, dv = slope[:, :1], slope[:, 1:]
    return np.asarray(2.0 * (w * dv - dw * v - np.cross(v, dv)))


def matrices_from_wxyz(wxyz: Floats) -> Floats:
    """Return rotation matrices (T, 3, 3) of unit quaternions (T, 4); those of NaN are NaN."""
    w, x, y, z = wxyz.T
    return np.asarray(
        np.stack(
            [
                np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], -1),
                np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], -1),
                np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1),
            ],
            -2,
        )
    )


def matrix_from_wxyz(wxyz: ArrayLike) -> Floats:
    """Return the rotation matrix (3, 3) of one quaternion (4,) of any length above zero."""
    return np.asarray(Rotation.from_quat(np.roll(np.asarray(wxyz, float), -1)).as_matrix(), float)


def wxyz_from_matrix(R: Floats) -> tuple[float, float, float, float]:
    """Return the unit quaternion of a rotation matrix (3, 3)."""
    w, x, y, z = (float(component) for component in np.roll(Rotation.from_matrix(R).as_quat(), 1))
    return w, x, y, z


def matrix_from_euler(angles: ArrayLike) -> Floats:
    """Return the rotation matrix (3, 3) of roll, pitch, yaw (3,) in rad, eq. (2)."""
    return np.asarray(Rotation.from_euler("xyz", np.asarray(angles, float)).as_matrix(), float)


def wxyz_from_euler(angles: Floats) -> Floats:
    """Return quaternions (T, 4) of roll, pitch, yaw (T, 3) in rad, eq. (2)."""
    c, s = np.cos(0.5 * angles), np.sin(0.5 * angles)
    zero = np.zeros(len(angles))
    parts = [
        np.insert(np.stack([c[:, i], s[:, i]], 1), [1] * i + [2] * (2 - i), zero[:, None], 1)
        for i in range(3)
    ]
    return multiply(multiply(parts[2], parts[1]), parts[0])


def euler_from_wxyz(wxyz: ArrayLike) -> tuple[float, float, float]:
    """Return roll, pitch and yaw in rad of one unit quaternion (4,), eq. (2)."""
    w, x, y, z = np.asarray(wxyz, float).tolist()
    pitch = float(np.arcsin(np.clip(2.0 * (w * y - x * z), -1.0, 1.0)))
    roll = float(np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y)))
    yaw = float(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))
    return roll, pitch, yaw


def cross_matrices(x: Floats) -> Floats:
    """Return the cross-product matrices (N, 3, 3) of vectors (N, 3)."""
    zero = np.zeros(len(x))
    a, b, c = x.T
    return np.stack([zero, -c, b, c, zero, -a, -b, a, zero], axis=1).reshape(-1, 3, 3)


def lever_matrices(rates: Floats, angular_acceleration: Floats) -> Floats:
    """Return X of eq. (4), (N, 3, 3), from w (N, 3) in rad/s and w' (N, 3) in rad/s2."""
    W = cross_matrices(rates)
    return np.asarray(cross_matrices(angular_acceleration) + W @ W)


def flu_from_frd(vectors: Floats, out: Floats | None = None) -> Floats:
    """Return vectors (T, 3) in body axes, eq. (5); in `out`, if that is given, which may be the same array."""
    return np.asarray(np.multiply(vectors, np.array([1.0, -1.0, -1.0]), out=out))


def enu_from_ned(vectors: Floats) -> Floats:
    """Return vectors (T, 3) in world axes, eq. (6)."""
    return np.asarray(vectors[:, [1, 0, 2]] * np.array([1.0, 1.0, -1.0]))


def enu_flu_from_ned_frd(wxyz: Floats) -> Floats:
    """Return attitudes (T, 4), quaternions wxyz, eq. (7)."""
    return multiply(multiply(Q_WORLD, wxyz), np.array([0.0, 1.0, 0.0, 0.0]))
