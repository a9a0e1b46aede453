"""Blackbox logs of Betaflight and INDIflight (.bbl, .bfl), decoded by orangebox, the only module that imports it.

orangebox is GPLv3 and therefore an extra: `pip install 'haltere[blackbox]'`. Scales as the firmware writes them:

    gyro    deg/s, times 10 if the header says blackbox_high_resolution; raw counts of 2000 deg/s in 2^15 where
            INDIflight logs its sensor unscaled, which the ratio to gyroADCafterRpm, 1.6384, gives away
    acc     acc_1G counts a g
    motor   from motorOutput[0] to motorOutput[1]
    eRPM    100 electrical revolutions a minute; a revolution has motor_poles / 2 of them
    INDIflight: omega rad/s; quat / 8127 (FRD in NED); extPos, pos mm; vel cm/s; extAtt mrad
"""

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from orangebox import Parser

from haltere.flight import Flight
from haltere.flight.rotations import enu_flu_from_ned_frd, enu_from_ned, normalize, wxyz_from_euler
from haltere.foundation.constants import DEGREE, RPM, STANDARD_GRAVITY
from haltere.foundation.numbers import Bools, Floats, Times
from haltere.logs.builder import Builder, LogError, reading, rotor_names, unwrapped

_QUATERNION = 8127.0
_COUNTS = 32768.0 / 2000.0  # a deg/s of a sensor that is not scaled
_WRAP = 2**32 * 1000  # ns after which the 32-bit counter of us starts anew
_BLOCK = 4096
_FIELDS = (
    "time", "gyroADC", "gyroADCafterRpm", "gyroUnfilt", "accSmooth", "accUnfiltered", "motor", "eRPM", "erpm",
    "omega", "omegaUnfiltered", "quat", "extPos", "extAtt", "extVel", "pos", "vel", "vbatLatest",
)  # fmt: skip


