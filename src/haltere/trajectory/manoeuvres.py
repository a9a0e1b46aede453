"""Manoeuvres: standing still, a step to somewhere else, a chirp along any of the axes and in yaw, and a throw."""

from dataclasses import dataclass

import jax.numpy as jnp

from haltere.dynamics import Model, State
from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.lie import so3
from haltere.trajectory.harmonic import CENTRE
from haltere.trajectory.reference import ORDER, Trajectory, Values, four, numbers, taylor


@pytree
@dataclass(frozen=True)
class StepTrajectory(Trajectory):
    """The flat outputs jump from `before` to `after` (4,) at `time` (s); all derivatives are zero."""

    before: Array
    after: Array
    time: Array
    duration: Array

    def derivatives(self, t: ArrayLike) -> Array:
        """(5, 4); at the jump itself the later value holds."""
        here = jnp.where(so3.as_float(t) < self.time, self.before, self.after)
        return jnp.concatenate([here[None], jnp.zeros((ORDER, 4), here.dtype)])


def hover(position: Values = CENTRE, yaw: Values = 0.0, duration: Values = 10.0) -> StepTrajectory:
    """Standing still at `position` (3,) m with `yaw` rad for `duration` s."""
    place = four(position, yaw)
    return StepTrajectory(place, place, jnp.zeros((), place.dtype), numbers(duration))


def step(
    offset: Values = (1.0, 0.0, 0.0),
    yaw_offset: Values = 0.0,
    time: Values = 1.0,
    duration: Values = 10.0,
    position: Values = CENTRE,
    yaw: Values = 0.0,
) -> StepTrajectory:
    """A jump by `offset` (3,) m and `yaw_offset` rad at `time` s, from `position` (3,) m and `yaw` rad."""
    before = four(position, yaw)
    return StepTrajectory(before, before + four(offset, yaw_offset), numbers(time), numbers(duration))


@pytree
@dataclass(frozen=True)
class Chirp(Trajectory):
    """A sine whose frequency grows evenly, equation (1); columns are x, y, z (m) and yaw (rad).

    With f_0, f_1 = `band_hz`, T = `duration`, amplitude A_j = `amplitude` and middle y_0 = `centre`:

        y_j(t) = y_0j + A_j sin(2 pi (f_0 t + (f_1 - f_0) t^2 / (2 T)))                                   (1)
    """

    centre: Array
    """(4,) m and rad."""
    amplitude: Array
    """(4,) m and rad."""
    band_hz: Array
    """(2,) frequency at the start and at the end, Hz."""
    duration: Array

    def derivatives(self, t: ArrayLike) -> Array:
        """(5, 4) by nested forward differentiation."""

        def flat(time: Array) -> Array:
            rise = (self.band_hz[1] - self.band_hz[0]) / (2.0 * self.duration)
            return self.centre + self.amplitude * jnp.sin(
                2.0 * jnp.pi * (self.band_hz[0] + rise * time) * time
            )

        return taylor(flat, t)


def chirp(
    amplitude: Values,
    band_hz: Values = (0.1, 1.0),
    duration: Values = 30.0,
    centre: Values = CENTRE,
    yaw: Values = 0.0,
) -> Chirp:
    """Equation (1) from plain numbers: `amplitude` (4,) m and rad, `centre` (3,) m, mean `yaw` rad."""
    return Chirp(four(centre, yaw), numbers(amplitude), numbers(band_hz), numbers(duration))


@pytree
@dataclass(frozen=True)
class ThrowRelease:
    """Position, attitude and velocities of a vehicle when the hand lets go: an initial condition and no reference."""

    position: Array
    """(3,) body origin, world axes, m."""
    velocity: Array
    """(3,) of the body origin, world axes, m/s."""
    spin: Array
    """(3,) angular velocity, body axes, rad/s."""
    wxyz: Array
    """(4,) attitude q_WB."""
    duration: Array
    """() s that the flight is watched."""

    def state(self, model: Model, joint_angles: ArrayLike | None = None) -> State:
        """The state at release, rotors still."""
        rest = State.rest(model)
        unit = self.wxyz / jnp.sqrt(self.wxyz @ self.wxyz)
        velocity_B = so3.from_wxyz(unit).T @ self.velocity
        return State(
            position=jnp.asarray(self.position, model.dtype),
            wxyz=jnp.asarray(unit, model.dtype),
            twist=jnp.asarray(jnp.concatenate([velocity_B, self.spin]), model.dtype),
            joint_angles=rest.joint_angles
            if joint_angles is None
            else jnp.asarray(joint_angles, model.dtype),
            joint_rates=rest.joint_rates,
            rotor_angles=rest.rotor_angles,
            rotor_rates=rest.rotor_rates,
        )


def throw(
    position: Values = (0.0, 0.0, 1.5),
    velocity: Values = (1.0, 0.0, 4.0),
    spin: Values = (1.0, 2.0, 0.5),
    wxyz: Values = (1.0, 0.0, 0.0, 0.0),
    duration: Values = 3.0,
) -> ThrowRelease:
    """A throw from plain numbers; see `ThrowRelease` for frames and units."""
    return ThrowRelease(*(numbers(x) for x in (position, velocity, spin, wxyz, duration)))
