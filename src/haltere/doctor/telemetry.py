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
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage, signal, special

from haltere.airframe import Airframe
from haltere.airframe.rigid import RigidAirframe
from haltere.doctor.channels import check_speed_samples
from haltere.doctor.finding import Finding, Undecided, blanked_rotor
from haltere.doctor.telemetry_record import TelemetryRecord
from haltere.flight import Flight
from haltere.flight.filters import white_noise
from haltere.flight.resampling import runs_of_true
from haltere.foundation.constants import MAD_TO_SIGMA
from haltere.foundation.numbers import Bools, Floats

if TYPE_CHECKING:
    from haltere.doctor.rotor_factor import WrongFactor

DEAD, STUTTER, FROZEN, HALF, DOUBLE = (
    f"rotor-{last}" for last in ("dead", "stutter", "frozen", "half", "double")
)
FACTOR = "rotor-factor"
"""What stays open: whether a rotor is read at half or double."""
COUNT = "motor-count"
"""Of a rotor that never runs: which of the two is wrong, telemetry or the number of columns, the user knows."""
TELEMETRY_KINDS = (COUNT, DEAD, STUTTER, FROZEN, HALF, DOUBLE)
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
MOMENT = 0.25
"""Length of a frozen run up to which it is a stutter, s."""
OFTENER = 5.0
"""Than any other rotor."""
AROUND = 0.1
"""s, left out before and after samples that are wrong."""
GOOD_SECONDS = 5.0
"""Time in flight with good samples for which the others are left out alone, s."""
LEAP, AFTER = 0.25, 0.4
"""Octaves by which a sudden change may differ from one, and time in flight before and after it, s."""
DISTINCT = 1.6
"""Ratio of speeds from which on it may be half or double."""
OCTAVE = 0.15
"""Octaves by which samples away from the command's speed may differ from half or double."""
NOTHING = 0.1
"""Speed over the median of the others below which a rotor would carry nothing."""
ASKED = 0.3
"""Command over the median of the others above which a rotor is asked to run."""
SUDDEN = 0.5
"""Speed over the median of the others just before or after a moment at zero that no rotor falls from so quickly."""
JUMP = 0.12
"""Relative distance from the median of the samples around it beyond which a sample may be a jump."""
NEIGHBOURS = 5
"""Samples of that median."""
AWAY = 0.2
"""Relative distance from the speed that the command asks for beyond which a sample may be wrong."""
SIGMAS = 8.0
"""The same two, in deviations of the siblings."""
FEWEST = 4
"""Samples of a run that may be frozen at least."""
LONGER = 4.0
"""Length of a frozen run over the longest of any other rotor."""
RARE = 1000.0
"""Logs of this length in which one run by chance is tolerated."""
FINE = 0.75
"""Chance of a repeated sample up to which the fraction of repeated samples can be compared between rotors."""
OFTEN = 0.12
"""Fraction of repeated samples beyond that of any other rotor that is no chance."""
MOVING = 8.0
"""Change of the others in a frozen run, in steps of their resolution, where there are no commands."""
QUANTA, CLEAR_CHANGE = 1.5, 4.0
"""Change that the command asks for in a frozen run: so many steps of the resolution and deviations of the siblings."""


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
        every = _faults(record, nominal)
        faults = [fault for fault in every if fault.kind != FACTOR]
        for fault in [] if faults else every[:1]:
            name = record.names[fault.rotor]
            yield Undecided(
                FACTOR,
                f"{name} {fault.evidence}: it is read wrongly, or the centre of gravity is far off",
                "log the motor commands, or give the airframe",
            )
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
    # Three, five or seven rotors are rare: with one column more, that one is a rotor, too, and its telemetry is dead.
    is_odd = record.count % 2 == 0 and int(np.sum(np.nanmax(record.speeds, axis=0, initial=0.0) <= 0.0)) == 1
    dead = dead_samples(record, is_rotor or is_odd)
    lost = list(_dead(record, dead, is_rotor or record.response is not None))
    faults = list(lost)
    for check in (_jumping, _frozen, _straying, _leaping):
        faults += check(record, _unlabelled(record, faults), dead)
    for wrong in _wrong_factors(record, _unlabelled(record, faults), nominal):
        per = " per command" if wrong.by_command else ""
        said = f"runs at {wrong.ratio:.3f} times the speed{per} of the others"
        shown = ", and read so the vehicle would not be balanced" if wrong.certain else ""
        kind = HALF if wrong.factor < 1.0 else DOUBLE
        faults.append(RotorFault(wrong.rotor, FACTOR if wrong.is_open else kind, said + shown, wrong.certain))
    # What many rotors have is no fault of one; that they are dead needs no comparison.
    for chosen in (faults, [fault for fault in faults if fault.certain]):
        if 2 * len(chosen) < record.count or len(chosen) == 1:
            return chosen
    return lost


