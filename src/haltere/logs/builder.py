"""A flight under construction: channels and time stamps are settled as they come in, and what was done is noted.

A log that cannot be read raises a `LogError`; `reading` makes one of whatever a parser raises.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haltere.flight import Channel, Flight, FlightError
from haltere.flight.channel import sealed
from haltere.foundation import HaltereError
from haltere.foundation.numbers import Floats, Times
from haltere.foundation.text import one_line

REORDER = 1_000_000_000
"""Stamps that go back by less than this, ns, are out of order; by more, the clock was set."""
GAP = 3.0
"""An interval longer than this many median ones is worth a note."""
JUMP = 100.0
"""An interval this many median ones long, and longer than a minute, is called a jump of the clock."""


@dataclass(frozen=True)
class Settled:
    """Samples in order: which of those given remain, at which times, and what was done."""

    time: Times
    order: NDArray[np.intp] | None
    """Which of the given samples remain, in this order; None for all as they were."""
    notes: tuple[tuple[str, str], ...]

    @property
    def remaining(self) -> NDArray[np.intp]:
        """Which of the given samples remain, in this order."""
        return np.arange(len(self.time)) if self.order is None else self.order


def unwrapped(time: Times, period: int) -> Times:
    """Return stamps (T,), ns, of a counter that starts anew after `period`, ns, carried on."""
    if len(time) < 2:
        return time
    turns = np.cumsum(np.diff(time, prepend=time[0]) < -(period // 2))
    return np.asarray(time + turns * np.int64(period))


def settle(time: Times) -> Settled:
    """Return the strictly increasing part of stamps (T,), ns; notes are pairs of a kind and what was done.

    Loggers write out of order by a little, repeat samples, let a counter run over (see `unwrapped`), and have their
    clock set while they write. Samples out of order by less than `REORDER` are sorted; repeated stamps are dropped;
    where the clock is set back by more, the longest stretch stays and the rest is left out.
    """
    notes: list[tuple[str, str]] = []
    if np.all(time[1:] > time[:-1]):
        return Settled(time, None, tuple(gap_notes(time)))
    remaining = np.arange(len(time))
    back = np.flatnonzero(np.diff(time) < -REORDER)
    if back.size:
        edges = np.concatenate([[0], back + 1, [len(time)]])
        longest = int(np.argmax(np.diff(edges)))
        remaining = remaining[edges[longest] : edges[longest + 1]]
        at, step = (time[back[0]] - time[0]) * 1e-9, (time[back[0] + 1] - time[back[0]]) * 1e-9
        said = f"the clock was set back {back.size} time(s), first by {-step:.3f} s after {at:.3f} s"
        notes.append(
            ("clock jump", f"{said}; the longest stretch is used, {len(remaining)} of {len(time)} samples")
        )
    order = np.argsort(time[remaining], kind="stable")
    moved = int(np.sum(order != np.arange(len(order))))
    remaining = remaining[order]
    fresh = np.concatenate([[True], np.diff(time[remaining]) > 0]) if len(remaining) else np.zeros(0, bool)
    repeated = len(remaining) - int(fresh.sum())
    remaining = remaining[fresh]
    if moved:
        notes.append(("order", f"{moved} samples were out of order by less than a second and were sorted"))
    if repeated:
        notes.append(("repeated", f"{repeated} samples with the stamp of the one before were left out"))
    settled = time[remaining]
    notes += gap_notes(settled)
    return Settled(settled, remaining, tuple(notes))


def gap_notes(time: Times) -> list[tuple[str, str]]:
    """Return a note on the gaps in stamps (T,), ns, if there are any."""
    if len(time) < 3:
        return []
    usual = float(np.median(np.diff(time), overwrite_input=True))
    intervals = np.diff(time)
    long = np.flatnonzero(intervals > GAP * usual)
    if not long.size:
        return []
    worst = int(long[np.argmax(intervals[long])])
    at, length = (time[worst] - time[0]) * 1e-9, float(intervals[worst]) * 1e-9
    if length > 60.0 and intervals[worst] > JUMP * usual:
        said = f"time goes on by {length:.1f} s after {at:.3f} s"
        return [("clock jump", f"{said}; {long.size} gap(s) longer than {GAP:g} intervals in all")]
    said = f"{long.size} of more than {GAP:g} intervals of {usual * 1e-6:.3g} ms"
    return [("gaps", f"{said}, the longest {length * 1e3:.4g} ms after {at:.3f} s")]


def from_seconds(seconds: Floats) -> Times:
    """Return times (T,), s, as ns; samples whose time is not finite get none and must be left out first."""
    whole = np.floor(seconds)
    return np.asarray(
        whole.astype(np.int64) * 1_000_000_000 + np.rint((seconds - whole) * 1e9).astype(np.int64)
    )


class LogError(FlightError):
    """A log that cannot be read as it stands; its message is one line, whatever the log holds."""

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


@contextmanager
def reading(file: Path, what: str, remedy: str = "copy it again from the vehicle") -> Iterator[None]:
    """Make of any error of a parser a `LogError` that names the file, what it should be and what to try."""
    try:
        yield
    except HaltereError:
        raise
    except MemoryError:
        raise LogError(f"{file}: is broken (it asks for more memory than there is); {remedy}") from None
    except OSError as error:
        reason = error.strerror or " ".join(str(error).split()) or type(error).__name__
        raise LogError(f"{file}: cannot be read as {what} ({reason}); {remedy}") from None
    except Exception as error:  # parsers of others raise many kinds
        reason = " ".join(str(error).split()) or type(error).__name__
        raise LogError(f"{file}: is broken or no {what} ({reason[:200]}); {remedy}") from None


GAUSS = 1e-4
"""T in a gauss."""
EARTH = 6_378_137.0
"""Equatorial radius of the Earth, m: WGS 84."""


class Builder:
    """Collects channels and notes of one log file."""

    def __init__(self, file: Path, origin: str) -> None:
        self.file = file
        self.channels: dict[str, Channel] = {}
        self.notes: list[str] = [one_line(f"source: {origin}")]
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
        for kind, said in settled.notes:
            self.note_of_channel(name, kind, said)
        self.channels[name] = Channel(name, sealed(settled.time), sealed(array), unit, frame, columns)

    def note(self, text: str) -> None:
        """Add a line that a reader of the flight should know."""
        self.notes.append(one_line(text))

    def note_of_channel(self, name: str, kind: str, text: str) -> None:
        """Add what was done with a channel; channels with which the same was done share a line."""
        self.settled.setdefault((kind, text), []).append(name)

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
    """Return positions (T, 3) in m, ENU about the first one, of points in rad and m on a sphere."""
    good = np.flatnonzero(np.isfinite(latitude) & np.isfinite(longitude))
    first = int(good[0]) if good.size else 0
    east = (longitude - longitude[first]) * np.cos(latitude[first]) * EARTH
    north = (latitude - latitude[first]) * EARTH
    return np.asarray(np.stack([east, north, altitude - altitude[first]], axis=1))
