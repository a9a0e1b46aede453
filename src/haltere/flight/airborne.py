"""When a vehicle is in the air, from what drives it and from how it moves.

Rotors carry where the sum of their squared speeds (or commands) is above a fraction of what it is in flight. Between
two such stretches the vehicle may dive, flip or fall with hardly any throttle: it is still in the air if it never
comes to rest meanwhile. Where it hardly rotates and the specific force stays that of gravity whatever the rotors do,
it stands or is held on a bench.
"""

import numpy as np
from scipy import ndimage, signal

from haltere.flight.resampling import runs_of_true
from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.foundation.numbers import Bools, Floats

CARRYING = 0.4
"""Fraction of the usual sum of squared speeds or commands above which the rotors carry the vehicle."""
IDLING = 0.02
"""The same, below which they do not even slow its fall."""
AVERAGED = 0.1
"""s over which the sum is averaged."""
MOTION_WINDOW = 0.25
"""s over which the angular rate is compared with that of a vehicle at rest."""
AT_REST = 0.05
"""rad/s, root mean square: a vehicle that stands rotates less; and less than a tenth of what it does in flight."""
REST = 0.3
"""s: a shorter rest may be chance."""
LONGEST_FALL = 10.0
"""s with rotors that do not carry, after which a vehicle has long come down."""
LEVEL = (0.8, 1.25)
"""Specific force over gravity where the rotors just carry the weight."""
BAND = (0.5, 3.0)
"""Hz in which the specific force is compared with the thrust: slower is take-off and landing, faster vibration."""
FELT = 0.15
"""Change of the specific force over that of the thrust, below which a vehicle is held or stands."""
CONTACT = 1.5
"""s at the ends of a flight in which shocks are those of the ground."""
SHOCK, SHOCK_AVERAGED = 3.0, 0.01
"""Specific force over gravity, averaged over so many seconds, from which on it may be one."""
CHANGE = 0.02
"""Change of the thrust, root mean square over the usual one, below which that tells nothing."""
HELD_WINDOW = 4.0
"""s over which that is told."""
CALM = 0.1
"""rad/s, root mean square: a vehicle that rotates more is not held."""
DEVIATIONS = 3.0


def airborne(driving: Floats, gyro: Floats, accel: Floats | None, rate: float) -> tuple[Bools, Bools]:
    """(N,) where the vehicle is in the air, and (N,) where its rotors carry it, too.

    Args:
        driving: (N, m) speeds of the rotors or commands.
        gyro: (N, 3) angular rate, rad/s.
        accel: (N, 3) specific force, m/s2, or None if it is not known.
        rate: of the samples, Hz.
    """
    flying = np.zeros(len(driving), bool)
    thrust = np.sum(np.clip(np.nan_to_num(driving), 0.0, None) ** 2, axis=1)
    total = _mean(thrust, AVERAGED * rate)
    if not total.max(initial=0.0) > 0.0:
        return flying, flying
    force = None if accel is None else np.linalg.norm(np.nan_to_num(accel), axis=1) / STANDARD_GRAVITY
    motion = np.sqrt(_mean(np.sum(np.nan_to_num(_without_bias(gyro)) ** 2, axis=1), MOTION_WINDOW * rate))
    usual = _usual(total, None if force is None else _mean(force, AVERAGED * rate), motion)
    carrying = total > CARRYING * usual
    lively = float(np.median(motion[carrying])) if carrying.any() else 0.0
    resting = motion <= min(AT_REST, 0.1 * lively)
    for first, last in _joined(carrying, resting, total / usual, force, rate):
        part = _moving(slice(first, last), resting)
        if force is not None:
            part = _without_contact(part, force, rate)
        flying[part] = True
        if force is not None:
            flying[part] &= ~_held(thrust[part] / usual, force[part], motion[part], rate)
    return flying, flying & carrying


def _usual(total: Floats, force: Floats | None, motion: Floats) -> float:
    """What the sum `total` (N,) of squares is while the rotors carry the weight.

    Where the specific force (N,), over gravity, is known it is that at which this is one while the vehicle moves:
    neither punches and flips nor rotors that spin on the ground change it.
    """
    if force is not None:
        moving = (total > 0.01 * total.max()) & (motion > AT_REST)
        level = moving & (force > LEVEL[0]) & (force < LEVEL[1])
        if level.sum() > 0.1 * moving.sum():
            return float(np.median(total[level]))
    return float(np.percentile(total[total > 0.1 * total.max()], 60.0))


