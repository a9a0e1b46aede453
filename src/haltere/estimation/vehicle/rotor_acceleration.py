"""Rotor accelerations from noisy speeds: the smoothest history that they allow, and its slope.

The course s of the readings y balances how far it is from them against its third differences D s ([Eilers2003]):

    s = argmin |y - s|^2 + c |D s|^2 = H(c) y                                                             (1)

with c such that it predicts each reading from the others best, by generalised cross-validation ([Craven1979]):

    c = argmin |y - s|^2 / (1 - tr H / n)^2,   tr H / n = mean over 0 < f < pi of 1 / (1 + c (2 - 2 cos f)^3)  (2)

Readings without noise stay as they are: c is then the smallest on the list.
"""

import numpy as np
from scipy.linalg import solveh_banded

THIRD = np.array([-1.0, 3.0, -3.0, 1.0])
FIRMNESS = np.logspace(-2, 6, 17)
"""The c that are tried, until one predicts worse than the one before; the last bends within some thirty samples."""
LOWEST = 10
"""Samples."""


def smooth_differences(values: np.ndarray) -> tuple[np.ndarray, float]:
    """(n - 1, m) differences of the course of values (n, m) evenly sampled in time, and their deviation.

    One c serves all columns. The deviation is that of the noise that is left in them; an error of the course as large
    as that is usual at the best c.
    """
    if len(values) < LOWEST:
        return np.diff(values, axis=0), 0.0
    tones = 2.0 - 2.0 * np.cos(np.linspace(0.0, np.pi, 200))
    best, least, sigma = values, np.inf, 0.0
    for firmness in FIRMNESS:
        found, passed = _firm(values, firmness), 1.0 / (1.0 + firmness * tones**3)
        left = float(np.mean((values - found) ** 2)) / (1.0 - passed.mean())
        missed = left / (1.0 - passed.mean())
        if missed >= least:
            break
        best, least, sigma = found, missed, float(np.sqrt(left * np.mean(tones * passed**2)))
    return np.diff(best, axis=0), sigma


def _firm(y: np.ndarray, firmness: float) -> np.ndarray:
    """Equation (1)."""
    n = len(y)
    bands = np.zeros((4, n))
    for i, a in enumerate(THIRD):
        for j, b in enumerate(THIRD[i:], start=i):
            bands[3 - (j - i), j : j + n - 3] += firmness * a * b
    bands[3] += 1.0
    return np.asarray(solveh_banded(bands, y))
