"""The filter's model: its step against the simulator, its derivatives against central differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.unit.estimation.vehicle.motion import turning_vehicle

from haltere.airframe import from_catalogue
from haltere.dynamics import Environment, State
from haltere.estimation.vehicle import model as vehicle_model
from haltere.estimation.vehicle.description import describe_vehicle
from haltere.estimation.vehicle.model import linear_imu, linear_pose, linear_step
from haltere.lie import so3
from haltere.simulation import Vehicle, step_vehicle

SPEEDS = jnp.asarray([430.0, 470.0, 455.0, 500.0])
STEADY = jnp.zeros(4)


@pytest.fixture(scope="module", params=["sphere", "spherical"])
def case(request):
    description = describe_vehicle(from_catalogue("hummingbird"), request.param)
    coordinates = description.coordinates
    away = 0.03 * jax.random.normal(jax.random.key(0), (coordinates.physical.dimension,))
    physical = {
        k: v if k in ("pose_rotation", "imu_rotation") else v * 1.01
        for k, v in coordinates.physical.plus(description.physical, 1e-2 * away).items()
    }
    return coordinates, {**turning_vehicle(), **coordinates.to_coordinates(physical)}


def central(function, sizes):
    """Derivative of a function of an error vector by central differences of the given sizes, all at once."""
    moves = jnp.diag(jnp.asarray(sizes))
    both = jax.jit(jax.vmap(function))(jnp.concatenate([moves, -moves]))
    ahead, behind = np.split(np.asarray(both), 2)
    return ((ahead - behind) / (2.0 * np.asarray(sizes)[:, None])).T


def sizes_of(coordinates, mean):
    size = np.full(coordinates.space.dimension + coordinates.count, 1e-5)
    for name in ("torque", "force"):
        size[coordinates.space.slices[name]] = 1e-5 * np.max(np.abs(np.asarray(mean[name])))
    size[-coordinates.count :] = 1e-2
    return size


def test_step_is_the_simulators(case) -> None:
    """The filter's step and `haltere.simulation.plant` with held speeds, the Hummingbird as its file says."""
    description = describe_vehicle(from_catalogue("hummingbird"))
    coordinates, mean = (
        description.coordinates,
        {**case[1], **description.coordinates.to_coordinates(description.physical)},
    )
    later, _ = linear_step(mean, SPEEDS, jnp.asarray(0.005), coordinates, STEADY)
    vehicle = Vehicle.from_airframe(from_catalogue("hummingbird"))
    rest = State.rest(vehicle.model)
    twist = jnp.concatenate([mean["velocity"], mean["rates"]])
    state = State(mean["position"], mean["attitude"], twist, *jax.tree.leaves(rest)[3:-1], SPEEDS)
    end, _ = step_vehicle(vehicle, state, SPEEDS, jnp.zeros(0), Environment(), 0.005)
    np.testing.assert_allclose(later["position"], end.position, atol=1e-13)
    np.testing.assert_allclose(later["attitude"], end.wxyz, atol=1e-13)
    np.testing.assert_allclose(later["velocity"], end.twist[:3], atol=1e-12)
    np.testing.assert_allclose(later["rates"], end.twist[3:], atol=1e-12)


@pytest.mark.parametrize("extra", [0, 4])
def test_derivative_beside_the_step_is_that_of_the_plain_map(monkeypatch, extra) -> None:
    """All columns carried through the stages against `jax.jacfwd` of one Runge-Kutta step; also with more constants."""
    draw = np.random.default_rng(3)
    state = jnp.asarray([0.3, -0.2, 1.5, 0.8, 0.36, -0.48, 0.0, *draw.normal(size=6)])
    constants = jnp.asarray([0.1, -0.2, 0.3, -0.2, -9.8, *draw.normal(size=6), *draw.normal(size=extra)])
    dt = jnp.asarray(0.02)
    plain = vehicle_model.slope

    def slope(state, constants):
        """Velocity that further constants damp."""
        drag = constants[11:14] * state[7:10] * constants[14]
        return plain(state, constants[:11]) - jnp.concatenate([jnp.zeros(7), drag, jnp.zeros(3)])

    monkeypatch.setattr(vehicle_model, "slope", slope if extra else plain)
    later, J = jax.jit(vehicle_model.linear_advance)(state, constants, dt)

    def error(e):
        wxyz = so3.box_plus_wxyz(state[3:7], e[3:6])
        begin = jnp.concatenate([state[:3], wxyz, state[7:10] + e[:3], state[10:] + e[6:9]])
        end = vehicle_model.advance(begin, constants + e[9:], dt)
        return jnp.concatenate([end[:3], end[7:10], so3.box_minus_wxyz(end[3:7], later[3:7]), end[10:]])

    expected, slopes = jax.jit(lambda e: (vehicle_model.advance(state, constants, dt), jax.jacfwd(error)(e)))(
        jnp.zeros(20 + extra)
    )
    np.testing.assert_allclose(later, expected, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(J, slopes, rtol=1e-12, atol=1e-15)


def test_derivative_of_the_step(case) -> None:
    coordinates, mean = case
    dt, n = jnp.asarray(0.005), coordinates.space.dimension
    later, Phi = jax.jit(lambda m, s: linear_step(m, s, dt, coordinates, STEADY))(mean, SPEEDS)

    def error(e):
        there = linear_step(coordinates.space.plus(mean, e[:n]), SPEEDS + e[n:], dt, coordinates, STEADY)[0]
        return coordinates.dynamic.minus(there, later)

    numeric = central(error, sizes_of(coordinates, mean))
    np.testing.assert_allclose(Phi, numeric, rtol=2e-6, atol=2e-8 * np.max(np.abs(numeric)))


def test_derivative_of_the_imu(case) -> None:
    coordinates, mean = case
    n = coordinates.space.dimension
    _, H = jax.jit(lambda m: linear_imu(m, SPEEDS, coordinates, STEADY))(mean)

    def expected(e):
        return linear_imu(coordinates.space.plus(mean, e[:n]), SPEEDS + e[n:], coordinates, STEADY)[0]

    numeric = central(expected, sizes_of(coordinates, mean))
    np.testing.assert_allclose(H, numeric, rtol=2e-6, atol=2e-8 * np.max(np.abs(numeric)))


def test_derivative_of_the_pose(case) -> None:
    coordinates, mean = case
    n, moving = coordinates.space.dimension, coordinates.moving.dimension
    place = mean["position"] + jnp.asarray([0.05, 0.01, -0.03])
    wxyz = so3.box_plus_wxyz(mean["attitude"], jnp.asarray([0.05, -0.1, 0.02]))
    _, H = linear_pose(mean, place, wxyz, moving)
    numeric = central(
        lambda e: linear_pose(coordinates.space.plus(mean, e), place, wxyz, moving)[0], np.full(n, 1e-6)
    )
    np.testing.assert_allclose(-H, numeric[:, : moving + 6], atol=1e-8)
    assert not np.any(numeric[:, moving + 6 :])


def test_what_no_flight_shows_carries_exactly_no_information(case) -> None:
    coordinates, mean = case
    null = np.r_[tuple(coordinates.space.slices[name] for name in ("log_mass", "log_scale", "slide"))]
    assert not np.any(
        np.asarray(linear_step(mean, SPEEDS, jnp.asarray(0.005), coordinates, STEADY)[1])[:, null]
    )
    assert not np.any(np.asarray(linear_imu(mean, SPEEDS, coordinates, STEADY)[1])[:, null])
