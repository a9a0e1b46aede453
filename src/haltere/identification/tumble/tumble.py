"""Free tumbles of a thrown vehicle: where they are in a log, and what the accelerometer must read in one.

A body on which only gravity acts, rotating with w, gives at position r from its centre of mass the specific force

    f = w' x r + w x (w x r) = X(w, w') r          [Blaha2024] eqs. (2), (3)                               (1)

linear in r. All signals pass the same zero-phase low-pass, w' is the slope of the filtered w, and the samples at both
ends, which the filter has spoilt, are cut. Axes are those of the IMU. Air drag and errors of the sensors are the duty
of `haltere.identification.tumble.imu_position`.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from haltere.flight import Flight
from haltere.flight.filters import low_pass
from haltere.flight.resampling import regular_rate, runs_of_true
from haltere.flight.rotations import lever_matrices
from haltere.foundation import HaltereError
from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.foundation.numbers import Floats

CUTOFF = 30.0
"""Hz of the low-pass: a tumble of 12 rad/s has its lines at 2 and 4 Hz."""
MANY = 6.0
"""Samples kept per period of the cutoff: the low-pass has left nothing between them."""
SHORTEST = 0.15
"""s of free fall that are worth a fit."""


class TumbleError(HaltereError):
    """A throw that says too little, or is no throw."""


@dataclass(frozen=True)
class Tumble:
    """One free fall, filtered; IMU axes.

    Attributes:
        rate: samples per second that are kept.
        gyro: (N, 3) angular rate, rad/s.
        slope: (N, 3) its derivative, rad/s2.
        accel: (N, 3) specific force, m/s2.
        rotation: (N, 3, 3) R_0I: attitude against the one at the first sample, by integration.
        cutoff: of the low-pass, Hz.
        start: time of the first sample in the log, s.
    """

    rate: float
    gyro: Floats
    slope: Floats
    accel: Floats
    rotation: Floats
    cutoff: float
    start: float = 0.0

    @property
    def time(self) -> Floats:
        """(N,) s since the first sample."""
        return np.asarray(np.arange(len(self.gyro)) / self.rate)

    @property
    def inflation(self) -> float:
        """How many samples count as one: rate / (2.2 cutoff), the low-pass makes neighbours alike."""
        return max(self.rate / (2.2 * self.cutoff), 1.0)


def filter_tumble(
    gyro: Floats, accel: Floats, rate: float, cutoff: float = CUTOFF, start: float = 0.0
) -> Tumble:
    """Filter one free fall.

    Args:
        gyro: (N, 3) rad/s, IMU axes, regularly sampled.
        accel: (N, 3) m/s2, IMU axes.
        rate: samples per second, Hz.
        cutoff: of the low-pass, Hz.
        start: time of the first sample in its log, s.
    """
    w, f = np.asarray(gyro, np.float64), np.asarray(accel, np.float64)
    if w.ndim != 2 or w.shape[1:] != (3,) or w.shape != f.shape:
        raise TumbleError(f"gyro and accel have shapes {w.shape} and {f.shape}; give both as (N, 3)")
    if not (np.isfinite(w).all() and np.isfinite(f).all()):
        raise TumbleError(
            "gyro or accel hold numbers that are not finite; cut them out, or choose another throw"
        )
    cut = round(0.5 * rate / cutoff)
    if len(w) < max(SHORTEST * rate + 2 * cut, 20):
        raise TumbleError(
            f"a free fall of {len(w) / rate:.3g} s; at least {SHORTEST + 1.0 / cutoff:.3g} s are needed: throw higher"
        )
    if not 0.0 < cutoff < 0.45 * rate:
        raise TumbleError(f"cutoff {cutoff:g} Hz; give less than half the sampling rate of {rate:g} Hz")
    wider = cutoff * (np.sqrt(2.0) - 1.0) ** -0.25  # for two passes, without the warping of frequencies
    smooth, force = (low_pass(x, rate, wider, pad=int(3 * rate / cutoff), corrected=False) for x in (w, f))
    inner = slice(cut, len(w) - cut)
    kept = smooth[inner]
    steps = Rotation.from_rotvec(0.5 * (kept[1:] + kept[:-1]) / rate).as_matrix()
    turn = np.empty((len(kept), 3, 3))
    turn[0] = np.eye(3)
    for i, step in enumerate(steps):
        turn[i + 1] = turn[i] @ step
    slope = np.gradient(smooth, 1.0 / rate, axis=0)[inner]
    few = max(int(rate / (MANY * cutoff)), 1)
    every = slice(None, None, few)
    return Tumble(
        rate / few, kept[every], slope[every], force[inner][every], turn[every], cutoff, start + cut / rate
    )


def correlated_samples(residual: Floats) -> float:
    """How many neighbouring samples of a residual (N, 3) count as one: its correlation, summed while it is positive."""
    n = len(residual)
    power = float(np.sum(residual**2))
    total = 1.0
    for lag in range(1, n // 2):
        share = float(np.sum(residual[lag:] * residual[:-lag])) / max(power, 1e-300)
        if share <= 0.0:
            break
        total += 2.0 * share
    return total


FREE_FALL = 0.75
"""Of gravity: specific forces below may be a free fall."""
SLOWEST = 1.0
"""rad/s: a fall without spin says nothing about the position."""
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


def find_free_falls(flight: Flight, imu: str = "imu", fraction: float = FREE_FALL) -> list[FreeFall]:
    """The free falls with spin in a log, in order of time.

    A candidate is a stretch in which the low-passed specific force stays below a share of gravity: at rest, in the
    hand and in flight it is about one g or more. The hand lets go gradually, so the ends are decided by the physics:
    the position r is fitted to the inner part (equation (1) with a constant), and the stretch is cut where the residual
    leaves the level that it has there.

    Args:
        flight: with channels `<imu>.accel` (m/s2) and `<imu>.gyro` (rad/s) on one regular clock.
        imu: name of the sensor.
        fraction: of gravity below which a specific force may be a free fall; more for an IMU far off the centre.
    """
    accel, gyro, rate = _signals(flight, imu)
    cutoff = min(CUTOFF, 0.4 * rate)
    smooth = np.linalg.norm(low_pass(accel, rate, cutoff, pad=9, corrected=False), axis=1)
    spin = np.linalg.norm(low_pass(gyro, rate, cutoff, pad=9, corrected=False), axis=1)
    found = []
    for first, last in runs_of_true(
        (smooth < fraction * STANDARD_GRAVITY) & (spin > SLOWEST), round(SHORTEST * rate)
    ):
        start, end = _trimmed(gyro, accel, rate, first, last)
        if end - start >= SHORTEST * rate:
            found.append(FreeFall(start, end, start / rate, end / rate))
    return found


def find_tumbles(
    flight: Flight, imu: str = "imu", cutoff: float = CUTOFF, fraction: float = FREE_FALL
) -> list[Tumble]:
    """The free falls of a log, filtered and ready for `locate_imu`; those too short for the filter are left out."""
    accel, gyro, rate = _signals(flight, imu)
    found = []
    for fall in find_free_falls(flight, imu, fraction):
        if fall.last - fall.first >= (SHORTEST + 1.0 / cutoff) * rate + 2:
            inner = slice(fall.first, fall.last)
            found.append(filter_tumble(gyro[inner], accel[inner], rate, cutoff, fall.start))
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


def _trimmed(gyro: Floats, accel: Floats, rate: float, first: int, last: int) -> tuple[int, int]:
    """The part of [first, last) whose forces are those of one position."""
    whole = slice(first, last)
    cutoff = CUTOFF if rate > 3 * CUTOFF else 0.3 * rate
    w, f = (low_pass(x[whole], rate, cutoff, pad=9, corrected=False) for x in (gyro, accel))
    rows = lever_matrices(w, np.gradient(w, 1.0 / rate, axis=0))
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
