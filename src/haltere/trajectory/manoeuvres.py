"""Standing still, and standing still somewhere else from one instant on."""

from dataclasses import dataclass

import jax.numpy as jnp

from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.lie import so3
from haltere.trajectory.harmonic import CENTRE
from haltere.trajectory.reference import ORDER, Trajectory, Values, four, numbers


@pytree
@dataclass(frozen=True)
class Step(Trajectory):
    """The flat outputs jump from `before` to `after` (4,) at `time` (s); all derivatives are zero."""

    before: Array
    after: Array
    time: Array
    duration: Array

    def derivatives(self, t: ArrayLike) -> Array:
        """(5, 4); at the jump itself the later value holds."""
        here = jnp.where(so3.as_float(t) < self.time, self.before, self.after)
        return jnp.concatenate([here[None], jnp.zeros((ORDER, 4), here.dtype)])


def hover(position: Values = CENTRE, yaw: Values = 0.0, duration: Values = 10.0) -> Step:
    """Standing still at `position` (3,) m with `yaw` rad for `duration` s."""
    place = four(position, yaw)
    return Step(place, place, jnp.zeros((), place.dtype), numbers(duration))


def step(
    offset: Values = (1.0, 0.0, 0.0),
    yaw_offset: Values = 0.0,
    time: Values = 1.0,
    duration: Values = 10.0,
    position: Values = CENTRE,
    yaw: Values = 0.0,
) -> Step:
    """A jump by `offset` (3,) m and `yaw_offset` rad at `time` s, from `position` (3,) m and `yaw` rad."""
    before = four(position, yaw)
    return Step(before, before + four(offset, yaw_offset), numbers(time), numbers(duration))
