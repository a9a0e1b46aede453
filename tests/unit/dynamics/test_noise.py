"""Noise and bias walk have the densities asked for, within the bounds of their statistics."""

import jax
import numpy as np
import pytest
import scipy.signal
import scipy.stats

from haltere.dynamics.sensors.noise import sample_sigma, walk, white
from haltere.simulation.gusts import Gusts

RATE = 200.0
SAMPLES = 400_000


def allan_variance(values: np.ndarray, group: int) -> tuple[float, int]:
    """Allan variance of non-overlapping means of `group` samples, and its degrees of freedom."""
    means = values[: len(values) // group * group].reshape(-1, group).mean(axis=1)
    steps = np.diff(means)[::2]
    return float(0.5 * np.mean(steps**2)), len(steps)


@pytest.mark.parametrize("group", [1, 20, 400])
def test_white_noise_falls_with_averaging(group: int) -> None:
    density = 2e-3
    noise = np.asarray(white(jax.random.key(3), SAMPLES, 1, sample_sigma(None, density, RATE)))[:, 0]
    found, freedom = allan_variance(noise, group)
    low, high = scipy.stats.chi2.interval(0.999, freedom)
    assert low < freedom * found / (density**2 * RATE / group) < high


@pytest.mark.parametrize("group", [200, 2000])
def test_bias_walk_grows(group: int) -> None:
    """Allan variance of a walk K is K^2 tau / 3 (times a factor that tends to 1 with the number averaged)."""
    density = 1e-3
    drift = np.asarray(walk(jax.random.key(4), SAMPLES, 1, density, RATE, np.zeros(1)))[:, 0]
    found, freedom = allan_variance(drift, group)
    expected = density**2 * (group / RATE) / 3.0 * (1.0 + 0.5 / group**2)
    low, high = scipy.stats.chi2.interval(0.999, freedom)
    assert low < freedom * found / expected < high


def test_walk_starts_where_it_is_told() -> None:
    drift = walk(jax.random.key(0), 10, 3, 1.0, RATE, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(drift[0], [1.0, 2.0, 3.0])


def test_stated_deviation_counts() -> None:
    assert sample_sigma(0.3, None, RATE) == 0.3
    assert sample_sigma(None, 0.1, 100.0) == pytest.approx(1.0)
    assert sample_sigma(None, None, RATE) == 0.0


def test_gusts_have_their_variance_and_spectrum() -> None:
    """Standard deviation, and the power at one frequency against the Dryden formula."""
    gusts = Gusts((1.0, 0.8, 0.5), (20.0, 20.0, 5.0), 5.0)
    dt, samples = 0.05, 400_000
    series = np.asarray(gusts.series(jax.random.key(1), samples, dt))
    np.testing.assert_allclose(series.std(axis=0), gusts.sigma, rtol=0.04)
    frequency, power = scipy.signal.welch(series[:, 1], 1.0 / dt, nperseg=8192)
    near = (frequency > 0.05) & (frequency < 0.5)
    w, T = 2.0 * np.pi * frequency[near], 20.0 / 5.0
    dryden = 2.0 * 0.8**2 * T * (1.0 + 3.0 * (T * w) ** 2) / (1.0 + (T * w) ** 2) ** 2
    assert np.mean(power[near] / dryden) == pytest.approx(1.0, abs=0.05)
