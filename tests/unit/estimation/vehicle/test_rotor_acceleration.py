"""How noisy rotor speeds rise: against what made them."""

import numpy as np

from haltere.estimation.vehicle.rotor_acceleration import smooth_differences

STEP = 5e-3


def speeds(noise, seed=0):
    """Three rotors whose motors follow tones with a lag, and readings of them."""
    rng = np.random.default_rng(seed)
    t = np.arange(2400) * STEP
    tones = [
        sum(40.0 * np.sin(2 * np.pi * f * t + rng.uniform(0, 6)) for f in rng.uniform(0.5, 9, 4))
        for _ in range(3)
    ]
    true = 450.0 + np.stack(tones, axis=1)
    return true, true + noise * rng.normal(size=true.shape)


def test_noise_is_taken_off_and_what_is_left_is_told():
    """The slope is several times nearer than plain differences, and as far off as stated."""
    for seed in range(5):
        true, seen = speeds(np.pi, seed)
        found, sigma = smooth_differences(seen)
        error = np.std(found - np.diff(true, axis=0))
        assert error < 0.25 * np.std(np.diff(seen, axis=0) - np.diff(true, axis=0))
        assert 0.6 < sigma / error < 1.6


def test_readings_without_noise_keep_their_slope():
    true, seen = speeds(0.0)
    found, sigma = smooth_differences(seen)
    slope = np.diff(true, axis=0)
    assert np.std(found - slope) < 1e-3 * np.std(slope)
    assert sigma < 1e-3 * np.std(slope)


def test_a_few_samples_are_taken_as_they_are():
    few = np.arange(12.0).reshape(6, 2) ** 2
    found, sigma = smooth_differences(few)
    np.testing.assert_array_equal(found, np.diff(few, axis=0))
    assert sigma == 0.0
