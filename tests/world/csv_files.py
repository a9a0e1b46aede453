"""Flights as CSV: rows with empty cells, or a time column for each stream."""

from pathlib import Path

import numpy as np
from tests.world.flights import Flight


def headings(channel: str, columns: tuple[str, ...]) -> list[str]:
    """Names of a channel's columns: `imu.gyro.x`, `rotors.speed.m1`; one that has a single column is itself."""
    return [channel] if len(columns) == 1 else [f"{channel}.{column}" for column in columns]


def write_csv(flight: Flight, path: Path, layout: str = "rows") -> None:
    """Write a flight.

    "rows": one column `time`, a row per stamp that occurs; where a channel has no sample its cells are empty.
    "columns": a column such as `imu.gyro.time` before the values of each channel; short ones end with empty cells.
    """
    if layout not in {"rows", "columns"}:
        raise ValueError(f"no layout {layout!r}; there are 'rows' and 'columns'")
    table = _rows(flight) if layout == "rows" else _columns(flight)
    Path(path).write_text("\n".join(table) + "\n", encoding="utf-8")


def _cells(values) -> list[str]:
    return [",".join(f"{value:.9g}" for value in row) for row in values.tolist()]


def _rows(flight):
    micros = {name: np.round(stream.time * 1e6).astype(np.int64) for name, stream in flight.streams.items()}
    every = np.unique(np.concatenate(list(micros.values())))
    parts = [[f"{stamp * 1e-6:.6f}" for stamp in every.tolist()]]
    names = ["time"]
    for channel, stream in flight.streams.items():
        names += headings(channel, stream.columns)
        empty = "," * (len(stream.columns) - 1)
        column = [empty] * len(every)
        cells = _cells(stream.values)
        for index, cell in zip(np.searchsorted(every, micros[channel]).tolist(), cells, strict=True):
            column[index] = cell
        parts.append(column)
    return [",".join(names), *(",".join(row) for row in zip(*parts, strict=True))]


def _columns(flight):
    names, parts = [], []
    longest = max(len(stream.time) for stream in flight.streams.values())
    for channel, stream in flight.streams.items():
        names += [f"{channel}.time", *headings(channel, stream.columns)]
        cells = [f"{t:.6f},{row}" for t, row in zip(stream.time.tolist(), _cells(stream.values), strict=True)]
        parts.append(cells + ["," * len(stream.columns)] * (longest - len(cells)))
    return [",".join(names), *(",".join(row) for row in zip(*parts, strict=True))]