def read_blackbox(file: Path) -> Flight:
    """Return the flight in a Blackbox file; of several, the longest."""
    with reading(file, "Blackbox log"), _silence():
        parser, others = _longest(file)
        headers = parser.headers
        table, lost = _decode(file, parser)
    firmware = str(headers.get("Firmware revision", "unknown firmware"))
    builder = Builder(file, f"Blackbox log, {firmware}, {len(table['time'])} frames")
    if others:
        builder.note(f"several: the file holds {others + 1} logs; the longest was read")
    if lost:
        builder.note(lost)
    with reading(file, "Blackbox log"):
        time = unwrapped(table["time"].astype(np.int64) * 1000, _WRAP)
        high = float(_number(headers, "blackbox_high_resolution", 0.0)) > 0.0
        _imu(builder, table, time, headers, 10.0 if high else 1.0)
        _motors(builder, table, time, headers)
        if "Indiflight" in firmware:
            _pose(builder, table, time)
        if "vbatLatest" in table:
            builder.add(
                "battery.voltage",
                time,
                table["vbatLatest"] * (0.01 if np.nanmax(table["vbatLatest"]) > 100 else 0.1),
                "V",
            )
    return builder.flight("enable gyro, acc and motor in the Blackbox settings")


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keep what orangebox says to its logger away from the terminal."""
    logger = logging.getLogger("orangebox")
    before = (
        logger.disabled,
        [child for child in logging.Logger.manager.loggerDict if child.startswith("orangebox")],
    )
    loggers = [logging.getLogger(name) for name in before[1]]
    states = [each.disabled for each in loggers]
    for each in loggers:
        each.disabled = True
    try:
        yield
    finally:
        for each, state in zip(loggers, states, strict=True):
            each.disabled = state


def _longest(file: Path) -> tuple[Any, int]:
    """Return the parser of the log with the most bytes, and how many others there are."""
    parser = Parser.load(str(file))
    reader = parser.reader
    if reader.log_count > 1:
        ends = [*reader.log_pointers[1:], file.stat().st_size]
        sizes = np.array(ends) - np.array(reader.log_pointers)
        parser = Parser.load(str(file), int(np.argmax(sizes)) + 1)
    return parser, reader.log_count - 1


def _decode(file: Path, parser: Any) -> tuple[dict[str, Floats], str]:
    """Return the columns that are used, and what was lost."""
    names = parser.field_names
    wanted = [i for i, name in enumerate(names) if name.split("[")[0] in _FIELDS]
    if "time" not in names or len(wanted) < 2:
        raise LogError(f"{file}: its header describes no time or no signal; copy it again from the vehicle")
    blocks, rows, why = [], [], ""
    try:
        for frame in parser.frames():
            rows.append([frame.data[i] for i in wanted])
            if len(rows) == _BLOCK:
                blocks.append(np.array(rows, np.float64))
                rows = []
    except (TypeError, IndexError, StopIteration):
        why = "truncated: the log has no end mark: it was cut off, or power was lost; all frames before were read"
    if rows:
        blocks.append(np.array(rows, np.float64))
    if not blocks:
        raise LogError(f"{file}: holds a header but no whole frame; log for longer, or copy it again")
    table = np.concatenate(blocks)
    return {names[i]: table[:, k] for k, i in enumerate(wanted)}, why


def _number(headers: dict[str, Any], name: str, default: float) -> float:
    value = headers.get(name, default)
    try:
        return float(value)
    except (TypeError, ValueError):
        return default


def _stack(table: dict[str, Floats], name: str, count: int | None = None) -> Floats | None:
    found = [f"{name}[{i}]" for i in range(count or 12) if f"{name}[{i}]" in table]
    if not found or (count is not None and len(found) < count):
        return None
    return np.stack([table[each] for each in found], axis=1)


def _imu(
    builder: Builder, table: dict[str, Floats], time: Times, headers: dict[str, Any], scale: float
) -> None:
    gyro, filtered = _stack(table, "gyroADC", 3), _stack(table, "gyroADCafterRpm", 3)
    if gyro is not None:
        ratio = _ratio(gyro, filtered) if filtered is not None else scale
        if filtered is not None and abs(ratio / (_COUNTS / scale) - 1.0) < 0.03:
            scale = _COUNTS
            builder.note(
                "scale: gyroADC holds raw counts (2000 deg/s in 2^15): it is 1.64 times gyroADCafterRpm; taken as "
                "such, in the sensor's own axes"
            )
        builder.add("imu.gyro", time, gyro * (DEGREE / scale), "rad/s", "imu")
    accel = _stack(table, "accSmooth", 3)
    one_g = _number(headers, "acc_1G", 2048.0) or 2048.0
    if accel is not None:
        builder.add("imu.accel", time, accel * (STANDARD_GRAVITY / one_g), "m/s2", "imu")
    raw = _stack(table, "accUnfiltered", 3)
    if raw is not None:
        builder.add("imu_raw.accel", time, raw * (STANDARD_GRAVITY / one_g), "m/s2", "imu")
        builder.note(
            "aliased: imu_raw.accel (accUnfiltered) was decimated without a filter; imu.accel is accSmooth"
        )


def _ratio(gyro: Floats, filtered: Floats) -> float:
    """Return how much larger one gyro is than the other, signs and axes aside."""
    below = float(np.sqrt(np.mean(filtered**2)))
    return float(np.sqrt(np.mean(gyro**2))) / below if below > 1.0 else 0.0


def _motors(builder: Builder, table: dict[str, Floats], time: Times, headers: dict[str, Any]) -> None:
    motors = _stack(table, "motor")
    output = headers.get("motorOutput", [0, 0])
    low, high = (
        (float(each) for each in output) if isinstance(output, list) and len(output) == 2 else (0.0, 0.0)
    )
    speeds, source = _stack(table, "omegaUnfiltered"), "omegaUnfiltered"
    if speeds is None:
        speeds, source = _stack(table, "omega"), "omega"
    if speeds is None:
        poles = _number(headers, "motor_poles", 14.0) or 14.0
        for source in ("eRPM", "erpm"):
            electrical = _stack(table, source)
            if electrical is not None:
                speeds = electrical * (100.0 * RPM / (0.5 * poles))
                builder.note(f"scale: rotor speed is {source} * 100 with {poles:g} poles, as the header says")
                break
    if motors is not None and high > low:
        command = np.clip((motors - low) / (high - low), 0.0, 1.0)
        builder.add("rotors.command", time, command, "1", "", rotor_names(command.shape[1]))
    count = motors.shape[1] if motors is not None else 12
    if speeds is not None:
        speeds = speeds[:, : max(count, 1)] if source.startswith("omega") else speeds
        builder.add("rotors.speed", time, speeds, "rad/s", "", rotor_names(speeds.shape[1]))
    else:
        builder.note(
            "settings: the log has no rotor speed; set dshot_bidir = ON and log RPM (Blackbox, eRPM field)"
        )


def _pose(builder: Builder, table: dict[str, Floats], time: Times) -> None:
    """Add what INDIflight knows of its attitude and position; motion capture is held between its samples."""
    quaternion = _stack(table, "quat", 4)
    if quaternion is not None:
        builder.add(
            "estimate.wxyz", time, enu_flu_from_ned_frd(normalize(quaternion / _QUATERNION)), "1", "world"
        )
    for name, field, scale, si in (
        ("estimate.position", "pos", 1e-3, "m"),
        ("estimate.velocity", "vel", 1e-2, "m/s"),
    ):
        values = _stack(table, field, 3)
        if values is not None:
            builder.add(name, time, enu_from_ned(values * scale), si, "world")
    place, angles = _stack(table, "extPos", 3), _stack(table, "extAtt", 3)
    if place is None or angles is None:
        return
    fresh = np.concatenate([[True], np.any(np.diff(np.hstack([place, angles]), axis=0) != 0.0, axis=1)])
    if fresh.sum() > 1:
        fresh |= _at_rest(time, fresh)
        builder.note(
            f"held: motion capture is held between its samples; {int(fresh.sum())} of {len(fresh)} are new and kept"
        )
        builder.add("pose.position", time[fresh], enu_from_ned(place[fresh] * 1e-3), "m", "world")
        wxyz = enu_flu_from_ned_frd(wxyz_from_euler(angles[fresh] * 1e-3))
        builder.add("pose.wxyz", time[fresh], wxyz, "1", "world")


def _at_rest(time: Times, fresh: Bools) -> Bools:
    """Where to keep repeated samples: a vehicle at rest is seen as often as a moving one, though nothing changes."""
    usual = float(np.median(np.diff(time[fresh])))
    last = np.maximum.accumulate(np.where(fresh, np.arange(len(time)), 0))
    periods = np.floor((time - time[last]) / (2.0 * usual))
    return np.asarray((periods >= 1.0) & (np.diff(periods, prepend=0.0) > 0.0))
