"""ArduPilot logs (DataFlash .bin): NED and FRD brought to ENU and FLU, pulse widths to 0..1, rpm to rad/s.

    A3 95 | type u8 | body; type 0x80 (FMT) describes another: type u8, length u8, name 4, format 16, columns 64

The letters of a format are those of pymavlink. Bytes that belong to no message are skipped and counted;
messages of one kind are decoded all at once. Motors are the outputs whose SERVOn_FUNCTION is 33 to 40 (motor
1 to 8) and 82 to 85 (9 to 12).
"""

import mmap
from array import array
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pymavlink.DFReader import FORMAT_TO_STRUCT

from haltere.flight import Flight
from haltere.flight.rotations import (
    enu_flu_from_ned_frd,
    enu_from_ned,
    flu_from_frd,
    normalize,
    wxyz_from_euler,
)
from haltere.foundation.constants import DEGREE, RPM
from haltere.foundation.numbers import Bools, Floats, Times
from haltere.logs.builder import GAUSS, Builder, LogError, local, reading, rotor_names

_HEAD, _FMT = b"\xa3\x95", 0x80
_WANTED = {"IMU", "ACC", "GYR", "RCOU", "ESC", "ATT", "XKQ", "NKQ", "XKF1", "NKF1", "BAT", "BARO", "MAG", "GPS",
           "PARM"}  # fmt: skip
_COLUMNS = {
    "TimeUS", "SampleUS", "I", "Instance", "C", "GyrX", "GyrY", "GyrZ", "AccX", "AccY", "AccZ", "RPM", "Q1", "Q2",
    "Q3", "Q4", "Roll", "Pitch", "Yaw", "PN", "PE", "PD", "VN", "VE", "VD", "Volt", "Alt", "MagX", "MagY", "MagZ",
    "Lat", "Lng", "Name", "Value", *(f"C{n}" for n in range(1, 17)),
}  # fmt: skip
_BLOCK = 1 << 12
_FORGET = 1 << 22
"""Bytes after which the memory of what was read is given back."""
_MOTOR_FUNCTIONS = {**{32 + n: n for n in range(1, 9)}, **{73 + n: n for n in range(9, 13)}}

SPEED_HINT = (
    "settings: the log has no rotor speed (ESC messages); set SERVO_BLH_TRATE, or "
    "SERVO_DSHOT_ESC and bidirectional DShot (SERVO_BLH_BDMASK)"
)
RATE_HINT = "settings: the IMU was logged at {:.0f} Hz; set LOG_BITMASK bit 19 (raw IMU) or INS_RAW_LOG_OPT"


@dataclass
class _Messages:
    """One kind of message: its layout, and where its messages start."""

    name: str
    record: np.dtype[np.void]
    scales: dict[str, float]
    length: int
    offsets: "array[int]" = field(default_factory=lambda: array("q"))


def read_dataflash(file: Path) -> Flight:
    """Return the flight in a DataFlash log."""
    with reading(file, "ArduPilot DataFlash log"):
        tables, skipped = _load(file)
    count = sum(len(table["rows"]) for table in tables.values())
    builder = Builder(file, f"ArduPilot DataFlash log, {count} messages of {len(tables)} kinds used")
    if skipped > 528:  # pages of block-based logs end in up to 249 unused bytes
        builder.note(f"broken: {skipped} bytes belong to no message and were skipped")
    with reading(file, "ArduPilot DataFlash log"):
        parameters = _parameters(tables)
        _imu(builder, tables)
        _motors(builder, tables, parameters)
        _other_channels(builder, tables)
    if not builder.channels:
        raise LogError(
            f"{file}: holds no signal that is known here; set LOG_BITMASK and LOG_DISARMED, and fly again"
        )
    return builder.flight("set LOG_BITMASK")


def _load(file: Path) -> tuple["Tables", int]:
    """Return the columns of all messages that are wanted, and how many bytes belong to none."""
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        kinds, skipped = _scan(data)
        tables = {}
        for name in list(kinds):
            kind = kinds.pop(name)
            if len(kind.offsets):
                tables[name] = _decode(data, kind)
        return tables, skipped


def _scan(data: mmap.mmap) -> tuple[dict[str, _Messages], int]:
    """Return the messages of the kinds that are wanted, and how many bytes belong to none."""
    wanted: dict[str, _Messages] = {}
    kinds: dict[int, _Messages | None] = {}
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
                    number, messages = described
                    lengths[number] = messages.length
                    keep = messages.name in _WANTED and messages.name not in wanted
                    kinds[number] = messages if keep else kinds.get(number)
                    if keep:
                        wanted[messages.name] = messages
            elif (found := kinds.get(kind)) is not None:
                found.offsets.append(offset)
            offset += length
        else:
            following = data.find(_HEAD, offset + 1)
            following = following if following > 0 else total
            skipped += following - offset
            offset = following
    return wanted, skipped + max(total - offset, 0)


