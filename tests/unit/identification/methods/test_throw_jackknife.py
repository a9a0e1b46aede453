"""Deviations from stretches of a throw, against errors drawn anew many times."""

import numpy as np

from haltere.identification.methods.throw.jackknife import stretch_covariance


def draws(rng, count):
    """Estimates and covariances where two numbers are excited one after the other for a short time, then together."""
    n, true = 600, np.array([2.0, -1.0])
    rows = np.full((n, 1, 2), 0.3)
    rows[:60, 0] = [3.0, 0.0]
    rows[60:120, 0] = [0.0, 3.0]
    for _ in range(count):
        right = rows @ true + rng.normal(size=(n, 1))
        flat = rows.reshape(-1, 2)
        yield np.linalg.lstsq(flat, right.reshape(-1))[0] - true, stretch_covariance(rows, right, np.zeros(2))


def test_the_covariance_is_that_of_the_errors():
    errors, covs = (np.array(x) for x in zip(*draws(np.random.default_rng(0), 300), strict=True))
    np.testing.assert_allclose(np.mean(covs, axis=0), np.cov(errors.T), rtol=0.35, atol=1e-4)
    chi = np.einsum("ni,nij,nj->n", errors, np.linalg.inv(covs), errors)
    assert 1.5 < np.mean(chi) < 2.9
