"""The program's loop from the hand to hover, driven by readings of the world.

All of it is the program's own, `haltere.control.throw_loop`: release, excitation, effectiveness, heading, hover. Here
stands only what hands it the readings of a batch: one sample every 2 ms, positions of the tracker as they come.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from tests.world.pilot import PERIOD, Measured

from haltere.control.throw_loop import Ascent, Hovering, SensorNoise, ThrowLoop, TumbleKnowledge
from haltere.estimation.throw.alignment import Fixes
from haltere.estimation.throw.refinement import RetainedRows
from haltere.foundation.arrays import Array, pytree
from haltere.scenarios.throw.throws import LaunchSettings

RATE = 1.0 / PERIOD
LATENCIES = (0, 4, 8, 12)
"""Samples: up to 24 ms."""
EVERY = 5
"""Samples between two looks at whether the excitation is over."""
EXCITED = 0.4
"""s after release until which no excitation is over."""
SEEN = 100
"""Positions that are kept for the heading."""
GOAL = LaunchSettings().goal
LOOP = {prior: ThrowLoop(RATE, prior, LATENCIES) for prior in (True, False)}


@pytree
@dataclass(frozen=True)
class Flown:
    """One vehicle between two samples."""

    ascent: Ascent
    fixes: Fixes
    rows: RetainedRows
    hovering: Hovering
    hovers: Array
    """() whether it is past the excitation."""


def choose(which: Array, one: Any, other: Any) -> Any:
    """One of two trees."""
    return jax.tree.map(lambda a, b: jnp.where(which, a, b), one, other)


@partial(jax.jit, static_argnames=("rotors", "prior"))
def begin(rest: Array, known: TumbleKnowledge, noise: SensorNoise, rotors: int, prior: bool) -> Flown:
    """In the hand, with first readings of the accelerometer (N, 3)."""
    loop = LOOP[prior]

    def one(rest: Array, known: TumbleKnowledge) -> Flown:
        ascent, fixes = loop.begin(rest, known, rotors), Fixes.none(SEEN)
        rows = loop.begin_rows(rotors)
        later = jax.eval_shape(
            lambda: loop.hover(ascent, loop.learn(ascent, fixes, rows, noise), jnp.zeros(rotors))
        )
        hovering = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), later)
        return Flown(ascent, fixes, rows, hovering, jnp.asarray(False))

    return jax.vmap(one)(rest, known)


@partial(jax.jit, static_argnames="prior")
def advance(flown: Flown, gyro: Array, accel: Array, speeds: Array, prior: bool) -> tuple[Flown, Array]:
    """One sample of whichever part each is in, and the commands (N, m)."""
    loop = LOOP[prior]

    def one(now: Flown, gyro: Array, accel: Array, speeds: Array) -> tuple[Flown, Array]:
        rising = replace(now, ascent=loop.ascend(now.ascent, gyro, accel, speeds))
        hovering, command = loop.steer(
            loop.sense(now.hovering, gyro, accel, speeds), jnp.asarray(GOAL), PERIOD
        )
        after = choose(now.hovers, replace(now, hovering=hovering), rising)
        return after, jnp.where(now.hovers, command, rising.ascent.command)

    return jax.vmap(one)(flown, gyro, accel, speeds)


@partial(jax.jit, static_argnames=("prior",))
def locate(flown: Flown, position: Array, period: float, noise: SensorNoise, prior: bool) -> Flown:
    """Take positions (N, 3) m in, `period` s after the last; those that are NaN are missing."""
    loop = LOOP[prior]

    def one(now: Flown, position: Array) -> Flown:
        hovering = loop.correct(now.hovering, position, period, noise)
        fixes = loop.locate(now.ascent, now.fixes, position)
        return choose(now.hovers, replace(now, hovering=hovering), replace(now, fixes=fixes))

    return jax.vmap(one)(flown, position)


@partial(jax.jit, static_argnames=("prior",))
def keep(flown: Flown, prior: bool) -> Flown:
    """Keep the rows of now."""
    loop = LOOP[prior]

    def one(now: Flown) -> Flown:
        return choose(now.hovers, now, replace(now, rows=loop.keep(now.ascent, now.rows)))

    return jax.vmap(one)(flown)


@partial(jax.jit, static_argnames=("rotors", "prior"))
def conclude(flown: Flown, speeds: Array, noise: SensorNoise, rotors: int, prior: bool) -> Flown:
    """From the first part to the second, where the excitation is just over."""
    loop = LOOP[prior]

    def one(now: Flown, speeds: Array) -> Flown:
        learned = loop.learn(now.ascent, now.fixes, now.rows, noise)
        hovering = loop.hover(now.ascent, learned, speeds)
        ready = ~now.hovers & loop.ready(now.ascent, rotors)
        return choose(ready, replace(now, hovering=hovering, hovers=jnp.asarray(True)), now)

    return jax.vmap(one)(flown, speeds)


class Thrower:
    """Controller and mixer of a batch in one: the mixer asks the loops for their commands.

    Args:
        known: what each knows before, stacked.
        prior: whether tumbles gave it.
        noise: of the sensors, as their data sheets state it.
        rotors: how many.

    Attributes:
        flown: all vehicles, stacked; None before the first reading.
        concluded: (N,) s, when the excitation was over; -1 before.
        fastest: (N,) rad/s, the largest rate on one axis after release and before that.
    """

    def __init__(self, known: TumbleKnowledge, prior: bool, noise: SensorNoise, rotors: int) -> None:
        self.known, self.prior, self.noise, self.rotors = known, prior, noise, rotors
        count = known.imu_position.shape[0]
        self.concluded, self.fastest = np.full(count, -1.0), np.zeros(count)
        self.count, self.last = 0, 0.0
        self.flown: Flown | None = None

    def controller(self, *_: object):
        """As `fly` asks for it; no lift and no angular acceleration is wanted of a mixer."""

        def control(measured: Measured, sticks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return np.zeros_like(measured.gyro[0]), np.zeros_like(measured.gyro)

        return control

    def mixer(self, *_: object):
        """As `fly` asks for it."""
        return lambda measured, lift, angular: self(measured)

    def __call__(self, measured: Measured) -> np.ndarray:
        """Commands (m, N) for what is measured; below 0 the motors stand."""
        gyro, accel, speeds = (jnp.asarray(x.T) for x in (measured.gyro, measured.accel, measured.speed))
        if self.flown is None:
            self.flown = begin(accel, self.known, self.noise, self.rotors, self.prior)
        seen = np.isfinite(measured.position).any()
        if seen:
            period = measured.time - self.last
            self.last = measured.time
            self.flown = locate(self.flown, jnp.asarray(measured.position.T), period, self.noise, self.prior)
        if self.count % EVERY == 0:
            clock = np.asarray(self.flown.ascent.throw.clock)
            hovers = np.asarray(self.flown.hovers)
            if ((clock > 0.0) & ~hovers).any():
                self.flown = keep(self.flown, self.prior)
            if ((clock > EXCITED) & ~hovers).any():
                self.flown = conclude(self.flown, speeds, self.noise, self.rotors, self.prior)
                done = np.asarray(self.flown.hovers) & (self.concluded < 0.0)
                self.concluded = np.where(done, measured.time, self.concluded)
        self.count += 1
        rising = np.asarray(self.flown.ascent.throw.released) & (self.concluded < 0.0)
        self.fastest = np.where(
            rising, np.maximum(self.fastest, np.abs(measured.gyro).max(axis=0)), self.fastest
        )
        self.flown, command = advance(self.flown, gyro, accel, speeds, self.prior)
        return np.nan_to_num(np.asarray(command).T)
