"""From a reference to the attitude, angular rates and wrench that fly it: differential flatness for any thrust axis.

The force on the centre of mass is F = m (a + g e_z). A vehicle that must tilt points its hover axis z_H along
F; one that can push sideways by up to l = `lateral` newton keeps the reference attitude z_r as long as that
suffices and tilts only by the rest ([Franchi2018]). With angle T between z_r and F:

    z_H = z_r                                       where T <= b,  sin b = l / max(|F|, m g)              (1)
    z_H = (sin(b) z_r + sin(T - b) F/|F|) / sin T   elsewhere; b = 0 is the quadrotor                     (2)
    x_H = y_r x z_H / |...|,  y_H = z_H x x_H,      R_WH = (x_H, y_H, z_H)                                  (3)

so yaw is the heading of x_H, and the sideways force shrinks with the thrust when the vehicle drops. Turning
follows by differentiating (1) to (3) twice along F(t) and yaw(t), with jerk and snap:

    w = vee(R^T R'),   w' = vee(R^T R'')                                                                  (4)

The reference is that of the body origin; the centre of mass c beside it moves with

    p_c = p + R c,  v_c = v + R (w x c),  a_c = a + R (w' x c + w x (w x c))                              (5)
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from haltere.dynamics.rigid import RigidVehicle
from haltere.foundation.arrays import Array, pytree
from haltere.lie import so3
from haltere.trajectory.hovering import HoverPoint
from haltere.trajectory.reference import Reference, yaw_wxyz


@pytree
@dataclass(frozen=True)
class FlatMotion:
    """Attitude and angular rates of the vehicle when it flies a reference exactly."""

    R_WH: Array
    """(3, 3) hover axes in the world."""
    rate: Array
    """(3,) angular velocity, hover axes, rad/s."""
    acceleration: Array
    """(3,) its derivative, rad/s2."""
    com_position: Array
    """(3,) of the centre of mass, world axes, m."""
    com_velocity: Array
    com_acceleration: Array


def reference_tilt(reference: Reference, hover: HoverPoint) -> Array:
    """(3, 3) hover axes that the reference asks for at yaw zero; upright where it does not say."""
    if reference.wxyz is None:
        return jnp.eye(3, dtype=hover.frame.dtype)
    back = so3.conjugate_wxyz(yaw_wxyz(reference.yaw))
    return so3.from_wxyz(so3.multiply_wxyz(back, reference.wxyz)) @ hover.frame


def attitude(force: Array, yaw: Array, tilt: Array, lateral: Array, weight: Array) -> Array:
    """(3, 3) R_WH by equations (1) to (3).

    Args:
        force: (3,) N, world axes.
        yaw: () rad.
        tilt: (3, 3) hover axes asked for at yaw zero.
        lateral: () sideways force that needs no tilt at hover, N.
        weight: () m g, N.
    """
    zero = jnp.zeros_like(yaw)
    turn = jnp.stack(
        [jnp.cos(yaw), -jnp.sin(yaw), zero, jnp.sin(yaw), jnp.cos(yaw), zero, zero, zero, zero + 1.0]
    )
    wanted = turn.reshape(3, 3) @ tilt
    y_r, z_r = wanted[:, 1], wanted[:, 2]
    force = jnp.where(
        force @ force > (1e-6 * weight) ** 2, force, 1e-6 * weight * z_r
    )  # weightless: any will do
    size = jnp.sqrt(force @ force)
    along = force / size
    across = so3.hat(z_r) @ along
    sine2, cosine = across @ across, z_r @ along
    apart = sine2 > 1e-16
    sine = jnp.sqrt(jnp.where(apart, sine2, 1.0))
    sine_b = jnp.minimum(lateral / jnp.maximum(size, weight), 0.999)
    cosine_b = jnp.sqrt(1.0 - sine_b * sine_b)
    keep = jnp.where(apart, sine_b / sine, 0.0)
    follow = jnp.where(apart, cosine_b - cosine * keep, 1.0)
    tilted = keep * z_r + follow * along
    inside = (lateral > 0.0) & (sine2 <= sine_b * sine_b) & (cosine > 0.0)
    z_h = jnp.where(inside, z_r, tilted)
    z_h = z_h / jnp.sqrt(z_h @ z_h)
    x_h = so3.hat(y_r) @ z_h
    x_h = x_h / jnp.sqrt(jnp.maximum(x_h @ x_h, 1e-12))
    return jnp.stack([x_h, so3.hat(z_h) @ x_h, z_h], axis=1)


def flat_motion(vehicle: RigidVehicle, hover: HoverPoint, reference: Reference) -> FlatMotion:
    """Equations (1) to (5) along a reference; the force is taken from the acceleration of the body origin."""
    up = jnp.asarray([0.0, 0.0, 1.0], vehicle.mass.dtype) * vehicle.gravity
    tilt = reference_tilt(reference, hover)

    def stand(t: Array) -> Array:
        push = reference.acceleration + up + t * (reference.jerk + 0.5 * t * reference.snap)
        yaw = reference.yaw + t * (reference.yaw_rate + 0.5 * t * reference.yaw_acceleration)
        return attitude(vehicle.mass * push, yaw, tilt, hover.lateral, vehicle.weight)

    def turn(t: Array) -> tuple[Array, Array]:
        return jax.jvp(stand, (t,), (jnp.ones_like(t),))

    now = jnp.zeros((), vehicle.mass.dtype)
    (R, first), (_, second) = jax.jvp(turn, (now,), (jnp.ones_like(now),))
    rate, acceleration = so3.vee(R.T @ first), so3.vee(R.T @ second)
    c = hover.frame.T @ vehicle.com
    swing = so3.hat(rate) @ c
    return FlatMotion(
        R,
        rate,
        acceleration,
        reference.position + R @ c,
        reference.velocity + R @ swing,
        reference.acceleration + R @ (so3.hat(acceleration) @ c + so3.hat(rate) @ swing),
    )


def flat_wrench(vehicle: RigidVehicle, hover: HoverPoint, motion: FlatMotion) -> Array:
    """(6,) force and torque about the centre of mass, hover axes, that the motion needs, N and N m."""
    up = jnp.asarray([0.0, 0.0, 1.0], vehicle.mass.dtype) * vehicle.gravity
    inertia = hover.frame.T @ vehicle.inertia @ hover.frame
    force = vehicle.mass * (motion.R_WH.T @ (motion.com_acceleration + up))
    torque = inertia @ motion.acceleration + so3.hat(motion.rate) @ (inertia @ motion.rate)
    return jnp.concatenate([force, torque])
