"""Recursive least squares: ordinary least squares without forgetting, no windup with it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.estimation.core.rls import Recursive, forgetting_of, update_single
from haltere.foundation import HaltereError


def run(state, regressors, outputs, forgetting=1.0):
    def one(s, row):
        return s.update(*row, forgetting), None

    return jax.lax.scan(one, state, (jnp.asarray(regressors), jnp.asarray(outputs)))[0]


def test_without_forgetting_it_is_least_squares_with_a_prior():
    rng = np.random.default_rng(0)
    X, true = rng.normal(size=(60, 4)), rng.normal(size=(4, 3))
    Y = X @ true + 0.1 * rng.normal(size=(60, 3))
    found = run(Recursive.prior(4, 3, 100.0), X, Y)
    expected = np.linalg.solve(X.T @ X + np.eye(4) / 100.0, X.T @ Y)
    np.testing.assert_allclose(found.theta, expected, rtol=1e-9)
    np.testing.assert_allclose(found.P, np.linalg.inv(X.T @ X + np.eye(4) / 100.0), rtol=1e-9)


def test_covariance_and_information_stay_inverse_while_forgetting():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(5000, 5)) * [1.0, 1.0, 1.0, 0.01, 0.0]
    found = run(Recursive.prior(5), X, rng.normal(size=(5000, 1)), 0.99)
    np.testing.assert_allclose(found.P @ found.R, np.eye(5), atol=1e-6)
    assert np.all(np.linalg.eigvalsh(np.asarray(found.P)) > 0.0)


def test_a_direction_that_is_not_excited_is_not_forgotten():
    rng = np.random.default_rng(2)
    both = np.tile(np.eye(2), (100, 1))
    first = run(Recursive.prior(2), both, both @ [[1.0], [2.0]], 0.99)
    one = np.stack([rng.normal(size=20000), np.zeros(20000)], axis=1)
    later = run(first, one, one @ [[3.0], [0.0]], 0.99)
    assert later.theta[0, 0] == pytest.approx(3.0, abs=1e-6)
    assert later.theta[1, 0] == pytest.approx(2.0, abs=0.02)
    assert later.P[1, 1] < 2.0 * first.P[1, 1]
    plain = np.asarray(first.P)[1, 1] / 0.99**20000
    assert plain > 1e50, "the usual forgetting would have wound up"


def test_silence_and_holes_change_nothing():
    state = Recursive.prior(2, 1)
    for phi, y in (([0.0, 0.0], [1.0]), ([jnp.nan, 1.0], [1.0]), ([1.0, 1.0], [jnp.inf])):
        after = state.update(jnp.asarray(phi), jnp.asarray(y), 0.9)
        assert all(
            np.array_equal(a, b) for a, b in zip(jax.tree.leaves(after), jax.tree.leaves(state), strict=True)
        )


def test_forgetting_has_the_minus_sign():
    assert forgetting_of(5e-4, 0.2) == pytest.approx(np.exp(-0.0025))
    with pytest.raises(HaltereError, match="above zero"):
        forgetting_of(0.0, 0.2)


def test_the_single_path_in_numpy_is_the_same_step():
    rng = np.random.default_rng(9)
    ours = Recursive.prior(4, 2)
    theta, P, R = (np.asarray(x) for x in (ours.theta, ours.P, ours.R))
    step = jax.jit(lambda now, phi, y: now.update(phi, y, 0.98))
    for k in range(40):
        phi, y = rng.normal(size=4) * (k % 7 != 3), rng.normal(size=2)
        ours = step(ours, jnp.asarray(phi), jnp.asarray(y))
        theta, P, R = update_single(theta, P, R, phi, y, 0.98)
    np.testing.assert_allclose(theta, ours.theta, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(P, ours.P, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(R, ours.R, rtol=1e-8, atol=1e-10)
