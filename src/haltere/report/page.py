"""One HTML file from figures, tables and sentences: everything is inside, nothing is loaded from elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from haltere import __version__
from haltere.foundation import HaltereError
from haltere.foundation.files import write_text
from haltere.foundation.text import one_line, script_json

GENERATOR = "haltere"
_MARK = f'<meta name="generator" content="{GENERATOR}'


@dataclass(frozen=True)
class Fact:
    """One number that matters, for the top of the page."""

    value: str
    unit: str
    name: str


@dataclass(frozen=True)
class Picture:
    """A figure with one sentence that says what one sees; `wide` ones take the whole width.

    A figure with a `name` is found on the page as the element `#name`.
    """

    title: str
    figure: go.Figure
    sentence: str
    wide: bool = False
    name: str = ""

    @property
    def json(self) -> Markup:
        """Data and layout, safe inside a script element."""
        return Markup(script_json(str(self.figure.to_json())))

    @property
    def height(self) -> int:
        """Pixels that the figure takes, so that the page does not jump while it is drawn."""
        return int(self.figure.layout.height or 300)


@dataclass(frozen=True)
class Mark:
    """A cell with a coloured mark; `kind` is a class of the style sheet, the text says the same in words."""

    text: str
    kind: str


@dataclass(frozen=True)
class Table:
    """Rows of text cells with one sentence; the first column names the row. Cells of `prose` ones break their lines."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | Mark]]
    sentence: str
    wide: bool = False
    prose: bool = False


@dataclass(frozen=True)
class Section:
    """A part of the page: a heading, what it is about, and its pictures and tables."""

    title: str
    text: str
    items: Sequence[Picture | Table] = ()
    points: Sequence[str] = ()
    """Sentences of a numbered list."""


@dataclass(frozen=True)
class Page:
    """A whole report."""

    title: str
    text: str
    facts: Sequence[Fact] = ()
    sections: Sequence[Section] = field(default_factory=tuple)

    def html(self) -> str:
        """The text of the file."""
        template = _templates().get_template("page.html.jinja")
        return template.render(
            page=self,
            generator=f"{GENERATOR} {__version__}",
            plotly=Markup(get_plotlyjs()),
            is_picture=lambda item: isinstance(item, Picture),
            is_mark=lambda cell: isinstance(cell, Mark),
        )

    def write(self, path: Path) -> Path:
        """Write the file by way of a temporary name beside it; replaces only what Haltere has written."""
        check_replaceable(path)
        write_text(path, self.html())
        return path


def check_replaceable(path: Path) -> None:
    """Raise a `HaltereError` unless `path` is free or holds a report of ours, and its folder exists."""
    if not path.parent.is_dir():
        raise HaltereError(f"{path}: the folder {path.parent} does not exist; make it, or give another file")
    if not path.exists():
        return
    if path.is_file():
        with path.open("rb") as file:
            if _MARK.encode() in file.read(4096):
                return
    raise HaltereError(
        f"{path}: exists and was not written by haltere, so it is left alone; "
        "move it away, or give another file"
    )


@cache
def _templates() -> Environment:
    loader = PackageLoader("haltere.report", "templates")
    return Environment(
        loader=loader,
        autoescape=True,
        finalize=_on_one_line,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _on_one_line(value: Any) -> Any:
    """Texts on one line, before they are escaped; what is markup already stays."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else one_line(value)
