"""Every reader on logs that were damaged at random, for a while: no crash, nothing over ten seconds.

`HALTERE_FUZZ_SECONDS` is the time for each reader; `make fuzz` gives ten minutes. The damage is new in every run; a
failure names its seed, and `HALTERE_FUZZ_SEED` repeats it.
"""

import os
import time

import numpy as np
import pytest
from tests.unit.logs.conftest import make_flight
from tests.unit.logs.test_faults import ENDINGS, WRITERS, attempt

SECONDS = float(os.environ.get("HALTERE_FUZZ_SECONDS", "20"))
SEED = int(os.environ.get("HALTERE_FUZZ_SEED", time.time_ns() % 2**32))
TELLING = (
    b"\x00",
    b"\xff",
    b"\x7f\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"nan",
    b"-1",
    b"1e308",
    b"\n",
    b",",
    b'"',
)


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """One to six changes: bytes, numbers at the edge, stretches taken out, doubled or moved; sometimes cut off."""
    found = bytearray(data)
    for _ in range(rng.integers(1, 7)):
        # The beginning describes the rest: damage it as often as all the rest together.
        end = len(found) if rng.random() < 0.5 else min(len(found), 3000)
        place = int(rng.integers(max(end, 1)))
        size = int(min(rng.integers(1, 200), max(len(found) - place, 1)))
        kind = rng.integers(6)
        if kind == 0:
            found[place : place + 1] = bytes([rng.integers(256)])
        elif kind == 1:
            edge = TELLING[rng.integers(len(TELLING))]
            found[place : place + len(edge)] = edge
        elif kind == 2:
            del found[place : place + size]
        elif kind == 3:
            found[place:place] = found[place : place + size]
        elif kind == 4:
            found[place : place + size] = rng.bytes(size)
        else:
            other = int(rng.integers(max(len(found), 1)))
            found[other:other] = found[place : place + size]
    return bytes(found[: int(rng.integers(len(found) + 1))] if rng.random() < 0.1 else found)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_a_damaged_log_gives_a_flight_or_one_line(tmp_path, name):
    whole = tmp_path / ENDINGS.get(name, f"log.{name}")
    WRITERS[name](make_flight(duration=0.5), whole)
    data, rng = whole.read_bytes(), np.random.default_rng(SEED)
    path, count, end = tmp_path / "damaged", 0, time.monotonic() + SECONDS
    while time.monotonic() < end:
        path.write_bytes(damaged(data, rng))
        try:
            attempt(path)
        except Exception as fault:
            raise AssertionError(f"{name}: log {count} of seed {SEED}: {fault!r}") from fault
        count += 1
    print(name, count, "logs")
