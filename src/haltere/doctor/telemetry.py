"""Check of each rotor's telemetry against its siblings, its command and its own history.

| kind | signature |
|---|---|
| `rotor-dead` (`motor-count` where it never runs) | next to nothing, or no number, while the others run |
| `rotor-stutter` | jumps away and back, falls to zero, or holds its value, for moments again and again |
| `rotor-frozen` | stays exactly the same in pieces while the others move or its command asks for a change |
| `rotor-half`, `rotor-double` | half or double the speed that its siblings have at the same command |

A rotor that has one of these is not used: its samples become NaN in the mended flight, all of them unless the good ones
make up most of the flight and are sure to be good. A few samples at zero (`dropout`) are left out alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import ndimage

from haltere.airframe import Airframe
from haltere.airframe.rigid import RigidAirframe
from haltere.doctor.channels import check_speed_samples
from haltere.doctor.finding import Finding, Mend, Undecided
from haltere.doctor.rotor_factor import wrong_factors
from haltere.doctor.telemetry_record import TelemetryRecord
from haltere.doctor.telemetry_samples import dead_samples, frozen_samples, jumping_samples, straying_samples
from haltere.flight import Flight
from haltere.flight.resampling import runs_of_true
from haltere.foundation.numbers import Bools

DEAD, STUTTER, FROZEN, HALF, DOUBLE = (
    f"rotor-{last}" for last in ("dead", "stutter", "frozen", "half", "double")
)
COUNT = "motor-count"
"""Of a rotor that never runs: which of the two is wrong, telemetry or the number of columns, the user knows."""
TELEMETRY_KINDS = (DEAD, STUTTER, FROZEN, HALF, DOUBLE)
"""Kinds of findings on one rotor's telemetry; those that are not certain count as well when a log is identified."""
FAULTY = "rotors.faulty"
"""Measure: how many rotors have one."""
ALWAYS = 0.95
"""Fraction of the flight from which on a fault counts as being there all along."""
DEAD_SECONDS = 0.5
"""Longest time at zero that still is a stutter, s."""
ZERO_FRACTION = 0.02
"""Fraction of the flight at zero beyond which telemetry stutters; below, these samples are left out (`dropout`)."""
JUMPS = (8, 0.005)
"""Least number of jumps, and least fraction of the samples."""
FROZEN_SECONDS = 0.3
STRAYING = (0.3, 0.02)
"""Least time away from what the command asks for, s, and least fraction of the flight."""
MOMENT = 0.12
"""Length of a frozen run up to which it is a stutter, s."""
OFTENER = 5.0
"""Than any other rotor."""
AROUND = 0.1
"""s, left out before and after samples that are wrong."""
GOOD_SECONDS = 5.0
"""Time in flight with good samples for which the others are left out alone, s."""
OCTAVE = 0.15
"""Octaves by which samples away from the command's speed may differ from half or double."""


@dataclass(frozen=True)
class RotorFault:
    """One fault of a rotor's telemetry; `wrong` (T,) are the samples if the others are sure to be good."""

    rotor: int
    kind: str
    evidence: str
    certain: bool = True
    wrong: Bools | None = None


def check_telemetry(
    flight: Flight, airframe: Airframe | None, measures: dict[str, float]
) -> Iterator[Finding | Undecided]:
    """Yield what is wrong with the speeds of single rotors."""
    record = TelemetryRecord.from_flight(flight)
    if record is not None:
        nominal = RigidAirframe.from_airframe(airframe) if airframe is not None and airframe.rotors else None
        faults = _faults(record, nominal)
        if record.response is not None and np.isfinite(record.response.gains).any():
            relative = np.exp(record.response.gains - np.nanmedian(record.response.gains))
            for name, gain in zip(record.names, relative, strict=True):
                if np.isfinite(gain):
                    measures[f"rotors.{name}.speed_per_command"] = float(gain)
        for fault in faults:
            yield _finding(record, fault)
        if faults:
            measures[FAULTY] = float(len(faults))
            return
    if "rotors.speed" in flight:
        yield from check_speed_samples(flight, flight["rotors.speed"])


def _faults(record: TelemetryRecord, nominal: RigidAirframe | None) -> list[RotorFault]:
    is_rotor = nominal is not None and len(nominal.names) == record.count
    dead = dead_samples(record, is_rotor)
    faults = list(_dead(record, dead))
    for check in (_jumping, _frozen, _straying):
        faults += check(record, _left(record, faults), dead)
    for wrong in wrong_factors(record, _left(record, faults), nominal):
        per = " per command" if wrong.by_command else ""
        said = f"runs at {wrong.ratio:.3f} times the speed{per} of the others"
        shown = ", and read so the vehicle would not be balanced" if wrong.certain else ""
        kind = HALF if wrong.factor < 1.0 else DOUBLE
        faults.append(RotorFault(wrong.rotor, kind, said + shown, wrong.certain))
    return faults if 2 * len(faults) < record.count or len(faults) == 1 else []


def _left(record: TelemetryRecord, faults: list[RotorFault]) -> list[int]:
    return record.without({fault.rotor for fault in faults})


