"""How the state of a flight goes on from one node to the next, and what the sensors read there.

State of a node (31 numbers, `STATE`; its error has 30, the attitude's three): position p and velocity v of the centre
of mass in the world, attitude q, momentum rate W = w + I^-1 h with the rate w and the momentum h of the rotors,
disturbances (of the specific force, the velocity u of the air in the world, two of the angular acceleration, fast and
slow), biases of accelerometer and gyro:

    p' = v,   v' = R (F / m + f) + g,   q' = q w / 2,   W' = I^-1 (M - w x I W) + a,   w = W - I^-1 h          (1)

F, M = rotors and drag in air of velocity u (`haltere.dynamics.loads`), f, a = sums of the disturbances. With W no
derivative of the rotor speeds is needed. The disturbances are Ornstein-Uhlenbeck processes, that of the air around the
wind, the others around zero; the biases are random walks (`haltere.estimation.vehicle.marginal` knows them in closed
form).
"""

from math import factorial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from haltere.dynamics.loads import rotor_wrench
from haltere.dynamics.sensors.imu import lever_force
from haltere.estimation.vehicle.parameters import VehicleNumbers
from haltere.foundation.arrays import Array
from haltere.lie import so3

STATE = 31
ERROR = 30
NODE = 0.02
"""s between two nodes."""
DISTURBANCE = slice(12, 24)
"""Of the error: specific force, velocity of the air, angular acceleration fast and slow, three each."""
GUST = slice(3, 6)
"""Of the disturbances: the velocity of the air in the world."""
BIAS = slice(24, 30)
"""Of the error: accelerometer and gyro."""
SERIES = 6
"""Highest power of the squared half angle in the series of a rotation within a step."""
MOST_ROTATION = 1.0
"""rad up to which they are exact to rounding: 50 rad/s over a step."""
SLOWEST_FLOW = 1e-3  # m/s, below which drag is linear: |v| has a slope there


class RotorInputs(NamedTuple):
    """Rotor speeds around a node, (R,) each, in rad/s and (rad/s)^2.

    `square` and `speed` are means over the step to the next node, `early` the mean of squares with weights that fall
    linearly to zero: what acts early moves the vehicle farther. The others are values at the node.
    """

    square: Array
    early: Array
    speed: Array
    square_here: Array
    speed_here: Array
    slope_here: Array


def rotate_wxyz(q: Array, rotation: Array) -> Array:
    """The attitude (4,) after a rotation by a vector (3,) of at most `MOST_ROTATION`.

    Equal to `so3.box_plus_wxyz` up to rounding, by power series: without branches it is shorter to compile.
    """
    square = 0.25 * (rotation @ rotation)
    cos, sin = jnp.zeros(()), jnp.zeros(())
    for k in range(SERIES, -1, -1):
        cos = 1.0 / factorial(2 * k) - square * cos
        sin = 1.0 / factorial(2 * k + 1) - square * sin
    return so3.multiply_wxyz(q, jnp.concatenate([cos[None], 0.5 * sin * rotation]))


def plus(x: Array, error: Array) -> Array:
    """The state (31,) moved by an error (30,)."""
    q = so3.box_plus_wxyz(x[6:10], error[6:9])
    return jnp.concatenate([x[:6] + error[:6], q, x[10:] + error[9:]])


def minus(y: Array, x: Array) -> Array:
    """The error (30,) from x to y."""
    return jnp.concatenate([y[:6] - x[:6], so3.box_minus_wxyz(y[6:10], x[6:10]), y[10:] - x[10:]])


def spin_momentum(vehicle: VehicleNumbers, speed: Array) -> Array:
    """(3,) angular momentum of the rotors, N m s."""
    return (vehicle.spin * vehicle.spin_inertia * speed) @ vehicle.axis


def wrench_of_air(
    vehicle: VehicleNumbers, square: Array, speed: Array, v: Array, w: Array
) -> tuple[Array, Array]:
    """Force (3,) and moment (3,) about the centre of mass, body axes, of rotors and drag.

    Beside equations (2) and (3) of `haltere.dynamics.loads` a rotor has thrust by flow across it and a pitching moment,
    n c_x v_t^2 and c_p |w| n x v_t; drag per mass is -(l + q |v|) v at the centre of pressure.

    Args:
        vehicle: its numbers.
        square: (R,) squared speeds.
        speed: (R,) speeds.
        v: (3,) velocity of the centre of mass against the air, body axes.
        w: (3,) rate.
    """
    arms = vehicle.position - vehicle.com
    turns = vehicle.spin[:, None] * vehicle.axis
    twist, still = jnp.concatenate([v, w]), jnp.zeros(3)
    wrenches = jax.vmap(rotor_wrench, in_axes=(0, None, 0, 0, 0, 0, 0, 0, 0, None))(
        turns, twist, arms, vehicle.spin, vehicle.thrust, vehicle.thrust * vehicle.torque_ratio, vehicle.inflow,
        square, speed, still,
    )  # fmt: skip
    u = v + jnp.cross(w, arms)
    along = jnp.sum(vehicle.axis * u, axis=1)[:, None]
    across = u - along * vehicle.axis
    lift = (vehicle.cross * jnp.sum(across**2, axis=1))[:, None] * vehicle.axis
    pitching = (vehicle.pitching * speed)[:, None] * jnp.cross(vehicle.axis, across)
    flow = jnp.sqrt(v @ v + SLOWEST_FLOW**2)
    drag = -vehicle.mass * (vehicle.linear_drag + vehicle.quadratic_drag * flow) * v
    force = jnp.sum(wrenches[:, :3] + lift, axis=0) + drag
    moment = jnp.sum(wrenches[:, 3:] + pitching + jnp.cross(arms, lift), axis=0)
    return force, moment + jnp.cross(vehicle.pressure, drag)


