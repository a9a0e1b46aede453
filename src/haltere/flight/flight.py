"""The record of one flight: named channels, the airframe and the scenario they came from, and notes.

Simulator and log readers both make it, and nothing above can tell which one did. It cannot be changed;
`with_channel`, `without` and `between` give new ones that share the arrays' contents.
"""

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

from haltere.flight.channel import Channel, FlightError, is_texts
from haltere.foundation.tables import TextTable


@dataclass(frozen=True, eq=False)
class Flight:
    """The record of one flight: signals with time stamps, and notes.

    Attributes:
        channels: The signals by name; read-only.
        airframe: Text (TOML) of the vehicle's description, or "".
        scenario: Text (TOML) of the scenario that was flown, or "".
        notes: What a reader of the record should know, one line each.
        source: Name of the file that it was read from, or ""; `==` ignores it.
    """

    channels: Mapping[str, Channel] = field(default_factory=dict)
    airframe: str = ""
    scenario: str = ""
    notes: tuple[str, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.channels, Mapping):
            raise FlightError(
                "channels must be a mapping from name to Channel; or use Flight.of(channel, ...)"
            )
        channels = dict(self.channels)
        for name, channel in channels.items():
            if not isinstance(channel, Channel):
                raise FlightError(f"channel '{name}': got {type(channel).__name__}; give a Channel")
            if name != channel.name:
                raise FlightError(
                    f"channel '{channel.name}' stands under the name '{name}'; use its own name"
                )
        if not is_texts(self.notes) or not is_texts([self.airframe, self.scenario, self.source]):
            raise FlightError(
                "airframe, scenario and source are texts and notes a tuple of texts; give them so"
            )
        object.__setattr__(self, "channels", MappingProxyType(channels))
        object.__setattr__(self, "notes", tuple(self.notes))

    @classmethod
    def of(
        cls, *channels: Channel, airframe: str = "", scenario: str = "", notes: tuple[str, ...] = ()
    ) -> "Flight":
        """Return a flight of these channels, whose names must differ."""
        names = [channel.name for channel in channels]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise FlightError(f"channel '{twice[0]}' is given twice; rename one of them")
        return cls(dict(zip(names, channels, strict=True)), airframe, scenario, notes)

    def __getitem__(self, name: str) -> Channel:
        if name in self.channels:
            return self.channels[name]
        near = difflib.get_close_matches(name, self.names, n=1)
        known = f"did you mean '{near[0]}'?" if near else "it has: " + (", ".join(self.names) or "nothing")
        raise FlightError(f"no channel '{name}' in this flight; {known}")

    def __contains__(self, name: object) -> bool:
        return name in self.channels

    def __iter__(self) -> Iterator[str]:
        return iter(self.channels)

    def __len__(self) -> int:
        return len(self.channels)

    def __eq__(self, other: object) -> bool:
        """Whether texts, notes and all bits of all channels are equal; their order does not count."""
        if not isinstance(other, Flight):
            return NotImplemented
        texts = (self.airframe, self.scenario, self.notes)
        return texts == (other.airframe, other.scenario, other.notes) and dict(self.channels) == dict(
            other.channels
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Flight, (dict(self.channels), self.airframe, self.scenario, self.notes, self.source)

    def __repr__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()

    def _table(self) -> TextTable:
        rows = [
            (c.name, f"{c.rate:.4g}", len(c), math.prod(c.values.shape[1:]), c.unit, c.frame)
            for c in self.channels.values()
        ]
        title = f"Flight({len(self.channels)} channels, {self.duration:.6g} s)"
        columns = ("channel", "rate / Hz", "samples", "width", "unit", "frame") if rows else ()
        return TextTable(title, columns, rows)

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the flight as an MCAP file, which PlotJuggler and Foxglove open and `haltere.read` reads back."""
        from haltere.flight.mcap.writer import write_mcap  # noqa: PLC0415 - the writer stands on this module

        write_mcap(self, path, overwrite=overwrite)
        return Path(path)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the channels, in their order."""
        return tuple(self.channels)

    @property
    def start(self) -> int:
        """Time of the first sample of any channel, ns; 0 if there is none."""
        return min((int(c.time[0]) for c in self.channels.values() if len(c)), default=0)

    @property
    def end(self) -> int:
        """Time of the last sample of any channel, ns; 0 if there is none."""
        return max((int(c.time[-1]) for c in self.channels.values() if len(c)), default=0)

    @property
    def duration(self) -> float:
        """Time from the first sample to the last, s."""
        return (self.end - self.start) * 1e-9

    def not_finite(self) -> dict[str, int]:
        """Return how many samples hold a NaN or an infinity, for each channel that has any."""
        counts = {name: len(channel) - int(channel.finite.sum()) for name, channel in self.channels.items()}
        return {name: count for name, count in counts.items() if count}

    def between(self, t0: float, t1: float) -> "Flight":
        """Return the part from t0 to t1, s since the first sample, both ends included; time stamps do not change."""
        if not t0 <= t1:
            raise FlightError(f"from {t0} s to {t1} s; give the earlier time first")
        first, last = self._stamp(t0), self._stamp(t1)
        return replace(self, channels={n: c.between(first, last) for n, c in self.channels.items()})

    def _stamp(self, t: float) -> int:
        if math.isinf(t):
            return self.end if t > 0.0 else self.start
        return min(max(self.start + round(t * 1e9), self.start - 1), self.end + 1)

    def with_channel(self, channel: Channel) -> "Flight":
        """Return the flight with this channel added, or replacing the one of the same name."""
        return replace(self, channels={**self.channels, channel.name: channel})

    def without(self, name: str) -> "Flight":
        """Return the flight without that channel."""
        self[name]
        return replace(self, channels={n: c for n, c in self.channels.items() if n != name})

    def with_notes(self, *notes: str) -> "Flight":
        """Return the flight with lines added to its notes."""
        return replace(self, notes=(*self.notes, *notes))
