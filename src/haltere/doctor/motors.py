"""Checks of the motors by themselves: how many there are, which speed follows which command, signs.

A motor follows its command like a low-pass and a little later; each speed is correlated with every command
passed through such lags, what all motors have in common taken off, and must fit its own best.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
from scipy import signal

from haltere.airframe.rigid import Nominal
from haltere.doctor.finding import Finding, mapped, reordered
from haltere.doctor.motion import RATE, finite_rows, low_pass, smooth
from haltere.flight import Channel

BOTH = ("rotors.speed", "rotors.command")


def check_count(speed: Channel | None, command: Channel | None, nominal: Nominal | None) -> Iterator[Finding]:
    """Yield columns that are no rotor, and numbers that do not fit."""
    for channel in (speed, command):
        if channel is None:
            continue
        values = np.nan_to_num(channel.values)
        busy = np.max(np.abs(values), axis=0)
        dead = [i for i in range(len(busy)) if busy[i] <= 0.02 * np.median(busy)]
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
    """Yield whether speeds follow the commands of other columns."""
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
    w, u = (x[good] - low_pass(x, 0.3)[good] for x in (w, u))
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
