"""What is wrong with an arm's servo readings: each fault by its own signature, before any estimate.

| kind | signature |
|---|---|
| `load-zero` | a load that never leaves zero although the joint moves |
| `servo-frozen` | an angle that stays the same although its goal, or the other joints, move |
| `load-percent` | a share above one: duty cannot exceed it |
| `joints-swapped` | smallest angle steps are those of the other joint's encoder |
| `loads-swapped` | loads follow the position error (or the direction) of the other joint, not their own |
| `load-sign` | load against position error falls, and lifting reads less than giving way: friction would push |
| `arm-straight-down` | the weight has no lever on any joint: the mass does not show |

The control law of a servo, load = stiffness times position error, and the hysteresis between directions hold for any
payload and friction, so neither needs to be known.
"""

from dataclasses import dataclass

import numpy as np

from haltere.doctor.finding import Finding
from haltere.dynamics.servo import REPORT_STEPS
from haltere.estimation.payload.model import ArmBelief
from haltere.estimation.payload.record import ArmRecord
from haltere.estimation.payload.signals import SignalSettings, arm_rows, slide_directions
from haltere.foundation.arrays import double_precision
from haltere.foundation.numbers import Numbers

FULL = 1.02
"""Largest share of the stall torque that a reading can have, with rounding."""
STRAIGHT = 0.25
"""N m/kg: lever times specific force below which the arm shows no mass."""
MOTION = 0.03
"""rad: a goal or angle that goes further than this has moved."""
FEW = 8
"""Readings in each direction that a comparison needs."""


@double_precision()
def payload_faults(belief: ArmBelief, record: ArmRecord) -> tuple[Finding, ...]:
    """Findings in the readings of one run, angles and loads (T, J); empty if all is well."""
    names = belief.arm.model.topology.joint_names
    found = [*_zero(record, names), *_frozen(record, names), *_percent(record)]
    broken = bool(found)
    found += _joints_swapped(belief, record, names)
    if not broken and len(found) == 0:
        found += _loads(belief, record, names)
    return (*found, *_straight(belief, record))


def _zero(record: ArmRecord, names: tuple[str, ...]) -> list[Finding]:
    still = np.abs(record.load).max(axis=-2) < 1.5 / REPORT_STEPS
    moves = np.ptp(record.angle, axis=-2) > MOTION
    return [
        Finding(
            "load-zero",
            f"{name}: the load is zero in all {record.samples} reports while the joint moves "
            f"{np.rad2deg(np.ptp(record.angle[:, j])):.1f} deg",
            "let the driver read the servo's present-load register, and check its torque is enabled",
            True,
            ("joints.load",),
        )
        for j, name in enumerate(names)
        if still[j] and moves[j]
    ]


def _frozen(record: ArmRecord, names: tuple[str, ...]) -> list[Finding]:
    travel = np.ptp(record.angle, axis=-2)
    asked = travel if record.goal is None else np.ptp(record.goal, axis=-2)
    found = []
    for j, name in enumerate(names):
        others = np.delete(travel, j)
        wanted = asked[j] if record.goal is not None else (others.max() if others.size else 0.0)
        flat = np.ptp(record.load[:, j]) < 1.5 / REPORT_STEPS
        if travel[j] == 0.0 and flat and wanted > MOTION:
            found.append(
                Finding(
                    "servo-frozen",
                    f"{name}: angle and load stay the same while {np.rad2deg(wanted):.1f} deg of motion are asked for",
                    "check the servo's cable, its error flags and whether its reports are stale",
                    True,
                    ("joints.angle", "joints.load"),
                )
            )
    return found


def _percent(record: ArmRecord) -> list[Finding]:
    most = float(np.abs(record.load).max())
    if most <= FULL:
        return []
    return [
        Finding(
            "load-percent",
            f"a load of {most:.3g} was read, but a share of the stall torque is at most 1",
            "divide the loads by 100, or read them as a share",
            True,
            ("joints.load",),
        )
    ]


