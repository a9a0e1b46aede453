"""By how much one signal lags behind another: below one sampling interval, with its sigma.

Both are interpolated onto one clock. The highest correlation gives the delay to one interval; the second
signal is shifted by it, so that both windows see the same part of the motion, and the slope of the phase
gives the rest, again and again until nothing is left. With X(f), Y(f) the spectra of the windows, C = Y X*
summed over the k columns, w = 2 pi f and bars for means over neighbouring frequencies:

    (1)  y(t) = g x(t - D)  =>  C = g |X|^2 exp(-i w D)
    (2)  coherence  c = |C_bar|^2 / (Sxx_bar Syy_bar)
    (3)  D = -sum(h w Im C) / sum(h w^2 Re C),  h = c / ((1 - c) |C_bar|), where c is significant      [Knapp1976]
    (4)  sigma^2 = v sum(h^2 w^2 n) / sum(h w^2 Re C)^2,  n = Sxx_bar Syy_bar (1 - c) / (2 k)

v >= 1 is what the window takes of the independent frequencies. If Im C scatters more than n says (a delay
that changes, or a lag that is no pure delay), the scatter is used instead.
"""

from dataclasses import dataclass

import numpy as np
from scipy import interpolate, signal

from haltere.flight.channel import Channel, FlightError
from haltere.flight.filters import low_pass
from haltere.flight.resampling import refuse_rotations, regular_rate, stretches
from haltere.foundation.numbers import Floats

_NEIGHBOURS = 15  # frequencies averaged, at least
_SIGNIFICANT = 1e-5  # chance that a frequency without anything in common is used
_HIGHEST = 0.4  # of the lower sampling rate: above it interpolation is no longer true
_FLOOR = 2e-3  # of a sampling interval: what interpolation leaves
_LEAKAGE = 1e-5  # of the strongest frequency's power: what the window spreads from there to others
_CLEAN = 1e-3  # noise of this share of the power is assumed at least when frequencies are weighted
_STEPS = 60


@dataclass(frozen=True)
class Delay:
    """How much later a signal comes.

    Attributes:
        seconds: The delay; negative if it comes earlier.
        sigma: Its standard deviation, s.
        correlation: Of the two signals when aligned, -1 to 1.
    """

    seconds: float
    sigma: float
    correlation: float


def estimate_delay(
    reference: Channel,
    delayed: Channel,
    max_delay: float = 0.5,
    bandwidth: float | None = None,
    either_sign: bool = False,
) -> Delay:
    """Estimate by how much `delayed` lags behind `reference`; gain and offset do not matter.

    Args:
        reference: Regularly sampled, (T,) or (T, k).
        delayed: As many columns, at the same rate or another.
        max_delay: Largest delay to look for, either way, s.
        bandwidth: Highest frequency to use, Hz; 0.4 of the lower sampling rate at most and by default.
        either_sign: Whether the gain may be negative; a sine is then known to half a period only.
    """
    for channel in (reference, delayed):
        refuse_rotations(channel, "compare angular velocities")
    if reference.values.shape[1:] != delayed.values.shape[1:]:
        raise FlightError(
            f"'{reference.name}' and '{delayed.name}': samples of shapes {reference.values.shape[1:]} and "
            f"{delayed.values.shape[1:]}; choose columns that belong together"
        )
    if not max_delay > 0.0:
        raise FlightError(f"max_delay {max_delay} s; give a time above 0")
    rates = regular_rate(reference), regular_rate(delayed)
    highest = min(bandwidth or np.inf, _HIGHEST * min(rates))
    pair = _Pair(reference, delayed, 1.0 / max(rates), max_delay)
    shift, sign = pair.coarse(max_delay, highest, either_sign)
    sigma = np.inf
    for _ in range(_STEPS):
        step, sigma = pair.fine(shift, sign, highest)
        shift += float(np.clip(step, -pair.interval, pair.interval))
        if abs(step) < 0.02 * max(sigma, _FLOOR * pair.interval):
            break
    if abs(shift) > max_delay + pair.interval:
        raise FlightError(
            f"'{reference.name}' and '{delayed.name}': no delay within {max_delay} s; allow more"
        )
    return Delay(shift, float(np.hypot(sigma, _FLOOR * pair.interval)), pair.correlation(shift))


