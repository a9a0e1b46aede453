"""Several vehicles on one page: the result of each log, side by side."""

from collections.abc import Sequence

import numpy as np

from haltere.identification.parameters import Parameter
from haltere.identification.result import Identification
from haltere.report import fits
from haltere.report.page import Fact, Mark, Page, Picture, Section, Table
from haltere.report.tables import labelled, pair

MOST_ROWS = 400
OUTLIER_SIGMAS = 3.0
"""Deviation from the fleet's median, in its own sigma, from which a vehicle stands out."""


def fleet_page(results: Sequence[Identification]) -> Page:
    """The whole page."""
    rows = [_row(result) for result in results]
    strange = outliers(results)
    points = [
        f"{source}: {name} is {error:+.1f} sigma from the fleet's median." for source, name, error in strange
    ]
    table = Table(
        "Every log",
        ("", "method", "seconds", "identified", "weak", "open", "findings", "mass"),
        rows,
        "Open numbers are known only in combination with others, or not at all; each log's own report says why.",
        wide=True,
    )
    return Page(
        title=f"A fleet of {len(results)}" if len(results) != 1 else "One vehicle",
        text="The result of each log, and where vehicles differ from each other.",
        facts=(
            Fact(str(len(results)), "", "logs"),
            Fact(f"{sum(r.duration for r in results):.0f}", "s", "of flight"),
            Fact(str(sum(len(r.findings) for r in results)), "", "findings"),
            Fact(str(len({s for s, *_ in strange})), "", "vehicles stand out"),
        ),
        sections=(
            Section("The logs", "", (table,)),
            Section(
                "What stands out",
                "Numbers further from the fleet's median than three of their own standard deviations."
                if points
                else "No number is further from the fleet's median than three of its own standard deviations.",
                (),
                points[:20],
            ),
            Section("Side by side", "Numbers that several logs identify.", _charts(results)),
        ),
    )


def _row(result: Identification) -> tuple[str | Mark, ...]:
    verdicts = [p.verdict for p in result.parameters]
    mass = result.parameters.get("mass")
    told = mass is not None and mass.known
    return (
        result.source,
        result.method,
        f"{result.duration:.1f}",
        Mark(str(verdicts.count("identified") + verdicts.count("given")), "identified"),
        Mark(str(verdicts.count("weak")), "weak"),
        Mark(str(verdicts.count("combination") + verdicts.count("unobservable")), "unobservable"),
        str(len(result.findings)),
        pair(mass.value, mass.sigma) + " kg" if told and mass is not None and mass.value is not None else "–",
    )


def _shared(results: Sequence[Identification]) -> dict[str, list[tuple[str, Parameter]]]:
    """By name: source and number of every log that identifies it, where at least two do."""
    found: dict[str, list[tuple[str, Parameter]]] = {}
    for result in results:
        for p in result.parameters:
            if p.value is not None and p.sigma and p.known:
                found.setdefault(p.name, []).append((result.source, p))
    return {name: entries for name, entries in found.items() if len(entries) > 1}


def outliers(results: Sequence[Identification]) -> list[tuple[str, str, float]]:
    """Source, name and distance in sigma of numbers away from their fleet's median, the farthest first."""
    found = []
    for name, entries in _shared(results).items():
        if len(entries) < 3:
            continue
        median = float(np.median([p.value for _, p in entries if p.value is not None]))
        for source, p in entries:
            if p.value is not None and p.sigma:
                error = (p.value - median) / p.sigma
                if abs(error) > OUTLIER_SIGMAS:
                    found.append((source, name, error))
    return sorted(found, key=lambda entry: -abs(entry[2]))


def _charts(results: Sequence[Identification]) -> list[Picture | Table]:
    """The whole vehicle's numbers over the logs; rotors' own are left to each log's report."""
    items: list[Picture | Table] = []
    for name, entries in _shared(results).items():
        if name.startswith("rotors.") or len(items) >= 12 or len(entries) > MOST_ROWS:
            continue
        values = [float(p.value or 0.0) for _, p in entries]
        halves = [1.96 * float(p.sigma or 0.0) for _, p in entries]
        colours = [fits.VERDICTS[p.verdict] for _, p in entries]
        unit = entries[0][1].unit
        chart = fits.interval_chart([s for s, _ in entries], values, halves, colours, labelled(name, unit))
        items.append(Picture(name, chart, f"{len(entries)} logs identify it; whiskers are 95 % intervals."))
    return items