def _wrong_factors(
    record: TelemetryRecord, rotors: list[int], nominal: RigidAirframe | None
) -> "list[WrongFactor]":
    levels = [float(np.median(np.nan_to_num(record.speeds[record.flying, i]))) for i in rotors]
    gains = np.zeros(1) if record.response is None else record.response.gains[rotors]
    if len(rotors) < 3 or (max(levels) < DISTINCT * min(levels) and np.ptp(gains) < np.log(DISTINCT)):
        return []
    from haltere.doctor.rotor_factor import wrong_factors  # noqa: PLC0415 - few logs have rotors so far apart

    return wrong_factors(record, rotors, nominal)


def _unlabelled(record: TelemetryRecord, faults: list[RotorFault]) -> list[int]:
    return record.without({fault.rotor for fault in faults})


def _dead(record: TelemetryRecord, dead: Bools, is_certain: bool) -> Iterator[RotorFault]:
    flown = record.duration(record.flying)
    for i in range(record.count):
        lost = record.duration(dead[:, i])
        longest = max((record.duration(_span(dead, run)) for run in runs_of_true(dead[:, i])), default=0.0)
        said = f"reads nothing for {lost:.2f} of {flown:.2f} s in flight while the others run"
        if lost > ALWAYS * flown:
            often = "never runs while the others do, though it must: its telemetry is dead"
            yield RotorFault(i, COUNT, often, is_certain)
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


def _leaping(record: TelemetryRecord, rotors: list[int], dead: Bools) -> list[RotorFault]:
    """Speeds that change by an octave from one sample to the next and stay there, in a log without commands."""
    if record.response is not None:
        return []
    size = max(int(AFTER / float(np.median(record.intervals))), 10)
    octaves = np.where(dead, np.nan, np.log2(np.maximum(np.nan_to_num(record.speeds), 1e-3)))
    found = []
    for i in rotors if len(rotors) > 2 else ():
        relative = octaves[:, i] - np.median(octaves[:, [j for j in rotors if j != i]], axis=1)
        steps = np.abs(np.abs(np.diff(relative)) - 1.0) < LEAP
        for k in np.flatnonzero(steps & record.flying[1:] & record.flying[:-1]).tolist():
            sides = (slice(max(k + 1 - size, 0), k + 1), slice(k + 1, k + 1 + size))
            if not record.flying[sides[0].start : sides[1].stop].all() or k + 1 < size:
                continue
            stays = int(np.sum(np.abs(np.diff(relative[sides[0].start : sides[1].stop])) > 0.5)) == 1
            before, after = (
                float(np.median(relative[part])) for part in (slice(k - 2, k + 1), slice(k + 1, k + 4))
            )
            if stays and abs(abs(after - before) - 1.0) < OCTAVE:
                kind = HALF if abs(max(before, after)) < abs(min(before, after)) else DOUBLE
                said = f"changes by a factor of {2.0 ** (after - before):.3f} from one sample to the next"
                found.append(
                    RotorFault(i, kind, f"{said} at {record.seconds[k]:.2f} s and stays there", False)
                )
                break
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


def dead_samples(record: TelemetryRecord, is_rotor: bool) -> Bools:
    """(T, R) samples at which a rotor reads next to nothing while it must run.

    Args:
        record: The rotor speeds.
        is_rotor: Whether every column is known to be a rotor; else one that never runs may be none.
    """
    found = np.zeros(record.speeds.shape, bool)
    for i in range(record.count):
        others = record.others(i, record.speeds)
        low = ~(record.speeds[:, i] > NOTHING * others) & record.flying & (others > 0.0)
        if record.response is not None:
            commands = record.response.commands
            found[:, i] = low & (commands[:, i] > ASKED * record.others(i, commands))
            continue
        for start, stop in runs_of_true(low):
            edges = [k for k in (start - 1, stop) if 0 <= k < len(low) and record.flying[k]]
            fell = any(record.speeds[k, i] > SUDDEN * others[k] for k in edges)
            found[start:stop, i] = fell or (is_rotor and not edges)
    return found


def jumping_samples(record: TelemetryRecord, rotors: list[int]) -> Bools:
    """(T, R) samples of these rotors that jump away from those around them."""
    found = np.zeros(record.speeds.shape, bool)
    values = np.nan_to_num(record.speeds)
    middle = signal.medfilt(values, (NEIGHBOURS, 1))
    away = np.abs(values - middle) / np.maximum(middle, 1e-9)
    usual = _scatter(away, record.flying)
    for i in rotors:
        limit = max(JUMP, SIGMAS * _sibling(usual, rotors, i))
        found[:, i] = (away[:, i] > limit) & record.flying
        if record.response is not None:  # what the command asks for is no jump
            found[:, i] &= (
                np.abs(np.log(np.maximum(values[:, i], 1e-3) / record.response.expected[:, i])) > limit
            )
    return found


