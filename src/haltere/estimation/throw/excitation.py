"""Notice that the vehicle was thrown, then excite its motors one after the other without leaving the gyro's range.

A throw is a strong specific force at the centre of mass, then none ([Blaha2024], its method paper):

    armed     when |f| > `PUSH` has lasted `PUSHED` s
    released  when, armed, |f| < `FALL` has lasted `FELL` s                                                (1)

After it the motors run one by one, the k-th from t_k = `WAIT` + k P: `STEP` of full command for P / 2, then a ramp from
`RAMP` to zero over P; the next one starts while it still ramps. Two things follow from the number of motors m:

    P = min(`PACE`, `SPREAD` / (m - 1)),    commands times m / 4, at most 1                                (2)

so that more motors do not take longer than the ascent, and each weaker one is still heard. What is left of the
gyro's range is shared out: with W_k = |W| when the k-th motor starts, it is cut off for good when

    |W + `AHEAD` W'| > min(W_k + max(limit - W_k, `LEAST`) / sqrt(m - k), `CEILING`)                        (3)

The root, because what motors around a vehicle do to its rate points everywhere and adds up like a random walk; the
ceiling is kept even where all their torques have one sign. After each motor comes the one
half-way round (`order`): where they are numbered around the vehicle, it takes back what the first one did.
"""

from dataclasses import dataclass
from typing import Self

import jax.numpy as jnp

from haltere.foundation.arrays import Array, pytree

PUSH, PUSHED = 20.0, 0.02
FALL, FELL = 6.0, 0.01
WAIT = 0.02
PACE, SPREAD = 0.1, 0.5
STEP, RAMP = 0.35, 0.7
LIMIT = 28.0
"""rad/s, well inside a gyro of 2000 deg/s."""
LEAST, CEILING = 6.0, 33.0
AHEAD = 0.02
"""s: a motor that is cut off still pushes for its time constant."""


def pace(rotors: int) -> float:
    """P of equation (2), s."""
    return min(PACE, SPREAD / max(rotors - 1, 1))


def order(rotors: int) -> tuple[int, ...]:
    """The index of each motor in the sequence 0, m/2, 1, m/2 + 1, ..."""
    half = (rotors + 1) // 2
    turns = [i for k in range(half) for i in (k, k + half) if i < rotors]
    return tuple(turns.index(i) for i in range(rotors))


def excitation_time(rotors: int) -> float:
    """Seconds from the notice of release to the end of the last ramp."""
    return WAIT + (rotors + 0.5) * pace(rotors)


@pytree
@dataclass(frozen=True)
class ThrowDetector:
    """Where a throw stands."""

    pushed: Array
    """() s of strong force."""
    fell: Array
    """() s of no force since."""
    armed: Array
    released: Array
    clock: Array
    """() s since release was noticed."""
    base: Array
    """(m,) |W| when each motor started, rad/s."""
    cut: Array
    """(m,) whether it was cut off."""

    @classmethod
    def begin(cls, rotors: int) -> Self:
        """In the hand."""
        zero, no = jnp.zeros(()), jnp.asarray(False)
        return cls(zero, zero, no, no, zero, jnp.zeros(rotors), jnp.zeros(rotors, bool))

    def noticed(self, force: Array, dt: float) -> "ThrowDetector":
        """The next sample of the smoothed specific force (3,) at the centre of mass, m/s2."""
        size = jnp.linalg.norm(force)
        pushed = jnp.where(size > PUSH, self.pushed + dt, jnp.where(self.armed, self.pushed, 0.0))
        armed = self.armed | (pushed >= PUSHED)
        fell = jnp.where(armed & (size < FALL), self.fell + dt, 0.0)
        released = self.released | (fell >= FELL)
        clock = jnp.where(self.released, self.clock + dt, 0.0)
        return ThrowDetector(pushed, fell, armed, released, clock, self.base, self.cut)

    def excited(self, rate: Array, slope: Array, limit: float = LIMIT) -> tuple["ThrowDetector", Array]:
        """(m,) commands in 0..1 for the smoothed body rate (3,) rad/s and its slope (3,) rad/s2, by equation (3)."""
        m = self.base.shape[0]
        period, turn, louder = pace(m), jnp.asarray(order(m), float), m / 4.0
        age = self.clock - WAIT - period * turn
        running = self.released & (age >= 0.0) & (age < 1.5 * period)
        ramp = min(louder * RAMP, 1.0) * (1.5 - age / period)
        shape = jnp.where(age < 0.5 * period, min(louder * STEP, 1.0), ramp)
        now, speed = jnp.linalg.norm(rate), jnp.linalg.norm(rate + AHEAD * slope)
        base = jnp.where(running, self.base, now)
        share = jnp.maximum(limit - base, LEAST) / jnp.sqrt(m - turn)
        allowed = jnp.minimum(base + share, CEILING)
        cut = self.cut | (running & (speed > allowed))
        after = ThrowDetector(self.pushed, self.fell, self.armed, self.released, self.clock, base, cut)
        return after, jnp.where(running & ~cut, shape, 0.0)
