"""What a vehicle should do at one instant, and the form that every trajectory has.

A trajectory is a frozen dataclass of arrays, registered as a pytree, so it is differentiable in all its
numbers and may be mapped over. It gives the flat outputs y = (x, y, z, yaw) of the body origin in world axes
with their derivatives,

    Y = derivatives(t) = (y, y', y'', y''', y'''')   shape (5, 4)                                          (1)

from which `at` makes a `Reference`. Vehicles that push in all directions may hold an attitude besides: with
q_tilt = `tilt(t)`, the attitude at yaw zero,

    q_WB = q_z(yaw) q_tilt = `Reference.wxyz`                                                              (2)

Derivatives are exact: closed forms where there are some, else nested forward differentiation (`taylor`). What is
wrong with a trajectory is a `TrajectoryError` of one line.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp

from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.lie import so3

ORDER = 4
"""Highest derivative of a reference: snap."""

Values = ArrayLike | Sequence[float]
"""Numbers as a caller may write them: an array, a number, a list or tuple."""


@pytree
@dataclass(frozen=True)
class Reference:
    """Where the body origin should be and how it should move, world axes; yaw is the heading of the body's x axis."""

    position: Array
    """(3,) m."""
    velocity: Array
    acceleration: Array
    jerk: Array
    snap: Array
    """(3,) m/s4."""
    yaw: Array
    """() rad."""
    yaw_rate: Array
    yaw_acceleration: Array
    wxyz: Array | None = None
    """(4,) attitude to hold, for vehicles that push in all directions; None leaves it to the controller."""

    @classmethod
    def from_derivatives(cls, derivatives: Array, tilt: Array | None = None) -> "Reference":
        """The reference of equations (1) and (2): `derivatives` (5, 4), `tilt` (4,) or None."""
        space, yaw = derivatives[:, :3], derivatives[:, 3]
        wxyz = None if tilt is None else so3.multiply_wxyz(yaw_wxyz(yaw[0]), tilt)
        return cls(space[0], space[1], space[2], space[3], space[4], yaw[0], yaw[1], yaw[2], wxyz)


class Trajectory(ABC):
    """The common form: flat outputs with derivatives over 0 <= t <= duration."""

    duration: Array
    """() s."""

    @abstractmethod
    def derivatives(self, t: ArrayLike) -> Array:
        """(5, 4) of equation (1) at time t (s)."""

    def tilt(self, t: ArrayLike) -> Array | None:
        """(4,) attitude at yaw zero to hold at time t, or None where the controller may choose it."""
        return None

    def at(self, t: ArrayLike) -> Reference:
        """The reference at time t (s)."""
        reference: Reference = _at(self, t)
        return reference


@partial(jax.jit, inline=True)
def _at(trajectory: Trajectory, t: ArrayLike) -> Reference:
    """One program, where the operations one by one would be a hundred."""
    return Reference.from_derivatives(trajectory.derivatives(t), trajectory.tilt(t))


def yaw_wxyz(yaw: Array) -> Array:
    """(4,) quaternion of a rotation by `yaw` (rad) about the world's vertical."""
    zero = jnp.zeros_like(yaw)
    return jnp.stack([jnp.cos(0.5 * yaw), zero, zero, jnp.sin(0.5 * yaw)])


def taylor(function: Callable[[Array], Array], t: ArrayLike, order: int = ORDER) -> Array:
    """(order + 1, ...) value and derivatives of `function` at t by nested forward differentiation."""
    at = so3.as_float(t)
    values = [function]
    for _ in range(order):
        values.append(_derivative(values[-1]))
    return jnp.stack([value(at) for value in values])


def _derivative(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    def rate(t: Array) -> Array:
        slope: Array = jax.jvp(function, (t,), (jnp.ones_like(t),))[1]
        return slope

    return rate


def numbers(values: Values) -> Array:
    """`values` as a floating-point array; its dtype stays if it has one, and is a strong one."""
    array = so3.as_float(jnp.asarray(values))
    return jnp.asarray(array, array.dtype)


def four(position: Values, yaw: Values) -> Array:
    """(4,) from a position (3,) and a yaw ()."""
    return jnp.concatenate([jnp.atleast_1d(numbers(position)), jnp.atleast_1d(numbers(yaw))])


class TrajectoryError(HaltereError):
    """A trajectory that cannot be made or flown as it was asked for."""
