"""Verdicts from covariances that are made by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.estimation.vehicle.change import change_spread
from haltere.estimation.vehicle.description import describe_vehicle
from haltere.estimation.vehicle.prior import ten_percent
from haltere.estimation.vehicle.verdicts import assign_verdicts, sentences


@pytest.fixture(scope="module")
def bird():
    return describe_vehicle(from_catalogue("hummingbird"))


def after(bird, directions):
    """A posterior that knows all to a hundredth of the prior but for some directions of the physical numbers."""
    sigma = np.asarray(ten_percent(bird.coordinates, bird.physical)[1])
    cov = np.diag((0.01 * sigma) ** 2)
    for direction in directions:
        d = np.zeros(len(sigma))
        for name, relative in direction.items():
            d[bird.coordinates.names.index(name)] = relative
        cov += np.outer(d, d)
    return cov, sigma


def test_what_is_known_is_identified(bird) -> None:
    cov, sigma = after(bird, [])
    verdicts = assign_verdicts(bird.coordinates, bird.physical, cov, sigma)
    assert {j.verdict for j in verdicts} == {"identified"}
    assert sentences(bird.coordinates.names, verdicts) == []


def test_scales_are_combinations_and_a_slide_stands_alone(bird) -> None:
    p = bird.physical
    scale = {"mass": 0.1 * float(p["mass"][0])}
    scale |= {f"inertia.{c}{c}": 0.1 * float(p["inertia"][i]) for i, c in enumerate("xyz")}
    scale |= {
        f"rotors.{r}.thrust_coefficient": 0.1 * float(p["thrust_coefficient"][i])
        for i, r in enumerate(bird.coordinates.rotors)
    }
    cov, sigma = after(bird, [scale, {"rotors.front.position.z": 5e-3}])
    verdicts = dict(
        zip(bird.coordinates.names, assign_verdicts(bird.coordinates, p, cov, sigma), strict=True)
    )
    assert verdicts["mass"].verdict == "combination"
    assert set(verdicts["mass"].partners) == set(scale) - {"mass"}
    assert verdicts["rotors.front.position.z"].verdict == "unobservable"
    assert verdicts["rotors.left.position.z"].verdict == "identified"
    lines = sentences(bird.coordinates.names, list(verdicts.values()))
    assert len(lines) == 2
    assert any("together" in line and "mass" in line for line in lines)


def test_a_wide_interval_is_weak(bird) -> None:
    cov, sigma = after(bird, [{"inertia.zz": 0.04 * float(bird.physical["inertia"][2])}])
    place = bird.coordinates.names.index("inertia.zz")
    assert assign_verdicts(bird.coordinates, bird.physical, cov, sigma)[place].verdict == "identified"
    assert (
        assign_verdicts(bird.coordinates, bird.physical, cov, 0.7 * sigma)[place].verdict == "weak"
    )  # a prior as narrow
    cov[place, place] = (0.14 * float(bird.physical["inertia"][2])) ** 2
    assert assign_verdicts(bird.coordinates, bird.physical, cov, 3.0 * sigma)[place].verdict == "weak"


def test_change_moves_body_and_leaves_rotors_strong(bird) -> None:
    """Equation (1) of `vehicle_change` by moving the vehicle itself and reading the coordinates."""
    coordinates, physical = bird.coordinates, bird.physical
    moving = {b.name: jnp.zeros(b.shape) for b in coordinates.moving.blocks}
    moving |= {"attitude": jnp.asarray([0.8, 0.0, 0.6, 0.0]), "rates": jnp.asarray([1.0, 2.0, 3.0])}
    mean = {**moving, **coordinates.to_coordinates(physical)}
    spread = np.asarray(change_spread(coordinates, mean, jnp.asarray([0.0, 1.0, 0.0])))
    size = 1e-7
    shift = jnp.asarray([size, 0.0, 0.0])
    moved = {**physical, "rotor_position": physical["rotor_position"] - shift}
    moved |= {name: physical[name] - shift for name in ("pose_position", "imu_position")}
    there = coordinates.to_coordinates(moved)
    seen = np.asarray(coordinates.constant.minus(there, coordinates.constants(mean))) / size
    first = coordinates.moving.dimension
    # the columns of all three shifts are in the spread: that of x is one of its directions
    values, vectors = np.linalg.eigh(spread)
    basis = vectors[:, values > 1e-9 * values[-1]]
    whole = np.concatenate([np.asarray([0.28, 0.0, -0.96, 0.0, 3.0, -2.0]), np.zeros(first - 6), seen])
    assert basis.shape[1] == 3
    np.testing.assert_allclose(basis @ (basis.T @ whole), whole, atol=1e-5 * np.max(np.abs(whole)))
    weight = np.asarray(change_spread(coordinates, mean, jnp.asarray([0.1, 0.0, 0.0])))
    np.testing.assert_allclose(
        np.sqrt(weight[coordinates.space.slices["log_mass"]][0, coordinates.space.slices["log_mass"]]), 0.1
    )
