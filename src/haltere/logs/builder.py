"""A flight under construction: channels are settled as they come in, and what had to be done is noted."""

from pathlib import Path
from typing import Any

import numpy as np

from haltere.flight import Channel, Flight
from haltere.flight.fault import sealed
from haltere.foundation.numbers import Floats, Times
from haltere.logs.clock import settle
from haltere.logs.fault import LogError

RPM = 2.0 * np.pi / 60.0
"""rad/s in a revolution per minute."""
GAUSS = 1e-4
"""T in a gauss."""
EARTH = 6_378_137.0
"""Equatorial radius of the Earth, m: WGS 84."""


class Builder:
    """Collects channels and notes of one log file."""

    def __init__(self, file: Path, origin: str) -> None:
        self.file = file
        self.channels: dict[str, Channel] = {}
        self.notes: list[str] = [" ".join(f"source: {origin}".split())]
        self.settled: dict[tuple[str, str], list[str]] = {}

    def add(
        self, name: str, time: Times, values: Any, unit: str, frame: str = "", columns: tuple[str, ...] = ()
    ) -> None:
        """Add a channel of samples (T,) or (T, k) at times (T,), ns; one without samples is left out.

        The arrays are handed over: nobody can change them afterwards.
        """
        array = np.asarray(values, np.float64)
        if not len(time) or name in self.channels:
            return
        settled = settle(np.asarray(time, np.int64))
        if settled.order is not None:
            array = array[settled.order]
        for note in settled.notes:
            self.settled.setdefault(note, []).append(name)
        self.channels[name] = Channel(name, sealed(settled.time), sealed(array), unit, frame, columns)

    def note(self, text: str) -> None:
        """Add a line that a reader of the flight should know."""
        self.notes.append(" ".join(text.split()))

    def flight(self, hint: str) -> Flight:
        """Return the flight; a log without any signal that we know is an error that says what to log."""
        if not self.channels:
            raise LogError(f"{self.file}: holds no signal that is known here; {hint}")
        shifted = min(int(channel.time[0]) for channel in self.channels.values())
        channels = self.channels
        if shifted < 0:
            channels = {n: _later(c, -shifted) for n, c in channels.items()}
            self.note(
                f"clock: all stamps were shifted by {-shifted * 1e-9:.6f} s, since the first were negative"
            )
        settled = [f"{kind}: {', '.join(names)}: {said}" for (kind, said), names in self.settled.items()]
        return Flight(channels, notes=tuple(dict.fromkeys([*self.notes, *settled])))


def _later(channel: Channel, shift: int) -> Channel:
    return Channel(
        channel.name, channel.time + shift, channel.values, channel.unit, channel.frame, channel.columns
    )


def rotor_names(count: int) -> tuple[str, ...]:
    """Names of the rotors of a log without airframe: `m1`, `m2`, ... in the log's order."""
    return tuple(f"m{number}" for number in range(1, count + 1))


def local(latitude: Floats, longitude: Floats, altitude: Floats) -> Floats:
    """Return positions (T, 3) in m, ENU about the first one, of places in rad and m on a sphere."""
    good = np.flatnonzero(np.isfinite(latitude) & np.isfinite(longitude))
    first = int(good[0]) if good.size else 0
    east = (longitude - longitude[first]) * np.cos(latitude[first]) * EARTH
    north = (latitude - latitude[first]) * EARTH
    return np.asarray(np.stack([east, north, altitude - altitude[first]], axis=1))
