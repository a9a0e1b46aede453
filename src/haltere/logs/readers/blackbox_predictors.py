"""Predictors of the main frames of Blackbox logs, for many frames at once [BlackboxInternals].

With x a value, d what is logged of it, and t counting frames since the I frame, whose value is x_0 = x_-1:

    (1)  last   x_t = d_t + x_t-1                            one cumulated sum over all frames
    (2)  line   x_t = d_t + 2 x_t-1 - x_t-2                  two of them
    (3)  mean   x_t = d_t + trunc((x_t-1 + x_t-2) / 2)       step by step, all stretches between I frames at once;
    (4)  count  x_t = d_t + the next iteration to be logged  likewise

All holds modulo 2^32, in which the firmware computes.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from haltere.logs.readers.blackbox_codes import Integers, Positions, in_bits
from haltere.logs.readers.blackbox_header import COUNT, FIRST_MOTOR, LAST, LINE, MEAN, FrameLayout

LEAP = 10_000_000
"""Time from a main frame to the next, us, that is taken for damage; of iterations, `LEAP_ITERATIONS`."""
LEAP_ITERATIONS = 100_000
FEW = 3
"""Stretches that go on longer than all others and are predicted frame by frame."""


def predict(
    values: Integers, first: NDArray[np.bool_], layout: FrameLayout, intervals: tuple[int, int, int]
) -> None:
    """Add to what was logged of main frames (fields, frames) their predictions, (1) to (4), to the same array.

    Frames that are `first` of a stretch hold their values already, also the one before a stretch that goes on.
    """
    frames = values.shape[1]
    begin = np.maximum.accumulate(np.where(first, np.arange(frames), 0))
    for column in layout.columns(LAST):
        values[column] = _summed(values[column], begin)
    for column in layout.columns(LINE):
        change = np.where(first, 0, values[column])
        change[:2] = 0, values[column, 1] - values[column, 0]
        slope = _summed(change, begin)
        slope[first] = values[column, first]
        slope[0] = 0
        values[column] = _summed(slope, begin)
    means, counts = layout.columns(MEAN), layout.columns(COUNT)
    if means or counts:
        _predict_stepwise(values, first, means, counts, intervals)
    for column in layout.columns(FIRST_MOTOR):
        values[column, ~first] += values[layout.names.index("motor[0]"), ~first]


def _summed(changes: Integers, begin: Positions) -> Integers:
    """Return sums from the beginning of each stretch on."""
    total = np.cumsum(changes)
    return total - total[begin] + changes[begin]


def _predict_stepwise(
    values: Integers,
    first: NDArray[np.bool_],
    means: list[int],
    counts: list[int],
    intervals: tuple[int, int, int],
) -> None:
    """Predict from two frames before and from the count of iterations: the t-th frames of all stretches at once."""
    starts = np.flatnonzero(first)
    lengths = np.diff(starts, append=values.shape[1])
    order = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[order], lengths[order]
    floor = np.where(starts == 1, 0, starts)
    mean, count = values[means].T.copy(), values[counts].T.copy()
    active = np.searchsorted(-lengths, -np.arange(1, max(lengths[0], 1)), side="left")
    many = active[active > FEW]
    for step, number in enumerate(many.tolist(), start=1):
        here = starts[:number] + step
        if means:
            both = mean[here - 1] + mean[np.maximum(here - 2, floor[:number])]
            mean[here] = in_bits(mean[here] + ((both + (both < 0)) >> 1), 32)
        if counts:
            count[here] += _next_logged(count[here - 1], *intervals)
    for number in range(active[len(many)] if len(many) < len(active) else 0):
        begin, end = int(starts[number]) + len(many) + 1, int(starts[number] + lengths[number])
        earlier = max(begin - 2, int(floor[number]))
        for column in range(len(means)):
            history = int(mean[earlier, column]), int(mean[begin - 1, column])
            mean[begin:end, column] = _mean_one_by_one(mean[begin:end, column].tolist(), *history)
        for column in range(len(counts)):
            first_count = int(count[begin - 1, column])
            count[begin:end, column] = _count_one_by_one(
                count[begin:end, column].tolist(), first_count, *intervals
            )
    values[means], values[counts] = mean.T, count.T


def _mean_one_by_one(logged: list[int], earlier: int, last: int) -> list[int]:
    """Predict one field of one stretch, (3)."""
    found = []
    for change in logged:
        both = earlier + last
        earlier, last = last, ((change + ((both + (both < 0)) >> 1) + 0x80000000) & 0xFFFFFFFF) - 0x80000000
        found.append(last)
    return found


def _count_one_by_one(
    logged: list[int], last: int, interval: int, numerator: int, denominator: int
) -> list[int]:
    """Predict one field of one stretch, (4)."""
    found = []
    for change in logged:
        since = last % interval
        skipped = (since + numerator) % denominator
        last += change + min(1 if skipped < numerator else 1 + denominator - skipped, interval - since)
        found.append(last)
    return found


def _next_logged(iteration: Integers, interval: int, numerator: int, denominator: int) -> Integers:
    """Return the next iteration to be logged after each of these."""
    since = iteration % interval
    place = (since + numerator) % denominator
    step = np.where(place < numerator, 1, 1 + denominator - place)
    return iteration + np.minimum(step, interval - since)


def plausible(
    iteration: NDArray[np.int32],
    time: NDArray[np.int32],
    starting: NDArray[np.bool_],
    broken: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], int]:
    """Return which main frames can be, and how many are missing: left out, or not there where the log is broken.

    A frame cannot be whose iteration or time goes back or on by more than `LEAP`, nor what is predicted from it.

    Args:
        iteration: (frames,) of the main loop.
        time: (frames,) us.
        starting: (frames,) whether it is an I frame.
        broken: (frames,) whether the log is damaged before it.
    """
    good = np.ones(len(time), bool)
    if len(time) < 2:
        return good, 0

    def fits(one: Positions | int, other: Positions | int) -> NDArray[np.bool_]:
        later = np.subtract(time[other], time[one], dtype=np.int32)
        further = np.subtract(iteration[other], iteration[one], dtype=np.int32)
        return np.asarray((later >= 0) & (later <= LEAP) & (further >= 0) & (further <= LEAP_ITERATIONS))

    every = np.arange(len(time))
    odd = ~fits(every[:-1], every[1:])
    if odd.any():
        good = _reject(fits, time, odd, np.flatnonzero(starting))
    kept = np.flatnonzero(good)
    step = max(float(np.median(np.diff(iteration[kept]))) if len(kept) > 1 else 1.0, 1.0)
    damage = np.cumsum(broken | ~good)
    across = np.flatnonzero(np.diff(damage[kept]) > 0)
    gaps = (iteration[kept[across + 1]] - iteration[kept[across]]) / step - 1.0
    between = np.diff(kept)[across] - 1
    missing = np.maximum(np.rint(np.clip(gaps, 0.0, LEAP_ITERATIONS)), between).sum()
    outside = kept[0] + len(time) - 1 - kept[-1] if len(kept) else len(time)
    return good, int(missing + outside)


def _reject(
    fits: Callable[..., NDArray[np.bool_]], time: NDArray[np.int32], odd: NDArray[np.bool_], starts: Positions
) -> NDArray[np.bool_]:
    """Return which main frames can be, where not each fits to the one before; stretches begin at `starts`.

    A stretch counts as far as each of its frames fits to the one before. It must fit to the last that counts; a leap
    on, and the first of all, must fit to the stretch behind it.
    """
    good = np.zeros(len(time), bool)
    edges = np.unique(np.concatenate([[0], starts, [len(time)]])).tolist()
    breaks = np.flatnonzero(odd) + 1
    last = -1
    for number, (begin, end) in enumerate(pairwise(edges)):
        at = np.searchsorted(breaks, begin + 1)
        stop = min(int(breaks[at]), end) if at < len(breaks) else end
        follower = number + 2 >= len(edges) or bool(fits(stop - 1, end))
        onward = last < 0 or time[begin] - time[last] >= 0
        if (last >= 0 and bool(fits(last, begin))) or (onward and follower):
            good[begin:stop] = True
            last = stop - 1
    return good
