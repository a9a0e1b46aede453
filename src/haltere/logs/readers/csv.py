"""CSV tables: the columns of a mapping file, of our own names, or of a table whose header is known.

The samples of a channel are the rows in which all of its columns are filled; rows in which it is empty belong to
other channels. A cell that is blank or `nan` is empty. Any other text that is no number makes a sample without value,
and so does a column that is empty throughout, alone or beside others: the doctor names both as broken.

Without a mapping, a column is taken by its name: `time` (or `timestamp_us` and the like) and the channel's own name
with its part, as in `imu.gyro.x`, `pose.wxyz.w`, `rotors.speed.m1`. Tables of px4-system-identification are known, too.
"""

import csv
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TextIO

import numpy as np

from haltere.flight import Flight
from haltere.foundation.numbers import Bools, Floats, Times
from haltere.logs.builder import Builder, LogError, from_seconds, reading
from haltere.logs.mapping import (
    TIMES,
    UNIT_BY_NAME,
    ChannelPart,
    Mapping,
    TimePart,
    add_mapped,
    mapping_from_text,
    specific_force,
)

_TIME = re.compile(r"(time|timestamp|t|stamp)(_?(s|ms|us|ns))?", re.IGNORECASE)
_PARTS = {"x", "y", "z", "w"}
_BLOCK = 4096

PX4_SYSID = """
[time]
column = "timestamp_us"
unit = "us"
[channels."pose.position"]
columns = ["pos_x", "pos_y", "pos_z"]
unit = "m"
axes = "ned"
[channels."pose.velocity"]
columns = ["vx", "vy", "vz"]
unit = "m/s"
axes = "ned"
[channels."pose.wxyz"]
columns = ["roll", "pitch", "yaw"]
order = "rpy"
axes = "ned"
[channels."imu.gyro"]
columns = ["p", "q", "r"]
unit = "rad/s"
axes = "frd"
[channels."pose.acceleration"]
columns = ["ax", "ay", "az"]
unit = "m/s2"
axes = "ned"
[channels."rotors.command"]
columns = ["motor_0", "motor_1", "motor_2", "motor_3"]
unit = "1"
[channels."rotors.speed"]
columns = ["esc_0_rpm", "esc_1_rpm", "esc_2_rpm", "esc_3_rpm"]
unit = "rad/s"
"""
"""Tables of erdemarslan380/px4-system-identification: the estimator's state; `esc_*_rpm` holds rad/s."""


def read_table(file: Path, mapping: Mapping | None) -> Flight:
    """Return the flight in a CSV file."""
    with reading(file, "CSV table", "check that it is text in columns"):
        names, mark = _header(file)
        chosen = mapping or _guess(file, names)
        data, bad = _load(file, names, mark, _needed(file, names, chosen))
    rows = len(next(iter(data.values())))
    builder = Builder(file, f"CSV table, {len(names)} columns, {rows} rows")
    if bad:
        builder.note(f"broken: {bad} entries or rows are no numbers and count as missing")
    if mapping is None and chosen == mapping_from_text(PX4_SYSID):
        builder.note(
            "known table: px4-system-identification; pose is the estimator's, esc_*_rpm are rad/s, "
            "imu.accel is made of the estimated acceleration, attitude and gravity"
        )
    good = np.isfinite(data[chosen.time.column])
    if not np.any(good):
        raise LogError(f"{file}: no row has a time in column '{chosen.time.column}'; check the table")
    if not np.all(good):
        builder.note(f"broken: {int(np.sum(~good))} rows without a time were left out")
        data = {name: column[good] for name, column in data.items()}
    time = _times(file, chosen.time, data[chosen.time.column])
    left = Counter(column for entry in chosen.channels.values() for column in entry.columns)
    for name, entry in chosen.channels.items():
        values = np.empty((len(time), len(entry.columns)))
        left.subtract(entry.columns)
        for place, column in enumerate(entry.columns):
            values[:, place] = data[column] if left[column] > 0 else data.pop(column)
        samples = _samples(builder, name, entry.columns, values)
        if samples.any():
            values = values[samples]
            values[np.isinf(values)] = np.nan
            add_mapped(builder, name, entry, time[samples], values)
    if not builder.channels:
        _refuse_empty(builder)
    made = specific_force(builder.channels, chosen.gravity == "excluded")
    if made is not None:
        builder.channels["imu.accel"] = made
    return builder.flight("name its columns in a mapping file (--map)")


def _samples(builder: Builder, name: str, columns: tuple[str, ...], values: Floats) -> Bools:
    """Return which rows (T,) of the values (T, k) of a channel are its samples, and note what is left out."""
    filled = ~np.isnan(values)
    used = filled.any(axis=0)
    if not used.any():
        return np.ones(len(values), bool)
    some = np.asarray(filled.any(axis=1))
    complete = np.asarray(filled[:, used].all(axis=1))
    left_out = int(some.sum() - complete.sum())
    if left_out:
        counts = ", ".join(f"{c} {n}" for c, n in zip(columns, filled.sum(axis=0).tolist(), strict=True))
        builder.note(
            f"incomplete: {name}: {left_out} of {int(some.sum())} rows have only a part of its columns and are left "
            f"out (filled: {counts}); write all columns of a channel into the same row"
        )
    if not some.all():
        said = f"filled in {int(some.sum())} of {len(some)} rows; the others are no samples"
        builder.note_of_channel(name, "rows", said)
    return complete


