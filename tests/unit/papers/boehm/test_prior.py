"""Start errors and hand measurements: drawn from the prior that is stated, in numbers and in coordinates."""

import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.estimation.vehicle.parameters import vehicle_of
from haltere.foundation.arrays import double_precision
from haltere.papers.boehm.flights import tilted
from haltere.papers.boehm.paper_vehicle import describe_paper_vehicle, thrust_axes
from haltere.papers.boehm.prior import (
    DEGREE,
    SampledPrior,
    paper_filter_start,
    paper_hand_measurements,
    ten_percent,
)

BIRD = from_catalogue("hummingbird")
HANDS = paper_hand_measurements(tuple(rotor.name for rotor in BIRD.rotors))


def drawn(airframe=BIRD, hands=HANDS, model="paper", seed=0):
    return SampledPrior.draw(airframe, hands, np.random.default_rng(seed), model)


@pytest.mark.parametrize("model", ["paper", "full"])
def test_truth_is_a_draw_of_the_prior(model):
    one = drawn(model=model)
    own = np.flatnonzero(np.asarray(one.nominal.sigma) > 0.0)
    draws = np.array([drawn(model=model, seed=k).truth[own] for k in range(200)])
    assert 0.95 < np.mean(draws**2) < 1.05
    assert len(own) == one.nominal.layout.size - (6 if model == "paper" else 0)


@double_precision()
def numbers_of(one, z):
    """The numbers of the paper at coordinates z, through the smoother's own vehicle."""
    vehicle = vehicle_of(one.nominal.layout, one.nominal, jnp.asarray(z))
    parts = [vehicle.pose_position, vehicle.imu_position, vehicle.mass[None], jnp.diagonal(vehicle.inertia)]
    parts += [
        vehicle.gravity,
        vehicle.position.ravel(),
        vehicle.thrust,
        vehicle.torque_ratio,
        vehicle.axis.ravel(),
    ]
    return np.concatenate([np.asarray(part) for part in parts])


@pytest.mark.parametrize("airframe", [BIRD, tilted()], ids=["upright", "tilted"])
def test_errors_are_those_of_the_vehicle(airframe):
    vehicle, physical = describe_paper_vehicle(airframe)
    one, slices = drawn(airframe), vehicle.physical.slices
    names = ("pose_position", "imu_position", "mass", "inertia", "gravity", "rotor_position")
    names += ("thrust_coefficient", "torque_ratio")
    true = np.concatenate([np.asarray(physical[name]).ravel() for name in names])
    at_truth = numbers_of(one, one.truth)
    np.testing.assert_allclose(at_truth[: len(true)], true, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        at_truth[len(true) :].reshape(-1, 3), thrust_axes(physical["rotor_tilt"]), atol=1e-12
    )
    z = one.truth + 1e-3 * np.random.default_rng(1).normal(size=len(one.truth))
    errors = np.concatenate([one.errors(z)[slices[name]] for name in names])
    np.testing.assert_allclose(errors, numbers_of(one, z)[: len(true)] - true, rtol=1e-3, atol=1e-7)


def test_ten_percent_and_what_is_measured():
    vehicle, physical = describe_paper_vehicle(BIRD)
    wide, narrow = drawn(hands={}), drawn()
    sigma = dict(zip(vehicle.names, wide.sigmas(wide.truth, np.eye(wide.nominal.layout.size)), strict=True))
    np.testing.assert_allclose(list(sigma.values()), ten_percent(physical), rtol=1e-9)
    known = dict(
        zip(vehicle.names, narrow.sigmas(narrow.truth, np.eye(narrow.nominal.layout.size)), strict=True)
    )
    assert known["mass"] == pytest.approx(1e-3, rel=1e-3)
    assert known["rotors.front.position.z"] == pytest.approx(1e-3 * 5.0 / np.hypot(5.0, 1.0))
    assert known["pose.rotation.z"] == pytest.approx(0.2 * DEGREE, rel=0.01)
    assert known["rotors.left.axis.azimuth"] == pytest.approx(0.2 * DEGREE * 3.0 * DEGREE, rel=1e-3)
    assert known["rotors.left.axis.inclination"] == sigma["rotors.left.axis.inclination"]


def test_a_distance_is_measured_with_its_slopes():
    one = drawn()
    z = one.truth + 0.3
    residual, rows = one.measured(one.nominal, z)
    for i in np.flatnonzero(rows[0]):
        d = 1e-4 * np.eye(len(z))[i]
        ahead, behind = (one.measured(one.nominal, z + sign * d)[0] for sign in (1.0, -1.0))
        np.testing.assert_allclose(-(ahead - behind) / 2e-4, rows[:, i], rtol=1e-4)
    assert np.count_nonzero(rows) == 4  # two rotors at one height, x and y
    assert residual.shape == (1,)


def test_the_papers_filter_begins_with_the_same_knowledge():
    vehicle, physical = describe_paper_vehicle(BIRD)
    still = {block.name: jnp.zeros(3) for block in vehicle.moving.blocks}
    truth = {**still, "attitude": jnp.asarray([1.0, 0.0, 0.0, 0.0]), **physical}
    draws = []
    for seed in range(60):
        mean, cov = paper_filter_start(vehicle, truth, HANDS, np.random.default_rng(seed))
        draws.append(np.asarray(vehicle.space.minus(mean, truth)) / np.sqrt(np.diagonal(cov)))
    assert 0.9 < np.mean(np.square(draws)) < 1.1
    first = vehicle.moving.dimension
    sigma = dict(zip(vehicle.names, np.sqrt(np.diagonal(cov))[first:], strict=True))
    assert sigma["mass"] == pytest.approx(1e-3, rel=1e-3)
