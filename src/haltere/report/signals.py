"""A page with every signal of a flight over time: a picture for each channel, and the notes of its reader.

Long channels are shown by the lowest and highest sample of each of `POINTS` / 2 equal stretches, so that no
peak is lost.
"""

import numpy as np

from haltere.flight import Channel, Flight
from haltere.foundation.numbers import Floats
from haltere.report import theme
from haltere.report.charts import time_chart
from haltere.report.page import Fact, Page, Picture, Section, Table

POINTS = 2000
_LETTERS = {3: ("x", "y", "z"), 4: ("w", "x", "y", "z"), 6: ("vx", "vy", "vz", "wx", "wy", "wz")}


def signals_page(flight: Flight, title: str) -> Page:
    """The page of a flight."""
    shown = [channel for channel in flight.channels.values() if len(channel) > 1]
    pictures = [channel_picture(channel, flight.start) for channel in shown]
    rows = [
        (c.name, str(len(c)), f"{c.rate:.4g}", c.unit, c.frame or "-", str(int(np.sum(~c.finite))))
        for c in shown
    ]
    table = Table(
        "Channels",
        ("channel", "samples", "rate, Hz", "unit", "frame", "missing"),
        rows,
        "Axes are ours: world east, north, up; body forward, left, up.",
        wide=True,
    )
    notes = Table(
        "Notes of the reader",
        ("note",),
        [(note,) for note in flight.notes],
        "What was done to the log.",
        True,
    )
    facts = (Fact(f"{flight.duration:.1f}", "s", "duration"), Fact(str(len(shown)), "", "channels"))
    sections = [Section("Signals", "Each channel over the time since the first sample.", pictures)]
    sections.append(Section("Record", "What the log holds.", [table, notes] if flight.notes else [table]))
    return Page(title, "The signals of one log.", facts, sections)


def channel_picture(channel: Channel, start: int) -> Picture:
    """One channel over time."""
    seconds, values = thinned(channel.seconds(start), channel.values.reshape(len(channel), -1))
    count = values.shape[1]
    names = (
        channel.columns
        or (_LETTERS.get(count) if count > 1 else (channel.name,))
        or tuple(map(str, range(count)))
    )
    colours = theme.AXES if count == 3 else theme.SERIES
    figure = time_chart(seconds, {n: values[:, i] for i, n in enumerate(names)}, channel.unit, colours)
    sentence = f"{len(channel)} samples at {channel.rate:.4g} Hz, frame {channel.frame or 'none'}."
    return Picture(channel.name, figure, sentence)


def thinned(seconds: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Times (T,) and values (T, k) with the extremes of each stretch kept, POINTS at most."""
    if len(seconds) <= POINTS:
        return seconds, values
    stretches = POINTS // 2
    length = -(-len(seconds) // stretches)
    pad = stretches * length - len(seconds)
    blocks = np.pad(values, ((0, pad), (0, 0)), mode="edge").reshape(stretches, length, -1)
    times = np.pad(seconds, (0, pad), mode="edge").reshape(stretches, length)
    both = np.stack([np.min(blocks, axis=1), np.max(blocks, axis=1)], axis=1)
    return times[:, [0, -1]].reshape(-1), both.reshape(2 * stretches, -1)
