"""The same path flown at another pace, and with an attitude to hold.

A path is slowed by running its clock s(t) slower; with r = `rate` and E = `ease` seconds in which it gets
going and comes to rest,

    s'(t) = r h(t / E) h((T - t) / E),   h(x) = x^4 (35 - 84 x + 70 x^2 - 20 x^3) on 0..1                  (1)
    T = T_path / r + E = `duration`,     s(0) = 0,  s(T) = T_path                                         (2)

h is the least polynomial step with three vanishing derivatives at both ends, so the eased path starts and
ends at rest with continuous snap. Derivatives of y(s(t)) by the chain rule to fourth order.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.lie import so3
from haltere.trajectory.reference import Trajectory, TrajectoryError, Values, numbers, taylor


@pytree
@dataclass(frozen=True)
class Paced(Trajectory):
    """`path` flown `rate` times as fast, eased in and out over `ease` seconds, equations (1) and (2)."""

    path: Trajectory
    rate: Array
    ease: Array

    @property
    def duration(self) -> Array:  # type: ignore[override]
        """T of equation (2), s."""
        return self.path.duration / self.rate + self.easing

    @property
    def easing(self) -> Array:
        """E, at most as long as the path itself takes, s."""
        return jnp.minimum(self.ease, self.path.duration / self.rate)

    def clock(self, t: ArrayLike) -> Array:
        """s(t) of equation (1), s."""
        time, ease = so3.as_float(t), self.easing
        late = time > 0.5 * self.duration
        near = jnp.where(late, self.duration - time, time)
        safe = jnp.where(ease > 0.0, ease, 1.0)
        x = jnp.clip(near / safe, 0.0, 1.0)
        ramp = safe * x**5 * (7.0 - 14.0 * x + 10.0 * x * x - 2.5 * x * x * x)
        beyond = jnp.where(near > ease, near - ease, jnp.where(ease > 0.0, 0.0, near))
        run = self.rate * (jnp.where(ease > 0.0, ramp, 0.0) + beyond)
        return jnp.where(late, self.path.duration - run, run)

    def derivatives(self, t: ArrayLike) -> Array:
        """(5, 4) by the chain rule."""
        s = taylor(self.clock, t)
        y = self.path.derivatives(s[0])
        s1, s2, s3, s4 = s[1], s[2], s[3], s[4]
        return jnp.stack(
            [
                y[0],
                y[1] * s1,
                y[2] * s1**2 + y[1] * s2,
                y[3] * s1**3 + 3.0 * y[2] * s1 * s2 + y[1] * s3,
                y[4] * s1**4 + 6.0 * y[3] * s1**2 * s2 + y[2] * (3.0 * s2**2 + 4.0 * s1 * s3) + y[1] * s4,
            ]
        )

    def tilt(self, t: ArrayLike) -> Array | None:
        """The attitude that the path holds there."""
        return self.path.tilt(self.clock(t))


@pytree
@dataclass(frozen=True)
class Holding(Trajectory):
    """`path` flown with a fixed roll and pitch: `attitude` (4,) is q_WB at yaw zero, wxyz."""

    path: Trajectory
    attitude: Array

    @property
    def duration(self) -> Array:  # type: ignore[override]
        """That of the path, s."""
        return self.path.duration

    def derivatives(self, t: ArrayLike) -> Array:
        """(5, 4) of the path."""
        return self.path.derivatives(t)

    def tilt(self, t: ArrayLike) -> Array | None:
        """(4,) the attitude to hold."""
        return self.attitude


def paced(path: Trajectory, factor: Values = 1.0, ease: Values = 0.0) -> Paced:
    """`path` slowed by `factor` (2 takes twice as long) and eased in and out over `ease` seconds each."""
    if isinstance(ease, float | int) and ease < 0.0:
        msg = f"ease: got {ease:g} s; give zero or more seconds in which the vehicle gets going"
        raise TrajectoryError(msg)
    return Paced(path, 1.0 / numbers(factor), numbers(ease))
