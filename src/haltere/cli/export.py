"""`haltere export`: a vehicle as configuration of a flight stack, or as a model of a simulator."""

from pathlib import Path
from typing import Annotated

import typer

from haltere.cli.options import OverwriteFlag, VehicleArgument
from haltere.cli.output import JsonFlag, emit_json, emit_line, prepare_jax, progress

EXAMPLE = "Example: haltere export result.json --to px4 --out vehicle.params"


def export(
    vehicle: VehicleArgument,
    to: Annotated[
        str, typer.Option("--to", help="px4, indiflight, ardupilot, urdf or mjcf.", metavar="TARGET")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="The file to write; named after the vehicle if left out.")
    ] = None,
    overwrite: OverwriteFlag = False,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Do not fly a result in simulation before it is exported.")
    ] = False,
    draws: Annotated[
        int, typer.Option("--draws", help="Vehicles flown before export.", min=1, max=1000)
    ] = 20,
    seed: Annotated[int, typer.Option("--seed", help="Of these vehicles.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Write a vehicle for a flight stack or simulator.

    A result of identify is flown first: vehicles sampled from what is known of it must hover under the controller for
    the estimate. What was not identified is left out and named.
    """
    prepare_jax()
    with progress(f"reading {vehicle}") as report:
        from haltere.gate.checked_export import export

        exported = export(
            vehicle,
            to,
            out,
            overwrite=overwrite,
            check=not unchecked,
            draws=draws,
            seed=seed,
            progress=report,
        )
    if json:
        emit_json(exported.to_dict())
        return
    for note in exported.notes:
        emit_line(f"note: {note}")
    for file in exported.files:
        emit_line(f"wrote {file}")
