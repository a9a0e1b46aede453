"""Encodings of the fields of Blackbox frames, read for many frames at once [BlackboxInternals].

A frame is one letter and its fields one after another, without a length. The encodings, by their number in the header:

    0, 1    signed (zigzag) and unsigned variable byte: seven bits a byte, lowest first, the eighth for more to come
    3       the negative of 14 bits, as unsigned variable byte
    4, 5    Elias delta, unsigned and signed (zigzag): a bit stream that is filled up to a byte behind its last field
    6       up to 8 fields: a byte that says which are not zero, then those as signed variable byte; one stands alone
    7, 10   3 fields: two bits choose a size for all, 2, 4 or 6 bits (10: 2 bits; 5, 5, 4; 8, 7, 7), or 1 to 4 bytes for
            each, lowest first, whose numbers fill the first byte
    8       4 fields: two bits choose 0, 4, 8 or 16 bits for each; they follow as nibbles, highest first
    9       nothing: zero
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.intp]
Integers = NDArray[np.int64]
Octets = NDArray[np.uint8]

MARGIN = 64
"""Zero bytes behind a window: more than any group of fields but variable bytes, which stop at the first, takes."""
SIGNED, UNSIGNED, NEGATIVE, ELIAS, ELIAS_SIGNED, TAGGED, THREE, FOUR, NOTHING, THREE_NEW = (
    0, 1, 3, 4, 5, 6, 7, 8, 9, 10,
)  # fmt: skip
_VARIABLE = (SIGNED, UNSIGNED, NEGATIVE)
_SIZES = {THREE: 3, THREE_NEW: 3, FOUR: 4}
_LOW = 0xFFFFFFFF
_ONE, _BYTE, _BITS = np.uint64(1), np.uint64(8), np.uint64(64)
_ZEROS = np.array([6 - number.bit_length() for number in range(64)], np.uint64)
"""Before the highest bit of six."""


class CodeError(ValueError):
    """A header that describes no frame that there can be."""


@dataclass(frozen=True)
class Group:
    """Fields that are read together: from the number `first` on, with their encodings."""

    first: int
    encodings: tuple[int, ...]


def group_fields(encodings: tuple[int, ...]) -> tuple[Group, ...]:
    """Return how the fields of a frame are read together, from the numbers of their encodings."""
    groups, at = [], 0
    while at < len(encodings):
        encoding = encodings[at]
        rest = encodings[at:]
        if encoding in _SIZES:
            count = _SIZES[encoding]
            if len(rest) < count:
                raise CodeError(f"encoding {encoding} takes {count} fields, {len(rest)} remain")
        elif encoding == TAGGED:
            count = next((i for i, other in enumerate(rest[:8]) if other != TAGGED), min(len(rest), 8))
        elif encoding in (ELIAS, ELIAS_SIGNED):
            count = next((i for i, other in enumerate(rest) if other not in (ELIAS, ELIAS_SIGNED)), len(rest))
        elif encoding in (*_VARIABLE, NOTHING):
            count = 1
        else:
            raise CodeError(f"encoding {encoding} is not known")
        alone = encoding == TAGGED and count == 1
        groups.append(Group(at, (SIGNED,) if alone else rest[:count]))
        at += count
    return tuple(groups)


def least_length(groups: tuple[Group, ...]) -> int:
    """Return the fewest bytes of a frame with these fields, its letter included."""
    bits = 8
    for group in groups:
        elias = group.encodings[0] in (ELIAS, ELIAS_SIGNED)
        bits += 0 if group.encodings[0] == NOTHING else len(group.encodings) if elias else 8
    return bits // 8


@dataclass(frozen=True)
class Window:
    """A piece of a log with `MARGIN` zeros behind it, and the variable byte that would begin at each of its bytes."""

    data: Octets
    value: Integers
    after: Positions
    """Behind that variable byte; `nowhere` if it has more than 5 bytes."""
    nowhere: int
    """An index behind the piece at which no frame ends: what cannot be read leads to it."""

    @classmethod
    def of(cls, piece: Octets) -> "Window":
        """Return the window of a piece of a log."""
        nowhere = len(piece) + 1
        data = np.concatenate([piece, np.zeros(MARGIN, np.uint8)])
        more = data > 127
        stops = np.flatnonzero(~more)
        after = stops[np.cumsum(~more) - ~more] + 1
        after[after - np.arange(len(data)) > 5] = nowhere
        np.minimum(after, nowhere, out=after)
        value = (data & 127).astype(np.int64)
        which = np.flatnonzero(more)
        for number in range(1, 5):
            following = data[which + number]
            value[which] |= (following & 127).astype(np.int64) << (7 * number)
            which = which[following > 127]
        return cls(data, value & _LOW, after, nowhere)


def ends_of(window: Window, groups: tuple[Group, ...], starts: Positions) -> Positions:
    """Return where the fields (frames,) that begin at `starts` end."""
    at = starts
    for group in groups:
        at = _read(window, group, at, None)
    return at


def values_of(window: Window, groups: tuple[Group, ...], starts: Positions) -> Integers:
    """Return the fields (fields, frames) of the frames whose fields begin at `starts`, before prediction."""
    values = np.zeros((sum(len(group.encodings) for group in groups), len(starts)), np.int64)
    at = starts
    for group in groups:
        at = _read(window, group, at, values[group.first : group.first + len(group.encodings)])
    return values


def zigzag(value: Integers) -> Integers:
    """Return 0, -1, 1, -2, ... of 0, 1, 2, 3, ..."""
    return (value >> 1) ^ -(value & 1)


def in_bits(value: Integers, bits: int) -> Integers:
    """Return what the lowest `bits` of numbers mean in two's complement."""
    top = 1 << (bits - 1)
    return ((value & (2 * top - 1)) ^ top) - top


