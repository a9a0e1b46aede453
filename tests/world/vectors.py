"""Vectors, rotations and quaternions of many flights at once.

Components come first and flights last: a vector of N flights is (3, N), one per rotor (3, R, N), a matrix (3, 3,
N). So an expression over components is written once and NumPy runs it over all flights. Sums run over the first
axes only; a flight's numbers therefore do not depend on the flights beside it. Quaternions are wxyz, Hamilton, body
to world.
"""

import numpy as np


def cross(a, b):
    """a x b over the first axis."""
    x = a[1] * b[2] - a[2] * b[1]
    out = np.empty((3, *x.shape))
    out[0] = x
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]
    return out


def dot(a, b):
    """a . b over the first axis."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross_matrix(a):
    """Matrix (3, 3, ...) with which a x b is a product."""
    zero = np.zeros_like(a[0])
    return np.array([[zero, -a[2], a[1]], [a[2], zero, -a[0]], [-a[1], a[0], zero]])


def norm(a):
    return np.sqrt(dot(a, a))


def apply(matrix, vector):
    """Matrix (3, 3, ...) times vector (3, ...)."""
    return matrix[:, 0] * vector[0] + matrix[:, 1] * vector[1] + matrix[:, 2] * vector[2]


def apply_transposed(matrix, vector):
    """Transposed matrix (3, 3, ...) times vector (3, ...)."""
    return matrix[0] * vector[0] + matrix[1] * vector[1] + matrix[2] * vector[2]


def rotation_matrix(wxyz):
    """R_WB (3, 3, ...) of unit quaternions (4, ...)."""
    wxyz = np.asarray(wxyz)
    products = (2 * wxyz)[:, None] * wxyz[None]
    out = np.empty((3, 3, *wxyz.shape[1:]))
    (_, wx, wy, wz), (_, xx, xy, xz), (_, _, yy, yz), (_, _, _, zz) = products
    out[0, 0] = 1 - yy - zz
    out[1, 1] = 1 - xx - zz
    out[2, 2] = 1 - xx - yy
    out[0, 1] = xy - wz
    out[1, 0] = xy + wz
    out[0, 2] = xz + wy
    out[2, 0] = xz - wy
    out[1, 2] = yz - wx
    out[2, 1] = yz + wx
    return out


def quaternion_rate(wxyz, rate):
    """Derivative of a quaternion (4, ...) at the angular velocity `rate` (3, ...) in body axes, rad/s."""
    w, x, y, z = wxyz
    p, q, r = rate * 0.5
    out = np.empty_like(wxyz)
    out[0] = -x * p - y * q - z * r
    out[1] = w * p + y * r - z * q
    out[2] = w * q - x * r + z * p
    out[3] = w * r + x * q - y * p
    return out


def multiply(a, b):
    """Quaternion product a b, both (4, ...)."""
    w, x, y, z = a
    e, f, g, h = b
    return np.stack(
        [
            w * e - x * f - y * g - z * h,
            w * f + x * e + y * h - z * g,
            w * g - x * h + y * e + z * f,
            w * h + x * g - y * f + z * e,
        ]
    )


def conjugate(wxyz):
    return np.concatenate([wxyz[:1], -wxyz[1:]])


def normalize(a):
    """Scaled to length one over the first axis."""
    return a / np.sqrt((a * a).sum(axis=0))


def quaternion_of_vector(vector):
    """Quaternion (4, ...) of a rotation vector (3, ...), rad."""
    angle = np.sqrt((vector * vector).sum(axis=0))
    half = 0.5 * np.sinc(angle / (2 * np.pi))  # sin(angle / 2) / angle, without the division by zero
    return np.concatenate([np.cos(angle / 2)[None], half * vector])


def vector_of_quaternion(wxyz):
    """Rotation vector (3, ...) of a quaternion (4, ...), rad, the shorter way round."""
    wxyz = np.where(wxyz[0] < 0, -wxyz, wxyz)
    sine = np.sqrt((wxyz[1:] ** 2).sum(axis=0))
    angle = 2 * np.arctan2(sine, wxyz[0])
    return wxyz[1:] * np.where(sine > 1e-12, angle / np.maximum(sine, 1e-12), 2.0)


def quaternion_of_euler(roll, pitch, yaw):
    """Quaternion (4, ...) of yaw about z, then pitch about y, then roll about x, rad."""
    cr, sr = np.cos(roll / 2), np.sin(roll / 2)
    cp, sp = np.cos(pitch / 2), np.sin(pitch / 2)
    cy, sy = np.cos(yaw / 2), np.sin(yaw / 2)
    return np.stack(
        [
            cy * cp * cr + sy * sp * sr,
            cy * cp * sr - sy * sp * cr,
            cy * sp * cr + sy * cp * sr,
            sy * cp * cr - cy * sp * sr,
        ]
    )


def yaw_of(wxyz):
    """Heading of the body's x axis, rad."""
    w, x, y, z = wxyz
    return np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def symmetric(six):
    """Matrix (3, 3, ...) of xx yy zz xy xz yz (6, ...)."""
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def six_of(matrix):
    """The numbers xx yy zz xy xz yz of a symmetric matrix (3, 3, ...)."""
    return np.array([matrix[0, 0], matrix[1, 1], matrix[2, 2], matrix[0, 1], matrix[0, 2], matrix[1, 2]])


def inverse(matrix):
    """Inverse of matrices (3, 3, N)."""
    return np.moveaxis(np.linalg.inv(np.moveaxis(matrix, -1, 0)), 0, -1)


def point_inertia(mass, offset):
    """Inertia of a point mass at `offset` (3, ...) about the origin: m (r.r 1 - r r^T), as (3, 3, ...)."""
    eye = np.eye(3).reshape(3, 3, *(1,) * (offset.ndim - 1))
    return mass * (dot(offset, offset) * eye - offset[:, None] * offset[None, :])
