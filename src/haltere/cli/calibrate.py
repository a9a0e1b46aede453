"""`haltere calibrate`: constants of hardware from known references."""

from pathlib import Path
from typing import Annotated, Any

import typer

from haltere.cli.output import JsonFlag, emit_json, emit_table, prepare_jax, progress

EXAMPLE = "Example: haltere calibrate servo weights.csv --airframe quad-arm --out servos.json"

app = typer.Typer(
    help="Find constants of hardware from known references.",
    epilog=EXAMPLE,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def calibrate() -> None:
    """Find constants of hardware from known references."""


@app.command("servo", epilog=EXAMPLE)
def servo(
    data: Annotated[
        Path,
        typer.Argument(
            help="A log of the arm sweeping with known weights: joints.angle, joints.load, and payload.mass in kg.",
            metavar="DATA",
        ),
    ],
    airframe: Annotated[
        str, typer.Option("--airframe", help="The vehicle with its arm.", metavar="NAME_OR_FILE")
    ] = "quad-arm",
    mapping: Annotated[
        Path | None,
        typer.Option("--map", help="For CSV and ROS bags: which columns are which.", metavar="FILE"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write the calibration here, for `haltere payload`.", metavar="FILE"),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing file of --out.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Find the friction of an arm's servos from a few known weights, with uncertainties.

    Sweep every joint to and fro with the empty arm (payload.mass 0) and with two or more known weights, some seconds
    each.
    """
    prepare_jax()
    with progress(f"reading {data}"):
        result = _calibrated(data, airframe, mapping, out, overwrite)
    if json:
        emit_json(result)
        return
    rows = [(p["name"], p["unit"], p["value"], p["sigma"], p["verdict"]) for p in result["parameters"]]
    emit_table(f"Servo constants from {data}", ("parameter", "unit", "value", "sigma", "verdict"), rows)
    masses = ", ".join(f"{1000.0 * mass:g} g" for mass in result["masses"])
    typer.echo(f"weights: {masses}; mean misfit {max(result['residual']):.2g} N m")
    for note in result["notes"]:
        typer.echo(f"note: {note}")


def _calibrated(
    data: Path, vehicle: str, mapping: Path | None, out: Path | None, overwrite: bool
) -> dict[str, Any]:
    from haltere.airframe import load_airframe
    from haltere.estimation.payload.model import ArmBelief
    from haltere.identification.payload.calibration import calibrate as fit
    from haltere.identification.payload.calibration import parameters, save_calibration
    from haltere.identification.payload.reading import arm_log, weighings
    from haltere.logs import read

    airframe = load_airframe(vehicle)
    log = arm_log(read(data, mapping=mapping), airframe)
    records, masses = weighings(log)
    found = fit(ArmBelief.from_airframe(airframe), records, masses)
    result: dict[str, Any] = {
        "parameters": [one.to_dict() for one in parameters(found)],
        "masses": masses,
        "residual": found.residual.tolist(),
        "notes": list(log.notes),
    }
    if out is not None:
        result["file"] = save_calibration(out, found.belief, airframe.name, overwrite)
    return result
