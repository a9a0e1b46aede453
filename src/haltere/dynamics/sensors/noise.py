"""Sensor noise from continuous densities, made discrete here only.

White noise of density s (unit/sqrt(Hz)) sampled at rate f has the standard deviation s sqrt(f); a bias that walks with
s_w (unit/sqrt(s)) moves by s_w / sqrt(f) from one sample to the next. A sensor that states a standard deviation per
sample is taken at its word.
"""

import math

import jax
import jax.numpy as jnp

from haltere.foundation.arrays import Array


def sample_sigma(sigma: float | None, density: float | None, rate: float) -> float:
    """Standard deviation of one sample, from the one that the file states or from its density."""
    if sigma is not None:
        return sigma
    return 0.0 if density is None else density * math.sqrt(rate)


def white(key: Array, samples: int, width: int, sigma: float) -> Array:
    """(samples, width) independent noise."""
    return jnp.asarray(sigma * jax.random.normal(key, (samples, width)))


def walk(key: Array, samples: int, width: int, walk_density: float, rate: float, start: Array) -> Array:
    """(samples, width) random walk from `start` (width,), the bias at each sample."""
    steps = walk_density / math.sqrt(rate) * jax.random.normal(key, (samples, width))
    return start + jnp.cumsum(steps, axis=0) - steps[0]
