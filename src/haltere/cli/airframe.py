"""`haltere airframe list|show|check|import`: the catalogue, whether a file is valid, and descriptions by others."""

from pathlib import Path
from typing import Annotated

import typer

from haltere.cli.options import OverwriteFlag
from haltere.cli.output import JsonFlag, emit_document, emit_json, emit_line, emit_table

app = typer.Typer(
    help="List, show, check and import descriptions of vehicles.",
    epilog="Example: haltere airframe check my_vehicle.toml",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list", epilog="Example: haltere airframe list --json")
def list_(json: JsonFlag = False) -> None:
    """List the catalogue: vehicles with the source of each value."""
    from haltere.airframe import catalogue_names, from_catalogue

    vehicles = [{**from_catalogue(name).summary(), "name": name} for name in catalogue_names()]
    if json:
        emit_json({"airframes": vehicles})
        return
    rows = [
        (v["name"], v["mass"], len(v["rotors"]), len(v["links"]), len(v["sensors"]), v["description"])
        for v in vehicles
    ]
    emit_table("Catalogue", ("name", "mass / kg", "rotors", "links", "sensors", "description"), rows)


@app.command("show", epilog="Example: haltere airframe show hummingbird")
def show(
    name: Annotated[str, typer.Argument(help="A name of the catalogue, or a file.", metavar="NAME")],
    json: JsonFlag = False,
) -> None:
    """Print a vehicle's file, ready to be copied and changed."""
    from haltere.airframe import catalogue_names, catalogue_text, dumps, load_airframe

    airframe = load_airframe(name)
    if json:
        emit_json({**airframe.summary(), "airframe": airframe.model_dump(exclude_none=True)})
    else:
        emit_document(catalogue_text(name) if name in catalogue_names() else dumps(airframe))


@app.command("check", epilog="Example: haltere airframe check my_vehicle.toml")
def check(
    file: Annotated[
        str, typer.Argument(help="An airframe file (TOML), or a name of the catalogue.", metavar="FILE")
    ],
    json: JsonFlag = False,
) -> None:
    """Validate an airframe file; exit 1 if it has a fault."""
    from haltere.airframe import load, load_airframe

    vehicle = (load(file) if Path(file).is_file() else load_airframe(file)).summary()
    if json:
        emit_json(vehicle)
        return
    counts = ", ".join(
        f"{len(vehicle[kind])} {kind if len(vehicle[kind]) != 1 else kind[:-1]}"
        for kind in ("rotors", "links", "sensors")
    )
    emit_line(f"{vehicle['name']}: sound; {vehicle['mass']:.4g} kg, {counts}")


@app.command("import", epilog="Example: haltere airframe import model.sdf --out my_vehicle.toml")
def import_(
    file: Annotated[Path, typer.Argument(help="URDF, SDF, MJCF or PX4 parameters.", metavar="FILE")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The airframe file to write; stdout if left out.", metavar="FILE"),
    ] = None,
    overwrite: OverwriteFlag = False,
    mass: Annotated[float | None, typer.Option("--mass", help="kg, if the file has none.")] = None,
    inertia: Annotated[
        str | None, typer.Option("--inertia", help="xx,yy,zz in kg m2, if the file has none.")
    ] = None,
    thrust_coefficient: Annotated[
        float | None, typer.Option("--thrust-coefficient", help="Of every rotor, N/(rad/s)^2.")
    ] = None,
    torque_ratio: Annotated[float | None, typer.Option("--torque-ratio", help="Of every rotor, m.")] = None,
    max_speed: Annotated[float | None, typer.Option("--max-speed", help="Of every rotor, rad/s.")] = None,
    rotors: Annotated[
        str, typer.Option("--rotors", help="Words in the names of links that are rotors, comma between.")
    ] = "rotor,prop,motor",
    json: JsonFlag = False,
) -> None:
    """Make an airframe file of a description by others."""
    from haltere.airframe import AirframeError, dumps, save
    from haltere.airframe.foreign import ImportOptions, read_foreign

    moments = None
    if inertia is not None:
        try:
            xx, yy, zz = (float(word) for word in inertia.split(","))
        except ValueError:
            raise AirframeError(f"--inertia {inertia!r}; give three numbers such as 0.02,0.02,0.04") from None
        moments = (xx, yy, zz)
    words = tuple(word.strip().lower() for word in rotors.split(",") if word.strip())
    given = ImportOptions(mass, moments, thrust_coefficient, torque_ratio, max_speed, words)
    airframe, notes = read_foreign(file, given)
    if out is not None:
        save(airframe, out, overwrite)
    if json:
        content = airframe.model_dump(exclude_none=True)
        emit_json({**airframe.summary(), "notes": notes, "file": out, "airframe": content})
        return
    for note in notes:
        emit_line(f"note: {note}", err=True)
    if out is None:
        emit_document(dumps(airframe))
    else:
        emit_line(f"wrote {out}: {airframe.total_mass:.4g} kg, {len(airframe.rotors)} rotors")
