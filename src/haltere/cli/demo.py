"""`haltere demo`: an unknown vehicle is simulated, flown and identified, and the report written."""

from pathlib import Path
from typing import Annotated

import typer

from haltere.cli.output import JsonFlag, emit_json, emit_line, prepare_jax, progress

EXAMPLE = "Example: haltere demo --out report.html"


def demo(
    out: Annotated[Path, typer.Option("--out", help="The HTML file to write.", metavar="FILE")] = Path(
        "report.html"
    ),
    seed: Annotated[
        int, typer.Option("--seed", help="Of the vehicle, its flight and its sensors.", min=0)
    ] = 0,
    json: JsonFlag = False,
) -> None:
    """Simulate a vehicle that nobody knows, identify it, and write report.html."""
    prepare_jax()
    from haltere.report.demo import write_demo

    with progress("making an unknown vehicle") as report:
        result = write_demo(out, report, seed)
    if json:
        emit_json(result)
        return
    parameters = [p for p in result["parameters"] if p["name"] in result["truth"]]
    known = [p for p in parameters if p["verdict"] in ("identified", "weak") and p["sigma"]]
    inside = sum(abs(p["value"] - result["truth"][p["name"]]) <= 1.96 * p["sigma"] for p in known)
    emit_line(f"{len(known)} numbers identified; {inside} intervals of 95 % hold the truth")
    emit_line(f"wrote {out}; open it in a browser")
