"""Notice that the vehicle was thrown, then excite its motors one after the other without leaving the gyro's range.

A throw is a strong specific force at the centre of mass, then none ([Blaha2024], its method paper):

    armed     when |f| > `PUSH` has lasted `PUSHED` s
    released  when, armed, |f| < `FALL` has lasted `FELL` s                                                (1)

After it motor i = 0..m-1 runs from t_i = `WAIT` + i `PACE`: `STEP` of full command for `STEP_TIME`, then a ramp from
`RAMP` to zero over `RAMP_TIME`; the next one starts while it still ramps. What is left of the gyro's range is shared
out: with W_i = |W| when motor i starts, it is cut off for good when

    |W + `AHEAD` W'| > W_i + max(limit - W_i, `LEAST`) / (m - i)                                            (2)

so the last motor may use all that is left, and the first a share of 1/m.
"""

from dataclasses import dataclass
from typing import Self

import jax.numpy as jnp

from haltere.dynamics.model import leaves
from haltere.foundation.arrays import Array

PUSH, PUSHED = 20.0, 0.02
FALL, FELL = 6.0, 0.01
WAIT = 0.02
PACE = 0.1
STEP, STEP_TIME = 0.35, 0.05
RAMP, RAMP_TIME = 0.7, 0.1
LIMIT = 28.0
"""rad/s, well inside a gyro of 2000 deg/s."""
LEAST = 6.0
AHEAD = 0.02
"""s: a motor that is cut off still pushes for its time constant."""


def excitation_time(rotors: int) -> float:
    """Seconds from the notice of release to the end of the last ramp."""
    return WAIT + (rotors - 1) * PACE + STEP_TIME + RAMP_TIME


@leaves("pushed", "fell", "armed", "released", "clock", "base", "cut")
@dataclass(frozen=True)
class Throw:
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

    def noticed(self, force: Array, dt: float) -> "Throw":
        """The next sample of the smoothed specific force (3,) at the centre of mass, m/s2."""
        size = jnp.linalg.norm(force)
        pushed = jnp.where(size > PUSH, self.pushed + dt, jnp.where(self.armed, self.pushed, 0.0))
        armed = self.armed | (pushed >= PUSHED)
        fell = jnp.where(armed & (size < FALL), self.fell + dt, 0.0)
        released = self.released | (fell >= FELL)
        clock = jnp.where(self.released, self.clock + dt, 0.0)
        return Throw(pushed, fell, armed, released, clock, self.base, self.cut)

    def excited(self, rate: Array, slope: Array, limit: float = LIMIT) -> tuple["Throw", Array]:
        """(m,) commands in 0..1 for the smoothed body rate (3,) rad/s and its slope (3,) rad/s2, by equation (2)."""
        m = self.base.shape[0]
        age = self.clock - WAIT - PACE * jnp.arange(m)
        running = self.released & (age >= 0.0) & (age < STEP_TIME + RAMP_TIME)
        shape = jnp.where(age < STEP_TIME, STEP, RAMP * (1.0 - (age - STEP_TIME) / RAMP_TIME))
        now, speed = jnp.linalg.norm(rate), jnp.linalg.norm(rate + AHEAD * slope)
        base = jnp.where(running, self.base, now)
        allowed = base + jnp.maximum(limit - base, LEAST) / (m - jnp.arange(m))
        cut = self.cut | (running & (speed > allowed))
        after = Throw(self.pushed, self.fell, self.armed, self.released, self.clock, base, cut)
        return after, jnp.where(running & ~cut, shape, 0.0)
