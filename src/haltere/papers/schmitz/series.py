"""The series of the paper and ours, each for N arms at once: what was estimated, by both estimators.

A run: the arm is empty, at `HANGS_AT` the weight hangs fully, and with motion the joints sweep once to and fro from
`SWEEP` on, the measuring motion. Estimates are renewed every tenth of a second.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haltere.airframe import from_catalogue
from haltere.estimation.payload.core import PayloadCore
from haltere.estimation.payload.model import ArmBelief, DriftBudget
from haltere.estimation.payload.record import ArmRecord
from haltere.estimation.payload.signals import ArmSignals
from haltere.estimation.payload.state import BESIDE, PayloadBelief, PayloadEstimate
from haltere.foundation.constants import GRAVITY
from haltere.foundation.numbers import Numbers
from haltere.identification.payload.calibration import calibrate
from haltere.papers.schmitz import paper_estimator
from haltere.papers.schmitz.bench import (
    AMPLITUDE,
    FREQUENCIES,
    RATE,
    VEHICLE,
    Bench,
    base_at_rest,
    sweep_motion,
    trace_arms,
)

LOADING = 0.3
"""s from the first to the whole weight."""
HANGS_AT = 1.0
FIRST = 1.05
"""s: from here on readings count; the filters have forgotten the loading."""
SWEEP = 1.1
SWEEP_TIME = 2.0
END = 3.6
CALIBRATION_MASSES = (0.0, 0.1, 0.3)
"""kg: the empty arm and two known weights."""
EVERY, RARELY = 10, 50
"""Reports from one estimate to the next; and where only the last is asked for."""


@dataclass(frozen=True, eq=False)
class MassHistory:
    """Of N runs.

    Attributes:
        last: the estimate at the end.
        mass: (N, K) kg, every tenth of a second.
        sigma: (N, K).
        stale: (N, K) whether the value is held from earlier readings.
        time: (K,) s.
        settled: (N,) s from loading until the mass stays within 5 % (or 2 g) of its last value.
    """

    last: PayloadEstimate
    mass: Numbers
    sigma: Numbers
    stale: Numbers
    time: Numbers
    settled: Numbers


def nominal_arm(drift: DriftBudget | None = None) -> ArmBelief:
    """What the airframe file says, uncalibrated."""
    return ArmBelief.from_airframe(from_catalogue(VEHICLE), drift=drift)


def calibrate_arms(bench: Bench, drift: DriftBudget | None = None) -> ArmBelief:
    """What two known weights and the empty arm tell of each arm, with the drift budget for what happens after."""
    time = np.arange(round(12.0 * RATE)) / RATE
    held = np.clip((time - 0.2) / LOADING, 0.0, 1.0)
    motion = sweep_motion(time, 0.8, 15.0, (0.2, 0.3))
    records = [
        trace_arms(bench, (45.0, 45.0), mass, motion, held, drifted=False)[0] for mass in CALIBRATION_MASSES
    ]
    found = calibrate(nominal_arm(drift), records, CALIBRATION_MASSES)
    return found.belief.drifted(drift or DriftBudget())


def timeline(end: float = END) -> tuple[Numbers, Numbers]:
    """(T,) s and (T,) share of the weight that hangs."""
    time = np.arange(round(end * RATE)) / RATE
    return time, np.clip((time - HANGS_AT) / LOADING + 1.0, 0.0, 1.0)


@dataclass(frozen=True)
class Sweep:
    """A measuring motion: amplitude in degrees, frequency of each joint in Hz, s."""

    amplitude: float = AMPLITUDE
    frequencies: tuple[float, ...] = FREQUENCIES
    duration: float = SWEEP_TIME


QUICK, WIDE = Sweep(), Sweep(10.0, (0.25, 0.375), 4.0)
"""For the mass; and for the position, where the ripple of the gears must be averaged out."""


def series_record(
    bench: Bench,
    pose: Sequence[float],
    mass: Numbers | float,
    motion: Sweep | None = QUICK,
    offset: Numbers | None = None,
) -> ArmRecord:
    """The reports of one loading, with or without a measuring motion."""
    time, held = timeline(END if motion is None else SWEEP + motion.duration + 0.5)
    moved = np.zeros((len(time), 2))
    if motion is not None:
        moved = sweep_motion(time, SWEEP, motion.amplitude, motion.frequencies, SWEEP + motion.duration)
    return trace_arms(bench, pose, mass, moved, held, offset=offset)[0]


def measure_record(
    filter_: PayloadCore,
    record: ArmRecord,
    first: float = FIRST,
    last: float | None = None,
    before: PayloadBelief | None = None,
    *,
    signals: ArmSignals | None = None,
    every: int = EVERY,
) -> tuple[MassHistory, PayloadBelief]:
    """Estimates from the readings between two times, s, on top of those taken in `before`, after `every` reports.

    The `signals` of a record can be shared by filters of the same arm.
    """
    signals = signals or filter_.signals(record)
    belief = filter_.begin(record.angle.shape[:-2]) if before is None else before
    begin, end = round(first * RATE), record.samples if last is None else round(last * RATE)
    found = []
    for a in range(begin, end, every):
        belief = filter_.update(belief, signals, a, min(a + every, end))
        found.append(filter_.estimate(belief))
    mass = np.stack([one.mass for one in found], axis=-1)
    band = np.maximum(0.05 * np.abs(mass[..., -1:]), 0.002)
    outside = np.abs(mass - mass[..., -1:]) > band
    count = mass.shape[-1]
    late = np.where(outside.any(-1), count - np.argmax(outside[..., ::-1], axis=-1), 0)
    time = (begin + every * (1 + np.arange(count))) / RATE
    return (
        MassHistory(
            found[-1],
            mass,
            np.stack([one.sigma for one in found], axis=-1),
            np.stack([one.stale for one in found], axis=-1),
            time,
            (late + 1) * every / RATE + first - HANGS_AT,
        ),
        belief,
    )


def oscillation(time: Numbers, start: float, frequency: float, cycles: float, stroke: float = 0.1) -> Numbers:
    """(T,) m/s2 of a base that goes to and fro by `stroke` m a whole number of times: s = stroke/2 (1 - cos w t)."""
    w = 2.0 * np.pi * frequency
    inside = (time >= start) & (time < start + cycles / frequency)
    return np.where(inside, 0.5 * stroke * w**2 * np.cos(w * (time - start)), 0.0)


STAGES = {"slow": (4.0, 12.0), "fast": (13.0, 17.0), "after": (17.2, 21.0)}
"""s of series B: 0.5 Hz, 2 Hz, and at rest after it."""


def series_b(bench: Bench, vertical: bool, motion: bool, mass: float = 0.273) -> ArmRecord:
    """The reports of series B; with `motion` the joints sweep before, during the slow stage and after the fast one."""
    time, held = timeline(STAGES["after"][1])
    shaken = oscillation(time, 4.0, 0.5, 4.0) + oscillation(time, 13.0, 2.0, 8.0)
    force = base_at_rest(time)
    force[:, 2 if vertical else 0] += shaken
    moved = np.zeros((len(time), 2))
    if motion:
        for start in (SWEEP, 5.0, 18.0):
            part = sweep_motion(time, start, end=start + SWEEP_TIME)
            moved = moved + part
    return trace_arms(bench, (45.0, 45.0), mass, moved, held, force=force)[0]


def measure_while_shaken(
    bench: Bench, filter_: PayloadCore, vertical: bool, mass: float = 0.273
) -> PayloadEstimate:
    """What sweeps tell during the 2 Hz of series B, and nothing else; `filter_` with `WHILE_SHAKEN`."""
    time, held = timeline(6.0)
    force = base_at_rest(time)
    force[:, 2 if vertical else 0] += oscillation(time, 1.5, 2.0, 8.0)
    moved = sweep_motion(time, 1.5, 10.0, end=5.5)
    record = trace_arms(bench, (45.0, 45.0), mass, moved, held, force=force)[0]
    return measure_record(filter_, record, 1.6, 5.5, every=RARELY)[0].last


def turning(
    bench: Bench, mass: float, own_inertia: float, swing: float = 5.0, end: float = 10.0
) -> ArmRecord:
    """The reports of wide sweeps under a base that pitches to and fro twice a second, by `swing` degrees."""
    time = np.arange(round(end * RATE)) / RATE
    since = np.maximum(time - 0.5, 0.0)
    w, size = 4.0 * np.pi, np.deg2rad(swing)
    angle = size * np.sin(w * since)
    rate = size * w * np.cos(w * since) * (time >= 0.5)
    force = GRAVITY * np.stack([-np.sin(angle), np.zeros_like(angle), np.cos(angle)], axis=-1)
    moved = sweep_motion(time, 0.5, 25.0, (0.4, 0.3))
    pitch = (rate, -(w**2) * angle)
    hung = np.ones_like(time)
    return trace_arms(
        bench, (45.0, 45.0), mass, moved, hung, force=force, own_inertia=own_inertia, pitch=pitch
    )[0]


def paper_masses(record: ArmRecord, every: int = 2, memory: int = 20) -> tuple[Numbers, Numbers]:
    """The paper's direct mass and running average (N, T / every), every second report at 50 Hz."""
    thin = ArmRecord(
        record.rate / every,
        record.angle[..., ::every, :],
        record.load[..., ::every, :],
        record.force[..., ::every, :],
        record.gyro[..., ::every, :],
    )
    direct = paper_estimator.direct_mass(thin)
    return direct, paper_estimator.running_average(direct, memory)


def wide_filter(belief: ArmBelief) -> PayloadCore:
    """The estimator where the position of the weight is unknown, too."""
    return PayloadCore(belief, BESIDE)


def measure_in_poses(
    bench: Bench,
    filter_: PayloadCore,
    poses: Sequence[Sequence[float]],
    mass: float,
    offset: Numbers,
    motion: Sweep = WIDE,
) -> PayloadEstimate:
    """What readings in several poses tell together: a measuring motion in each."""
    belief: PayloadBelief | None = None
    for pose in poses:
        record = series_record(bench, pose, mass, motion, offset)
        found, belief = measure_record(filter_, record, before=belief, every=RARELY)
    return found.last
