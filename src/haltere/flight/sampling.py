"""How regularly a channel is sampled: its rate, and the stretches without a gap or a missing value."""

import numpy as np

from haltere.flight.channel import Channel
from haltere.flight.fault import FlightError
from haltere.foundation.numbers import Bools

#: An interval longer than this many median ones is a gap.
GAP = 1.5
_JITTER = 0.1  # of the interval, root mean square


def last_word(channel: Channel) -> str:
    """Return what kind of signal a channel holds: the last word of its name."""
    return channel.name.rsplit(".", 1)[-1]


def refuse_rotations(channel: Channel, advice: str) -> None:
    """Raise a `FlightError` for quaternions, whose components may not be treated one by one."""
    if last_word(channel) == "wxyz":
        raise FlightError(f"channel '{channel.name}': holds quaternions, not vectors; {advice}")


def regular_rate(channel: Channel) -> float:
    """Return the rate, Hz, of a channel sampled regularly apart from gaps; a `FlightError` if it is not."""
    if len(channel) < 3:
        raise FlightError(f"channel '{channel.name}': {len(channel)} samples; at least 3 are needed")
    intervals = np.diff(channel.time) * 1e-9
    ratios = intervals / np.median(intervals)
    kept = ratios <= GAP
    jitter = float(np.sqrt(np.mean((ratios[kept] - 1.0) ** 2)))
    if jitter > _JITTER or np.mean(kept) < 0.8:
        raise FlightError(
            f"channel '{channel.name}': sampled irregularly (intervals from {intervals.min():.3g} to "
            f"{intervals.max():.3g} s); resample it onto a regular clock first"
        )
    return 1.0 / float(np.mean(intervals[kept]))


def stretches(channel: Channel) -> list[slice]:
    """Return the runs of samples that are finite and without gap, in order."""
    good = channel.finite
    apart = np.zeros(len(channel), bool)
    if len(channel) > 1:
        intervals = np.diff(channel.time)
        apart[1:] = intervals > GAP * np.median(intervals)
    return _runs(good, apart)


def _runs(good: Bools, apart: Bools) -> list[slice]:
    before = np.concatenate([[False], good[:-1]])
    after = np.concatenate([good[1:], [False]])
    next_apart = np.concatenate([apart[1:], [True]])
    starts = np.flatnonzero(good & (~before | apart))
    stops = np.flatnonzero(good & (~after | next_apart)) + 1
    return [slice(int(a), int(b)) for a, b in zip(starts, stops, strict=True)]
