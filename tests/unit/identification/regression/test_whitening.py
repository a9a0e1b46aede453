"""Integrals, noise made white, and rows of torque in gyro noise and in wandering air."""

import numpy as np
import pytest
from scipy import signal

from haltere.flight.filters import wiener_mix
from haltere.flight.window import _despiked
from haltere.identification.regression.force_law import LowPassed, TorqueSignals
from haltere.identification.regression.regression import INCREMENTS, Whitening, integral, stretches, whitening
from haltere.identification.regression.torque_law import torque_row

RATE, CUTOFF = 200.0, 25.0


def test_integrals_of_cubics_are_exact_within():
    t = np.arange(60) / RATE
    found = integral(4.0 * t**3 - t, RATE)
    truth = t**4 - 0.5 * t**2
    np.testing.assert_allclose(np.diff(found)[1:-1], np.diff(truth)[1:-1], atol=1e-13)


def test_stretches_that_are_too_short_are_left_out():
    good = np.array([1, 1, 1, 0, 1, 0, 1, 1], bool)
    np.testing.assert_array_equal(stretches(good, 2).T, [[1, 1, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1, 1]])


def test_shares_are_found_among_outliers_and_gaps():
    rng = np.random.default_rng(0)
    left = signal.lfilter([1.0], [1.0, -0.5, -0.3], rng.normal(size=8000))
    good = np.ones(8000, bool)
    good[3000:3400] = False
    left[~good] = 1e6
    left[rng.choice(3000, 20)] += 40.0
    np.testing.assert_allclose(whitening(left, good, 2).shares, [0.5, 0.3], atol=0.08)


def test_gain_is_that_of_noise():
    rng = np.random.default_rng(1)
    answer = signal.firwin(31, 0.25)
    white = Whitening(np.array([0.7, -0.2]))
    passed = white.of(np.convolve(rng.normal(size=200_000), answer, mode="valid")[::3])
    assert white.gain(answer, 3) == pytest.approx(np.std(passed), rel=0.02)


def flown(rng, gyro, air, count=2400):
    """Two rotors that turn one axis, T = (2, -1.5), B = (0.03, -0.03), in white gyro noise and torques that wander."""
    t = np.arange(count) / RATE
    tones = 2 * np.pi * np.array([[0.4, 2.3, 4.1], [0.6, 3.1, 5.3]])[:, :, None] * t + rng.uniform(
        0, 6.28, (2, 3, 1)
    )
    speeds = 10.0 + np.sum(np.sin(tones), axis=1).T
    rises = np.gradient(speeds, 1 / RATE, axis=0)
    squares = speeds**2 - np.mean(speeds**2, axis=0)
    wind = air * np.cumsum(rng.normal(size=count)) / np.sqrt(RATE)
    rate = integral(squares @ [2.0, -1.5] + rises @ [0.03, -0.03] + wind, RATE)
    rates = np.stack([0 * t, 0 * t, rate + gyro * rng.normal(size=count)], axis=1)
    rotors = TorqueSignals(squares, rises, integral(squares, RATE), speeds - 10.0)
    none = np.zeros((count, 3))
    return LowPassed(RATE, CUTOFF, t, rates, none, none, squares, None, rotors, None, np.zeros((count, 3, 3)),
                   np.ones(count, bool))  # fmt: skip


@pytest.mark.parametrize(("gyro", "air", "near"), [(0.1, 0.0, 0.0), (1e-3, 3.0, 1.0)])
def test_rows_weigh_as_the_noise_asks(gyro, air, near):
    """Sums of the shares tell which noise prevails; deviations cover, and in noise are below those of increments."""
    away, wide = [], []
    for seed in range(12):
        row = torque_row(flown(np.random.default_rng(seed), gyro, air), 2)
        assert row.whitening.shares.sum() == pytest.approx(near, abs=0.3)
        away.append((row.value[:4] - [2.0, -1.5, 0.03, -0.03]) / row.sigma[:4])
        wide.append(row.sigma[0])
    assert 0.3 < np.mean(np.square(away)) < 1.6
    if air == 0.0:
        bare = flown(np.random.default_rng(0), gyro, air)
        step = int(RATE / (2 * CUTOFF))
        X = np.concatenate([bare.torque_signals.swept, bare.torque_signals.speeds], axis=1)[::step]
        X = INCREMENTS.of(X)
        noise = gyro * np.sqrt(2.0 * np.linalg.inv(X.T @ X)[0, 0])
        assert np.median(wide) < 0.5 * noise


def test_readings_and_model_are_mixed_by_frequency():
    """A model that is off slowly, readings that are noisy: the mixture is better than both."""
    rng = np.random.default_rng(2)
    t = np.arange(3000) / RATE
    truth = np.stack([30.0 * np.sin(2 * np.pi * f * t) for f in (1.3, 4.7)], axis=1)
    made = truth + 3.0 * np.sin(2 * np.pi * 0.5 * t)[:, None]
    measured = truth + 3.0 * rng.normal(size=truth.shape)
    off = [np.std(x - truth) for x in (wiener_mix(measured, made, RATE), measured, made)]
    assert off[0] < 0.5 * min(off[1:])
    wrong = truth + signal.lfilter([1.0], [1.0, -0.9], 4.0 * rng.normal(size=truth.shape), axis=0)
    assert np.std(wiener_mix(measured, wrong, RATE) - truth) < 1.05 * np.std(measured - truth)


def test_spikes_go_and_noise_stays_white():
    rng = np.random.default_rng(3)
    values = 500.0 + 3.0 * rng.normal(size=(4000, 2))
    spiked = values.copy()
    spiked[100::200, 0] += 300.0
    found = _despiked(spiked)
    assert np.max(np.abs(found - 500.0)) < 18.0
    assert np.mean(found == values) > 0.98
