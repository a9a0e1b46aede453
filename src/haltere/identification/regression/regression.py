"""A row of a law as a regression: errors in variables, robust, in noise made white.

With instruments Z (the same signals, of rotor speeds as the commands make them) and P the projection on them,

    theta = (H'X)^-1 H'y,       H = (1 - a/n) P X + (a/n) X                                                  (1)

has no attenuation, and where instruments say next to nothing it goes back to least squares instead of anywhere: the
estimator of [Fuller1977] for n independent samples. Without commands H = X.

Outliers are weighed down (Huber), deviations come from leaving out one block of time after the other (jackknife),
which needs no model of correlation. Where noise was made white (`Whitening`) they are at least those of white noise.
"""

from dataclasses import dataclass

import numpy as np

from haltere.flight.resampling import runs_of_true
from haltere.foundation.constants import MAD_TO_SIGMA
from haltere.foundation.numbers import Bools, Floats

BLOCKS = 10
HUBER = 2.0
ROUNDS = 5
ALIKE = 12.0
"""Neighbouring samples that count as one, if nothing else is said."""
FULLER = 4.0
"""The number a of equation (1): least mean square error for few and weak instruments."""
STUDENT_FACTOR = 1.15
"""Of ten blocks: Student's t against the normal distribution at 95 %."""


def huber_weights(residual: Floats, size: Floats | float, threshold: float, floor: float = 1e-300) -> Floats:
    """Weights min(1, threshold size / |residual|) of a robust fit.

    Args:
        residual: (N, ...) in the unit of `size`.
        size: Robust deviation of the residuals, one for all or one for each of the last axis.
        threshold: Deviations up to which a residual has full weight.
        floor: Smallest residual that is divided by.
    """
    return np.asarray(np.minimum(1.0, threshold * size / np.maximum(np.abs(residual), floor)))


@dataclass(frozen=True)
class Regression:
    """One row: y = X theta.

    Attributes:
        value: (k,) theta.
        cov: (k, k) from the blocks.
        explained: Share of the variance of y that X theta explains, weighted as fitted.
        rms: Of what is left, as fitted (differences for torque rows).
        formula: (k, k) the covariance that white noise leaves, or None.
    """

    value: Floats
    cov: Floats
    explained: float
    rms: float
    formula: Floats | None = None

    @property
    def sigma(self) -> Floats:
        """(k,) deviations."""
        return np.sqrt(np.maximum(np.diagonal(self.cov), 0.0))

    def even_cov(self, m: int) -> Floats:
        """(m, m) of the first numbers, as white noise leaves it and of the size that blocks say.

        That of a few blocks knows only a few directions, and says too little of the others.
        """
        if self.formula is None:
            return self.cov[:m, :m]
        own = np.diagonal(self.cov)[:m] / np.maximum(np.diagonal(self.formula)[:m], 1e-300)
        return np.asarray(self.formula[:m, :m] * max(float(np.median(own)), 1.0))


