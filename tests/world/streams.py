"""Streams: samples with their own clock, and what a clock does to them."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Stream:
    """Samples of one channel: time (T,) s by its own clock, values (T, C), names of the columns, unit."""

    time: np.ndarray
    values: np.ndarray
    columns: tuple[str, ...]
    unit: str

    def keep(self, mask) -> "Stream":
        return replace(self, time=self.time[mask], values=self.values[mask])


@dataclass(frozen=True)
class Clock:
    """One clock: offset s, jitter s, dropped fraction, gap (start, end) s or none."""

    offset: float
    jitter: float
    dropped: float
    gap: tuple[float, float] | None

    def stamp(self, time, rng):
        """Stamps of samples at true times (T,), and which samples arrive; stamps strictly increase."""
        stamps = time + self.offset + self.jitter * rng.standard_normal(len(time))
        stamps = np.maximum.accumulate(np.round(stamps * 1e6)) * 1e-6
        arrived = rng.random(len(time)) >= self.dropped
        if self.gap is not None:
            arrived &= (time < self.gap[0]) | (time >= self.gap[1])
        arrived[1:] &= np.diff(stamps) > 5e-7
        return stamps, arrived


def draw_clock(level, rng, duration: float, largest_offset: float) -> Clock:
    """A clock of this level."""
    offset = rng.uniform(-largest_offset, largest_offset) if largest_offset > 0 else 0.0
    start = rng.uniform(0.2, 0.8) * duration
    gap = (start, start + level.gap) if level.gap > 0 else None
    return Clock(offset, level.stamp_jitter, level.dropped, gap)
