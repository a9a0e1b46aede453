"""Inertia of a part about its centre of mass, and whether a rigid body can have it.

With principal moments A <= B <= C, the eigenvalues of the tensor `inertia` = (xx, yy, zz, xy, xz, yz):

    A >= 0,   A + B >= C                                                                               (1)

The entries are those of the matrix, so xy = -(sum of m x y). Equality in (1) holds for a flat part. Principal axes M
are the columns of R_BM, ordered and signed to be as close to the axes B of the tensor J as they can:

    J = R_BM diag(moments) R_BM^T,   det R_BM = 1,   trace R_BM largest                                (2)
"""

from itertools import permutations, product
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator

from haltere.airframe.errors import fault, say
from haltere.airframe.fields import vector

_TOLERANCE = 1e-9

Six = tuple[float, float, float, float, float, float]
ZERO: Six = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def tensor(
    inertia: Six | np.ndarray[Any, Any],
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """(3, 3) kg m^2, from the six numbers of the file."""
    xx, yy, zz, xy, xz, yz = inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def principal_moments(inertia: Six) -> tuple[float, float, float]:
    """The three principal moments (kg m^2), the smallest first."""
    a, b, c = (float(moment) for moment in np.linalg.eigvalsh(tensor(inertia)))
    return a, b, c


def principal_axes(
    inertia: np.ndarray[Any, np.dtype[np.float64]],
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]]:
    """R_BM (3, 3) and the moments (3,) of equation (2), from a tensor (3, 3); the identity if it is diagonal."""
    diagonal = np.diagonal(inertia).copy()
    if np.max(np.abs(inertia - np.diag(diagonal))) <= _TOLERANCE * np.sum(diagonal):
        return np.eye(3), diagonal
    _, vectors = np.linalg.eigh(inertia)
    turns = [
        vectors[:, order] * np.asarray(signs)
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    ]
    R = max((turn for turn in turns if np.linalg.det(turn) > 0.0), key=np.trace)
    return R, np.diagonal(R.T @ inertia @ R).copy()


def _possible(value: Any) -> Six:
    xx, yy, zz, xy, xz, yz = vector(value, 6, "[7.5e-3, 7.5e-3, 1.3e-2, 0, 0, 0]")
    inertia = (xx, yy, zz, xy, xz, yz)
    smallest, middle, largest = principal_moments(inertia)
    slack = _TOLERANCE * max(abs(smallest), abs(largest))
    principal = f"{smallest:.4g}, {middle:.4g} and {largest:.4g}"
    moments = f"got {say(inertia)}, whose principal moments are {principal}"
    order = "check units (kg m^2) and order (xx yy zz xy xz yz)"
    if smallest < -slack:
        raise fault(f"{moments}; none may be negative: {order}")
    if smallest + middle < largest - slack:
        raise fault(f"{moments}; the largest may not exceed the sum of the others: {order}")
    return inertia


def check_has_mass(mass: float, inertia: Six) -> None:
    """Refuse inertia without mass, which would silently count for nothing."""
    if mass == 0 and any(inertia):
        raise fault(f"got inertia {say(inertia)} but no mass; give the mass in kg as well", "mass")


Inertia = Annotated[Six, BeforeValidator(_possible)]
