"""Faults put into good servo readings, and how many of them are found and named."""

from dataclasses import replace
from typing import Any

import numpy as np

from haltere.doctor.arm import payload_faults
from haltere.estimation.payload.record import ArmRecord
from haltere.papers.schmitz.bench import POSES, Bench
from haltere.papers.schmitz.series import nominal, series_record

FAULTS = {
    "load-zero": "load reads zero",
    "servo-frozen": "servo frozen",
    "loads-swapped": "loads swapped",
    "joints-swapped": "joints swapped",
    "load-percent": "percent instead of share",
    "load-sign": "sign flipped",
}
GOOD = 120
"""Readings without fault."""


def run_of(record: ArmRecord, run: int) -> ArmRecord:
    """One run of a record of many."""
    goal = None if record.goal is None else record.goal[run]
    return ArmRecord(
        record.rate, record.angle[run], record.load[run], record.force[run], record.gyro[run], goal
    )


def spoiled(record: ArmRecord, kind: str, joint: int = 0) -> ArmRecord:
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


def fault_rows(bench: Bench) -> list[dict[str, Any]]:
    """Shares of runs in which a fault was not found, or another was named; and of good ones with an alarm."""
    belief = nominal()
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
                    names = {f.kind for f in payload_faults(belief, spoiled(goals, kind, run % 2))}
                    wrong[kind] += names != {kind}
    rows = [_row(f"{words}: not named", wrong[kind] / (2.0 * tried)) for kind, words in FAULTS.items()]
    down = series_record(bench, (0.0, 0.0), 0.273)
    missed = [
        {f.kind for f in payload_faults(belief, run_of(down, run))} != {"arm-straight-down"}
        for run in range(bench.runs)
    ]
    rows.append(_row("arm straight down: not named", float(np.mean(missed))))
    good = [run_of(record, run) for record in records for run in range(bench.runs)][:GOOD]
    alarms = [bool(payload_faults(belief, record)) for record in good]
    rows.append(_row(f"alarms in {len(good)} good ones", float(np.mean(alarms))))
    return rows


def _row(quantity: str, share: float) -> dict[str, Any]:
    return {"quantity": quantity, "unit": "1", "paper": None, "ours": float(share), "bound": 0.0}
