"""Fresk et al. 2017: the step, the sweep, weak rotors, faults.

Closed loops take a minute to compile and are slow tests; the filters alone are in tests/unit/estimation.
"""

import jax
import numpy as np
import pytest
from scipy.stats import chi2

from haltere.estimation.cog.settings import Reason
from haltere.papers.fresk import experiments, fit, tables, vehicles
from haltere.papers.fresk.experiments import (
    AFTER,
    BEFORE,
    DROP,
    PRODUCTS,
    evaluate_step,
    keys,
    step_case,
    step_loop,
)
from haltere.papers.fresk.loop import RATE, CogSource, fly_cases

NOISY, QUIET, FAULTY = 12, 6, 3


def test_table_two():
    assert list(BEFORE) == pytest.approx([0.0221, -0.00975, 0.0], abs=6e-5)
    assert list(AFTER) == pytest.approx([0.0111, -0.00509, 0.0], abs=6e-5)
    assert (BEFORE - AFTER)[:2] == pytest.approx([0.0109, -0.00466], abs=6e-5)


@pytest.fixture(scope="module")
def flown():
    groups = {
        "noisy": [step_case(k) for k in keys(0, NOISY)],
        "quiet": [step_case(k, noise=0.0) for k in keys(0, QUIET, 1)],
        "drift": [step_case(k, CogSource.NOTHING, 0.0, p) for p in PRODUCTS for k in keys(0, 1, 3)],
        "reference": [step_case(k, CogSource.REFERENCE, 0.0) for k in keys(0, 1, 4)],
        "faults": [step_case(k, faults=tables.FAULTS) for k in keys(0, FAULTY, 5)],
    }
    log = fly_cases(step_loop(), [case for group in groups.values() for case in group])
    return tables.split(log, {name: len(group) for name, group in groups.items()})


@pytest.mark.slow
def test_the_papers_filter_is_as_slow_as_the_paper_says(flown):
    quiet = evaluate_step(flown["quiet"].paper)
    assert 1.1 < quiet.rise_time < 1.5
    assert np.all(quiet.rms < 3e-4)
    noisy = evaluate_step(flown["noisy"].paper)
    assert np.all((noisy.rms > 4e-4) & (noisy.rms < 1.1e-3))


@pytest.mark.slow
def test_ours_is_faster_and_quieter(flown):
    noisy, quiet = evaluate_step(flown["noisy"].offset), evaluate_step(flown["quiet"].offset)
    assert 0.02 < noisy.rise_time < 0.6
    assert 0.02 < quiet.rise_time < 0.6
    assert np.all((noisy.rms > 1.5e-4) & (noisy.rms < 8e-4))
    assert np.all(quiet.rms < 3e-4)


@pytest.mark.slow
def test_the_drift_without_compensation_follows_the_law(flown):
    for i, product in enumerate(PRODUCTS):
        one = jax.tree.map(lambda x, i=i: x[i : i + 1], flown["drift"])
        got = experiments.settled_drift(one)
        assert np.abs(got) == pytest.approx(experiments.drift(product), rel=0.06)
    assert experiments.drift(67.0) == pytest.approx([0.27, 0.12], abs=0.01)


@pytest.mark.slow
def test_with_compensation_the_vehicle_is_back_within_a_centimetre(flown):
    late = round((DROP + 5.0) * RATE)
    quiet = flown["quiet"].position[:, late:] - experiments.HOVER
    assert np.abs(quiet[..., :2]).max() < 0.01
    assert np.sqrt(np.mean(quiet[..., 2] ** 2)) < 0.01  # the accelerometer's noise is in the estimated mass
    assert np.abs(flown["noisy"].position[:, late:].mean(axis=(0, 1)) - experiments.HOVER).max() < 0.01


@pytest.mark.slow
def test_the_ground_truth_estimator_finds_the_centre_slowly(flown):
    offset = flown["reference"].reference[0]
    assert np.linalg.norm((offset[-1] - AFTER)[:2]) < 5e-4
    assert np.linalg.norm((offset[round((DROP + 1.6) * RATE)] - AFTER)[:2]) > 2e-3


@pytest.mark.slow
def test_faults_do_not_end_the_flight(flown):
    log = flown["faults"]
    assert np.isfinite(log.offset).all()
    assert np.isfinite(log.position).all()
    late = round((DROP + 1.0) * RATE)
    assert np.abs(log.position[:, late:, :2]).max() < 0.2
    counts = log.counts[:, -1]
    assert np.all(counts[:, Reason.SPEED_MISSING] == 44)
    assert np.all(counts[:, Reason.GYRO_MISSING] == 1)
    assert np.all(counts[:, Reason.ACCEL_OUTLIER] >= 1)


@pytest.mark.slow
def test_z_is_not_called_observable_at_hover(flown):
    assert not flown["noisy"].along.any()
    assert not flown["quiet"].along.any()


def test_table_one_tells_only_combinations():
    _, a, b = fit.patterns()
    assert np.linalg.matrix_rank(np.column_stack([a[:, 2], b[:, 2]]), tol=1e-9) == 1
    fitted, true = fit.fit_table_one(fit.excitation(0)), fit.effective(fit.true_table())
    for name, value in fitted.value.items():
        assert abs(value - true[name]) < 4.0 * fitted.sigma[name], name
        assert fitted.sigma[name] < 0.1 * abs(value), name


def test_the_fit_of_21_is_exact_on_exact_places():
    angles = np.linspace(experiments.MIDDLE - experiments.SWING, experiments.MIDDLE + experiments.SWING, 2)
    alpha, beta = experiments.fit_21(angles, experiments.true_com(angles)[:, 0])
    assert alpha == pytest.approx(0.25 * 0.247 / 3.103)
    assert beta == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
def test_all_tables_keep_their_bounds():
    found = tables.make_tables(tables.fly_all(50, 0, shapes=()), 50)
    assert found.outside == []


@pytest.mark.slow
@pytest.mark.parametrize("name", vehicles.VEHICLES)
def test_random_steps_on_other_vehicles(name):
    cases = [vehicles.shape_case(name, k) for k in keys(0, 50, 40)]
    good, nees = vehicles.consistency(name, fly_cases(vehicles.shape_loop(name), cases))
    assert good == 50
    low, high = chi2.ppf((0.005, 0.995), 100) / 50
    assert low < nees.mean() < high
