"""`haltere reproduce schmitz`: the series of [Schmitz] on servos as they may be, its estimator beside ours.

`haltere.papers.schmitz.runs` measures everything once, `tables` shows it. Each row has `paper` where the paper prints
a number, `ours`, and the `bound` that ours must keep; rows of the paper's own estimator are named so and have no bound
but the one that tells that its faults are there, too.
"""

import numpy as np

from haltere.foundation.arrays import double_precision
from haltere.foundation.numbers import Numbers
from haltere.papers.schmitz import paper_estimator
from haltere.papers.schmitz.bench import POSES, limit_rows
from haltere.papers.schmitz.runs import (
    BUDGETED,
    LIGHT,
    LIGHTER,
    MASSES,
    SHAKEN,
    SchmitzRuns,
    fault_rows,
    measure_all,
)
from haltere.papers.schmitz.series import HANGS_AT, STAGES, paper_masses
from haltere.papers.tables import PaperRow, Progress, Reproduction, named_tables

ONE_SIDED = 2.326
"""Deviations of a normal distribution that 99 % lie below."""
TABLE_ONE = {
    0.0: (0.0059, None, 0.0472, 0.0096),
    0.138: (0.1308, 0.0528, 0.0019, 0.0006),
    0.273: (0.2681, 0.0179, 0.0006, 0.0125),
    0.36: (0.3557, 0.0120, 0.0080, 0.0015),
}
"""[Schmitz] Table I: running average, relative error, deviations of the direct mass and of the average, kg."""


@double_precision()
def reproduce(runs: int, seed: int = 0, progress: Progress | None = None) -> Reproduction:
    """The tables of the study; see the module."""
    return make_tables(measure_all(runs, seed, progress), seed)


def make_tables(runs: SchmitzRuns, seed: int = 0) -> Reproduction:
    """The tables of all series."""
    rows = {
        "Table I with the paper's estimator, pose (0, 90), without motion": table_one_rows(runs),
        "Series A, ours": series_a_rows(runs),
        "Series B: 273 g on a moving base": series_b_rows(runs),
        "Series C: light loads": series_c_rows(runs),
        "Where the weight acts, offsets to 60 mm": position_rows(runs),
        "Confidence": confidence_rows(runs),
        "Faults": fault_rows(runs.bench),
        "Gripping 273 g in flight, ours": runs.flights,
        "The arm itself": limit_rows(),
    }
    return Reproduction(named_tables(rows), runs.bench.runs, seed, runs)


def table_one_rows(runs: SchmitzRuns) -> list[PaperRow]:
    """What Listing 1 reads on these servos."""
    rows = []
    for mass, (average, relative, direct_spread, average_spread) in TABLE_ONE.items():
        direct, running = paper_masses(runs.records[mass])
        late = slice(-75, None)
        label = f"{1000 * mass:.0f} g" if mass else "no load"
        rows.append(PaperRow(f"RunAvg20, {label}", "kg", np.mean(running[:, -1]), None, average))
        if mass:
            errors = np.abs(running[:, -1] - mass) / mass
            rows.append(PaperRow(f"RelErrRA20, {label}", "1", np.mean(errors), None, relative))
        rows += [
            PaperRow(f"StdDevAD, {label}", "kg", np.mean(direct[:, late].std(-1)), None, direct_spread),
            PaperRow(f"StdDevRA20, {label}", "kg", np.mean(running[:, late].std(-1)), None, average_spread),
        ]
    for every, rate in ((2, 50), (1, 100)):
        for memory in (10, 20, 30):
            _, running = paper_masses(runs.records[SHAKEN], every, memory)
            reached = _settled(running, rate)
            printed = {(50, 20): 0.5, (100, 10): 0.1}.get((rate, memory))
            rows.append(
                PaperRow(f"time to 95 % of 273 g, {memory} samples at {rate} Hz", "s", reached, None, printed)
            )
    _, offset = paper_estimator.closed_form(runs.records[0.36])
    tail = slice(-100, None)
    seen = np.isfinite(offset[:, tail]).mean()
    rows.append(PaperRow("Section III-C in pose (0, 90): share of samples with a result", "1", seen))
    return rows


def _settled(running: Numbers, rate: float) -> float:
    """Median time from loading until the average reaches 95 % of where it ends, s."""
    start = round(HANGS_AT * rate)
    base, end = running[:, start - round(0.4 * rate) : start - round(0.35 * rate)].mean(-1), running[:, -1]
    share = (running[:, start:] - base[:, None]) / (end - base)[:, None]
    return float(np.median(np.argmax(share >= 0.95, axis=-1) / rate))


def series_a_rows(runs: SchmitzRuns) -> list[PaperRow]:
    """Accuracy of the mass in three poses."""
    rows = []
    for place, pose in enumerate(POSES):
        at = f"pose ({pose[0]:.0f}, {pose[1]:.0f})"
        empty = runs.with_motion[place, 0.0].last
        rows.append(PaperRow(f"no load, {at}: mean error", "kg", np.mean(np.abs(empty.mass)), 0.0012))
        for mass in MASSES:
            one = runs.with_motion[place, mass]
            errors = np.abs(one.last.mass - mass) / mass
            printed = TABLE_ONE[mass][1] if place == 0 else None
            label = f"{1000 * mass:.0f} g, {at}"
            plain = np.abs(runs.uncalibrated[place, mass].mass - mass) / mass
            quiet = np.abs(runs.without_motion[place, mass].mass - mass) / mass
            rows += [
                PaperRow(f"{label}: mean error", "1", errors.mean(), 0.016, printed),
                PaperRow(f"{label}: p95", "1", np.percentile(errors, 95.0), 0.04),
                PaperRow(f"{label}: mean without calibration", "1", plain.mean(), 0.03),
                PaperRow(f"{label}: mean without motion", "1", quiet.mean(), 0.05 if mass > 0.2 else None),
                PaperRow(
                    f"{label}: sigma without motion",
                    "1",
                    np.mean(runs.without_motion[place, mass].sigma) / mass,
                ),
                PaperRow(f"{label}: settled, p95", "s", np.percentile(one.settled, 95.0), 2.5),
            ]
    return rows


