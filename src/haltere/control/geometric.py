"""Geometric tracking control on SE(3) for vehicles with any rotors, after [Lee2010].

Everything acts on the centre of mass (position x, velocity v, world axes) and in hover axes H
(`haltere.trajectory.hovering`), with e_x = x - x_ref, e_v = v - v_ref, feed-forward a_ref from the reference,
and k_* = `gains`:

    F = m (a_ref + g e_z - k_x e_x - k_v e_v - i),   i' = k_i e_x                                         (1)
    R_d = `attitude`(F, yaw)                       tilts only by what cannot be pushed sideways            (2)
    e_R = 2 sign(q_0) q_v of q = R_d^T R           a rotation vector for small errors, never zero but at R_d (3)
    w_d = R^T R_ref w_ref,  e_w = w - w_d                                                                 (4)
    M = J (R^T R_ref w'_ref - w x w_d - k_R e_R - k_w e_w - j e_3) + w x J w,   j' = k_j e_3 . e_R        (5)
    u = bounded allocation of (R^T F, M)                                                                  (6)

R_ref, w_ref, w'_ref come from the reference by flatness (jerk, snap). F is kept in a cone about the vertical
and within the thrust that the rotors have, and (k_R / k_w) e_R within `rate_limit`. For vehicles that must
tilt, only the part of F along the hover axis counts in (6). Mass, inertia, centre of mass, allocation, limits
and gains are leaves: other beliefs are other numbers.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp

from haltere.control.allocation import Allocation, allocate_bounded, priority_weights
from haltere.control.controller import GeometricController, Integral
from haltere.dynamics import State
from haltere.foundation.arrays import Array, ArrayLike
from haltere.lie import so3
from haltere.trajectory import Reference, attitude, flat_motion, reference_tilt

PRIORITY = (1e-4, 1e-4, 0.3, 1.0, 1.0, 1e-3)
"""Sideways forces, thrust, roll, pitch, yaw: what matters when not all of the wrench fits."""
MIN_VERTICAL_FORCE = 0.15
"""Least upward force over weight."""
FEEDBACK_LIMIT = 1.0
"""Largest acceleration asked for by the position error, over gravity; a far step is approached at constant speed."""
INTEGRAL_LIMIT = 0.4
"""Largest acceleration of the integral part, over gravity."""


def wanted_force(
    controller: GeometricController, error: Array, error_rate: Array, feed_forward: Array, integral: Array
) -> Array:
    """(3,) force of equation (1), world axes, N, inside cone and thrust.

    Args:
        controller: gains, mass, limits.
        error: (3,) e_x, m.
        error_rate: (3,) e_v, m/s.
        feed_forward: (3,) a_ref, m/s2.
        integral: (3,) i, m/s2.
    """
    vehicle, gains = controller.vehicle, controller.gains
    pull = _shortened(gains.position * error, FEEDBACK_LIMIT * vehicle.gravity)
    up = jnp.asarray([0.0, 0.0, 1.0], error.dtype) * vehicle.gravity
    force = vehicle.mass * (feed_forward + up - pull - gains.velocity * error_rate - integral)
    most = _most_thrust(controller)
    lift = jnp.clip(force[2], MIN_VERTICAL_FORCE * vehicle.weight, 0.95 * most)
    across = jnp.minimum(lift * jnp.tan(controller.tilt_limit), jnp.sqrt(jnp.maximum(most**2 - lift**2, 0.0)))
    return jnp.concatenate([_shortened(force[:2], across), lift[None]])


def _most_thrust(controller: GeometricController) -> Array:
    """() thrust at which the first rotor meets its upper limit, torque zero, N."""
    vehicle = controller.vehicle
    return vehicle.weight * jnp.min(vehicle.high / jnp.maximum(controller.hover.command, 1e-3 * vehicle.high))


def _shortened(vector: Array, longest: Array) -> Array:
    """`vector`, at most `longest` long."""
    length = jnp.sqrt(jnp.maximum(vector @ vector, 1e-24))
    return vector * jnp.minimum(1.0, longest / length)


def wrench(
    controller: GeometricController, state: State, reference: Reference, integral: Integral | None = None
) -> tuple[Array, Array, Array]:
    """Equations (1) to (5).

    Returns:
        (6,) wanted wrench about the centre of mass, hover axes, force first (N, N m); (3,) e_x (m); (3,) e_R (rad).
    """
    vehicle, hover, gains = controller.vehicle, controller.hover, controller.gains
    gathered = integral or Integral.zero(vehicle.mass.dtype)
    reference = jax.tree.map(lambda x: jnp.asarray(x, vehicle.mass.dtype), reference)
    motion = flat_motion(vehicle, hover, reference)
    R_WB = state.R_WB
    R, rate = R_WB @ hover.frame, hover.frame.T @ state.twist[3:]
    position = state.position + R_WB @ vehicle.com
    velocity = R_WB @ (state.twist[:3] + so3.hat(state.twist[3:]) @ vehicle.com)
    error = position - motion.com_position
    force = wanted_force(
        controller,
        error,
        velocity - motion.com_velocity,
        motion.com_acceleration,
        gathered.force,
    )
    R_d = attitude(force, reference.yaw, reference_tilt(reference, hover), hover.lateral, vehicle.weight)
    turn = 2.0 * so3.to_wxyz(R_d.T @ R)[1:]
    back = R.T @ motion.R_WH
    rate_d, limit = back @ motion.rate, controller.rate_limit
    wanted = (
        back @ motion.acceleration
        - so3.hat(rate) @ rate_d
        - gains.rate * (rate - rate_d + jnp.clip(gains.attitude / gains.rate * turn, -limit, limit))
        - gathered.yaw * jnp.asarray([0.0, 0.0, 1.0], rate.dtype)
    )
    inertia = hover.frame.T @ vehicle.inertia @ hover.frame
    torque = inertia @ wanted + so3.hat(rate) @ (inertia @ rate)
    return jnp.concatenate([R.T @ force, torque]), error, turn


def allocate(controller: GeometricController, wanted: Array) -> Allocation:
    """Equation (6) for `wanted` (6,) in hover axes about the centre of mass.

    Thrust is kept from a little above zero, so that there is torque upside down too, to what the rotors have,
    and yaw to what they have at hover: wishes far beyond the limits would draw on the rows that matter more.
    """
    vehicle, hover = controller.vehicle, controller.hover
    table = hover.allocation(vehicle)
    thrust = jnp.clip(wanted[2], MIN_VERTICAL_FORCE * vehicle.weight, _most_thrust(controller))
    room = jnp.maximum(hover.command - vehicle.low, vehicle.high - hover.command)
    yaw = jnp.clip(wanted[5], -jnp.abs(table[5]) @ room, jnp.abs(table[5]) @ room)
    wanted = wanted.at[2].set(thrust).at[5].set(yaw)
    priority = jnp.asarray(PRIORITY, table.dtype)
    sideways = jnp.asarray([1.0, 1.0, 0.0, 0.0, 0.0, 0.0], table.dtype)
    priority = jnp.where(hover.lateral > 0.0, priority, priority * (1.0 - sideways))
    weights = priority_weights(table, vehicle.low, vehicle.high, priority)
    answer = allocate_bounded(table, wanted, vehicle.low, vehicle.high, weights)
    return replace(answer, u=jnp.where(answer.valid, answer.u, hover.command))


def lead_motors(controller: GeometricController, u: Array, rotor_rates: Array) -> Array:
    """(R,) squared speeds to command so that motors at `rotor_rates` (R,) rad/s reach `u` (R,) sooner."""
    speed = rotor_rates + controller.lead * (jnp.sqrt(jnp.maximum(u, 0.0)) - rotor_rates)
    sooner = jnp.clip(speed * jnp.abs(speed), controller.vehicle.low, controller.vehicle.high)
    return jnp.where((controller.lead > 1.0) & jnp.isfinite(sooner), sooner, u)


def command(controller: GeometricController, state: State, reference: Reference) -> Array:
    """(R,) squared rotor speeds, (rad/s)^2, inside the limits, without integral part."""
    wanted, *_ = wrench(controller, state, reference)
    return lead_motors(controller, allocate(controller, wanted).u, state.rotor_rates)


def control_step(
    controller: GeometricController, integral: Integral, state: State, reference: Reference, dt: ArrayLike
) -> tuple[Array, Integral]:
    """(R,) squared rotor speeds, (rad/s)^2, inside the limits, and the integral parts after `dt` s.

    They start at `Integral.zero()`, are bounded, and wait while their row of the wrench falls short.
    """
    gains, vehicle = controller.gains, controller.vehicle
    wanted, error, turn = wrench(controller, state, reference, integral)
    answer = allocate(controller, wanted)
    sinks = ~answer.valid | (jnp.abs(answer.residual[2]) > 0.05 * vehicle.weight)
    slips = ~answer.valid | jnp.any(answer.saturated)
    force = integral.force + dt * gains.integral * _shortened(error, jnp.ones((), error.dtype))
    yaw = integral.yaw + dt * gains.yaw_integral * jnp.clip(turn[2], -0.5, 0.5)
    later = Integral(
        jnp.where(sinks, integral.force, _shortened(force, INTEGRAL_LIMIT * vehicle.gravity)),
        jnp.where(slips, integral.yaw, jnp.clip(yaw, -gains.attitude[2], gains.attitude[2])),
    )
    return lead_motors(controller, answer.u, state.rotor_rates), later
