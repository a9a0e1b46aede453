"""WindowSums over windows: means and slopes of straight lines are exact, whatever is missing; stuck sensors show."""

import jax.numpy as jnp
import numpy as np
import pytest

from haltere.estimation.cog.noise import LAGS, NoiseLevels, fit_levels
from haltere.estimation.cog.settings import CogSettings
from haltere.estimation.cog.windows import Extremes, WindowSums

SETTINGS = CogSettings()


def filled(times, values, length=0.2):
    sums = WindowSums.zero(values.shape[1])
    for k, (time, value) in enumerate(zip(times, values, strict=True)):
        dt = time - (times[k - 1] if k else 0.0)
        phase = 2.0 * np.pi * time / length
        fade, rise = (1.0 - np.cos(phase)) * dt, 2.0 * np.pi / length * np.sin(phase) * dt
        age = jnp.full(2, time)
        sums = sums.add(jnp.asarray(True), jnp.asarray(value), jnp.full(2, fade), jnp.full(2, rise), age)
    return sums


@pytest.mark.parametrize("kept", [1.0, 0.5])
def test_slope_of_a_straight_line(kept):
    rng = np.random.default_rng(1)
    times = np.arange(1, 51) * 0.004
    times = times[rng.random(50) < kept] if kept < 1.0 else times
    values = np.column_stack([3.0 + 7.0 * times, np.full_like(times, 2.0)])
    mean, slope, _ = filled(times, values).of(0)
    assert np.asarray(slope) == pytest.approx([7.0, 0.0], abs=1e-9)
    assert float(mean[1]) == pytest.approx(2.0)
    if kept == 1.0:
        assert float(mean[0]) == pytest.approx(3.7, abs=0.01)


def test_an_empty_window_is_finite():
    mean, slope, weight = WindowSums.zero(2).of(1)
    assert np.isfinite(mean).all()
    assert np.isfinite(slope).all()
    assert float(weight) == 0.0


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        (np.random.default_rng(0).standard_normal(50), 0.0, 0.05),
        (np.zeros(50), 1.0, 1.0),
        (np.clip(np.random.default_rng(0).standard_normal(50), -0.1, 0.1), 0.35, 0.6),
        (np.where(np.arange(50) % 2, np.nan, np.arange(50)), 0.03, 0.05),
    ],
)
def test_extremes(values, low, high):
    extremes = Extremes.zero(1)
    for value in values:
        extremes = extremes.add(jnp.asarray([value]))
    assert low <= float(extremes.fraction(0)[0]) <= high


@pytest.mark.parametrize("slow", [3.0, 12.0])
def test_noise_levels_are_those_of_the_series(slow):
    """White noise and two Ornstein-Uhlenbeck processes in NumPy, an hour of windows."""
    rng, n, h = np.random.default_rng(5), 36_000, 0.5 * SETTINGS.window
    true = np.array([1.0, 2.0, 4.0])
    series = np.sqrt(true[0]) * rng.standard_normal(n)
    for variance, memory in ((true[1], SETTINGS.fast), (true[2], slow)):
        keep, x = np.exp(-h / memory), 0.0
        for k, draw in enumerate(rng.standard_normal(n)):
            x = keep * x + np.sqrt((1 - keep**2) * variance) * draw
            series[k] += x
    changes = np.array([np.mean((series[lag:] - series[:-lag]) ** 2) for lag in LAGS])
    changes = jnp.asarray(np.repeat(changes[:, None], 5, axis=1))
    found = np.asarray(fit_levels(SETTINGS, changes, jnp.full(changes.shape, float(n))))
    assert found[:3, 0] == pytest.approx(true, rel=0.35)
    assert found[3, 0] == slow
    assert found[:, 4] == pytest.approx(found[:, 0])


def test_no_variance_is_negative_and_faults_do_not_count():
    levels = NoiseLevels.begin(SETTINGS, jnp.asarray(0.2))
    rng = np.random.default_rng(2)
    for k in range(100):
        row = 1e-3 * rng.standard_normal(5)
        levels = levels.add(SETTINGS, jnp.asarray(np.where(k % 7 == 0, np.nan, row)))
    assert np.all(np.asarray(levels.levels) >= 0.0)
    assert np.sqrt(float(levels.levels[0, 0])) == pytest.approx(1e-3, rel=0.4)
