"""Reading a flight back from the MCAP file that `write_mcap` made, bit by bit the same.

A file that was cut off is read to its last whole chunk, and the flight's notes say so.
"""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

import numpy as np

from haltere.flight.channel import Channel, FlightError, sealed
from haltere.flight.flight import Flight
from haltere.flight.mcap.messages import Bytes, Layout, schema_name, unpack_text
from haltere.flight.mcap.records import Contents, scan
from haltere.flight.mcap.topics import TEXTS, Entry, Manifest, Topic, loads
from haltere.foundation.numbers import Floats, Times


def read_mcap(path: str | PathLike[str]) -> Flight:
    """Return the flight in a file; a file that cannot be understood raises a `FlightError` of one line."""
    file = Path(path)
    if file.is_dir():
        raise FlightError(f"{file}: is a directory; give the name of an .mcap file in it")
    numbers = _Numbers()
    try:
        with file.open("rb") as data:
            contents = scan(data, str(file), numbers.take)
    except OSError as error:
        raise FlightError(f"{file}: cannot be read ({error.strerror}); check the name") from None
    numbers.take(contents)  # what stands in no chunk
    manifest = _manifest(contents, str(file))
    channels: dict[str, Channel] = {}
    for topic in manifest.topics:
        channels |= _channels(topic, contents, numbers, manifest, str(file))
    ordered = {name: channels[name] for name in manifest.entries}
    airframe, scenario = (_text(contents, name, str(file)) for name in TEXTS[1:])
    flight = Flight(ordered, airframe, scenario, manifest.notes)
    return flight.with_notes(*_notes(contents, manifest, flight))


class _Numbers:
    """The numbers of all channels, taken out of their much longer messages chunk by chunk.

    What cannot be taken out is left where it is, for `_channels` to say why.
    """

    def __init__(self) -> None:
        self.values: dict[str, list[Floats]] = {}
        self._layouts: list[tuple[Topic, Layout]] | None = None

    def take(self, contents: Contents) -> None:
        """Take out what has come since the last call."""
        if self._layouts is None and TEXTS[0] in contents.topics and contents.topics[TEXTS[0]].batches:
            try:
                self._layouts = [(topic, topic.layout()) for topic in _manifest(contents, "").topics]
            except (ValueError, TypeError, AttributeError, LookupError, FlightError):
                self._layouts = []
        for topic, layout in self._layouts or ():
            messages = contents.topics.get(topic.name)
            while messages is not None and messages.batches and layout.matches(messages.batches[0]):
                for name, values in topic.unpack(layout, messages.batches.pop(0)).items():
                    self.values.setdefault(name, []).append(values)

    def joined(self, names: Iterable[str]) -> dict[str, Floats]:
        """Return all values (T, ...) of channels, and forget them."""
        return {name: sealed(np.concatenate(self.values.pop(name))) for name in names}


def _text(contents: Contents, topic: str, source: str) -> str:
    messages = contents.topics.get(topic)
    if messages is None or not messages.batches:
        if contents.cut:
            raise FlightError(
                f"{source}: was cut off before its first whole chunk; nothing in it can be read"
            )
        raise FlightError(
            f"{source}: has no topic {topic}, so it is no flight of ours; give one that `haltere simulate` or "
            "write_mcap made"
        )
    try:
        return unpack_text(messages.batches[0][0].tobytes())
    except ValueError as error:
        raise FlightError(
            f"{source}: topic {topic} is no text ({error}); give a file of write_mcap"
        ) from None


def _manifest(contents: Contents, source: str) -> Manifest:
    try:
        return loads(_text(contents, TEXTS[0], source))
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise FlightError(f"{source}: topic {TEXTS[0]} is not understood ({reason})") from None


def _channels(
    topic: Topic, contents: Contents, numbers: _Numbers, manifest: Manifest, source: str
) -> dict[str, Channel]:
    time, rows = _rows(topic, contents, source)
    try:
        layout = topic.layout()
        if len(rows):
            raise ValueError("its messages have another form than /channels says")
        names = [part.channel for part in topic.parts]
        taken = all(name in numbers.values for name in names)
        values = numbers.joined(names) if taken else topic.unpack(layout, layout.messages(0))
        return {name: _channel(manifest.entries[name], time, values[name]) for name in values}
    except (ValueError, TypeError, AttributeError, LookupError, FlightError) as error:
        reason = " ".join(str(error).split())
        raise FlightError(f"{source}: topic {topic.name}: {reason}; give a file of write_mcap") from None


def _channel(entry: Entry, time: Times, values: Floats) -> Channel:
    return Channel(entry.name, time, values, entry.unit, entry.frame, entry.columns)


def _rows(topic: Topic, contents: Contents, source: str) -> tuple[Times, Bytes]:
    messages = contents.topics.get(topic.name)
    if messages is None or not messages.times:
        return np.empty(0, np.int64), np.empty((0, 0), np.uint8)
    if messages.schema != schema_name(topic.message):
        raise FlightError(f"{source}: topic {topic.name} holds {messages.schema}; give a file of write_mcap")
    try:
        time, sequence, rows = messages.joined()
    except ValueError:
        raise FlightError(f"{source}: topic {topic.name} has messages of different sizes") from None
    jumps = np.flatnonzero(np.diff(sequence) != 1)
    if jumps.size:
        at = int(sequence[jumps[0]])
        raise FlightError(f"{source}: topic {topic.name} lacks messages behind number {at}; copy it again")
    return sealed(time), rows


def _notes(contents: Contents, manifest: Manifest, flight: Flight) -> list[str]:
    counts = [(len(flight[name]), entry.samples) for name, entry in manifest.entries.items()]
    missing = sum(wanted - there for there, wanted in counts)
    if contents.cut and missing:
        lost = f"{missing} of {sum(wanted for _, wanted in counts)} samples are missing"
        return [
            f"truncated: the file was cut off; read to its last whole chunk, {flight.duration:.3f} s; {lost}"
        ]
    if missing:
        return [f"incomplete: {missing} samples of those that were written are not in the file"]
    if contents.cut or contents.index_broken:
        return ["truncated: the end of the file (its index) is missing or broken; all samples are there"]
    return []
