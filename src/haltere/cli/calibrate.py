"""`haltere calibrate`: constants of hardware from known references."""

from pathlib import Path
from typing import Annotated

import typer

from haltere.cli.options import ArmOption, MapOption, OverwriteFlag
from haltere.cli.output import JsonFlag, emit_json, emit_line, emit_table, prepare_jax, progress

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
    airframe: ArmOption = "quad-arm",
    mapping: MapOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write the calibration here, for `haltere payload`.", metavar="FILE"),
    ] = None,
    overwrite: OverwriteFlag = False,
    json: JsonFlag = False,
) -> None:
    """Find the friction of an arm's servos from a few known weights, with uncertainties.

    Sweep every joint to and fro with the empty arm (payload.mass 0) and with two or more known weights, some seconds
    each.
    """
    prepare_jax()
    from haltere.identification.payload.reading import calibrate_servos
    from haltere.logs import read

    with progress(f"reading {data}"):
        calibration = calibrate_servos(read(data, mapping=mapping), airframe)
        result = calibration.to_dict()
        if out is not None:
            result["file"] = calibration.save(out, overwrite=overwrite)
    if json:
        emit_json(result)
        return
    rows = [(p["name"], p["unit"], p["value"], p["sigma"], p["verdict"]) for p in result["parameters"]]
    emit_table(f"Servo constants from {data}", ("parameter", "unit", "value", "sigma", "verdict"), rows)
    masses = ", ".join(f"{1000.0 * mass:g} g" for mass in calibration.masses)
    emit_line(f"weights: {masses}; mean misfit {max(result['residual']):.2g} N m")
    for note in calibration.notes:
        emit_line(f"note: {note}")
