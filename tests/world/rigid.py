"""The rigid body with spinning rotors, of many flights at once.

The state is position p (world) and velocity v (world) of the body's origin, the attitude q (body to world) and the
angular velocity w (body axes). With mass m, centre of gravity c, inertia I about it (rotors included, axisymmetric
about their axes), force F and torque T about the origin without gravity, all in body axes, and the rotors' angular
momentum h = sum s J W a relative to the body (s = +1 for ccw, J inertia about the axis a, W speed),

    (1)  I dw = T - c x F - w x (I w + h) - dh
    (2)  f = F / m - dw x c - w x (w x c)            specific force of the origin
    (3)  dv = R f + g,  dp = v,  dq = q (0, w) / 2.

Newton and Euler as in Hughes, Spacecraft Attitude Dynamics (1986), sections 3.3-3.4: body with wheels.
"""

from dataclasses import dataclass, replace

import numpy as np
from tests.world.vectors import (
    apply,
    apply_transposed,
    cross,
    dot,
    inverse,
    normalize,
    quaternion_rate,
    rotation_matrix,
)

GRAVITY = 9.80665  # m/s2


@dataclass(frozen=True)
class MassProperties:
    """Mass (N), centre of gravity (3, N) from the origin, inertia (3, 3, N) about it, body axes, SI units."""

    mass: np.ndarray
    com: np.ndarray
    inertia: np.ndarray
    inverse_inertia: np.ndarray

    @classmethod
    def of(cls, mass, com, inertia):
        return cls(mass, com, inertia, inverse(inertia))


@dataclass(frozen=True)
class Motion:
    """Position and velocity (3, N) of the origin in world axes, wxyz (4, N), rate (3, N) in body axes."""

    position: np.ndarray
    wxyz: np.ndarray
    velocity: np.ndarray
    rate: np.ndarray

    def along(self, slope: "Motion", step: float) -> "Motion":
        """Moved along a derivative of the same form by `step`, attitude not normalized."""
        return Motion(
            self.position + step * slope.position,
            self.wxyz + step * slope.wxyz,
            self.velocity + step * slope.velocity,
            self.rate + step * slope.rate,
        )

    def normalized(self) -> "Motion":
        return replace(self, wxyz=normalize(self.wxyz))


@dataclass(frozen=True)
class Wrench:
    """Force and torque about the origin (3, N) without gravity; spin momentum h and its derivative dh (3, N)."""

    force: np.ndarray
    torque: np.ndarray
    spin: np.ndarray
    spin_rate: np.ndarray


def accelerations(body: MassProperties, rate, wrench: Wrench):
    """Specific force of the origin and angular acceleration, (1) and (2), body axes."""
    momentum = apply(body.inertia, rate) + wrench.spin
    torque = wrench.torque - cross(body.com, wrench.force) - cross(rate, momentum) - wrench.spin_rate
    turn = apply(body.inverse_inertia, torque)
    centripetal = cross(rate, cross(rate, body.com))
    return wrench.force / body.mass - cross(turn, body.com) - centripetal, turn


def derivative(body: MassProperties, motion: Motion, wrench: Wrench, attitude=None):
    """Derivative of the motion (3), with the specific force and the angular acceleration.

    `attitude` is R_WB (3, 3, N) where the caller has it already.
    """
    force, angular = accelerations(body, motion.rate, wrench)
    velocity_rate = apply(rotation_matrix(motion.wxyz) if attitude is None else attitude, force)
    velocity_rate[2] -= GRAVITY
    slope = Motion(motion.velocity, quaternion_rate(motion.wxyz, motion.rate), velocity_rate, angular)
    return slope, force, angular


def step_rk4(body: MassProperties, motion: Motion, wrench, start: float, step: float) -> Motion:
    """One step of the classical Runge-Kutta method; `wrench(time, motion)` gives the wrench."""
    k1 = derivative(body, motion, wrench(start, motion))[0]
    half = motion.along(k1, step / 2).normalized()
    k2 = derivative(body, half, wrench(start + step / 2, half))[0]
    half = motion.along(k2, step / 2).normalized()
    k3 = derivative(body, half, wrench(start + step / 2, half))[0]
    end = motion.along(k3, step).normalized()
    k4 = derivative(body, end, wrench(start + step, end))[0]
    moved = motion.along(k1, step / 6).along(k2, step / 3).along(k3, step / 3).along(k4, step / 6)
    return moved.normalized()


def energy(body: MassProperties, motion: Motion):
    """Kinetic energy of the body without its rotors' spin and its potential energy, J (N)."""
    center = motion.velocity + apply(rotation_matrix(motion.wxyz), cross(motion.rate, body.com))
    kinetic = body.mass * dot(center, center) + dot(motion.rate, apply(body.inertia, motion.rate))
    height = motion.position[2] + apply(rotation_matrix(motion.wxyz), body.com)[2]
    return 0.5 * kinetic, body.mass * GRAVITY * height


def momentum(body: MassProperties, motion: Motion, spin):
    """Linear momentum and angular momentum about the centre of gravity with the rotors' spin, world axes (3, N)."""
    attitude = rotation_matrix(motion.wxyz)
    linear = body.mass * (motion.velocity + apply(attitude, cross(motion.rate, body.com)))
    return linear, apply(attitude, apply(body.inertia, motion.rate) + spin)


def velocity_in_body(motion: Motion):
    """Velocity of the origin in body axes, m/s."""
    return apply_transposed(rotation_matrix(motion.wxyz), motion.velocity)
