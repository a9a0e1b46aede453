"""Readings as sensors send them: checked one by one, and kept for as long as they are needed.

A reading that cannot be used is skipped, and its reason counted. A single stamp far from the others is skipped; when
several readings in a row agree on another time, the clock was set anew, and what was kept is dropped.
"""

import math
from collections import Counter, deque
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from haltere.estimation.core.readings import Reading, ReadingError, join_imu, split_pose
from haltere.flight import Channel, Flight, nanoseconds
from haltere.flight.resampling import interpolate_columns
from haltere.foundation.arrays import ArrayLike
from haltere.foundation.numbers import Floats

BACK = 0.5
"""s that a stamp may be before the newest of all."""
AHEAD = 1.0
"""s that it may be after it."""
AGREEING = 10
"""Readings in a row that agree on another time: the clock was set anew."""
LISTED = 200
"""Skipped readings that are listed; more are counted."""
ROWS = 2048
"""Of a series at first."""
MOST_ROWS = 1 << 18
"""Of a series at last: 30 s at 8 kHz."""
LARGEST = {"accel": 2000.0, "gyro": 200.0, "rotors": 2e4, "position": 1e6}
"""m/s2, rad/s, rad/s, m: what no sensor of a multirotor reads."""
CLIPPED = (2.0, 2.0, 2.0, 15.0, 15.0, 15.0)
"""rad/s and m/s2 from which on a repeated largest reading is the end of the range of the IMU."""


class ImuSample(NamedTuple):
    """A reading of the IMU, in its axes."""

    time: float
    """s."""
    accel: ArrayLike
    """(3,) specific force, m/s2."""
    gyro: ArrayLike
    """(3,) angular rate, rad/s."""


class RotorSample(NamedTuple):
    """Measured rotor speeds."""

    time: float
    """s."""
    speeds: ArrayLike
    """(R,) rad/s, in the order of the airframe's rotors."""


class PoseSample(NamedTuple):
    """A pose of the pose sensor in the world."""

    time: float
    """s, when it was taken."""
    position: ArrayLike
    """(3,) m."""
    wxyz: ArrayLike
    """(4,) attitude."""


SensorSample = ImuSample | RotorSample | PoseSample


def samples_in(reading: Reading | SensorSample) -> Iterator[SensorSample]:
    """The samples of IMU, rotor speeds and pose that a reading holds.

    Raises:
        ReadingError: a part has another shape.
    """
    if not isinstance(reading, Reading):
        yield reading
        return
    if reading.imu is not None:
        imu = join_imu(reading.imu)
        yield ImuSample(reading.time, imu[:3], imu[3:])
    if reading.rotor_speeds is not None:
        yield RotorSample(reading.time, reading.rotor_speeds)
    if reading.pose is not None:
        position, wxyz = split_pose(reading.pose)
        yield PoseSample(reading.time, position, np.full(4, np.nan) if wxyz is None else wxyz)


class SkipReason(StrEnum):
    """Why a reading was not used."""

    STAMP = "the stamp is not finite"
    VALUE = "a value is not finite"
    RANGE = "a value is beyond what any sensor reads"
    SATURATED = "the IMU is at the end of its range"
    BACKWARDS = "the stamp is not after the one before it"
    FAR = "the stamp is far from all others"
    TOO_LATE = "its moment has been filtered already"


class SkippedReading(NamedTuple):
    """A reading that was not used."""

    time: float
    """Its stamp, s."""
    stream: str
    """`imu`, `rotors` or `pose`."""
    reason: SkipReason


class SkipLog:
    """Skipped readings: all counted, the last `LISTED` listed."""

    def __init__(self) -> None:
        self.counts: Counter[SkipReason] = Counter()
        """How many, by reason."""
        self.recent: deque[SkippedReading] = deque(maxlen=LISTED)

    def add(self, time: float, stream: str, reason: SkipReason) -> None:
        """Count a reading."""
        self.counts[reason] += 1
        self.recent.append(SkippedReading(time, stream, reason))

    def __len__(self) -> int:
        return self.counts.total()

    def __iter__(self) -> Iterator[SkippedReading]:
        return iter(self.recent)


