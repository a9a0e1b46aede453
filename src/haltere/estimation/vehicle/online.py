"""The vehicle filter fed as readings arrive: a pose that comes late is used where it was taken.

The last moments are kept as they were believed. A pose that shows an earlier moment updates the belief of that moment,
and the steps since are done again. Stamps that go backwards, poses older than what is kept and readings that are not
finite are skipped, each with a reason; the belief stays as it was.

    online = OnlineVehicle(vehicle, belief)
    online.imu(time, speeds, imu)                  # each sample
    online.pose(time_when_taken, position, wxyz)      # whenever one arrives
"""

from collections import deque
from typing import NamedTuple

import numpy as np

from haltere.estimation.vehicle.core import VehicleCore
from haltere.estimation.vehicle.steps import VehicleBelief
from haltere.foundation.arrays import Array

RETAINED = 0.5
"""Seconds for which moments are kept."""


class Moment(NamedTuple):
    """What was believed before the IMU reading of a moment, and that reading."""

    time: float
    belief: VehicleBelief
    speeds: np.ndarray
    imu: np.ndarray


class OnlineVehicle:
    """A belief that follows readings; the rotor speeds of a step are the mean of those at its two ends."""

    def __init__(self, vehicle: VehicleCore, belief: VehicleBelief, retained: float = RETAINED) -> None:
        """Begin with a belief, e.g. of `VehicleCore.begin`, that holds at the first IMU sample."""
        self.vehicle = vehicle
        self.reasons: list[str] = []
        """Why readings were skipped."""
        self._first = belief
        self._retained = retained
        self._moments: deque[Moment] = deque()

    @property
    def belief(self) -> VehicleBelief:
        """At the last IMU sample, before its reading."""
        return self._moments[-1].belief if self._moments else self._first

    def imu(self, time: float, speeds: Array, imu: Array) -> bool:
        """Take specific force and rate (6,) and rotor speeds (N,) rad/s of a moment, s; whether they were used."""
        given, read = np.asarray(speeds, float), np.asarray(imu, float)
        if self._moments and not time > self._moments[-1].time:
            return self._skip(
                f"an IMU sample at {time:.6f} s came after one at {self._moments[-1].time:.6f} s"
            )
        if given.shape != (self.vehicle.coordinates.count,) or not np.isfinite(given).all():
            return self._skip(f"the rotor speeds at {time:.6f} s are {given.tolist()}")
        belief = self._stepped(self._moments[-1], time, given) if self._moments else self._first
        self._moments.append(Moment(time, belief, given, read))
        while time - self._moments[0].time > self._retained:
            self._moments.popleft()
        return True

    def pose(self, time: float, position: Array, wxyz: Array | None = None) -> bool:
        """Take a pose, or a position, that shows the moment `time`, s; whether it was used."""
        if not np.isfinite(np.asarray(position)).all():
            return self._skip(f"the pose of {time:.6f} s is not finite")
        if not self._moments or time < self._moments[0].time - 0.5 * self._period:
            return self._skip(
                f"the pose of {time:.6f} s is older than what is kept; keep more than {self._retained:g} s"
            )
        at = min(range(len(self._moments)), key=lambda i: abs(self._moments[i].time - time))
        moment = self._moments[at]
        belief = self.vehicle.pose(moment.belief, position, wxyz)
        if belief is moment.belief:
            return self._skip(f"the pose of {time:.6f} s led to nothing finite")
        self._moments[at] = moment._replace(belief=belief)
        for i in range(at + 1, len(self._moments)):
            later = self._moments[i]
            self._moments[i] = later._replace(
                belief=self._stepped(self._moments[i - 1], later.time, later.speeds)
            )
        return True

    @property
    def _period(self) -> float:
        if len(self._moments) < 2:
            return 0.0
        return (self._moments[-1].time - self._moments[0].time) / (len(self._moments) - 1)

    def _stepped(self, moment: Moment, time: float, speeds: np.ndarray) -> VehicleBelief:
        dt = time - moment.time
        mean, rotor_accelerations = 0.5 * (moment.speeds + speeds), (speeds - moment.speeds) / dt
        return self.vehicle.step(moment.belief, mean, moment.imu, dt, rotor_accelerations)

    def _skip(self, reason: str) -> bool:
        self.reasons.append(f"{reason}: skipped")
        return False
