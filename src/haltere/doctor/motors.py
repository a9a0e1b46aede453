"""Checks of the motors: how many there are, which speed follows which command, signs, and how late speeds come."""

from collections.abc import Iterator
from itertools import product

import numpy as np
from scipy import interpolate, signal

from haltere.airframe.rigid import RigidAirframe
from haltere.doctor.finding import Finding, Undecided, mapped, reordered, shifted
from haltere.doctor.motion import (
    BAND,
    RATE,
    SmoothedMotion,
    finite_rows,
    flying,
    low_pass_over_gaps,
    rows_of,
    smooth,
)
from haltere.flight import Channel
from haltere.foundation.numbers import Floats

BOTH = ("rotors.speed", "rotors.command")


def check_count(
    speed: Channel | None, command: Channel | None, nominal: RigidAirframe | None
) -> Iterator[Finding]:
    """Yield columns that are no rotor, and numbers that do not fit."""
    for channel in (speed, command):
        if channel is None:
            continue
        values = np.nan_to_num(channel.values)
        busy = np.max(np.abs(values), axis=0)
        told = np.atleast_1d(
            np.isfinite(channel.values).any(axis=0)
        )  # a rotor that is not used any more was named before
        dead = [i for i in range(len(busy)) if told[i] and busy[i] <= 0.02 * np.median(busy)]
        twins = [
            (i, j)
            for i in range(len(busy))
            for j in range(i)
            if i not in dead
            and len(np.unique(values[:, i])) > 50
            and np.array_equal(values[:, i], values[:, j])
        ]
        names = channel.columns or tuple(f"m{i + 1}" for i in range(len(busy)))
        if dead and len(dead) < len(busy):
            yield Finding(
                "motor-count",
                f"{channel.name}: {', '.join(names[i] for i in dead)} never run(s) while the others do",
                f"leave out that column if the vehicle has {len(busy) - len(dead)} rotors; else mend its telemetry",
                True,
                (channel.name,),
            )
        if twins and channel is speed:
            i, j = twins[0]
            yield Finding(
                "motor-count",
                f"{channel.name}: {names[i]} repeats {names[j]} sample by sample",
                "leave out one of them, or mend the logging",
                True,
                (channel.name,),
            )
        if nominal is not None and not dead and not twins and len(busy) != len(nominal.names):
            yield Finding(
                "motor-count",
                f"{channel.name}: {len(busy)} columns, the airframe has {len(nominal.names)} rotors",
                "give the airframe of this vehicle, or log all motors",
                True,
                (channel.name,),
            )
    worked = 0 if command is None else int(np.sum(np.nanpercentile(command.values, 95, axis=0) > 0.1))
    if speed is not None and command is not None and speed.values.shape[1] != worked > 0 and nominal is None:
        yield Finding(
            "motor-count",
            f"{speed.values.shape[1]} rotor speeds but {worked} motors that are worked",
            "log both for all motors",
            True,
            BOTH,
        )


def check_pairs(speed: Channel, command: Channel) -> Iterator[Finding]:
    """Yield whether speeds follow the commands of other columns.

    A motor follows its command like a low-pass and a little later; each speed is correlated with every command
    passed through such lags, what all motors have in common taken off, and must fit its own best.
    """
    clock = np.arange(
        max(speed.time[0], command.time[0]), min(speed.time[-1], command.time[-1]), np.int64(1e9 / RATE)
    )
    count = speed.values.shape[1]
    if len(clock) < 100 or count != command.values.shape[1]:
        return
    w, u = smooth(speed, clock), smooth(command, clock)
    good = finite_rows(w, u)
    if good.sum() < 100:
        return
    w, u = (x[good] - low_pass_over_gaps(x, 0.3)[good] for x in (w, u))
    w, u = (
        w - w.mean(axis=1, keepdims=True),
        u - u.mean(axis=1, keepdims=True),
    )  # what all have in common tells nothing
    best = np.full((count, count), -1.0)
    for tau, lag in product((0.0, 0.01, 0.02, 0.04, 0.08, 0.16), range(4)):
        pole = (
            np.exp(-1.0 / (RATE * tau)) if tau else 0.0
        )  # a motor follows its command like a low-pass, and later
        a, b = w[lag:], signal.lfilter([1.0 - pole], [1.0, -pole], u, axis=0)[: len(u) - lag]
        norm = np.sqrt(np.sum(a**2, axis=0)[:, None] * np.sum(b**2, axis=0)[None])
        best = np.maximum(best, (a.T @ b) / np.maximum(norm, 1e-30))
    follows = tuple(int(i) for i in np.argmax(best, axis=1))
    own = np.diag(best)
    if sorted(follows) != list(range(count)) or follows == tuple(range(count)):
        return
    wrong = [i for i in range(count) if follows[i] != i]
    if all(best[i, follows[i]] > 0.8 and 1.0 - best[i, follows[i]] < 0.3 * (1.0 - own[i]) for i in wrong):
        names = speed.columns or tuple(f"m{i + 1}" for i in range(count))
        said = ", ".join(
            f"{names[i]} follows the command of {names[follows[i]]} ({best[i, follows[i]]:.2f})"
            for i in wrong
        )
        order = tuple(follows.index(i) for i in range(count))
        yield Finding(
            "motor-order", f"rotors.speed: {said}", f"take its columns in the order {[names[i] for i in order]}", True,
            ("rotors.speed",), reordered(("rotors.speed",), order),
        )  # fmt: skip


