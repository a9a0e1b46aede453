"""The model around a nominal motion and coordinates: equation (1) of `haltere.estimation.vehicle.marginal`.

Derivatives are taken in reverse: a node has 24 rows that the motion changes and more than a hundred columns.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from haltere.estimation.vehicle.motion import (
    DISTURBANCE,
    ERROR,
    NODE,
    RotorInputs,
    advance,
    minus,
    plus,
    rates_and_readings,
    read_pose,
)
from haltere.estimation.vehicle.parameters import (
    CoordinateLayout,
    NominalVehicle,
    VehicleNumbers,
    vehicle_of,
)
from haltere.foundation.arrays import Array
from haltere.lie import so3

MOTION = DISTURBANCE.start
"""Of the error: what a step changes by the motion; disturbances and biases go on by themselves."""


class Readings(NamedTuple):
    """What is read at K nodes, and the rotor inputs; (K, ...)."""

    rotors: Array
    """(6, R) `RotorInputs` at the delay of the linearisation."""
    rotors_slope: Array
    gyro: Array
    accel: Array
    accel_slope: Array
    pose_later: Array
    """() s, mean time of the poses of the node after it."""


class Linear(NamedTuple):
    """Equation (1) at K nodes."""

    F: Array
    G: Array
    c: Array
    H: Array
    D: Array
    r: Array
    rotor: Array
    """(30, R) what an error of the rotor speeds does over a step."""


def linearise(
    layout: CoordinateLayout, nominal: NominalVehicle, z: Array, x: Array, after: Array, readings: Readings
) -> tuple[Array, ...]:
    """F, G, c, H, D of (1), the predicted IMU residual and the rotor columns at nodes x (K, 31), `after` the next ones.

    The pose's rows of H and D are those of its reading at the mean time of the node's poses; its residual is made by
    `pose_residuals`.
    """
    base = vehicle_of(layout, nominal, z)

    def of_coordinates(z: Array) -> VehicleNumbers:
        return vehicle_of(layout, nominal, z)

    slopes = [leaf.reshape(-1, layout.size) for leaf in jax.tree.leaves(jax.jacfwd(of_coordinates)(z))]
    of_vehicle = jnp.concatenate(slopes)

    def one(x: Array, after: Array, own: Readings) -> tuple[Array, ...]:
        def f(error: Array, vehicle: VehicleNumbers) -> tuple[Array, tuple[Array, Array]]:
            inputs = RotorInputs(*(own.rotors + own.rotors_slope * (vehicle.rotor_delay - base.rotor_delay)))
            accel = own.accel + own.accel_slope * (vehicle.accel_delay - base.accel_delay)
            moved = plus(x, error)
            ahead = minus(advance(vehicle, moved, inputs), after)
            *_, imu, place, q = rates_and_readings(
                vehicle, moved, inputs, own.pose_later - vehicle.pose_delay
            )
            residual = jnp.concatenate([own.gyro, accel]) - imu
            pose = jnp.concatenate([place, so3.box_minus_wxyz(q, jax.lax.stop_gradient(q))])
            return jnp.concatenate([ahead[:MOTION], -residual, pose]), (ahead, residual)

        _, pull_back, (c, residual) = jax.vjp(f, jnp.zeros(ERROR), base, has_aux=True)
        states, vehicles = jax.vmap(pull_back)(jnp.eye(MOTION + 12))
        flat = jnp.concatenate([leaf.reshape(MOTION + 12, -1) for leaf in jax.tree.leaves(vehicles)], axis=1)
        coordinates = flat @ of_vehicle
        F = jnp.eye(ERROR).at[:MOTION].set(states[:MOTION])
        G = jnp.zeros((ERROR, layout.size)).at[:MOTION].set(coordinates[:MOTION])
        return (
            F, G, c, states[MOTION:], coordinates[MOTION:], residual, rotor_columns(base, x, own.rotors[4])
        )  # fmt: skip

    return jax.vmap(one)(x, after, readings)


def rotor_columns(vehicle: VehicleNumbers, x: Array, speed: Array) -> Array:
    """(30, R) change of velocity and momentum rate over a step per error of a rotor speed."""
    arms = vehicle.position - vehicle.com
    twist = jnp.cross(arms, vehicle.axis) - (vehicle.spin * vehicle.torque_ratio)[:, None] * vehicle.axis
    gain = 2.0 * NODE * jnp.abs(speed) * vehicle.thrust
    force = so3.from_wxyz(x[6:10]) @ (vehicle.axis.T * gain) / vehicle.mass
    turn = vehicle.inverse_inertia @ (twist.T * gain)
    return jnp.zeros((ERROR, speed.shape[0])).at[3:6].set(force).at[9:12].set(turn)


def pose_residuals(
    layout: CoordinateLayout,
    nominal: NominalVehicle,
    z: Array,
    x: Array,
    rotors: Array,
    later: Array,
    poses: Array,
) -> Array:
    """(K, P, 6) measured minus predicted position and attitude of every pose, each at its own time."""
    vehicle = vehicle_of(layout, nominal, z)

    def one(x: Array, rotors: Array, later: Array, pose: Array) -> Array:
        place, q = read_pose(vehicle, x, RotorInputs(*rotors), later - vehicle.pose_delay)
        return jnp.concatenate([pose[:3] - place, so3.box_minus_wxyz(pose[3:], q)])

    return jax.vmap(jax.vmap(one, in_axes=(None, None, 0, 0)))(x, rotors, later, poses)
