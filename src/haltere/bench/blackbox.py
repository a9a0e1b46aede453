"""The decoder of Blackbox logs beside orangebox, where that is installed, on a log that is made up here.

The log has the fields, predictors and encodings of a Betaflight log; what is logged of them is random, one byte of each
in a P frame, which is about what recorded logs have.
"""

import logging
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from haltere.logs.readers.blackbox_frames import DecodedSession, decode_frames
from haltere.logs.readers.blackbox_header import find_sessions, read_header
from haltere.papers.blaha.timings import timing_row

FRAMES = 60_000
"""A minute at 1 kHz."""
INTERVAL = 32
FIELDS = (
    *(f"axis{term}[{axis}]" for term in "PIDF" for axis in range(3)),
    *(f"rcCommand[{i}]" for i in range(4)),
    *(f"{name}[{axis}]" for name in ("gyroADC", "accSmooth") for axis in range(3)),
    *(f"{name}[{i}]" for name in ("motor", "eRPM") for i in range(4)),
)
_MEAN = ("axis", "gyroADC", "accSmooth", "motor")
ALLOWANCE = 300.0
"""MB beside twice the decoded channels that the decoder may take."""


def blackbox_rows(frames: int = FRAMES) -> list[dict[str, Any]]:
    """Rows of `haltere bench`: CPU seconds to decode a log, beside orangebox, and the most memory beside its bound."""
    log = made_up_log(frames)
    ours = _best(lambda: decoded(log))
    theirs = orangebox_seconds(log)
    peer = "orangebox" if theirs is not None else "orangebox (not installed)"
    tracemalloc.start()
    try:
        session = decoded(log)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
    bound = 2 * session.main.values.size * 8 / 1e6 + ALLOWANCE
    return [
        timing_row(f"decode a Blackbox log of {frames} frames", ours, "s", peer, theirs),
        timing_row("most memory of the same", peak, "MB", "bound", bound),
    ]


def decoded(log: bytes) -> DecodedSession:
    """Return the only session of a log."""
    start, end = find_sessions(log)[0]
    return decode_frames(log, read_header(log, start, end), end)


def orangebox_seconds(log: bytes) -> float | None:
    """CPU seconds that orangebox takes for all frames of a log; nothing if it is not installed."""
    try:
        from orangebox import Parser  # noqa: PLC0415 - GPLv3: not needed by the package, measured where it is there
    except ImportError:
        return None
    logging.getLogger("orangebox").setLevel(logging.CRITICAL)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "log.bbl"
        file.write_bytes(log)
        return _best(lambda: sum(1 for _ in Parser.load(str(file)).frames()), 1)


def made_up_log(frames: int, seed: int = 0) -> bytes:
    """Return a log whose main frames are numbered and stamped every millisecond and random in all else."""
    rng = np.random.default_rng(seed)
    count = len(FIELDS)
    lines = [
        "Product:Blackbox flight data recorder by Nicholas Sherlock", "Data version:2",
        "Firmware revision:Betaflight 4.5.1 (made up)", f"I interval:{INTERVAL}", "P interval:1",
        "motorOutput:48,2047", "acc_1G:2048", "motor_poles:14", "looptime:1000",
        "Field I name:loopIteration,time," + ",".join(FIELDS), "Field I signed:0,0" + ",1" * count,
        "Field I predictor:0,0" + ",0" * count, "Field I encoding:1,1" + ",0" * count,
        "Field P predictor:6,2," + ",".join("3" if name.startswith(_MEAN) else "1" for name in FIELDS),
        "Field P encoding:9,0" + ",0" * count,
    ]  # fmt: skip
    logged = rng.integers(0, 100, (frames, count + 2), dtype=np.uint8)  # zigzag: from -50 to 49
    logged[:, 0], logged[:, 1] = ord("P"), 0
    out = [f"H {line}\n".encode() for line in lines]
    for first in range(0, frames, INTERVAL):
        numbers = rng.integers(0, 4000, count).tolist()
        out.append(b"I" + b"".join(map(_variable_byte, [first, 5_000_000 + 1000 * first, *numbers])))
        stretch = logged[first + 1 : min(first + INTERVAL, frames)]
        if len(stretch):  # the second frame of a stretch starts time's straight line: 1000, zigzag
            out.append(b"P" + _variable_byte(2000) + stretch[0, 2:].tobytes() + stretch[1:].tobytes())
    return b"".join([*out, b"E\xffEnd of log\x00"])


def _variable_byte(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _best(call: Callable[[], Any], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)