def _describe(body: bytes) -> tuple[int, _Messages] | None:
    """Return the type and layout that an FMT message describes; None if it makes no sense."""
    name, letters, columns = (
        body[a:b].split(b"\0")[0].decode("ascii", "replace") for a, b in ((2, 6), (6, 22), (22, 86))
    )
    names = [word for word in columns.split(",") if word]
    if (
        body[0] == _FMT
        or any(letter not in FORMAT_TO_STRUCT for letter in letters)
        or len(names) != len(letters)
    ):
        return None
    kinds = []
    for letter in letters:
        code = FORMAT_TO_STRUCT[letter][0]
        kinds.append(f"S{code[:-1]}" if code.endswith("s") else f"<{code}".replace("<e", "<f2"))
    if len(set(names)) != len(names):
        return None
    record = np.dtype(
        [
            ("head", "S3"),
            *((n, np.dtype(k) if k[0] == "S" else _number(k)) for n, k in zip(names, kinds, strict=True)),
        ]
    )
    if record.itemsize != body[1]:
        return None
    scales = {n: float(FORMAT_TO_STRUCT[c][1] or 1.0) for n, c in zip(names, letters, strict=True)}
    return body[0], _Messages(name, record, scales, record.itemsize)


_NUMBERS = {"b": "i1", "B": "u1", "h": "<i2", "H": "<u2", "i": "<i4", "I": "<u4", "f": "<f4",
            "d": "<f8", "q": "<i8", "Q": "<u8"}  # fmt: skip


def _number(code: str) -> np.dtype[np.generic]:
    return np.dtype(_NUMBERS.get(code[1:], code))


def _decode(data: mmap.mmap, kind: _Messages) -> dict[str, NDArray[np.generic]]:
    """Return the columns that are used of all messages of one kind; `rows` only counts them."""
    starts = np.frombuffer(kind.offsets, np.int64)
    table: dict[str, NDArray[np.generic]] = {"rows": np.ones(len(starts), bool)}
    for name, scale in kind.scales.items():
        if name in _COLUMNS:
            whole = kind.record[name].kind == "S" or scale == 1.0
            table[name] = np.empty(len(starts), kind.record[name] if whole else np.float64)
    buffer = np.frombuffer(data, np.uint8)
    for low in range(0, len(starts), _BLOCK):
        part = starts[low : low + _BLOCK]
        rows = buffer[part[:, None] + np.arange(kind.length)].view(kind.record)[:, 0]
        for name in table.keys() - {"rows"}:
            scale, column = kind.scales[name], rows[name]
            whole = column.dtype.kind == "S" or scale == 1.0
            table[name][low : low + len(part)] = column if whole else column.astype(np.float64) * scale
        _forget(data, int(part[-1]))
    del buffer
    return table


def _forget(data: mmap.mmap, offset: int) -> None:
    """Give back the memory of what was read of a file before an offset, where the system can."""
    whole = offset - offset % mmap.ALLOCATIONGRANULARITY
    if whole and hasattr(mmap, "MADV_DONTNEED"):
        data.madvise(mmap.MADV_DONTNEED, 0, whole)


Tables = dict[str, dict[str, NDArray[np.generic]]]


def _parameters(tables: Tables) -> dict[str, float]:
    table = tables.get("PARM", {})
    if not {"Name", "Value"} <= set(table):
        return {}
    names = [bytes(name).decode("ascii", "replace") for name in table["Name"]]
    return dict(zip(names, table["Value"].astype(np.float64).tolist(), strict=True))


def _first(table: dict[str, NDArray[np.generic]]) -> Bools:
    """Where the messages are of the first instance of a sensor."""
    for name in ("I", "Instance", "C"):
        if name in table:
            return np.asarray(table[name] == np.min(table[name]))
    return np.ones(len(table["rows"]), bool)


def _keep_first(table: dict[str, NDArray[np.generic]]) -> None:
    """Leave in a table the messages of the first instance of a sensor only."""
    if table and not (mine := _first(table)).all():
        for name in table:
            table[name] = table[name][mine]


