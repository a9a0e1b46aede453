"""The residual test: quiet on good flights, loud on bad ones; bands by simulation of chi-square numbers."""

import numpy as np

from haltere.estimation.core.consistency import fit_of


def flight(rng, frames=1400, pose=1.0, imu=1.0):
    time = 2.0 + 0.02 * np.arange(frames)
    numbers, seen = np.full(frames, 6), np.ones((frames, 4), bool)
    return time, pose * rng.chisquare(6, frames), numbers, imu * rng.chisquare(6, (frames, 4)), seen


def test_good_flights_raise_nothing() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        fit = fit_of(*flight(rng), 40.0)
        assert not fit.mismatch
        assert 0.9 < fit.pose < 1.1
        assert "fits" in str(fit)


def test_a_little_too_much_everywhere_is_seen() -> None:
    rng = np.random.default_rng(1)
    assert all(fit_of(*flight(rng, imu=1.1), 40.0).mismatch for _ in range(20))
    assert all(fit_of(*flight(rng, pose=1.25), 40.0).mismatch for _ in range(20))


def test_one_bad_stretch_is_dated() -> None:
    rng = np.random.default_rng(2)
    time, pose, numbers, imu, seen = flight(rng)
    pose[(time >= 15.0) & (time < 16.0)] *= 3.0
    fit = fit_of(time, pose, numbers, imu, seen, np.inf)
    assert fit.mismatch
    assert abs(fit.since - 15.0) <= 1.0
    assert "model mismatch from 15" in str(fit) or "model mismatch from 14" in str(fit)


def test_outliers_and_missing_readings_do_not_count() -> None:
    rng = np.random.default_rng(3)
    time, pose, numbers, imu, seen = flight(rng)
    pose[::100] = 1e4
    numbers[5::50], pose[5::50] = 0, 0.0
    seen[::7], imu[::7] = False, 1e9
    fit = fit_of(time, pose, numbers, imu, seen, 40.0)
    assert not fit.mismatch
    assert 0.0 < fit.rejected < 0.02
    pose[::10] = 1e4
    assert fit_of(time, pose, numbers, imu, seen, 40.0).mismatch


def test_a_lost_filter_is_a_mismatch() -> None:
    """A state that is not finite can weigh no reading: the normalised innovations are then zero."""
    time, pose, numbers, imu, seen = flight(np.random.default_rng(4))
    pose[200:], imu[200:] = 0.0, 0.0
    assert fit_of(time, pose, numbers, imu, seen, 40.0).mismatch
