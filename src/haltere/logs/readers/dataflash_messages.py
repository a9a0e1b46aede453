"""The messages of a DataFlash log (.bin of ArduPilot): which there are, and their columns.

    A3 95 | type u8 | body; type 0x80 (FMT) describes another: type u8, length u8, name 4, format 16, columns 64

A letter of the format is the type of a column, some with a factor; ArduPilot documents them in its page on new log
messages. Bytes that belong to no message are skipped and counted; messages of one kind are decoded all at once.
"""

import mmap
from array import array
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_HEAD, _FMT = b"\xa3\x95", 0x80
_BLOCK = 1 << 12
_FORGET = 1 << 22
"""Bytes after which the memory of what was read is given back."""
_LETTERS: dict[str, tuple[str, float]] = {
    "a": ("S64", 1.0),
    "b": ("i1", 1.0),
    "B": ("u1", 1.0),
    "h": ("<i2", 1.0),
    "H": ("<u2", 1.0),
    "i": ("<i4", 1.0),
    "I": ("<u4", 1.0),
    "q": ("<i8", 1.0),
    "Q": ("<u8", 1.0),
    "g": ("<f2", 1.0),
    "f": ("<f4", 1.0),
    "d": ("<f8", 1.0),
    "n": ("S4", 1.0),
    "N": ("S16", 1.0),
    "Z": ("S64", 1.0),
    "c": ("<i2", 1e-2),
    "C": ("<u2", 1e-2),
    "e": ("<i4", 1e-2),
    "E": ("<u4", 1e-2),
    "L": ("<i4", 1e-7),
    "M": ("i1", 1.0),
}
"""Letters of a format: NumPy's type, and the factor to what the column means."""


@dataclass(frozen=True)
class MessageTable:
    """All messages of one kind.

    Attributes:
        count: how many there are.
        columns: by name, (count,) each, with the factor of the letter applied.
        letters: of the columns, by name.
    """

    count: int
    columns: dict[str, NDArray[np.generic]]
    letters: dict[str, str]

    def having(self, *names: str) -> bool:
        """Whether all these columns are there."""
        return set(names) <= set(self.columns)


@dataclass
class _Kind:
    """One kind of message: its layout, and where its messages start."""

    name: str
    record: np.dtype[np.void]
    letters: dict[str, str]
    length: int
    offsets: "array[int]" = field(default_factory=lambda: array("q"))


def load_messages(
    file: Path, names: Collection[str], columns: Collection[str]
) -> tuple[dict[str, MessageTable], int]:
    """Return messages by name, each with the columns of these that it has, and how many bytes belong to none."""
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        kinds, skipped = _scan(data, names)
        found = {}
        for name in list(kinds):
            kind = kinds.pop(name)
            if len(kind.offsets):
                found[name] = _decode(data, kind, columns)
        return found, skipped


def _scan(data: mmap.mmap, names: Collection[str]) -> tuple[dict[str, _Kind], int]:
    """Return the messages of the kinds that are wanted, and how many bytes belong to none."""
    wanted: dict[str, _Kind] = {}
    kinds: dict[int, _Kind | None] = {}
    lengths = {_FMT: 89}
    offset, total, skipped, seen = 0, len(data), 0, 0
    while offset + 3 <= total:
        if offset > seen + _FORGET:
            seen = offset
            _forget(data, offset)
        if data[offset : offset + 2] == _HEAD and (length := lengths.get(data[offset + 2], 0)):
            if offset + length > total:
                break
            kind = data[offset + 2]
            if kind == _FMT:
                described = _describe(data[offset + 3 : offset + length])
                if described is not None:
                    number, described_kind = described
                    lengths[number] = described_kind.length
                    keep = described_kind.name in names and described_kind.name not in wanted
                    kinds[number] = described_kind if keep else kinds.get(number)
                    if keep:
                        wanted[described_kind.name] = described_kind
            elif (found := kinds.get(kind)) is not None:
                found.offsets.append(offset)
            offset += length
        else:
            following = data.find(_HEAD, offset + 1)
            following = following if following > 0 else total
            skipped += following - offset
            offset = following
    return wanted, skipped + max(total - offset, 0)


def _describe(body: bytes) -> tuple[int, _Kind] | None:
    """Return the type and layout that an FMT message describes; None if it makes no sense."""
    name, letters, columns = (
        body[a:b].split(b"\0")[0].decode("ascii", "replace") for a, b in ((2, 6), (6, 22), (22, 86))
    )
    names = [word for word in columns.split(",") if word]
    if body[0] == _FMT or not set(letters) <= set(_LETTERS) or len(names) != len(letters):
        return None
    if len(set(names)) != len(names) or "head" in names:
        return None
    types = [(name, np.dtype(_LETTERS[letter][0])) for name, letter in zip(names, letters, strict=True)]
    record = np.dtype([("head", "S3"), *types])
    if record.itemsize != body[1]:
        return None
    return body[0], _Kind(name, record, dict(zip(names, letters, strict=True)), record.itemsize)


def _decode(data: mmap.mmap, kind: _Kind, columns: Collection[str]) -> MessageTable:
    """Return the columns that are wanted of all messages of one kind."""
    starts = np.frombuffer(kind.offsets, np.int64)
    letters = {name: letter for name, letter in kind.letters.items() if name in columns}
    factors = {name: _LETTERS[letter][1] for name, letter in letters.items()}
    table = {
        name: np.empty(len(starts), kind.record[name] if factor == 1.0 else np.float64)
        for name, factor in factors.items()
    }
    buffer = np.frombuffer(data, np.uint8)
    for low in range(0, len(starts), _BLOCK):
        part = starts[low : low + _BLOCK]
        rows = buffer[part[:, None] + np.arange(kind.length)].view(kind.record)[:, 0]
        for name, factor in factors.items():
            column = rows[name]
            table[name][low : low + len(part)] = (
                column if factor == 1.0 else column.astype(np.float64) * factor
            )
        _forget(data, int(part[-1]))
    del buffer
    return MessageTable(len(starts), table, letters)


def _forget(data: mmap.mmap, offset: int) -> None:
    """Give back the memory of what was read of a file before an offset, where the system can."""
    whole = offset - offset % mmap.ALLOCATIONGRANULARITY
    if whole and hasattr(mmap, "MADV_DONTNEED"):
        data.madvise(mmap.MADV_DONTNEED, 0, whole)
