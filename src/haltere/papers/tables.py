"""Tables of a reproduced paper for its page: what the paper prints, what ours gave, and the bound on ours."""

from collections.abc import Mapping
from typing import Any

from haltere.report.page import Section, Table

COLUMNS = ("quantity", "unit", "paper", "ours", "bound")


def numbers(result: Mapping[str, Any], units: Mapping[str, tuple[float, str]] | None = None) -> Section:
    """All tables of a study; `units` gives factor and name of units that are shown in others, such as m in mm."""
    shown = units or {}
    tables = [
        Table(
            table["name"],
            COLUMNS,
            [_cells(row, *shown.get(row["unit"], (1.0, row["unit"]))) for row in table["rows"]],
            "Ours must be at most the bound.",
            wide=True,
        )
        for table in result["tables"]
    ]
    return Section(
        "Numbers", "What the paper prints, what ours gave, and the bound that it is held to.", tables
    )


def _cells(row: Mapping[str, Any], factor: float, unit: str) -> list[str]:
    values = ["" if row[c] is None else f"{factor * row[c]:.3g}" for c in COLUMNS[2:]]
    return [row["quantity"], unit, *values]
