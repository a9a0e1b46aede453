"""Logs that a Crazyflie writes to its micro SD card: self-describing binary, versions 1 and 2.

    BC | version u16 | events u16 | per event: number u16, name 00, variables u16, per variable: name "(" type ")" 00
    then records: event u16 | time u32 in ms (version 1) or u64 in us (version 2) | the variables, packed
    at the end: CRC-32 of all before it

Little-endian throughout; the event of the fixed rate has the number FF FF. Body axes are FLU. acc is in g,
gyro in deg/s, motor commands 0..65535, rpm in 1/min, quaternions x y z w.
"""

import mmap
import struct
import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haltere.flight import Flight
from haltere.flight.rotations import normalize
from haltere.foundation.constants import DEGREE, RPM, STANDARD_GRAVITY
from haltere.foundation.numbers import Floats, Ints, Times
from haltere.logs.builder import Builder, LogError, reading, rotor_names, unwrapped

_TYPES = {"c": "i1", "b": "i1", "B": "u1", "h": "<i2", "H": "<u2", "i": "<i4", "I": "<u4", "q": "<i8", "Q": "<u8",
          "f": "<f4", "d": "<f8", "e": "<f2", "?": "?"}  # fmt: skip
_FULL = 65535.0


_PIECE = 2048
"""Records that are in memory at a time."""


@dataclass(frozen=True)
class _Event:
    name: str
    record: np.dtype[np.void]


@dataclass(frozen=True)
class _Rows:
    """The records of one event, at `offsets` (T,) bytes in the file: read anew for what is asked, piece by piece."""

    file: Path
    record: np.dtype[np.void]
    offsets: Sequence[int] | Ints

    def columns(self, *names: str, kind: type = np.float64) -> NDArray[Any]:
        """(T, k) of these variables."""
        values: NDArray[Any] = np.empty((len(self.offsets), len(names)), kind)
        size = self.record.itemsize
        with self.file.open("rb") as file:
            for first in range(0, len(values), _PIECE):
                at = np.asarray(self.offsets[first : first + _PIECE], np.int64)
                file.seek(int(at[0]))
                raw = file.read(int(at[-1] - at[0]) + size)
                if len(at) * size != len(raw):  # others between them
                    raw = np.frombuffer(raw, np.uint8)[(at - at[0])[:, None] + np.arange(size)].tobytes()
                rows = np.frombuffer(raw, self.record)
                for column, name in enumerate(names):
                    values[first : first + len(at), column] = rows[name]
        return values


def read_usd(file: Path) -> Flight:
    """Return the flight in a uSD log."""
    with reading(file, "Crazyflie uSD log"):
        with file.open("rb") as stream:
            if not stream.read(1):
                raise LogError(f"{file}: is empty; copy it again from the card")
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        version, events, start = _head(file, data)
        offsets, whole = _offsets(data, start, events)
        fits = _checksum_fits(data)
        del data  # the pages count as ours while they are mapped
    count = sum(len(each) for each in offsets.values())
    builder = Builder(file, f"Crazyflie uSD log, version {version}, {count} records of {len(events)} kind(s)")
    if not count:
        raise LogError(f"{file}: holds a header but no record; log for longer")
    if not fits:
        state = "was cut off or is damaged" if whole else "was cut off within a record"
        builder.note(f"truncated: the file {state} (its checksum does not fit); {count} records were read")
    for number, at in offsets.items():
        _add(builder, _Rows(file, events[number].record, at), version)
    return builder.flight("log acc, gyro and motor or rpm (config.txt on the card)")


def _head(file: Path, data: mmap.mmap) -> tuple[int, dict[int, _Event], int]:
    """Return the version, the events by number, and where the records start."""
    if len(data) < 5:
        raise LogError(f"{file}: was cut off within its first bytes; copy it again from the card")
    version, count = struct.unpack_from("<HH", data, 1)
    stamp = ("time", "<u4" if version == 1 else "<u8")
    offset = 5
    events: dict[int, _Event] = {}
    for _ in range(count):
        (number,) = struct.unpack_from("<H", data, offset)
        name, offset = _text(data, offset + 2)
        (variables,) = struct.unpack_from("<H", data, offset)
        offset += 2
        fields: list[tuple[str, str]] = [("event", "<u2"), stamp]
        for _ in range(variables):
            text, offset = _text(data, offset)
            variable, _, kind = text.rpartition("(")
            if kind[:1] not in _TYPES or not kind.endswith(")"):
                raise LogError(
                    f"{file}: variable '{text[:40]}' has no type that is known; copy the file again"
                )
            fields.append((variable, _TYPES[kind[0]]))
        events[number] = _Event(name, np.dtype(fields))
    return version, events, offset


