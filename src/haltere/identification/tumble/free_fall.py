"""Free falls in a log: where a thrown vehicle tumbles with nothing but gravity on it.

A candidate is a stretch in which the low-passed specific force stays below a share of gravity: at rest, in the hand
and in flight it is about one g or more. The hand lets go gradually, so the ends are decided by the physics: the place
r is fitted to the inner part (equation (1) of `haltere.identification.tumble.tumble`, with a constant), and the
stretch is cut where the residual leaves the level that it has there.
"""

from dataclasses import dataclass

import numpy as np
from scipy import signal

from haltere.flight import Flight
from haltere.flight.sampling import regular_rate
from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.foundation.numbers import Bools, Floats
from haltere.identification.tumble.tumble import CUTOFF, SHORTEST, Tumble, TumbleError, place_matrix, tumble

SHARE = 0.75
"""Of gravity: specific forces below may be a free fall."""
SLOWEST = 1.0
"""rad/s: a fall without spin says nothing about the place."""
LEVELS = 6.0
"""Residuals beyond so many times their inner level are not free."""
FLOOR = 0.4
"""m/s2: residuals below are never held against a sample (drag, bias)."""


@dataclass(frozen=True)
class FreeFall:
    """A stretch of a log: indices [first, last) of its IMU samples, and its times, s since the first sample."""

    first: int
    last: int
    start: float
    end: float


def free_falls(flight: Flight, imu: str = "imu", share: float = SHARE) -> list[FreeFall]:
    """The free falls with spin in a log, in order of time.

    Args:
        flight: with channels `<imu>.accel` (m/s2) and `<imu>.gyro` (rad/s) on one regular clock.
        imu: name of the sensor.
        share: of gravity below which a specific force may be a free fall; more for an IMU far off the centre.
    """
    accel, gyro, rate = _signals(flight, imu)
    cutoff = min(CUTOFF, 0.4 * rate)
    sections = signal.butter(2, cutoff, output="sos", fs=rate)
    smooth = np.linalg.norm(signal.sosfiltfilt(sections, accel, axis=0), axis=1)
    spin = np.linalg.norm(signal.sosfiltfilt(sections, gyro, axis=0), axis=1)
    found = []
    for first, last in _runs((smooth < share * STANDARD_GRAVITY) & (spin > SLOWEST), round(SHORTEST * rate)):
        start, end = _trimmed(gyro, accel, rate, first, last)
        if end - start >= SHORTEST * rate:
            found.append(FreeFall(start, end, start / rate, end / rate))
    return found


def tumbles(flight: Flight, imu: str = "imu", cutoff: float = CUTOFF, share: float = SHARE) -> list[Tumble]:
    """The free falls of a log, filtered and ready for `imu_place`; those too short for the filter are left out."""
    accel, gyro, rate = _signals(flight, imu)
    found = []
    for fall in free_falls(flight, imu, share):
        if fall.last - fall.first >= (SHORTEST + 1.0 / cutoff) * rate + 2:
            inner = slice(fall.first, fall.last)
            found.append(tumble(gyro[inner], accel[inner], rate, cutoff, fall.start))
    return found


def _signals(flight: Flight, imu: str) -> tuple[Floats, Floats, float]:
    accel, gyro = flight[f"{imu}.accel"], flight[f"{imu}.gyro"]
    if len(accel) != len(gyro) or not np.array_equal(accel.time, gyro.time):
        raise TumbleError(
            f"'{imu}.accel' and '{imu}.gyro' have clocks of their own; resample one to the other first"
        )
    if not (accel.finite.all() and gyro.finite.all()):
        raise TumbleError(f"'{imu}' has samples that are not finite; cut them out first")
    return accel.values, gyro.values, regular_rate(accel)


def _runs(mask: Bools, shortest: int) -> list[tuple[int, int]]:
    edges = np.diff(np.concatenate([[0], mask.astype(np.int8), [0]]))
    pairs = zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True)
    return [(int(a), int(b)) for a, b in pairs if b - a >= shortest]


def _trimmed(gyro: Floats, accel: Floats, rate: float, first: int, last: int) -> tuple[int, int]:
    """The part of [first, last) whose forces are those of a place."""
    whole = slice(first, last)
    sections = signal.butter(2, CUTOFF if rate > 3 * CUTOFF else 0.3 * rate, output="sos", fs=rate)
    w, f = (signal.sosfiltfilt(sections, x[whole], axis=0) for x in (gyro, accel))
    rows = place_matrix(w, np.gradient(w, 1.0 / rate, axis=0))
    rows = np.concatenate([rows, np.broadcast_to(np.eye(3), rows.shape)], axis=2)
    count = last - first
    inner = slice(count // 4, count - count // 4)
    solution = np.linalg.lstsq(rows[inner].reshape(-1, 6), f[inner].reshape(-1), rcond=None)[0]
    left = np.linalg.norm(f - rows @ solution, axis=1)
    level = max(LEVELS * float(np.sqrt(np.mean(left[inner] ** 2))), FLOOR)
    bad = np.flatnonzero(left > level)
    middle = count // 2
    before, after = bad[bad < middle], bad[bad >= middle]
    start = first + (int(before[-1]) + 1 if len(before) else 0)
    end = first + (int(after[0]) if len(after) else count)
    return start, end
