"""By how much wind makes rotors stronger, guessed from how hard it pushes the vehicle aside.

A rotor that air blows across at a constant speed has less induced speed and more thrust; one that leans into the wind
climbs in it, which takes some of that back. With the thrust C, inflow l and advance ratio mu of blade elements and
momentum (Leishman, Principles of Helicopter Aerodynamics, sections 2.14 and 3.3),

    C = B (1 + 3/2 mu^2) - s l,    2 (l - l_climb) sqrt(mu^2 + l^2) = C                                     (1)

and a drag of 0.22 to 0.32 m/s2 per m/s, propellers with induced speeds of 4.3 to 7.3 m/s gain, hovering in 3 to 6 m/s
of wind, 0.12 to 1.2 of the drag over the weight, 0.47 in the mean with a deviation of 0.25: the more, the larger and
slower they are. Beyond 0.15 of the weight the climb takes over.

The accelerometer shows the drag beside its bias. Winds are some times as strong as their gusts, whose drag varies: so
calm air leaves all of a steady lateral reading to the bias, and gusty air to the wind.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from haltere.estimation.cog.settings import CogSettings
from haltere.estimation.cog.state import AIR_SLOW, BIAS
from haltere.foundation.arrays import Array, pytree

GAIN, GAIN_SIGMA = 0.45, 0.25
"""Relative thrust over relative drag, and its deviation."""
STRAIGHT = 0.15
"""Drag over weight up to which it holds."""
STEADY = 4.0
"""Drag of the wind over the deviation of its gusts'."""


@pytree
@dataclass(frozen=True)
class WindThrust:
    """What wind across the thrust does to it."""

    thrust: Array
    """() relative thrust beyond that in still air."""
    sigma: Array
    """() its deviation."""
    drag: Array
    """(2,) specific force of the wind across the thrust, along `thrust_axes`, m/s2."""
    weight: Array
    """() part of the weight that the rotors lift; drag across them lifts the rest where they lean."""


def wind_thrust_of(
    settings: CogSettings, mean: Array, axes: Array, levels: Array, gravity: Array
) -> WindThrust:
    """From the state (n,), the axes of the thrust (3, 3) and the noise levels (4, 5)."""
    bias = settings.accel_bias**2
    wind = STEADY**2 * jnp.mean(levels[1:3, 2:4].sum(axis=0))
    share = wind / (wind + bias)
    felt = (mean[AIR_SLOW] + axes.T @ mean[BIAS])[:2]
    drag = share * jnp.sqrt(felt @ felt + 1e-12) / gravity
    beyond = jnp.maximum(drag - STRAIGHT, 0.0)
    doubt = (GAIN_SIGMA * drag + GAIN * beyond) ** 2 + (GAIN / gravity) ** 2 * share * bias
    return WindThrust(
        GAIN * (drag - beyond), jnp.sqrt(doubt), share * felt, jnp.sqrt(jnp.maximum(1.0 - drag**2, 0.25))
    )
