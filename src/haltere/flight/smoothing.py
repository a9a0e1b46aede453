"""What signals pass before a law is fitted to them: the same low-pass for all, gaps bridged, delays and lags undone.

A linear relation between signals that pass the same low-pass stays exact. Delays are searched: the one of a grid that
costs least, refined by the parabola through it and its neighbours.
"""

import numpy as np
from scipy import signal

from haltere.flight import Butterworth
from haltere.foundation.numbers import Floats

ORDER = 2
HALF = 0.4549
"""Median of the square of a standard normal number."""
MOST = 0.45
"""Of the sampling rate: a cutoff beyond filters nothing."""


def smoothed(values: Floats, rate: float, cutoff: float) -> Floats:
    """A zero-phase low-pass along the first axis, 3 dB at `cutoff`, Hz."""
    if cutoff >= MOST * rate:
        return values
    sections = Butterworth(cutoff, ORDER).sections(rate)
    pad = min(len(values) - 1, int(2 * rate / cutoff))
    return np.asarray(signal.sosfiltfilt(sections, values, axis=0, padlen=pad))


def lagged(values: Floats, lag: float, rate: float) -> Floats:
    """Two first-order lags of `lag` s in a row, along the first axis; from steady state."""
    if lag <= 0.0:
        return values
    share = 1.0 - np.exp(-1.0 / (rate * lag))
    for _ in range(2):
        values = signal.lfilter([share], [1.0, share - 1.0], values, axis=0, zi=(1.0 - share) * values[:1])[0]
    return np.asarray(values)


def late(values: Floats, delay: float, rate: float) -> Floats:
    """Signals (N, m) as they are `delay` s later."""
    if delay == 0.0:
        return values
    places = np.arange(len(values)) + delay * rate
    return np.stack([np.interp(places, np.arange(len(values)), column) for column in values.T], axis=1)


def filled(values: Floats) -> Floats:
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


def mixed(measured: Floats, made: Floats, rate: float) -> Floats:
    """Signals (N, m) from readings and from a model of them, by frequency: Wiener's filter of their difference.

    Where the difference is no more than the white noise of the readings the model is better, where it is much more the
    readings are. White is what the difference has beyond a quarter of the sampling rate; noise that is stronger below
    counts as an error of the model, and the readings are believed.
    """
    apart = measured - made
    size = min(int(rate), len(apart))
    if size < 16:
        return measured
    grid, power = signal.welch(apart, rate, nperseg=size, axis=0, detrend="constant")
    noise = np.mean(power[grid > 0.25 * rate], axis=0)
    share = np.clip(1.0 - noise / np.maximum(power, 1e-300), 0.0, 1.0)
    share[:2] = 1.0
    both = np.fft.rfft(np.concatenate([apart, apart[::-1]]), axis=0)
    places = np.fft.rfftfreq(2 * len(apart), 1.0 / rate)
    gain = np.stack([np.interp(places, grid, column) for column in share.T], axis=1)
    return np.asarray(made + np.fft.irfft(both * gain, 2 * len(apart), axis=0)[: len(apart)])


def white_noise(values: Floats) -> Floats:
    """Deviation of what neighbours of a smooth signal do not share, along the first axis (second differences)."""
    values = values[np.isfinite(values.reshape(len(values), -1)).all(axis=1)]
    if len(values) < 3:
        return np.zeros(values.shape[1:])
    bend = values[2:] - 2.0 * values[1:-1] + values[:-2]
    return np.asarray(np.sqrt(np.median(bend**2, axis=0) / HALF / 6.0))


def least(grid: Floats, costs: Floats) -> tuple[float, float]:
    """Where on an even grid (n,) the costs (n,) are least, and how they bend there (their second difference).

    At an end of the grid the parabola is that of the three costs next to it; it is followed by one step at most.
    """
    best = int(np.clip(np.argmin(costs), 1, len(grid) - 2))
    before, here, after = costs[best - 1 : best + 2]
    bend = float(before - 2.0 * here + after)
    shift = float(np.clip(0.5 * (before - after) / bend, -1.0, 1.0)) if bend > 0.0 else 0.0
    return float(grid[best] + shift * (grid[1] - grid[0])), bend