def _time(table: dict[str, NDArray[np.generic]], stamp: str = "TimeUS") -> Times:
    limited = np.minimum(table[stamp].astype(np.uint64), np.uint64(2**62 // 1000)).astype(np.int64)
    limited *= 1000
    return limited


def _stack(table: dict[str, NDArray[np.generic]], *names: str) -> Floats | None:
    if not {"TimeUS", *names} <= set(table):
        return None
    found = np.empty((len(table["rows"]), len(names)))
    for offset, name in enumerate(names):
        found[:, offset] = table[name]
    return found


def _imu(builder: Builder, tables: Tables) -> None:
    for channel, names, si, raw in (
        ("imu.gyro", ("GyrX", "GyrY", "GyrZ"), "rad/s", "GYR"),
        ("imu.accel", ("AccX", "AccY", "AccZ"), "m/s2", "ACC"),
    ):
        for source in (raw, "IMU"):
            table = tables.pop(raw, {}) if source == raw else tables.get(source, {})
            _keep_first(table)
            values = _stack(table, *names)
            if values is not None:
                time = _time(table, "SampleUS" if "SampleUS" in table else "TimeUS")
                builder.add(channel, time, flu_from_frd(values, values), si, "imu")
                values = None
    if "imu.gyro" in builder.channels and 0.0 < builder.channels["imu.gyro"].rate < 150.0:
        builder.note(RATE_HINT.format(builder.channels["imu.gyro"].rate))


def _motors(builder: Builder, tables: Tables, parameters: dict[str, float]) -> None:
    outputs = {}
    for channel in range(1, 17):
        motor = _MOTOR_FUNCTIONS.get(int(parameters.get(f"SERVO{channel}_FUNCTION", 0.0)))
        if motor is not None:
            outputs[motor] = channel
    table = tables.get("RCOU", {})
    chosen = [outputs[motor] for motor in sorted(outputs)] or [
        n for n in range(1, 9) if f"C{n}" in table and np.ptp(table[f"C{n}"].astype(np.float64)) > 0.0
    ]
    width = _stack(table, *(f"C{n}" for n in chosen)) if chosen else None
    if width is not None:
        low = float(parameters.get("MOT_PWM_MIN", 0.0)) or 1000.0
        high = float(parameters.get("MOT_PWM_MAX", 0.0)) or 2000.0
        builder.note(f"scale: motor commands are outputs {chosen}, 0 at {low:g} us and 1 at {high:g} us")
        command = np.clip((width - low) / max(high - low, 1.0), 0.0, 1.0)
        builder.add("rotors.command", _time(table), command, "1", "", rotor_names(len(chosen)))
    _speeds(builder, tables.get("ESC", {}), chosen)


def _speeds(builder: Builder, table: dict[str, NDArray[np.generic]], outputs: list[int]) -> None:
    """Add rotor speeds: each ESC reports on its own, so all are put on the clock of the first."""
    rpm = _stack(table, "RPM")
    if rpm is None or "Instance" not in table:
        builder.note(SPEED_HINT)
        return
    time, instance = _time(table), table["Instance"].astype(np.int64)
    present = np.unique(instance)
    order = (
        [n - 1 for n in outputs] if outputs and set(present) >= {n - 1 for n in outputs} else present.tolist()
    )
    clock = np.unique(time[instance == order[0]])
    columns = []
    for number in order:
        mine = instance == number
        columns.append(np.interp(clock, time[mine], rpm[mine, 0]))
    builder.note(
        "rotor speeds: each ESC reports on its own; they were interpolated to the clock of the first"
    )
    builder.add("rotors.speed", clock, np.stack(columns, axis=1) * RPM, "rad/s", "", rotor_names(len(order)))


def _other_channels(builder: Builder, tables: Tables) -> None:
    for source in ("XKQ", "NKQ"):
        table = tables.get(source, {})
        wxyz = _stack(table, "Q1", "Q2", "Q3", "Q4")
        if wxyz is not None:
            mine = _first(table)
            turned = enu_flu_from_ned_frd(normalize(wxyz[mine]))
            builder.add("estimate.wxyz", _time(table)[mine], turned, "1", "world")
    table = tables.get("ATT", {})
    angles = _stack(table, "Roll", "Pitch", "Yaw")
    if angles is not None:
        turned = enu_flu_from_ned_frd(wxyz_from_euler(angles * DEGREE))
        builder.add("estimate.wxyz", _time(table), turned, "1", "world")
    for source in ("XKF1", "NKF1"):
        table = tables.get(source, {})
        offset, speed = _stack(table, "PN", "PE", "PD"), _stack(table, "VN", "VE", "VD")
        mine = _first(table) if table else np.zeros(0, bool)
        if offset is not None:
            builder.add("estimate.position", _time(table)[mine], enu_from_ned(offset[mine]), "m", "world")
        if speed is not None:
            builder.add("estimate.velocity", _time(table)[mine], enu_from_ned(speed[mine]), "m/s", "world")
    for source, columns, channel, factor, si in (
        ("BAT", ("Volt",), "battery.voltage", 1.0, "V"),
        ("BARO", ("Alt",), "baro.altitude", 1.0, "m"),
        ("MAG", ("MagX", "MagY", "MagZ"), "mag.field", 1e-3 * GAUSS, "T"),
    ):
        table = tables.get(source, {})
        values = _stack(table, *columns)
        if values is not None:
            mine = _first(table)
            shown = flu_from_frd(values[mine]) if len(columns) == 3 else values[mine, 0]
            frame = {"m": "world", "T": "mag"}.get(si, "")
            builder.add(channel, _time(table)[mine], shown * factor, si, frame)
    table = tables.get("GPS", {})
    fix = _stack(table, "Lat", "Lng", "Alt")
    if fix is not None:
        mine = _first(table)
        lat, lon, alt = fix[mine].T
        builder.add("gps.position", _time(table)[mine], local(lat * DEGREE, lon * DEGREE, alt), "m", "world")