def straying_samples(record: TelemetryRecord, rotors: list[int]) -> Bools:
    """(T, R) samples of these rotors that are far from what the command asks for; none without commands."""
    found = np.zeros(record.speeds.shape, bool)
    if record.response is None:
        return found
    away = np.abs(np.log(np.maximum(np.nan_to_num(record.speeds), 1e-3) / record.response.expected))
    for i in rotors:
        limit = max(AWAY, SIGMAS * _sibling(record.response.scatter, rotors, i))
        asked = record.response.commands[:, i] > ASKED * record.others(i, record.response.commands)
        found[:, i] = (away[:, i] > limit) & record.flying & record.response.logged & asked
    return found


def frozen_samples(record: TelemetryRecord, rotors: list[int]) -> Bools:
    """(T, R) samples of these rotors that stay exactly the same where they cannot."""
    found = np.zeros(record.speeds.shape, bool)
    runs = {i: _runs(record, i) for i in rotors}
    longest = {i: max((stop - start for start, stop in runs[i]), default=1) for i in rotors}
    quantum = record.resolution(rotors)
    repeats = {i: float(np.mean(np.diff(record.speeds[record.flying, i]) == 0.0)) for i in rotors}
    for i in rotors:
        siblings = [j for j in rotors if j != i]
        chance = _chance(record, siblings, i, quantum)
        usual = max((longest[j] for j in siblings), default=1)
        limit = max(LONGER * usual, FEWEST + 2, np.log(RARE * len(record.seconds)) / -np.log(chance))
        holds = chance < FINE and repeats[i] > max((repeats[j] for j in siblings), default=1.0) + OFTEN
        low = ~(record.speeds[:, i] > NOTHING * record.others(i, record.speeds))
        for start, stop in runs[i]:
            if stop - start < FEWEST or low[start]:
                continue
            is_long = holds or stop - start >= limit
            if is_long or _asked_to_change(record, rotors, i, (start, stop), quantum):
                found[start:stop, i] = True
    return found & record.flying[:, None]


def _chance(record: TelemetryRecord, siblings: list[int], rotor: int, quantum: float) -> float:
    """Chance, at most, that a sample at constant speed reads like the one before, with the noise of the others.

    The reading stays the same as long as the noise stays within the step in whose middle the speed is.
    """
    noises = []
    for j in siblings:
        values = record.speeds[record.flying, j]
        level = max(float(np.median(np.nan_to_num(values))), 1e-9)
        noises.append(float(white_noise(values[np.isfinite(values)][:, None])[0]) / level)
    level = float(np.median(np.nan_to_num(record.speeds[record.flying, rotor])))
    noise = (np.median(noises) if noises else 0.0) * level
    noise = np.sqrt(max(noise**2 - quantum**2 / 12.0, (0.05 * quantum) ** 2, 1e-24))
    return float(np.clip(special.erf(0.5 * quantum / (np.sqrt(2.0) * noise)), 1e-3, 1.0 - 1e-9))


def _runs(record: TelemetryRecord, rotor: int) -> list[tuple[int, int]]:
    """First and one past the last sample of every run of equal values in flight."""
    values = record.speeds[:, rotor]
    same = (np.diff(values) == 0.0) & record.flying[1:] & record.flying[:-1]
    return [(start, stop + 1) for start, stop in runs_of_true(same)]


def _asked_to_change(
    record: TelemetryRecord, rotors: list[int], rotor: int, run: tuple[int, int], quantum: float
) -> bool:
    """Whether a command asks for more change in a run than resolution and noise hide; without it, the others change."""
    if record.response is None:
        others = record.speeds[slice(*run)][:, [j for j in rotors if j != rotor]]
        return bool(np.median(np.ptp(others, axis=0)) > MOVING * quantum)
    expected = record.response.expected[slice(*run), rotor]
    noise = _sibling(record.response.scatter, rotors, rotor) * float(np.median(expected))
    third = max(len(expected) // 3, 1)
    change = max(
        abs(float(np.median(expected[:third]) - np.median(expected[-third:]))),
        float(np.percentile(expected, 90) - np.percentile(expected, 10)),
    )
    return bool(
        record.response.logged[slice(*run)].all() and change > QUANTA * quantum + CLEAR_CHANGE * noise
    )


def _scatter(values: Floats, flying: Bools) -> Floats:
    """(R,) robust deviation of values (T, R) around zero."""
    return np.asarray(MAD_TO_SIGMA * np.median(values[flying], axis=0))


def _sibling(values: Floats, rotors: list[int], rotor: int) -> float:
    """Median of values (R,) over these rotors but one."""
    rest = [values[j] for j in rotors if j != rotor and np.isfinite(values[j])]
    return float(np.median(rest)) if rest else float(values[rotor])
