"""What signals pass before a law is fitted to them: the same low-pass for all, gaps bridged, delays and lags undone.

A linear relation between signals that pass the same low-pass stays exact.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import atan, pi, sqrt, tan

import numpy as np
from scipy import signal

from haltere.flight.channel import Channel, FlightError
from haltere.flight.flight import Flight
from haltere.flight.resampling import interpolate_columns, refuse_rotations, regular_rate, stretches
from haltere.foundation.numbers import Floats


@dataclass(frozen=True)
class Butterworth:
    """The same low-pass filter for many channels, without delay or with a known delay.

    For order n, cutoff f_c = `cutoff` and sampling rate f_s = `rate`, with W = tan(pi f / f_s):

        (1)  |H(f)|^2 = 1 / (1 + (W / W_c)^(2 n))                                    [Butterworth1930]
        (2)  forward and backward: |H|^2 and no phase; W_d = W_c (sqrt(2) - 1)^(-1 / (2 n)) in place of W_c
             keeps f_c where the amplitude has fallen to 1 / sqrt(2)

    Signals that pass the same causal filter are delayed alike, so relations between them stay; `delay` tells by
    how much. Stretches between gaps and NaN are filtered each on its own.

    Attributes:
        cutoff: Where the amplitude has fallen to 1 / sqrt(2), Hz; in both modes.
        order: Poles of one pass, 1 to 8.
        zero_phase: Forward and backward, without delay; otherwise causal, with `delay`.
    """

    cutoff: float
    order: int = 2
    zero_phase: bool = True

    def __post_init__(self) -> None:
        if not 0.0 < self.cutoff < np.inf:
            raise FlightError(f"cutoff {self.cutoff} Hz; give a frequency above 0")
        if self.order not in range(1, 9):
            raise FlightError(f"order {self.order}; give a whole number from 1 to 8")

    def sections(self, rate: float) -> Floats:
        """Return the second-order sections (n, 6) of one pass at a sampling rate, Hz."""
        if not self.cutoff < 0.499 * rate:
            raise FlightError(
                f"cutoff {self.cutoff:g} Hz; give less than half the sampling rate of {rate:g} Hz"
            )
        design = self.cutoff
        if self.zero_phase:
            wider = (sqrt(2.0) - 1.0) ** (-0.5 / self.order)
            design = rate / pi * atan(tan(pi * self.cutoff / rate) * wider)
        return np.asarray(signal.butter(self.order, design, output="sos", fs=rate))

    def gain(self, frequency: Floats | float, rate: float) -> Floats:
        """Return the amplitude response at frequencies, Hz, for a sampling rate, Hz."""
        _, response = signal.freqz_sos(self.sections(rate), np.atleast_1d(frequency), fs=rate)
        return np.asarray(np.abs(response) ** (2 if self.zero_phase else 1))

    def group_delay(self, frequency: Floats | float, rate: float) -> Floats:
        """Return by how much, s, a narrow band at each frequency, Hz, is delayed at a sampling rate, Hz."""
        frequencies = np.atleast_1d(np.asarray(frequency, np.float64))
        sections = self.sections(rate)
        if self.zero_phase:
            return np.zeros(len(frequencies))
        delays = [signal.group_delay((s[:3], s[3:]), frequencies, fs=rate)[1] for s in sections]
        return np.asarray(np.sum(delays, axis=0) / rate)

    def delay(self, rate: float) -> float:
        """Return by how much, s, slow signals are delayed at a sampling rate, Hz."""
        return float(self.group_delay(0.0, rate)[0])

    def apply(self, channel: Channel) -> Channel:
        """Return the filtered channel; time stamps stay, so a causal result lags by `delay`."""
        refuse_rotations(channel, "filter its angular velocity instead")
        rate = regular_rate(channel)
        sections = self.sections(rate)
        values = np.full(channel.values.shape, np.nan)
        for run in stretches(channel):
            values[run] = self._filter(sections, channel.values[run], rate)
        return replace(channel, values=values)

    def apply_to(self, flight: Flight, names: Iterable[str]) -> Flight:
        """Return the flight with these channels filtered."""
        for name in names:
            flight = flight.with_channel(self.apply(flight[name]))
        return flight

    def _filter(self, sections: Floats, values: Floats, rate: float) -> Floats:
        if self.zero_phase:
            pad = min(len(values) - 1, int(2.0 * self.order * rate / self.cutoff))
            return np.asarray(signal.sosfiltfilt(sections, values, axis=0, padlen=pad))
        state = signal.sosfilt_zi(sections).reshape(len(sections), 2, *(1,) * (values.ndim - 1)) * values[0]
        return np.asarray(signal.sosfilt(sections, values, axis=0, zi=state)[0])


ORDER = 2
HALF = 0.4549
"""Median of the square of a standard normal number."""
MOST = 0.45
"""Of the sampling rate: a cutoff beyond filters nothing."""


def low_pass(
    values: Floats, rate: float, cutoff: float, *, pad: int | None = None, corrected: bool = True
) -> Floats:
    """A low-pass without delay along the first axis: second order, forward and backward.

    Args:
        values: (N, ...) regularly sampled, without NaN.
        rate: Of the samples, Hz.
        cutoff: Hz; from `MOST` of the rate on nothing is filtered.
        pad: Samples by which both ends are continued as if reflected, at most N - 1; two periods of the cutoff by
            default.
        corrected: Whether the amplitude has fallen to 1 / sqrt(2) at the cutoff after both passes, equation (2) of
            `Butterworth`; otherwise it has after each of them.
    """
    if cutoff >= MOST * rate:
        return values
    length = min(len(values) - 1, int(2 * rate / cutoff) if pad is None else pad)
    return np.asarray(signal.sosfiltfilt(_sections(cutoff, rate, corrected), values, axis=0, padlen=length))


@lru_cache(maxsize=64)
def _sections(cutoff: float, rate: float, corrected: bool) -> Floats:
    return Butterworth(cutoff, ORDER, zero_phase=corrected).sections(rate)


def apply_lag(values: Floats, lag: float, rate: float) -> Floats:
    """Two first-order lags of `lag` s in a row, along the first axis; from steady state."""
    if lag <= 0.0:
        return values
    share = 1.0 - np.exp(-1.0 / (rate * lag))
    for _ in range(2):
        values = signal.lfilter([share], [1.0, share - 1.0], values, axis=0, zi=(1.0 - share) * values[:1])[0]
    return np.asarray(values)


def shift(values: Floats, seconds: float, rate: float) -> Floats:
    """Signals (N, m) as they are `seconds` later: x(t + seconds); the ends are held."""
    if seconds == 0.0:
        return values
    index = np.arange(len(values))
    return interpolate_columns(index + seconds * rate, index, values)


def fill_gaps(values: Floats) -> Floats:
    """Without NaN: gaps are bridged in a straight line, for the filters only."""
    if np.isfinite(values).all():
        return values
    places = np.arange(len(values))
    columns = []
    for column in values.reshape(len(values), -1).T:
        there = np.isfinite(column)
        columns.append(
            np.interp(places, places[there], column[there]) if there.any() else np.zeros(len(column))
        )
    return np.stack(columns, axis=1).reshape(values.shape)


def wiener_mix(measured: Floats, modelled: Floats, rate: float) -> Floats:
    """Signals (N, m) from readings and from a model of them, by frequency: Wiener's filter of their difference.

    Where the difference is no more than the white noise of the readings the model is better, where it is much more
    the readings are. White is what the difference has beyond a quarter of the sampling rate; noise that is stronger
    below counts as an error of the model, and the readings are believed.
    """
    apart = measured - modelled
    if min(int(rate), len(apart)) < 16:
        return measured
    grid, gains = wiener_gains(apart, rate)
    both = np.fft.rfft(np.concatenate([apart, apart[::-1]]), axis=0)
    places = np.fft.rfftfreq(2 * len(apart), 1.0 / rate)
    gain = interpolate_columns(places, grid, gains)
    return np.asarray(modelled + np.fft.irfft(both * gain, 2 * len(apart), axis=0)[: len(apart)])


def wiener_gains(signals: Floats, rate: float) -> tuple[Floats, Floats]:
    """Frequencies (F,), Hz, and the gain of Wiener's filter there (F, m) for signals (N, m) with white noise.

    White is what they have beyond a quarter of the sampling rate. N is at least 16.
    """
    size = min(int(rate), len(signals))
    grid, power = signal.welch(signals, rate, nperseg=size, axis=0, detrend="constant")
    noise = np.mean(power[grid > 0.25 * rate], axis=0)
    gains = np.clip(1.0 - noise / np.maximum(power, 1e-300), 0.0, 1.0)
    gains[:2] = 1.0
    return grid, gains


def white_noise(values: Floats) -> Floats:
    """Deviation of what neighbours of a smooth signal do not share, along the first axis (second differences)."""
    values = values[np.isfinite(values.reshape(len(values), -1)).all(axis=1)]
    if len(values) < 3:
        return np.zeros(values.shape[1:])
    bend = values[2:] - 2.0 * values[1:-1] + values[:-2]
    return np.asarray(np.sqrt(np.median(bend**2, axis=0) / HALF / 6.0))


def parabola_minimum(grid: Floats, costs: Floats) -> tuple[float, float]:
    """Where on an even grid (n,) the costs (n,) are least, and how they bend there (their second difference).

    The point of the grid that costs least is refined by the parabola through it and its neighbours; delays are found
    so. At an end of the grid the parabola is that of the three costs next to it; it is followed by one step at most.
    """
    best = int(np.clip(np.argmin(costs), 1, len(grid) - 2))
    before, here, after = costs[best - 1 : best + 2]
    bend = float(before - 2.0 * here + after)
    shift = float(np.clip(0.5 * (before - after) / bend, -1.0, 1.0)) if bend > 0.0 else 0.0
    return float(grid[best] + shift * (grid[1] - grid[0])), bend
