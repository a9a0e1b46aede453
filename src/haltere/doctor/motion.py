"""The motion in a flight on one regular clock, and ways to read it: what checks of axes, units and rotors compare.

Every signal is put on a clock at its own rate, passes the same zero-phase low-pass at `cutoff`, f_c, and is sampled
at `RATE`.

An `AttitudeReading` is one way to read attitude and gyro; `in_body` rotates the motion into body axes.
"""

from dataclasses import dataclass, replace

import numpy as np

from haltere.airframe.rigid import RigidAirframe
from haltere.flight import Channel, Flight, FlightError
from haltere.flight.filters import low_pass
from haltere.flight.resampling import common_clock, interpolate_columns, resample
from haltere.flight.rotations import conjugate, multiply, unwrap
from haltere.foundation.numbers import Bools, Floats, Times

RATE = 100.0
"""Of the common clock, Hz."""
CUTOFF = 12.0
"""Of the low-pass, Hz, where the sampling of a channel allows it."""


@dataclass(frozen=True)
class SmoothedMotion:
    """Signals (T, ...) on the clock `time`, ns; NaN where there is none. None where the flight lacks a channel."""

    time: Times
    accel: Floats | None
    gyro: Floats | None
    angular_acceleration: Floats | None
    """Angular acceleration, rad/s2, of the gyro."""
    wxyz: Floats | None
    position: Floats | None
    attitude_name: str = ""

    @property
    def seconds(self) -> Floats:
        """Time since the start, s."""
        return np.asarray((self.time - self.time[0]) * 1e-9)


def attitude_channel(flight: Flight) -> Channel | None:
    """Return the attitude to compare with: measured before estimated."""
    for name in ("pose.wxyz", *(n for n in flight.names if n.endswith(".wxyz"))):
        if name in flight and len(flight[name]) > 20 and flight[name].values.ndim == 2:
            return flight[name]
    return None


def smoothed_motion(flight: Flight, delay: float = 0.0) -> SmoothedMotion | None:
    """Return the motion of a flight that has an IMU; None if it has none or is too short."""
    imu = [flight[name] for name in ("imu.accel", "imu.gyro") if name in flight and len(flight[name]) > 20]
    if not imu:
        return None
    try:
        clock = common_clock(imu, RATE)
    except FlightError:
        return None
    if len(clock) < 50:
        return None
    accel = smooth(flight["imu.accel"], clock) if "imu.accel" in flight else None
    gyro = smooth(flight["imu.gyro"], clock) if "imu.gyro" in flight else None
    turn = None if gyro is None else np.gradient(gyro, 1.0 / RATE, axis=0)
    attitude = attitude_channel(flight)
    wxyz = None
    position = None
    if attitude is not None:
        wxyz = unwrap(resample(clean(attitude), clock, max_gap=0.25).values)
        place = f"{attitude.name.rsplit('.', 1)[0]}.position"
        if place in flight and len(flight[place]) > 20:
            position = resample(flight[place], clock, max_gap=0.25).values
    return SmoothedMotion(
        clock, accel, gyro, turn, wxyz, position, attitude.name if attitude is not None else ""
    )


def clean(channel: Channel) -> Channel:
    """Return the samples of a channel that are finite."""
    good = channel.finite
    return channel if np.all(good) else replace(channel, time=channel.time[good], values=channel.values[good])


def smooth(channel: Channel, clock: Times, cutoff: float = CUTOFF) -> Floats:
    """Return a channel, low-passed without delay, at the times of a clock (T,), ns; NaN in gaps."""
    channel = clean(channel)
    if len(channel) < 10:
        return np.full((len(clock), *channel.values.shape[1:]), np.nan)
    rate = max(channel.rate, 1.0)
    steps = np.arange(channel.time[0], channel.time[-1], np.int64(1e9 / rate))
    regular = interpolate_columns(steps, channel.time, channel.values.reshape(len(channel), -1))
    if cutoff < 0.4 * rate and len(regular) > 30:
        regular = low_pass(regular, rate, cutoff, pad=int(3 * rate / cutoff), corrected=False)
    values = interpolate_columns(clock, steps, regular, outside=np.nan)
    after = np.searchsorted(channel.time, clock, "right")
    inside = (after > 0) & (after < len(channel))
    width = np.zeros(len(clock), np.int64)
    width[inside] = channel.time[after[inside]] - channel.time[after[inside] - 1]
    values[~inside | (width > max(5e9 / rate, 3e7))] = np.nan
    return np.asarray(values.reshape(len(clock), *channel.values.shape[1:]))


def low_pass_over_gaps(values: Floats, cutoff: float = 3.0) -> Floats:
    """Return signals (T, k) on the common clock below a frequency, Hz; gaps are bridged and marked again."""
    good = np.isfinite(values).reshape(len(values), -1).all(axis=1)
    if good.sum() < 30:
        return np.full_like(values, np.nan)
    places = np.arange(len(values))
    filled = interpolate_columns(places, places[good], values[good])
    passed = low_pass(filled, RATE, cutoff, pad=9, corrected=False)
    passed[~good] = np.nan
    return passed


def finite_rows(*arrays: Floats) -> Bools:
    """Where all of these arrays (T, ...) are finite."""
    return np.asarray(np.all([np.isfinite(a).reshape(len(a), -1).all(axis=1) for a in arrays], axis=0))


DOWN = np.diag([1.0, -1.0, -1.0])
"""From FLU to FRD axes and back."""
IMU = ("imu.accel", "imu.gyro")
UNITS = {"deg/s": np.pi / 180.0, "rad/s": 1.0}


@dataclass(frozen=True)
class AttitudeReading:
    """One way to read attitude and gyro, and the fraction of the angular rate that it leaves unexplained."""

    order: str
    inverse: bool
    down: bool
    unit: str
    residual: float


def read_as(wxyz: Floats, order: str, inverse: bool) -> Floats:
    """Return the attitude of the body if quaternions (T, 4) are to be read this way."""
    q = wxyz[:, [3, 0, 1, 2]] if order == "xyzw" else wxyz
    return conjugate(q) if inverse else q


def in_body(motion: SmoothedMotion, nominal: RigidAirframe) -> SmoothedMotion:
    """Return the motion in body axes by the nominal rotations of the sensors."""
    turn = nominal.imu_rotation.T

    def turned_(values: Floats | None) -> Floats | None:
        return None if values is None else np.asarray(values @ turn)

    wxyz = motion.wxyz
    if wxyz is not None and motion.attitude_name == "pose.wxyz":
        wxyz = unwrap(multiply(wxyz, conjugate(nominal.pose_wxyz)))
    return SmoothedMotion(
        motion.time,
        turned_(motion.accel),
        turned_(motion.gyro),
        turned_(motion.angular_acceleration),
        wxyz,
        motion.position,
        motion.attitude_name,
    )