class SampleSeries:
    """The last readings of one stream: stamps (T,) and values (T, m), older ones dropped after `seconds`."""

    def __init__(self, width: int, seconds: float) -> None:
        self.seconds = seconds
        self._time: Any = np.empty(ROWS)
        self._values: Any = np.empty((ROWS, width))
        self.size = 0

    @property
    def time(self) -> Floats:
        """(T,) s."""
        return self._time[: self.size]  # type: ignore[no-any-return]

    @property
    def values(self) -> Floats:
        """(T, m)."""
        return self._values[: self.size]  # type: ignore[no-any-return]

    @property
    def newest(self) -> float:
        """Stamp of the last one, s; minus infinity if there is none."""
        return float(self._time[self.size - 1]) if self.size else -np.inf

    @property
    def oldest(self) -> float:
        """Stamp of the first one, s; infinity if there is none."""
        return float(self._time[0]) if self.size else np.inf

    def append(self, time: float, values: list[float]) -> None:
        """Keep a reading that is later than all before."""
        if self.size == len(self._time):
            self._make_room(time)
        self._time[self.size] = time
        self._values[self.size] = values
        self.size += 1

    def drop_last(self) -> None:
        """Forget the last reading."""
        self.size -= 1

    def clear(self) -> None:
        """Forget all."""
        self.size = 0

    def since(self, first: float, at_least: int) -> tuple[Floats, Floats]:
        """Copies of stamps and values from `first` on, with `at_least` rows if there are as many."""
        begin = min(int(np.searchsorted(self.time, first)), max(self.size - at_least, 0))
        return self.time[begin:].copy(), self.values[begin:].copy()

    def _make_room(self, time: float) -> None:
        begin = int(np.searchsorted(self.time, time - self.seconds))
        if len(self._time) >= MOST_ROWS:
            begin = max(begin, self.size // 2)
        kept = self.size - begin
        rows = len(self._time) if 2 * kept <= len(self._time) else 2 * len(self._time)
        times, values = np.empty(rows), np.empty((rows, self._values.shape[1]))
        times[:kept], values[:kept] = self.time[begin:], self.values[begin:]
        self._time, self._values, self.size = times, values, kept


class SensorBuffer:
    """Readings of IMU, rotor speeds and poses; times count from the first stamp of a clock."""

    def __init__(
        self, rotors: int, seconds: float, imu_range: tuple[float, float] = (np.inf, np.inf)
    ) -> None:
        """A buffer of `seconds`, and an IMU whose gyro (rad/s) and accelerometer (m/s2) have a range."""
        self.imu, self.rotors, self.poses = (
            SampleSeries(6, seconds),
            SampleSeries(rotors, seconds),
            SampleSeries(7, seconds),
        )
        self.skipped = SkipLog()
        self.origin: float | None = None
        """Stamp from which times count, s."""
        self.newest = -np.inf
        """s, of all readings."""
        self.restarts = 0
        """How often the clock was set anew."""
        self._other: float = np.nan
        self._agreeing = 0
        self._count = rotors
        self._range = (0.999 * imu_range[0], 0.999 * imu_range[1])
        self._extremes = list(CLIPPED)
        self._outermost = [math.nan] * 6
        self._is_outermost_kept = False

    def add(self, reading: SensorSample) -> bool:
        """Check a reading and keep it; whether it is kept."""
        match reading:
            case ImuSample():
                name, series = "imu", self.imu
                values = _floats(reading.gyro, 3, "gyro") + _floats(reading.accel, 3, "accel")
                beyond = _is_beyond(values[:3], LARGEST["gyro"]) or _is_beyond(values, LARGEST["accel"])
            case RotorSample():
                name, series = "rotors", self.rotors
                values = _floats(reading.speeds, self._count, "rotor speeds")
                beyond = _is_beyond(values, LARGEST["rotors"])
            case PoseSample():
                name, series = "pose", self.poses
                position, wxyz = _floats(reading.position, 3, "position"), _floats(reading.wxyz, 4, "wxyz")
                length = math.hypot(*wxyz)
                beyond = _is_beyond(position, LARGEST["position"]) or not 0.5 < length < 2.0
                values = position + [x / (length or 1.0) for x in wxyz]
            case _:
                raise ReadingError(f"got a {type(reading).__name__}; give a Reading")
        stamp = float(reading.time)
        if not math.isfinite(stamp):
            return self._skip(stamp, name, SkipReason.STAMP)
        if not all(map(math.isfinite, values)):
            return self._skip(stamp, name, SkipReason.VALUE)
        if beyond:
            return self._skip(stamp, name, SkipReason.RANGE)
        if self.origin is None:
            self.origin = stamp
        time = stamp - self.origin
        if not self.newest - BACK < time < self.newest + AHEAD and self.newest > -np.inf:
            if not self._is_set_anew(time):
                reason = SkipReason.BACKWARDS if time < self.newest else SkipReason.FAR
                return self._skip(stamp, name, reason)
            self.origin, time = stamp, 0.0
        self._agreeing = 0
        if time <= series.newest:
            return self._skip(stamp, name, SkipReason.BACKWARDS)
        if name == "imu" and self._is_saturated(values):
            return self._skip(stamp, name, SkipReason.SATURATED)
        series.append(time, values)
        self.newest = max(self.newest, time)
        return True

    def clear(self) -> None:
        """Forget all readings; counts and clock stay."""
        for series in (self.imu, self.rotors, self.poses):
            series.clear()

    def skip_late(self, stamp: float) -> None:
        """Take back the last pose, which came too late."""
        self.poses.drop_last()
        self._skip(stamp, "pose", SkipReason.TOO_LATE)

    def to_flight(self, first: float, rotor_names: tuple[str, ...]) -> Flight:
        """The readings from `first` on, s, as a flight on the same clock."""
        imu, rotors, poses = (each.since(first, 0) for each in (self.imu, self.rotors, self.poses))
        channels = {
            "imu.gyro": (imu[0], imu[1][:, :3], "rad/s", "imu", ()),
            "imu.accel": (imu[0], imu[1][:, 3:], "m/s2", "imu", ()),
            "rotors.speed": (*rotors, "rad/s", "", rotor_names),
            "pose.position": (poses[0], poses[1][:, :3], "m", "world", ()),
            "pose.wxyz": (poses[0], poses[1][:, 3:], "1", "world", ()),
        }
        return Flight.of(
            *(
                Channel(name, nanoseconds(time), values, unit, frame, columns)
                for name, (time, values, unit, frame, columns) in channels.items()
            )
        )

    def _skip(self, stamp: float, stream: str, reason: SkipReason) -> bool:
        self.skipped.add(stamp, stream, reason)
        return False

    def _is_set_anew(self, time: float) -> bool:
        """Whether this is one of many readings in a row on another clock; then what was kept is dropped."""
        agrees = self._agreeing > 0 and -BACK < time - self._other < AHEAD
        self._agreeing = self._agreeing + 1 if agrees else 1
        self._other = time
        if self._agreeing < AGREEING:
            return False
        self.clear()
        self.newest = -np.inf
        self.restarts += 1
        return True

    def _is_saturated(self, values: list[float]) -> bool:
        """Whether an axis stays at its largest reading or reaches its stated range; the first of two goes, too."""
        outermost = [math.nan] * 6
        repeated = False
        for k, value in enumerate(values):
            if abs(value) >= self._extremes[k]:
                outermost[k], self._extremes[k] = value, abs(value)
                repeated = repeated or value == self._outermost[k]
        self._outermost = outermost
        if repeated and self._is_outermost_kept:
            self._skip(self.imu.newest + (self.origin or 0.0), "imu", SkipReason.SATURATED)
            self.imu.drop_last()
        saturated = (
            repeated or _is_beyond(values[:3], self._range[0]) or _is_beyond(values[3:], self._range[1])
        )
        self._is_outermost_kept = not saturated and not all(map(math.isnan, outermost))
        return saturated


def _floats(values: ArrayLike, size: int, what: str) -> list[float]:
    found = np.asarray(values, np.float64)
    if found.shape != (size,):
        raise ReadingError(f"got {what} of shape {found.shape}, ({size},) is expected")
    return found.tolist()  # type: ignore[no-any-return]


def _is_beyond(values: list[float], largest: float) -> bool:
    return max(map(abs, values)) > largest


def samples_of(flight: Flight, rotor_names: tuple[str, ...]) -> Iterator[SensorSample]:
    """The readings of a flight in the order of their stamps, s since its first sample; NaN where a log has none.

    Args:
        flight: with `imu.gyro`, `imu.accel`, `rotors.speed`, `pose.position` and `pose.wxyz`.
        rotor_names: order of the rotors, that of the log if it has others.
    """
    gyro, accel, rotors = (flight[name] for name in ("imu.gyro", "imu.accel", "rotors.speed"))
    position, wxyz = flight["pose.position"], flight["pose.wxyz"]
    speeds = rotors.values
    if set(rotors.columns) == set(rotor_names):
        speeds = speeds[:, [rotors.columns.index(name) for name in rotor_names]]
    at = gyro.seconds(flight.start)
    streams: list[tuple[Floats, Any]] = [
        (at, (ImuSample, _at(accel, flight, at), gyro.values)),
        (rotors.seconds(flight.start), (RotorSample, speeds)),
    ]
    taken = position.seconds(flight.start)
    streams.append((taken, (PoseSample, position.values, _at(wxyz, flight, taken))))
    times = np.concatenate([time for time, _ in streams])
    which = np.repeat(np.arange(len(streams)), [len(time) for time, _ in streams])
    row = np.concatenate([np.arange(len(time)) for time, _ in streams])
    for k in np.argsort(times, kind="stable").tolist():
        kind, *parts = streams[which[k]][1]
        yield kind(times[k], *(part[row[k]] for part in parts))


def _at(channel: Channel, flight: Flight, time: Floats) -> Floats:
    """Values of a channel at other stamps; those of its own where they are the same."""
    own = channel.seconds(flight.start)
    if len(own) == len(time) and np.abs(own - time).max(initial=0.0) < 1e-6:
        return channel.values
    return interpolate_columns(time, own, channel.values)
