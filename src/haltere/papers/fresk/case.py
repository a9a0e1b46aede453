"""One flight of a closed loop with an estimated centre of gravity, in numbers: what differs, and what is kept."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from haltere.control import GeometricController
from haltere.control.dither import Dither
from haltere.dynamics import State
from haltere.foundation.arrays import Array, pytree
from haltere.trajectory import Trajectory


class Source(IntEnum):
    """Where the mixer takes the centre of mass from."""

    NOTHING = 0
    """It stays with what it believed at the beginning."""
    OURS = 1
    PAPER = 2
    REFERENCE = 3
    """The paper's ground truth estimator, which integrates the position error."""


@pytree
@dataclass(frozen=True)
class Case:
    """One flight, in numbers."""

    key: Array
    source: Any
    controller: GeometricController
    path: Trajectory
    start: State
    offset: Any
    """(3,) what filters and mixer believe at the beginning, m."""
    torque_noise: Any
    """White torque, rad/s2 in each step."""
    wash: Any
    """Strength of the rotor wash on the arm, 1 where the paper describes it."""
    thrust: Any
    """(R,) relative strength of each rotor beyond the nominal."""
    load: Any
    """What the loop's `change` takes."""
    faults: Any
    """(3,) times in s of a rotor-speed dropout of 0.2 s, an accelerometer outlier of 50 m/s2, a gyroscope NaN."""
    dither: Dither


@pytree
@dataclass(frozen=True)
class CogLog:
    """What is kept of each tick; lengths in m."""

    position: Array
    """(3,) of the body origin, world."""
    com: Array
    """(3,) centre of mass by our filter, body axes."""
    offset: Array
    """(3,) of it from the nominal place."""
    cov: Array
    """(3, 3)."""
    paper: Array
    """(3,) of the paper's filter."""
    reference: Array
    """(3,) of the paper's ground truth estimator."""
    used: Array
    """(3,) centre of mass that the mixer uses."""
    modes: Array
    noise: Array
    along: Array
    """() whether the component along the thrust is called observable."""
    counts: Array
    """(reasons,) raised until now, filter and compensation together."""
    mass: Array
    """() kg, estimated."""
    thrust: Array
    """(R,) estimated."""
    angles: Array
    """(J,) true, rad."""

    @property
    def sigma(self) -> np.ndarray:
        """(..., 3) deviations of our filter, m."""
        return np.asarray(np.sqrt(np.maximum(np.diagonal(np.asarray(self.cov), 0, -2, -1), 0.0)))
