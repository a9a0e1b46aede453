"""The IMU's place from two throw-and-catches, 100 vehicles: error, coverage, and one throw flagged."""

import jax
import numpy as np
import pytest
from scipy.stats import binom

from haltere.identification.tumble.inertia import inertia_shape
from haltere.scenarios.throw.tumbles import thrown_vehicle, tumble_runs


@pytest.fixture(scope="module")
def runs():
    return tumble_runs(jax.random.key(7), 100)


def test_error_of_two_throws(runs):
    errors = np.array([run.error for run in runs])
    assert np.median(errors) <= 0.45e-3
    assert np.quantile(errors, 0.95) <= 0.75e-3


def test_the_ellipsoid_covers(runs):
    inside = sum(run.estimate.contains(run.position) for run in runs)
    assert 90 <= inside <= 99
    assert binom.cdf(inside, 100, 0.95) > 0.005


def test_the_formal_ellipsoid_does_not(runs):
    assert sum(run.estimate.contains(run.position, formal=True) for run in runs) < 15


def test_two_throws_are_enough(runs):
    assert all(run.estimate.enough for run in runs)


@pytest.mark.slow
def test_one_throw_about_a_principal_axis_is_not():
    for run in tumble_runs(jax.random.key(8), 5, ("x",), scatter=0.01):
        assert not run.estimate.enough
        assert abs(run.estimate.throws[0].weakest[0]) > 0.95


def test_two_throws_give_the_shape_of_the_inertia(runs):
    xx, yy, zz, xy, xz, yz = thrown_vehicle(0.15).body.inertia
    true = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) / (xx + yy + zz)
    shapes = [inertia_shape([t.gyro for t in run.throws], run.throws[0].rate) for run in runs]
    errors = 3.0 * (np.array(shapes) - true)
    assert np.sqrt(np.mean(errors**2)) < 0.0025
