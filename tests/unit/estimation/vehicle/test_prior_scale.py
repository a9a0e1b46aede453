"""How far a vehicle is from its drawing, told by its flight."""

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.estimation.vehicle.quadrotor import nominal_vehicle

from haltere.estimation.vehicle.prior_scale import LARGEST_PRIOR_SCALE, SCALED, change_prior_scale

PRECISION = 400.0
"""Of what the made flights tell of each coordinate; that of the prior is 1."""


def found_scale(drawn, seeds=200):
    """Mean factors of vehicles whose coordinates deviate by `drawn` times what is stated."""
    nominal = nominal_vehicle()
    n = nominal.layout.size
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        true = drawn * rng.normal(size=n)
        read = true + rng.normal(size=n) / np.sqrt(PRECISION)
        z = PRECISION * read / (PRECISION + 1.0)
        _, scale = change_prior_scale(nominal, z, np.eye(n) / (PRECISION + 1.0), dict.fromkeys(SCALED, 1.0))
        found.append([scale[name] for name in SCALED])
    return np.mean(found, axis=0)


@pytest.mark.parametrize("drawn", [0.5, 1.0, 2.0])
def test_the_factor_is_near_that_of_the_vehicles(drawn):
    scale = found_scale(drawn)
    assert np.all(
        np.abs(np.log(scale) - np.log(drawn)) < 0.4
    )  # the fewer coordinates, the more it is held to 1
    assert np.all((scale - 1.0) * (drawn - 1.0) >= 0.0)


def test_a_flight_that_tells_nothing_changes_nothing():
    nominal = nominal_vehicle()
    n = nominal.layout.size
    ratio, scale = change_prior_scale(nominal, np.zeros(n), np.eye(n), dict.fromkeys(SCALED, 1.0))
    np.testing.assert_allclose(ratio, 1.0, atol=1e-12)
    assert set(scale.values()) == {1.0}


def test_the_factor_has_a_bound():
    nominal = nominal_vehicle()
    n = nominal.layout.size
    cov = np.eye(n) / (PRECISION + 1.0)
    ratio, scale = change_prior_scale(nominal, np.full(n, 50.0), cov, dict.fromkeys(SCALED, 1.0))
    assert max(scale.values()) == pytest.approx(LARGEST_PRIOR_SCALE)
    assert ratio.max() == pytest.approx(LARGEST_PRIOR_SCALE)


def test_what_was_measured_by_hand_keeps_its_deviation():
    nominal = nominal_vehicle()
    n = nominal.layout.size
    moments = nominal.layout.slices["moment"]
    by_hand = np.zeros(n)
    by_hand[moments] = 1.0
    cov = np.eye(n) / (PRECISION + 1.0)
    nominal = replace(nominal, measured=by_hand)
    ratio, _ = change_prior_scale(nominal, np.full(n, 3.0), cov, dict.fromkeys(SCALED, 1.0))
    np.testing.assert_array_equal(ratio[moments], 1.0)
    assert np.all(ratio[nominal.layout.slices["thrust"]] > 1.5)
    np.testing.assert_array_equal(ratio[nominal.layout.slices["wind"]], 1.0)
