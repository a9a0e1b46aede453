"""Hover with an effectiveness that was just learnt: incremental inversion for attitude, plain inversion for position.

All in IMU axes; d = thrust axis (unit), W = body rate, u = squared rotor speeds, F, T, b = `Effectiveness`. Position
([Blaha2024], its method paper, with integral action added):

    a = kp (p_ref - p) - kv v + ki integral of (p_ref - p) + g,   inside limits                            (1)

The thrust axis is to point along a: with z = R^T a / |a| the rotation still to make, without any heading, is
theta = angle(d, z) d x z / |d x z|. Attitude, and the increment that gives the wanted angular acceleration (indices 0:
now, filtered):

    W_ref = k_theta theta,   alpha = k_W (W_ref - W)                                                       (2)
    (T + b / (2 w t)) (u - u_0) = alpha - W'_0 + b w'_0,      d^T F u = |a| cos(angle)                     (3)

t = lag of the motor with its lead. Rotors are asked for more than the speed wanted, so that their own lag tau becomes
t = tau / lead: w_cmd = w + lead (w_ref - w). The poles of (attitude, rate, motor) are put at -1 / (3 t), all three:

    k_W = 1 / (3 t),   k_theta = 1 / (9 t)                                                                 (4)

`haltere.control.allocation` solves (3) inside the limits of u; rotating the thrust axis comes first, then thrust, then
the rotation about it.
"""

from dataclasses import dataclass, replace
from typing import Self

import jax.numpy as jnp

from haltere.control.allocation import allocate_bounded, priority_weights
from haltere.estimation.throw.effectiveness import Effectiveness
from haltere.estimation.throw.thrust_axis import ThrustAxis
from haltere.foundation.arrays import Array, pytree
from haltere.lie import s2, so3

LEAD = 2.0
PRIORITY = (100.0, 100.0, 0.3, 10.0)
"""Across the thrust axis (two), about it, thrust."""
KP, KV, KI = 4.5, 4.0, 2.5
STEEPEST = 6.0
"""m/s2, largest horizontal acceleration that is asked for."""
HIGHEST = 8.0
"""m/s2, largest vertical one, up; down half of it."""
SLOW = 0.6
"""m/s: slower than this, and within `REACH`, the integral runs, against steady wind and a wrong thrust."""
REACH = 2.0
"""m: position errors beyond count as this."""
MOST = 4.0
"""m/s2, per axis, of the integral."""


