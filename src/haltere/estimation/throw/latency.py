"""How late rotor speeds arrive, learnt while the rotors are excited: a few learners, each for one latency.

Telemetry brings a rotor's speed later than gyro and accelerometer bring what it did; half a millisecond already turns
the thrust axis of [Blaha2024]'s hexarotor by two degrees. A learner for the latency L_k gets IMU and commands that are
held back by L_k, so that they meet the late speeds. What its torque rows leave,

    E_k = sum y^2 - s^T theta                                                                              (1)

is a parabola in L near the truth, and so is every parameter: through the three of `SAMPLES` both are drawn, and read
off at the smallest E.
"""

from dataclasses import dataclass
from typing import Any, Self

import jax
import jax.numpy as jnp

from haltere.estimation.throw.effectiveness import Effectiveness, Learner, Learning, solve
from haltere.foundation.arrays import Array, ArrayLike, pytree

SAMPLES = (0, 2, 4)
"""Latencies that are tried, in samples, evenly spaced."""


@pytree
@dataclass(frozen=True)
class LateLearning:
    """Sums for each latency of `SAMPLES`, and the samples that are held back."""

    learning: Learning
    """With a first axis for the latencies."""
    past: Array
    """(5, 6 + m) gyro, accelerometer and command of the last samples, the newest first."""

    @classmethod
    def begin(cls, rotors: int, products: bool = False) -> Self:
        """Nothing seen."""
        one = Learning.begin(rotors, products)
        many = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(SAMPLES), *x.shape)), one)
        return cls(many, jnp.zeros((SAMPLES[-1] + 1, 6 + rotors)))

    def held(self, gyro: Array, accel: Array, command: Array) -> "LateLearning":
        """With one more sample to hold back; to be called from before release on."""
        newest = jnp.concatenate([gyro, accel, command])[None]
        return LateLearning(self.learning, jnp.concatenate([newest, self.past[:-1]]))

    def update(
        self, learner: Learner, speeds: Array, place: Array, shape: Array, inverse: Array
    ) -> "LateLearning":
        """Rotor speeds (m,) that arrive now, against what was held; the rest as `Learner.update`."""

        def one(now: Learning, seen: Array) -> Learning:
            return learner.update(now, seen[:3], seen[3:6], speeds, seen[6:], place, shape, inverse)

        return LateLearning(jax.vmap(one)(self.learning, self.past[jnp.asarray(SAMPLES)]), self.past)

    def solve(self, rate: float, **prior: ArrayLike) -> tuple[Effectiveness, Array]:
        """The parameters and the latency, s; `prior` as for `haltere.estimation.throw.effectiveness.solve`."""
        found: Any = jax.vmap(lambda one: solve(one, **prior))(self.learning)
        before, here, after = found.left
        bend = before - 2.0 * here + after
        shift = jnp.clip(0.5 * (before - after) / jnp.where(bend > 0.0, bend, jnp.inf), -1.0, 1.0)
        weights = jnp.stack([0.5 * shift * (shift - 1.0), 1.0 - shift**2, 0.5 * shift * (shift + 1.0)])
        answer: Effectiveness = jax.tree.map(lambda x: jnp.tensordot(weights, x, 1), found)
        return answer, (SAMPLES[1] + shift * (SAMPLES[1] - SAMPLES[0])) / rate
