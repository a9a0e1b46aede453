"""Mass, centre of mass and inertia of the whole vehicle at one posture, taken from the dynamics.

From the generalized inertia G of all bodies about the body origin ([Hong2021] eq. (10)), with [x] the cross-product
matrix:

    m = G_11,   m [c] = lower left block of G,   I_c = lower right block + m [c][c]                       (1)
"""

from dataclasses import dataclass
from typing import Self

import jax
import numpy as np
from numpy.typing import ArrayLike, NDArray

from haltere.dynamics import Compact, Model
from haltere.foundation.arrays import Array


@dataclass(frozen=True)
class MassProperties:
    """The vehicle as one rigid body."""

    mass: float
    """kg."""
    com: NDArray[np.float64]
    """(3,) centre of mass in the body frame, m."""
    inertia: NDArray[np.float64]
    """(3, 3) about the centre of mass, body axes, kg m2."""

    @classmethod
    def of(cls, model: Model, joint_angles: ArrayLike | None = None) -> Self:
        """Equation (1) with the links held at `joint_angles` (J,) rad, by default all zero."""
        zero = np.zeros(model.topology.joints)
        G = np.asarray(_inertia(model, zero if joint_angles is None else np.asarray(joint_angles, float)))
        mass, moment = float(G[0, 0]), G[3:, :3]
        com = np.array([moment[2, 1], moment[0, 2], moment[1, 0]]) / mass
        cross = moment / mass
        return cls(mass, com, G[3:, 3:] + mass * cross @ cross)


@jax.jit
def _inertia(model: Model, joint_angles: Array) -> Array:
    return Compact.from_model(model, joint_angles).inertia
