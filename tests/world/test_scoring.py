"""The scorer against synthetic estimators whose honesty is known, and each of its rules by hand."""

from dataclasses import fields, replace
from math import inf, nan

import numpy as np
import pytest
from scipy import stats
from tests.world import scoring
from tests.world.attempts import Attempt, Claim, Columns
from tests.world.scoring import markdown, score

TRIALS = 100
FLIGHTS = 100
VEHICLES = np.array(["coaxial", "hexarotor", "quadrotor", "tilted"])
#: Group, numbers of it in a flight for four rotors and for six, correlation of their errors.
GROUPS = (
    ("mass", 1, 1, 0.0),
    ("com", 3, 3, 0.3),
    ("inertia", 6, 6, 0.3),
    ("thrust coefficient", 4, 6, 0.95),
    ("rotor position", 12, 18, 0.2),
    ("torque ratio", 4, 6, 0.6),
)


def flights(rng, factor=1.0, levels=("ideal", "realistic"), shared=0.15, dof=inf, estimator="synthetic"):
    """Claims of an estimator that states `factor` times the sigma of its errors.

    The errors of a flight have a part in common, those of a group in a flight another one; `dof` makes the sigma
    that it knows an estimate, from which honest t-intervals are made.
    """
    vehicle = np.tile(np.arange(len(VEHICLES)), FLIGHTS // len(VEHICLES) * len(levels))
    level = np.repeat(levels, FLIGHTS)
    attempt, group, error = [], [], []
    common = rng.normal(size=len(vehicle))
    known = np.sqrt(rng.chisquare(dof, len(vehicle)) / dof) if np.isfinite(dof) else np.ones(len(vehicle))
    for name, four, six, own in GROUPS:
        count = np.where(VEHICLES[vehicle] == "hexarotor", six, four)
        index = np.repeat(np.arange(len(vehicle)), count)
        together = rng.normal(size=len(vehicle))
        single = np.sqrt(1.0 - shared - own * (1.0 - shared)) * rng.normal(size=len(index))
        error.append(
            np.sqrt(shared) * common[index] + np.sqrt(own * (1.0 - shared)) * together[index] + single
        )
        attempt.append(index)
        group.append(np.full(len(index), name))
    attempt, group, error = (np.concatenate(a) for a in (attempt, group, error))
    sigma = np.exp(rng.normal(-3.0, 0.5, len(error)))
    truth = rng.normal(1.0, 0.2, len(error))
    value = truth + sigma * error
    reach = stats.t.isf(0.025, dof) if np.isfinite(dof) else scoring.NORMAL
    half = reach * factor * sigma * known[attempt]
    return Columns(
        np.full(len(vehicle), estimator),
        level,
        VEHICLES[vehicle],
        np.full(len(vehicle), ""),
        np.zeros(len(vehicle), bool),
        np.full(len(vehicle), 0.1),
        attempt,
        group,
        np.ones(len(error), bool),
        value,
        value - half,
        value + half,
        truth,
        truth,
        np.full(len(error), nan),
        np.full(len(error), dof),
    )


def passes(factor, seed, trials=TRIALS, **options):
    """How many of the trials pass."""
    return sum(
        score(flights(np.random.default_rng([seed, k]), factor, **options)).passed for k in range(trials)
    )


@pytest.mark.parametrize("dof", [inf, 8.0])
def test_an_honest_estimator_passes(dof):
    assert passes(1.0, 1, dof=dof) >= 97


@pytest.mark.parametrize("shared", [0.0, 0.5])
def test_an_honest_estimator_passes_whatever_the_errors_of_a_flight_share(shared):
    assert passes(1.0, 2, trials=30, shared=shared, levels=scoring.LEVELS) >= 29


@pytest.mark.parametrize("factor", [0.7, 2.0])
def test_an_estimator_with_wrong_sigmas_fails(factor):
    assert passes(factor, 3) <= 3


@pytest.mark.parametrize("factor", [0.7, 2.0])
def test_wrong_sigmas_are_found_where_a_flight_shares_half_of_its_errors(factor):
    assert passes(factor, 4, trials=30, shared=0.5, levels=("realistic",)) <= 1


def test_wide_sigmas_are_no_failure_in_the_nasty_world():
    assert passes(2.0, 5, trials=10, levels=("nasty",)) == 10
    assert passes(0.7, 5, trials=10, levels=("nasty",)) == 0
    assert passes(4.0, 5, trials=10, levels=("nasty",)) == 0


def test_one_bad_group_of_one_vehicle_is_found():
    c = flights(np.random.default_rng(6), levels=("realistic",))
    bad = (c.group == "com") & (c.vehicle[c.attempt] == "tilted")
    middle, half = 0.5 * (c.low + c.high), 0.5 * (c.high - c.low) * np.where(bad, 0.5, 1.0)
    failures = score(replace(c, low=middle - half, high=middle + half)).failures
    assert any("com, tilted" in sentence for sentence in failures)
    assert not any("quadrotor" in sentence for sentence in failures)


def test_the_honest_distribution_is_the_convolution_of_beta_binomials():
    rho, rng = 0.3, np.random.default_rng(7)
    a, b = 0.05 * (1 - rho) / rho, 0.95 * (1 - rho) / rho
    assert scoring._distribution(((6, 1),), rho) == pytest.approx(
        stats.betabinom(6, a, b).pmf(range(7)), abs=1e-12
    )
    assert scoring._distribution(((1, 40),), 0.0) == pytest.approx(
        stats.binom(40, 0.05).pmf(range(41)), abs=1e-12
    )
    draws = stats.betabinom(4, a, b).rvs((20_000, 10), random_state=rng).sum(1)
    draws += stats.betabinom(6, a, b).rvs((20_000, 5), random_state=rng).sum(1)
    exact = scoring._distribution(((4, 10), (6, 5)), rho)
    assert np.bincount(draws, minlength=71) / 20_000 == pytest.approx(exact, abs=0.015)


def test_the_correlation_is_that_of_the_misses():
    rng = np.random.default_rng(8)
    rho, size = 0.25, 6
    p = rng.beta(0.05 * (1 - rho) / rho, 0.95 * (1 - rho) / rho, 20_000)
    miss = (rng.random((20_000, size)) < p[:, None]).ravel()
    flight, group = np.repeat(np.arange(20_000), size), np.zeros(miss.size, int)
    assert scoring._pair_correlation(miss, group, flight) == pytest.approx(rho, abs=0.02)
    assert scoring._pair_correlation(rng.permutation(miss), group, flight) == pytest.approx(0.0, abs=0.01)


def claim(value=1.0, half=0.196, truth=1.0, verdict="identified", interval=None, **more):
    around = (None, None) if value is None else (value - half, value + half)
    return Claim("mass", "mass", value, interval or around, verdict, truth, **more)


def attempts(*claims, level="realistic", flights_=1, **more):
    return [
        Attempt("filter", level, "quadrotor", str(k), claims, seconds=0.5, **more) for k in range(flights_)
    ]


@pytest.mark.parametrize(
    ("claimed", "holds", "ratio"),
    [
        (claim(1.1), True, 1.0),
        (claim(1.3), False, 3.0),
        (claim(1.3, truth=(0.8, 1.2)), True, nan),
        (claim(1.5, truth=(0.8, 1.2)), False, nan),
        (claim(1.0, truth=(0.8, 1.2)), True, nan),
        (claim(1.0, half=0.0, truth=1.1), False, inf),
        (claim(1.0, half=0.0), True, 0.0),
        (claim(1.0, interval=(0.9, None)), True, nan),
        (claim(1.0, interval=(1.05, None)), False, nan),
        (claim(1.0, interval=(None, 0.95)), False, nan),
        (claim(nan), False, nan),
        (claim(None), False, nan),
        (claim(1.0, interval=(nan, 1.2)), False, nan),
    ],
)
def test_intervals_hold_numbers_and_touch_ranges(claimed, holds, ratio):
    row, _ = score(attempts(claimed)).vehicles
    assert (row.claimed, row.held) == (1, float(holds))
    assert row.rms == pytest.approx(ratio, nan_ok=True)


def test_error_counts_from_the_nearest_end_of_a_range():
    row, _ = score(attempts(claim(1.5, truth=(0.8, 1.2)))).vehicles
    assert row.median_error == pytest.approx(0.3 / 1.2)
    row, _ = score(attempts(claim(1.5, truth=(0.8, 1.2), scale=3.0))).vehicles
    assert row.median_error == pytest.approx(0.1)


@pytest.mark.parametrize("claimed", [claim(nan), claim(None), claim(interval=(0.9, None))])
def test_what_is_identified_has_a_value_and_a_closed_interval(claimed):
    assert any("closed interval" in sentence for sentence in score(attempts(claimed)).failures)


def test_only_what_is_identified_is_scored_and_empty_groups_are_listed():
    result = score(attempts(claim(9.0, verdict="weak"), claim(None, verdict="unobservable")))
    assert result.vehicles[0].claimed == 0
    assert result.failures == ()
    assert result.empty == ("filter, realistic, mass",)
    assert not result.passed
    assert any("no number is identified" in sentence for sentence in result.undecided)


def test_few_flights_decide_nothing():
    result = score(attempts(claim(), flights_=99))
    assert result.undecided == ("filter, realistic: 99 flights; 100 are needed",)


@pytest.mark.parametrize(
    ("errors", "fails"), [((), False), ((5.5,), False), ((5.5, 5.5), True), ((8.5,), True)]
)
def test_tails_are_counted(errors, fails):
    rng = np.random.default_rng(9)
    draws = np.clip(rng.normal(size=400), -3.0, 3.0)
    draws[: len(errors)] = errors
    every = [
        replace(a, claims=(claim(1.0 + 0.1 * z),)) for a, z in zip(attempts(flights_=400), draws, strict=True)
    ]
    assert bool(score(every).failures) is fails


def test_tails_of_a_t_interval_lie_farther_out():
    half = float(stats.t.isf(0.025, 4)) * 0.1
    sigma = half / scoring.NORMAL
    for ratio, dof, counts in [
        (6.0, 4.0, (0, 0)),
        (6.0, None, (1, 0)),
        (30.0, 4.0, (1, 0)),
        (99.0, 4.0, (1, 1)),
    ]:
        row, _ = score(attempts(claim(1.0 + ratio * sigma, half, dof=dof))).vehicles
        assert (row.beyond_5, row.beyond_8) == counts


@pytest.mark.parametrize(
    ("level", "refused", "fails"),
    [("realistic", 5, False), ("realistic", 6, True), ("nasty", 50, False), ("nasty", 51, True)],
)
def test_refusals_are_limited_per_vehicle(level, refused, fails):
    every = attempts(claim(), level=level, flights_=100)
    every = [replace(a, claims=(), refusal="too short") for a in every[:refused]] + every[refused:]
    result = score(every)
    assert any("refused" in sentence for sentence in result.failures) is fails
    assert result.vehicles[0].refused == refused


def test_ranges_have_no_upper_limit():
    every = attempts(*(claim(1.0, truth=(0.9, 1.1)) for _ in range(4)), flights_=100)
    assert score(every).passed
    assert not score([replace(a, claims=(claim(),) * 4) for a in every]).passed


def test_single_effects_have_a_table_of_their_own_and_are_not_judged():
    result = score(attempts(claim(5.0), flights_=24, effect="wind"))
    assert result.failures == result.undecided == result.vehicles == ()
    (row,) = result.effects
    assert (row.name, row.flights, row.held, row.beyond_8) == ("wind", 24, 0.0, 24)


def test_a_flight_is_scored_once():
    with pytest.raises(ValueError, match="scored twice"):
        score(attempts(claim()) * 2)


@pytest.mark.parametrize("truth", [nan, (1.0, nan), (2.0, 1.0), (-inf, 0.0)])
def test_truth_is_a_number_or_a_range(truth):
    with pytest.raises(ValueError, match="give a number or a range"):
        score(attempts(claim(truth=truth)))


def test_levels_are_known():
    with pytest.raises(ValueError, match="expected ideal, realistic, nasty"):
        score(attempts(claim(), level="mild"))


def test_tables_are_markdown_with_a_dash_for_nothing():
    rows = score([*attempts(claim(1.1), flights_=2), replace(attempts()[0], vehicle="empty")]).vehicles
    lines = markdown(rows, "vehicle").splitlines()
    assert lines[0].startswith("| estimator | level | vehicle | flights |")
    assert lines[1].count("---") == lines[0].count("|") - 1
    assert lines[2] == "| filter | realistic | empty | 1 | 0 | 0 | - | - | - | 0, 0 | 0.5 |"
    assert lines[3] == "| filter | realistic | quadrotor | 2 | 0 | 2 | 100.0 | 1 | 10 | 0, 0 | 0.5 |"
    assert lines[4].startswith("| filter | realistic | all | 3 |")


def test_a_result_cannot_be_changed():
    result = score(attempts(claim()))
    assert {f.name for f in fields(result)} >= {"failures", "undecided", "empty", "vehicles", "effects"}
    with pytest.raises(AttributeError):
        result.failures = ()