def regress(
    X: Floats,
    y: Floats,
    Z: Floats | None = None,
    blocks: int = BLOCKS,
    prior: Floats | None = None,
    alike: float = ALIKE,
    beside: int = 0,
) -> Regression:
    """Fit y (n,) = X (n, k) theta by equation (1), robustly; blocks are of equal numbers of samples.

    Args:
        X: (n, k).
        y: (n,).
        Z: (n, k) instruments, or None.
        blocks: Of the jackknife, at most.
        prior: (k,) deviations about zero that the numbers have before, infinite for none.
        alike: Neighbouring samples that count as one.
        beside: How many of the last columns are no part of what is explained: what they leave is.

    Raises:
        numpy.linalg.LinAlgError: there is no sample.
    """
    if not len(X):
        raise np.linalg.LinAlgError("no sample has all signals")
    scale = np.maximum(np.sqrt(np.mean(X**2, axis=0)), 1e-150)
    A, n, k = X / scale, *X.shape
    G = A if Z is None else Z / np.maximum(np.sqrt(np.mean(Z**2, axis=0)), 1e-150)
    columns = np.concatenate([G, A, y[:, None]], axis=1)
    few = 1.0 if Z is None else min(FULLER * alike / n, 1.0)
    parts = np.array_split(np.arange(n), min(blocks, max(n // k, 2)))
    ridge = 1e-9 * n * np.eye(k)
    weight, theta, size = np.ones(n), np.zeros(k), 0.0
    for _ in range(ROUNDS):
        if prior is not None:
            ridge = 1e-9 * n * np.eye(k) + np.diag(alike * (size / (prior * scale)) ** 2)
        gram = columns.T @ (columns * weight[:, None])
        M, v = _normal(gram, _projection(gram, k), few)
        theta = _solved(M + ridge, v)
        residual = y - A @ theta
        size = max(MAD_TO_SIGMA * float(np.median(np.abs(residual - np.median(residual)))), 1e-300)
        weight = huber_weights(residual, size, HUBER)
    grams = np.stack([columns[p].T @ (columns[p] * weight[p, None]) for p in parts])
    gram = grams.sum(axis=0)
    C = _projection(gram, k)
    normal = [_normal(each, C, few) for each in grams]
    total, right = (sum(x) for x in zip(*normal, strict=True))
    total = total + ridge
    without = np.stack([_solved(total - M, right - v) for M, v in normal])
    apart = without - without.mean(axis=0)
    cov = (len(parts) - 1) / len(parts) * apart.T @ apart * STUDENT_FACTOR**2
    formula = None
    if alike <= 1.0:  # Ten blocks may agree by chance: white noise alone makes them differ by so much.
        H = ((1.0 - few) * G @ C + few * A) * weight[:, None]
        gain = np.linalg.pinv(total) @ H.T
        noise = float(np.sum(weight * (y - A @ theta) ** 2)) / max(float(np.sum(weight)) - k, 1.0)
        formula = noise * gain @ gain.T
        least = np.sqrt(np.diagonal(formula) / np.maximum(np.diagonal(cov), 1e-300))
        formula = formula / np.outer(scale, scale)
        cov = cov * np.outer(np.maximum(least, 1.0), np.maximum(least, 1.0))
    if Z is not None:
        M, v = _normal(gram, C, 0.25 * few)
        shift = theta - _solved(M + ridge, v)
        cov = cov + np.outer(shift, shift)
    if prior is not None:
        # What is held back towards zero is as far off as it may be before anything is known.
        held = np.linalg.pinv(total) @ (ridge * np.where(np.isfinite(prior), prior * scale, 0.0))
        cov = cov + held @ held.T
    residual = y - A @ theta
    power = float(np.sum(weight * _remainder(A[:, k - beside :], y, weight) ** 2))
    explained = 1.0 - float(np.sum(weight * residual**2)) / power if power > 0.0 else 0.0
    rms = float(np.sqrt(np.mean(residual**2)))
    return Regression(theta / scale, cov / np.outer(scale, scale), explained, rms, formula)


def _projection(gram: Floats, k: int) -> Floats:
    """(k, k) C with P X = Z C, from the weighted products (2 k + 1, 2 k + 1) of (Z, X, y)."""
    return _solved(gram[:k, :k] + 1e-9 * np.trace(gram[:k, :k]) / k * np.eye(k), gram[:k, k : 2 * k])


def _normal(gram: Floats, C: Floats, few: float) -> tuple[Floats, Floats]:
    """H'X (k, k) and H'y (k,) of equation (1) from the weighted products of (Z, X, y), a/n = `few`."""
    k = len(C)
    both = (1.0 - few) * C.T @ gram[:k, k:] + few * gram[k : 2 * k, k:]
    return both[:, :k], both[:, k]


def _solved(M: Floats, v: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.solve(M, v))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(M, v, rcond=None)[0])


def _remainder(A: Floats, y: Floats, weight: Floats) -> Floats:
    """(n,) what is left of y by columns that are beside, or by its mean if there are none."""
    if A.shape[1] == 0:
        return np.asarray(y - np.average(y, weights=weight))
    W = A * weight[:, None]
    return np.asarray(y - A @ _solved(W.T @ A + 1e-9 * len(y) * np.eye(A.shape[1]), W.T @ y))


ORDER = 4
"""The number p of equation (2)."""
LEVEL = 3.0
"""Outliers, in robust deviations."""
WHITENING_ROUNDS = 3
FITS = 2
BAND = 2.0
"""Samples in each period of a low-pass's cutoff: no more, because there is nothing to be made white beyond it."""


def integral(values: Floats, rate: float) -> Floats:
    """Integrals over time along the first axis, by cubics through four samples each."""
    step = np.zeros_like(values)
    step[1:] = 0.5 * (values[1:] + values[:-1])
    step[2:-1] = (13.0 * (values[1:-2] + values[2:-1]) - values[:-3] - values[3:]) / 24.0
    return np.asarray(np.cumsum(step, axis=0) / rate)


def stretches(valid: Bools, shortest: int) -> Floats:
    """(n, s) one column for each stretch of good samples that is not too short: 1 in it, 0 elsewhere."""
    long = runs_of_true(valid, shortest)
    found = np.zeros((len(valid), len(long)))
    for column, (first, last) in zip(found.T, long, strict=True):
        column[first:last] = 1.0
    return found


@dataclass(frozen=True)
class Whitening:
    """Noise made white: what a law leaves is predicted from its own past, and all signals pass what takes that away.

    A law of rates of change holds between integrals, too. What a gyro adds to them is white, what the air adds
    wanders: of both together each sample is predicted by those before it,

        e_k = a_1 e_(k-1) + ... + a_p e_(k-p) + white,      y -> y_k - a_1 y_(k-1) - ... - a_p y_(k-p)        (2)

    for regressand, regressors and instruments alike: generalised least squares with a spectrum found in what is left.
    With a = (0, ...) it weighs as gyro noise alone asks, with a = (1, 0, ...) it is a regression of increments.

    Attributes:
        shares: (p,) a.
    """

    shares: Floats

    def where(self, valid: Bools) -> Bools:
        """(n - p,) which samples are good together with all that they are predicted from."""
        p = len(self.shares)
        return np.asarray(np.logical_and.reduce([valid[p - j : len(valid) - j] for j in range(p + 1)]))

    def of(self, values: Floats) -> Floats:
        """(n - p, ...) what the past of a signal (n, ...) does not say."""
        p, n = len(self.shares), len(values)
        found = values[p:].copy()
        for j, share in enumerate(self.shares, start=1):
            found -= share * values[p - j : n - j]
        return np.asarray(found)

    def gain(self, response: Floats, step: int) -> float:
        """Deviation of white noise of size 1 after a filter of this impulse response, one sample of `step`, and (2)."""
        kernel = np.concatenate([[1.0], -self.shares])
        count = len(response)
        same = [
            float(response[: max(count - j * step, 0)] @ response[j * step :]) for j in range(len(kernel))
        ]
        lags = np.abs(np.arange(len(kernel))[:, None] - np.arange(len(kernel)))
        return float(np.sqrt(max(kernel @ np.array(same)[lags] @ kernel, 0.0)))


INCREMENTS = Whitening(np.ones(1))


def whitening(residual: Floats, valid: Bools, order: int = ORDER) -> Whitening:
    """That of what is left (n,), or (n, r) of signals alike, where it is good; robust."""
    residual = residual.reshape(len(residual), -1)
    where = Whitening(np.zeros(order)).where(valid)
    count = len(residual)
    past = np.stack([residual[order - j : count - j] for j in range(1, order + 1)], axis=-1)[where].reshape(
        -1, order
    )
    now = residual[order:][where].reshape(-1)
    weight = np.ones(len(now))
    shares = np.zeros(order)
    for _ in range(WHITENING_ROUNDS):
        W = past * weight[:, None]
        M = W.T @ past
        shares = np.linalg.lstsq(M + 1e-9 * np.trace(M) * np.eye(order), W.T @ now, rcond=None)[0]
        rest = np.abs(now - past @ shares)
        size = max(MAD_TO_SIGMA * float(np.median(rest)), 1e-300)
        weight = huber_weights(rest, size, LEVEL, 1e-9 * size)
        # An outlier is among what the next samples are predicted from, too.
        odd = np.zeros_like(residual)
        odd[order:][where] = 1.0 - weight.reshape(-1, residual.shape[1])
        weight = np.prod([1.0 - odd[order - j : count - j][where] for j in range(order + 1)], axis=0).reshape(
            -1
        )
    return Whitening(shares)


def white_regress(
    X: Floats, y: Floats, Z: Floats | None, valid: Bools, prior: Floats | None = None
) -> Regression:
    """Regress y (n, r) on X (n, r, k), whose r rows are alike, with instruments Z, in noise made white.

    Increments come first: what wanders does not mislead them.
    """

    def fitted(white: Whitening) -> Regression:
        where = white.where(valid)
        A, B = (None if x is None else white.of(x)[where].reshape(-1, x.shape[-1]) for x in (X, Z))
        assert A is not None
        return regress(A, white.of(y)[where].reshape(-1), B, prior=prior, alike=1.0)

    white = INCREMENTS
    for _ in range(FITS):
        residual = y - X @ fitted(white).value
        white = whitening(residual - residual[valid].mean(axis=0), valid)
    return fitted(white)
