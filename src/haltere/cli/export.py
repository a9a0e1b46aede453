"""`haltere export`: a vehicle as configuration of a flight stack, or as a model of a simulator."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haltere.cli.output import JsonFlag, emit_json, prepare_jax, progress

if TYPE_CHECKING:
    from haltere.exporters import Certificate
    from haltere.identification.described import DescribedVehicle

EXAMPLE = "Example: haltere export result.json --to px4 --out vehicle.params"


def export(
    vehicle: Annotated[
        str,
        typer.Argument(
            help="An airframe file or name of the catalogue, or the result.json of identify.",
            metavar="AIRFRAME_OR_RESULT",
        ),
    ],
    to: Annotated[
        str, typer.Option("--to", help="px4, indiflight, ardupilot, urdf or mjcf.", metavar="TARGET")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="The file to write; named after the vehicle if left out.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")] = False,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Do not fly a result in simulation before it is exported.")
    ] = False,
    draws: Annotated[
        int, typer.Option("--draws", help="Vehicles flown before export.", min=1, max=1000)
    ] = 20,
    seed: Annotated[int, typer.Option("--seed", help="Of these vehicles.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Write a vehicle in the words of a flight stack or simulator.

    A result of identify is flown first: vehicles drawn from what is known of it must hover under a controller that
    holds the result for true. What was not identified is left out and named.
    """
    prepare_jax()
    with progress(f"reading {vehicle}") as report:
        content = write(vehicle, to, out, overwrite, unchecked, draws, seed, report)
    if json:
        emit_json(content)
        return
    for note in content["notes"]:
        typer.echo(f"note: {note}")
    for file in content["files"]:
        typer.echo(f"wrote {file}")


def write(
    vehicle: str,
    to: str,
    out: Path | None,
    overwrite: bool,
    unchecked: bool,
    draws: int,
    seed: int,
    report: Any,
) -> dict[str, Any]:
    """The result of the command as plain data."""
    from haltere.exporters import TARGETS, ExportError, render, save

    target = next((name for name in TARGETS if name == to), None)
    if target is None:
        raise ExportError(f"no export is called {to!r}; give --to {', '.join(TARGETS)}")
    subject = subject_of(vehicle)
    certificate = None
    if subject.result is not None:
        render(subject, target)  # what cannot be written is not flown
        certificate = None if unchecked else _flown(subject, draws, seed, report)
    rendering = render(subject, target, certificate)
    stem = out or Path(Path(vehicle).stem if Path(vehicle).is_file() else subject.name)
    files = save(rendering, stem, overwrite)
    return {
        "files": list(files),
        "target": target,
        "notes": list(rendering.notes),
        "gate": None
        if certificate is None
        else {"draws": certificate.draws, "held": certificate.hovered, "seed": seed},
    }


def subject_of(vehicle: str) -> "DescribedVehicle":
    """What the argument names: a result if it is a JSON file, else an airframe."""
    from haltere.airframe import load_airframe
    from haltere.identification.described import DescribedVehicle
    from haltere.identification.result import read_result

    path = Path(vehicle)
    if path.suffix.lower() == ".json":
        return DescribedVehicle.from_result(read_result(path))
    return DescribedVehicle.from_airframe(load_airframe(vehicle))


def _flown(subject: "DescribedVehicle", draws: int, seed: int, report: Any) -> "Certificate":
    from haltere.gate.hover_test import certify

    report(f"flying {draws} vehicles drawn from what is known")
    return certify(subject, draws, seed)
