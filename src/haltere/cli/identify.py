"""`haltere identify`: a log in, parameters with verdicts out; several logs are a fleet."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haltere.cli.options import AirframeOption, ApplyOption, FlightsArgument, MapOption, OverwriteFlag
from haltere.cli.output import JsonFlag, emit_json, emit_line, emit_table, prepare_jax, progress

if TYPE_CHECKING:
    from haltere.identification.result import Identification

EXAMPLE = "Example: haltere identify flight.ulg --known mass=0.716+-0.002 --out identified --json"


def identify(
    flight: FlightsArgument,
    airframe: AirframeOption = None,
    known: Annotated[
        list[str] | None,
        typer.Option(
            "--known", help="Measured otherwise, with sigma if it has one.", metavar="NAME=VALUE[+-SIGMA],..."
        ),
    ] = None,
    mapping: MapOption = None,
    method: Annotated[
        str, typer.Option("--method", help="auto, filter, batch, effectiveness, command or throw.")
    ] = "auto",
    model: Annotated[
        str,
        typer.Option(
            "--model",
            help="With pose: full estimates all that acts on the vehicle; paper estimates the smaller state vector of "
            "Boehm 2022, without delays, drag, wind, disturbances, rotor inertia and IMU scale errors.",
            metavar="full|paper",
        ),
    ] = "full",
    apply: ApplyOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Folder of the results; FLIGHT-identified here by default.", metavar="DIR"
        ),
    ] = None,
    overwrite: OverwriteFlag = False,
    json: JsonFlag = False,
) -> None:
    """Find out from a log what its vehicle is.

    Every number has a value, a 95 % interval and a verdict: identified, weak, known only in combination, or
    unobservable, with what to fly, measure or log instead. Writes result.json, report.html and, if a whole vehicle
    can be described, airframe.toml. Several logs are identified side by side, with one summary.
    """
    from haltere.foundation.files import free_folder
    from haltere.identification.known import parse_known
    from haltere.identification.methods.base import MODELS
    from haltere.identification.methods.registry import method_names

    if method not in method_names():
        raise typer.BadParameter(
            f"{method!r}; give one of {', '.join(method_names())}", param_hint="--method"
        )
    if model not in MODELS:
        raise typer.BadParameter(f"{model!r}; give one of {', '.join(MODELS)}", param_hint="--model")
    options = {"known": parse_known(known or []), "method": method, "model": model, "apply": apply or []}
    stem = (flight[0].stem or "flight") if len(flight) == 1 else "fleet"
    folder = out or free_folder(f"{stem}-identified")
    prepare_jax(one_thread=True)
    if len(flight) > 1:
        _fleet(flight, airframe, mapping, folder, overwrite, options, json)
    else:
        _one(flight[0], airframe, mapping, folder, overwrite, options, json)


def _one(
    flight: Path,
    airframe: str | None,
    mapping: Path | None,
    folder: Path,
    overwrite: bool,
    options: dict[str, Any],
    json: bool,
) -> None:
    """Identify one log, write its folder and show it."""
    from haltere.airframe import load_airframe
    from haltere.foundation.files import check_folder
    from haltere.identification.pipeline import identify
    from haltere.identification.result import RESULT_FILES
    from haltere.logs import read

    check_folder(folder, RESULT_FILES, overwrite)
    nominal = None if airframe is None else load_airframe(airframe)
    with progress(f"reading {flight}") as report:
        result = identify(read(flight, mapping=mapping), nominal, progress=report, **options)
        written = result.save(folder, overwrite=True)
    if json:
        emit_json({**result.to_dict(), **written})
        return
    _show(result)
    emit_line(f"written: {', '.join(str(path) for path in written.values() if path)}")


def _show(result: "Identification") -> None:
    """Print the tables and what to do next."""
    from haltere.identification.summary import result_lines, result_tables

    for table in result_tables(result):
        emit_table(table.title, table.columns, table.rows)
    for line in result_lines(result):
        emit_line(line)


def _fleet(
    flights: list[Path],
    airframe: str | None,
    mapping: Path | None,
    folder: Path,
    overwrite: bool,
    options: dict[str, Any],
    json: bool,
) -> None:
    """Identify many logs, write a folder for each and a summary, and show it."""
    from haltere.flight.window import IdentifyError
    from haltere.identification.fleet import identify_fleet

    with progress(f"identifying {len(flights)} logs") as report:
        fleet = identify_fleet(
            flights, airframe, mapping=mapping, folder=folder, overwrite=overwrite, progress=report, **options
        )
    if not fleet.results:
        path, error = next(iter(fleet.failures.items()))
        raise IdentifyError(f"none of {len(flights)} logs could be identified; {path}: {error}")
    if json:
        emit_json(fleet.to_dict())
    else:
        table = fleet.table()
        emit_table(table.title, table.columns, table.rows)
        emit_line(f"written: {folder}")
    for path, error in fleet.failures.items():
        emit_line(f"haltere: {path}: {error}", err=True)