@pytree
@dataclass(frozen=True)
class HoverController:
    """Gains and matrices for one vehicle."""

    effectiveness: Effectiveness
    axis: Array
    """(3,) d."""
    hover: Array
    """(m,) squared speeds in hover."""
    low: Array
    high: Array
    rate_gain: Array
    attitude_gain: Array
    lag: Array
    """() s, t of equation (3)."""
    frame: Array
    """(3, 3) columns: two directions across the thrust axis, and the axis."""
    integral: Array
    """(3,) m/s2."""

    @classmethod
    def from_effectiveness(cls, effectiveness: Effectiveness, thrust: ThrustAxis) -> Self:
        """Gains by equation (4) from the median time constant; speeds between idle and 97 % of the largest."""
        tau = jnp.clip(jnp.median(effectiveness.time_constant), 0.004, 0.1)
        lag = tau / LEAD
        across = s2.basis(thrust.axis)
        top = jnp.maximum(effectiveness.max_speed, 1.2 * jnp.sqrt(jnp.maximum(thrust.u, 1.0)))
        low = jnp.clip(effectiveness.idle_speed, 0.0, 0.3 * top)
        return cls(
            effectiveness,
            thrust.axis,
            thrust.u,
            low**2,
            (0.97 * top) ** 2,
            1.0 / (3.0 * lag),
            1.0 / (9.0 * lag),
            lag,
            jnp.concatenate([across, thrust.axis[:, None]], axis=1),
            jnp.zeros(3),
        )

    def acceleration(
        self, position: Array, velocity: Array, goal: Array, gravity: float, dt: float
    ) -> tuple["HoverController", Array]:
        """(3,) wanted specific force in the world by equation (1), and the controller with its integral moved on."""
        error = goal - position
        size = jnp.linalg.norm(error)
        error = error * jnp.minimum(1.0, REACH / jnp.maximum(size, 1e-9))
        near = (size < REACH) & (jnp.linalg.norm(velocity) < SLOW)
        integral = jnp.clip(self.integral + jnp.where(near, KI * dt, 0.0) * error, -MOST, MOST)
        a = KP * error - KV * velocity + integral
        flat = jnp.linalg.norm(a[:2])
        shrink = jnp.minimum(1.0, STEEPEST / jnp.maximum(flat, 1e-9))
        up = jnp.clip(a[2], -0.5 * HIGHEST, HIGHEST) + gravity
        return replace(self, integral=integral), jnp.stack([shrink * a[0], shrink * a[1], up])

    def command(
        self,
        wxyz: Array,
        wanted: Array,
        rate: Array,
        slope: Array,
        squared_speeds: Array,
        rotor_accelerations: Array,
        speeds: Array,
    ) -> Array:
        """(m,) motor commands in 0..1.

        Args:
            wxyz: (4,) q_WI.
            wanted: (3,) specific force, world, m/s2.
            rate: (3,) body rate, rad/s.
            slope: (3,) its derivative, low-passed, rad/s2.
            squared_speeds: (m,) squared speeds through the same low-pass.
            rotor_accelerations: (m,) through the same, rad/s2.
            speeds: (m,) now, rad/s.
        """
        effectiveness = self.effectiveness
        force = so3.from_wxyz(wxyz).T @ wanted
        size = jnp.linalg.norm(force)
        z = force / jnp.maximum(size, 1e-9)
        turn = jnp.cross(self.axis, z)
        sine, cosine = jnp.linalg.norm(turn), self.axis @ z
        fallback = self.frame[:, 0]
        about = jnp.where(sine > 1e-6, turn / jnp.maximum(sine, 1e-9), fallback)
        theta = jnp.arctan2(sine, cosine) * about
        alpha = self.rate_gain * (self.attitude_gain * theta - rate)
        quick = 2.0 * self.lag * jnp.maximum(speeds, 0.5 * jnp.sqrt(jnp.maximum(self.hover, 1.0)))
        G = self.frame.T @ (effectiveness.torque + effectiveness.spin / quick)
        turning = (
            self.frame.T @ (alpha - slope + effectiveness.spin @ rotor_accelerations) + G @ squared_speeds
        )
        thrust = jnp.maximum(size * cosine, 0.0)
        B = jnp.concatenate([G, (self.axis @ effectiveness.force)[None]])
        weights = priority_weights(B, self.low, self.high, jnp.asarray(PRIORITY))
        answer = allocate_bounded(
            B, jnp.concatenate([turning, thrust[None]]), self.low, self.high, weights, self.hover
        )
        goal = speeds + LEAD * (jnp.sqrt(jnp.maximum(answer.u, 0.0)) - speeds)
        return motor_command(effectiveness, goal)


def motor_command(effectiveness: Effectiveness, speed: Array) -> Array:
    """(m,) commands in 0..1 at which the motors settle at `speed` (m,) rad/s, by a d + c sqrt(d) + w_0 = w."""
    rise = jnp.maximum(speed - effectiveness.idle_speed, 0.0)
    # Where the fit of the curve is not usable, the straight line to the largest speed is.
    steep = jnp.maximum(effectiveness.max_speed - effectiveness.idle_speed, 1.0)
    sound = (effectiveness.root >= 0.0) & (effectiveness.linear >= -0.25 * steep)
    a, c = jnp.where(sound, effectiveness.linear, steep), jnp.where(sound, effectiveness.root, 0.0)
    inside = jnp.maximum(c * c + 4.0 * a * rise, 0.0)
    root = 2.0 * rise / jnp.maximum(c + jnp.sqrt(inside), 1e-6)
    return jnp.clip(root, 0.0, 1.0) ** 2
