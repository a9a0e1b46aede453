"""Writing a flight as one plain MCAP file of ROS 2 messages.

The first chunk holds all schemas and topics and the texts (`/channels`, `/airframe`, `/scenario`); each
further one holds a stretch of time of all topics, in the order of time. A file cut off anywhere behind the
first chunk can therefore be read up to one time for all channels.
"""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import numpy as np
from mcap.records import Channel as ChannelRecord
from mcap.records import Schema

from haltere.flight.channel import FlightError
from haltere.flight.flight import Flight
from haltere.flight.mcap.container import Container, message_records, record_bytes
from haltere.flight.mcap.messages import LAST_STAMP, Layout, pack_text, schema_name, schema_text
from haltere.flight.mcap.topics import TEXTS, Topic, dumps, plan
from haltere.foundation.files import check_free, whole_file
from haltere.foundation.numbers import Times

CHUNK_SIZE = 1 << 20

_TEXT = "std_msgs/String"
_FOREVER = "{sec: 9223372036, nsec: 854775807}"
_LATCHED = (
    "- {history: keep_last, depth: 1, reliability: reliable, durability: transient_local, "
    f"deadline: {_FOREVER}, lifespan: {_FOREVER}, liveliness: automatic, "
    f"liveliness_lease_duration: {_FOREVER}, avoid_ros_namespace_conventions: false}}\n"
)


def write_mcap(flight: Flight, path: str | PathLike[str], overwrite: bool = False) -> None:
    """Write a flight to a file in one step: it is never seen half written.

    Args:
        flight: What to write; its time stamps must lie from 0 to 2^31 s, as ROS 2 messages can hold no others.
        path: Where to; an existing file is kept unless `overwrite` is set.
        overwrite: Whether an existing file may be replaced.
    """
    file = Path(path)
    check_free(file, overwrite, FlightError)
    _check_stamps(flight)
    try:
        with whole_file(file, FlightError) as stream:
            _write(flight, stream)
    except UnicodeEncodeError as error:
        raise FlightError(
            f"{file}: a text of the flight is not valid Unicode ({error.reason}); mend it"
        ) from None


def _check_stamps(flight: Flight) -> None:
    for channel in flight.channels.values():
        if len(channel) and not 0 <= channel.time[0] <= channel.time[-1] <= LAST_STAMP:
            raise FlightError(
                f"channel '{channel.name}': time stamps from {channel.time[0]} to {channel.time[-1]} ns; "
                f"ROS 2 messages hold 0 to {LAST_STAMP} ns; shift the time"
            )


def _write(flight: Flight, stream: BinaryIO) -> None:
    planned = plan(flight.channels.values())
    schemas, channels = _declare([topic for topic, _ in planned])
    container = Container(stream, "haltere")
    _write_texts(container, flight, [topic for topic, _ in planned], schemas, channels)
    numbers = range(len(TEXTS) + 1, len(channels) + 1)
    series = [_Series(number, topic, time) for number, (topic, time) in zip(numbers, planned, strict=True)]
    for first, last in _stretches(series):
        _write_stretch(container, flight, series, first, last)
    container.finish(schemas, channels)


def _declare(topics: list[Topic]) -> tuple[list[Schema], list[ChannelRecord]]:
    """Return the records of all kinds of messages and of all topics; numbers count from 1."""
    messages = list(dict.fromkeys([_TEXT, *(topic.message for topic in topics)]))
    schemas = [
        Schema(id=number, name=schema_name(message), encoding="ros2msg", data=schema_text(message).encode())
        for number, message in enumerate(messages, 1)
    ]
    wanted = [(name, _TEXT, _LATCHED) for name in TEXTS] + [
        (topic.name, topic.message, "") for topic in topics
    ]
    channels = [
        ChannelRecord(
            id=number,
            topic=name,
            message_encoding="cdr",
            metadata={"offered_qos_profiles": profile},
            schema_id=messages.index(message) + 1,
        )
        for number, (name, message, profile) in enumerate(wanted, 1)
    ]
    return schemas, channels


def _write_texts(
    container: Container,
    flight: Flight,
    topics: list[Topic],
    schemas: list[Schema],
    channels: list[ChannelRecord],
) -> None:
    content, index = record_bytes([*schemas, *channels]), {}
    start = np.array([flight.start])
    for number, text in enumerate((dumps(flight, topics), flight.airframe, flight.scenario), 1):
        index[number] = (start, np.array([len(content)]))
        message = np.frombuffer(pack_text(text), np.uint8)[None]
        content += message_records(number, 0, start, message).tobytes()
    container.chunk(content, (flight.start, flight.start), index)


class _Series:
    """A topic with its number in the file, its layout and its time stamps."""

    def __init__(self, number: int, topic: Topic, time: Times) -> None:
        self.number, self.topic, self.time = number, topic, time
        self.layout: Layout = topic.layout()
        self.size = message_records(number, 0, time[:0], self.layout.messages(0)).shape[1]


def _stretches(series: list[_Series]) -> Iterator[tuple[int, int]]:
    """Yield first and last time, ns, of stretches that fill a chunk each; equal stamps stay together."""
    if not any(len(each.time) for each in series):
        return
    time = np.concatenate([each.time for each in series])
    sizes = np.concatenate([np.full(len(each.time), each.size) for each in series])
    stamps, which = np.unique(time, return_inverse=True)
    filled = np.cumsum(np.bincount(which, sizes)) // CHUNK_SIZE
    ends = np.flatnonzero(np.diff(filled, append=filled[-1] + 1))
    starts = np.concatenate([[0], ends[:-1] + 1])
    yield from zip(stamps[starts].tolist(), stamps[ends].tolist(), strict=True)


def _write_stretch(
    container: Container, flight: Flight, series: list[_Series], first: int, last: int
) -> None:
    rows, times, numbers = [], [], []
    for each in series:
        low, high = np.searchsorted(each.time, first, "left"), np.searchsorted(each.time, last, "right")
        if low == high:
            continue
        time = each.time[low:high]
        values = {part.channel: flight[part.channel].values[low:high] for part in each.topic.parts}
        rows.append(message_records(each.number, int(low), time, each.topic.pack(each.layout, time, values)))
        times.append(time)
        numbers.append(each.number)
    owner = np.concatenate([np.full(len(time), k) for k, time in enumerate(times)])
    order = np.lexsort((owner, np.concatenate(times)))
    sizes = np.array([row.shape[1] for row in rows])[owner]
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(sizes[order]) - sizes[order]
    content = np.empty(int(sizes.sum()), np.uint8)
    index = {}
    for k, row in enumerate(rows):
        mine = places[owner == k]
        content[mine[:, None] + np.arange(row.shape[1])] = row
        index[numbers[k]] = (times[k], mine)
    container.chunk(content.tobytes(), (first, last), index)
