"""Estimates with moments of inertia that no body has become the likeliest possible ones."""

import jax.numpy as jnp
import numpy as np
from scipy import optimize

from haltere.airframe import from_catalogue
from haltere.estimation.core.consistency import Fit
from haltere.estimation.vehicle.description import describe_vehicle
from haltere.estimation.vehicle.estimate import VehicleEstimate
from haltere.estimation.vehicle.prior import ten_percent
from haltere.estimation.vehicle.steps import VehicleBelief

BIRD = describe_vehicle(from_catalogue("hummingbird"))


def estimated(inertia):
    """An estimate of these moments, as unsure as the prior; its numbers are correlated."""
    coordinates = BIRD.coordinates
    physical = {**BIRD.physical, "inertia": jnp.asarray(inertia)}
    moving_sigma, sigma = ten_percent(coordinates, BIRD.physical)
    lively = np.random.default_rng(0).normal(size=(len(sigma), len(sigma)))
    mixed = np.diag(sigma) @ (np.eye(len(sigma)) + 0.1 * lively)
    J = np.asarray(coordinates.jacobian(physical)) @ mixed
    n, first = coordinates.space.dimension, coordinates.moving.dimension
    cov = np.zeros((n, n))
    cov[:first, :first] = np.diag(np.asarray(moving_sigma) ** 2)
    cov[first:, first:] = J @ J.T
    still = {b.name: jnp.zeros(3) for b in coordinates.moving.blocks} | {"attitude": jnp.eye(4)[0]}
    belief = VehicleBelief({**still, **coordinates.to_coordinates(physical)}, jnp.asarray(cov))
    return VehicleEstimate(coordinates, belief, sigma, 0, Fit(1.0, 1.0, 0.0, None), ())


def test_a_possible_inertia_stays():
    estimate = estimated([7.5e-3, 7.5e-3, 1.3e-2])
    assert estimate.impossible() is None
    np.testing.assert_allclose(estimate.physical["inertia"], [7.5e-3, 7.5e-3, 1.3e-2], rtol=1e-12)


def test_an_impossible_one_becomes_the_likeliest_possible():
    given = np.array([7.5e-3, 7.0e-3, 1.6e-2])
    estimate = estimated(given)
    found = np.asarray(estimate.physical["inertia"])
    assert "inertia.zz" in (estimate.impossible() or "")
    place = estimate.coordinates.physical.slices["inertia"]
    weight = np.linalg.inv(estimate.physical_cov[place, place]) * 1e-6
    best = optimize.minimize(
        lambda d: d @ weight @ d,
        np.array([1.0, 1.0, -1.0]),
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda d: d[0] + d[1] - d[2] - 1.5},
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(found, given + 1e-3 * best.x, rtol=1e-4)
    assert found[2] < found[0] + found[1]
    mass = next(row for row in estimate.table() if row.name == "mass")
    assert mass.value != float(BIRD.physical["mass"][0])  # correlated numbers go along