def _text(data: mmap.mmap, offset: int) -> tuple[str, int]:
    end = data.find(b"\0", offset, offset + 256)
    if end < 0:
        raise ValueError("a name without an end")
    return data[offset:end].decode("ascii"), end + 1


def _offsets(
    data: mmap.mmap, start: int, events: dict[int, _Event]
) -> tuple[dict[int, Sequence[int] | Ints], bool]:
    """Return where the records of each event begin, and whether the last one was whole."""
    end = len(data) - 4
    if len(events) == 1:
        (number, event), *_ = events.items()
        size = event.record.itemsize
        rows = np.frombuffer(data, event.record, max(end - start, 0) // size, start)
        wrong = np.flatnonzero(rows["event"] != number)
        count = int(wrong[0]) if wrong.size else len(rows)
        return {number: range(start, start + count * size, size)}, not wrong.size
    offsets = {number: array("q") for number in events}
    sizes = {number: event.record.itemsize for number, event in events.items()}
    offset, number_at = start, struct.Struct("<H").unpack_from
    while offset + 2 <= end:
        number = number_at(data, offset)[0]
        if number not in sizes or offset + sizes[number] > end:
            break
        offsets[number].append(offset)
        offset += sizes[number]
    return {number: np.array(at, np.int64) for number, at in offsets.items()}, offset == end


def _checksum_fits(data: mmap.mmap) -> bool:
    return len(data) > 4 and zlib.crc32(memoryview(data)[:-4]) == struct.unpack("<I", data[-4:])[0]


def _add(builder: Builder, rows: _Rows, version: int) -> None:
    """Add the channels of one event."""
    names = set(rows.record.names or ())
    factor, period = (1_000_000, 2**32 * 1_000_000) if version == 1 else (1_000, 0)
    stamps = rows.columns("time", kind=np.int64)[:, 0]
    if np.any(stamps > 2**62 // factor) or np.any(stamps < 0):
        good = (stamps >= 0) & (stamps <= 2**62 // factor)
        builder.note(f"broken: {int(np.sum(~good))} records with an impossible time were left out")
        rows, stamps = replace(rows, offsets=np.asarray(rows.offsets, np.int64)[good]), stamps[good]
    time: Times = stamps * factor
    del stamps
    if period:
        time = unwrapped(time, period)

    def stack(*wanted: str) -> Floats | None:
        if not set(wanted) <= names:
            return None
        return rows.columns(*wanted)

    for channel, prefix, factor_si, si in (
        ("imu.accel", "acc", STANDARD_GRAVITY, "m/s2"),
        ("imu.gyro", "gyro", DEGREE, "rad/s"),
    ):
        values = stack(*(f"{prefix}.{axis}" for axis in "xyz"))
        if values is not None:
            values *= factor_si
            builder.add(channel, time, values, si, "imu")
    for channel, forms, scale, si in (
        ("rotors.speed", ("rpm.m{}",), RPM, "rad/s"),
        ("rotors.command", ("motor.m{}", "pwm.m{}_pwm"), 1.0 / _FULL, "1"),
    ):
        for form in forms:
            there = [form.format(i) for i in range(1, 9) if form.format(i) in names]
            values = stack(*there) if there else None
            if values is not None:
                values *= scale
                builder.add(channel, time, values, si, "", rotor_names(len(there)))
    for channel, prefix in (("pose", "locSrv"), ("estimate", "stateEstimate")):
        for last, letters, si in (
            ("position", "x y z", "m"),
            ("wxyz", "qw qx qy qz", "1"),
            ("velocity", "vx vy vz", "m/s"),
        ):
            values = stack(*(f"{prefix}.{a}" for a in letters.split()))
            if values is not None:
                builder.add(
                    f"{channel}.{last}", time, normalize(values) if last == "wxyz" else values, si, "world"
                )
    for variable, scale in (("pm.vbatMV", 1e-3), ("pm.vbat", 1.0)):
        if variable in names:
            builder.add("battery.voltage", time, rows.columns(variable)[:, 0] * scale, "V")
