"""`haltere simulate`: a scenario flown and recorded, once or many times."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haltere.cli.output import JsonFlag, emit_json, emit_table, prepare_jax, progress
from haltere.foundation import HaltereError

if TYPE_CHECKING:
    from haltere.campaign.runner import CampaignResult

EXAMPLE = "Example: haltere simulate scenario.toml --out flight.mcap"
SHOWN = 5
"""Failed flights that are named one by one."""
SAY_EVERY = 2.0
"""Least time in s between two lines of a campaign's progress."""
QUANTITIES = {
    "rms_error": "m",
    "max_error": "m",
    "max_speed": "m/s",
    "max_tilt": "rad",
    "duration": "s",
    "crash_time": "s",
}


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
        result = fly_once(scenario, out, seed, overwrite)
        show = show_flight
    else:
        if overwrite:
            raise typer.BadParameter("it cannot go with --runs; give a new folder", param_hint="--overwrite")
        options = {"workers": workers, "cluster": cluster, "batch": batch, "keep": keep, "retry": retry}
        result = fly_many_times(scenario, out, seed, runs, options)
        show = show_campaign
    if json:
        emit_json(result)
    else:
        show(result)


def fly_once(scenario: str, out: Path, seed: int | None, overwrite: bool) -> dict[str, Any]:
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
        flight = fly(scenario, report, seed)
        if seed is not None:
            flight = flight.with_notes(f"flown with seed {seed}")
        report(f"writing {out}")
        write_mcap(flight, out, overwrite=overwrite)
    channels = {name: len(channel) for name, channel in flight.channels.items()}
    return {
        "duration": flight.duration,
        "samples": sum(channels.values()),
        "file": out,
        "channels": channels,
        "notes": flight.notes,
    }


def show_flight(result: dict[str, Any]) -> None:
    """One flight in a few words."""
    counts = f"{result['samples']} samples in {len(result['channels'])} channels"
    typer.echo(f"wrote {result['file']}: {result['duration']:.4g} s, {counts}")
    for note in result["notes"]:
        typer.echo(f"note: {note}", err=True)


def fly_many_times(
    scenario: str, out: Path, seed: int | None, runs: int, options: dict[str, Any]
) -> dict[str, Any]:
    """Fly a scenario file as a campaign in the folder `out`, and summarise it."""
    prepare_jax()
    from haltere.campaign.runner import CampaignInterrupted
    from haltere.scenarios.flights import fly_many
    from haltere.simulation.scenario import load_scenario

    with progress(f"preparing {scenario}") as report:
        described, text = load_scenario(scenario)
        chosen = described.seed if seed is None else seed
        try:
            result = fly_many(described, text, runs, chosen, out, progress=now_and_then(report), **options)
        except CampaignInterrupted as stop:
            raise NotFlownError(str(stop)) from None
    if not len(result.columns.get("case", ())):
        first = next(iter(result.failures.values()))
        raise NotFlownError(f"none of {runs} flights succeeded: {first}; mend the cause, then try --retry")
    return {"runs": runs, "seed": chosen, "folder": out, **summary(result)}


def now_and_then(report: Callable[[str], None]) -> Callable[[str], None]:
    """`report`, but at most once in a while."""
    last = -math.inf

    def say(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= SAY_EVERY:
            last = time.monotonic()
            report(text)

    return say


def summary(result: "CampaignResult") -> dict[str, Any]:
    """How many flights succeeded, failed and crashed, and median, 95th percentile and maximum of each quantity."""
    import numpy as np

    columns = result.columns
    statistics: dict[str, Any] = {}
    for name in QUANTITIES:
        values = columns[name][np.isfinite(columns[name])]
        statistics[name] = (
            {"median": np.median(values), "p95": np.quantile(values, 0.95), "max": np.max(values)}
            if len(values)
            else {"median": None, "p95": None, "max": None}
        )
    return {
        "succeeded": len(columns["case"]),
        "failed": len(result.failures),
        "crashed": int(np.isfinite(columns["crash_time"]).sum()),
        **statistics,
        "failures": {str(number): reason for number, reason in result.failures.items()},
    }


def show_campaign(result: dict[str, Any]) -> None:
    """A campaign as a table, failed flights on stderr."""
    rows = [
        (
            name,
            unit,
            *(None if (v := result[name][key]) is None else float(v) for key in ("median", "p95", "max")),
        )
        for name, unit in QUANTITIES.items()
    ]
    title = (
        f"{result['succeeded']} of {result['runs']} flights, {result['crashed']} of them touched the ground"
    )
    emit_table(title, ("quantity", "unit", "median", "p95", "max"), rows)
    typer.echo(f"kept in {result['folder']}")
    for number, reason in list(result["failures"].items())[:SHOWN]:
        typer.echo(f"flight {number} failed: {reason}", err=True)
    more = len(result["failures"]) - SHOWN
    if more > 0:
        typer.echo(f"and {more} more; --json lists all", err=True)
