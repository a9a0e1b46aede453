"""Noise made white: what a law leaves is predicted from its own past, and all signals pass what takes that away.

A law of rates of change holds between integrals, too. What a gyro adds to them is white, what the air adds wanders:
of both together each sample is predicted by those before it,

    e_k = a_1 e_(k-1) + ... + a_p e_(k-p) + white,      y -> y_k - a_1 y_(k-1) - ... - a_p y_(k-p)            (1)

for regressand, regressors and instruments alike: generalised least squares with a spectrum found in what is left. With
a = (0, ...) it weighs as gyro noise alone asks, with a = (1, 0, ...) it is a regression of increments.
"""

from dataclasses import dataclass

import numpy as np

from haltere.foundation.numbers import Bools, Floats
from haltere.identification.regression.regression import Regression, regress

ORDER = 4
"""The number p of equation (1)."""
LEVEL = 3.0
"""Outliers, in robust deviations."""
ROUNDS = 3
FITS = 2
BAND = 2.0
"""Samples in each period of a low-pass's cutoff: no more, because there is nothing to be made white beyond it."""


def integral(values: Floats, rate: float) -> Floats:
    """Integrals over time along the first axis, by cubics through four samples each."""
    step = np.zeros_like(values)
    step[1:] = 0.5 * (values[1:] + values[:-1])
    step[2:-1] = (13.0 * (values[1:-2] + values[2:-1]) - values[:-3] - values[3:]) / 24.0
    return np.asarray(np.cumsum(step, axis=0) / rate)


def stretches(good: Bools, shortest: int) -> Floats:
    """(n, s) one column for each stretch of good samples that is not too short: 1 in it, 0 elsewhere."""
    padded = np.concatenate([[False], good, [False]])
    starts = np.flatnonzero(padded[1:] & ~padded[:-1])
    stops = np.flatnonzero(~padded[1:] & padded[:-1])
    long = [(a, b) for a, b in zip(starts, stops, strict=True) if b - a >= shortest]
    found = np.zeros((len(good), len(long)))
    for column, (first, last) in zip(found.T, long, strict=True):
        column[first:last] = 1.0
    return found


@dataclass(frozen=True)
class Whitening:
    """Equation (1).

    Attributes:
        shares: (p,) a.
    """

    shares: Floats

    def where(self, good: Bools) -> Bools:
        """(n - p,) which samples are good together with all that they are predicted from."""
        p = len(self.shares)
        return np.asarray(np.logical_and.reduce([good[p - j : len(good) - j] for j in range(p + 1)]))

    def of(self, values: Floats) -> Floats:
        """(n - p, ...) what the past of a signal (n, ...) does not say."""
        p, n = len(self.shares), len(values)
        found = values[p:].copy()
        for j, share in enumerate(self.shares, start=1):
            found -= share * values[p - j : n - j]
        return np.asarray(found)

    def gain(self, answer: Floats, step: int) -> float:
        """Deviation of white noise of size 1 after a filter of this impulse response, one sample of `step`, and (1)."""
        kernel = np.concatenate([[1.0], -self.shares])
        count = len(answer)
        same = [float(answer[: max(count - j * step, 0)] @ answer[j * step :]) for j in range(len(kernel))]
        lags = np.abs(np.arange(len(kernel))[:, None] - np.arange(len(kernel)))
        return float(np.sqrt(max(kernel @ np.array(same)[lags] @ kernel, 0.0)))


INCREMENTS = Whitening(np.ones(1))


def whitening(left: Floats, good: Bools, order: int = ORDER) -> Whitening:
    """That of what is left (n,), or (n, r) of signals alike, where it is good; robust."""
    left = left.reshape(len(left), -1)
    where = Whitening(np.zeros(order)).where(good)
    count = len(left)
    past = np.stack([left[order - j : count - j] for j in range(1, order + 1)], axis=-1)[where].reshape(
        -1, order
    )
    now = left[order:][where].reshape(-1)
    weight = np.ones(len(now))
    shares = np.zeros(order)
    for _ in range(ROUNDS):
        W = past * weight[:, None]
        M = W.T @ past
        shares = np.linalg.lstsq(M + 1e-9 * np.trace(M) * np.eye(order), W.T @ now, rcond=None)[0]
        rest = np.abs(now - past @ shares)
        size = max(1.4826 * float(np.median(rest)), 1e-300)
        weight = np.minimum(1.0, LEVEL * size / np.maximum(rest, 1e-9 * size))
        # An outlier is among what the next samples are predicted from, too.
        odd = np.zeros_like(left)
        odd[order:][where] = 1.0 - weight.reshape(-1, left.shape[1])
        weight = np.prod([1.0 - odd[order - j : count - j][where] for j in range(order + 1)], axis=0).reshape(
            -1
        )
    return Whitening(shares)


def white_regress(
    X: Floats, y: Floats, Z: Floats | None, good: Bools, prior: Floats | None = None
) -> Regression:
    """Regress y (n, r) on X (n, r, k), whose r rows are alike, with instruments Z, in noise made white.

    Increments come first: what wanders does not mislead them.
    """

    def fitted(white: Whitening) -> Regression:
        where = white.where(good)
        A, B = (None if x is None else white.of(x)[where].reshape(-1, x.shape[-1]) for x in (X, Z))
        assert A is not None
        return regress(A, white.of(y)[where].reshape(-1), B, prior=prior, alike=1.0)

    white = INCREMENTS
    for _ in range(FITS):
        left = y - X @ fitted(white).value
        white = whitening(left - left[good].mean(axis=0), good)
    return fitted(white)