def _dead(record: TelemetryRecord, dead: Bools) -> Iterator[RotorFault]:
    flown = record.duration(record.flying)
    for i in range(record.count):
        lost = record.duration(dead[:, i])
        longest = max((record.duration(_span(dead, run)) for run in runs_of_true(dead[:, i])), default=0.0)
        said = f"reads nothing for {lost:.2f} of {flown:.2f} s in flight while the others run"
        if lost > ALWAYS * flown:
            yield RotorFault(
                i, "motor-count", "never runs while the others do and it is asked to: it is dead"
            )
        elif longest > DEAD_SECONDS:
            yield RotorFault(i, DEAD, said, wrong=dead[:, i])
        elif lost > ZERO_FRACTION * flown:
            yield RotorFault(i, STUTTER, f"{said}, for {longest:.2f} s at most")


def _jumping(record: TelemetryRecord, rotors: list[int], dead: Bools) -> list[RotorFault]:
    wrong = jumping_samples(record, rotors) & ~dead
    counts = wrong.sum(axis=0)
    least = max(JUMPS[0], JUMPS[1] * record.flying.sum())
    return [
        RotorFault(
            i,
            STUTTER,
            f"jumps away and back within {record.duration(record.flying):.1f} s of flight {counts[i]} times, the other "
            f"rotors at most {most} times",
        )
        for i in rotors
        if counts[i] >= least
        and counts[i] > OFTENER * (most := max((counts[j] for j in rotors if j != i), default=0)) + 3
    ]


def _frozen(record: TelemetryRecord, rotors: list[int], _: Bools) -> list[RotorFault]:
    wrong = frozen_samples(record, rotors)
    times = {i: record.duration(wrong[:, i]) for i in rotors}
    found = []
    for i in rotors:
        most = max((times[j] for j in rotors if j != i), default=0.0)
        if times[i] < FROZEN_SECONDS or times[i] <= OFTENER * most:
            continue
        runs = [record.duration(_span(wrong, run)) for run in runs_of_true(wrong[:, i])]
        kind = FROZEN if sum(run for run in runs if run > MOMENT) > 0.5 * sum(runs) else STUTTER
        said = f"{times[i]:.2f} of {record.duration(record.flying):.2f} s in flight"
        often = f"stays exactly the same {len(runs)} time(s), {said}, {max(runs):.2f} s at most, while it must change"
        found.append(RotorFault(i, kind, often))
    return found


def _straying(record: TelemetryRecord, rotors: list[int], dead: Bools) -> list[RotorFault]:
    if record.response is None:
        return []
    wrong = straying_samples(record, rotors) & ~dead
    times = {i: record.duration(wrong[:, i]) for i in rotors}
    flown = record.duration(record.flying)
    found = []
    for i in rotors:
        most = max((times[j] for j in rotors if j != i), default=0.0)
        if times[i] < max(STRAYING[0], STRAYING[1] * flown) or times[i] <= OFTENER * most:
            continue
        away = np.log2(record.speeds[wrong[:, i], i] / record.response.expected[wrong[:, i], i])
        middle, spread = float(np.median(away)), float(np.median(np.abs(away - np.median(away))))
        said = f"{times[i]:.2f} of {flown:.2f} s in flight"
        if abs(abs(middle) - 1.0) < OCTAVE and spread < OCTAVE:
            # Which of the two is right, the speed here or in the rest of the flight, the siblings tell.
            gains = record.response.gains
            rest = float(gains[i] - np.median([gains[j] for j in rotors if j != i])) / np.log(2.0)
            kind = HALF if (middle if abs(rest) < abs(rest + middle) else -middle) < 0.0 else DOUBLE
            often = (
                f"runs at {2.0**middle:.3f} times the speed per command of the rest of the flight in {said}"
            )
            found.append(RotorFault(i, kind, often))
        else:
            often = f"is away from the speed that its command asks for in {said}, the others {most:.2f} s"
            found.append(RotorFault(i, STUTTER, often, certain=False))
    return found


def _span(flags: Bools, run: tuple[int, int]) -> Bools:
    inside = np.zeros(len(flags), bool)
    inside[slice(*run)] = True
    return inside


def _finding(record: TelemetryRecord, fault: RotorFault) -> Finding:
    name = record.names[fault.rotor]
    wrong = fault.wrong
    if wrong is not None:
        width = 2 * int(AROUND / max(float(np.median(record.intervals)), 1e-6)) + 1
        wrong = ndimage.binary_dilation(wrong, np.ones(width))
        good = record.duration(record.flying & ~wrong)
        if good < max(GOOD_SECONDS, 0.5 * record.duration(record.flying)):
            wrong = None
    used = "its speeds are" if wrong is None else "these samples are"
    remedy = f"{used} not used; check telemetry wire, pole count and firmware of the ESC of {name}"
    if fault.kind == COUNT:
        remedy += ", or leave that column out if it is no rotor"
    return Finding(
        fault.kind,
        f"rotors.speed: {name} {fault.evidence}",
        remedy,
        fault.certain,
        ("rotors.speed",),
        blanked_rotor(fault.rotor, wrong),
        (name,),
    )


def blanked_rotor(rotor: int, wrong: Bools | None) -> Mend:
    """Return the remedy that leaves out the samples (T,) of one rotor, or all of them."""

    def mend(flight: Flight) -> Flight:
        channel = flight["rotors.speed"]
        values = np.array(channel.values)
        values[:, rotor] = np.nan if wrong is None else np.where(wrong, np.nan, values[:, rotor])
        return flight.with_channel(replace(channel, values=values))

    return mend
