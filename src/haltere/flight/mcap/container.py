"""The frame of an MCAP file: header, compressed chunks with their indexes and checksums, summary and footer.

The records are those of the `mcap` package; messages and their indexes come as ready bytes, because they are
many.
"""

import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

import numpy as np
import zstandard
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    McapRecord,
    Schema,
    Statistics,
    SummaryOffset,
)

from haltere.flight.mcap.messages import Bytes
from haltere.foundation.numbers import Times

MAGIC = b"\x89MCAP0\r\n"
#: Bytes of a footer record and the magic after it.
TAIL = 9 + 20 + len(MAGIC)

_RECORD = np.dtype(
    [
        ("opcode", "u1"),
        ("length", "<u8"),
        ("channel", "<u2"),
        ("sequence", "<u4"),
        ("log", "<u8"),
        ("publish", "<u8"),
    ]
)
_INDEX_HEAD = struct.Struct("<BQHI")


def message_records(channel: int, first: int, time: Times, messages: Bytes) -> Bytes:
    """Return message records (T, size) of one channel; their sequence numbers count from `first`."""
    head = np.zeros(len(time), _RECORD)
    head["opcode"], head["channel"] = int(Opcode.MESSAGE), channel
    head["length"] = _RECORD.itemsize - 9 + messages.shape[1]
    head["sequence"] = np.arange(first, first + len(time))
    head["log"] = head["publish"] = time
    return np.hstack([np.frombuffer(head.tobytes(), np.uint8).reshape(len(time), _RECORD.itemsize), messages])


def record_bytes(records: Iterable[McapRecord]) -> bytes:
    """Return records as the bytes they have in a file."""
    builder: Any = RecordBuilder()
    for record in records:
        record.write(builder)
    return bytes(builder.end())


class Container:
    """Writes an MCAP file to a stream: first chunks, then `finish`."""

    def __init__(self, stream: BinaryIO, library: str) -> None:
        self._stream, self._position, self._crc = stream, 0, 0
        self._chunks: list[ChunkIndex] = []
        self._counts: dict[int, int] = {}
        self._put(MAGIC + record_bytes([Header(profile="ros2", library=library)]))

    def _put(self, data: bytes) -> None:
        self._stream.write(data)
        self._position += len(data)
        self._crc = zlib.crc32(data, self._crc)

    def chunk(self, content: bytes, span: tuple[int, int], index: Mapping[int, tuple[Times, Times]]) -> None:
        """Write a chunk.

        Args:
            content: Its records.
            span: Time of its first and its last message, ns.
            index: For each channel the times (n,), ns, and the offsets (n,) in `content` of its messages.
        """
        data = zstandard.compress(content)
        chunk = Chunk(
            compression="zstd",
            data=data,
            message_start_time=span[0],
            message_end_time=span[1],
            uncompressed_crc=zlib.crc32(content),
            uncompressed_size=len(content),
        )
        start = self._position
        self._put(record_bytes([chunk]))
        length, offsets, at = self._position - start, {}, self._position
        for channel, (times, places) in index.items():
            offsets[channel] = self._position
            size = 16 * len(times)
            entries = np.column_stack([times, places]).astype("<u8").tobytes()
            self._put(_INDEX_HEAD.pack(Opcode.MESSAGE_INDEX, 6 + size, channel, size) + entries)
            self._counts[channel] = self._counts.get(channel, 0) + len(times)
        self._chunks.append(
            ChunkIndex(
                chunk_length=length,
                chunk_start_offset=start,
                compression="zstd",
                compressed_size=len(data),
                message_end_time=span[1],
                message_index_length=self._position - at,
                message_index_offsets=offsets,
                message_start_time=span[0],
                uncompressed_size=len(content),
            )
        )

    def finish(self, schemas: list[Schema], channels: list[Channel]) -> None:
        """Write the end: the summary of what the file holds and where."""
        self._put(record_bytes([DataEnd(self._crc)]))
        statistics = Statistics(
            attachment_count=0,
            channel_count=len(channels),
            channel_message_counts=self._counts,
            chunk_count=len(self._chunks),
            message_count=sum(self._counts.values()),
            message_end_time=max((chunk.message_end_time for chunk in self._chunks), default=0),
            message_start_time=min((chunk.message_start_time for chunk in self._chunks), default=0),
            metadata_count=0,
            schema_count=len(schemas),
        )
        groups: list[tuple[Opcode, list[Any]]] = [
            (Opcode.SCHEMA, list(schemas)),
            (Opcode.CHANNEL, list(channels)),
            (Opcode.STATISTICS, [statistics]),
            (Opcode.CHUNK_INDEX, list(self._chunks)),
        ]
        start, summary, offsets = self._position, b"", []
        for opcode, records in groups:
            data = record_bytes(records)
            offsets.append(SummaryOffset(opcode, start + len(summary), len(data)))
            summary += data
        offset_start = start + len(summary)
        summary += record_bytes(offsets)
        head = struct.pack("<BQQQ", Opcode.FOOTER, 20, start, offset_start)
        footer = Footer(start, offset_start, zlib.crc32(head, zlib.crc32(summary)))
        self._stream.write(summary + record_bytes([footer]) + MAGIC)
