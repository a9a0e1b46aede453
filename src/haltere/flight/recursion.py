"""Recursive filters of sampled signals: Butterworth sections, one way from a state, or both ways without delay.

A section is b0, b1, b2, a0 = 1, a1, a2. What it makes of x is the solution of a banded triangular system,

    (1)  y_k + a1 y_k-1 + a2 y_k-2 = b0 x_k + b1 x_k-1 + b2 x_k-2

which LAPACK solves by substitution, in the order of (1). With W_c = tan(pi f_c / f_s) two poles at the angle t have

    (2)  low-pass: b = g W_c^2 (1, 2, 1);  high-pass: b = g (1, -2, 1);  g = 1 / (1 + 2 W_c cos t + W_c^2)
         a1 = 2 g (W_c^2 - 1),  a2 = g (1 - 2 W_c cos t + W_c^2)                             [Butterworth1930]

SciPy's `signal` does the same, and takes longer to import than a log to be identified; a test compares the two.
"""

from math import cos, pi, tan
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack

from haltere.flight.fault import FlightError, Values

MIRRORED = 3
"""Samples mirrored at either end for each one that a filter remembers, and one more."""


def butterworth(order: int, cutoff: float, rate: float, kind: Literal["low", "high"] = "low") -> Values:
    """Return the second-order sections (n, 6) of a filter, equation (2); a lone pole stands first.

    Args:
        order: Number of poles.
        cutoff: Hz, where the amplitude has fallen to 1 / sqrt(2).
        rate: Hz.
        kind: What passes.
    """
    if not 0.0 < cutoff < 0.5 * rate:
        raise FlightError(f"cutoff {cutoff:g} Hz; give one above 0 and below half the rate of {rate:g} Hz")
    W = tan(pi * cutoff / rate)
    low = kind == "low"
    sections = []
    if order % 2:
        top = W if low else 1.0
        sections.append([top, top if low else -top, 0.0, 1.0 + W, W - 1.0, 0.0])
    for k in range(1, order // 2 + 1):
        across = 2.0 * W * cos(pi * (2 * k - 1 + order % 2) / (2 * order))
        top = W * W if low else 1.0
        middle, whole = 2.0 * top if low else -2.0, 1.0 + W * W
        sections.append([top, middle, top, whole + across, 2.0 * (W * W - 1.0), whole - across])
    return np.array([np.array(section) / section[3] for section in sections])


def steady(section: Values) -> Values:
    """Return the state (2,) of a section (6,) in which a signal that has always been 1 leaves it."""
    gain = section[:3].sum() / section[3:].sum()
    second = section[2] - gain * section[5]
    return np.array([section[1] - gain * section[4] + second, second])


def recursed(top: ArrayLike, bottom: ArrayLike, values: Values, state: Values | None = None) -> Values:
    """Return signals (T, ...) after a filter, equation (1), along the first axis.

    Args:
        top: (m,) b.
        bottom: (m,) a; the first is 1.
        values: (T, ...).
        state: (m - 1, ...) what is added to the first results; nothing if not given.
    """
    top, bottom = np.asarray(top, np.float64), np.asarray(bottom, np.float64)
    if not values.size:
        return np.asarray(values, np.float64)
    flat = np.asarray(values, np.float64).reshape(len(values), -1)
    driven = top[0] * flat
    for k in range(1, min(len(top), len(flat))):
        driven[k:] += top[k] * flat[:-k]
    if state is not None:
        begin = np.broadcast_to(state, (len(state), *values.shape[1:])).reshape(len(state), -1)[: len(flat)]
        driven[: len(begin)] += begin
    bands = np.empty((len(bottom), len(flat)), order="F")
    bands[:] = bottom[:, None]
    found = lapack.dtbtrs(bands, driven, uplo="L", diag="U")[0]
    return np.ascontiguousarray(found).reshape(values.shape)


def one_way(sections: Values, values: Values) -> Values:
    """Return signals (T, ...) after all sections (n, 6), from the steady state at their first sample."""
    for section in sections:
        begin = np.multiply.outer(steady(section), values[0])
        values = recursed(section[:3], section[3:], values, begin)
    return values


def both_ways(sections: Values, values: Values, pad: int | None = None) -> Values:
    """Return signals (T, ...) after all sections (n, 6), forward and then backward: without delay.

    Args:
        sections: Of the filter.
        values: (T, ...), finite.
        pad: Samples that are mirrored at either end, about the last value, before filtering.

    Raises:
        FlightError: there are fewer samples than that.
    """
    if pad is None:
        alone = int(min(np.sum(sections[:, 2] == 0.0), np.sum(sections[:, 5] == 0.0)))
        pad = MIRRORED * (2 * len(sections) + 1 - alone)
    if len(values) <= pad:
        raise FlightError(f"{len(values)} samples; more than {pad} are needed for this filter")
    before, after = 2.0 * values[:1] - values[pad:0:-1], 2.0 * values[-1:] - values[-2 : -pad - 2 : -1]
    longer = np.concatenate([before, values, after])
    passed = one_way(sections, one_way(sections, longer)[::-1])[::-1]
    return np.ascontiguousarray(passed[pad : len(passed) - pad])


def middle_of_three(values: Values) -> Values:
    """Return of each sample (T, ...) and its two neighbours the middle one; beyond the ends there is zero."""
    nothing = np.zeros_like(values[:1])
    before, after = np.concatenate([nothing, values[:-1]]), np.concatenate([values[1:], nothing])
    low, high = np.minimum(before, after), np.maximum(before, after)
    return np.clip(values, low, high)
