"""From the axes that flight controllers log in to ours: world ENU, body FLU.

With D = diag(1, -1, -1) and T the exchange of north and east with z reversed (both are their own inverse):

    (1)  v_FLU = D v_FRD
    (2)  p_ENU = T p_NED
    (3)  R_(ENU <- FLU) = T R_(NED <- FRD) D
    (4)  roll phi, pitch theta, yaw psi about x, y, z in turn:  q = q_z(psi) q_y(theta) q_x(phi)
"""

import numpy as np

from haltere.foundation.numbers import Floats

HALF = np.sqrt(0.5)
Q_WORLD = np.array([0.0, HALF, HALF, 0.0])
"""T as a quaternion wxyz: half a turn about the bisector of x and y."""


def flu_from_frd(vectors: Floats, out: Floats | None = None) -> Floats:
    """Return vectors (T, 3) in body axes, eq. (1); in `out`, if that is given, which may be the same array."""
    return np.asarray(np.multiply(vectors, np.array([1.0, -1.0, -1.0]), out=out))


def enu_from_ned(vectors: Floats) -> Floats:
    """Return vectors (T, 3) in world axes, eq. (2)."""
    return np.asarray(vectors[:, [1, 0, 2]] * np.array([1.0, 1.0, -1.0]))


def product(p: Floats, q: Floats) -> Floats:
    """Return the products (..., 4) of quaternions wxyz."""
    w, v = p[..., :1], p[..., 1:]
    s, u = q[..., :1], q[..., 1:]
    scalar = w * s - np.sum(v * u, axis=-1, keepdims=True)
    return np.asarray(np.concatenate([scalar, w * u + s * v + np.cross(v, u)], axis=-1))


def enu_flu_from_ned_frd(wxyz: Floats) -> Floats:
    """Return attitudes (T, 4), quaternions wxyz, eq. (3)."""
    return product(product(Q_WORLD, wxyz), np.array([0.0, 1.0, 0.0, 0.0]))


def unit(wxyz: Floats) -> Floats:
    """Return quaternions (T, 4) of length one; NaN where the length is too far from it to be one."""
    length = np.linalg.norm(wxyz, axis=1, keepdims=True)
    good = (length > 0.5) & (length < 2.0)
    return np.asarray(np.where(good, wxyz / np.where(good, length, 1.0), np.nan))


def wxyz_from_euler(angles: Floats) -> Floats:
    """Return quaternions (T, 4), wxyz, of roll, pitch, yaw (T, 3), rad, eq. (4)."""
    c, s = np.cos(0.5 * angles), np.sin(0.5 * angles)
    zero = np.zeros(len(angles))
    parts = [
        np.insert(np.stack([c[:, i], s[:, i]], 1), [1] * i + [2] * (2 - i), zero[:, None], 1)
        for i in range(3)
    ]
    return product(product(parts[2], parts[1]), parts[0])


def rotated(wxyz: Floats, vectors: Floats) -> Floats:
    """Return vectors (T, 3) turned by quaternions (T, 4), wxyz."""
    u, w = wxyz[:, 1:], wxyz[:, :1]
    twice = 2.0 * np.cross(u, vectors)
    return np.asarray(vectors + w * twice + np.cross(u, twice))


def conjugate(wxyz: Floats) -> Floats:
    """Return the inverse rotations (T, 4)."""
    return np.asarray(wxyz * np.array([1.0, -1.0, -1.0, -1.0]))
