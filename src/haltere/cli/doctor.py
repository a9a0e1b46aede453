"""`haltere doctor`: what is wrong or odd in a log, with evidence and remedy."""

from pathlib import Path
from typing import Annotated, Any

import typer

from haltere.cli.options import AirframeOption, ApplyOption, FlightArgument, MapOption, OverwriteFlag
from haltere.cli.output import JsonFlag, emit_json, emit_line, emit_table, progress

EXAMPLE = "Example: haltere doctor flight.ulg --airframe x500 --json"


def doctor(
    flight: FlightArgument,
    airframe: AirframeOption = None,
    mapping: MapOption = None,
    apply: ApplyOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the mended flight here, as MCAP.", metavar="FILE")
    ] = None,
    overwrite: OverwriteFlag = False,
    json: JsonFlag = False,
) -> None:
    """Look for wrong units, axes, motors and broken channels in a log.

    Each finding has its evidence and remedy. Certain ones are mended in the flight that --out writes; others only if
    --apply names them. What the log does not decide is listed apart.
    """
    from haltere.airframe import load_airframe
    from haltere.doctor.diagnosis import diagnose
    from haltere.logs import read

    nominal = None if airframe is None else load_airframe(airframe)
    with progress(f"reading {flight}") as report:
        record = read(flight, mapping=mapping)
        report(f"examining {flight}")
        diagnosis = diagnose(record, nominal, apply=apply or [])
        written = {} if out is None else {"mended": diagnosis.mended.save(out, overwrite=overwrite)}
    if json:
        about: dict[str, Any] = {"notes": record.notes, "duration": record.duration, "file": flight}
        emit_json({**diagnosis.to_dict(), **about, **written})
        return
    for table in diagnosis.tables():
        if table.rows:
            emit_table(table.title, table.columns, table.rows)
        else:
            emit_line(f"{flight}: nothing found that is wrong")
    for note in record.notes:
        emit_line(f"note: {note}")
