"""The linear model against differences of the nonlinear one."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.unit.estimation.vehicle.chunk import ChunkOfNodes

from haltere.estimation.vehicle.linearisation import Readings, pose_residuals, rotor_columns
from haltere.estimation.vehicle.marginal import CHUNK
from haltere.estimation.vehicle.motion import RotorInputs, advance, minus, plus, read_imu, read_pose
from haltere.estimation.vehicle.parameters import vehicle_of

ROTORS = 4


@pytest.fixture(scope="module")
def moving():
    return ChunkOfNodes()


def test_linear_model_is_that_of_differences(moving):
    """Along random directions of errors and coordinates, by nonlinear step, IMU and pose."""
    linear = jax.tree.map(np.asarray, moving.linearise(moving.z))
    rng = np.random.default_rng(3)
    base = vehicle_of(moving.layout, moving.nominal, moving.z)

    @jax.jit
    def nonlinear(error, d, x, after, own):
        vehicle = vehicle_of(moving.layout, moving.nominal, moving.z + d)
        inputs = RotorInputs(*(own.rotors + own.rotors_slope * (vehicle.rotor_delay - base.rotor_delay)))
        accel_shift = own.accel_slope * (vehicle.accel_delay - base.accel_delay)
        x = plus(x, error)
        later = own.pose_later - vehicle.pose_delay
        reading = read_imu(vehicle, x, inputs)
        return (
            minus(advance(vehicle, x, inputs), after),
            reading,
            accel_shift,
            *read_pose(vehicle, x, inputs, later),
        )

    h = 1e-5
    for k in (0, 100, CHUNK - 1):
        error, d = rng.normal(size=30), rng.normal(size=moving.layout.size)
        own = Readings(*(part[k] for part in moving.readings))
        at = moving.x[k], moving.after[k], own
        up, down = (nonlinear(s * h * error, s * h * d, *at) for s in (1.0, -1.0))
        slope = [(np.asarray(a) - np.asarray(b)) / (2.0 * h) for a, b in zip(up, down, strict=True)]
        here = nonlinear(0.0 * error, 0.0 * d, *at)
        np.testing.assert_allclose(linear.F[k] @ error + linear.G[k] @ d, slope[0], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(linear.c[k], here[0], atol=1e-9)
        reading = slope[1] - np.concatenate([np.zeros(3), slope[2]])
        turned = (
            2.0 * np.asarray([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]) @ conjugate_times(here[4], slope[4])
        )
        wanted = np.concatenate([reading, slope[3], turned])
        np.testing.assert_allclose(linear.H[k] @ error + linear.D[k] @ d, wanted, rtol=1e-4, atol=1e-4)
        read = np.concatenate([own.gyro, own.accel]) - np.asarray(here[1])
        np.testing.assert_allclose(linear.r[k][:6], read, atol=1e-9)


def conjugate_times(p, q):
    """Quaternion p* q, both (4,)."""
    (a, *u), (b, *v) = np.asarray(p), np.asarray(q)
    u, v = -np.array(u), np.array(v)
    return np.concatenate([[a * b - u @ v], a * v + b * u + np.cross(u, v)])


def test_rotor_columns_are_what_other_speeds_do_over_a_step(moving):
    """In still air, which is what they are for: thrust and torque of a speed that is wrong throughout the step."""
    vehicle = vehicle_of(moving.layout, moving.nominal, moving.z)
    x, rotors = moving.x[7], moving.readings.rotors[7]
    columns = np.asarray(rotor_columns(vehicle, x, rotors[4]))
    step = jax.jit(lambda inputs: minus(advance(vehicle, x, RotorInputs(*inputs)), x))
    for i in range(ROTORS):
        faster = np.zeros((6, ROTORS))
        faster[:3, i] = 2.0 * rotors[2, i], 2.0 * rotors[2, i], 0.0  # per rad/s
        difference = np.asarray(step(rotors + 0.5 * faster) - step(rotors - 0.5 * faster))
        scale = np.abs(difference[[*range(3, 6), *range(9, 12)]]).max()
        np.testing.assert_allclose(columns[3:6, i], difference[3:6], atol=0.1 * scale)
        np.testing.assert_allclose(columns[9:12, i], difference[9:12], atol=0.1 * scale)
    assert not columns[[*range(3), *range(6, 9), *range(12, 30)]].any()


def test_pose_residuals_are_measured_minus_predicted(moving):
    rng = np.random.default_rng(5)
    vehicle = vehicle_of(moving.layout, moving.nominal, moving.z)
    x, rotors = moving.x[:2], moving.readings.rotors[:2]
    later = rng.uniform(-0.01, 0.01, (2, 3))
    shift = 0.1 * rng.normal(size=(2, 3, 3))
    read = jax.jit(
        lambda a, b, t: jnp.concatenate(read_pose(vehicle, a, RotorInputs(*b), t - vehicle.pose_delay))
    )
    poses = np.array([[read(x[i], rotors[i], later[i, j]) for j in range(3)] for i in range(2)])
    poses[..., :3] += shift
    residuals = jax.jit(partial(pose_residuals, moving.layout))
    found = np.asarray(residuals(moving.nominal, moving.z, x, rotors, later, poses))
    np.testing.assert_allclose(found[..., :3], shift, atol=1e-12)
    np.testing.assert_allclose(found[..., 3:], 0.0, atol=1e-7)
