"""`haltere identify`: a log in, parameters with verdicts out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haltere.cli.output import JsonFlag, emit_json, emit_table, progress

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
        typer.Option("--out", help="Folder of the results; FLIGHT-identified here by default.", metavar="DIR"),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the files of an earlier result in --out.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Find out from a log what its vehicle is.

    Every number has a value, a 95 % interval and a verdict: identified, weak, known only in combination, or unobservable,
    with what to fly, measure or log instead. Writes result.json, report.html and, if a whole vehicle can be described,
    airframe.toml.
    """
    path = flight[0]
    folder = claim(out, path, overwrite)
    with progress(f"reading {path}") as report:
        result = run(path, airframe, known or [], mapping, method, apply or [], report)
        written = write(result, folder)
    if json:
        emit_json({**result.to_dict(), **written})
        return
    show(result)
    typer.echo(f"written: {', '.join(str(p) for p in written.values() if p)}")


def run(
    path: Path,
    airframe: str | None,
    known: list[str],
    mapping: Path | None,
    method: str,
    apply: list[str],
    report: Any,
) -> "Identification":
    """The result of one log."""
    from haltere.airframe import resolve
    from haltere.identification.identify import METHODS, identify
    from haltere.identification.known import parse_known
    from haltere.logs import read_log

    if method not in METHODS:
        raise typer.BadParameter(f"{method!r}; give one of {', '.join(METHODS)}", param_hint="--method")
    numbers = parse_known(known)
    nominal = resolve(airframe) if airframe is not None else None
    record = read_log(path, mapping)
    report(f"identifying {path}")
    return identify(record, nominal, numbers, method, apply, path.name)  # type: ignore[arg-type]


def claim(out: Path | None, flight: Path, overwrite: bool) -> Path:
    """The folder to write to; it is not made yet."""
    from haltere.identification.excerpt import IdentifyError

    if out is None:
        stem = Path(f"{flight.stem or 'flight'}-identified")
        folder, number = stem, 2
        while folder.exists():
            folder, number = Path(f"{stem}-{number}"), number + 1
        return folder
    if out.exists() and not out.is_dir():
        raise IdentifyError(f"{out}: is a file; give a folder to --out")
    there = [name for name in FILES if (out / name).exists()]
    if there and not overwrite:
        raise IdentifyError(f"{out}: holds {', '.join(there)}; give another folder or --overwrite")
    return out


def write(result: "Identification", folder: Path) -> dict[str, Path | None]:
    """Write the files of a result, each under another name first; return their paths."""
    import json

    from haltere.airframe import dumps
    from haltere.cli.output import plain

    folder.mkdir(parents=True, exist_ok=True)
    texts = {"result.json": json.dumps(plain(result.to_dict()), allow_nan=False, indent=2) + "\n"}
    if result.airframe is not None:
        texts["airframe.toml"] = dumps(result.airframe)
    else:
        (folder / "airframe.toml").unlink(missing_ok=True)
    page = drawn(result)
    if page is not None:
        texts["report.html"] = page
    else:
        (folder / "report.html").unlink(missing_ok=True)
    for name, text in texts.items():
        draft = folder / f".{name}.part"
        draft.write_text(text, encoding="utf-8")
        draft.replace(folder / name)
    return {
        "result": folder / "result.json",
        "airframe_file": folder / "airframe.toml" if "airframe.toml" in texts else None,
        "report": folder / "report.html" if "report.html" in texts else None,
    }


def drawn(result: "Identification") -> str | None:
    """The report as HTML."""
    import importlib

    try:
        module = importlib.import_module("haltere.report.identified")
    except ModuleNotFoundError:
        return None
    html: str = module.page(result).html()
    return html


def show(result: "Identification") -> None:
    """Print the table and what to do next."""
    rows = [
        (p.name, p.value, p.sigma, interval(p.interval), p.unit, p.verdict, p.fix or ", ".join(p.partners[:2]))
        for p in result.parameters
    ]
    title = f"{result.source}: {result.duration:.1f} s, method {result.method}"
    emit_table(title, ("parameter", "value", "sigma", "95 %", "unit", "verdict", "what would help"), rows)
    lines = [(p.name, p.unit, p.rms, p.to_dict()["share"]) for p in result.predictions]
    if lines:
        emit_table("Prediction of held-out time", ("signal", "unit", "rms", "of its deviation"), lines)
    for finding in result.findings:
        typer.echo(f"doctor: {finding['kind']}: {finding['evidence']}; {finding['remedy']}")
    for note in result.notes:
        typer.echo(f"note: {note}")
    for step in result.steps[:3]:
        typer.echo(f"next: {step}")


def interval(sides: tuple[float | None, float | None]) -> str:
    """An interval as text."""
    low, high = ("" if side is None else f"{side:.4g}" for side in sides)
    return f"{low} .. {high}" if low or high else "-"
