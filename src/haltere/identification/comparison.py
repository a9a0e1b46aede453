"""Two vehicles beside each other: airframes, results, or one of each.

With values a, b and deviations s_a, s_b of a number (none for what is given), its difference in deviations is

    z = (b - a) / sqrt(s_a^2 + s_b^2)                                                                     (1)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from haltere.foundation.jsonable import fields_to_jsonable
from haltere.identification.described import DescribedVehicle

APART = 3.0
"""z from which two numbers differ."""
SAME = 1e-9
"""Relative difference below which given numbers are the same."""


@dataclass(frozen=True)
class Row:
    """One number of both vehicles."""

    name: str
    a: float | None
    b: float | None
    difference: float | None
    relative: float | None
    """Difference over the larger of the two values."""
    deviations: float | None
    """Equation (1); None if neither has a deviation."""

    @property
    def differs(self) -> bool:
        """Whether the two are apart: by more than chance, or at all where both are given."""
        if self.difference is None or self.relative is None:
            return True
        return abs(self.deviations) > APART if self.deviations is not None else abs(self.relative) > SAME

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return fields_to_jsonable(self) | {"differs": self.differs}


def compare(a: DescribedVehicle, b: DescribedVehicle) -> list[Row]:
    """A row for each number that at least one of the two has, in the order of `a`; rotors go by name, else by place."""
    there = renamed(b, a.rotors)
    sigma = renamed_keys(b.sigma, b.rotors, a.rotors)
    names = list(dict.fromkeys([*a.numbers, *there]))
    return [_row(n, a.numbers.get(n), there.get(n), a.sigma.get(n), sigma.get(n)) for n in names]


def renamed(subject: DescribedVehicle, rotors: tuple[str, ...]) -> dict[str, float]:
    """The numbers with rotors called as in `rotors`, if the names differ and the count does not."""
    return renamed_keys(subject.numbers, subject.rotors, rotors)


def renamed_keys(table: Mapping[str, float], old: tuple[str, ...], new: tuple[str, ...]) -> dict[str, float]:
    """The table with its rotors' names replaced in order; as it is where they are the same or not as many."""
    if set(old) == set(new) or len(old) != len(new):
        return dict(table)
    called = dict(zip(old, new, strict=True))
    changed = {}
    for name, value in table.items():
        parts = name.split(".")
        if parts[0] == "rotors" and len(parts) > 2:
            parts[1] = called.get(parts[1], parts[1])
        changed[".".join(parts)] = value
    return changed


def _row(name: str, a: float | None, b: float | None, s_a: float | None, s_b: float | None) -> Row:
    if a is None or b is None:
        return Row(name, a, b, None, None, None)
    size, spread = max(abs(a), abs(b)), float(np.hypot(s_a or 0.0, s_b or 0.0))
    relative = (b - a) / size if size > 0.0 else 0.0
    return Row(name, a, b, b - a, relative, (b - a) / spread if spread > 0.0 else None)
