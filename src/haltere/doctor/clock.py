"""Checks of time stamps: gaps, jumps of the clock, samples that repeat the one before them."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from haltere.airframe import Airframe
from haltere.doctor.finding import Finding, Mend, Undecided
from haltere.flight import Channel, Flight

GAP_SECONDS = 0.05
"""Shortest gap worth a finding: filters and derivatives across a shorter one are still sound, s."""
GAP_INTERVALS = 5.0
REPEATED_FRACTION = 0.6
"""Share of samples equal to the one before, beyond which a channel counts as held."""
SLOW = 100.0
"""A true rate above this, Hz, is fast enough whatever the log repeats."""
FAST = ("imu.accel", "imu.gyro", "rotors.speed", "rotors.command")


def check_time(
    flight: Flight, _: Airframe | None, measures: dict[str, float]
) -> Iterator[Finding | Undecided]:
    """Yield what is wrong with the time stamps."""
    gaps: dict[tuple[int, int], list[str]] = {}
    for channel in flight.channels.values():
        if len(channel) < 3:
            continue
        intervals = np.diff(channel.time)
        usual = float(np.median(intervals))
        measures[f"{channel.name}.rate"] = 1e9 / usual
        long = np.flatnonzero(intervals > max(GAP_INTERVALS * usual, GAP_SECONDS * 1e9))
        if long.size:
            worst = int(long[np.argmax(intervals[long])])
            gaps.setdefault((int(channel.time[worst]), int(intervals[worst])), []).append(channel.name)
    for (at, length), names in gaps.items():
        seconds = length * 1e-9
        jump = seconds > 60.0
        yield Finding(
            "clock-jump" if jump else "gap",
            f"{', '.join(names)}: no sample for {seconds:.3f} s at {(at - flight.start) * 1e-9:.3f} s",
            "use one side of it only"
            if jump
            else "nothing is interpolated across it; log fewer topics or to a faster card",
            True,
            tuple(names),
            _longer_side(at, at + length) if jump else None,
        )
    for name in FAST:
        if name in flight:
            yield from _repeated(flight[name], measures)
    for note in flight.notes:
        if note.startswith(("clock jump:", "order:", "truncated:", "broken:", "incomplete:")):
            kind, said = note.split(": ", 1)
            yield Finding(
                kind.replace(" ", "-"), said, "the reader has dealt with it; look at what is missing", True
            )


def _longer_side(before: int, after: int) -> Mend:
    """Return the remedy that keeps what lies before or after a jump of the clock, whichever is longer."""

    def mend(flight: Flight) -> Flight:
        early = before - flight.start > flight.end - after
        first, last = (flight.start, before) if early else (after, flight.end)
        return replace(flight, channels={n: c.between(first, last) for n, c in flight.channels.items()})

    return mend


def _repeated(channel: Channel, measures: dict[str, float]) -> Iterator[Finding]:
    """Yield a finding if a sensor repeats the sample before where it changes quickly: it is slower than its log."""
    values = channel.values.reshape(len(channel), -1)
    window = max(int(0.25 * channel.rate), 10)
    count = len(values) // window
    if count < 8 or channel.name.endswith("command"):
        return
    blocks = values[: count * window].reshape(count, window, -1)
    steps = np.abs(np.diff(blocks, axis=1))
    quantum = np.min(np.where(steps > 0.0, steps, np.inf), axis=(0, 1))
    lively = np.any(np.ptp(blocks, axis=1) > 50.0 * quantum, axis=1)
    if lively.sum() < 4:
        return
    share = float(np.mean(np.all(steps[lively] == 0.0, axis=2)))
    true_rate = channel.rate * (1.0 - share)
    measures[f"{channel.name}.true_rate"] = true_rate
    if share > REPEATED_FRACTION and true_rate < SLOW:
        yield Finding(
            "held",
            f"{channel.name}: {100 * share:.0f} % of the samples repeat the one before while it changes: its true "
            f"rate is about {true_rate:.0f} Hz, not {channel.rate:.0f} Hz",
            "use the samples that are new only",
            True,
            (channel.name,),
        )
