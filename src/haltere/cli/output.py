"""What commands write: one JSON object or text on stdout, progress and errors on stderr.

Numbers in JSON are plain: arrays become lists, NaN and infinity become null. Everything that a command prints passes
through here, so that text from a log or result can neither end a line nor steer the terminal.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haltere.foundation.jsonable import to_jsonable
from haltere.foundation.tables import TextTable, format_cell
from haltere.foundation.text import one_line, toml_document

if TYPE_CHECKING:
    from rich.console import Console

JsonFlag = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")
]

PIPE_WIDTH = 160
QUIET_SECONDS = 2.0
"""Jobs that are done by then say nothing on the way."""


def emit_json(content: Mapping[str, Any]) -> None:
    """Print `content` as the one JSON object of this command."""
    sys.stdout.write(dumps(to_jsonable(content), allow_nan=False, indent=2) + "\n")


def emit_line(text: str, *, err: bool = False) -> None:
    """Print one line on stdout, or on stderr."""
    typer.echo(one_line(text), err=err)


def emit_document(text: str) -> None:
    """Print a document in TOML on stdout as it is."""
    typer.echo(toml_document(text), nl=False)


def show(content: Mapping[str, Any], texts: Iterable[str | TextTable], *, json: bool) -> None:
    """Print the result of a command: `content` as JSON, or `texts`, sentences and tables one below the other."""
    if json:
        emit_json(content)
        return
    for text in texts:
        if isinstance(text, TextTable):
            emit_table(text.title, text.columns, text.rows)
        else:
            emit_line(text)


def emit_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows of cells as a table on stdout; numbers are set to the right with four digits."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    numeric = [any(isinstance(row[i], int | float) for row in rows) for i in range(len(columns))]
    table = Table(title=Text(one_line(title), "table.title"), title_justify="left")
    for column, is_number in zip(columns, numeric, strict=True):
        table.add_column(Text(one_line(column)), justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(format_cell(item)) for item in row))
    # A pipe has no width of its own: do not break lines that another program will read.
    Console(width=None if sys.stdout.isatty() else PIPE_WIDTH).print(table)


def console() -> "Console":
    """The console on stderr."""
    from rich.console import Console

    return Console(stderr=True)


@contextmanager
def progress(first: str) -> Iterator[Callable[[str], None]]:
    """Show what a long job is doing, on stderr, once it has taken two seconds.

    Args:
        first: what it does at the beginning.

    Yields:
        The function to call with a sentence whenever the job goes on to something else.
    """
    lock = threading.Lock()
    latest, shown = first, False

    def show() -> None:
        nonlocal shown
        with lock:
            shown = True
            stderr.print(Text(one_line(latest)), style="dim")

    def report(message: str) -> None:
        nonlocal latest
        latest = message
        if shown:
            show()

    from rich.text import Text

    stderr = console()
    timer = threading.Timer(QUIET_SECONDS, show)
    timer.daemon = True
    timer.start()
    try:
        yield report
    finally:
        timer.cancel()


def prepare_jax(*, one_thread: bool = False) -> None:
    """Let JAX compute with 64 bits and keep compiled functions for the next call; before the first array.

    It is not imported for that: some commands can do without it. A folder that the user has already chosen for compiled
    functions stays chosen.

    Args:
        one_thread: for work on small arrays, where more threads only wait for each other; a user's choice stays.
    """
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = str(Path(home) / "haltere" / "jax")
    if "jax" not in sys.modules:
        os.environ["JAX_ENABLE_X64"] = "1"
        if one_thread:
            os.environ.setdefault("PJRT_NPROC", "1")
        if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
            os.environ["JAX_COMPILATION_CACHE_DIR"] = folder
            os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        return
    import jax

    jax.config.update("jax_enable_x64", True)
    if jax.config.values["jax_compilation_cache_dir"] is None:
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
