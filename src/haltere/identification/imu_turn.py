"""An IMU turned against the body: the doctor turns its readings back, the vehicle filter finds the turn itself."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from haltere.airframe import Airframe
from haltere.airframe.rigid import nominal_of
from haltere.doctor.diagnosis import Diagnosis
from haltere.flight import Channel, Flight
from haltere.foundation.numbers import Floats

TURNED = "imu-rotated"
"""The doctor's finding that the IMU is turned against the attitude's body."""
SLIGHT = np.radians(25.0)
"""Up to which turn the vehicle filter finds it by itself."""


def turn_of(diagnosis: Diagnosis, apply: Iterable[str]) -> Floats | None:
    """(3, 3) by which the doctor turned the IMU's readings, if it did."""
    for finding in diagnosis.findings:
        if finding.kind == TURNED and finding.mend is not None and (finding.certain or TURNED in set(apply)):
            rows = Channel("imu.gyro", np.arange(3, dtype=np.int64), np.eye(3), "rad/s", "imu")
            return np.asarray(finding.mend(Flight.of(rows))["imu.gyro"].values.T)
    return None


def mounted(flight: Flight, airframe: Airframe, turn: Floats) -> tuple[Flight, Airframe]:
    """The flight as it was before the IMU was turned, and the airframe with the IMU mounted so, if it is by much.

    The vehicle filter estimates how the IMU is mounted, and a small turn may as well be the pose sensor's.
    """
    for name in ("imu.gyro", "imu.accel"):
        flight = flight.with_channel(replace(flight[name], values=flight[name].values @ turn))
    if np.trace(turn) > 1.0 + 2.0 * np.cos(SLIGHT) or not airframe.imu:
        return flight, airframe
    R = nominal_of(airframe).imu_rotation @ turn
    wxyz = tuple(float(x) for x in np.roll(Rotation.from_matrix(R).as_quat(), 1))
    imu = (airframe.imu[0].model_copy(update={"wxyz": wxyz}), *airframe.imu[1:])
    return flight, airframe.model_copy(update={"imu": imu})
