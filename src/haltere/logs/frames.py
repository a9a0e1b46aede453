"""From the axes that flight controllers log in to ours: world ENU, body FLU.

With D = diag(1, -1, -1) and T the exchange of north and east with z reversed (both are their own inverse):

    (1)  v_FLU = D v_FRD
    (2)  p_ENU = T p_NED
    (3)  R_(ENU <- FLU) = T R_(NED <- FRD) D
"""

import numpy as np

from haltere.flight.rotations import multiply
from haltere.foundation.numbers import Floats

HALF = np.sqrt(0.5)
Q_WORLD = np.array([0.0, HALF, HALF, 0.0])
"""T as a quaternion wxyz: a rotation by pi about the bisector of x and y."""


def flu_from_frd(vectors: Floats, out: Floats | None = None) -> Floats:
    """Return vectors (T, 3) in body axes, eq. (1); in `out`, if that is given, which may be the same array."""
    return np.asarray(np.multiply(vectors, np.array([1.0, -1.0, -1.0]), out=out))


def enu_from_ned(vectors: Floats) -> Floats:
    """Return vectors (T, 3) in world axes, eq. (2)."""
    return np.asarray(vectors[:, [1, 0, 2]] * np.array([1.0, 1.0, -1.0]))


def enu_flu_from_ned_frd(wxyz: Floats) -> Floats:
    """Return attitudes (T, 4), quaternions wxyz, eq. (3)."""
    return multiply(multiply(Q_WORLD, wxyz), np.array([0.0, 1.0, 0.0, 0.0]))
