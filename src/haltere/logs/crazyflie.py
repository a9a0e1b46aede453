"""Logs that a Crazyflie writes to its micro SD card: self-describing binary, versions 1 and 2.

    BC | version u16 | events u16 | per event: number u16, name 00, variables u16, per variable: name "(" type ")" 00
    then records: event u16 | time u32 in ms (version 1) or u64 in us (version 2) | the variables, packed
    at the end: CRC-32 of all before it

Little-endian throughout; the event of the fixed rate has the number FF FF. Body axes are FLU. acc is in g,
gyro in deg/s, motor commands 0..65535, rpm in 1/min, quaternions x y z w.
"""

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from haltere.flight import Flight
from haltere.flight.fault import Times, Values
from haltere.foundation.gravity import STANDARD_GRAVITY
from haltere.logs.builder import RPM, Builder, rotor_names
from haltere.logs.clock import unwrapped
from haltere.logs.fault import LogError, reading
from haltere.logs.frames import unit
from haltere.logs.units import DEGREE

_TYPES = {"c": "i1", "b": "i1", "B": "u1", "h": "<i2", "H": "<u2", "i": "<i4", "I": "<u4", "q": "<i8", "Q": "<u8",
          "f": "<f4", "d": "<f8", "e": "<f2", "?": "?"}  # fmt: skip
_FULL = 65535.0


@dataclass(frozen=True)
class _Event:
    name: str
    record: np.dtype[np.void]


def read_usd(file: Path) -> Flight:
    """Return the flight in a uSD log."""
    with reading(file, "Crazyflie uSD log"):
        data = file.read_bytes()
        version, events, start = _head(file, data)
        records, whole = _records(data, start, version, events)
    count = sum(len(each) for each in records.values())
    builder = Builder(file, f"Crazyflie uSD log, version {version}, {count} records of {len(events)} kind(s)")
    if not count:
        raise LogError(f"{file}: holds a header but no record; log for longer")
    if not _checksum_fits(data):
        state = "was cut off or is damaged" if whole else "was cut off within a record"
        builder.note(f"truncated: the file {state} (its checksum does not fit); {count} records were read")
    for number, rows in records.items():
        _add(builder, rows, events[number], version)
    return builder.flight("log acc, gyro and motor or rpm (config.txt on the card)")


def _head(file: Path, data: bytes) -> tuple[int, dict[int, _Event], int]:
    """Return the version, the events by number, and where the records start."""
    if len(data) < 5:
        raise LogError(f"{file}: was cut off within its first bytes; copy it again from the card")
    version, count = struct.unpack_from("<HH", data, 1)
    stamp = ("time", "<u4" if version == 1 else "<u8")
    place = 5
    events: dict[int, _Event] = {}
    for _ in range(count):
        (number,) = struct.unpack_from("<H", data, place)
        name, place = _text(data, place + 2)
        (variables,) = struct.unpack_from("<H", data, place)
        place += 2
        fields: list[tuple[str, str]] = [("event", "<u2"), stamp]
        for _ in range(variables):
            text, place = _text(data, place)
            variable, _, kind = text.rpartition("(")
            if kind[:1] not in _TYPES or not kind.endswith(")"):
                raise LogError(
                    f"{file}: variable '{text[:40]}' has no type that is known; copy the file again"
                )
            fields.append((variable, _TYPES[kind[0]]))
        events[number] = _Event(name, np.dtype(fields))
    return version, events, place


def _text(data: bytes, place: int) -> tuple[str, int]:
    end = data.index(b"\0", place, place + 256)
    return data[place:end].decode("ascii"), end + 1


def _records(
    data: bytes, start: int, version: int, events: dict[int, _Event]
) -> tuple[dict[int, NDArray[np.void]], bool]:
    """Return the records of each event, and whether the last one was whole."""
    end = len(data) - 4
    if len(events) == 1:
        (number, event), size = next(iter(events.items())), 0
        size = event.record.itemsize
        rows = np.frombuffer(data, event.record, max(end - start, 0) // size, start)
        wrong = np.flatnonzero(rows["event"] != number)
        return {number: rows[: wrong[0]] if wrong.size else rows}, not wrong.size
    places: dict[int, list[int]] = {number: [] for number in events}
    sizes = {number: event.record.itemsize for number, event in events.items()}
    place, number_at = start, struct.Struct("<H").unpack_from
    while place + 2 <= end:
        number = number_at(data, place)[0]
        if number not in sizes or place + sizes[number] > end:
            break
        places[number].append(place)
        place += sizes[number]
    raw = np.frombuffer(data, np.uint8)
    found = {}
    for number, event in events.items():
        at = np.array(places[number], np.int64)
        picked = (
            raw[at[:, None] + np.arange(event.record.itemsize)] if len(at) else np.empty((0, 1), np.uint8)
        )
        found[number] = np.frombuffer(picked.tobytes(), event.record)
    return found, place == end


def _checksum_fits(data: bytes) -> bool:
    return len(data) > 4 and zlib.crc32(memoryview(data)[:-4]) == struct.unpack("<I", data[-4:])[0]


def _add(builder: Builder, rows: NDArray[np.void], event: _Event, version: int) -> None:
    """Add the channels of one event."""
    names = set(event.record.names or ())
    factor, period = (1_000_000, 2**32 * 1_000_000) if version == 1 else (1_000, 0)
    stamps = rows["time"].astype(np.int64)
    if np.any(stamps > 2**62 // factor) or np.any(stamps < 0):
        good = (stamps >= 0) & (stamps <= 2**62 // factor)
        builder.note(f"broken: {int(np.sum(~good))} records with an impossible time were left out")
        rows, stamps = rows[good], stamps[good]
    time: Times = stamps * factor
    if period:
        time = unwrapped(time, period)

    def stack(*wanted: str) -> Values | None:
        if not set(wanted) <= names:
            return None
        values = np.empty((len(rows), len(wanted)))
        for column, name in enumerate(wanted):
            values[:, column] = rows[name]
        return values

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
        position, xyzw = stack(*(f"{prefix}.{a}" for a in "xyz")), stack(*(f"{prefix}.q{a}" for a in "xyzw"))
        velocity = stack(*(f"{prefix}.v{a}" for a in "xyz"))
        if position is not None:
            builder.add(f"{channel}.position", time, position, "m", "world")
        if xyzw is not None:
            builder.add(f"{channel}.wxyz", time, unit(xyzw[:, [3, 0, 1, 2]]), "1", "world")
        if velocity is not None:
            builder.add(f"{channel}.velocity", time, velocity, "m/s", "world")
    for variable, scale in (("pm.vbatMV", 1e-3), ("pm.vbat", 1.0)):
        if variable in names:
            builder.add("battery.voltage", time, rows[variable].astype(np.float64) * scale, "V")
