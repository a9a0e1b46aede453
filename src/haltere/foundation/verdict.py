"""What is said of a number that was asked for, and the one rule for it.

| verdict | meaning |
|---|---|
| `identified` | the half-width of the 95 % interval is at most `limit * scale` |
| `weak` | it is wider, or the number comes from what was believed before (`source` is `prior`) |
| `combination` | known only together with partners |
| `unobservable` | the data say nothing about it |
| `given` | the user gave it |

The scale is what an error of this quantity is compared with, so that a number whose true value is zero can be
identified:

| quantity | scale | limit |
|---|---|---|
| mass, moments of inertia, thrust coefficient, torque ratio, time constant, and all not below | its value | 0.25 |
| products of inertia | geometric mean of the two moments | 0.05 |
| effectiveness and authority (fx, fy, fz) | the largest fz of the rotors | 0.25, cross terms 0.1 |
| effectiveness and authority (p, q) | the largest p or q of the rotors | 0.25, cross terms 0.1 |
| effectiveness and authority (r) | the largest r of the rotors | 0.25, cross terms 0.1 |
| effectiveness (p_dot, q_dot, r_dot) | the largest of the three of the rotors | 0.25, cross terms 0.1 |
| positions, centre of mass | the arm: largest distance of a rotor from the middle of all | 0.05 |
| rotations, axes | 1 rad | 0.05 |
| gravity | its length | 0.05 |
| delays | the larger of its value and 10 ms | 0.25 |
| motor curve | the larger of its value and 0.4 | 0.25 |
| idle speed | the rotor's top speed | 0.05 |

A cross term is smaller than a fifth of its scale. Where no rotor position is known, the arm counts as 0.1 m.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

import numpy as np

Verdict = Literal["identified", "weak", "combination", "unobservable", "given"]
VERDICTS: tuple[Verdict, ...] = ("identified", "weak", "combination", "unobservable", "given")
Source = Literal["data", "prior", "user"]
SOURCES: tuple[Source, ...] = ("data", "prior", "user")
NORMAL = 1.96
"""Standard deviations on each side of a normal 95 % interval."""
USUAL_ARM = 0.1
"""m, of a vehicle of which no rotor position is known."""
KNOWN: tuple[Verdict, ...] = ("identified", "weak", "given")
"""Verdicts of numbers whose value and interval count."""
LEARNT = 0.5
"""Sigma over that before the flight from which a number counts as what was believed before."""
_CROSS = 0.2
"""Size over its scale below which an effectiveness is a cross term."""
_ROWS = {"fx": ("fz",), "fy": ("fz",), "fz": ("fz",), "p": ("p", "q"), "q": ("p", "q"), "r": ("r",)}
_DOTS = ("p_dot", "q_dot", "r_dot")


class Limit(NamedTuple):
    """How wide the interval of an identified number may be.

    Attributes:
        scale: what an error is compared with, in the unit of the number.
        fraction: largest half-width of the 95 % interval, over the scale.
    """

    scale: float
    fraction: float

    def allows(self, half_width: float) -> bool:
        """Whether an interval of this half-width is narrow enough."""
        return half_width <= self.fraction * self.scale


def judge(half_width: float, limit: Limit, source: Source = "data") -> Verdict:
    """Return the verdict of a number whose value is known: `given`, `identified` or `weak`.

    Args:
        half_width: of its 95 % interval.
        limit: that of the quantity.
        source: where the number comes from.
    """
    if source == "user":
        return "given"
    return "identified" if source == "data" and limit.allows(half_width) else "weak"


def limits(values: Mapping[str, float], arm: float | None = None) -> dict[str, Limit]:
    """Return the limit of every number.

    Args:
        values: all numbers of one vehicle by their names, SI.
        arm: largest distance of a rotor from the middle of all, m; None takes it from the positions in `values`.
    """
    reach = arm or arm_length(_positions(values)) or USUAL_ARM
    return {name: _limit(name, value, values, reach) for name, value in values.items()}


def arm_length(positions: Iterable[Iterable[float]]) -> float | None:
    """Largest distance of a rotor from the middle of all, m; None for fewer than two.

    Args:
        positions: (N, 3) of the rotors, m, in one frame.
    """
    points = np.array([list(p) for p in positions], dtype=float)
    if len(points) < 2:
        return None
    reach = float(np.linalg.norm(points - points.mean(axis=0), axis=1).max())
    return reach if np.isfinite(reach) and reach > 0.0 else None


def _limit(name: str, value: float, values: Mapping[str, float], arm: float) -> Limit:
    head, _, last = name.rpartition(".")
    group = head.rpartition(".")[2]
    if group in ("effectiveness", "authority"):
        scale = _largest(values, group, _DOTS if last in _DOTS else _ROWS.get(last, (last,)))
        return Limit(scale, 0.1 if abs(value) < _CROSS * scale else 0.25)
    if group == "inertia" and len(set(last)) == 2 and "/" not in name:
        moments = [abs(values.get(f"{head}.{axis}{axis}", 0.0)) for axis in last]
        return Limit(float(np.sqrt(np.prod(moments))), 0.05)
    if group in ("position", "com"):
        return Limit(arm, 0.05)
    if group in ("rotation", "axis"):
        return Limit(1.0, 0.05)
    if group == "gravity":
        return Limit(float(np.linalg.norm([values.get(f"{head}.{axis}", 0.0) for axis in "xyz"])), 0.05)
    if last.endswith("delay"):
        return Limit(max(abs(value), 0.01), 0.25)
    if last == "curve":
        return Limit(max(abs(value), 0.4), 0.25)
    if last == "idle_speed":
        return Limit(abs(values.get(f"{head}.max_speed", value)), 0.05)
    return Limit(abs(value), 0.25)


def _largest(values: Mapping[str, float], group: str, rows: tuple[str, ...]) -> float:
    ends = tuple(f".{group}.{row}" for row in rows)
    return max((abs(value) for name, value in values.items() if name.endswith(ends)), default=0.0)


def _positions(values: Mapping[str, float]) -> list[list[float]]:
    heads = [n.removesuffix(".x") for n in values if n.startswith("rotors.") and n.endswith(".position.x")]
    return [[values.get(f"{head}.{axis}", np.nan) for axis in "xyz"] for head in heads]
