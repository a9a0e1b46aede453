"""`haltere identify` on many logs: each on its own through the campaign runner, with one summary."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from haltere.cli.identify import FILES, claim, put, run, write
from haltere.cli.output import emit_json, emit_table, progress
from haltere.flight.window import IdentifyError
from haltere.foundation.jsonable import to_jsonable

if TYPE_CHECKING:
    from haltere.campaign.runner import Case
    from haltere.identification.result import Identification

SUMMARY = "fleet.json"
PAGE = "fleet.html"
SHOWN = ("mass", "thrust_to_weight", "inertia.xx", "inertia.yy", "inertia.zz")


def fleet(
    flights: list[Path], options: Mapping[str, Any], out: Path | None, overwrite: bool, json: bool
) -> None:
    """Identify many logs, write a folder for each and a summary, and show it."""
    import json as writer

    from haltere.airframe import load_airframe
    from haltere.campaign.runner import run_campaign
    from haltere.identification.known import parse_known
    from haltere.report.fleet import page

    parse_known(options["known"])
    if options["airframe"] is not None:
        load_airframe(options["airframe"])
    folder = claim(out, "fleet", overwrite, (SUMMARY, PAGE))
    names = unique([path.stem or "flight" for path in flights])
    if not overwrite:
        for name in names:
            claim(folder / name, name, overwrite=False, files=FILES)
    cases = [{"flight": str(p), "folder": str(folder / name)} for p, name in zip(flights, names, strict=True)]
    with progress(f"identifying {len(flights)} logs") as report, tempfile.TemporaryDirectory() as store:
        done = run_campaign(
            "haltere.cli.fleet:identify_case", cases, 0, store, {"options": dict(options)}, 1, progress=report
        )
    content, results = collected(flights, names, folder, done.failures)
    if not results:
        first = content["failed"][0]
        raise IdentifyError(
            f"none of {len(flights)} logs could be identified; {first['file']}: {first['error']}"
        )
    content["report"] = folder / PAGE
    summary = writer.dumps(to_jsonable(content), allow_nan=False, indent=2) + "\n"
    put(folder, {SUMMARY: summary, PAGE: page(results).html()})
    if json:
        emit_json(content)
    else:
        emit_table(f"{len(results)} of {len(flights)} logs", *table(content))
        typer.echo(f"written: {folder}")
    for each in content["failed"]:
        typer.echo(f"haltere: {each['file']}: {each['error']}", err=True)


def identify_case(case: "Case") -> dict[str, Any]:
    """One log of the fleet, in a worker."""
    given = case.parameters
    result = run(Path(given["flight"]), given["options"], lambda _: None)
    write(result, Path(given["folder"]))
    return {"duration": float(result.duration)}


def collected(
    flights: list[Path], names: list[str], folder: Path, failures: Mapping[int, str]
) -> tuple[dict[str, Any], "list[Identification]"]:
    """What the workers left: the summary as plain data, and the results."""
    from haltere.identification.result import read_result

    entries: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    results = []
    for place, (path, name) in enumerate(zip(flights, names, strict=True)):
        if place in failures:
            failed.append({"file": path, "error": failures[place]})
            continue
        result = read_result(folder / name / "result.json")
        results.append(result)
        page = folder / name / "report.html"
        entries.append(
            {
                "file": path,
                "result": folder / name / "result.json",
                "report": page if page.exists() else None,
                "method": result.method,
                "duration": result.duration,
                "parameters": [p.to_dict() for p in result.parameters],
                "findings": [dict(f) for f in result.findings],
            }
        )
    return {"flights": entries, "failed": failed}, results


def table(content: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Columns and rows of the summary."""
    rows: list[tuple[Any, ...]] = []
    for entry in content["flights"]:
        values = {p["name"]: p for p in entry["parameters"]}
        told = [values.get(name, {}).get("value") for name in SHOWN]
        sure = sum(p["verdict"] == "identified" for p in entry["parameters"])
        rows.append((Path(entry["file"]).name, entry["method"], *told, f"{sure} of {len(values)}", ""))
    nothing = [None] * len(SHOWN)
    rows += [(Path(e["file"]).name, "-", *nothing, "-", e["error"]) for e in content["failed"]]
    return ("log", "method", *SHOWN, "identified", "error"), rows


def unique(stems: list[str]) -> list[str]:
    """Folder names, none of them twice."""
    names: list[str] = []
    for stem in stems:
        name, number = stem, 2
        while name in names:
            name, number = f"{stem}-{number}", number + 1
        names.append(name)
    return names
