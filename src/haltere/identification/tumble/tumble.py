"""Free tumbles of a thrown vehicle: where they are in a log, and what the accelerometer must read in one.

A body on which only gravity acts, rotating with w, gives at position r from its centre of mass the specific force

    f = w' x r + w x (w x r) = X(w, w') r          [Blaha2024] eqs. (2), (3)                               (1)

linear in r. All signals pass the same zero-phase low-pass, w' is the slope of the filtered w, and the samples at both
ends, which the filter has spoilt, are cut. Axes are those of the IMU. Air drag and errors of the sensors are the duty
of `haltere.identification.tumble.imu_position`.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.spatial.transform import Rotation

from haltere.flight import Flight
from haltere.flight.filters import low_pass, white_noise
from haltere.flight.resampling import GAP, interpolate_columns, runs_of_true
from haltere.flight.rotations import lever_matrices
from haltere.foundation import HaltereError
from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.foundation.numbers import Bools, Floats

CUTOFF = 30.0
"""Hz of the low-pass: a tumble of 12 rad/s has its lines at 2 and 4 Hz."""
MANY = 6.0
"""Samples kept per period of the cutoff: the low-pass has left nothing between them."""
SHORTEST = 0.15
"""s of free fall that are worth a fit."""


IRREGULAR = 0.1
"""Of an interval, root mean square: stamps that jump more are not those of a regular clock."""
JITTER = 3e-4
"""s: less is no sign of a poor log, however fast it is."""
RANGES = np.deg2rad([250.0, 500.0, 1000.0, 2000.0, 4000.0])
"""rad/s, of gyros."""
AT_RANGE = 0.003
"""Relative distance from a range at which a gyro is at its end."""
FEWEST_AT_RANGE, BEYOND_RANGE = 10, 0.3
"""Samples there that tell a gyro that was clipped, and how many of them a low-pass may carry beyond."""


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
        irregular: whether the stamps of the log are.
    """

    rate: float
    gyro: Floats
    slope: Floats
    accel: Floats
    rotation: Floats
    cutoff: float
    start: float = 0.0
    irregular: bool = False

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


CONSTANT = 0.4
"""Of gravity: what a free accelerometer reads beside the rotation is below; at rest and in flight it is about one."""
UNEXPLAINED = 0.05
"""Of the force: a free fall may leave so much of it over a short stretch, beside `FLOOR`."""
NOISY = 2.0
"""How much more than its mean the noise of a short stretch may be, squared."""
LONGEST_LEVER = 0.1
"""m, about, of an IMU from the centre of mass: where one spin leaves the two apart, the rest is called constant."""
SLOWEST = 1.0
"""rad/s: a fall without spin says nothing about the position."""
LEVELS = 6.0
"""Residuals beyond so many times their inner level are not free."""
FLOOR = 0.4
"""m/s2: residuals below are never held against a sample (drag, bias)."""
MISSING = 3.5
"""Intervals without a sample that are bridged."""


@dataclass(frozen=True)
class FreeFall:
    """A stretch of a log: indices [first, last) of its IMU samples, and its times, s since the first sample."""

    first: int
    last: int
    start: float
    end: float


@dataclass(frozen=True)
class ImuSamples:
    """An IMU on a regular clock from its first sample on.

    Attributes:
        gyro: (N, 3) rad/s.
        accel: (N, 3) m/s2.
        rate: samples per second, Hz.
        valid: (N,) where there were samples, or few enough were missing.
        irregular: whether the stamps are: such a log tells less of its sensors than others.
        start: stamp of the first sample, ns.
    """

    gyro: Floats
    accel: Floats
    rate: float
    valid: Bools
    irregular: bool
    start: int

    @classmethod
    def of(cls, flight: Flight, imu: str = "imu") -> Self:
        """Channels `<imu>.accel` (m/s2) and `<imu>.gyro` (rad/s) of a flight; resampled where they are not regular."""
        accel, gyro = flight[f"{imu}.accel"], flight[f"{imu}.gyro"]
        if len(accel) != len(gyro) or not np.array_equal(accel.time, gyro.time):
            raise TumbleError(
                f"'{imu}.accel' and '{imu}.gyro' have clocks of their own; resample one to the other first"
            )
        finite = accel.finite & gyro.finite
        if finite.sum() < 20:
            raise TumbleError(f"'{imu}' has {finite.sum()} samples that are finite; at least 20 are needed")
        start = int(accel.time[finite][0])
        time = (accel.time[finite] - start) * 1e-9
        intervals = np.diff(time)
        usual = float(np.median(intervals))
        kept = intervals <= GAP * usual
        rate = float(np.sum(np.round(intervals / usual)) / time[-1])
        jitter = float(np.sqrt(np.mean((intervals[kept] - 1.0 / rate) ** 2)))
        irregular = jitter > max(IRREGULAR / rate, JITTER)
        inside = ~_clipped(gyro.values[finite])
        if kept.all() and finite.all() and not irregular:
            return cls(gyro.values, accel.values, rate, inside, irregular, start)
        grid = np.arange(time[0], time[-1], 1.0 / rate)
        after = np.clip(np.searchsorted(time, grid), 1, len(time) - 1)
        valid = (time[after] - time[after - 1] <= MISSING / rate) & inside[after] & inside[after - 1]
        w, f = (interpolate_columns(grid, time, x.values[finite]) for x in (gyro, accel))
        return cls(w, f, rate, valid, irregular, start)

    def free_falls(self) -> list[FreeFall]:
        """See `find_free_falls`."""
        gyro, accel, rate = self.gyro, self.accel, self.rate
        cutoff = min(CUTOFF, 0.3 * rate)
        w, f = (low_pass(x, rate, cutoff, pad=9, corrected=False) for x in (gyro, accel))
        noise = float(np.linalg.norm(white_noise(accel))) * np.sqrt(min(2.0 * cutoff / rate, 1.0))
        free = _looks_free(w, f, rate, noise) & (np.linalg.norm(w, axis=1) > SLOWEST) & self.valid
        found = []
        for first, last in runs_of_true(free, round(SHORTEST * rate)):
            start, end = _trimmed(w, f, rate, first, last)
            if end - start >= SHORTEST * rate:
                found.append(FreeFall(start, end, start / rate, end / rate))
        return found


