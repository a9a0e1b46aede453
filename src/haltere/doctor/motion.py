"""The motion in a flight on one regular clock, ways to read it, and how much of it nominal rotors explain.

Every signal is put on a clock at its own rate, passes the same zero-phase low-pass at `cutoff`, f_c, and is sampled
at `RATE`. An `AttitudeReading` is one way to read attitude and gyro; `in_body` rotates the motion into body axes.

With X the squared speeds (T, R), y one row of the measured motion (angular acceleration with I^-1 (w x I w)
added, or specific force; means removed) and b the nominal effect of the rotors on it, in the order P and with a
free positive gain:

    (1)  R2(P) = max(b_P.X'y, 0)^2 / (b_P.X'X b_P  y'y)

Rotors that speed up rotate the body the other way as well. With Z their accelerations (T, R) and signs c, the fraction
that both explain, each with a free positive gain:

    (2)  R2(b, c) = 1 - min over g, h >= 0 of |y - g X b - h Z c|^2 / y'y
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize

from haltere.airframe.rigid import RigidAirframe
from haltere.flight import Channel, Flight, FlightError
from haltere.flight.filters import low_pass
from haltere.flight.resampling import common_clock, interpolate_columns, resample
from haltere.flight.rotations import conjugate, multiply, unwrap
from haltere.foundation.numbers import Bools, Floats, Times

RATE = 100.0
"""Of the common clock, Hz."""
SLOWEST = 5.0
"""Rate of an IMU, Hz, below which it does not tell how a vehicle moves."""
OUTLIER = 8.0
"""Usual rotation between two samples of an attitude beyond which one may be an outlier."""
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
    if not imu or min(channel.rate for channel in imu) < SLOWEST:
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
        wxyz = unwrap(resample(without_outliers(clean(attitude)), clock, max_gap=0.25).values)
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


def without_outliers(attitude: Channel) -> Channel:
    """Return quaternions (T, 4) without one or two far from those before and after them, which are near each other."""
    values = attitude.values / np.maximum(np.linalg.norm(attitude.values, axis=1, keepdims=True), 1e-12)
    if len(values) < 8:
        return attitude
    apart = {step: _angles(values, step) for step in (1, 2, 3)}
    limit = max(OUTLIER * float(np.median(apart[1])), 0.05)
    keep = np.ones(len(values), bool)
    for width in (1, 2):
        count = len(values) - width - 1
        jumps = np.minimum(apart[1][:count], apart[1][width : width + count])
        for k in np.flatnonzero((jumps > limit) & (apart[width + 1] < 0.5 * jumps)).tolist():
            keep[k + 1 : k + 1 + width] = False
    return replace(attitude, time=attitude.time[keep], values=attitude.values[keep])


def _angles(wxyz: Floats, step: int) -> Floats:
    """(T - step,) angles between quaternions (T, 4) so many samples apart, rad."""
    dots = np.abs(np.sum(wxyz[step:] * wxyz[:-step], axis=1))
    return np.asarray(2.0 * np.arccos(np.clip(dots, 0.0, 1.0)))


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


BAND = 8.0
"""Frequencies of the torque rows, Hz."""
STRENGTH = 0.3
"""Relative, by which a rotor may be weaker or stronger than described."""


def rows_of(motion: SmoothedMotion, nominal: RigidAirframe | None) -> Floats | None:
    """Return (T, 6): angular acceleration with the gyroscopic part added, and specific force; NaN where unknown."""
    if motion.gyro is None or motion.angular_acceleration is None:
        return None
    turn = motion.angular_acceleration
    if nominal is not None:
        swirl = np.cross(motion.gyro, motion.gyro @ nominal.inertia.T)
        turn = turn + np.linalg.solve(nominal.inertia, swirl.T).T
    force = motion.accel if motion.accel is not None else np.zeros_like(turn)
    return np.hstack([low_pass_over_gaps(turn, BAND), low_pass_over_gaps(force, BAND)])


def flying(squared_speeds: Floats) -> np.ndarray:
    """(T,) where the rotors pull: squared speeds (T, R) beyond a quarter of what is usual in flight."""
    total = np.nansum(squared_speeds, axis=1)
    return np.asarray(total > 0.25 * np.nanpercentile(total, 80))


class EffectFit:
    """Squared speeds and motion on the common clock, means removed, and their products."""

    def __init__(self, source: Channel, motion: SmoothedMotion, nominal: RigidAirframe) -> None:
        rows = rows_of(motion, nominal)
        speeds = smooth(source, motion.time)
        squared_speeds = low_pass_over_gaps(speeds**2, BAND)
        rises = low_pass_over_gaps(np.gradient(speeds, 1.0 / RATE, axis=0), BAND)
        self.enough = rows is not None
        if rows is None:
            return
        good = finite_rows(rows, squared_speeds, rises) & flying(squared_speeds)
        edge = int(0.3 * RATE)
        good[:edge] = good[-edge:] = False
        self.enough = int(good.sum()) >= 200
        if not self.enough:
            return
        X, Y, Z = (part[good] - part[good].mean(axis=0) for part in (squared_speeds, rows, rises))
        self.X, self.Y, self.Z = X, Y, Z
        self.XX, self.XY, self.YY = X.T @ X, X.T @ Y, np.sum(Y**2, axis=0)
        tilt = np.linalg.solve(nominal.inertia, nominal.torques)
        self.effects = np.vstack([tilt, nominal.forces / nominal.mass])

    def explained(self, effects: Floats, rows: range, order: tuple[int, ...] | None = None) -> Floats:
        """Return R2 of rows, eq. (1), for rotors in an order."""
        pick = list(order) if order is not None else list(range(self.XX.shape[0]))
        XX, XY = self.XX[np.ix_(pick, pick)], self.XY[pick]
        found = np.zeros(len(rows))
        for k, row in enumerate(rows):
            b = effects[row]
            below = float(b @ XX @ b) * float(self.YY[row])
            found[k] = max(float(b @ XY[:, row]), 0.0) ** 2 / below if below > 0.0 else 0.0
        return np.clip(found, 0.0, 1.0 - 1e-9)

    def likelihood(self, effects: Floats, rows: range, order: tuple[int, ...] | None = None) -> float:
        """Return how well rotors in an order fit rows: -sum log(1 - R2)."""
        return float(-np.sum(np.log1p(-self.explained(effects, rows, order))))

    def strengthened(self, rows: range) -> Floats:
        """Return the effects (6, R) with each rotor as strong as fits rows best, within `STRENGTH`."""
        parts, wanted = [], []
        for row in rows:
            X, y = self.X * self.effects[row], self.Y[:, row]
            made = X.sum(axis=1)
            gain = max(float(made @ y), 0.0) / max(float(made @ made), 1e-300)
            size = max(float(np.linalg.norm(y)), 1e-300)
            parts.append(gain * X / size)
            wanted.append(y / size)
        bounds = (1.0 - STRENGTH, 1.0 + STRENGTH)
        found = optimize.lsq_linear(np.concatenate(parts), np.concatenate(wanted), bounds)
        return np.asarray(self.effects * found.x)

    def explained_spinning(self, effect: Floats, signs: Floats, row: int) -> float:
        """Return R2 of a row, eq. (2), for an effect (R,) of squared speeds and signs (R,) of accelerations."""
        y = self.Y[:, row]
        parts = np.stack([self.X @ effect, self.Z @ signs], axis=1)
        size = np.maximum(np.linalg.norm(parts, axis=0), 1e-300)
        left = optimize.nnls(parts / size, y)[1]
        return float(np.clip(1.0 - left**2 / max(float(y @ y), 1e-300), 0.0, 1.0 - 1e-9))
