"""`haltere reproduce`: the experiments of a paper beside ours."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

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
            help="Write its figures and tables to this page.",
            metavar="FILE.html",
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Reproduce a paper: its numbers beside ours.

    Each row also has the bound that ours must keep. Exit 1 if one of our numbers is outside its bound.
    """
    prepare_jax()
    from haltere.papers.tables import reproduce_paper

    with progress(f"reproducing {paper.value}") as show:
        result = reproduce_paper(paper.value, runs, seed, report, show)
    if json:
        emit_json(result.to_dict())
    else:
        for table in result.tables:
            emit_table(table.name, table.columns, table.cells)
    if result.outside:
        first = result.outside[0]
        msg = (
            f"{len(result.outside)} of our numbers are outside their bound, first {first.quantity!r}: "
            f"got {first.ours}, expected at most {first.bound}; try another --seed and report it"
        )
        raise NotReproducedError(msg)
