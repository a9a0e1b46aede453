"""`haltere simulate`: a scenario flown and recorded, once or many times."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from haltere.cli.output import JsonFlag, emit_line, prepare_jax, progress, show
from haltere.foundation import HaltereError

EXAMPLE = "Example: haltere simulate scenario.toml --out flight.mcap"
SAY_EVERY = 2.0
"""Least time in s between two lines of a campaign's progress."""


class NotFlownError(HaltereError):
    """No flight came of it."""


def simulate(
    scenario: Annotated[str, typer.Argument(help="A scenario file (TOML).", metavar="SCENARIO")],
    out: Annotated[
        Path, typer.Option("--out", help="The file to write; with --runs, a folder.", metavar="FLIGHT.mcap")
    ],
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="Instead of the scenario's seed; same seed, same flight."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    runs: Annotated[
        int | None, typer.Option("--runs", min=1, help="Fly that many times, each with a seed of its own.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="With --runs: processes; one for each core if not given."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster", help="With --runs: a dask scheduler instead, tcp://host:8786.", metavar="ADDRESS"
        ),
    ] = None,
    batch: Annotated[
        int | None, typer.Option("--batch", min=1, help="With --runs: flights at once in a process.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="With --runs: keep every flight, not its summary only.")
    ] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="With --runs: fly again what failed before.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Fly a scenario and record it as MCAP.

    The file opens in PlotJuggler and Foxglove. With --runs the scenario is flown many times and summarised; the
    folder keeps what is done, so the same command goes on after an interrupt.
    """
    if runs is None:
        for name, value in (
            ("--workers", workers),
            ("--cluster", cluster),
            ("--batch", batch),
            ("--keep", keep),
            ("--retry", retry),
        ):
            if value:
                raise typer.BadParameter("it needs --runs as well", param_hint=name)
        fly_once(scenario, out, seed, overwrite, json=json)
        return
    if overwrite:
        raise typer.BadParameter("it cannot go with --runs; give a new folder", param_hint="--overwrite")
    options = {"workers": workers, "cluster": cluster, "batch": batch, "keep": keep, "retry": retry}
    fly_many_times(scenario, out, seed, runs, options, json=json)


def fly_once(scenario: str, out: Path, seed: int | None, overwrite: bool, *, json: bool) -> None:
    """Fly a scenario file, write the flight, and say what was written."""
    if out.is_dir():
        raise NotFlownError(
            f"{out}: is a directory; give the name of a file in it, or --runs N for many flights"
        )
    if out.exists() and not overwrite:
        raise NotFlownError(f"{out}: exists already; give another name, or --overwrite")
    if not out.parent.is_dir():
        raise NotFlownError(f"{out}: there is no folder {out.parent}; make it first")
    prepare_jax()
    from haltere.flight.mcap import write_mcap
    from haltere.scenarios.scenario_flight import simulate as fly

    with progress(f"preparing {scenario}") as report:
        flight = fly(scenario, seed=seed, progress=report)
        report(f"writing {out}")
        write_mcap(flight, out, overwrite=overwrite)
    channels = {name: len(channel) for name, channel in flight.channels.items()}
    samples = sum(channels.values())
    content = {
        "duration": flight.duration,
        "samples": samples,
        "file": out,
        "channels": channels,
        "notes": flight.notes,
    }
    line = f"wrote {out}: {flight.duration:.4g} s, {samples} samples in {len(channels)} channels"
    show(content, [line], json=json)
    for note in () if json else flight.notes:
        emit_line(f"note: {note}", err=True)


def fly_many_times(
    scenario: str, out: Path, seed: int | None, runs: int, options: dict[str, Any], *, json: bool
) -> None:
    """Fly a scenario file as a campaign in the folder `out`, and summarise it."""
    prepare_jax()
    from haltere.campaign.runner import CampaignInterrupted
    from haltere.scenarios.flights import simulate_many

    with progress(f"preparing {scenario}") as report:
        try:
            result = simulate_many(scenario, runs, out, seed=seed, progress=now_and_then(report), **options)
        except CampaignInterrupted as stop:
            raise NotFlownError(str(stop)) from None
    if not result.succeeded:
        first = next(iter(result.failures.values()))
        raise NotFlownError(f"none of {runs} flights succeeded: {first}; mend the cause, then try --retry")
    show(result.to_dict(), [result.table, f"kept in {out}"], json=json)
    for remark in () if json else result.remarks:
        emit_line(remark, err=True)


def now_and_then(report: Callable[[str], None]) -> Callable[[str], None]:
    """`report`, but at most once in a while."""
    last = -math.inf

    def say(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= SAY_EVERY:
            last = time.monotonic()
            report(text)

    return say
