"""Putting channels onto a common clock, and how regularly they are sampled: their rate, and stretches without gap.

Interpolation is linear for vectors, along the arc for rotations, and a hold for commands:

    (1)  linear: x = x_0 + s (x_1 - x_0),  s = (t - t_0) / (t_1 - t_0)
    (2)  slerp:  q = (sin((1 - s) a) q_0 + sin(s a) q_1) / sin(a),  a the angle between q_0 and +-q_1   [Shoemake1985]
    (3)  hold:   x = x_0

Nothing is made up: outside a channel's time, and inside a gap longer than a limit, the result is NaN. A time
that is a sample's own gives that sample bit by bit. Linear interpolation does not remove what a lower rate
cannot hold: filter first (`Butterworth`).
"""

from collections.abc import Iterable
from dataclasses import replace
from math import inf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from haltere.flight.channel import Channel, FlightError, as_times
from haltere.flight.flight import Flight
from haltere.foundation.numbers import Bools, Floats, Times

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
    valid = channel.finite
    is_break = np.zeros(len(channel), bool)
    if len(channel) > 1:
        intervals = np.diff(channel.time)
        is_break[1:] = intervals > GAP * np.median(intervals)
    return _runs(valid, is_break)


def _runs(valid: Bools, is_break: Bools) -> list[slice]:
    before = np.concatenate([[False], valid[:-1]])
    after = np.concatenate([valid[1:], [False]])
    next_apart = np.concatenate([is_break[1:], [True]])
    starts = np.flatnonzero(valid & (~before | is_break))
    stops = np.flatnonzero(valid & (~after | next_apart)) + 1
    return [slice(int(a), int(b)) for a, b in zip(starts, stops, strict=True)]


def runs_of_true(flags: Bools, shortest: int = 1) -> list[tuple[int, int]]:
    """Return the first index of each run of True in (N,) flags and the one after its last, if it is long enough."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(first), int(end)) for first, end in edges.reshape(-1, 2) if end - first >= shortest]


def interpolate_columns(
    at: NDArray[Any], time: NDArray[Any], values: Floats, outside: float | None = None
) -> Floats:
    """Return each column of values (N, m) of (N,) times at (T,) other times, by eq. (1), as (T, m).

    Before the first and after the last time the first and the last value are held, or `outside` stands there.
    """
    return np.stack([np.interp(at, time, column, outside, outside) for column in values.T], axis=1)


Method = Literal["auto", "linear", "slerp", "hold"]

_GAP = 5.0  # median intervals
_BY_NAME: dict[str, Method] = {"wxyz": "slerp", "command": "hold"}


def method_for(channel: Channel) -> Method:
    """Return how a channel is interpolated if nothing else is asked for: by the last word of its name."""
    return _BY_NAME.get(last_word(channel), "linear")


def resample(channel: Channel, time: Times, method: Method = "auto", max_gap: float | None = None) -> Channel:
    """Return a channel at other times.

    Args:
        channel: What to interpolate.
        time: (N,) int64, ns, increasing.
        method: "linear", "slerp" (unit quaternions wxyz), "hold", or "auto" by name.
        max_gap: Longest interval that is bridged, s; five median intervals if none is given.
    """
    stamps = as_times(time, f"channel '{channel.name}': resampled")
    kind = method_for(channel) if method == "auto" else method
    if kind not in {"linear", "slerp", "hold"}:
        raise FlightError(f"method '{method}'; give auto, linear, slerp or hold")
    if kind == "slerp" and channel.values.shape[1:] != (4,):
        raise FlightError(
            f"channel '{channel.name}': shape {channel.values.shape}; slerp needs quaternions (T, 4)"
        )
    limit = _limit(channel, max_gap)
    values = np.full((len(stamps), *channel.values.shape[1:]), np.nan)
    if not len(channel):
        return replace(channel, time=stamps, values=values)
    before = np.searchsorted(channel.time, stamps, "right") - 1
    exact = (before >= 0) & (channel.time[before] == stamps)
    values[exact] = channel.values[before[exact]]
    if kind == "hold":
        since = stamps - channel.time[before]
        inside = ~exact & (before >= 0) & (since * 1e-9 <= limit)
        values[inside] = channel.values[before[inside]]
    else:
        inside = ~exact & (before >= 0) & (before < len(channel) - 1)
        inside[inside] = (channel.time[before[inside] + 1] - channel.time[before[inside]]) * 1e-9 <= limit
        values[inside] = _between(channel, stamps[inside], before[inside], kind == "slerp")
    return replace(channel, time=stamps, values=values)


def _limit(channel: Channel, max_gap: float | None) -> float:
    if max_gap is None:
        return _GAP * float(np.median(np.diff(channel.time))) * 1e-9 if len(channel) > 1 else inf
    if not max_gap > 0.0:
        raise FlightError(f"max_gap {max_gap} s; give a time above 0")
    return max_gap


def _between(channel: Channel, stamps: Times, before: NDArray[np.intp], arc: bool) -> Floats:
    """Return eq. (1) or (2)."""
    t0, t1 = channel.time[before], channel.time[before + 1]
    s = (stamps - t0) / (t1 - t0)
    s = s.reshape(-1, *(1,) * (channel.values.ndim - 1))
    x0, x1 = channel.values[before], channel.values[before + 1]
    if not arc:
        return np.asarray(x0 + s * (x1 - x0))
    x1 = np.where(np.sum(x0 * x1, axis=1, keepdims=True) < 0.0, -x1, x1)
    far, near = (np.linalg.norm(x, axis=1, keepdims=True) for x in (x1 - x0, x1 + x0))
    a = 2.0 * np.arctan2(far, near) / np.pi
    q = ((1.0 - s) * np.sinc((1.0 - s) * a) * x0 + s * np.sinc(s * a) * x1) / np.sinc(a)
    return np.asarray(q / np.linalg.norm(q, axis=1, keepdims=True))


def common_clock(channels: Iterable[Channel], rate: float) -> Times:
    """Return regular times (N,), ns, at a rate, Hz, over the stretch that all channels cover."""
    chosen = list(channels)
    if not 0.0 < rate <= 1e9:
        raise FlightError(f"rate {rate} Hz; give one above 0 and up to 1e9")
    if not chosen or not all(len(channel) for channel in chosen):
        raise FlightError("a common clock needs channels with samples; leave the empty ones out")
    first = max(int(channel.time[0]) for channel in chosen)
    last = min(int(channel.time[-1]) for channel in chosen)
    if last < first:
        raise FlightError(
            "the channels have no time in common; leave out those that end before the others start"
        )
    count = int((last - first) * 1e-9 * rate) + 2
    stamps = first + np.rint(np.arange(count) * (1e9 / rate)).astype(np.int64)
    return np.asarray(stamps[stamps <= last])


def resample_flight(
    flight: Flight, rate: float, names: Iterable[str] | None = None, max_gap: float | None = None
) -> Flight:
    """Return a flight of these channels (all, if none are named) on one regular clock.

    Args:
        flight: Where they are.
        rate: Of the clock, Hz.
        names: Which channels.
        max_gap: Longest interval that is bridged, s; five median intervals of each channel if none is given.
    """
    chosen = [flight[name] for name in (flight.names if names is None else names)]
    clock = common_clock(chosen, rate)
    return replace(flight, channels={c.name: resample(c, clock, max_gap=max_gap) for c in chosen})
