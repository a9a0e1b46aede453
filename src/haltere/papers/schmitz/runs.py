"""All series of [Schmitz] measured once, for N arms, and the faults found: what the tables are made of.

`haltere.papers.schmitz.tables` makes them. For `fault_rows`, faults are put into good servo readings, and it is
counted how many of them are found and named.
"""

from dataclasses import dataclass, replace

import numpy as np

from haltere.doctor.arm import payload_faults
from haltere.estimation.payload.core import PayloadCore
from haltere.estimation.payload.model import DriftBudget
from haltere.estimation.payload.record import ArmRecord
from haltere.estimation.payload.state import WHILE_SHAKEN, PayloadEstimate
from haltere.foundation.numbers import Numbers
from haltere.papers.schmitz.bench import POSES, Bench, draw_arms
from haltere.papers.schmitz.grip_flights import flight_rows
from haltere.papers.schmitz.series import (
    RARELY,
    MassHistory,
    calibrate_arms,
    measure_in_poses,
    measure_record,
    measure_while_shaken,
    nominal_arm,
    paper_masses,
    series_b,
    series_record,
    wide_filter,
)
from haltere.papers.tables import PaperRow, Progress, check_runs, silent

MASSES = (0.138, 0.273, 0.36)
"""kg, [Schmitz] Section IV-A."""
LIGHT, LIGHTER = 0.0363, 0.020
SHAKEN = 0.273
BUDGETED = "as budgeted"
"""Further arms for the share of truths inside their intervals, which a hundred tell to two percent only."""
MOST_FLIGHTS = 100
"""Of the runs, in flight."""


@dataclass(frozen=True, eq=False)
class SchmitzRuns:
    """All that was measured, by pose and mass."""

    with_motion: dict[tuple[int, float], MassHistory]
    uncalibrated: dict[tuple[int, float], PayloadEstimate]
    without_motion: dict[tuple[int, float], PayloadEstimate]
    records: dict[float, ArmRecord]
    """Without motion in the paper's first pose, by mass."""
    shaken: dict[bool, tuple[MassHistory, Numbers, Numbers]]
    """Ours, and times and averages of the paper's estimator, by whether vertical."""
    through: dict[bool, PayloadEstimate]
    """Measured while it shakes at 2 Hz, by whether vertical."""
    positions: dict[str, tuple[PayloadEstimate, Numbers]]
    """Estimate and true centre of mass."""
    drifted: dict[str, tuple[Numbers, Numbers]]
    """Errors and deviations, kg, by what the estimator does not know."""
    bench: Bench
    gripper: Numbers
    """(3,) m, in the frame of the link that holds the payload."""
    flights: list[PaperRow]
    """Rows of `haltere.papers.schmitz.grip_flights`."""


def measure_all(
    runs: int = 100, seed: int = 0, progress: Progress | None = None, *, thorough: bool = True
) -> SchmitzRuns:
    """Every series for `runs` arms; `thorough` adds larger drift, another friction law, and flights."""
    check_runs(runs, 2, 20)
    progress = progress or silent
    progress("calibration with two weights")
    bench = draw_arms(runs, seed)
    belief = calibrate_arms(bench)
    ours, plain = PayloadCore(belief), PayloadCore(nominal_arm())
    moved, still, uncalibrated, records = {}, {}, {}, {}
    for place, pose in enumerate(POSES):
        progress(f"series A, pose ({pose[0]:.0f}, {pose[1]:.0f})")
        lighter = (LIGHTER, LIGHT) if place == 1 else ()
        for mass in (0.0, *lighter, *MASSES):
            record = series_record(bench, pose, mass)
            signals = ours.signals(record)
            moved[place, mass] = measure_record(ours, record, signals=signals)[0]
            uncalibrated[place, mass] = measure_record(plain, record, signals=signals, every=RARELY)[0].last
            if mass in (0.0, *MASSES):
                quiet = series_record(bench, pose, mass, None)
                still[place, mass] = measure_record(ours, quiet, every=RARELY)[0].last
                if place == 0:
                    records[mass] = quiet
    shaken, through = {}, {}
    for vertical in (False, True):
        progress("series B, " + ("vertical" if vertical else "horizontal"))
        alone = series_b(bench, vertical, motion=False, mass=SHAKEN)
        found = measure_record(ours, series_b(bench, vertical, motion=True, mass=SHAKEN))[0]
        shaken[vertical] = (found, alone.time[::2], paper_masses(alone)[1])
        through[vertical] = measure_while_shaken(bench, PayloadCore(belief, WHILE_SHAKEN), vertical, SHAKEN)
    progress("where the weight acts")
    places = _measure_positions(bench, wide_filter(belief))
    drifted, flights = {}, []
    if thorough:
        progress("drift and other friction")
        told, law = DriftBudget(friction=0.10), {"exponent": 0.85}
        drifted = {
            BUDGETED: _joined([_errors(draw_arms(runs, seed + 6 + i), DriftBudget()) for i in range(2)]),
            "10 % drift, told": _errors(draw_arms(runs, seed + 1, 0.10), told),
            "10 % drift, not told": _errors(draw_arms(runs, seed + 2, 0.10), DriftBudget()),
            "losses as the load to 0.85": _errors(draw_arms(runs, seed + 3, **law), DriftBudget()),
            "10 % drift and losses as the load to 0.85, not told": _errors(
                draw_arms(runs, seed + 4, 0.10, **law), DriftBudget()
            ),
        }
        progress("gripping in flight")
        flights = flight_rows(min(runs, MOST_FLIGHTS), seed + 5)
    return SchmitzRuns(
        moved, uncalibrated, still, records, shaken, through, places, drifted, bench, belief.gripper, flights
    )


