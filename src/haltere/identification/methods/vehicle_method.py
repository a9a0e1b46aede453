"""The methods for a log with pose: vehicle filter and batch smoother; JAX is imported only when one of them runs.

The doctor rotates the readings of an IMU that is rotated against the body into body axes. The vehicle filter estimates
this rotation itself, so it gets the readings as they were logged (`as_logged`).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.rigid import RigidAirframe
from haltere.doctor.diagnosis import Diagnosis
from haltere.flight import Channel, Flight
from haltere.flight.rotations import wxyz_from_matrix
from haltere.foundation.numbers import Floats
from haltere.identification.methods.base import IMU_ROTATED, Method, MethodInput, MethodResult


@dataclass(frozen=True)
class VehicleSettings:
    """Numbers of the methods for a log with pose."""

    exact_sigma: float = 1e-4
    """Relative deviation of a number that was given as exact: a filter needs one."""
    attempts: int = 3
    """Fits with larger noise before a log is refused."""
    diverged_rejected: float = 0.2
    """Fraction of rejected poses above which the filter has diverged."""
    diverged_nis: float = 4.0
    """NIS ratio above which the filter has diverged."""
    prior_scale: float = 3.0
    """Factor on the prior deviations where the nominal airframe does not fit."""
    shaking_imu: tuple[float, ...] = (0.3, 0.3, 0.3, 0.02, 0.02, 0.02)
    """Least noise of an IMU on a vehicle that shakes, m/s2 and rad/s; taken where less does not fit."""
    start_samples: float = 1000.0
    """IMU samples that are smoothed before the filter begins: what rotates all axes together is hardly visible, and a
    filter that begins early takes it for known."""
    start_seconds: tuple[float, float] = (2.0, 5.0)
    """Shortest and longest time of that, s."""
    start_iterations: int = 8
    """Gauss-Newton iterations of it."""
    joint_at_rest: float = 0.05
    """Angle up to which a joint counts as at rest, rad."""
    cutoff: float = 20.0
    """Cutoff of the low-pass of held-out predictions, Hz."""
    misfit_floor: float = 0.02
    """Relative deviation added where the model does not fit."""


SLIGHT = np.radians(25.0)
"""Angle up to which the vehicle filter estimates such a rotation by itself."""
SLOWEST = 90.0
"""Lowest rate of an IMU for the vehicle filter, Hz."""


def _needs(data: MethodInput, name: str) -> str:
    if data.window.rotor_speeds is None:
        return f"--method {name} needs rotor speeds and a pose; {data.speeds_missing}"
    if data.airframe is None:
        return f"--method {name} starts from a nominal vehicle; give --airframe"
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


def _run(data: MethodInput, name: Literal["filter", "batch"]) -> MethodResult:
    from haltere.identification.methods.batch import identify_batch  # noqa: PLC0415 - JAX takes a second to import
    from haltere.identification.methods.vehicle import identify_vehicle  # noqa: PLC0415

    flight, airframe = data.flight, data.airframe
    assert airframe is not None
    rotation = applied_rotation(data.diagnosis, data.applied)
    if rotation is not None:
        flight, airframe = as_logged(flight, airframe, rotation)
    if name == "batch":
        return identify_batch(flight, data.body_window(), airframe, data.known)
    return identify_vehicle(flight, data.window, airframe, data.known)


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

    The vehicle filter estimates how the IMU is mounted, and a small rotation may as well be the pose sensor's.
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


def _method(
    name: Literal["filter", "batch"], title: str, suits: Callable[[MethodInput], bool], gives_way: bool
) -> Method:
    return Method(name, title, partial(_needs, name=name), partial(_run, name=name), suits, gives_way)


BATCH = _method("batch", "the batch smoother", _has_pose, gives_way=True)
FILTER = _method("filter", "the vehicle filter", _never, gives_way=False)
