"""Smooth scalar functions of an angle, exact to rounding on both sides of their one switch.

All coefficients of SO(3), SE(3) and S2 come from two families. With t = `t`, the squared angle, the Stumpff
functions are entire in t, so their derivatives at zero need no care:

    (1)  c_k(t) = sum_j (-t)^j / (2 j + k)!,   c_0 = cos(sqrt t), c_1 = sin(sqrt t) / sqrt t    [Stumpff1959]
    (2)  c_k(t) = 1 / k! - t c_(k+2)(t)
    (3)  arc(s2, c) = atan2(s, c) / s,         s2 = `s2` = s^2, c = `c`

Below the switch of (1) the series gives c_4 and c_5, and (2) the others without loss of digits; above it (2)
is read from right to left. Both sides of a branch are computed, on harmless arguments where they are not
chosen, so that derivatives stay finite.
"""

from math import factorial

import jax.numpy as jnp

from haltere.foundation.arrays import Array

#: Squared angle (2 rad) up to which (1) is summed: at most 7 bits are lost above, none below.
STUMPFF_SWITCH = 4.0
_STUMPFF_TERMS = 13

#: Squared tangent up to which atan is summed.
ARC_SWITCH = 0.0625
_ARC_TERMS = 14


def _horner(coefficients: list[float], x: Array) -> Array:
    total = jnp.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = coefficient + x * total
    return total


def stumpff(t: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Return c_0 ... c_5 of eq. (1) at the squared angle t >= 0 (any shape, rad^2)."""
    small = t < STUMPFF_SWITCH
    below = jnp.where(small, t, 0.0)
    c4, c5 = (
        _horner([(-1.0) ** j / factorial(2 * j + k) for j in range(_STUMPFF_TERMS)], below) for k in (4, 5)
    )
    c2, c3 = 0.5 - below * c4, 1.0 / 6.0 - below * c5
    series = (1.0 - below * c2, 1.0 - below * c3, c2, c3, c4, c5)

    above = jnp.where(small, STUMPFF_SWITCH, t)
    angle = jnp.sqrt(above)
    sinc = jnp.sin(angle) / angle
    half = jnp.sin(0.5 * angle) / angle
    versine = 2.0 * half * half
    cubic = (1.0 - sinc) / above
    closed = (jnp.cos(angle), sinc, versine, cubic, (0.5 - versine) / above, (1.0 / 6.0 - cubic) / above)

    c = [jnp.where(small, left, right) for left, right in zip(series, closed, strict=True)]
    return c[0], c[1], c[2], c[3], c[4], c[5]


def arc(s2: Array, c: Array) -> Array:
    """Return atan2(s, c) / s, eq. (3), of the same angle scaled or not; s2 = s^2 >= 0, (s2, c) not both 0.

    It scales like 1 / s. For c < 0 it is infinite at s = 0 (an angle of pi has no direction).
    """
    small = (c > 0.0) & (s2 < ARC_SWITCH * c * c)
    cosine = jnp.where(small, c, 1.0)
    ratio2 = jnp.where(small, s2, 0.0) / (cosine * cosine)
    series = _horner([(-1.0) ** j / (2 * j + 1) for j in range(_ARC_TERMS)], ratio2) / cosine

    sine = jnp.sqrt(jnp.where(small, 1.0, s2))
    closed = jnp.arctan2(sine, jnp.where(small, 0.0, c)) / sine
    return jnp.where(small, series, closed)