def _measure_positions(bench: Bench, filter_: PayloadCore) -> dict[str, tuple[PayloadEstimate, Numbers]]:
    offset = np.zeros((bench.runs, 3))
    offset[:, 2] = -bench.rng.uniform(0.0, 0.06, bench.runs)
    truth = filter_.arm.gripper + offset
    kinds = {
        "two poses": ((90.0, -90.0), (90.0, 0.0)),
        "one pose": ((90.0, 0.0),),
        "pose (0, 90)": ((0.0, 90.0),),
    }
    return {
        name: (measure_in_poses(bench, filter_, poses, SHAKEN, offset), truth)
        for name, poses in kinds.items()
    }


def _errors(bench: Bench, budget: DriftBudget) -> tuple[Numbers, Numbers]:
    """Errors and deviations (runs, 3), kg, over the weights, each in another pose."""
    filter_ = PayloadCore(calibrate_arms(bench, budget))
    found = [
        measure_record(filter_, series_record(bench, pose, mass), every=RARELY)[0].last
        for pose, mass in zip(POSES, MASSES, strict=True)
    ]
    error = np.stack([one.mass - mass for one, mass in zip(found, MASSES, strict=True)], axis=-1)
    return error, np.stack([one.sigma for one in found], axis=-1)


def _joined(parts: list[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers]:
    """Errors and deviations of several draws, one after the other."""
    return np.concatenate([error for error, _ in parts]), np.concatenate([sigma for _, sigma in parts])


FAULTS = {
    "load-zero": "load reads zero",
    "servo-frozen": "servo frozen",
    "loads-swapped": "loads swapped",
    "joints-swapped": "joints swapped",
    "load-percent": "percent instead of share",
    "load-sign": "sign flipped",
}
RUNS_WITHOUT_FAULT = 120
"""Readings without fault."""


def run_of(record: ArmRecord, run: int) -> ArmRecord:
    """One run of a record of many."""
    goal = None if record.goal is None else record.goal[run]
    return ArmRecord(
        record.rate, record.angle[run], record.load[run], record.force[run], record.gyro[run], goal
    )


def with_fault(record: ArmRecord, kind: str, joint: int = 0) -> ArmRecord:
    """The reports (T, J) of one run with a fault; on one joint where it concerns one."""
    load, angle, goal = record.load.copy(), record.angle.copy(), record.goal
    if kind == "load-zero":
        load[:, joint] = 0.0
    elif kind == "servo-frozen":
        load[:, joint], angle[:, joint] = load[0, joint], angle[0, joint]
    elif kind == "loads-swapped":
        load = load[:, ::-1].copy()
    elif kind == "joints-swapped":
        load, angle = load[:, ::-1].copy(), angle[:, ::-1].copy()
        goal = None if goal is None else goal[:, ::-1].copy()
    elif kind == "load-percent":
        load = 100.0 * load
    elif kind == "load-sign":
        load[:, joint] *= -1.0
    return replace(record, load=load, angle=angle, goal=goal)


def fault_rows(bench: Bench) -> list[PaperRow]:
    """Shares of runs in which a fault was not found, or another was named; and of good ones with an alarm."""
    belief = nominal_arm()
    records = [
        series_record(bench, pose, mass) for pose, mass in zip(POSES, (0.138, 0.273, 0.36), strict=True)
    ]
    wrong = dict.fromkeys(FAULTS, 0)
    tried = 0
    for place, record in enumerate(records):
        for run in range(place, bench.runs, len(records)):
            tried += 1
            whole = run_of(record, run)
            for goals in (whole, replace(whole, goal=None)):
                for kind in FAULTS:
                    names = {f.kind for f in payload_faults(belief, with_fault(goals, kind, run % 2))}
                    wrong[kind] += names != {kind}
    rows = [
        PaperRow(f"{words}: not named", "1", wrong[kind] / (2.0 * tried), 0.0)
        for kind, words in FAULTS.items()
    ]
    down = series_record(bench, (0.0, 0.0), 0.273)
    missed = [
        {f.kind for f in payload_faults(belief, run_of(down, run))} != {"arm-straight-down"}
        for run in range(bench.runs)
    ]
    rows.append(PaperRow("arm straight down: not named", "1", np.mean(missed), 0.0))
    good = [run_of(record, run) for record in records for run in range(bench.runs)][:RUNS_WITHOUT_FAULT]
    alarms = [bool(payload_faults(belief, record)) for record in good]
    rows.append(PaperRow(f"alarms in {len(good)} good ones", "1", np.mean(alarms), 0.0))
    return rows
