"""What the plain model of [Boehm2022] leaves out, as optional states: moving air, rotor momentum, motor lag, delay.

Named in `VehicleCoordinates.effects`; per unit of mass, in its coordinates, with n = alpha, e = spin, s = |w_i|:

    drag    u_i = v - R^T wind + w x r_i,   u_n = n (n . u_i)
            F_i = -axial s u_n - hub s (u_i - u_n)                            at the rotor                (1)
            F = -(linear + quadratic |v - R^T wind|) (v - R^T wind)           at the centre of mass       (2)
    wind    three numbers in world axes that walk; without this effect the air stands still
    spin    torque -d/dt (R h),  h = sum_i j_i e_i w_i n_i,  j_i = I_rotor / Iz                            (3)
    lag     w_i' = (u_i - w_i) / T with the given speeds u_i as the command of the motor                   (4)
    delay   the given speeds are `delay` old: u(t) - delay u'(t) stands for u(t - delay)                   (5)

These are the forces of `haltere.dynamics` for one rigid body, in coordinates that its parameters do not have; a test
holds them against it. With any effect the derivatives are those of the whole step by automatic differentiation: slower
than the structured ones of `vehicle_model`, and equal to them where both apply.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from haltere.dynamics.integrator import STAGES
from haltere.dynamics.sensors.imu import specific_force_at
from haltere.estimation.core.space import Mean
from haltere.estimation.vehicle.coordinates import VehicleCoordinates
from haltere.foundation.arrays import Array
from haltere.lie import so3

TINY = 1e-12
"""Keeps the speed of still air differentiable, m/s."""


class BodyInStep(NamedTuple):
    """What stays the same within a step."""

    ratios: Array
    """(3,) inertia over Iz."""
    force: Array
    """(3,) of the rotors in still air, m/s2."""
    moment: Array
    """(3,) of the same, E tau, rad/s2."""
    gravity: Array
    """(3,) world axes, m/s2."""
    wind: Array
    """(3,) world axes, m/s."""
    speeds: Array
    """(N,) |w|, rad/s."""
    alpha: Array
    """(N, 3)."""
    position: Array
    """(N, 3) r, m."""
    lever: Array
    """(N, 3) r m/Iz, 1/m."""
    drag: Array
    """(8,) axial, hub, linear (3,), quadratic (3,), over the mass."""
    momentum: Array
    """(3,) h, rad/s."""
    momentum_rate: Array
    """(3,) h', rad/s2."""


def body_of(
    coordinates: VehicleCoordinates, mean: Mean, speeds: Array, rotor_accelerations: Array
) -> BodyInStep:
    """The body with rotors at speeds (N,) rad/s and accelerations (N,) rad/s2."""
    squares = speeds * jnp.abs(speeds)
    b = coordinates.specific_force(mean["force"])
    alpha = b / jnp.sqrt(jnp.sum(b * b, axis=1, keepdims=True))
    ratios = jnp.concatenate([jnp.exp(mean["shape"]), jnp.ones(1)])
    position = coordinates.to_physical(coordinates.constants(mean))["rotor_position"]
    spin = momenta_of(coordinates, mean.get("spin", jnp.zeros(coordinates.count)), b)
    return BodyInStep(
        ratios,
        squares @ b,
        ratios * (squares @ mean["torque"]),
        mean["gravity"],
        mean.get("wind", jnp.zeros(3)),
        jnp.abs(speeds),
        alpha,
        position,
        position / jnp.exp(mean["log_scale"]),
        mean.get("drag", jnp.zeros(8)),
        speeds @ spin,
        rotor_accelerations @ spin,
    )


def momenta_of(coordinates: VehicleCoordinates, spin: Array, b: Array) -> Array:
    """(N, 3) h of equation (3) for each rad/s of each rotor, from the blocks `spin` (N,) and b (N, 3)."""
    alpha = b / jnp.sqrt(jnp.sum(b * b, axis=1, keepdims=True))
    return (jnp.asarray(coordinates.spins) * spin)[:, None] * alpha


def spin_answer(coordinates: VehicleCoordinates, mean: Mean) -> Array:
    """(N, 3) angular acceleration for each rad/s2 of each rotor."""
    momenta = momenta_of(coordinates, mean["spin"], coordinates.specific_force(mean["force"]))
    return -momenta / jnp.concatenate([jnp.exp(mean["shape"]), jnp.ones(1)])


def proper_acceleration(body: BodyInStep, wxyz: Array, twist: Array) -> Array:
    """(6,) spatial acceleration against free fall, body axes."""
    v, w = twist[:3], twist[3:]
    air = v - so3.from_wxyz(wxyz).T @ body.wind
    at_rotors = air + jnp.cross(w, body.position)
    along = jnp.sum(body.alpha * at_rotors, axis=1, keepdims=True) * body.alpha
    hub = -body.speeds[:, None] * (body.drag[0] * along + body.drag[1] * (at_rotors - along))
    speed = jnp.sqrt(air @ air + TINY**2)
    force = body.force + jnp.sum(hub, axis=0) - (body.drag[2:5] + body.drag[5:] * speed) * air
    moment = body.moment + jnp.sum(jnp.cross(body.lever, hub), axis=0) - body.momentum_rate
    moment = moment - jnp.cross(w, body.ratios * w + body.momentum)
    return jnp.concatenate([force - jnp.cross(w, v), moment / body.ratios])


