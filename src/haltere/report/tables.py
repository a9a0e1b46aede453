"""Tables of identified numbers: the whole vehicle's one below the other, those of rotors side by side."""

import math
import re
from collections.abc import Iterable, Sequence

from haltere.identification.parameters import Parameter
from haltere.identification.result import Identification
from haltere.identification.summary import rotor_quantities, shorten_names
from haltere.report.page import Mark, Table

_FIGURES = re.compile(r"\d+(?:\.\d+)?")
"""Advice that differs in figures only is given once, with those of the first."""


def parameter_tables(result: Identification) -> list[Table]:
    """The whole vehicle and its sensors; then what each rotor has; then what would help."""
    others = [p for p in result.parameters if not p.name.startswith("rotors.")]
    rotors = [p for p in result.parameters if p.name.startswith("rotors.") and p.name.count(".") >= 2]
    found = []
    if others:
        found.append(
            Table(
                "The whole vehicle and its sensors",
                ("", "value and sigma", "verdict", "95 %"),
                [_row(p) for p in others],
                "Green is identified, grey given by the user, yellow weak (an interval too wide for the quantity), "
                "blue known only in combination with others, red not identified from this log.",
                wide=True,
            )
        )
    if rotors:
        found.append(_rotors(rotors))
    helps = _helps(result.parameters)
    if helps:
        found.append(
            Table(
                "What is open, and what would close it",
                ("numbers", "verdict", "what helps"),
                helps,
                "Numbers that are known only in combination share one line.",
                wide=True,
                prose=True,
            )
        )
    return found


def _row(p: Parameter) -> tuple[str | Mark, ...]:
    return labelled(p.name, p.unit), _cell(p), p.verdict, interval(p.interval)


def _rotors(parameters: Sequence[Parameter]) -> Table:
    names, quantities = rotor_quantities(parameters)
    rows: list[tuple[str | Mark, ...]] = [
        (labelled(quantity, next(iter(row.values())).unit), *(_cell(row.get(name)) for name in names))
        for quantity, row in quantities.items()
    ]
    return Table(
        "The rotors",
        ("", *names),
        rows,
        "Value and standard deviation; the colour on the left is the verdict, as above.",
        wide=True,
    )


def labelled(name: str, unit: str) -> str:
    """A name with its unit."""
    return name if unit in ("", "1") else f"{name}, {nice(unit)}"


def nice(unit: str) -> str:
    """A unit with raised digits."""
    return unit.replace("^2", "²").replace(")2", ")²").replace("s2", "s²").replace("m2", "m²")


def _cell(p: Parameter | None) -> Mark:
    if p is None:
        return Mark("", "none")
    if p.value is None:
        return Mark("–", p.verdict)
    return Mark(pair(p.value, p.sigma), p.verdict)


def _helps(parameters: Iterable[Parameter]) -> list[tuple[str | Mark, ...]]:
    groups: dict[tuple[str, str], list[Parameter]] = {}
    for p in parameters:
        if p.verdict not in ("identified", "given"):
            groups.setdefault((p.verdict, _FIGURES.sub("#", p.fix)), []).append(p)
    rows: list[tuple[str | Mark, ...]] = []
    for (verdict, _), members in groups.items():
        fix = members[0].fix or "nothing needed for most uses"
        rows.append((", ".join(shorten_names([p.name for p in members])), Mark(verdict, verdict), fix))
    return rows


def number(value: float | None, sigma: float | None = None) -> str:
    """A value with as many digits as its deviation leaves sense to."""
    if value is None:
        return "–"
    return _fixed(value, _decimals(value, sigma)) if _handy(value, sigma) else _scientific(value, sigma)


def pair(value: float, sigma: float | None) -> str:
    """A value and its deviation, to the same digit."""
    if not sigma:
        return number(value)
    if _handy(value, sigma):
        places = _decimals(value, sigma)
        return f"{_fixed(value, places)} ± {_fixed(sigma, places)}"
    return f"{_scientific(value, sigma)} ± {sigma:.1e}".replace("-", "−")


def _handy(value: float, sigma: float | None) -> bool:
    """Whether a number is easier to read without a power of ten."""
    size = max(abs(value), sigma or 0.0)
    return size == 0.0 or 1e-3 <= size < 1e6


def _decimals(value: float, sigma: float | None) -> int:
    """Decimals: two digits of the deviation, or four of the value."""
    size = 10.0 * sigma if sigma else 1e-2 * abs(value)
    return 0 if size == 0.0 else min(max(2 - math.floor(math.log10(size)), 0), 7)


def _fixed(value: float, decimals: int) -> str:
    return f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", "−")


def _scientific(value: float, sigma: float | None) -> str:
    if sigma and abs(value) < 0.05 * sigma:
        return "0"
    digits = 3 if not sigma else min(max(math.floor(math.log10(abs(value) / sigma)) + 2, 1), 6)
    return f"{value:.{digits - 1}e}".replace("-", "−")


def interval(sides: tuple[float | None, float | None]) -> str:
    """An interval in words a reader takes in at a glance; an open side is left open."""
    low, high = sides
    if low is None and high is None:
        return "–"
    if low is None or high is None:
        return f"below {number(high)}" if low is None else f"above {number(low)}"
    doubt = (high - low) / 4.0
    return f"{number(low, doubt)} … {number(high, doubt)}"
