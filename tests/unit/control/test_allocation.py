"""Commands stay inside the limits, equal the pseudo-inverse where it fits, and give up yaw first."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haltere.airframe import from_catalogue
from haltere.control import GeometricController, allocate, allocate_bounded, allocate_pinv, priority_weights
from haltere.dynamics.rigid import RigidVehicle
from haltere.trajectory import hover_point

NUMBERS = st.floats(-1e6, 1e6) | st.sampled_from([0.0, np.nan, np.inf, -np.inf, 1e300, -1e-300])


@cache
def bounded():
    return jax.jit(allocate_bounded)


@cache
def numbers(name):
    vehicle = RigidVehicle.from_airframe(from_catalogue(name))
    return vehicle, np.asarray(hover_point(vehicle).allocation(vehicle))


@pytest.mark.parametrize("name", ["hummingbird", "hexa-tilted"])
@given(wrench=st.lists(NUMBERS, min_size=6, max_size=6))
def test_never_outside_the_limits(name, wrench):
    vehicle, table = numbers(name)
    answer = bounded()(table, np.asarray(wrench), vehicle.low, vehicle.high)
    u = np.asarray(answer.u)
    assert np.all((u >= vehicle.low) & (u <= vehicle.high))
    assert bool(answer.valid) or not np.all(np.abs(wrench) < 1e290)


@given(st.integers(0, 2**31), st.floats(0.05, 0.95))
def test_equals_the_pseudo_inverse_where_that_is_inside(seed, share):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(6, 8)) * 10.0 ** rng.uniform(-1, 1, size=(6, 1))
    wrench = table @ np.full(8, share) + 1e-3 * table @ rng.normal(size=8)
    least = np.linalg.pinv(table) @ wrench
    low, high = least - rng.uniform(0.01, 1.0, 8), least + rng.uniform(0.01, 1.0, 8)
    weights = 10.0 ** rng.uniform(-2, 0, 6) / np.sum(table**2, axis=1)
    answer = bounded()(table, wrench, low, high, weights)
    np.testing.assert_allclose(answer.u, least, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(allocate_pinv(table, wrench), least, rtol=1e-9, atol=1e-10)
    assert int(answer.rounds) == 0
    assert not np.any(answer.saturated)


def test_a_wrench_that_is_not_a_number_gives_the_preferred_command():
    vehicle, table = numbers("hummingbird")
    preferred = np.asarray([1e5, 2e5, 3e5, 9e9])
    answer = bounded()(table, np.full(6, np.nan), vehicle.low, vehicle.high, None, preferred)
    assert not bool(answer.valid)
    np.testing.assert_allclose(answer.u, np.clip(preferred, vehicle.low, vehicle.high))
    lowest = bounded()(table, np.full(6, np.inf), vehicle.low, vehicle.high)
    np.testing.assert_allclose(lowest.u, vehicle.low)
    assert not bool(lowest.valid)


def test_an_allocation_that_is_not_a_number_is_flagged():
    vehicle, table = numbers("hummingbird")
    answer = bounded()(np.where(np.arange(4) == 1, np.nan, table), np.ones(6), vehicle.low, vehicle.high)
    assert not bool(answer.valid)
    assert np.all(np.isfinite(answer.u))


def test_yaw_is_given_up_before_thrust_roll_and_pitch():
    controller = GeometricController.from_airframe(from_catalogue("hummingbird"))
    weight = float(controller.vehicle.weight)
    wrench = jnp.asarray([0.0, 0.0, 1.2 * weight, 0.1, -0.1, 1.0])  # much more yaw than there is
    answer = jax.jit(allocate)(controller, wrench)
    residual = np.abs(np.asarray(answer.residual))
    assert residual[2] < 0.03 * weight
    assert np.all(residual[3:5] < 0.01)
    assert residual[5] > 0.02
    assert np.any(answer.saturated)


def test_works_in_scan_vmap_and_both_kinds_of_derivative():
    vehicle, table = numbers("hummingbird")
    weight = float(vehicle.weight)

    def u(scale):
        wrench = scale * jnp.asarray([0.0, 0.0, weight, 0.3, 0.0, 0.05])
        return allocate_bounded(table, wrench, vehicle.low, vehicle.high).u

    scales = jnp.linspace(0.0, 6.0, 7)
    mapped = jax.jit(jax.vmap(u))(scales)
    scanned = jax.jit(lambda s: jax.lax.scan(lambda c, x: (c, u(x)), 0.0, s)[1])(scales)
    np.testing.assert_allclose(mapped, scanned, rtol=1e-6, atol=1.0)
    for scale in (1.0, 3.0):  # inside the limits, and with a rotor at one
        forward, backward = jax.jit(jax.jacfwd(u))(scale), jax.jit(jax.jacrev(u))(scale)
        slope = (u(scale + 1e-5) - u(scale - 1e-5)) / 2e-5
        np.testing.assert_allclose(forward, slope, rtol=1e-4, atol=1e-3 * np.abs(slope).max())
        np.testing.assert_allclose(backward, forward, rtol=1e-8, atol=1e-3)


def test_single_precision_stays_single_and_near():
    vehicle, table = numbers("hexa-tilted")
    rng = np.random.default_rng(3)
    for _ in range(20):
        wrench = rng.normal(size=6) * np.asarray([1.0, 1.0, 4.0, 0.1, 0.1, 0.1]) + [
            0.0,
            0.0,
            4.0,
            0.0,
            0.0,
            0.0,
        ]
        double = bounded()(table, wrench, vehicle.low, vehicle.high)
        args = (jnp.asarray(x, jnp.float32) for x in (table, wrench, vehicle.low, vehicle.high))
        single = bounded()(*args)
        assert single.u.dtype == jnp.float32
        authority = np.sqrt(np.sum((table * np.asarray(vehicle.high)) ** 2, axis=1))
        costs = [np.sum((np.asarray(x.residual) / authority) ** 2) for x in (single, double)]
        assert costs[0] <= costs[1] + 1e-5


def test_rows_without_authority_get_no_weight():
    table = jnp.asarray([[1.0, 1.0], [0.0, 0.0]])
    weights = priority_weights(table, jnp.zeros(2), jnp.ones(2), jnp.ones(2))
    np.testing.assert_allclose(weights, [0.5, 0.0])
