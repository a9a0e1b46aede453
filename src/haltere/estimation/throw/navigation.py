"""Position, velocity and attitude of a flying vehicle from its IMU and positions of a tracker.

A Kalman filter of the errors of position, velocity, attitude (rotation on the left) and of the biases of gyro and
accelerometer, with the readings of both as input:

    dp' = dv,   dv' = -[R f]x dtheta + R db_a + noise,   dtheta' = R db_g + noise                          (1)

Before it begins, `level` gives the attitude of an IMU at rest up to heading, and `haltere.estimation.throw.alignment`
the rest.
"""

from dataclasses import dataclass, replace
from typing import Self

import jax.numpy as jnp

from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.lie import so3

FAR, PATIENCE = 5.0, 3
"""Deviations from which a position is doubted, and how many in a row are."""
WANDER = (1e-3, 1e-2)
"""rad/s and m/s2 per root s, of the biases."""


def level(accel: Array) -> Array:
    """(4,) quaternion q_LI of an IMU at rest whose mean reading is `accel` (3,): the shortest rotation to up."""
    up = accel / jnp.linalg.norm(accel)
    w = 1.0 + up[2]
    turn = jnp.stack([w, up[1], -up[0], jnp.zeros(())])
    half = jnp.asarray([0.0, 1.0, 0.0, 0.0])
    q = jnp.where(w > 1e-6, turn, half)
    return jnp.asarray(q / jnp.linalg.norm(q))


def about_up(angle: Array) -> Array:
    """(4,) quaternion of a rotation about the vertical by `angle`, rad."""
    return jnp.stack([jnp.cos(0.5 * angle), jnp.zeros(()), jnp.zeros(()), jnp.sin(0.5 * angle)])


def rotate_by_gyro(wxyz: Array, gyro: Array, dt: float) -> Array:
    """(4,) the attitude after a short time `dt`, s, with the rate `gyro` (3,), rad/s, body axes."""
    later = so3.multiply_wxyz(wxyz, jnp.concatenate([jnp.ones(1), 0.5 * dt * gyro]))
    return jnp.asarray(later / jnp.linalg.norm(later))


@pytree
@dataclass(frozen=True)
class Track:
    """The navigation filter."""

    position: Array
    velocity: Array
    wxyz: Array
    """(4,) q_WI."""
    bias: Array
    """(6,) to add to gyro and accelerometer, rad/s and m/s2, IMU axes."""
    P: Array
    """(15, 15) covariance of position, velocity, attitude and bias."""
    pushed: Array
    """(3,) integral of R f since the last position, m/s."""
    rotated: Array
    """(3, 3) integral of R, s."""
    doubted: Array
    """() positions in a row that were doubted."""

    @classmethod
    def aligned(cls, position: Array, velocity: Array, wxyz: Array, bias: Array, P: Array) -> Self:
        """At a first estimate with its covariance (15, 15)."""
        return cls(position, velocity, wxyz, bias, P, jnp.zeros(3), jnp.zeros((3, 3)), jnp.zeros(()))

    @classmethod
    def begin(cls, position: Array, velocity: Array, wxyz: Array, tilt: float, heading: Array) -> Self:
        """At a first estimate; `tilt` and `heading` are deviations in rad, biases small."""
        small = jnp.asarray([1e-4] * 3 + [0.1**2] * 3 + [tilt**2] * 2)
        few = jnp.asarray([0.01**2] * 3 + [0.05**2] * 3)
        P = jnp.diag(jnp.concatenate([small, jnp.reshape(heading**2, (1,)), few]))
        return cls.aligned(position, velocity, wxyz, jnp.zeros(6), P)

    def propagate(self, gyro: Array, accel: Array, gravity: float, dt: float) -> "Track":
        """One sample of the IMU: rate (3,) rad/s and specific force (3,) m/s2 at the centre of mass, IMU axes."""
        R = so3.from_wxyz(self.wxyz)
        push = R @ (accel + self.bias[3:])
        slope = push - jnp.asarray([0.0, 0.0, gravity])
        return replace(
            self,
            position=self.position + dt * self.velocity + 0.5 * dt**2 * slope,
            velocity=self.velocity + dt * slope,
            wxyz=rotate_by_gyro(self.wxyz, gyro + self.bias[:3], dt),
            pushed=self.pushed + dt * push,
            rotated=self.rotated + dt * R,
        )

    def correct(
        self,
        position: Array,
        sigma: ArrayLike,
        period: ArrayLike,
        walk: tuple[ArrayLike, ArrayLike],
        arm: Array | None = None,
        latency: ArrayLike = 0.0,
    ) -> "Track":
        """A position (3,) with deviation `sigma` m, `period` s after the last.

        One that is off by more than `FAR` deviations of what is expected counts as much less certain than it says.

        Args:
            position: m; of a marker, if there is an `arm`. One that is not finite only lets time pass.
            sigma: m.
            period: s.
            walk: m/s and rad per root s.
            arm: (2, 3) of the marker from the centre of mass, m, and its velocity from that of the centre, m/s; W axes.
            latency: s by which the position is late.
        """
        o, i, turned = jnp.zeros((3, 3)), jnp.eye(3), self.rotated
        period, late = jnp.asarray(period, float), jnp.asarray(latency, float)
        blown = -so3.hat(self.pushed)
        half = 0.5 * period
        Phi = jnp.block(
            [
                [i, period * i, half * blown, period / 6.0 * blown @ turned, half * turned],
                [o, i, blown, 0.5 * blown @ turned, turned],
                [o, o, i, turned, o],
                [o, o, o, i, o],
                [o, o, o, o, i],
            ]
        )
        sizes = (jnp.asarray(1e-4), walk[0], walk[1], jnp.asarray(WANDER[0]), jnp.asarray(WANDER[1]))
        grown = jnp.repeat(jnp.stack([jnp.asarray(size, float) ** 2 for size in sizes]) * period, 3)
        P = Phi @ self.P @ Phi.T + jnp.diag(grown)
        marker = jnp.zeros((2, 3)) if arm is None else arm
        H = jnp.concatenate([i, -late * i, -so3.hat(marker[0]), jnp.zeros((3, 6))], axis=1)
        off = position - self.position - marker[0] + late * (self.velocity + marker[1])
        seen = jnp.all(jnp.isfinite(off))
        off = jnp.where(seen, off, 0.0)
        expected = H @ P @ H.T + jnp.asarray(sigma) ** 2 * i
        distance = off @ jnp.linalg.inv(expected) @ off
        doubtful = distance > FAR**2
        doubt = jnp.where(doubtful & (self.doubted < PATIENCE), off @ off, 0.0)
        K = P @ H.T @ jnp.linalg.inv(expected + doubt * i)
        K = jnp.where(seen, K, 0.0)
        d = K @ off
        P = P - K @ H @ P
        wxyz = so3.multiply_wxyz(jnp.concatenate([jnp.ones(1), 0.5 * d[6:9]]), self.wxyz)
        return Track(
            self.position + d[:3],
            self.velocity + d[3:6],
            wxyz / jnp.linalg.norm(wxyz),
            self.bias + d[9:],
            0.5 * (P + P.T),
            jnp.zeros(3),
            jnp.zeros((3, 3)),
            jnp.where(seen, jnp.where(doubtful, self.doubted + 1.0, 0.0), self.doubted),
        )