def _read(window: Window, group: Group, at: Positions, out: Integers | None) -> Positions:
    """Return the indices (frames,) behind a group that begins at `at`; its values go to `out` (fields, frames)."""
    encoding = group.encodings[0]
    if encoding == NOTHING:
        return at
    if encoding in _VARIABLE:
        if out is not None:
            value = window.value[at]
            out[0] = (
                zigzag(value)
                if encoding == SIGNED
                else value
                if encoding == UNSIGNED
                else -in_bits(value, 14)
            )
        return np.asarray(window.after[at])
    if encoding == TAGGED:
        return _read_tagged(window, len(group.encodings), at, out)
    if encoding in (ELIAS, ELIAS_SIGNED):
        return _read_elias(window, group.encodings, at, out)
    packing = _PACKINGS[encoding]
    head = window.data[at]
    if out is not None:
        for field in range(len(out)):
            out[field] = packing.read(window.data, head, at, field)
        if encoding in (THREE, THREE_NEW):
            long = np.flatnonzero(head >> 6 == 3)
            out[:, long] = _read_bytes(window.data, at[long])
    return np.asarray(np.minimum(at + packing.length[head], window.nowhere))


def _read_tagged(window: Window, count: int, at: Positions, out: Integers | None) -> Positions:
    head = window.data[at]
    at = np.minimum(at + 1, window.nowhere)
    for field in range(count):
        there = (head >> field & 1).astype(bool)
        if out is not None:
            out[field] = np.where(there, zigzag(window.value[at]), 0)
        at = np.where(there, window.after[at], at)
    return at


@dataclass(frozen=True)
class Packing:
    """Where the fields of a group lie, by the value of its first byte.

    Field k is in the 24 bits, highest first, that begin at byte `offset[:, k]`, above its lowest `shift[:, k]` bits.
    """

    length: NDArray[np.intp]  # (256,) bytes
    offset: NDArray[np.intp]  # (256, K) bytes
    shift: Integers  # (256, K)
    bits: Integers  # (256, K)

    def read(self, data: Octets, head: Octets, at: Positions, field: int) -> Integers:
        """Return one field of the groups with these first bytes, which stand at `at`."""
        byte = at + self.offset[head, field]
        word = (
            data[byte].astype(np.int64) << 16
            | data[byte + 1].astype(np.int64) << 8
            | data[byte + 2].astype(np.int64)
        )
        size = np.int64(1) << self.bits[head, field]
        value = (word >> self.shift[head, field]) & (size - 1)
        return np.asarray(value - ((value & (size >> 1)) << 1))


