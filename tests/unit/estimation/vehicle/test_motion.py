"""One step of the motion and what sensors read, against a fine integration of Newton's and Euler's equations."""

from dataclasses import replace
from functools import lru_cache

import jax
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.unit.estimation.vehicle.quadrotor import (
    fly,
    momentum,
    rotation,
    some_speeds,
    some_state,
    some_vehicle,
)

from haltere.estimation.vehicle import motion
from haltere.estimation.vehicle.motion import (
    BIAS,
    DISTURBANCE,
    ERROR,
    NODE,
    STATE,
    RotorInputs,
    minus,
    plus,
    read_imu,
    read_pose,
)

SEEDS = (1, 2, 3)


@lru_cache
def step_program(step):
    """The step of the motion, compiled with another length than `NODE`."""

    def advance(*args):
        before, motion.NODE = motion.NODE, step
        try:
            return motion.advance(*args)
        finally:
            motion.NODE = before

    return jax.jit(advance)


def step_errors(vehicle, x, speeds, step):
    """Errors of position, velocity, attitude and momentum rate after one step, m, m/s, rad, rad/s."""
    found = np.asarray(step_program(step)(vehicle, x, RotorInputs(*speeds.inputs(0.0, step))))
    p, v, R, w = (part[-1] for part in fly(vehicle, x, speeds, [step]))
    W = w + np.linalg.solve(vehicle.inertia, momentum(vehicle, speeds(step)))
    apart = Rotation.from_matrix(R.T @ rotation(found[6:10])).as_rotvec()
    np.testing.assert_array_equal(found[13:], x[13:])
    return np.array([np.linalg.norm(e) for e in (found[:3] - p, found[3:6] - v, apart, found[10:13] - W)])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_step_is_that_of_the_equations_of_motion(seed):
    """Rotor speeds swing by 6 % at 2 to 5 Hz; the vehicle turns at about 100 degrees per second in 3 m/s of wind."""
    errors = step_errors(some_vehicle(seed), some_state(seed), some_speeds(seed), NODE)
    assert np.all(errors < [2e-5, 3e-4, 2e-4, 3e-3]), errors


@pytest.mark.parametrize("seed", SEEDS)
def test_the_error_of_a_step_falls_with_its_third_power(seed):
    vehicle, x, speeds = some_vehicle(seed), some_state(seed), some_speeds(seed)
    long, short = (step_errors(vehicle, x, speeds, step) for step in (NODE, NODE / 4.0))
    assert np.all(long / short > 4.0**2.7), long / short


def test_plus_and_minus_are_inverse():
    rng = np.random.default_rng(4)
    for seed in SEEDS:
        x, error = some_state(seed), 0.3 * rng.normal(size=ERROR)
        moved = plus(x, error)
        assert moved.shape == (STATE,)
        np.testing.assert_allclose(minus(moved, x), error, atol=1e-12)
        turned = rotation(x[6:10]).T @ rotation(np.asarray(moved)[6:10])
        np.testing.assert_allclose(Rotation.from_matrix(turned).as_rotvec(), error[6:9], atol=1e-12)
        np.testing.assert_allclose(np.asarray(moved)[13:25] - x[13:25], error[DISTURBANCE])
        np.testing.assert_allclose(np.asarray(moved)[25:] - x[25:], error[BIAS])


@pytest.mark.parametrize("seed", SEEDS)
def test_imu_reads_rate_and_specific_force_of_the_motion(seed):
    """Its position differentiated twice, its attitude once, by differences of the fine integration."""
    vehicle, x, speeds = some_vehicle(seed), some_state(seed), some_speeds(seed)
    h = 2e-3
    ahead, behind = (fly(vehicle, x, speeds, sign * h * np.arange(3)) for sign in (1.0, -1.0))
    place, attitude = (np.concatenate([behind[k][:0:-1], ahead[k]]) for k in (0, 2))
    imu = place + attitude @ (vehicle.imu_position - vehicle.com)
    second = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / 12.0 @ imu / h**2
    R = attitude[2] @ vehicle.R_BI
    specific = R.T @ (second - vehicle.gravity)
    slope = np.tensordot(np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / 12.0 / h, attitude, 1)
    turning = attitude[2].T @ slope
    rate = vehicle.R_BI.T @ np.array([turning[2, 1], turning[0, 2], turning[1, 0]])
    found = np.asarray(read_imu(vehicle, x, RotorInputs(*speeds.inputs(0.0, NODE))))
    np.testing.assert_allclose(found[:3], vehicle.gyro_gain * rate + x[28:31], atol=1e-6)
    np.testing.assert_allclose(found[3:], vehicle.accel_gain @ specific + x[25:28], atol=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_pose_is_that_of_the_motion_a_little_later(seed):
    """Exact at the node; the errors of position and attitude are of third order in the time."""
    vehicle, x, speeds = some_vehicle(seed), some_state(seed), some_speeds(seed)
    inputs = RotorInputs(*speeds.inputs(0.0, NODE))
    w, *xyz = vehicle.pose_wxyz
    own = Rotation.from_quat([*xyz, w]).as_matrix()
    errors = {}
    for later in (-0.01, -0.005, 0.0, 0.005, 0.01):
        p, _, R, _ = (part[-1] for part in fly(vehicle, x, speeds, [later or 1e-9]))
        place, q = read_pose(vehicle, x, inputs, later)
        apart = Rotation.from_matrix((R @ own).T @ rotation(np.asarray(q))).magnitude()
        centre = np.asarray(place) - rotation(np.asarray(q)) @ own.T @ (vehicle.pose_position - vehicle.com)
        errors[later] = np.array([np.linalg.norm(centre - p), apart])
    assert np.all(errors[0.0] < 1e-7)
    for later in (-0.01, 0.01):
        assert errors[later][0] < 1e-5
        assert errors[later][1] < 1e-3
        assert np.all(errors[later] / errors[0.5 * later] > 2.0**2.7)


def test_without_air_and_rotors_a_vehicle_falls_and_keeps_its_momentum():
    zero = np.zeros
    vehicle = replace(
        some_vehicle(), thrust=zero(4), inflow=zero((4, 3)), cross=zero(4), pitching=zero(4), linear_drag=zero(3),
        quadratic_drag=zero(3),
    )  # fmt: skip
    x = some_state()
    x[13:] = 0.0
    inputs = RotorInputs(*some_speeds(swing=0.0).inputs(0.0, NODE))
    step = step_program(NODE)
    begin = x
    for _ in range(50):
        x = step(vehicle, x, inputs)
    x = np.asarray(x)
    t = 50 * NODE
    np.testing.assert_allclose(x[:3], begin[:3] + t * begin[3:6] + 0.5 * t**2 * vehicle.gravity, atol=1e-9)
    np.testing.assert_allclose(x[3:6], begin[3:6] + t * vehicle.gravity, atol=1e-12)
    whole = [rotation(y[6:10]) @ vehicle.inertia @ y[10:13] for y in (begin, x)]
    np.testing.assert_allclose(whole[1], whole[0], rtol=2e-3)
    imu = np.asarray(read_imu(vehicle, x, inputs))
    centre = np.asarray(read_imu(replace(vehicle, imu_position=vehicle.com), x, inputs))
    np.testing.assert_allclose(centre[3:], 0.0, atol=1e-12)
    assert np.linalg.norm(imu[3:]) > 0.0
