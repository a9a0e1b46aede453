"""Damaged Blackbox logs: bits flipped, cut off, spliced. One line, or a flight that says how much is left out."""

import itertools
import os
import time
from pathlib import Path

import numpy as np
import pytest
from tests.unit.logs import blackbox_writer as writer
from tests.unit.logs import writers
from tests.unit.logs.conftest import make_flight

from haltere.flight import Flight
from haltere.logs import LogError, read

RECORDED = Path(os.environ.get("HALTERE_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
ENCODINGS = [(0, 1, 3, 6, 7, 8), (0, 1, 3, 4, 5, 6, 7, 8, 9, 10), (0,), (6, 7), (8,)]
KINDS = (
    "bits",
    "bits of the header",
    "cut off",
    "bytes missing",
    "spliced",
    "noise within",
    "random bytes at the end",
)


def logs(folder, recorded):
    """Small logs with all encodings; with `recorded`, pieces of logs of others where they are."""
    found = []
    for seed, encodings in enumerate(ENCODINGS):
        intervals = [(32, 1, 1), (64, 1, 4), (16, 5, 6)][seed % 3]
        found.append(bytes(writer.write_log(500 + seed, 250, encodings, seed % 2 == 1, intervals)[0].data))
    writers.blackbox(make_flight(duration=1.0), folder / "flight")
    found.append((folder / "flight").read_bytes())
    if recorded:
        files = sorted(RECORDED.glob("*/*.BFL")) + sorted(RECORDED.glob("*/*.bbl"))
        found += [file.read_bytes()[:60_000] for file in files]
    return found


def damage(kind, rng, data, other):
    data = bytearray(data)
    size = len(data)
    header = data.rfind(b"\nH ") + 80
    if kind.startswith("bits"):
        for at in rng.integers(
            header if kind.endswith("header") else size, size=int(rng.choice([1, 5, 50, 500]))
        ):
            data[at] ^= 1 << int(rng.integers(8))
    elif kind == "cut off":
        data = data[: int(rng.integers(size))]
    elif kind == "bytes missing":
        for at in rng.integers(size, size=int(rng.choice([1, 4, 20]))):
            del data[at : at + int(rng.integers(1, 200))]
    elif kind == "spliced":
        a, b = (int(rng.integers(len(each))) for each in (data, other))
        data = data[:a] + other[b:] if rng.random() < 0.5 else data[:a] + data[int(rng.integers(size)) :]
    elif kind == "noise within":
        at = int(rng.integers(size))
        data[at : at + int(rng.integers(300))] = rng.bytes(int(rng.integers(300)))
    else:
        data += rng.bytes(int(rng.integers(5000)))
    return bytes(data)


def attempt(path):
    """The flight, or the line; nothing else may come out, and not later than after ten seconds."""
    start = time.process_time()
    try:
        result = read(path)
    except LogError as error:
        result = str(error)
        assert "\n" not in result
        assert path.name in result
        assert ";" in result
    assert time.process_time() - start < 10.0
    return result


def run(folder, count, recorded):
    whole = logs(folder, recorded)
    flights = noted = 0
    for seed, kind in zip(range(count), itertools.cycle(KINDS), strict=False):
        rng = np.random.default_rng([22, seed])
        data, other = (whole[int(rng.integers(len(whole)))] for _ in range(2))
        path = folder / "damaged.bbl"
        path.write_bytes(damage(kind, rng, data, other))
        result = attempt(path)
        if isinstance(result, Flight):
            flights += 1
            noted += any(note.startswith(("damaged:", "truncated:")) for note in result.notes)
            assert all(np.isfinite(result[name].values).all() for name in result.names)
    return flights, noted


def test_sixty_damaged_logs(tmp_path):
    flights, noted = run(tmp_path, 60, recorded=False)
    assert flights > 20
    assert noted > 10


@pytest.mark.slow
def test_two_thousand_damaged_logs(tmp_path):
    flights, noted = run(tmp_path, 2000, recorded=True)
    assert flights > 700
    assert noted > 350


def test_what_is_left_out_is_counted(tmp_path):
    log, _ = writer.write_log(600, 400, intervals=(32, 1, 1), others=False)
    at = log.offsets[70]
    (tmp_path / "log.bbl").write_bytes(log.data[:at] + b"\x80" * 40 + log.data[at + 40 :])
    flight = read(tmp_path / "log.bbl")
    (note,) = [note for note in flight.notes if note.startswith("damaged:")]
    assert "1 part(s)" in note
    assert f"{400 - len(flight['imu.gyro'].time)} main frame(s)" in note
