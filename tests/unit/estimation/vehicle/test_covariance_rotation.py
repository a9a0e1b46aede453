"""What turns all axes together: no reading of a vehicle with equal moments shows it, and no update may think so."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.unit.estimation.vehicle.motion import turning_vehicle

from haltere.airframe import from_catalogue
from haltere.estimation.core.kalman import gain_of, update
from haltere.estimation.vehicle.covariance_rotation import MOUNTINGS, VECTORS, rotate_covariance, turning
from haltere.estimation.vehicle.description import describe_vehicle
from haltere.estimation.vehicle.model import linear_imu, linear_step
from haltere.estimation.vehicle.steps import pose_residual
from haltere.lie import so3

SPEEDS, RISE = jnp.asarray([430.0, 470.0, 455.0, 500.0]), jnp.zeros(4)


@pytest.fixture(scope="module")
def case():
    """A Hummingbird with three equal moments, in a fast turn."""
    description = describe_vehicle(from_catalogue("hummingbird"))
    coordinates = description.coordinates
    physical = {**description.physical, "inertia": jnp.full(3, 0.008)}
    return coordinates, {**turning_vehicle(), **coordinates.to_coordinates(physical)}


def common(coordinates, mean):
    """(n, 3) errors that all axes turned by a small angle make, by differences: written from what the blocks are."""
    R = {"attitude", "pose_rotation", "imu_rotation"}
    columns = []
    for axis in np.eye(3):
        turn = so3.exp_wxyz(jnp.asarray(1e-6 * axis))
        back = so3.from_wxyz(turn).T
        new = dict(mean)
        new["attitude"] = so3.multiply_wxyz(mean["attitude"], turn)
        for name in R - {"attitude"}:
            new[name] = so3.multiply_wxyz(so3.conjugate_wxyz(turn), mean[name])
        for name in ("velocity", "rates", "pose_position", "imu_position"):
            new[name] = back @ mean[name]
        for name in ("torque", "force"):
            new[name] = mean[name] @ back.T
        columns.append(coordinates.space.minus(new, mean) / 1e-6)
    return np.stack(columns, axis=1)


def test_no_reading_shows_it(case):
    """With equal moments the direction is hidden from IMU and pose, and a step leads it into itself."""
    coordinates, mean = case
    hidden = common(coordinates, mean)
    n = coordinates.space.dimension
    _, H = jax.jit(lambda m: linear_imu(m, SPEEDS, coordinates, RISE))(mean)
    np.testing.assert_allclose(np.asarray(H)[:, :n] @ hidden, 0.0, atol=1e-4)
    wxyz = so3.multiply_wxyz(mean["attitude"], mean["pose_rotation"])
    _, H, _ = pose_residual(coordinates, mean, mean["position"], wxyz, jnp.ones(6, bool))
    np.testing.assert_allclose(np.asarray(H) @ hidden, 0.0, atol=1e-5)
    later, Phi = jax.jit(lambda m: linear_step(m, SPEEDS, 0.005, coordinates, RISE))(mean)
    after = common(coordinates, {**mean, **later})
    np.testing.assert_allclose(
        np.asarray(Phi)[:, :n] @ hidden, after[: coordinates.dynamic.dimension], atol=1e-4
    )


def test_an_update_leads_it_into_itself(case):
    """A covariance that says nothing but the hidden direction says nothing but the hidden direction afterwards."""
    coordinates, mean = case
    rng = np.random.default_rng(1)
    size = np.full(coordinates.space.dimension, 1e-2)
    for name in ("torque", "force"):
        size[coordinates.space.slices[name]] = 1e-2 * np.max(np.abs(np.asarray(mean[name])))
    size[coordinates.space.slices["attitude"]] = 0.0  # its own turn is `transported`
    moved = coordinates.space.plus(mean, jnp.asarray(size * rng.normal(size=len(size))))
    before, after = common(coordinates, mean), common(coordinates, moved)
    C = turning(coordinates, mean, moved)
    no_gain, no_B = jnp.zeros((len(size), 1)), jnp.zeros((1, len(size)))
    cov = np.asarray(rotate_covariance(coordinates, jnp.asarray(before @ before.T), C, no_gain, no_B))
    large = np.ones(len(size))  # each block in its own size
    for name in (*VECTORS, *MOUNTINGS):
        large[coordinates.space.slices[name]] = np.max(np.abs(before[coordinates.space.slices[name]]))
    unit = np.outer(large, large)
    moved_by = np.abs(after @ after.T - before @ before.T) / unit
    for name in (*VECTORS, *MOUNTINGS):
        assert np.max(moved_by[coordinates.space.slices[name]]) > 3e-3, name
    np.testing.assert_allclose(cov / unit, after @ after.T / unit, atol=1e-5)


def test_update_and_turn_are_one_product(case):
    """The same as the update of `kalman` and then e + C theta, with rows beyond the state."""
    coordinates, mean = case
    n, rng = coordinates.space.dimension, np.random.default_rng(2)
    root = rng.normal(size=(n + 4, n + 4))
    cov, H = jnp.asarray(root @ root.T), jnp.asarray(rng.normal(size=(6, n + 4)))
    given = (cov, H, jnp.ones(6), jnp.asarray(rng.normal(size=6)), jnp.asarray(True))
    moved = coordinates.space.plus(mean, jnp.asarray(1e-2 * rng.normal(size=n)))
    C = turning(coordinates, mean, moved)
    T = np.eye(n + 4)
    T[:n, coordinates.space.slices["attitude"]] += np.asarray(C)
    expected = T @ np.asarray(update(*given)[0]) @ T.T
    gain, B = gain_of(*given)
    np.testing.assert_allclose(
        rotate_covariance(coordinates, cov, C, gain.gain, B), expected, rtol=1e-9, atol=1e-9
    )


def test_the_papers_axes_stay_the_papers():
    description = describe_vehicle(from_catalogue("hummingbird"), "spherical")
    coordinates, mean = description.coordinates, description.coordinates.to_coordinates(description.physical)
    assert not np.any(np.asarray(turning(coordinates, mean, mean)))