def series_b_rows(runs: SchmitzRuns) -> list[PaperRow]:
    """On a base that goes to and fro by 10 cm."""
    rows = []
    for vertical, (ours, time, running) in runs.shaken.items():
        way = "vertical" if vertical else "horizontal"

        def level(first: float, last: float, time: Numbers = time, running: Numbers = running) -> float:
            return float(running[:, (time > first) & (time <= last)].mean())

        before, after = level(3.0, 4.0), level(19.0, 21.0)
        rows += [
            PaperRow(f"{way}, the paper's estimator, before", "kg", before),
            PaperRow(f"{way}, the paper's estimator, during 0.5 Hz", "kg", level(*STAGES["slow"])),
            PaperRow(f"{way}, the paper's estimator, during 2 Hz", "kg", level(*STAGES["fast"])),
            PaperRow(f"{way}, the paper's estimator, after 2 Hz", "kg", after),
            PaperRow(
                f"{way}, the paper's estimator, before over after: it stays up", "1", before / after, 0.9
            ),
        ]
        for stage, words in (("slow", "during 0.5 Hz"), ("fast", "during 2 Hz"), ("after", "after 2 Hz")):
            first, last = STAGES[stage]
            inside = (ours.time > first) & (ours.time <= last)
            errors = np.abs(ours.mass[:, inside] - SHAKEN) / SHAKEN
            rows.append(PaperRow(f"{way}, ours, {words}: mean error", "1", errors.mean(), 0.03))
            if stage == "fast":
                late = (ours.time > first + 1.0) & (ours.time <= last)
                rows.append(
                    PaperRow(
                        f"{way}, ours, {words}: not flagged held", "1", 1.0 - ours.stale[:, late].mean(), 0.0
                    )
                )
        errors = np.abs(runs.through[vertical].mass - SHAKEN) / SHAKEN
        rows.append(PaperRow(f"{way}, ours, measured during 2 Hz: mean error", "1", errors.mean(), 0.1))
    return rows


def series_c_rows(runs: SchmitzRuns) -> list[PaperRow]:
    """36.3 g, and 20 g against nothing."""
    light, lighter, empty = (runs.with_motion[1, m].last for m in (LIGHT, LIGHTER, 0.0))
    errors = np.abs(light.mass - LIGHT) / LIGHT
    missed = np.mean(lighter.mass < ONE_SIDED * lighter.sigma)
    return [
        PaperRow("36.3 g: mean error", "1", errors.mean(), 0.05, 0.25),
        PaperRow("20 g not told from nothing with 99 % confidence", "1", missed, 0.01),
        PaperRow("nothing taken for something", "1", np.mean(empty.mass > ONE_SIDED * empty.sigma), 0.01),
    ]


def position_rows(runs: SchmitzRuns) -> list[PaperRow]:
    """The centre of mass of 273 g, unknown with it."""
    rows = []
    for name, bound in (("two poses", 0.0025), ("one pose", 0.008)):
        estimate, truth = runs.positions[name]
        errors = np.abs(estimate.center_of_mass - truth)[:, 2]
        rows += [
            PaperRow(f"{name}: mean error along the arm", "m", errors.mean(), bound),
            PaperRow(f"{name}: called unobservable", "1", 1.0 - estimate.position_observable.mean(), 0.0),
        ]
    refused, _ = runs.positions["pose (0, 90)"]
    rows.append(PaperRow("pose (0, 90) called observable", "1", refused.position_observable.mean(), 0.0))
    return rows


def confidence_rows(runs: SchmitzRuns) -> list[PaperRow]:
    """How often the truth lies inside 95 % intervals."""
    inside = np.mean(
        [
            np.abs(runs.with_motion[place, mass].last.mass - mass)
            < 1.96 * runs.with_motion[place, mass].last.sigma
            for place in range(len(POSES))
            for mass in MASSES
        ]
    )
    more, doubt = runs.drifted.get(BUDGETED, (np.zeros((0, 1)), np.zeros((0, 1))))
    if len(more):
        arms = np.asarray([runs.bench.runs, len(more)])
        inside = np.average([inside, np.mean(np.abs(more) < 1.96 * doubt)], weights=arms)
    rows = [
        PaperRow("inside, drift as budgeted, at least 0.9", "1", inside, 0.99),
        PaperRow("outside, drift as budgeted", "1", 1.0 - inside, 0.1),
    ]
    for name, (error, sigma) in runs.drifted.items():
        if name == BUDGETED:
            continue
        rows += [
            PaperRow(f"outside, {name}", "1", np.mean(np.abs(error) >= 1.96 * sigma), 0.15),
            PaperRow(f"mean error, {name}", "1", np.mean(np.abs(error) / np.asarray(MASSES))),
        ]
    return rows
