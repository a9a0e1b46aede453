"""Small tables: as text for a terminal, as HTML for a notebook, as a pandas data frame."""

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from haltere.foundation.errors import HaltereError
from haltere.foundation.text import html_text, one_line


@dataclass(frozen=True)
class TextTable:
    """A title, the names of the columns, and rows of cells: texts, numbers or None."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers and are set to the right."""
        return [any(isinstance(row[i], int | float) for row in self.rows) for i in range(len(self.columns))]

    def text(self) -> str:
        """Lines of equal columns; the last one may be of any length."""
        if not self.columns:
            return one_line(self.title)
        lines = [
            tuple(map(one_line, self.columns)),
            *(tuple(format_cell(item) for item in row) for row in self.rows),
        ]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        body = [
            "  ".join(
                word.rjust(width) if number else word.ljust(width)
                for word, width, number in zip(line, widths, self.numeric, strict=True)
            ).rstrip()
            for line in lines
        ]
        return "\n".join([one_line(self.title), *body] if self.title else body)

    def html(self) -> str:
        """A `table` element; every text in it is escaped."""
        if not self.columns:
            return html_lines([self.title])
        title = f"<caption>{html_text(self.title)}</caption>" if self.title else ""
        head = "".join(f"<th>{html_text(column)}</th>" for column in self.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html_text(format_cell(item))}</td>" for item in row) + "</tr>"
            for row in self.rows
        )
        return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def format_cell(item: Any) -> str:
    """One cell as text on one line: numbers with four digits, a dash for None."""
    if item is None:
        return "-"
    return f"{item:.4g}" if isinstance(item, float) else one_line(item)


def text_lines(items: Iterable[str | TextTable]) -> str:
    """Lines and tables as text for a terminal, one below the other."""
    return "\n".join(item.text() if isinstance(item, TextTable) else one_line(item) for item in items)


def html_lines(lines: Iterable[str]) -> str:
    """A paragraph for each line, escaped."""
    return "".join(f"<p>{html_text(line)}</p>" for line in lines)


def make_dataframe(columns: Sequence[str], rows: Iterable[Sequence[Any]], index: str) -> Any:
    """A pandas data frame with one column as its index.

    Raises:
        HaltereError: pandas is not installed.
    """
    try:
        pandas: Any = importlib.import_module("pandas")  # optional
    except ImportError:
        raise HaltereError(
            "a data frame needs pandas, which is not installed; pip install pandas, or use to_dict()"
        ) from None
    return pandas.DataFrame([tuple(row) for row in rows], columns=list(columns)).set_index(index)
