"""One free tumble of a thrown vehicle, and what its accelerometer must read at a place.

A body on which only gravity acts, turning with w, gives at the place r from its centre of mass the specific force

    f = w' x r + w x (w x r) = X(w, w') r          [Blaha2024] eqs. (2), (3)                               (1)

linear in r. All signals pass the same zero-phase low-pass, w' is the slope of the filtered w, and the samples at both
ends, which the filter has spoilt, are cut. Axes are those of the IMU. Air drag and errors of the sensors are the duty
of `haltere.identification.tumble.imu_position`.
"""

from dataclasses import dataclass

import numpy as np
from scipy import signal
from scipy.spatial.transform import Rotation

from haltere.foundation import HaltereError
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
        turn: (N, 3, 3) R_0I: attitude against the one at the first sample, by integration.
        cutoff: of the low-pass, Hz.
        start: time of the first sample in the log, s.
    """

    rate: float
    gyro: Floats
    slope: Floats
    accel: Floats
    turn: Floats
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


def tumble(gyro: Floats, accel: Floats, rate: float, cutoff: float = CUTOFF, start: float = 0.0) -> Tumble:
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
    sections = signal.butter(2, cutoff * (np.sqrt(2.0) - 1.0) ** -0.25, output="sos", fs=rate)
    pad = min(len(w) - 1, int(3 * rate / cutoff))
    smooth, force = (np.asarray(signal.sosfiltfilt(sections, x, axis=0, padlen=pad)) for x in (w, f))
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


def hats(x: Floats) -> Floats:
    """(N, 3, 3) cross-product matrices of vectors (N, 3)."""
    zero = np.zeros(len(x))
    a, b, c = x.T
    return np.stack([zero, -c, b, c, zero, -a, -b, a, zero], axis=1).reshape(-1, 3, 3)


def place_matrix(gyro: Floats, slope: Floats) -> Floats:
    """X of equation (1), (N, 3, 3), from w (N, 3) rad/s and w' (N, 3) rad/s2."""
    W = hats(gyro)
    return np.asarray(hats(slope) + W @ W)
