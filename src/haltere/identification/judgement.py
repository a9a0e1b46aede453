"""From a value and its deviation to a parameter with verdict and interval.

`identified`: the 95 % interval is narrower than half the value; `weak`: wider; `combination`: only together with
partners; `unobservable`: the log says nothing about it. A number that must be above zero keeps its interval there.
"""

import math

from haltere.identification.result import Parameter

NORMAL = 1.96
WIDE = 0.5


def parameter(
    name: str,
    value: float,
    sigma: float,
    unit: str,
    fix: str = "",
    positive: bool = False,
    least: float = 0.0,
) -> Parameter:
    """A number that the log tells.

    Args:
        name: Of the number.
        value: SI.
        sigma: Its deviation, systematic part included.
        unit: Of both.
        fix: What would make it better, if it is weak.
        positive: Whether it is above zero: then the interval is that of its logarithm where the deviation is small.
        least: Lowest value there can be, if `positive`.
    """
    if not (math.isfinite(value) and math.isfinite(sigma)) or sigma <= 0.0:
        return unknown(name, unit, fix)
    low, high = value - NORMAL * sigma, value + NORMAL * sigma
    if positive and low < least:
        low = least
    weak = high - low > WIDE * abs(value)
    return Parameter(
        name, value, sigma, (low, high), unit, "weak" if weak else "identified", (), fix if weak else ""
    )


def unknown(name: str, unit: str, fix: str) -> Parameter:
    """A number that the log does not tell."""
    return Parameter(name, None, None, (None, None), unit, "unobservable", (), fix)


def together(name: str, unit: str, partners: tuple[str, ...], fix: str) -> Parameter:
    """A number that is known only together with others."""
    return Parameter(name, None, None, (None, None), unit, "combination", partners, fix)
