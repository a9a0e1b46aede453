"""`haltere doctor`: what is wrong or odd in a log, with evidence and remedy."""

from pathlib import Path
from typing import Annotated, Any

import typer

from haltere.cli.output import JsonFlag, emit_json, emit_table, progress

EXAMPLE = "Example: haltere doctor flight.ulg --airframe x500 --json"


def doctor(
    flight: Annotated[
        Path, typer.Argument(help="A log: MCAP, ULog, Blackbox, uSD, .bin, ROS bag or CSV.", metavar="FLIGHT")
    ],
    airframe: Annotated[
        str | None,
        typer.Option("--airframe", help="What the vehicle is meant to be.", metavar="NAME_OR_FILE"),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option("--map", help="For CSV and ROS bags: which columns are which.", metavar="FILE"),
    ] = None,
    apply: Annotated[
        list[str] | None,
        typer.Option("--apply", help="Kind of a finding to mend though it is not certain.", metavar="KIND"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the mended flight here, as MCAP.", metavar="FILE")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing file of --out.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Look for wrong units, axes, motors and broken channels in a log.

    Each finding has its evidence and remedy. Certain ones are mended in the flight that --out writes; others only if
    --apply names them. What the log cannot tell is listed apart.
    """
    with progress(f"reading {flight}") as report:
        result = examine(flight, airframe, mapping, apply or [], out, overwrite, report)
    if json:
        emit_json(result)
        return
    findings, unknown = result["findings"], result["unknown"]
    if findings:
        rows = [(f["kind"], f["evidence"], f["remedy"], "yes" if f["certain"] else "no") for f in findings]
        emit_table(f"Findings in {flight}", ("kind", "evidence", "remedy", "certain"), rows)
    else:
        typer.echo(f"{flight}: nothing found that is wrong")
    if unknown:
        lines = [(u["kind"], u["reason"], u["remedy"]) for u in unknown]
        emit_table("What this log cannot tell", ("kind", "reason", "what would"), lines)
    for note in result["notes"]:
        typer.echo(f"note: {note}")


def examine(
    flight: Path,
    airframe: str | None,
    mapping: Path | None,
    apply: list[str],
    out: Path | None,
    overwrite: bool,
    report: Any,
) -> dict[str, Any]:
    """The result of the command as plain data."""
    from haltere.airframe import load_airframe
    from haltere.doctor.diagnosis import diagnose
    from haltere.flight import write_mcap
    from haltere.logs import read

    nominal = load_airframe(airframe) if airframe is not None else None
    record = read(flight, mapping=mapping)
    report(f"examining {flight}")
    diagnosis = diagnose(record, nominal, apply=apply)
    result = {**diagnosis.to_dict(), "notes": list(record.notes), "duration": record.duration, "file": flight}
    if out is not None:
        write_mcap(diagnosis.mended, out, overwrite=overwrite)
        result["mended"] = out
    return result
