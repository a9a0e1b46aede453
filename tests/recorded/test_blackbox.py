"""Our decoder of Blackbox logs against orangebox on every recorded log: each field of each frame, and the time."""

import logging
import time

import numpy as np
import pytest

from haltere.logs.readers.blackbox_frames import decode_frames
from haltere.logs.readers.blackbox_header import find_sessions, read_header

BODIES = [
    f"thrown_body/{n}.BFL"
    for n in ("A_LOG00133", "B_LOG00152", "C_LOG00164", "device_LOG00119", "empty_LOG00179")
]
THROWS = [f"throw_real/LOG00{n}.BFL" for n in ("257", "262", "267", "272", "472_rotated_imu")]
SIMULATED = [f"throw_sim/LOG00{n}.BFL" for n in (158, 165)]
OLD = [f"field/betaflight_{n}.BFL" for n in ("chameleon", "hiro_high", "hiro_low")]
NEW = ["field/betaflight_bench.bbl", "field/betaflight_nazgul.bbl", "betaflight/sample-short.BFL"]
QUICK = {BODIES[4], SIMULATED[0], OLD[1]}
"""Of each kind one that orangebox decodes in about 2 s."""


def cases(names):
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names]


def ours(file):
    """Frames with the slow and GPS fields that are in force, the session, and CPU seconds of the decoding."""
    start = time.process_time()
    data = file.read_bytes()
    ((begin, end),) = find_sessions(data)
    session = decode_frames(data, read_header(data, begin, end), end)
    seconds = time.process_time() - start
    fields = {name: session.main[name] for name in session.main.names}
    for kind in "SG":
        table = session.others.get(kind)
        for name in table.names if table is not None else ():
            latest = np.searchsorted(table.before, np.arange(len(session.main)), side="right") - 1
            held = table[name][np.maximum(latest, 0)] if len(table) else np.zeros(len(latest))
            fields.setdefault(name, np.where(latest >= 0, held, np.nan))
    return fields, session, seconds


def theirs(file):
    orangebox = pytest.importorskip("orangebox")
    logging.getLogger("orangebox").setLevel(logging.CRITICAL)
    start = time.process_time()
    parser = orangebox.Parser.load(str(file))
    rows = [frame.data for frame in parser.frames()]
    seconds = time.process_time() - start
    table = np.array([[np.nan if value in (None, "") else value for value in row] for row in rows], float)
    return dict(zip(parser.field_names, table.T, strict=True)), seconds


@pytest.mark.parametrize("name", cases([*BODIES, *THROWS, *SIMULATED, *NEW]))
def test_every_field_is_orangeboxs(recorded, name):
    file = recorded(name, "each field against orangebox")
    (fields, session, quick), (oracle, slow) = ours(file), theirs(file)
    assert set(fields) == set(oracle)
    for field, values in oracle.items():
        np.testing.assert_array_equal(fields[field], values, err_msg=field)
    assert session.lost == session.breaks == 0
    assert slow > 2.0 * quick


@pytest.mark.parametrize("name", cases(OLD))
def test_logs_of_betaflight_3_1_where_orangebox_errs(recorded, name):
    """Orangebox keeps more than 32 bits, so 1000 is 4294968296, and loses the frames after the first event.

    It errs: no throttle is 2^32, and the frames that only we have go on from the first I frame without a gap in the
    iterations, at the times of the others.
    """
    file = recorded(name, "each field against orangebox")
    (fields, session, quick), (oracle, slow) = ours(file), theirs(file)
    assert set(fields) == set(oracle)
    ours_there = np.isin(fields["loopIteration"], oracle["loopIteration"])
    sane = oracle["time"] >= fields["time"][0]
    assert (~sane).sum() <= 3
    first = int(np.flatnonzero(fields["loopIteration"] == oracle["loopIteration"][sane][0])[0])
    assert first < 60
    assert sane.sum() == len(session.main) - first
    for field, values in oracle.items():
        known = ~np.isnan(values[sane])  # it loses the first slow frame, too
        mine, other = fields[field][first:][known], values[sane][known]
        np.testing.assert_array_equal(mine % 2.0**32, other % 2.0**32, err_msg=field)
        assert known.mean() > 0.9
    step = np.diff(fields["loopIteration"])
    usual = np.median(step)
    assert set(step[: first + 1]) == {usual}
    assert not ours_there[:first].all()
    period = np.diff(fields["time"]) / np.median(np.diff(fields["time"]))
    assert period[: first + 1].min() > 0.9
    assert period[: first + 1].max() < 2.5
    assert session.lost == np.rint(step / usual - 1).sum()
    assert all(values.max() < 2.0**32 for field, values in fields.items() if not field.startswith("GPS"))
    assert slow > 2.0 * quick