def _pack_three(middle: tuple[int, int, int], large: tuple[int, int, int]) -> Packing:
    """Return the packing of 3 fields: middle and large sizes as shifts from bit 24 down, sizes of their fields."""
    heads = np.arange(256)
    chosen = heads >> 6
    sizes = np.array([(2, 2, 2), middle, large, (0, 0, 0)])
    if middle[0] == 4:  # 0100 AAAA BBBB CCCC and 10AA AAAA 00BB BBBB 00CC CCCC: each starts anew
        shifts = np.array([(20, 18, 16), (16, 12, 8), (16, 8, 0), (0, 0, 0)])
    else:  # without gaps
        shifts = np.array([22 - np.cumsum(row) for row in sizes])
    long = 1 + sum(1 + (heads >> 2 * field & 3) for field in range(3))
    length = np.choose(chosen, [np.full(256, 1), np.full(256, 2), np.full(256, 3), long])
    return Packing(length, np.zeros((256, 3), np.intp), shifts[chosen], sizes[chosen])


def _pack_four() -> Packing:
    heads = np.arange(256)[:, None]
    nibbles = np.array([0, 1, 2, 4])[heads >> 2 * np.arange(4) & 3]
    before = np.cumsum(nibbles, axis=1) - nibbles
    shift = 24 - 4 * (before & 1) - 4 * nibbles
    return Packing(1 + (nibbles.sum(axis=1) + 1) // 2, 1 + before // 2, shift, 4 * nibbles)


_PACKINGS = {
    THREE: _pack_three((4, 4, 4), (6, 6, 6)),
    THREE_NEW: _pack_three((5, 5, 4), (8, 7, 7)),
    FOUR: _pack_four(),
}


def _read_bytes(data: Octets, at: Positions) -> Integers:
    """Return 3 fields (3, frames) of 1 to 4 bytes each, whose numbers stand in the byte at `at`."""
    head = data[at]
    at = at + 1
    out = np.zeros((3, len(at)), np.int64)
    for field in range(3):
        more = (head >> 2 * field & 3).astype(np.intp)
        word = np.zeros(len(at), np.int64)
        for byte in range(4):
            word |= data[at + byte].astype(np.int64) << 8 * byte
        for size in range(4):
            out[field] = np.where(more == size, in_bits(word, 8 * size + 8), out[field])
        at = at + more + 1
    return out


def _read_elias(window: Window, encodings: tuple[int, ...], at: Positions, out: Integers | None) -> Positions:
    """A number has as many zeros as its length has bits less one, then its length, then its bits without the first."""
    bit, valid = at * 8, np.ones(len(at), bool)
    for field, encoding in enumerate(encodings):
        first = np.minimum(bit >> 3, window.nowhere)
        word = np.zeros(len(at), np.uint64)  # 57 bits of it are of the stream; a number has at most 43
        for byte in range(8):
            word = word << _BYTE | window.data[first + byte]
        word <<= (bit & 7).astype(np.uint64)
        zeros = _ZEROS[(word >> np.uint64(58)).astype(np.intp)]
        valid &= zeros < 6
        head = 2 * np.minimum(zeros, np.uint64(5)) + _ONE
        size = word >> (_BITS - head)
        valid &= (size <= 32) & (size > 0)
        size = np.clip(size, _ONE, np.uint64(32))
        value = _ONE << (size - _ONE) | word << head >> _ONE >> (_BITS - size)
        head = head + size - _ONE
        largest = value == _LOW  # the two largest share a code and have one bit more
        value = value + np.where(largest, word << head >> (_BITS - _ONE), 0).astype(np.uint64) - _ONE
        bit = bit + (head + largest).astype(np.intp)
        if out is not None:
            out[field] = zigzag(value.astype(np.int64)) if encoding == ELIAS_SIGNED else value
    return np.where(valid, np.minimum((bit + 7) >> 3, window.nowhere), window.nowhere)
