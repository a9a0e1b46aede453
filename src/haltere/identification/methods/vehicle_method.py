"""The methods for a log with pose: batch smoother and filter; JAX is imported only when one of them runs.

The doctor rotates the readings of an IMU that is rotated against the body into body axes. Both methods estimate this
rotation themselves, so they get the readings as they were logged (`as_logged`).
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.rigid import RigidAirframe
from haltere.doctor.diagnosis import Diagnosis
from haltere.flight import Channel, Flight
from haltere.flight.rotations import wxyz_from_matrix
from haltere.foundation.numbers import Floats
from haltere.identification.methods.base import IMU_ROTATED, Method, MethodInput, MethodResult

if TYPE_CHECKING:
    from haltere.identification.methods.vehicle_input import VehicleInput

SLIGHT = np.radians(25.0)
"""Angle up to which the methods estimate such a rotation by themselves."""
SLOWEST = 90.0
"""Lowest rate of an IMU, Hz."""
FEWEST = 20
"""Poses at least."""


def _needs(data: MethodInput, name: str) -> str:
    if data.window.rotor_speeds is None:
        return f"--method {name} needs rotor speeds and a pose; {data.speeds_missing}"
    if data.airframe is None:
        return f"--method {name} starts from a nominal vehicle; give --airframe"
    if "pose.position" not in data.flight or len(data.flight["pose.position"]) < FEWEST:
        return (
            f"--method {name} needs rotor speeds and a pose, and the log has no pose; use --method effectiveness, or "
            "log motion capture or vision"
        )
    return ""


def _has_pose(data: MethodInput) -> bool:
    """Whether a pose was measured beside a fast IMU, and neither was computed from the other."""
    flight = data.flight
    return (
        "pose.position" in flight
        and len(flight["pose.position"]) > 50
        and "pose.acceleration" not in flight
        and flight["imu.gyro"].rate > SLOWEST
    )


def _input(data: MethodInput) -> "VehicleInput":
    """What both methods start from."""
    from haltere.identification.methods.vehicle_input import VehicleInput  # noqa: PLC0415 - JAX takes a second

    flight, airframe = data.flight, data.airframe
    assert airframe is not None
    rotation = applied_rotation(data.diagnosis, data.applied)
    if rotation is not None:
        flight, airframe = as_logged(flight, airframe, rotation)
    return VehicleInput.from_log(flight, data.body_window(), airframe, data.known, data.model)


def _run_batch(data: MethodInput) -> MethodResult:
    from haltere.identification.methods.batch import identify_batch  # noqa: PLC0415

    return identify_batch(_input(data))


def _run_filter(data: MethodInput) -> MethodResult:
    from haltere.identification.methods.online import identify_online  # noqa: PLC0415

    return identify_online(_input(data))


def applied_rotation(diagnosis: Diagnosis, applied: Iterable[str]) -> Floats | None:
    """(3, 3) by which the doctor rotated the readings of the IMU, if it did."""
    for finding in diagnosis.findings:
        if (
            finding.kind == IMU_ROTATED
            and finding.mend is not None
            and (finding.certain or IMU_ROTATED in set(applied))
        ):
            rows = Channel("imu.gyro", np.arange(3, dtype=np.int64), np.eye(3), "rad/s", "imu")
            return np.asarray(finding.mend(Flight.of(rows))["imu.gyro"].values.T)
    return None


def as_logged(flight: Flight, airframe: Airframe, rotation: Floats) -> tuple[Flight, Airframe]:
    """The flight before its IMU was rotated, and the airframe with the IMU mounted so, if it is by much.

    Both methods estimate how the IMU is mounted, and a small rotation may as well be the pose sensor's.
    """
    for name in ("imu.gyro", "imu.accel"):
        flight = flight.with_channel(replace(flight[name], values=flight[name].values @ rotation))
    if np.trace(rotation) > 1.0 + 2.0 * np.cos(SLIGHT) or not airframe.imu:
        return flight, airframe
    R = RigidAirframe.from_airframe(airframe).imu_rotation @ rotation
    imu = (airframe.imu[0].model_copy(update={"wxyz": wxyz_from_matrix(R)}), *airframe.imu[1:])
    return flight, airframe.model_copy(update={"imu": imu})


def _never(_: MethodInput) -> bool:
    return False


BATCH = Method(
    "batch", "the batch smoother", partial(_needs, name="batch"), _run_batch, _has_pose, gives_way=True,
    models=("full", "paper"),
)  # fmt: skip
FILTER = Method("filter", "the vehicle filter", partial(_needs, name="filter"), _run_filter, _never)