def check_signs(speed: Channel) -> Iterator[Finding]:
    """Yield whether speeds carry the sign of their spin."""
    values = speed.values
    backward = [i for i in range(values.shape[1]) if np.nanmedian(values[:, i]) < 0.0]
    if backward:
        names = speed.columns or tuple(f"m{i + 1}" for i in range(values.shape[1]))
        yield Finding(
            "rotor-sign",
            f"rotors.speed: {', '.join(names[i] for i in backward)} are negative: signed by the spin direction",
            "take the absolute value; a rotor's speed counts in its own direction",
            True,
            ("rotors.speed",),
            mapped(("rotors.speed",), np.abs),
        )


HIGH = 1.0
"""Frequency, Hz, above which the delay is looked for."""
LATENCY = 0.005
"""Shortest delay worth a finding, s."""
FLOOR = 0.001
"""What the model leaves out (air forces, spin-up) shifts the delay by about this much, s."""
DELAYS = np.arange(-0.040, 0.0801, 0.004)
VAGUE = 0.004
"""A sigma beyond this, s, says that the regression does not describe the motion."""
EXPLAINED = 0.7


def check_latency(
    speed: Channel, motion: SmoothedMotion, nominal: RigidAirframe | None, measures: dict[str, float]
) -> Iterator[Finding | Undecided]:
    """Yield by how much the speeds come late against the motion that they cause, which knows no telemetry.

    With X(t) the squared speeds (T, R) and y(t) a row of the measured motion, both between 1 and 8 Hz, the delay is
    the d for which y(t) regressed on X(t + d) leaves the least; no airframe is needed. The products of the rates,
    w_y w_z and so on, stand beside X for the gyroscopic torque. The sigma comes from the curvature there and a floor
    for what the regression leaves out.
    """
    rows = rows_of(motion, nominal)
    if rows is None:
        return
    edge = int(1.5 * RATE)
    rows = rows - _slow(rows)
    w = motion.gyro if motion.gyro is not None else np.zeros((len(motion.time), 3))
    swirl = low_pass_over_gaps(np.roll(w, -1, axis=1) * np.roll(w, -2, axis=1), BAND)
    swirl = swirl - _slow(swirl)
    now = low_pass_over_gaps(smooth(speed, motion.time) ** 2, BAND)
    there = finite_rows(now)
    if there.sum() < 200:
        return
    clock = motion.seconds
    course = interpolate.CubicSpline(clock[there], (now - _slow(now))[there])
    squares = {float(d): course(np.clip(clock + d, *clock[there][[0, -1]])) for d in DELAYS}
    reach = int(max(abs(DELAYS)) * RATE) + 2
    good = np.convolve(~there | ~finite_rows(rows, swirl), np.ones(2 * reach + 1), mode="same") == 0
    good &= flying(now)
    good[:edge] = good[-edge:] = False
    if good.sum() < 200:
        return
    for chosen, label in (([0, 1], "roll and pitch"), ([5], "thrust")):
        Y = rows[good][:, chosen]
        Y = Y - Y.mean(axis=0)
        power = np.sum(Y**2, axis=0)
        left = np.array(
            [_residual(np.hstack([squares[float(d)][good], swirl[good]]), Y) / power for d in DELAYS]
        )
        total = left.mean(axis=1)
        place = int(np.argmin(total))
        if 1.0 - total[place] < EXPLAINED or not 0 < place < len(DELAYS) - 1:
            continue
        step = DELAYS[1] - DELAYS[0]
        a, b, c = total[place - 1], total[place], total[place + 1]
        curvature = (a - 2 * b + c) / step**2
        delay = float(DELAYS[place] + 0.5 * step * (a - c) / (a - 2 * b + c))
        independent = good.sum() * 2.0 * BAND / RATE * len(chosen)
        sigma = float(np.hypot(np.sqrt(2.0 * b / (curvature * independent)), FLOOR))
        if sigma > VAGUE:
            continue
        measures["rotors.speed.delay"] = delay
        measures["rotors.speed.delay_sigma"] = sigma
        if delay > max(LATENCY, 5.0 * sigma):
            yield Finding(
                "rotor-latency",
                f"rotors.speed comes {1e3 * delay:.1f} ms (sigma {1e3 * sigma:.1f} ms) after its effect on {label}",
                "shift it by this delay, or fit a delay",
                True,
                ("rotors.speed",),
                shifted("rotors.speed", delay),
            )
        return
    yield Undecided(
        "rotor-latency", "the rotors' effect on the motion is too weak to time it", "fly livelier"
    )


def _slow(values: Floats) -> Floats:
    """Return what changes more slowly than `HIGH`: air forces and gravity act there, too, and blur the timing."""
    return low_pass_over_gaps(values, HIGH)


def _residual(X: Floats, Y: Floats) -> Floats:
    """Return the sums of squares (k,) that regressing Y (T, k) on X (T, R) leaves."""
    X = X - X.mean(axis=0)
    X = X / np.maximum(np.sqrt(np.sum(X**2, axis=0)), 1e-30)
    XX = X.T @ X + 1e-6 * np.eye(X.shape[1])
    return np.asarray(np.sum((Y - X @ np.linalg.solve(XX, X.T @ Y)) ** 2, axis=0))