def _refuse_empty(builder: Builder) -> None:
    """Raise a `LogError` if no row is a sample of any channel."""
    for note in builder.notes:
        if note.startswith("incomplete: "):
            raise LogError(f"{builder.file}: holds no samples; {note.removeprefix('incomplete: ')}")


def _lines(stream: TextIO) -> Iterator[str]:
    return (line for line in stream if line.strip() and not line.startswith("#"))


def _header(file: Path) -> tuple[list[str], str]:
    """Return the names of the columns and the mark between them."""
    with file.open(encoding="utf-8-sig", newline="") as stream:
        first = next(_lines(stream), "")
    mark = max(",;\t", key=first.count)
    names = [word.strip() for word in next(csv.reader([first], delimiter=mark), [])]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if not names or all(_is_number(name) for name in names):
        raise LogError(f"{file}: its first line holds numbers; give the columns names there")
    if doubled:
        raise LogError(f"{file}: two columns are called '{doubled[0]}'; rename one of them")
    return names, mark


def _needed(file: Path, names: list[str], mapping: Mapping) -> list[str]:
    """Return the columns that a mapping asks for; a `LogError` names the first that is not there."""
    if mapping.time.column not in names:
        called = f" called '{mapping.time.column}'" if mapping.time.column else ""
        raise LogError(
            f"{file}: no column of time{called}; call it 'time' (s), or name it in a mapping file: [time] column = ..."
        )
    needed = [mapping.time.column]
    for name, entry in mapping.channels.items():
        missing = [column for column in entry.columns if column not in names]
        if missing or not entry.columns:
            said = f"no column '{missing[0]}'" if missing else "no columns given"
            raise LogError(f"{file}: channel '{name}': {said}; the table has: {', '.join(names[:40])}")
        needed += entry.columns
    return list(dict.fromkeys(needed))


def _load(file: Path, names: list[str], mark: str, needed: list[str]) -> tuple[dict[str, Floats], int]:
    """Return the needed columns as numbers (see `_numbers`), and how many entries or rows are none."""
    pick = itemgetter(*(names.index(name) for name in needed)) if len(needed) > 1 else None
    only = names.index(needed[0])
    columns = [array("d") for _ in needed]
    rows: list[Sequence[str]] = []
    bad = 0

    def keep() -> None:
        for column, numbers in zip(columns, _numbers(rows).T, strict=True):
            column.frombytes(numbers.tobytes())
        rows.clear()

    with file.open(encoding="utf-8-sig", newline="", errors="replace") as stream:
        lines = _lines(stream)
        next(lines)
        for row in csv.reader(lines, delimiter=mark):
            if len(row) != len(names):
                bad += 1
                continue
            rows.append(pick(row) if pick else (row[only],))
            if len(rows) == _BLOCK:
                keep()
    if rows:
        keep()
    if not columns[0]:
        raise LogError(f"{file}: has a header but no row of {len(names)} columns; record the flight again")
    data = {name: np.frombuffer(column) for name, column in zip(needed, columns, strict=True)}
    return data, bad + sum(int(np.isinf(column).sum()) for column in data.values())


def _numbers(rows: list[Sequence[str]]) -> Floats:
    """Return cells as numbers: NaN for one that is empty, infinity for one that holds something else than a number."""
    try:
        return np.array(rows, np.float64)
    except ValueError:
        return np.array([[_number(word) for word in row] for row in rows])


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return np.inf if word.strip() else np.nan


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _times(file: Path, entry: TimePart, stamps: Floats) -> Times:
    if np.any(np.abs(stamps) * (TIMES[entry.unit] * 1e-9) > 9e9):
        raise LogError(f"{file}: column '{entry.column}' holds no times in {entry.unit}; check its unit")
    return from_seconds(stamps) if entry.unit == "s" else _scaled(stamps, entry.unit)


def _scaled(stamps: Floats, unit: str) -> Times:
    factor = TIMES[unit]
    whole = np.floor(stamps)
    return np.asarray(whole.astype(np.int64) * factor + np.rint((stamps - whole) * factor).astype(np.int64))


def _guess(file: Path, names: list[str]) -> Mapping:
    """Return a mapping for columns with our names, or for a table that is known."""
    if {"timestamp_us", "pos_x", "roll", "p", "motor_0", "esc_0_rpm"} <= set(names):
        return mapping_from_text(PX4_SYSID)
    clock = next((name for name in names if _TIME.fullmatch(name)), "")
    unit = (match.group(3) or "s") if (match := _TIME.fullmatch(clock)) else "s"
    channels: dict[str, list[str]] = {}
    for name in names:
        if "." in name and name != clock:
            channels.setdefault(name.rsplit(".", 1)[0], []).append(name)
    known = {name: columns for name, columns in channels.items() if name.rsplit(".", 1)[-1] in UNIT_BY_NAME}
    if not clock or not known:
        raise LogError(
            f"{file}: its columns are not known here ({', '.join(names[:8])}, ...); "
            "say which is which in a mapping file (--map), see docs/logs.md"
        )
    parts = {}
    for name, columns in known.items():
        last = tuple(column.rsplit(".", 1)[-1] for column in columns)
        named = () if set(last) <= _PARTS else last
        parts[name] = ChannelPart(
            columns=tuple(columns), names=named, unit=UNIT_BY_NAME[name.rsplit(".", 1)[-1]]
        )
    return Mapping(time=TimePart(column=clock, unit=unit.lower()), channels=parts)
