"""What sensors read on a moving vehicle: true quantities of IMU, pose and rotors, then noise, bias, range and steps.

What an inertial sensor feels, `lever_force` and `specific_force_at`, serves simulator and filters alike.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from haltere.airframe import Imu, PoseSensor, PositionSensor
from haltere.dynamics import Environment, Model, Motion, State
from haltere.dynamics.sensors.noise import sample_sigma, walk, white
from haltere.dynamics.solve import spatial_accelerations
from haltere.dynamics.tree import kinematics
from haltere.foundation.arrays import Array
from haltere.lie import so3


def lever_force(rate: Array, slope: Array, p: Array) -> Array:
    """(3,) w' x p + w x (w x p): acceleration of a point p beyond the centre's, rate w (3,) and its slope w' (3,)."""
    w = so3.hat(rate)
    return so3.hat(slope) @ p + w @ (w @ p)


def specific_force_at(A: Array, V: Array, R_BI: Array, p: Array) -> tuple[Array, Array]:
    """Specific force (3,) m/s2 and rate (3,) rad/s in sensor axes, equation (1).

    With the spatial acceleration A = (a, alpha) against free fall and the twist V = (v, w), both about the body
    origin in body axes, a sensor at p with axes R_BI reads

        specific force  f_I = R_BI^T (a + alpha x p + w x (v + w x p)),   rate  w_I = R_BI^T w            (1)

    which is R_WI^T (p''_WI - g).
    """
    at_origin = A[:3] + so3.hat(V[3:]) @ V[:3]
    return R_BI.T @ (at_origin + lever_force(V[3:], A[3:], p)), R_BI.T @ V[3:]


@dataclass(frozen=True)
class ImuErrors:
    """Errors beyond the airframe file's noise: first biases, scale errors and misalignments by one-sigma size."""

    accel_bias: float = 0.0
    gyro_bias: float = 0.0
    scale: float = 0.0
    misalignment: float = 0.0


def sensor_frame(
    model: Model, state: State, link: int, position: Array, rotation: Array
) -> tuple[Array, Array]:
    """R_BI (3, 3) and p_BI (3,) of a frame fixed to a link."""
    nodes = kinematics(model, state)
    R = nodes.rotations[link]
    return R @ rotation, nodes.positions[link] + R @ position


def specific_force_and_rate(
    model: Model,
    states: State,
    motions: Motion,
    gravity: Array,
    link: int,
    position: Array,
    rotation: Array,
) -> tuple[Array, Array]:
    """(T, 3) specific force in m/s2 and (T, 3) angular rate in rad/s in sensor axes, at T instants."""

    def one(state: State, motion: Motion) -> tuple[Array, Array]:
        return sense_motion(model, state, motion, gravity, link, position, rotation)

    return jax.vmap(one)(states, motions)


def sense_motion(
    model: Model, state: State, motion: Motion, gravity: Array, link: int, position: Array, rotation: Array
) -> tuple[Array, Array]:
    """(3,) specific force in m/s2 and (3,) angular rate in rad/s at one instant."""
    nodes = kinematics(model, state)
    moving = (motion.acceleration, motion.joint_accelerations, motion.rotor_accelerations)
    A = spatial_accelerations(model, state, nodes, moving, Environment(gravity=gravity))[link]
    V = nodes.twists[link]
    R = nodes.rotations[link] @ rotation
    p = nodes.positions[link] + nodes.rotations[link] @ position
    return specific_force_at(A, V, R, p)


def imu_readings(
    model: Model,
    states: State,
    motions: Motion,
    gravity: Array,
    imu: Imu,
    rate: float,
    key: Array,
    errors: ImuErrors | None = None,
) -> dict[str, Array]:
    """Readings `accel` and `gyro` (T, 3) of an IMU at T instants, with `*_bias` (T, 3) beside.

    Noise and bias enter as (1 + scale + misalignment) f + bias + white, cut at the range.
    """
    errors = errors or ImuErrors()
    link = model.topology.link_names.index(imu.link)
    rotation = so3.from_wxyz(jnp.asarray(imu.wxyz))
    true = specific_force_and_rate(model, states, motions, gravity, link, jnp.asarray(imu.position), rotation)
    keys = jax.random.split(key, 8)
    readings: dict[str, Array] = {}
    specification = (
        (
            "accel",
            imu.sigma_accel,
            imu.sigma_accel_density,
            imu.sigma_accel_walk,
            imu.accel_range,
            errors.accel_bias,
        ),
        (
            "gyro",
            imu.sigma_gyro,
            imu.sigma_gyro_density,
            imu.sigma_gyro_walk,
            imu.gyro_range,
            errors.gyro_bias,
        ),
    )
    for i, (name, sigma, density, walking, limit, bias) in enumerate(specification):
        signal = true[i]
        samples = signal.shape[0]
        start = bias * jax.random.normal(keys[4 * i], (3,))
        drift = walk(keys[4 * i + 1], samples, 3, walking or 0.0, rate, start)
        skew = errors.misalignment * so3.hat(jax.random.normal(keys[4 * i + 2], (3,)))
        gain = jnp.eye(3) + jnp.diag(errors.scale * jax.random.normal(keys[4 * i + 3], (3,))) + skew
        noise = white(jax.random.fold_in(keys[4 * i], 1), samples, 3, sample_sigma(sigma, density, rate))
        reading = signal @ gain.T + drift + noise
        readings[name] = reading if limit is None else jnp.clip(reading, -limit, limit)
        readings[f"{name}_bias"] = drift
    return readings


def pose_readings(
    model: Model, states: State, sensor: PoseSensor | PositionSensor, key: Array
) -> dict[str, Array]:
    """Readings `position` (T, 3) in the world, m, and for a pose sensor `wxyz` (T, 4)."""
    link = model.topology.link_names.index(sensor.link)
    wxyz = jnp.asarray(sensor.wxyz if isinstance(sensor, PoseSensor) else (1.0, 0.0, 0.0, 0.0))

    def one(state: State) -> tuple[Array, Array]:
        R, p = sensor_frame(model, state, link, jnp.asarray(sensor.position), so3.from_wxyz(wxyz))
        return state.position + state.R_WB @ p, state.R_WB @ R

    position, R = jax.vmap(one)(states)
    keys = jax.random.split(key)
    readings = {"position": position + white(keys[0], len(position), 3, sensor.sigma_position or 0.0)}
    if isinstance(sensor, PoseSensor):
        turn = white(keys[1], len(position), 3, sensor.sigma_rotation or 0.0)
        readings["wxyz"] = jax.vmap(lambda r, d: so3.to_wxyz(so3.box_plus(r, d)))(R, turn)
    return readings


def rotor_readings(speed: Array, resolution: float, sigma: float, key: Array) -> Array:
    """(T, R) rotor speeds in rad/s as telemetry reports them: noisy and in steps of `resolution`."""
    return quantised(speed + white(key, speed.shape[0], speed.shape[1], sigma), resolution)


def quantised(values: Array, resolution: float) -> Array:
    """The values in whole steps of `resolution`; unchanged where it is zero."""
    return jnp.round(values / resolution) * resolution if resolution > 0.0 else values
