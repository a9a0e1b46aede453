"""Does a filter tell the truth about its own uncertainty? Normalised errors and their two-sided bands.

For an error e of d states with covariance P, NEES = e^T P^-1 e has mean d and variance 2 d if the filter is
consistent; the sum over M independent runs is chi-square with M d degrees of freedom ([BarShalom2001] Section 5.4).
The same holds for the normalised innovation squared, NIS.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy import stats

from haltere.foundation.arrays import Array

CONFIDENCE = 0.999


class Band(NamedTuple):
    """Two-sided band of a mean."""

    low: float
    high: float

    def __contains__(self, value: object) -> bool:
        """Whether a value lies inside."""
        return isinstance(value, int | float | np.floating) and self.low <= float(value) <= self.high


def nees(error: Array, cov: Array) -> Array:
    """() of error (d,) and covariance (d, d); scaled first, because the entries differ by many orders."""
    scale = 1.0 / jnp.sqrt(jnp.diagonal(cov))
    normalised: Array = (scale * error) @ jnp.linalg.solve(
        cov * scale[:, None] * scale[None, :], scale * error
    )
    return normalised


def mean_band(states: int, runs: int, confidence: float = CONFIDENCE) -> Band:
    """In which the mean NEES of `runs` runs with `states` states lies with the given probability."""
    tail = 0.5 * (1.0 - confidence)
    freedom = states * runs
    return Band(*(float(stats.chi2.ppf(q, freedom) / runs) for q in (tail, 1.0 - tail)))
