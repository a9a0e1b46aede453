"""Mass, centre of mass and inertia of the whole vehicle at one posture, taken from the dynamics."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from haltere.dynamics import Model
from haltere.dynamics.rest import at_rest
from haltere.foundation.numbers import Floats


@dataclass(frozen=True)
class MassProperties:
    """The vehicle as one rigid body."""

    mass: float
    """kg."""
    com: Floats
    """(3,) centre of mass in the body frame, m."""
    inertia: Floats
    """(3, 3) about the centre of mass, body axes, kg m2."""

    @classmethod
    def of(cls, model: Model, joint_angles: ArrayLike | None = None) -> Self:
        """With the links held at `joint_angles` (J,) rad, by default all zero."""
        angles = np.zeros(model.topology.joints) if joint_angles is None else np.asarray(joint_angles, float)
        mass, com, inertia, *_ = (np.asarray(x) for x in at_rest(model, angles))
        return cls(float(mass), com, inertia)
