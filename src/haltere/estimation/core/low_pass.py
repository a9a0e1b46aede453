"""A second-order low-pass that runs sample by sample, the same on every signal of one regression.

Butterworth of second order ([Butterworth1930]) by the bilinear transform, with k = tan(pi cutoff / rate),
D = 1 + sqrt(2) k + k^2, in transposed direct form II with states s1, s2:

    y = b x + s1,   s1 <- 2 b x - a1 y + s2,   s2 <- b x - a2 y                                            (1)
    b = k^2 / D,    a1 = 2 (k^2 - 1) / D,      a2 = (1 - sqrt(2) k + k^2) / D                              (2)

Started from zero for all signals of a linear relation at once, it keeps the relation exact from the first sample on:
the signals are then those of a world that begins at the reset.
"""

import math
from dataclasses import dataclass

import jax.numpy as jnp

from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array

State = tuple[Array, Array]


@dataclass(frozen=True)
class LowPass:
    """The filter for one cutoff and sampling rate, Hz."""

    cutoff: float
    rate: float

    def __post_init__(self) -> None:
        if not 0.0 < self.cutoff < 0.5 * self.rate:
            raise HaltereError(
                f"cutoff {self.cutoff:g} Hz at {self.rate:g} Hz; give more than zero and less than half the rate"
            )

    @property
    def coefficients(self) -> tuple[float, float, float]:
        """B, a1 and a2 of equation (2)."""
        k = math.tan(math.pi * self.cutoff / self.rate)
        D = 1.0 + math.sqrt(2.0) * k + k * k
        return k * k / D, 2.0 * (k * k - 1.0) / D, (1.0 - math.sqrt(2.0) * k + k * k) / D

    def begin(self, signals: Array) -> State:
        """At rest at zero, for signals of this shape."""
        return jnp.zeros_like(signals), jnp.zeros_like(signals)

    def step(self, state: State, x: Array) -> tuple[State, Array]:
        """The next state and output for input x."""
        b, a1, a2 = self.coefficients
        y = b * x + state[0]
        return (2.0 * b * x - a1 * y + state[1], b * x - a2 * y), y
