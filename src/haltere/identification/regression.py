"""A row of a law as a regression: errors in variables, robust, with deviations that need no model of correlation.

With instruments Z (the same signals, of rotor speeds as the commands make them) and P the projection on them,

    theta = (H'X)^-1 H'y,       H = (1 - a/n) P X + (a/n) X                                                  (1)

has no attenuation, and where instruments say next to nothing it goes back to least squares instead of anywhere: the
estimator of [Fuller1977] for n independent samples. Without commands H = X.

Outliers are weighed down (Huber), deviations come from leaving out one block of time after the other (jackknife), which
needs no model of correlation. Where noise was made white they are at least those of white noise.
"""

from dataclasses import dataclass

import numpy as np

from haltere.flight.fault import Values

BLOCKS = 10
HUBER = 2.0
ROUNDS = 5
ALIKE = 12.0
"""Neighbouring samples that count as one, if nothing else is said."""
FULLER = 4.0
"""The number a of equation (1): least mean square error for few and weak instruments."""
SPREAD = 1.15
"""Of ten blocks: Student's t against the normal distribution at 95 %."""


@dataclass(frozen=True)
class Regression:
    """One row: y = X theta.

    Attributes:
        value: (k,) theta.
        cov: (k, k) from the blocks.
        explained: Share of the variance of y that X theta explains, weighted as fitted.
        rms: Of what is left, as fitted (differences for torque rows).
    """

    value: Values
    cov: Values
    explained: float
    rms: float

    @property
    def sigma(self) -> Values:
        """(k,) deviations."""
        return np.sqrt(np.maximum(np.diagonal(self.cov), 0.0))


def regress(
    X: Values,
    y: Values,
    Z: Values | None = None,
    blocks: int = BLOCKS,
    prior: Values | None = None,
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
    """
    scale = np.maximum(np.sqrt(np.mean(X**2, axis=0)), 1e-150)
    A = X / scale
    G = A if Z is None else Z / np.maximum(np.sqrt(np.mean(Z**2, axis=0)), 1e-150)
    k = A.shape[1]
    weight = np.ones(len(y))
    parts = np.array_split(np.arange(len(y)), min(blocks, max(len(y) // k, 2)))
    ridge = 1e-9 * len(y) * np.eye(k)
    theta, size = np.zeros(k), 0.0
    for _ in range(ROUNDS):
        W = _instruments(A, G, weight, FULLER * alike) if Z is not None else A * weight[:, None]
        if prior is not None:
            ridge = 1e-9 * len(y) * np.eye(k) + np.diag(alike * (size / (prior * scale)) ** 2)
        theta = np.linalg.lstsq(W.T @ A + ridge, W.T @ y, rcond=None)[0]
        left = y - A @ theta
        size = max(1.4826 * float(np.median(np.abs(left - np.median(left)))), 1e-300)
        weight = np.minimum(1.0, HUBER * size / np.maximum(np.abs(left), 1e-300))
    W = _instruments(A, G, weight, FULLER * alike) if Z is not None else A * weight[:, None]
    M = np.stack([W[p].T @ A[p] for p in parts])
    s = np.stack([W[p].T @ y[p] for p in parts])
    total, right = M.sum(axis=0) + ridge, s.sum(axis=0)
    without = np.stack(
        [np.linalg.lstsq(total - m, right - v, rcond=None)[0] for m, v in zip(M, s, strict=True)]
    )
    apart = without - without.mean(axis=0)
    cov = (len(parts) - 1) / len(parts) * apart.T @ apart * SPREAD**2
    if alike <= 1.0:  # Ten blocks may agree by chance: white noise alone makes them differ by so much.
        gain = np.linalg.pinv(total) @ W.T
        noise = float(np.sum(weight * (y - A @ theta) ** 2)) / max(float(np.sum(weight)) - k, 1.0)
        least = np.sqrt(noise * np.sum(gain**2, axis=1) / np.maximum(np.diagonal(cov), 1e-300))
        cov = cov * np.outer(np.maximum(least, 1.0), np.maximum(least, 1.0))
    if Z is not None:
        H = _instruments(A, G, weight, FULLER / 4.0 * alike)
        shift = theta - np.linalg.lstsq(H.T @ A + ridge, H.T @ y, rcond=None)[0]
        cov = cov + np.outer(shift, shift)
    if prior is not None:
        # What is held back towards zero is as far off as it may be before anything is known.
        held = np.linalg.pinv(total) @ (ridge * np.where(np.isfinite(prior), prior * scale, 0.0))
        cov = cov + held @ held.T
    left = y - A @ theta
    power = float(np.sum(weight * _rest(A[:, k - beside :], y, weight) ** 2))
    explained = 1.0 - float(np.sum(weight * left**2)) / power if power > 0.0 else 0.0
    return Regression(
        theta / scale, cov / np.outer(scale, scale), explained, float(np.sqrt(np.mean(left**2)))
    )


def _rest(A: Values, y: Values, weight: Values) -> Values:
    """(n,) what is left of y by columns that are beside, or by its mean if there are none."""
    if A.shape[1] == 0:
        return np.asarray(y - np.average(y, weights=weight))
    W = A * weight[:, None]
    theta = np.linalg.lstsq(W.T @ A + 1e-9 * len(y) * np.eye(A.shape[1]), W.T @ y, rcond=None)[0]
    return np.asarray(y - A @ theta)


def _instruments(A: Values, G: Values, weight: Values, few: float) -> Values:
    """(n, k) weighted H of equation (1) for regressors and instruments of size 1; `few` of the n samples are a."""
    W = G * weight[:, None]
    share = min(few / len(A), 1.0)
    projected = G @ np.linalg.lstsq(W.T @ G + 1e-9 * len(A) * np.eye(G.shape[1]), W.T @ A, rcond=None)[0]
    return np.asarray(((1.0 - share) * projected + share * A) * weight[:, None])
