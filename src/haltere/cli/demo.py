"""`haltere demo`: a catalogue vehicle and its dynamics, drawn into one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from haltere.cli.output import JsonFlag, emit_json, prepare_jax, progress

EXAMPLE = "Example: haltere demo --out report.html"


def demo(
    out: Annotated[Path, typer.Option("--out", help="The HTML file to write.", metavar="FILE")] = Path(
        "report.html"
    ),
    json: JsonFlag = False,
) -> None:
    """Draw a vehicle and how it moves as report.html."""
    prepare_jax()
    from haltere.report.demo import write_demo

    with progress("drawing a catalogue vehicle") as report:
        result = write_demo(out, report)
    if json:
        emit_json(result)
    else:
        typer.echo(f"wrote {out}; open it in a browser")
