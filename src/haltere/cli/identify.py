"""`haltere identify`: a log in, parameters with verdicts out; several logs are a fleet."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haltere.cli.output import JsonFlag, emit_json, emit_table, prepare_jax, progress
from haltere.foundation import HaltereError

if TYPE_CHECKING:
    from haltere.identification.result import Identification

EXAMPLE = "Example: haltere identify flight.ulg --known mass=0.716+-0.002 --out identified --json"
FILES = ("result.json", "airframe.toml", "report.html")


def identify(
    flight: Annotated[
        list[Path],
        typer.Argument(help="Logs: MCAP, ULog, Blackbox, uSD, .bin, ROS bag or CSV.", metavar="FLIGHT..."),
    ],
    airframe: Annotated[
        str | None,
        typer.Option("--airframe", help="What the vehicle is meant to be.", metavar="NAME_OR_FILE"),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(
            "--known", help="Measured otherwise, with sigma if it has one.", metavar="NAME=VALUE[+-SIGMA],..."
        ),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option("--map", help="For CSV and ROS bags: which columns are which.", metavar="FILE"),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", help="auto, filter, batch, effectiveness, command or throw.")
    ] = "auto",
    apply: Annotated[
        list[str] | None,
        typer.Option("--apply", help="Kind of a finding to mend though it is not certain.", metavar="KIND"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Folder of the results; FLIGHT-identified here by default.", metavar="DIR"
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the files of an earlier result in --out.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Find out from a log what its vehicle is.

    Every number has a value, a 95 % interval and a verdict: identified, weak, known only in combination, or
    unobservable, with what to fly, measure or log instead. Writes result.json, report.html and, if a whole vehicle
    can be described, airframe.toml. Several logs are identified side by side, with one summary.
    """
    from haltere.identification.pipeline import METHODS

    if method not in METHODS:
        raise typer.BadParameter(f"{method!r}; give one of {', '.join(METHODS)}", param_hint="--method")
    options = {
        "airframe": airframe,
        "known": known or [],
        "mapping": None if mapping is None else str(mapping),
        "method": method,
        "apply": apply or [],
    }
    if len(flight) > 1:
        from haltere.cli.fleet import fleet

        fleet(flight, options, out, overwrite, json)
        return
    folder = claim(out, flight[0].stem or "flight", overwrite)
    prepare_jax()
    with progress(f"reading {flight[0]}") as report:
        result = run(flight[0], options, report)
        written = write(result, folder)
    if json:
        emit_json({**result.to_dict(), **written})
        return
    show(result)
    typer.echo(f"written: {', '.join(str(path) for path in written.values() if path)}")


def run(path: Path, options: dict[str, Any], report: Any) -> "Identification":
    """The result of one log."""
    from haltere.airframe import load_airframe
    from haltere.identification.known import parse_known
    from haltere.identification.pipeline import identify
    from haltere.logs import read

    known = parse_known(options["known"])
    nominal = load_airframe(options["airframe"]) if options["airframe"] is not None else None
    record = read(path, mapping=options["mapping"])
    return identify(
        record, nominal, known=known, method=options["method"], apply=options["apply"], progress=report
    )


def claim(out: Path | None, stem: str, overwrite: bool, files: tuple[str, ...] = FILES) -> Path:
    """The folder to write to; it is not made yet."""
    from haltere.flight.window import IdentifyError

    if out is None:
        folder, number = Path(f"{stem}-identified"), 2
        while folder.exists():
            folder, number = Path(f"{stem}-identified-{number}"), number + 1
        return folder
    if out.exists() and not out.is_dir():
        raise IdentifyError(f"{out}: is a file; give a folder to --out")
    there = [name for name in files if (out / name).exists()]
    if there and not overwrite:
        raise IdentifyError(f"{out}: holds {', '.join(there)}; give another folder or --overwrite")
    return out


def write(result: "Identification", folder: Path) -> dict[str, Path | None]:
    """Write the files of a result, each under another name first; return their paths."""
    import json

    from haltere.airframe import dumps
    from haltere.foundation.jsonable import to_jsonable
    from haltere.report.identified import page

    texts = {
        "result.json": json.dumps(to_jsonable(result.to_dict()), allow_nan=False, indent=2) + "\n",
        "airframe.toml": None if result.airframe is None else dumps(result.airframe),
        "report.html": page(result).html(),
    }
    put(folder, texts)
    keys = {"result": "result.json", "airframe_file": "airframe.toml", "report": "report.html"}
    return {key: folder / name if texts[name] is not None else None for key, name in keys.items()}


def put(folder: Path, texts: dict[str, str | None]) -> None:
    """Write texts by file name; a file that would have none is taken away."""
    from haltere.foundation.files import write_text

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HaltereError(
            f"{folder}: cannot be made ({error.strerror}); give another folder with --out"
        ) from None
    for name, text in texts.items():
        if text is None:
            (folder / name).unlink(missing_ok=True)
        else:
            write_text(folder / name, text)


def show(result: "Identification") -> None:
    """Print the tables and what to do next."""
    from haltere.identification.summary import result_lines, result_tables

    for table in result_tables(result):
        emit_table(table.title, table.columns, table.rows)
    for line in result_lines(result):
        typer.echo(line)
