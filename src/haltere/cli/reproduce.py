"""`haltere reproduce`: the experiments of a paper beside ours."""

from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from haltere.cli.output import JsonFlag, emit_json, emit_table, prepare_jax, progress
from haltere.foundation import HaltereError

EXAMPLE = "Example: haltere reproduce hong --runs 10 --json"


class Paper(StrEnum):
    """The papers that can be reproduced."""

    HONG = "hong"
    BOEHM = "boehm"
    FRESK = "fresk"
    BLAHA = "blaha"
    SCHMITZ = "schmitz"


RUNS = {Paper.HONG: 20, Paper.BOEHM: 30, Paper.FRESK: 50, Paper.BLAHA: 100, Paper.SCHMITZ: 100}
"""Where no number is given."""


class NotReproducedError(HaltereError):
    """A number lies outside the bound that its table states."""


def reproduce(
    paper: Annotated[
        Paper,
        typer.Argument(
            help="Which paper: hong (geometric dynamics, 2021), boehm (self-calibrating filter, 2022), "
            "fresk (centre of gravity, 2017), blaha (thrown into the air, 2024), schmitz (payload from servo loads)."
        ),
    ],
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs",
            min=1,
            help="Random draws for each row (20), or flights (boehm 30, fresk 50, blaha 100), or arms (schmitz 100).",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Same seed, same output.")] = 0,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            help="With boehm, fresk, blaha or schmitz: write its figures to this page.",
            metavar="FILE.html",
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Reproduce a paper: its numbers beside ours.

    Each row also has the bound that ours must keep. Exit 1 if one of our numbers is outside its bound.
    """
    if report is not None and paper is Paper.HONG:
        raise typer.BadParameter("it goes with boehm, fresk, blaha and schmitz only", param_hint="--report")
    prepare_jax()
    number = runs or RUNS[paper]
    with progress(f"reproducing {paper.value}") as say:
        if paper is Paper.FRESK:
            result = _fresk(number, seed, report, say)
        elif paper is Paper.BOEHM and report is not None:
            result = _boehm(number, seed, report, say)
        elif paper is Paper.BLAHA and report is not None:
            result = _blaha(number, seed, report, say)
        elif paper is Paper.SCHMITZ and report is not None:
            result = _schmitz(number, seed, report, say)
        else:
            study = import_module(f"haltere.papers.{paper.value}.tables")
            result = study.reproduce(runs=number, seed=seed, progress=say)
    tables = result["tables"]
    if json:
        emit_json(result)
    else:
        for table in tables:
            with_least = any("cramer_rao" in row for row in table["rows"])
            columns = ("quantity", "unit", "paper", "ours", "bound", *(("cramer_rao",) if with_least else ()))
            emit_table(table["name"], columns, [[row.get(c) for c in columns] for row in table["rows"]])
    late = [row for table in tables for row in table["rows"] if outside(row)]
    if late:
        first = late[0]
        msg = (
            f"{len(late)} of our numbers are outside their bound, first {first['quantity']!r}: "
            f"got {first['ours']}, expected at most {first['bound']}; try another --seed and report it"
        )
        raise NotReproducedError(msg)


def _fresk(runs: int, seed: int, page: Path | None, say: Callable[[str], None]) -> dict[str, Any]:
    from haltere.papers.fresk.tables import fly_all, tables

    if page is not None:
        from haltere.report.page import check_replaceable

        check_replaceable(page)
    found = fly_all(runs, seed, say)
    result = tables(found)
    if page is not None:
        from haltere.papers.fresk.page import write

        result["report"] = str(write(found, result, page))
    return result


def _boehm(runs: int, seed: int, page: Path, say: Callable[[str], None]) -> dict[str, Any]:
    from haltere.papers.boehm import figures as boehm_courses
    from haltere.papers.boehm import tables as boehm
    from haltere.report.page import check_replaceable

    check_replaceable(page)
    result = boehm.reproduce(runs=runs, seed=seed, progress=say)
    seeds = range(1000 * seed, 1000 * seed + runs)
    found = {
        number: boehm_courses.courses(figure, seeds, progress=say)
        for number, figure in boehm_courses.figures().items()
    }
    from haltere.papers.boehm.figures import write

    result["report"] = str(write(found, result, page))
    return result


def _blaha(runs: int, seed: int, page: Path, say: Callable[[str], None]) -> dict[str, Any]:
    from haltere.airframe import from_catalogue
    from haltere.papers.blaha import tables as blaha
    from haltere.papers.blaha.figures import throw_trace
    from haltere.papers.blaha.timings import axis_cost
    from haltere.report.page import check_replaceable

    check_replaceable(page)
    result = blaha.reproduce(runs=runs, seed=seed, progress=say)
    say("figures")
    traces = {
        kind: throw_trace(from_catalogue(name), seed)
        for kind, name in (("quadrotor", "indiflight-3inch"), ("hexarotor", "hexa-tilted"))
    }
    costs = {rotors: axis_cost(rotors) for rotors in blaha.COUNTS}
    from haltere.papers.blaha.figures import write

    result["report"] = str(write(traces, costs, result, page))
    return result


def _schmitz(runs: int, seed: int, page: Path, say: Callable[[str], None]) -> dict[str, Any]:
    from haltere.papers.schmitz.runs import SHAKEN, measure_all
    from haltere.papers.schmitz.tables import tables
    from haltere.papers.schmitz.trial import trial
    from haltere.report.page import check_replaceable

    check_replaceable(page)
    found = measure_all(runs, seed, say)
    result = tables(found)
    from haltere.papers.schmitz.page import write

    result["report"] = str(write(found, trial(SHAKEN, [(45.0, 45.0)], seed=seed), result, page))
    return result


def outside(row: dict[str, float | None]) -> bool:
    """Whether our number is missing or greater than its bound; a row without bound is never outside."""
    ours, bound = row.get("ours"), row.get("bound")
    return bound is not None and not (ours is not None and ours <= bound)
