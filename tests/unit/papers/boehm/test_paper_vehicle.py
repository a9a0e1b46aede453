"""The paper's state vector against the plant that flies it, its derivatives against differences, and its refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.foundation import HaltereError
from haltere.papers.boehm.flights import Conditions, fly, tilted
from haltere.papers.boehm.paper_vehicle import describe_paper_vehicle, slopes
from haltere.papers.boehm.series import one_of

SHORT = Conditions(duration=1.0, gentle=True)


@pytest.fixture(scope="module")
def flown():
    airframe = tilted()
    vehicle, physical = describe_paper_vehicle(airframe)
    return vehicle, physical, one_of(fly(airframe, [3], SHORT), 0)


def states_of(one, rows, physical):
    """States at some samples, stacked."""
    s = one.state
    moving = {"position": s.position, "velocity": s.twist[:, :3], "attitude": s.wxyz, "rates": s.twist[:, 3:]}
    moving |= {"accel_bias": one.bias[:, :3], "gyro_bias": one.bias[:, 3:]}
    numbers = {name: np.broadcast_to(x, (len(rows), *x.shape)) for name, x in physical.items()}
    return {**{name: x[rows] for name, x in moving.items()}, **numbers}


def state_at(one, k, physical):
    return jax.tree.map(lambda x: jnp.asarray(x[0]), states_of(one, np.array([k]), physical))


def test_a_step_is_that_of_the_plant(flown):
    vehicle, physical, one = flown
    step = jax.jit(vehicle.step)
    for k in (0, 57, 120):
        later = step(state_at(one, k, physical), jnp.asarray(one.speeds[k]), jnp.asarray(1.0 / SHORT.rate))
        error = vehicle.moved.minus(later, vehicle.moved.select(state_at(one, k + 1, physical)))
        np.testing.assert_allclose(error, 0.0, atol=1e-6)


def test_readings_are_those_of_the_sensors(flown):
    """Their residuals at the truth are the noise of Table III."""
    vehicle, physical, one = flown
    rows, poses = np.arange(200), 4 * np.arange(50)
    left = one.imu - jax.jit(jax.vmap(vehicle.imu))(states_of(one, rows, physical), one.speeds)
    assert 0.7 < np.std(left[:, :3]) / 0.83 < 1.3
    assert 0.7 < np.std(left[:, 3:]) / 0.013 < 1.3
    assert np.all(np.abs(left.mean(axis=0)) < 4.0 * np.repeat([0.83, 0.013], 3) / np.sqrt(200))
    pose = jax.jit(jax.vmap(vehicle.pose_residual))
    off = pose(states_of(one, poses, physical), one.pose_position, one.pose_wxyz)
    assert 0.7 < np.std(off[:, :3]) / 1e-3 < 1.3
    assert 0.7 < np.std(off[:, 3:]) / 1.7e-3 < 1.3


def test_derivatives_are_those_of_differences(flown):
    vehicle, physical, one = flown
    at, speeds, dt = state_at(one, 40, physical), jnp.asarray(one.speeds[40]), jnp.asarray(0.005)
    later = vehicle.step(at, speeds, dt)

    def everything(state):
        step = vehicle.moved.minus(vehicle.step(state, speeds, dt), later)
        pose = vehicle.pose_residual(
            state, jnp.asarray(one.pose_position[10]), jnp.asarray(one.pose_wxyz[10])
        )
        return jnp.concatenate([step, vehicle.imu(state, speeds), pose])

    found = jax.jit(lambda: slopes(vehicle.space, everything, at))()
    moved = jax.jit(lambda error: everything(vehicle.space.plus(at, error)))
    size = np.full(vehicle.space.dimension, 1e-5)
    size[vehicle.space.slices["thrust_coefficient"]] = 1e-9
    for i, h in enumerate(size):
        d = h * np.eye(len(size))[i]
        difference = (np.asarray(moved(d)) - np.asarray(moved(-d))) / (2.0 * h)
        scale = max(float(np.abs(difference).max()), 1.0)
        np.testing.assert_allclose(found[:, i], difference, atol=2e-5 * scale)


def test_an_origin_that_is_not_the_centre_of_mass_is_refused():
    airframe = from_catalogue("hummingbird")
    body = airframe.body.model_copy(update={"com": (0.01, 0.0, 0.0)})
    with pytest.raises(HaltereError, match="move the origin"):
        describe_paper_vehicle(airframe.model_copy(update={"body": body}))
