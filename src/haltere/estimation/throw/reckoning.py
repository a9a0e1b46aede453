"""Attitude, velocity and displacement of a thrown IMU from its readings, and what errors of these do to them.

In the hand the attitude q_LI follows the gyro and is drawn to up while the vehicle is quiet: to the mean of the first
`SETTLE` s, and from then on with that time constant. L is a level frame, rotated against the world by an unknown angle
about the vertical. From the moment at which the detector is armed, with W, f the readings of gyro and accelerometer at
the centre of mass and g gravity,

    R' = R [W]x,   v' = R f + g,   s' = v,   v(0) = s(0) = 0                                               (1)

The readings are off by pi = (tilt at the start (2), gyro bias (3), gyro scale (3), accelerometer bias (3), position of
the IMU (3)): W + b_g + diag(W) k, f + b_a - ([W']x + [W]x^2) r. The first-order effect on attitude (rotation on the
left), v and s is carried along:

    A' = R [0, 1, diag(W), 0, 0],   V' = -[R f]x A + R [0, 0, 0, 1, -([W']x + [W]x^2)],   S' = V           (2)

so that positions seen later can correct all of it at once (`haltere.estimation.throw.alignment`).
"""

from dataclasses import dataclass, replace
from typing import Self

import jax
import jax.numpy as jnp

from haltere.estimation.throw.navigation import level
from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.lie import so3

ERRORS = 14
"""Number of components of pi."""
SETTLE = 1.0
"""s."""
QUIET_FORCE, QUIET_RATE = 0.8, 1.0
"""m/s2 of specific force off gravity, and rad/s, below which the vehicle counts as quiet."""


@pytree
@dataclass(frozen=True)
class DeadReckoning:
    """Where (1) and (2) have come to; L axes."""

    wxyz: Array
    """(4,) q_LI."""
    rate: Array
    """(3,) last reading of the gyro, rad/s, IMU axes."""
    displacement: Array
    """(3,) s, m."""
    velocity: Array
    """(3,) v, m/s."""
    time: Array
    """() s since the start."""
    quiet: Array
    """() s for which the vehicle has been quiet."""
    of_attitude: Array
    """(3, 14) A, of_velocity (3, 14) V, of_displacement (3, 14) S."""
    of_velocity: Array
    of_displacement: Array

    @classmethod
    def begin(cls, accel: Array) -> Self:
        """In the hand, with a mean reading of the accelerometer at rest (3,) m/s2."""
        zero, none = jnp.zeros(3), jnp.zeros((3, ERRORS))
        tilt = none.at[0, 0].set(1.0).at[1, 1].set(1.0)
        return cls(level(accel), zero, zero, zero, jnp.zeros(()), jnp.zeros(()), tilt, none, none)

    def levelled(self, force: Array, gravity: ArrayLike, dt: float) -> "DeadReckoning":
        """Drawn towards up by a smoothed specific force (3,) m/s2, IMU axes, where the vehicle is quiet."""
        size = jnp.linalg.norm(force)
        quiet = (jnp.abs(size - gravity) < QUIET_FORCE) & (jnp.linalg.norm(self.rate) < QUIET_RATE)
        first = quiet & (self.quiet == 0.0)
        time = self.quiet + jnp.where(quiet, dt, 0.0)
        up = so3.from_wxyz(self.wxyz) @ force / jnp.maximum(size, 1e-9)
        gain = jnp.where(quiet, dt / jnp.clip(time, dt, SETTLE), 0.0)
        turned = so3.multiply_wxyz(so3.exp_wxyz(gain * jnp.stack([up[1], -up[0], jnp.zeros(())])), self.wxyz)
        return replace(self, wxyz=jnp.where(first, level(force), turned), quiet=time)

    def restarted(self, where: Array) -> "DeadReckoning":
        """With displacement and velocity set to zero, and only the tilt uncertain, if `where`."""
        fresh = DeadReckoning.begin(jnp.asarray([0.0, 0.0, 1.0]))
        fresh = replace(fresh, wxyz=self.wxyz, rate=self.rate, quiet=self.quiet)
        after: DeadReckoning = jax.tree.map(lambda a, b: jnp.where(where, a, b), fresh, self)
        return after

    def step(
        self,
        gyro: Array,
        accel: Array,
        lever: Array,
        swing: Array,
        gravity: ArrayLike,
        dt: float,
        runs: Array,
    ) -> "DeadReckoning":
        """One sample later; attitude always, the rest while it `runs`.

        Args:
            gyro: (3,) rad/s, IMU axes.
            accel: (3,) m/s2.
            lever: (3,) specific force of the IMU's position, m/s2.
            swing: (3, 3) [W']x + [W]x^2, 1/s2.
            gravity: m/s2.
            dt: s since the last sample.
            runs: ().
        """
        free = jnp.where(runs, dt, 0.0)
        middle = 0.5 * (gyro + self.rate)
        half = so3.exp_wxyz(0.5 * dt * middle)
        between = so3.multiply_wxyz(self.wxyz, half)
        after = so3.multiply_wxyz(between, half)
        R_middle, R = so3.from_wxyz(between), so3.from_wxyz(after)
        push = R @ (accel - lever)
        slope = push - jnp.stack([jnp.zeros(()), jnp.zeros(()), jnp.asarray(gravity, float)])
        none, one = jnp.zeros((3, 3)), jnp.eye(3)
        of_rate = R_middle @ jnp.concatenate([none[:, :2], one, jnp.diag(middle), none, none], axis=1)
        of_attitude = self.of_attitude + free * of_rate
        of_force = R @ jnp.concatenate([none[:, :2], none, none, one, -swing], axis=1)
        of_slope = of_force - so3.hat(push) @ of_attitude
        return DeadReckoning(
            after / jnp.linalg.norm(after),
            gyro,
            self.displacement + free * (self.velocity + 0.5 * free * slope),
            self.velocity + free * slope,
            self.time + free,
            self.quiet,
            of_attitude,
            self.of_velocity + free * of_slope,
            self.of_displacement + free * (self.of_velocity + 0.5 * free * of_slope),
        )
