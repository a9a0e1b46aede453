"""One finding of the doctor, one thing it cannot decide, and the changes that mend a channel."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from haltere.flight import Channel, Flight
from haltere.foundation.jsonable import fields_to_jsonable
from haltere.foundation.numbers import Bools, Floats

Mend = Callable[[Flight], Flight]


@dataclass(frozen=True)
class Finding:
    """A fault of a record.

    Attributes:
        kind: Its name, always the same for the same fault.
        evidence: What in the data shows it, with numbers.
        remedy: What to do.
        certain: Whether nothing else explains the data.
        channels: Which channels have it.
        mend: The remedy as a function of the flight, where there is one.
        rotors: Which rotors have it, where it is a fault of single rotors.
    """

    kind: str
    evidence: str
    remedy: str
    certain: bool
    channels: tuple[str, ...] = ()
    mend: Mend | None = field(default=None, compare=False, repr=False)
    rotors: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return fields_to_jsonable(self, leave_out=("mend",))


@dataclass(frozen=True)
class Undecided:
    """What the data do not decide, why, and what would."""

    kind: str
    reason: str
    remedy: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return fields_to_jsonable(self)


def mapped(names: tuple[str, ...], change: Callable[[Floats], Floats]) -> Mend:
    """Return the remedy that changes the values (T, k) of these channels."""

    def mend(flight: Flight) -> Flight:
        for name in names:
            if name in flight:
                flight = flight.with_channel(replace(flight[name], values=change(flight[name].values)))
        return flight

    return mend


def scaled(names: tuple[str, ...], factor: float) -> Mend:
    """Return the remedy that multiplies these channels."""
    return mapped(names, lambda values: np.asarray(values * factor))


def rotated(names: tuple[str, ...], matrix: Floats) -> Mend:
    """Return the remedy that rotates vectors (T, 3) of these channels by a matrix (3, 3)."""
    return mapped(names, lambda values: np.asarray(values @ matrix.T))


def shifted(name: str, seconds: float) -> Mend:
    """Return the remedy that moves the stamps of a channel earlier by a delay, s."""

    def mend(flight: Flight) -> Flight:
        channel = flight[name]
        stamps = channel.time - np.int64(round(seconds * 1e9))
        keep = stamps >= 0
        return flight.with_channel(replace(channel, time=stamps[keep], values=channel.values[keep]))

    return mend


def reordered(names: tuple[str, ...], order: tuple[int, ...]) -> Mend:
    """Return the remedy that takes the columns of these channels in another order; their names stay."""

    def mend(flight: Flight) -> Flight:
        for name in names:
            if name in flight:
                channel: Channel = flight[name]
                flight = flight.with_channel(replace(channel, values=channel.values[:, list(order)]))
        return flight

    return mend


def blanked_rotor(rotor: int, wrong: Bools | None) -> Mend:
    """Return the remedy that leaves out the samples (T,) of one rotor, or all of them."""

    def mend(flight: Flight) -> Flight:
        channel = flight["rotors.speed"]
        values = np.array(channel.values)
        values[:, rotor] = np.nan if wrong is None else np.where(wrong, np.nan, values[:, rotor])
        return flight.with_channel(replace(channel, values=values))

    return mend


def blanked(name: str, start: int, stop: int) -> Mend:
    """Return the remedy that leaves samples `start` to `stop` of a channel without a number."""

    def mend(flight: Flight) -> Flight:
        values = np.array(flight[name].values)
        values[start : stop + 1] = np.nan
        return flight.with_channel(replace(flight[name], values=values))

    return mend


def longer_side(before: int, after: int) -> Mend:
    """Return the remedy that keeps what lies before or after a jump of the clock, whichever is longer."""

    def mend(flight: Flight) -> Flight:
        early = before - flight.start > flight.end - after
        first, last = (flight.start, before) if early else (after, flight.end)
        return replace(flight, channels={n: c.between(first, last) for n, c in flight.channels.items()})

    return mend
