"""A short flight without a controller: joints follow a smooth course, the body is free.

The course of each joint from its first angle a to its last b is, with s = (t - start) / (end - start) held in [0, 1],

    q = a + (b - a) (10 s^3 - 15 s^4 + 6 s^5)                                                           (1)

whose second derivative drives the joint; rotors keep their speed. State and work are integrated together with the
classic Runge-Kutta rule of fourth order, so that the energy can be balanced to the same order:

    dW/dt = (power of gravity, of the air, of the joint drives, of the rotor drives) = works             (2)
"""

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from haltere.dynamics import (
    Drive,
    Environment,
    Model,
    Motion,
    PowerFlow,
    State,
    forward_dynamics,
    kinetic_energy,
    momentum,
    power_flow,
)
from haltere.dynamics.model import leaves
from haltere.foundation.arrays import Array
from haltere.simulation.step import STAGES, rate_of_change

WORKS = ("gravity", "air", "joint drives", "rotor drives")


@leaves("first", "last", "start", "end")
@dataclass(frozen=True)
class Course:
    """From angles `first` (J,) at time `start` to angles `last` (J,) at time `end`; rad, s."""

    first: Array
    last: Array
    start: Array
    end: Array

    def acceleration(self, time: Array) -> Array:
        """(J,) second derivative of equation (1), rad/s2; zero before `start` and after `end`."""
        length = self.end - self.start
        s = jnp.clip((time - self.start) / length, 0.0, 1.0)
        return (self.last - self.first) * (60.0 * s - 180.0 * s * s + 120.0 * s * s * s) / (length * length)


@leaves("state", "works", "motion", "power", "kinetic_energy", "momentum")
@dataclass(frozen=True)
class Moment:
    """All that is known about one instant; in a recording every entry has the instants as its first dimension."""

    state: State
    works: Array
    """(4,) work done since the beginning by the sources of `WORKS`, J."""
    motion: Motion
    power: PowerFlow
    kinetic_energy: Array
    """J."""
    momentum: Array
    """(6,) kg m/s and kg m2/s about the world's origin, world axes."""


@dataclass(frozen=True)
class Recording:
    """A flight at S instants."""

    times: Array
    """(S,) s."""
    moments: Moment

    @property
    def energy_error(self) -> Array:
        """(S,) kinetic energy gained less work done, J: zero but for the error of the integration."""
        gained = self.moments.kinetic_energy - self.moments.kinetic_energy[0]
        return gained - jnp.sum(self.moments.works, axis=1)

    @property
    def power_error(self) -> Array:
        """(S,) rate of kinetic energy less power of all sources, W: zero but for rounding."""
        power = self.moments.power
        return jnp.sum(power.kinetic_rate - power.gravity - power.external - power.joint, axis=1)


def fly(
    model: Model,
    beginning: State,
    course: Course,
    environment: Environment,
    duration: float,
    samples: int,
    steps_per_sample: int = 4,
) -> Recording:
    """Integrate from `beginning` and look at both ends of `samples` equal intervals of `duration` (s).

    The joint angles and rates of `beginning` should be those of the course at time zero.
    """
    interval = jnp.asarray(duration / samples, model.dtype)
    given = (beginning, course, environment)
    beginning, course, environment = jax.tree.map(lambda leaf: jnp.asarray(leaf, model.dtype), given)
    moments = _integrate(model, beginning, course, environment, interval, samples + 1, steps_per_sample)
    return Recording(jnp.arange(samples + 1) * interval, moments)


def sources(model: Model, power: PowerFlow) -> Array:
    """(..., 4) right-hand side of equation (2), W, from power by node (..., N)."""
    drives = jnp.split(power.joint, [model.topology.links], axis=-1)
    return jnp.stack([jnp.sum(part, axis=-1) for part in (power.gravity, power.external, *drives)], axis=-1)


def _look(model: Model, course: Course, environment: Environment, time: Array, whole: "_Whole") -> Moment:
    state, works = whole
    drive = Drive.accelerations(model, joints=course.acceleration(time))
    motion = forward_dynamics(model, state, drive, environment)
    power = power_flow(model, state, motion, environment)
    return Moment(state, works, motion, power, kinetic_energy(model, state), momentum(model, state))


def _rates(model: Model, moment: Moment) -> "_Whole":
    """Time derivatives of state and works."""
    return rate_of_change(moment.state, moment.motion), sources(model, moment.power)


_Whole = tuple[State, Array]
"""What is integrated: the state and the works (4,)."""


@partial(jax.jit, static_argnums=5)
def _integrate(
    model: Model,
    beginning: State,
    course: Course,
    environment: Environment,
    interval: Array,
    samples: int,
    steps: int,
) -> Moment:
    """The moments at the beginning of each interval.

    The dynamics stands once in this program, in the innermost loop over the four stages of a step; what is recorded is
    what the first stage of an interval's first step has seen. So it takes a single compilation of the dynamics.
    """
    step = interval / steps
    places, weights = jnp.asarray(STAGES, model.dtype).T

    def rk4(time: Array, whole: _Whole) -> tuple[_Whole, Moment]:
        def stage(
            carry: tuple[_Whole, _Whole], rule: tuple[Array, Array]
        ) -> tuple[tuple[_Whole, _Whole], Moment]:
            slope, total = carry
            place, weight = rule
            there = jax.tree.map(lambda y, k: y + place * step * k, whole, slope)
            moment = _look(model, course, environment, time + place * step, there)
            slope = _rates(model, moment)
            return (slope, jax.tree.map(lambda y, k: y + weight * step * k, total, slope)), moment

        still = jax.tree.map(jnp.zeros_like, whole)
        (_, (state, works)), moments = lax.scan(stage, (still, whole), (places, weights))
        length = jnp.sqrt(state.wxyz @ state.wxyz)
        return (replace(state, wxyz=state.wxyz / length), works), jax.tree.map(lambda m: m[0], moments)

    def sample(whole: _Whole, number: Array) -> tuple[_Whole, Moment]:
        begin = number * interval

        def one(i: Array, carry: tuple[_Whole, Moment]) -> tuple[_Whole, Moment]:
            whole, moment = rk4(begin + i * step, carry[0])
            return whole, jax.tree.map(lambda new, old: jnp.where(i == 0, new, old), moment, carry[1])

        done: tuple[_Whole, Moment] = lax.fori_loop(0, steps, one, (whole, blank))
        return done

    first = (beginning, jnp.zeros(len(WORKS), model.dtype))
    shapes = jax.eval_shape(partial(_look, model, course, environment), interval, first)
    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    return lax.scan(sample, first, jnp.arange(samples))[1]
