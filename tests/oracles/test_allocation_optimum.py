"""The bounded allocation is the optimum that SciPy finds, on random vehicles with 3 to 12 rotors."""

from functools import cache

import jax
import numpy as np
import pytest
from scipy.optimize import lsq_linear

from haltere.control import allocate_bounded

REGULARISATION = 1.5e-8
DRAWS = 40


@cache
def compiled():
    return jax.jit(allocate_bounded)


def problem(rng, rotors, draw):
    """Allocation, wrench, limits, weights, preferred; some degenerate, most not to be met inside the limits."""
    table = rng.normal(size=(6, rotors)) * 10.0 ** rng.uniform(-1, 1, size=(6, 1))
    low = rng.uniform(0.0, 0.3, rotors)
    high = low + rng.uniform(0.2, 1.0, rotors)
    if draw % 4 == 1:
        table[:2] = 0.0  # must tilt: no sideways force at all
    if draw % 4 == 2:
        table[:, 0] = table[:, 1]  # two rotors that do the same
    if draw % 4 == 3:
        table[:, 0] = 0.0  # a rotor that does nothing
    wrench = table @ rng.uniform(low, high) * rng.choice([0.8, 1.0, 2.0, 10.0])
    if draw % 3 == 0:
        wrench = wrench + rng.normal(size=6) * np.abs(table).max()
    authority = np.sum(table**2, axis=1)
    weights = np.where(authority > 0.0, 10.0 ** rng.uniform(-3, 0, 6) / np.maximum(authority, 1e-9), 0.0)
    return table, wrench, low, high, weights, rng.uniform(low, high)


def stacked(table, wrench, low, high, weights, preferred):
    """The least-squares problem whose squared residual is the cost, scaled so that its rows are of size one."""
    root = np.sqrt(weights)
    span = np.max(high - low)
    size = np.sqrt(np.max(np.sum((root[:, None] * table * span) ** 2, axis=1)))
    pull = np.sqrt(REGULARISATION) / span
    matrix = np.vstack([root[:, None] * table / size, pull * np.eye(low.size)])
    return matrix, np.concatenate([root * wrench / size, pull * preferred])


@pytest.mark.parametrize("rotors", [3, 4, 6, 9, 12])
def test_is_the_optimum_inside_the_limits(rotors):
    rng = np.random.default_rng(rotors)
    for draw in range(DRAWS):
        case = problem(rng, rotors, draw)
        table, wrench, low, high, *_ = case
        answer = compiled()(*case)
        u = np.asarray(answer.u)
        assert bool(answer.valid)
        assert np.all((u >= low) & (u <= high))
        np.testing.assert_allclose(answer.residual, table @ u - wrench, atol=1e-9 * np.abs(wrench).max())
        matrix, right = stacked(*case)
        best = lsq_linear(matrix, right, (low, high), method="bvls", tol=1e-15, max_iter=500).x
        cost, least = (np.sum((matrix @ x - right) ** 2) for x in (u, best))
        assert cost <= least + 1e-10 * (1.0 + least), (rotors, draw)


def test_without_preferred_it_is_near_the_least_norm_solution():
    """Only the tie is broken differently: the weighted residual is the least possible one."""
    rng = np.random.default_rng(7)
    for draw in range(DRAWS):
        table, wrench, low, high, weights, _ = problem(rng, 6, draw)
        u = np.asarray(compiled()(table, wrench, low, high, weights).u)
        root = np.sqrt(weights)
        scaled = root[:, None] * table / np.sqrt(np.max(weights * np.sum(table**2, axis=1)))
        right = root * wrench / np.sqrt(np.max(weights * np.sum(table**2, axis=1)))
        best = lsq_linear(scaled, right, (low, high), method="bvls", tol=1e-15, max_iter=500).x
        cost, least = (np.sum((scaled @ x - right) ** 2) for x in (u, best))
        assert cost <= least + 1e-6 * (1.0 + least)
