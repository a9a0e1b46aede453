"""The page of a reproduced paper: its figures, then all tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from haltere.papers.tables import PaperTable, Reproduction
from haltere.report.page import Page, Section, Table


def paper_page(
    title: str,
    text: str,
    figures: Sequence[Section],
    result: Reproduction,
    units: Mapping[str, tuple[float, str]] | None = None,
) -> Page:
    """A page with sections of figures and the numbers of the paper beside ours.

    Args:
        title: of the page.
        text: one sentence: which experiments of whom.
        figures: the sections before the numbers.
        result: the numbers.
        units: factor and name of units that are shown in others, such as m in mm.
    """
    return Page(title, text, sections=(*figures, numbers_section(result.tables, units)))


def numbers_section(
    tables: Sequence[PaperTable], units: Mapping[str, tuple[float, str]] | None = None
) -> Section:
    """All tables of a paper; `units` as in `paper_page`."""
    shown = units or {}
    items = [
        Table(
            table.name,
            table.columns,
            [_cells(row, *shown.get(row[1], (1.0, row[1]))) for row in table.cells],
            "Ours must be at most the bound.",
            wide=True,
        )
        for table in tables
    ]
    return Section(
        "Numbers", "What the paper prints, what ours gave, and the bound that it is held to.", items
    )


def _cells(row: Sequence[Any], factor: float, unit: str) -> list[str]:
    quantity, _, *values = row
    return [quantity, unit, *(_cell(value, factor) for value in values)]


def _cell(value: Any, factor: float) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else f"{factor * value:.3g}"
