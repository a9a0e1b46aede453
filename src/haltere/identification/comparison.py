"""Two vehicles beside each other: airframes, results, or one of each.

With values a, b and deviations s_a, s_b of a number (none for those of an airframe file), its difference in
deviations is

    z = (b - a) / sqrt(s_a^2 + s_b^2)                                                                     (1)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from haltere.airframe import Airframe
from haltere.foundation.jsonable import fields_to_jsonable
from haltere.foundation.tables import TextTable, make_dataframe, text_lines
from haltere.identification.result import Identification

if TYPE_CHECKING:
    from haltere.identification.described import DescribedVehicle

LIMIT = 3.0
"""z from which two numbers differ."""
SAME = 1e-9
"""Relative difference below which exact numbers are the same."""
Comparable: TypeAlias = Union["DescribedVehicle", Identification, Airframe, str, PathLike[str]]


@dataclass(frozen=True)
class ComparisonRow:
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
        """Whether the two differ: by more than chance, or at all where both are exact."""
        if self.difference is None or self.relative is None:
            return True
        return abs(self.deviations) > LIMIT if self.deviations is not None else abs(self.relative) > SAME

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return fields_to_jsonable(self) | {"differs": self.differs}


@dataclass(frozen=True, repr=False)
class Comparison:
    """The numbers of two vehicles, called `a` and `b`; `rows` holds all, `different` those that differ."""

    a: str
    b: str
    rows: tuple[ComparisonRow, ...]

    @property
    def different(self) -> tuple[ComparisonRow, ...]:
        """The numbers that differ."""
        return tuple(row for row in self.rows if row.differs)

    def __repr__(self) -> str:
        return text_lines([self.table(), self.sentence] if self.different else [self.sentence])

    def _repr_html_(self) -> str:
        return self.table().html()

    @property
    def sentence(self) -> str:
        """How many numbers differ."""
        return f"{len(self.different)} of {len(self.rows)} numbers differ"

    def table(self, everything: bool = False) -> TextTable:
        """A row for each number that differs, or for all."""
        rows = [
            (r.name, r.a, r.b, None if r.relative is None else 100.0 * r.relative, r.deviations)
            for r in (self.rows if everything else self.different)
        ]
        return TextTable(f"{self.a} and {self.b}", ("number", "A", "B", "difference / %", "in sigma"), rows)

    def to_dict(self) -> dict[str, Any]:
        """As plain data; `different` counts the numbers that differ."""
        return {
            "a": self.a,
            "b": self.b,
            "rows": [r.to_dict() for r in self.rows],
            "different": len(self.different),
        }

    def to_dataframe(self) -> Any:
        """All numbers as a pandas data frame, by name.

        Raises:
            HaltereError: pandas is not installed.
        """
        columns = ("name", "a", "b", "difference", "relative", "deviations", "differs")
        return make_dataframe(columns, [tuple(r.to_dict().values()) for r in self.rows], "name")


def compare(a: Comparable, b: Comparable) -> Comparison:
    """Compare two vehicles, number by number.

    There is a row for each number that at least one of the two has, in the order of `a`. Rotors are matched by name,
    or by their order where the names differ.

    Args:
        a: An `Identification` or its `result.json`; or an airframe, its file or its name in the catalogue.
        b: Likewise.
    """
    from haltere.identification.described import describe  # noqa: PLC0415 - JAX takes a second to import

    first, second = describe(a), describe(b)
    numbers = rename_rotors(second.numbers, second.rotors, first.rotors)
    sigma = rename_rotors(second.sigma, second.rotors, first.rotors)
    rows = [
        _row(n, first.numbers.get(n), numbers.get(n), first.sigma.get(n), sigma.get(n))
        for n in dict.fromkeys([*first.numbers, *numbers])
    ]
    return Comparison(_label(a, first), _label(b, second), tuple(rows))


def rename_rotors(table: Mapping[str, float], old: tuple[str, ...], new: tuple[str, ...]) -> dict[str, float]:
    """The table with its rotors' names replaced in order; as it is where they are the same or not as many."""
    if set(old) == set(new) or len(old) != len(new):
        return dict(table)
    called = dict(zip(old, new, strict=True))
    changed = {}
    for name, value in table.items():
        words = name.split(".")
        if words[0] == "rotors" and len(words) > 2:
            words[1] = called.get(words[1], words[1])
        changed[".".join(words)] = value
    return changed


def _label(vehicle: Comparable, described: "DescribedVehicle") -> str:
    return fspath(vehicle) if isinstance(vehicle, str | PathLike) else described.name


def _row(name: str, a: float | None, b: float | None, s_a: float | None, s_b: float | None) -> ComparisonRow:
    if a is None or b is None:
        return ComparisonRow(name, a, b, None, None, None)
    size, sigma = max(abs(a), abs(b)), float(np.hypot(s_a or 0.0, s_b or 0.0))
    relative = (b - a) / size if size > 0.0 else 0.0
    return ComparisonRow(name, a, b, b - a, relative, (b - a) / sigma if sigma > 0.0 else None)