def find_free_falls(flight: Flight, imu: str = "imu") -> list[FreeFall]:
    """The free falls with spin in a log, in order of time.

    A candidate is a stretch each part of which, `SHORTEST` long, reads forces of equation (1) and hardly any constant
    one: at rest, in the hand and in flight that is about one g or more, and in the hand it rotates. The hand lets go
    gradually, so the ends are decided by the physics, too: the position r is fitted to the inner part (equation (1)
    with a constant), and the stretch is cut where the residual leaves the level that it has there.

    Args:
        flight: with channels `<imu>.accel` (m/s2) and `<imu>.gyro` (rad/s) on one clock.
        imu: name of the sensor.
    """
    return ImuSamples.of(flight, imu).free_falls()


def find_tumbles(flight: Flight, imu: str = "imu", cutoff: float = CUTOFF) -> list[Tumble]:
    """The free falls of a log, filtered and ready for `locate_imu`; those too short for the filter are left out."""
    samples = ImuSamples.of(flight, imu)
    rate, found = samples.rate, []
    for fall in samples.free_falls():
        if fall.last - fall.first >= (SHORTEST + 1.0 / cutoff) * rate + 2:
            inner = slice(fall.first, fall.last)
            tumble = filter_tumble(samples.gyro[inner], samples.accel[inner], rate, cutoff, fall.start)
            found.append(replace(tumble, irregular=samples.irregular))
    return found


def _clipped(gyro: Floats) -> Bools:
    """(N,) where a gyro (N, 3) is at the end of a range that gyros have: many samples are, and few beyond."""
    size = np.abs(gyro).max(axis=1)
    clipped = np.zeros(len(size), np.bool_)
    for limit in RANGES:
        at, beyond = np.sum(np.abs(size / limit - 1.0) < AT_RANGE), np.sum(size > (1.0 + AT_RANGE) * limit)
        if at > FEWEST_AT_RANGE and beyond < BEYOND_RANGE * at:
            clipped |= size > (1.0 - 2.0 * AT_RANGE) * limit
    return clipped


def _looks_free(w: Floats, f: Floats, rate: float, noise: float) -> Bools:
    """(N,) whether a sample lies in a short stretch whose forces are those of one position, with a small constant.

    Args:
        w: (N, 3) angular rate, rad/s, low-passed.
        f: (N, 3) specific force, m/s2, low-passed.
        rate: samples per second, Hz.
        noise: of the force that the low-pass leaves, length of the deviations of its axes, m/s2.
    """
    few = max(int(rate / (MANY * CUTOFF)), 1)
    X = lever_matrices(w, np.gradient(w, 1.0 / rate, axis=0))[::few] * LONGEST_LEVER
    y = f[::few]
    rows = np.concatenate([X, np.broadcast_to(CONSTANT * STANDARD_GRAVITY * np.eye(3), X.shape)], axis=2)
    long = max(round(SHORTEST * rate / few), 4)
    if len(y) <= long:
        return np.zeros(len(w), np.bool_)

    def sums(values: Floats) -> Floats:
        total = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
        return np.asarray(total[long:] - total[:-long])

    right, power = sums(np.einsum("nij,ni->nj", rows, y)), sums(np.sum(y**2, axis=1))
    # What a gyro's scale makes of the forces is no noise: it does not average.
    doubt = FLOOR**2 + UNEXPLAINED**2 * power
    gram = sums(np.einsum("nij,nik->njk", rows, rows)) + doubt[:, None, None] * np.eye(6)
    x = np.linalg.solve(gram, right[..., None])[..., 0]
    left = power - 2 * np.sum(x * right, axis=1) + np.einsum("nj,njk,nk->n", x, gram, x)
    allowed = FLOOR + UNEXPLAINED * np.sqrt(power / long)
    free = (left / long < allowed**2 + NOISY * noise**2) & (np.linalg.norm(x[:, 3:], axis=1) < 1.0)
    inside = np.convolve(free, np.ones(long)) > 0.5
    return np.repeat(inside, few)[: len(w)] if few > 1 else inside[: len(w)]


def _trimmed(w: Floats, f: Floats, rate: float, first: int, last: int) -> tuple[int, int]:
    """The part of [first, last) whose forces are those of one position; signals low-passed."""
    w, f = w[first:last], f[first:last]
    rows = lever_matrices(w, np.gradient(w, 1.0 / rate, axis=0))
    rows = np.concatenate([rows, np.broadcast_to(np.eye(3), rows.shape)], axis=2)
    count = last - first
    inner = slice(count // 4, count - count // 4)
    solution = np.linalg.lstsq(rows[inner].reshape(-1, 6), f[inner].reshape(-1), rcond=None)[0]
    left = np.linalg.norm(f - rows @ solution, axis=1)
    level = np.maximum(
        LEVELS * float(np.sqrt(np.mean(left[inner] ** 2))), FLOOR + UNEXPLAINED * np.linalg.norm(f, axis=1)
    )
    bad = np.flatnonzero(left > level)
    middle = count // 2
    before, after = bad[bad < middle], bad[bad >= middle]
    start = first + (int(before[-1]) + 1 if len(before) else 0)
    end = first + (int(after[0]) if len(after) else count)
    return start, end