def _slope(body: BodyInStep, state: Array) -> Array:
    wxyz, twist = state[3:7], state[7:13]
    R = so3.from_wxyz(wxyz)
    fall = jnp.concatenate([R.T @ body.gravity, jnp.zeros(3)])
    spin = jnp.concatenate([jnp.zeros(1), twist[3:]])
    turn = 0.5 * so3.multiply_wxyz(wxyz, spin)
    return jnp.concatenate([R @ twist[:3], turn, proper_acceleration(body, wxyz, twist) + fall])


def runge_kutta(slope: Callable[[Array], Array], state: Array, dt: Array) -> Array:
    """The state (13,) = (position, wxyz, twist) `dt` seconds later, with the simulator's stages."""
    change = total = jnp.zeros(13)
    for ahead, weight in STAGES:
        change = slope(state + ahead * dt * change)
        total = total + weight * dt * change
    return normalised(state + total)


def normalised(state: Array) -> Array:
    """The state (13,) with a quaternion of length one."""
    wxyz = state[3:7]
    return jnp.concatenate([state[:3], wxyz / jnp.sqrt(wxyz @ wxyz), state[7:]])


def delayed_speeds(
    coordinates: VehicleCoordinates, mean: Mean, reported: Array, rotor_accelerations: Array
) -> tuple[Array, Array]:
    """The speeds (N,) that act and their accelerations (N,), after the delay of equation (5)."""
    if "delay" in coordinates.effects:
        return reported - mean["delay"][0] * rotor_accelerations, rotor_accelerations
    return reported, rotor_accelerations


def advance(
    coordinates: VehicleCoordinates, mean: Mean, reported: Array, rotor_accelerations: Array, dt: Array
) -> Mean:
    """The dynamic blocks `dt` seconds later, with the given speeds (N,) and accelerations (N,)."""
    speeds, rotor_accelerations = delayed_speeds(coordinates, mean, reported, rotor_accelerations)
    later: Mean = {}
    if "lag" in coordinates.effects:
        now, T = mean["rotor_speed"], jnp.exp(mean["log_time_constant"][0])
        left = jnp.exp(-dt / T)
        later["rotor_speed"] = speeds + left * (now - speeds)
        pace = jnp.where(dt > 0.0, dt, 1.0)
        rotor_accelerations = (later["rotor_speed"] - now) / pace
        speeds = speeds + (1.0 - left) * (T / pace) * (now - speeds)
    body = body_of(coordinates, mean, speeds, rotor_accelerations)
    state = jnp.concatenate([mean["position"], mean["attitude"], mean["velocity"], mean["rates"]])
    end = runge_kutta(lambda at: _slope(body, at), state, dt)
    return {"position": end[:3], "attitude": end[3:7], "velocity": end[7:10], "rates": end[10:], **later}


def imu_reading(
    coordinates: VehicleCoordinates, mean: Mean, reported: Array, rotor_accelerations: Array
) -> Array:
    """(6,) specific force and rate that the IMU reads at the beginning of a step."""
    speeds, rotor_accelerations = delayed_speeds(coordinates, mean, reported, rotor_accelerations)
    if "lag" in coordinates.effects:
        rotor_accelerations = (speeds - mean["rotor_speed"]) / jnp.exp(mean["log_time_constant"][0])
        speeds = mean["rotor_speed"]
    twist = jnp.concatenate([mean["velocity"], mean["rates"]])
    A = proper_acceleration(body_of(coordinates, mean, speeds, rotor_accelerations), mean["attitude"], twist)
    R_MI = so3.from_wxyz(mean["imu_rotation"])
    bias = jnp.concatenate([mean["accel_bias"], mean["gyro_bias"]])
    return jnp.concatenate(specific_force_at(A, twist, R_MI, mean["imu_position"])) + bias


def linear_advance_of(
    coordinates: VehicleCoordinates, mean: Mean, reported: Array, rotor_accelerations: Array, dt: Array
) -> tuple[Mean, Array]:
    """`advance`, and the derivative of its errors (d, n + N) by those of the state and of the given speeds."""
    end, n = advance(coordinates, mean, reported, rotor_accelerations, dt), coordinates.space.dimension

    def moved(e: Array) -> Array:
        there = advance(
            coordinates, coordinates.space.plus(mean, e[:n]), reported + e[n:], rotor_accelerations, dt
        )
        return coordinates.dynamic.minus(there, end)

    return end, _slopes(moved, n + coordinates.count)


def linear_reading_of(
    coordinates: VehicleCoordinates, mean: Mean, reported: Array, rotor_accelerations: Array
) -> tuple[Array, Array]:
    """`imu_reading`, and its derivative (6, n + N)."""
    n = coordinates.space.dimension

    def moved(e: Array) -> Array:
        return imu_reading(
            coordinates, coordinates.space.plus(mean, e[:n]), reported + e[n:], rotor_accelerations
        )

    return imu_reading(coordinates, mean, reported, rotor_accelerations), _slopes(
        moved, n + coordinates.count
    )


def _slopes(function: Any, width: int) -> Array:
    slopes: Array = jax.jacfwd(function)(jnp.zeros(width))
    return slopes