class _Pair:
    """The longest stretch that two channels have in common, as functions of time."""

    def __init__(self, x: Channel, y: Channel, interval: float, margin: float) -> None:
        self.interval, self.names = interval, f"'{x.name}' and '{y.name}'"
        overlaps = [
            (min(x.time[a.stop - 1], y.time[b.stop - 1]) - max(x.time[a.start], y.time[b.start]), a, b)
            for a in stretches(x)
            for b in stretches(y)
        ]
        length, a, b = max(overlaps, key=lambda item: item[0], default=(0, slice(0), slice(0)))
        needed = 2.0 * margin + 8 * _NEIGHBOURS * interval
        if length * 1e-9 < needed:
            raise FlightError(
                f"{self.names}: {max(length, 0) * 1e-9:.3g} s in common without a gap; at least {needed:.3g} s "
                "are needed for this max_delay"
            )
        origin = max(x.time[a.start], y.time[b.start])
        self.x, self.y = (_spline(c, run, int(origin)) for c, run in ((x, a), (y, b)))
        self.clock = np.arange(int(length * 1e-9 / interval)) * interval
        self.end = float(self.clock[-1])

    def windows(self, shift: float) -> tuple[Floats, Floats]:
        """Return x(t) and y(t + shift), (N, k), without their trends, over the times where both are known."""
        clock = self.clock[(self.clock + shift >= 0.0) & (self.clock + shift <= self.end)]
        return signal.detrend(self.x(clock), axis=0), signal.detrend(self.y(clock + shift), axis=0)

    def coarse(self, max_delay: float, highest: float, either_sign: bool) -> tuple[float, float]:
        """Return the delay of the highest correlation, to one interval, and the sign of the gain."""
        x, y = self.windows(0.0)
        if highest < 0.45 / self.interval:
            x, y = (low_pass(each, 1.0 / self.interval, highest, pad=9, corrected=False) for each in (x, y))
        lags = signal.correlation_lags(len(y), len(x))
        sums = sum(signal.correlate(y[:, k], x[:, k], method="fft") for k in range(x.shape[1]))
        near = np.abs(lags) * self.interval <= max_delay
        lags, products = lags[near], np.asarray(sums)[near] / (len(x) - np.abs(lags[near]))
        best = int(np.argmax(np.abs(products) if either_sign else products))
        return float(lags[best] * self.interval), -1.0 if products[best] < 0.0 else 1.0

    def fine(self, shift: float, sign: float, highest: float) -> tuple[float, float]:
        """Return what is left of the delay after a shift, and its sigma, s, eqs. (1) to (4)."""
        x, y = self.windows(shift)
        taper = signal.windows.tukey(len(x), 0.2)
        frequency = np.fft.rfftfreq(len(x), self.interval)
        X, Y = (np.fft.rfft(each * taper[:, None], axis=0) for each in (x, y))
        C, Sxx, Syy = ((a * b.conj()).sum(axis=1) for a, b in ((sign * Y, X), (X, X), (Y, Y)))
        neighbours = max(_NEIGHBOURS, len(x) // 200 * 2 + 1)
        mean, xx, yy = (_average(each, neighbours) for each in (C, Sxx.real, Syy.real))
        used = (frequency > 0.0) & (frequency <= highest)
        for power in (xx, yy):
            used &= power > _LEAKAGE * power[used].max(initial=0.0)
        w, C, mean, power = 2.0 * np.pi * frequency[used], C[used], np.abs(mean[used]), (xx * yy)[used]
        pooled = neighbours * x.shape[1]
        c = mean**2 / power
        real = c > 1.0 - _SIGNIFICANT ** (1.0 / (pooled - 1))
        c = np.clip((c - 1.0 / pooled) / (1.0 - 1.0 / pooled), 0.0, 1.0)  # noise alone gives 1 / pooled
        h = np.where(real, c / np.maximum(1.0 - c, _CLEAN) / np.where(real, mean, 1.0), 0.0)
        curvature = float(np.sum(h * w**2 * C.real))
        if not curvature > 0.0:
            raise FlightError(f"{self.names}: nothing in common is seen; give signals of the same motion")
        step = -float(np.sum(h * w * C.imag)) / curvature
        taken = len(x) * float(np.sum(taper**4)) / float(np.sum(taper**2)) ** 2
        expected = float(np.sum((h * w) ** 2 * power * (1.0 - c))) / (2.0 * x.shape[1])
        seen = float(np.sum((h * w * (C.imag + w * step * C.real)) ** 2))
        return step, float(np.sqrt(taken * max(expected, seen))) / curvature

    def correlation(self, shift: float) -> float:
        """Return the correlation of x(t) and y(t + shift)."""
        x, y = self.windows(shift)
        return float(np.sum(x * y) / np.sqrt(np.sum(x**2) * np.sum(y**2)))


def _spline(channel: Channel, run: slice, origin: int) -> interpolate.CubicSpline:
    seconds = (channel.time[run] - origin) * 1e-9
    return interpolate.CubicSpline(seconds, channel.values[run].reshape(run.stop - run.start, -1))


def _average(spectrum: np.ndarray, count: int) -> np.ndarray:
    return np.convolve(spectrum, np.full(count, 1.0 / count), mode="same")
