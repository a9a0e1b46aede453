"""Does the batch smoother tell the truth about its own uncertainty? Seeded Monte Carlo, two-sided bands.

The default form flies few and short flights; `make test-slow` has the full ones, whose figures stand in
`docs/results.md`. Figures that are beyond the vehicle's limits are flown slower here, as a pilot would; those of
`haltere reproduce boehm` are not.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.estimation.core.consistency import mean_band, nees
from haltere.papers.boehm.flights import Conditions, fly, ring, tilted
from haltere.papers.boehm.paper_series import estimate_by_paper_filter
from haltere.papers.boehm.prior import paper_hand_measurements
from haltere.papers.boehm.series import estimate

HUMMINGBIRD = from_catalogue("hummingbird")
HANDS = paper_hand_measurements(tuple(rotor.name for rotor in HUMMINGBIRD.rotors))
SHORT = Conditions(duration=8.0, gentle=True)
LONG = Conditions(gentle=True)
FLIGHTS = 4


def test_band_is_two_sided_and_holds_what_it_should() -> None:
    rng = np.random.default_rng(3)
    band = mean_band(65, 30)
    means = rng.chisquare(65, size=(20000, 30)).mean(axis=1)
    outside = np.mean((means < band.low) | (means > band.high))
    assert 0.0003 < outside < 0.002


def test_nees_is_the_mahalanobis_distance() -> None:
    root = np.random.default_rng(0).normal(size=(5, 5)) * [1.0, 1e-6, 1e3, 1.0, 1e-3]
    cov, error = root.T @ root, root.T @ np.ones(5)
    np.testing.assert_allclose(nees(jnp.asarray(error), jnp.asarray(cov)), 5.0, rtol=1e-6)


def test_short_flights_are_consistent_from_ten_percent_off() -> None:
    series = estimate(HUMMINGBIRD, range(40, 40 + FLIGHTS), HANDS, SHORT)
    o = series.outcome
    assert series.states == 47
    assert float(np.mean(o.nees)) in mean_band(47, FLIGHTS)
    assert float(np.max(o.worst)) < 5.0
    assert 0.7 < series.ratio < 1.3
    # no flight shows a common factor of mass and thrust, of inertia and arms, or a rotor slid along its axis
    np.testing.assert_allclose(o.information, 0.0, atol=1e-6)
    np.testing.assert_allclose(o.sigma / series.bound.numbers, 1.0, atol=0.3)


def without(*parts: str) -> dict[str, float]:
    """The paper's hand measurements without those whose names have one of these parts."""
    return {name: sigma for name, sigma in HANDS.items() if not any(part in name for part in parts)}


@pytest.mark.slow
def test_flights_of_30_s_are_consistent_and_reach_the_bound() -> None:
    series = estimate(HUMMINGBIRD, range(2000, 2030), HANDS, LONG)
    assert float(np.mean(series.outcome.nees)) in mean_band(47, 30)
    assert float(np.max(series.outcome.worst)) < 5.0
    assert series.ratio < 1.1
    np.testing.assert_allclose(series.outcome.information, 0.0, atol=1e-6)


@pytest.mark.slow
def test_the_paper_filter_is_not_consistent_on_the_same_flights() -> None:
    """Its null directions move with its mean, which becomes information that no flight gives."""
    recording = fly(HUMMINGBIRD, range(2000, 2010), LONG)
    ours = estimate(HUMMINGBIRD, range(2000, 2010), HANDS, LONG, recording)
    theirs = estimate_by_paper_filter(HUMMINGBIRD, range(2000, 2010), HANDS, LONG, recording, ours.bound)
    assert float(np.mean(theirs.outcome.nees)) > mean_band(65, 10).high
    assert float(np.max(theirs.outcome.information)) > 0.05
    assert float(np.max(ours.outcome.information)) < 1e-6
    assert theirs.ratio > ours.ratio


@pytest.mark.slow
@pytest.mark.parametrize("missing", [("mass",), ("position.z", "distance"), ("azimuth",)])
def test_what_was_not_measured_stays_unknown(missing) -> None:
    """[Boehm2022] Figs. 4 and 5: no information along directions that no flight shows."""
    series = estimate(HUMMINGBIRD, range(500, 510), without(*missing), LONG)
    assert float(np.mean(series.outcome.nees)) in mean_band(47, 10)
    np.testing.assert_allclose(series.outcome.information, 0.0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("airframe", "runs"), [(tilted(), 10), (ring(6), 5), (ring(8), 5)], ids=["tilted", "6", "8"]
)
def test_other_vehicles_are_consistent(airframe, runs) -> None:
    hands = paper_hand_measurements(tuple(rotor.name for rotor in airframe.rotors))
    series = estimate(airframe, range(500, 500 + runs), hands, LONG)
    assert float(np.mean(series.outcome.nees)) in mean_band(series.states, runs)
    assert series.ratio < 1.2


@pytest.mark.slow
def test_full_model_is_consistent_on_flights_without_wind() -> None:
    """It estimates the air, delays, disturbances and the centre of mass besides; there are none of the first three."""
    series = estimate(HUMMINGBIRD, range(2000, 2030), HANDS, LONG, model="full")
    assert series.states == 53
    assert float(np.mean(series.outcome.nees)) in mean_band(53, 30)
    assert 0.8 < series.over_sigma < 1.2


@pytest.mark.slow
def test_lag_outliers_outage_and_delay_are_borne() -> None:
    conditions = Conditions(
        lag=True, substeps=5, outliers=0.01, outage=(10.0, 12.0), pose_delay=1, gentle=True
    )
    series = estimate(HUMMINGBIRD, range(500, 510), HANDS, conditions)
    assert float(np.mean(series.outcome.nees)) in mean_band(47, 10)
