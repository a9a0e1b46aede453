"""Walking through the bytes of an MCAP file: whole chunks, checked, up to where the file ends or was cut off.

Broken and cut off are different faults: a file that ends as it should but does not add up is broken and is refused;
one without its end was cut off, and all chunks before the cut are good.
"""

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from io import SEEK_END, BytesIO
from typing import Any, BinaryIO

import numpy as np
from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, Schema
from mcap.stream_reader import get_chunk_data_stream

from haltere.flight.channel import FlightError
from haltere.flight.mcap.container import MAGIC, TAIL
from haltere.flight.mcap.messages import Bytes
from haltere.foundation.numbers import Times

_HEAD = struct.Struct("<BQ")
_MESSAGE = np.dtype([("channel", "<u2"), ("sequence", "<u4"), ("log", "<u8"), ("publish", "<u8")])


@dataclass
class Messages:
    """The messages of one topic in the order of the file: `batches` of (T, size) bytes, or of unequal ones."""

    schema: str
    batches: list[Bytes] = field(default_factory=list)
    times: list[Times] = field(default_factory=list)
    sequences: list[Times] = field(default_factory=list)

    def joined(self) -> tuple[Times, Times, Bytes]:
        """Return times (T,), ns, sequence numbers (T,) and those messages (t, size) that were not taken out.

        Raises:
            ValueError: their sizes differ.
        """
        left = np.concatenate(self.batches) if self.batches else np.empty((0, 0), np.uint8)
        return np.concatenate(self.times), np.concatenate(self.sequences), left


@dataclass
class Contents:
    """What was found in a file: messages by topic; `cut` if its end is missing, `index_broken` if only that is."""

    topics: dict[str, Messages] = field(default_factory=dict)
    cut: bool = False
    index_broken: bool = False


def scan(file: BinaryIO, source: str, take: Callable[[Contents], None] | None = None) -> Contents:
    """Return what an open MCAP file holds; `source` names it in errors.

    The file is read record by record, and after each chunk `take` may take messages out of what was found: so neither
    the file nor all its messages need be in memory.
    """
    total = file.seek(0, SEEK_END)
    file.seek(max(total - len(MAGIC), 0))
    last = file.read()
    file.seek(0)
    first = file.read(len(MAGIC))
    if not total:
        raise FlightError(f"{source}: is empty; record the flight again")
    if first != MAGIC:
        kind = "was cut off within its first bytes" if MAGIC.startswith(first) else "is not an MCAP file"
        raise FlightError(f"{source}: {kind}; give a file that `haltere simulate` or write_mcap made")
    contents, schemas, channels = Contents(), dict[int, str](), dict[int, str]()
    whole = last == MAGIC and total >= len(MAGIC) + TAIL
    position, checksum = len(MAGIC), zlib.crc32(first)
    try:
        while position + _HEAD.size <= total:
            head = file.read(_HEAD.size)
            opcode, length = _HEAD.unpack(head)
            end = position + _HEAD.size + length
            if end > total:
                break
            body = file.read(length)
            if opcode == Opcode.DATA_END:
                (crc,) = struct.unpack_from("<I", body)
                if crc and crc != checksum:
                    raise ValueError("the checksum of all data does not fit")
                contents.index_broken = not _index_is_good(file.read())
                return contents
            checksum = zlib.crc32(body, zlib.crc32(head, checksum))
            if opcode == Opcode.CHUNK:
                chunk = Chunk.read(ReadDataStream(BytesIO(body)))
                stream, size = get_chunk_data_stream(chunk, validate_crc=True)
                _read_records(stream.read(size), contents, schemas, channels)
                if take is not None:
                    take(contents)
            elif opcode in {Opcode.SCHEMA, Opcode.CHANNEL, Opcode.MESSAGE}:
                _read_records(head + body, contents, schemas, channels)
            elif opcode == 0:
                raise ValueError("a record of kind 0")
            position = end
    except MemoryError:
        raise FlightError(
            f"{source}: is broken at byte {position} (a size beyond all memory); copy it again"
        ) from None
    except Exception as error:  # decompressors and the record parsers raise many kinds
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FlightError(f"{source}: is broken at byte {position} ({reason}); copy it again") from None
    if whole:
        raise FlightError(f"{source}: is broken at byte {position} (a record beyond the end); copy it again")
    contents.cut = True
    return contents


def _index_is_good(remainder: bytes) -> bool:
    """Whether what follows the data is whole: only other programs need it."""
    if remainder[-len(MAGIC) :] != MAGIC or len(remainder) < TAIL:
        return False
    (crc,) = struct.unpack_from("<I", remainder, len(remainder) - len(MAGIC) - 4)
    return not crc or crc == zlib.crc32(memoryview(remainder)[: -len(MAGIC) - 4])


def _read_records(data: bytes, contents: Contents, schemas: dict[int, str], channels: dict[int, str]) -> None:
    """Take in records: the kinds of messages, the topics, and the messages themselves, many at once."""
    starts, sizes, position, total = [], [], 0, len(data)
    unpack, head, message = _HEAD.unpack_from, _HEAD.size, int(Opcode.MESSAGE)
    while position < total:
        opcode, length = unpack(data, position)
        body = position + head
        if body + length > total:
            raise ValueError("a record beyond the end of its chunk")
        if opcode == message:
            starts.append(body)
            sizes.append(length)
        elif opcode in {Opcode.SCHEMA, Opcode.CHANNEL}:
            stream = ReadDataStream(BytesIO(data[body : body + length]))
            if opcode == Opcode.SCHEMA:
                schema: Any = Schema.read(stream)
                schemas[schema.id] = schema.name
            else:
                channel: Any = Channel.read(stream)
                channels[channel.id] = channel.topic
                contents.topics.setdefault(channel.topic, Messages(schemas.get(channel.schema_id, "")))
        position = body + length
    if starts:
        _read_messages(np.frombuffer(data, np.uint8), np.array(starts), np.array(sizes), contents, channels)


def _read_messages(
    data: Bytes, starts: Times, sizes: Times, contents: Contents, channels: dict[int, str]
) -> None:
    if sizes.min() < _MESSAGE.itemsize:
        raise ValueError("a message shorter than its head")
    head = np.frombuffer(data[starts[:, None] + np.arange(_MESSAGE.itemsize)].tobytes(), _MESSAGE)
    for number in np.unique(head["channel"]).tolist():
        if number not in channels:
            raise ValueError(f"a message of the unknown topic number {number}")
        mine = np.flatnonzero(head["channel"] == number)
        size = int(sizes[mine[0]]) - _MESSAGE.itemsize
        messages = contents.topics[channels[number]]
        if np.any(
            sizes[mine] != sizes[mine[0]]
        ):  # not ours: kept as nothing, told by whoever asks for the topic
            size = 0
        messages.batches.append(data[(starts[mine] + _MESSAGE.itemsize)[:, None] + np.arange(size)])
        messages.times.append(head["log"][mine].astype(np.int64))
        messages.sequences.append(head["sequence"][mine].astype(np.int64))