def _joined(
    carrying: Bools, resting: Bools, share: Floats, force: Floats | None, rate: float
) -> list[tuple[int, int]]:
    """Stretches [first, last) in which rotors carry, joined over gaps in which the vehicle never comes to rest."""
    joined: list[tuple[int, int]] = []
    for first, last in runs_of_true(carrying, 2):
        if joined and _still_flying(joined[-1][1], first, resting, share, force, rate):
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return joined


def _moving(part: slice, resting: Bools) -> slice:
    """Of a stretch what lies between its first and last movement; all of it if nothing in the log moves."""
    moves = np.flatnonzero(~resting[part])
    return slice(part.start + int(moves[0]), part.start + int(moves[-1]) + 1) if moves.size else slice(0, 0)


def _without_contact(part: slice, force: Floats, rate: float) -> slice:
    """Of a stretch what lies between the shocks of take-off and landing, specific forces far above the usual ones."""
    end = int(CONTACT * rate)
    if part.stop - part.start < 3 * end:
        return part
    felt = _mean(force[part], SHOCK_AVERAGED * rate)
    shocks = np.flatnonzero(felt > max(SHOCK, 2.0 * float(np.percentile(felt[end:-end], 99.5))))
    after, before = shocks[shocks < end], shocks[shocks >= len(felt) - end]
    start = part.start + int(after[-1]) + 1 if after.size else part.start
    return slice(start, part.start + int(before[0]) if before.size else part.stop)


def _still_flying(
    begin: int, end: int, resting: Bools, share: Floats, force: Floats | None, rate: float
) -> bool:
    if end - begin > LONGEST_FALL * rate:
        return False
    if any(last - first >= REST * rate for first, last in runs_of_true(resting[begin:end], 2)):
        return False
    if float(np.mean(share[begin:end])) > IDLING or end - begin < rate:
        return True
    return force is not None and float(np.mean(force[begin:end])) < LEVEL[0]  # else it is carried by hand


def _held(share: Floats, force: Floats, motion: Floats, rate: float) -> Bools:
    """(N,) where the vehicle hardly rotates and the specific force does not follow the thrust.

    Args:
        share: (N,) thrust over the usual one.
        force: (N,) specific force over gravity.
        motion: (N,) angular rate, root mean square, rad/s.
        rate: of the samples, Hz.
    """
    held = np.zeros(len(share), bool)
    block = int(HELD_WINDOW * rate)
    if len(share) < block or rate < 4.0 * BAND[1]:
        return held
    band = signal.butter(2, BAND, "bandpass", fs=rate, output="sos")
    x, y = (signal.sosfiltfilt(band, values) for values in (share, force))
    for first in [*range(0, len(share) - block, block // 2), len(share) - block]:
        part = slice(first, first + block)
        held[part] |= np.median(motion[part]) < CALM and _unmoved(x[part], y[part])
    return held


def _unmoved(x: Floats, y: Floats) -> bool:
    """Whether y (N,) surely changes by less than `FELT` of x (N,), both in `BAND`, and x by more than its noise may."""
    slope = float(np.dot(x, y)) / max(float(np.dot(x, x)), 1e-12)
    independent = max(2.0 * (BAND[1] - BAND[0]) * HELD_WINDOW - 1.0, 1.0)
    sigma = float(np.std(y - slope * x)) / max(float(np.std(x)), 1e-6) / independent**0.5
    return bool(np.std(x) > CHANGE and abs(slope) + DEVIATIONS * sigma < FELT)


def _without_bias(gyro: Floats) -> Floats:
    """Angular rate (N, 3) without its bias, which is its median where it is least."""
    size = np.linalg.norm(gyro, axis=1)
    least = size <= np.nanpercentile(size, 10.0)
    return np.asarray(gyro - np.nanmedian(gyro[least], axis=0)) if least.any() else gyro


def _mean(values: Floats, width: float) -> Floats:
    """Moving mean of positive numbers (N,) over `width` samples; rounding makes none of them negative."""
    return np.asarray(
        np.maximum(ndimage.uniform_filter1d(values, max(int(width) | 1, 3), mode="nearest"), 0.0)
    )
