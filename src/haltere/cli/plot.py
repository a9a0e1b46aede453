"""`haltere plot`: the signals of a log over time in one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from haltere.cli.options import FlightArgument, MapOption
from haltere.cli.output import JsonFlag, emit_json, emit_line, progress

EXAMPLE = "Example: haltere plot flight.ulg --out plot.html"


def plot(
    flight: FlightArgument,
    out: Annotated[Path, typer.Option("--out", help="The HTML file to write.", metavar="FILE")] = Path(
        "plot.html"
    ),
    mapping: MapOption = None,
    json: JsonFlag = False,
) -> None:
    """Draw the signals of a log into one HTML file that needs no network."""
    from haltere.logs import read
    from haltere.report.signals import signals_page

    with progress(f"reading {flight}") as report:
        record = read(flight, mapping=mapping)
        report(f"drawing {len(record)} channels")
        signals_page(record, flight.name).write(out)
    if json:
        emit_json(
            {"file": out, "channels": {n: len(c) for n, c in record.channels.items()}, "notes": record.notes}
        )
    else:
        emit_line(f"wrote {out}; open it in a browser")
