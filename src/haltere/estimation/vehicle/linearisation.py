"""The model around a nominal motion and coordinates: equation (1) of `haltere.estimation.vehicle.marginal`.

Derivatives are taken in reverse: a node has 24 rows that the motion changes and more than a hundred columns.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from haltere.estimation.vehicle.motion import (
    DISTURBANCE,
    ERROR,
    NODE,
    RotorInputs,
    advance,
    minus,
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
        def inputs(vehicle: VehicleNumbers) -> RotorInputs:
            return RotorInputs(*(own.rotors + own.rotors_slope * (vehicle.rotor_delay - base.rotor_delay)))

        def go_on(error: Array, vehicle: VehicleNumbers) -> tuple[Array, Array]:
            ahead = minus(advance(vehicle, shift(x, error), inputs(vehicle)), after)
            return ahead[:MOTION], ahead

        def read(error: Array, vehicle: VehicleNumbers) -> tuple[Array, Array]:
            accel = own.accel + own.accel_slope * (vehicle.accel_delay - base.accel_delay)
            *_, imu, place, q = rates_and_readings(
                vehicle, shift(x, error), inputs(vehicle), own.pose_later - vehicle.pose_delay
            )
            residual = jnp.concatenate([own.gyro, accel]) - imu
            return jnp.concatenate([-residual, place, rotated_by(q)]), residual

        _, back_step, c = jax.vjp(go_on, jnp.zeros(ERROR), base, has_aux=True)
        _, back_reading, residual = jax.vjp(read, jnp.zeros(ERROR), base, has_aux=True)
        F, G = slopes_of(back_step, MOTION)
        H, D = slopes_of(back_reading, 12)
        F = jnp.eye(ERROR).at[:MOTION].set(F)
        G = jnp.zeros((ERROR, layout.size)).at[:MOTION].set(G)
        return F, G, c, H, D, residual, rotor_columns(base, x, own.rotors[4])

    def slopes_of(pull_back: Callable[..., Any], rows: int) -> tuple[Array, Array]:
        """(rows, 30) in the error and (rows, n) in the coordinates."""
        states, vehicles = jax.vmap(pull_back, in_axes=-1, out_axes=-1)(jnp.eye(rows))
        flat = jnp.concatenate([leaf.reshape(-1, rows) for leaf in jax.tree.leaves(vehicles)])
        return states.T, flat.T @ of_vehicle

    found: tuple[Array, ...] = over_nodes(one)(x, after, readings)
    return found


def shift(x: Array, error: Array) -> Array:
    """`plus` for derivatives at an error (30,) of zero: equal to it up to second order, and short to compile."""
    q = so3.multiply_wxyz(x[6:10], jnp.concatenate([jnp.ones(1), 0.5 * error[6:9]]))
    q = q * (1.0 - 0.125 * (error[6:9] @ error[6:9]))
    return jnp.concatenate([x[:6] + error[:6], q, x[10:] + error[9:]])


def rotated_by(q: Array) -> Array:
    """(3,) zero, with the derivatives, up to the second, of the rotation vector of an attitude (4,)."""
    return 2.0 * so3.multiply_wxyz(jax.lax.stop_gradient(so3.conjugate_wxyz(q)), q)[1:]


def over_nodes(function: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.vmap` of a function whose arrays are small: nodes stand along the last axis of all that it computes.

    So loops run over many nodes instead of three components, which takes a third of the time.
    """

    def call(*args: Any) -> Any:
        last = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -1), args)
        found = jax.vmap(function, in_axes=-1, out_axes=-1)(*last)
        return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), found)

    return call


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