def advance(vehicle: VehicleNumbers, x: Array, inputs: RotorInputs) -> Array:
    """The state one node later by (1): the midpoint rule, with rotor speeds as means over the step."""
    p, v, q, W = x[:3], x[3:6], x[6:10], x[10:13]
    force_left, air, torque_left = x[13:16], x[16:19], x[19:22] + x[22:25]
    inverse = vehicle.inverse_inertia
    spin = inverse @ spin_momentum(vehicle, inputs.speed)

    def rates(q: Array, v: Array, W: Array) -> tuple[Array, Array]:
        R, w = so3.from_wxyz(q), W - spin
        force, moment = wrench_of_air(vehicle, inputs.square, inputs.speed, R.T @ (v - air), w)
        turn = inverse @ (moment - jnp.cross(w, vehicle.inertia @ W)) + torque_left
        return R @ (force / vehicle.mass + force_left) + vehicle.gravity, turn

    a, turn = rates(q, v, W)
    half = 0.5 * NODE
    middle = rotate_wxyz(q, half * (W - spin) + 0.5 * half**2 * turn)
    a, turn = rates(middle, v + half * a, W + half * turn)
    # What acts early in the step moves farther: the difference of the two means, in still air.
    more = vehicle.thrust * (inputs.early - inputs.square)
    arms = vehicle.position - vehicle.com
    twist = jnp.cross(arms, vehicle.axis) - (vehicle.spin * vehicle.torque_ratio)[:, None] * vehicle.axis
    a_more = so3.from_wxyz(middle) @ (more @ vehicle.axis) / vehicle.mass
    turned = NODE * (W + half * turn - spin) + 0.5 * NODE**2 * (inverse @ (more @ twist))
    turned = turned + NODE**3 / 12.0 * jnp.cross(W - spin, turn)  # the axis of rotation moves within the step
    q1 = rotate_wxyz(q, turned)
    return jnp.concatenate(
        [
            p + NODE * v + 0.5 * NODE**2 * (a + a_more),
            v + NODE * a,
            q1 / jnp.sqrt(q1 @ q1),
            W + NODE * turn,
            x[13:],
        ]
    )


def rates_and_readings(
    vehicle: VehicleNumbers, x: Array, inputs: RotorInputs, later: Array
) -> tuple[Array, ...]:
    """Rates of the state at a node, and what its sensors read.

    Args:
        vehicle: its numbers.
        x: (31,) state.
        inputs: rotor speeds; those at the node count.
        later: s after the node of the pose, by a Taylor step.

    Returns:
        (6,) rates of position and velocity, (3,) w, (3,) rate of W, (6,) gyro and accelerometer, (3,) position and (4,)
        attitude of the pose sensor.
    """
    v, q, W = x[3:6], x[6:10], x[10:13]
    inverse = vehicle.inverse_inertia
    w = W - inverse @ spin_momentum(vehicle, inputs.speed_here)
    R = so3.from_wxyz(q)
    force, moment = wrench_of_air(vehicle, inputs.square_here, inputs.speed_here, R.T @ (v - x[16:19]), w)
    specific = force / vehicle.mass + x[13:16]
    turn = inverse @ (moment - jnp.cross(w, vehicle.inertia @ W)) + x[19:22] + x[22:25]
    answer = turn - inverse @ spin_momentum(vehicle, inputs.slope_here)
    at_imu = specific + lever_force(w, answer, vehicle.imu_position - vehicle.com)
    gyro = vehicle.gyro_gain * (vehicle.R_BI.T @ w) + x[28:31]
    accel = vehicle.accel_gain @ (vehicle.R_BI.T @ at_imu) + x[25:28]
    moved = jnp.concatenate([v, R @ specific + vehicle.gravity])
    q1 = rotate_wxyz(q, later * w + 0.5 * later**2 * answer)
    centre = x[:3] + later * v + 0.5 * later**2 * moved[3:]
    place = centre + so3.from_wxyz(q1) @ (vehicle.pose_position - vehicle.com)
    return moved, w, turn, jnp.concatenate([gyro, accel]), place, so3.multiply_wxyz(q1, vehicle.pose_wxyz)


def read_imu(vehicle: VehicleNumbers, x: Array, inputs: RotorInputs) -> Array:
    """(6,) gyro and accelerometer at a node."""
    return rates_and_readings(vehicle, x, inputs, jnp.zeros(()))[3]


def read_pose(vehicle: VehicleNumbers, x: Array, inputs: RotorInputs, later: Array) -> tuple[Array, Array]:
    """Position (3,) and attitude (4,) of the pose sensor `later` s after a node."""
    *_, place, q = rates_and_readings(vehicle, x, inputs, later)
    return place, q
