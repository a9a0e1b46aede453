"""Noise levels: what the rule leaves as it is, how far it goes, and that it finds variances."""

import numpy as np
import pytest
from tests.unit.estimation.vehicle.quadrotor import nominal_vehicle

from haltere.estimation.vehicle.levels import (
    BANDWIDTH_STEP,
    BOLDEST,
    IS_BANDWIDTH,
    KINDS,
    NAMES,
    WIDEST,
    better_levels,
    first_levels,
    unpack,
)
from haltere.estimation.vehicle.motion import NODE

N = len(NAMES)


@pytest.fixture(scope="module")
def first():
    return first_levels(nominal_vehicle())


def test_names_are_unique_and_first_levels_finite(first):
    assert len(set(NAMES)) == N == len(first) == 19
    assert np.isfinite(first).all()
    assert [name for name, own in zip(NAMES, IS_BANDWIDTH, strict=True) if own] == [
        f"{kind}_bandwidth" for kind in KINDS
    ]


def test_where_squares_are_as_expected_nothing_changes(first):
    """The fixed point of (1): r^2 = N for deviations, no slope for bandwidths."""
    sums = np.random.default_rng(0).uniform(0.1, 1e4, N)
    squares = np.where(IS_BANDWIDTH, 0.0, sums)
    levels = first + 0.3
    np.testing.assert_allclose(better_levels(levels, first, squares, sums), levels, atol=1e-12)


def test_a_deviation_follows_the_root_of_the_ratio(first):
    squares = np.where(IS_BANDWIDTH, 0.0, 4.0)
    moved = better_levels(first, first, squares, np.ones(N)) - first
    np.testing.assert_allclose(moved, np.where(IS_BANDWIDTH, 0.0, np.log(2.0)))


def test_the_rule_finds_the_variance_of_readings(first):
    """Of white readings y with variance s the adjoint is y / s and its precision 1 / s: once is enough."""
    y = 0.37 * np.random.default_rng(1).normal(size=1000)
    levels = first
    for _ in range(6):
        variance = np.exp(2.0 * levels)
        squares, precisions = np.sum(y**2) / variance, len(y) * np.ones(N)
        levels = better_levels(levels, first, np.where(IS_BANDWIDTH, 0.0, squares), precisions)
    found = np.exp(levels[[NAMES.index(name) for name in ("gyro", "accel", "rotor")]])
    np.testing.assert_allclose(found, np.sqrt(np.mean(y**2)), rtol=1e-9)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_steps_and_levels_are_bounded(first, sign):
    """Whatever the sums are: also none at all, and far too many."""
    squares = np.where(IS_BANDWIDTH, sign * 1e30, 1e30 if sign > 0.0 else 0.0)
    precisions = np.full(N, 1.0)
    levels = first
    for _ in range(20):
        after = better_levels(levels, first, squares, precisions)
        longest = np.where(IS_BANDWIDTH, BANDWIDTH_STEP, BOLDEST)
        assert np.all(np.abs(after - levels) <= longest + 1e-12)
        levels = after
    np.testing.assert_allclose(levels - first, sign * WIDEST)


def test_without_readings_levels_stay(first):
    np.testing.assert_array_equal(better_levels(first, first, np.zeros(N), np.zeros(N)), first)


def test_levels_go_to_their_axes():
    level = {name: 1.0 + k for k, name in enumerate(NAMES)}
    found = unpack(np.log(list(level.values())))
    np.testing.assert_allclose(
        found.readings[::3], [level[n] for n in ("gyro", "accel", "position", "rotation")]
    )
    for k, kind in enumerate(KINDS):
        wanted = [level[f"{kind}_xy"], level[f"{kind}_xy"], level[f"{kind}_z"]]
        np.testing.assert_allclose(found.disturbance[3 * k : 3 * k + 3], wanted)
        np.testing.assert_allclose(
            found.decay[3 * k : 3 * k + 3], np.exp(-NODE * level[f"{kind}_bandwidth"]), rtol=1e-12
        )
    assert float(found.rotor) == pytest.approx(level["rotor"])
    assert float(found.accel_walk) == pytest.approx(level["accel_walk"])
    assert float(found.gyro_walk) == pytest.approx(level["gyro_walk"])
