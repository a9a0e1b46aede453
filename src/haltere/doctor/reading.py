"""Ways to read attitude and gyro, the motion in body axes, and the numbers that the checks of the IMU share."""

from dataclasses import dataclass

import numpy as np

from haltere.airframe.rigid import Nominal
from haltere.doctor.motion import Motion, unwound
from haltere.foundation.numbers import Floats

DOWN = np.diag([1.0, -1.0, -1.0])
"""From FLU to FRD axes and back."""
IMU = ("imu.accel", "imu.gyro")
UNITS = {"deg/s": np.pi / 180.0, "rad/s": 1.0}


@dataclass(frozen=True)
class Reading:
    """One way to read attitude and gyro, and the share of the turning that it leaves unexplained."""

    order: str
    inverse: bool
    down: bool
    unit: str
    left: float


def read_as(wxyz: Floats, order: str, inverse: bool) -> Floats:
    """Return the attitude of the body if quaternions (T, 4) are to be read this way."""
    q = wxyz[:, [3, 0, 1, 2]] if order == "xyzw" else wxyz
    return np.asarray(q * [1.0, -1.0, -1.0, -1.0] if inverse else q)


def in_body(moved: Motion, nominal: Nominal) -> Motion:
    """Return the motion in body axes by the nominal turns of the sensors."""
    turn = nominal.imu_rotation.T

    def turned_(values: Floats | None) -> Floats | None:
        return None if values is None else np.asarray(values @ turn)

    wxyz = moved.wxyz
    if wxyz is not None and moved.attitude_name == "pose.wxyz":
        w, x, y, z = nominal.pose_wxyz
        wxyz = np.stack(
            [wxyz @ [w, x, y, z], *(wxyz @ np.array([[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]]).T).T], 1
        )
        wxyz = unwound(wxyz)
    return Motion(
        moved.time,
        turned_(moved.accel),
        turned_(moved.gyro),
        turned_(moved.turn),
        wxyz,
        moved.position,
        moved.attitude_name,
    )