def _joints_swapped(belief: ArmBelief, record: ArmRecord, names: tuple[str, ...]) -> list[Finding]:
    steps = np.asarray(belief.servos.resolution)
    seen = np.asarray([_smallest_step(record.angle[:, j]) for j in range(record.joints)])
    for a in range(record.joints):
        for b in range(a + 1, record.joints):
            crossed = seen[[a, b]] / steps[[b, a]]
            straight = seen[[a, b]] / steps[[a, b]]
            if np.all(np.abs(crossed - 1.0) < 0.05) and np.all(np.abs(straight - 1.0) > 0.2):
                return [
                    Finding(
                        "joints-swapped",
                        f"{names[a]} moves in steps of {np.rad2deg(seen[a]):.3f} deg and {names[b]} in "
                        f"{np.rad2deg(seen[b]):.3f}, their encoders have {np.rad2deg(steps[a]):.3f} and "
                        f"{np.rad2deg(steps[b]):.3f}",
                        "exchange the two joints in the log's order of servos",
                        True,
                        ("joints.angle", "joints.load"),
                    )
                ]
    return []


def _smallest_step(angle: Numbers) -> float:
    """Smallest difference of two angles that were read, rad; NaN if there is one only."""
    values = np.unique(np.round(angle, 7))
    return float(np.diff(values).min()) if len(values) > 1 else float("nan")


@dataclass(frozen=True)
class _Laws:
    """(J, J): how load i goes with what joint j does, between -1 and 1, and whether enough was seen (J,)."""

    score: Numbers
    enough: Numbers


def _laws(belief: ArmBelief, record: ArmRecord) -> _Laws:
    slides = slide_directions(record, belief.servos, SignalSettings(settle=0.0))
    joints = record.joints
    score = np.zeros((joints, joints))
    both = (np.sum(slides > 0, axis=-2) >= FEW) & (np.sum(slides < 0, axis=-2) >= FEW)
    if record.goal is not None:
        both = both | (np.ptp(record.goal, axis=-2) > MOTION)
    for i in range(joints):
        load = record.load[:, i] - record.load[:, i].mean()
        size = np.sqrt(np.mean(load**2)) or 1.0
        for j in range(joints):
            if record.goal is not None:
                error = record.goal[:, j] - record.angle[:, j]
                error = error - error.mean()
                score[i, j] = np.mean(load * error) / (size * (np.sqrt(np.mean(error**2)) or 1.0))
            elif both[j]:
                way = slides[:, j]
                score[i, j] = 0.5 * (load[way > 0].mean() - load[way < 0].mean()) / size
    return _Laws(score, both)


def _loads(belief: ArmBelief, record: ArmRecord, names: tuple[str, ...]) -> list[Finding]:
    laws = _laws(belief, record)
    found = []
    joints = record.joints
    for a in range(joints):
        for b in range(a + 1, joints):
            pair = np.ix_([a, b], [a, b])
            block = laws.score[pair]
            own, crossed = np.abs(np.diag(block)).sum(), np.abs(block[0, 1]) + np.abs(block[1, 0])
            if laws.enough[[a, b]].all() and crossed > own + 0.3:
                found.append(
                    Finding(
                        "loads-swapped",
                        f"the loads go with the other joint's position error (correlations {block[0, 1]:.2f} and "
                        f"{block[1, 0]:.2f}) and not with their own ({block[0, 0]:.2f}, {block[1, 1]:.2f})",
                        f"exchange the loads of {names[a]} and {names[b]}",
                        True,
                        ("joints.load",),
                    )
                )
    if found:
        return found
    return [
        Finding(
            "load-sign",
            f"{name}: lifting reads less than giving way (correlation of load and position error "
            f"{laws.score[j, j]:.2f})",
            "reverse the sign of this joint's load: it must count along the joint's axis",
            True,
            ("joints.load",),
        )
        for j, name in enumerate(names)
        if laws.enough[j] and laws.score[j, j] < -0.1
    ]


def _straight(belief: ArmBelief, record: ArmRecord) -> list[Finding]:
    middle = np.median(record.angle, axis=-2)
    still = np.zeros_like(middle)
    force = np.median(record.force, axis=-2)
    none = np.zeros(3)
    rows = arm_rows(belief.arm, (middle, still, still, force, none, none))[:, belief.arm.link]
    lever = float(np.abs(rows[:, :4] @ np.concatenate([[1.0], belief.gripper])).max())
    if lever > STRAIGHT:
        return []
    shown = ", ".join(f"{np.rad2deg(a) + 0.0:.0f}" for a in np.round(middle, 3))
    return [
        Finding(
            "arm-straight-down",
            f"at ({shown}) deg a kilogram loads the joints with {lever:.2f} N m at most: the weight has no lever",
            "move the arm forward, for instance to (45, 45) deg, and measure there",
            True,
            ("joints.angle",),
        )
    ]
