"""Whether a filter is consistent: its errors against its covariance, and its residuals where no truth is known.

For an error e of d states with covariance P, NEES = e^T P^-1 e has mean d and variance 2 d if the filter is
consistent; the sum over M independent runs is chi-square with M d degrees of freedom ([BarShalom2001] Section 5.4).
`mean_band` is the two-sided band of its mean. The same holds for the normalised innovation squared, NIS, which needs
no truth: `fit_of` asks with it whether the model fits a flight.
"""

from dataclasses import dataclass
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


CHANCE = 1e-6
"""Of a false alarm in a flight."""
STRETCH = 1.0
"""s."""
MANY = 0.05
"""Share of poses beyond the gate that are no outliers any more."""


@dataclass(frozen=True)
class Fit:
    """How the readings of a flight fitted."""

    pose: float
    """Mean normalised innovation squared per number of a pose; 1 is expected."""
    imu: float
    """The same of the IMU."""
    rejected: float
    """Share of poses beyond the gate."""
    since: float | None
    """When the first stretch that does not fit began, s; None if all do."""

    @property
    def mismatch(self) -> bool:
        """Whether the model does not fit."""
        return self.since is not None or self.rejected > MANY

    def __str__(self) -> str:
        """One line."""
        numbers = f"pose residuals {self.pose:.2f}, IMU residuals {self.imu:.2f} of what is expected"
        if not self.mismatch:
            return f"the model fits: {numbers}"
        when = f" from {self.since:.1f} s on" if self.since is not None else ""
        return (
            f"model mismatch{when}: {numbers}, {self.rejected:.0%} of the poses rejected; something acts that the "
            "filter has no state for (drag, wind, spin, lag, delay), or the vehicle changed in flight"
        )


def fit_of(
    time: np.ndarray,
    pose: np.ndarray,
    numbers: np.ndarray,
    imu: np.ndarray,
    imu_valid: np.ndarray,
    gate: float,
) -> Fit:
    """How K frames fitted: a test of the filter's residuals, without truth.

    If model and noise are right, the normalised innovations squared of the readings in any stretch sum up to
    chi-square with as many degrees of freedom as there were numbers. A stretch whose sum is beyond what one flight in
    a million shows raises "model mismatch": something acts that the filter has no state for.

    Args:
        time: (K,) s, of each pose.
        pose: (K,) normalised innovation squared of the poses; zero where a filter that is lost could not tell.
        numbers: (K,) how many numbers each pose gave; 0 where there was none.
        imu: (K, n) of the IMU readings that followed.
        imu_valid: (K, n) whether there was one.
        gate: what the filter took for an outlier.
    """
    used = (numbers > 0) & (pose > 0.0) & (pose <= gate)
    shown = int(np.sum(numbers > 0))
    bins = np.floor((time - time[0]) / STRETCH).astype(int)

    def summed(values: np.ndarray) -> np.ndarray:
        return np.bincount(bins, values, minlength=int(bins[-1]) + 1)

    parts = [(summed(np.where(used, pose, 0.0)), summed(np.where(used, numbers, 0)))]
    parts.append(
        (summed(np.sum(np.where(imu_valid, imu, 0.0), axis=1)), summed(6.0 * np.sum(imu_valid, axis=1)))
    )
    limit = np.log(CHANCE / (len(parts) * (len(parts[0][0]) + 1)))
    bad = np.zeros(len(parts[0][0]), bool)
    for total, freedom in parts:
        bad |= stats.chi2.logsf(total, np.maximum(freedom, 1)) < limit
        if stats.chi2.logsf(np.sum(total), max(float(np.sum(freedom)), 1.0)) < limit and not bad.any():
            bad[int(np.argmax(total / np.maximum(freedom, 1)))] = True
    pose_mean, imu_mean = (float(np.sum(t) / max(float(np.sum(f)), 1.0)) for t, f in parts)
    first = int(np.argmax(bad))
    since = float(time[0] + first * STRETCH) if bad.any() else None
    return Fit(pose_mean, imu_mean, 1.0 - float(np.sum(used)) / max(shown, 1), since)
