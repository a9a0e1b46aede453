"""Tables of a reproduced paper: what the paper prints, what ours gave, and the bound on ours.

A paper `x` is a package `haltere.papers.x` with two functions, which `reproduce_paper` calls:

    tables.reproduce(runs, seed, progress) -> Reproduction      all numbers of the paper beside ours
    page.write_page(reproduction, path, progress) -> Path       its figures and tables as one HTML file
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from haltere.foundation import HaltereError
from haltere.foundation.arrays import double_precision
from haltere.foundation.jsonable import to_jsonable

Progress = Callable[[str], None]
"""Called with a sentence whenever a long job begins something else."""

RUNS = {"hong": 20, "boehm": 30, "fresk": 50, "blaha": 100, "schmitz": 100}
"""The papers, each with its number of random draws, flights or arms where none is given."""
COLUMNS = ("quantity", "unit", "paper", "ours", "bound")
FURTHER_COLUMNS = ("corrected", "cramer_rao")
"""Columns that only some papers have."""


def silent(message: str) -> None:
    """Progress that nobody reads."""


@dataclass(frozen=True)
class PaperRow:
    """One quantity of a paper beside ours; a number that is not finite becomes None.

    Attributes:
        quantity: its name.
        unit: as the table has it.
        ours: our number.
        bound: what ours must not exceed.
        paper: what the paper prints.
        more: further columns by name.
    """

    quantity: str
    unit: str
    ours: Any
    bound: float | None = None
    paper: Any = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ours", to_jsonable(self.ours))

    @property
    def outside(self) -> bool:
        """Whether our number is missing or greater than its bound; a row without bound is never outside."""
        return self.bound is not None and not (self.ours is not None and self.ours <= self.bound)

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON has it."""
        return {**{name: getattr(self, name) for name in COLUMNS}, **self.more}


@dataclass(frozen=True)
class PaperTable:
    """Rows under a name."""

    name: str
    rows: Sequence[PaperRow]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that are shown."""
        return (*COLUMNS, *(name for name in FURTHER_COLUMNS if any(name in row.more for row in self.rows)))

    @property
    def cells(self) -> list[list[Any]]:
        """What stands in these columns, row by row."""
        rows = [row.to_dict() for row in self.rows]
        return [[row.get(name) for name in self.columns] for row in rows]


@dataclass(frozen=True, eq=False)
class Reproduction:
    """A paper's numbers beside ours.

    Attributes:
        tables: those that have rows.
        runs: random draws, flights or arms.
        seed: same seed, same numbers.
        flights: what the figures are drawn from, as the paper's own page needs it.
        page: the file with the figures, if one was written.
    """

    tables: Sequence[PaperTable]
    runs: int
    seed: int
    flights: Any = None
    page: Path | None = None

    @property
    def outside(self) -> list[PaperRow]:
        """Rows whose number is outside its bound."""
        return [row for table in self.tables for row in table.rows if row.outside]

    def to_dict(self) -> dict[str, Any]:
        """`tables`, each with `name` and `rows`; `report` is the file with the figures."""
        tables = [
            {"name": table.name, "rows": [row.to_dict() for row in table.rows]} for table in self.tables
        ]
        return {"tables": tables} if self.page is None else {"tables": tables, "report": str(self.page)}


def named_tables(rows: Mapping[str, Sequence[PaperRow]]) -> tuple[PaperTable, ...]:
    """Tables by name; those without rows are left out."""
    return tuple(PaperTable(name, found) for name, found in rows.items() if found)


def check_runs(runs: int, minimum: int, usual: int) -> None:
    """Raise a `HaltereError` for fewer runs than a paper's rows need."""
    if runs < minimum:
        words = {1: "one", 2: "two"}[minimum]
        raise HaltereError(f"got {runs} runs, expected {words} or more; try {usual}")


@double_precision()
def reproduce_paper(
    name: str,
    runs: int | None = None,
    seed: int = 0,
    page: Path | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """The experiments of a paper beside ours.

    Args:
        name: one of `RUNS`.
        runs: random draws, flights or arms; None takes the number in `RUNS`.
        seed: same seed, same numbers (but for times).
        page: HTML file for figures and tables.
        progress: called with a sentence as the work goes on.
    """
    if name not in RUNS:
        raise HaltereError(f"got the paper {name!r}, expected one of {', '.join(RUNS)}")
    if page is not None:
        import_module("haltere.report.page").check_replaceable(page)
    tables = import_module(f"haltere.papers.{name}.tables")
    result: Reproduction = tables.reproduce(runs or RUNS[name], seed, progress)
    if page is None:
        return result
    pages = import_module(f"haltere.papers.{name}.page")
    return replace(result, page=pages.write_page(result, page, progress))
