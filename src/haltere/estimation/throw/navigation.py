"""Position, velocity and attitude of a flying vehicle from its IMU and positions of a tracker.

A Kalman filter of (position, velocity, attitude) error, rotation on the left, with the accelerometer as input:

    dp' = dv,   dv' = -[R f]x dtheta + noise,   dtheta' = noise                                            (1)

Before it begins, `level` gives the attitude of an IMU at rest up to heading, and `haltere.estimation.throw.alignment`
the rest.
"""

from dataclasses import dataclass
from typing import Self

import jax.numpy as jnp

from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.lie import so3

FAR = 5.0


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
    """The navigation filter: `wxyz` is q_WI, `P` (9, 9), `pushed` (3,) the integral of R f since the last position."""

    position: Array
    velocity: Array
    wxyz: Array
    P: Array
    pushed: Array

    @classmethod
    def begin(cls, position: Array, velocity: Array, wxyz: Array, tilt: float, heading: Array) -> Self:
        """At a first estimate; `tilt` and `heading` are deviations in rad."""
        small = jnp.asarray([1e-4] * 3 + [0.1**2] * 3 + [tilt**2] * 2)
        P = jnp.diag(jnp.concatenate([small, jnp.reshape(heading**2, (1,))]))
        return cls(position, velocity, wxyz, P, jnp.zeros(3))

    def propagate(self, gyro: Array, accel: Array, gravity: float, dt: float) -> "Track":
        """One sample of the IMU: rate (3,) rad/s and specific force (3,) m/s2 at the centre of mass, IMU axes."""
        push = so3.from_wxyz(self.wxyz) @ accel
        slope = push - jnp.asarray([0.0, 0.0, gravity])
        return Track(
            self.position + dt * self.velocity + 0.5 * dt**2 * slope,
            self.velocity + dt * slope,
            rotate_by_gyro(self.wxyz, gyro, dt),
            self.P,
            self.pushed + dt * push,
        )

    def correct(
        self,
        position: Array,
        sigma: ArrayLike,
        period: ArrayLike,
        walk: tuple[ArrayLike, ArrayLike],
        arm: Array | None = None,
        late: ArrayLike = 0.0,
    ) -> "Track":
        """A position (3,) with deviation `sigma` m, `period` s after the last.

        One that is off by more than `FAR` deviations of what is expected counts as much less certain than it says.

        Args:
            position: m; of a marker, if there is an `arm`. One that is not finite only lets time pass.
            sigma: m.
            period: s.
            walk: m/s and rad per root s.
            arm: (2, 3) of the marker from the centre of mass, m, and its velocity from that of the centre, m/s; W axes.
            late: s by which the position is late.
        """
        o, i = jnp.zeros((3, 3)), jnp.eye(3)
        period, late = jnp.asarray(period, float), jnp.asarray(late, float)
        blown = -so3.hat(self.pushed)
        Phi = jnp.block([[i, period * i, 0.5 * period * blown], [o, i, blown], [o, o, i]])
        grown = jnp.repeat(
            jnp.stack([jnp.asarray(1e-8), jnp.asarray(walk[0]) ** 2, jnp.asarray(walk[1]) ** 2]) * period, 3
        )
        P = Phi @ self.P @ Phi.T + jnp.diag(grown)
        marker = jnp.zeros((2, 3)) if arm is None else arm
        H = jnp.concatenate([i, -late * i, -so3.hat(marker[0])], axis=1)
        off = position - self.position - marker[0] + late * (self.velocity + marker[1])
        seen = jnp.all(jnp.isfinite(off))
        off = jnp.where(seen, off, 0.0)
        expected = H @ P @ H.T + jnp.asarray(sigma) ** 2 * i
        distance = off @ jnp.linalg.inv(expected) @ off
        doubt = jnp.where(distance > FAR**2, off @ off, 0.0)
        K = P @ H.T @ jnp.linalg.inv(expected + doubt * i)
        K = jnp.where(seen, K, 0.0)
        d = K @ off
        P = P - K @ H @ P
        wxyz = so3.multiply_wxyz(jnp.concatenate([jnp.ones(1), 0.5 * d[6:]]), self.wxyz)
        return Track(
            self.position + d[:3],
            self.velocity + d[3:6],
            wxyz / jnp.linalg.norm(wxyz),
            0.5 * (P + P.T),
            jnp.zeros(3),
        )
