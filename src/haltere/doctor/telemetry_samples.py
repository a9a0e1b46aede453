"""Samples of a rotor's telemetry that cannot be its speed: dead, stuttering, or frozen in pieces.

A rotor is compared with its siblings and with its own history, sample by sample:

- dead: its speed is next to nothing (or no number) while the others run and its command asks for more;
- stuttering: its speed jumps away and comes back within a few samples, or leaves what its command asks for, far more
  often than that of any other rotor;
- frozen: it stays exactly the same for much longer than that of any other rotor, or while its command asks for a change
  beyond its resolution and noise.

Each check gives flags (T, R): which samples are wrong.
"""

import numpy as np
from scipy import signal, special

from haltere.doctor.telemetry_record import TelemetryRecord
from haltere.flight.filters import white_noise
from haltere.flight.resampling import runs_of_true
from haltere.foundation.numbers import Bools, Floats

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
CLEAR_CHANGE = 6.0
"""Change that the command asks for, in deviations of the siblings beyond the resolution, in a frozen run."""


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
        found[:, i] = (away[:, i] > limit) & record.flying & asked
    return found


def frozen_samples(record: TelemetryRecord, rotors: list[int]) -> Bools:
    """(T, R) samples of these rotors that stay exactly the same where they cannot."""
    found = np.zeros(record.speeds.shape, bool)
    runs = {i: _runs(record, i) for i in rotors}
    longest = {i: max((stop - start for start, stop in runs[i]), default=1) for i in rotors}
    quantum = _quantum(record, rotors)
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
    return change > 2.0 * quantum + CLEAR_CHANGE * noise


def _quantum(record: TelemetryRecord, rotors: list[int]) -> float:
    """Resolution of the speeds, rad/s: the smallest difference of two values that were read, over these rotors."""
    steps = []
    for i in rotors:
        values = record.speeds[record.flying, i]
        levels = np.unique(values[np.isfinite(values)])
        if len(levels) > 1:
            apart = np.diff(levels)
            steps.append(float(np.percentile(apart[apart > 1e-6 * levels[-1]], 10, method="lower")))
    return float(np.median(steps)) if steps else 0.0


def _scatter(values: Floats, flying: Bools) -> Floats:
    """(R,) robust deviation of values (T, R) around zero."""
    return np.asarray(1.4826 * np.median(values[flying], axis=0))


def _sibling(values: Floats, rotors: list[int], rotor: int) -> float:
    """Median of values (R,) over these rotors but one."""
    rest = [values[j] for j in rotors if j != rotor and np.isfinite(values[j])]
    return float(np.median(rest)) if rest else float(values[rotor])
