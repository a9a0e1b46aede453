"""Our decoder of Blackbox logs against an encoder that writes number after number, the examples of the format's
documentation, and orangebox."""

import itertools
import logging
import tracemalloc

import numpy as np
import pytest
from tests.unit.logs import blackbox_writer as writer

from haltere.bench.blackbox import FIELDS, made_up_log
from haltere.logs import LogError, read
from haltere.logs.readers import blackbox, blackbox_frames
from haltere.logs.readers.blackbox_codes import CodeError, Window, group_fields, least_length, values_of
from haltere.logs.readers.blackbox_frames import decode_frames
from haltere.logs.readers.blackbox_header import find_sessions, read_header


def decoded(data, number=0):
    start, end = find_sessions(bytes(data))[number]
    return decode_frames(bytes(data), read_header(bytes(data), start, end), end)


def read_fields(encodings, data):
    window = Window.of(np.frombuffer(data, np.uint8))
    return values_of(window, group_fields(encodings), np.array([0]))[:, 0].tolist()


def equal(session, log):
    """Whether a session holds what was written."""
    rows = np.stack([session.main[name] for name in session.main.names], axis=1)
    np.testing.assert_array_equal(rows, np.array(log.main, float))
    for kind, frames in log.others.items():
        table = session.others[kind]
        assert table.before.tolist() == [count for count, _ in frames]
        if frames:
            rows = np.stack([table[name] for name in table.names], axis=1)
            np.testing.assert_array_equal(rows, np.array([row for _, row in frames], float))
    assert list(session.events) == log.events
    assert session.complete
    assert session.breaks == session.lost == 0


@pytest.mark.parametrize(
    ("encodings", "data", "values"),
    [
        ((1,), b"\x01", [1]),
        ((1,), b"\x7f", [127]),
        ((1,), b"\x80\x01", [128]),
        ((1,), b"\xa0\xb7\x01", [23456]),
        ((0, 0, 0), b"\x01\x02\x03", [-1, 1, -2]),
        ((0, 0), b"\xfe\xff\xff\xff\x0f\xff\xff\xff\xff\x0f", [2147483647, -2147483648]),
        ((0, 0, 0, 0), b"\x9a\x03\x02\x01\x54", [205, 1, -1, 42]),
        ((6,) * 5, b"\x14\x08\x10", [0, 0, 4, 0, 8]),
        ((8,) * 4, b"\x52\x0d\x42", [13, 0, 4, 2]),
        ((9, 1), b"\x05", [0, 5]),
        ((3,), b"\x05", [-5]),
    ],
)
def test_examples_of_the_documentation(encodings, data, values):
    assert read_fields(encodings, data) == values


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (0, "1"), (1, "0100"), (2, "0101"), (3, "01100"), (6, "01111"), (7, "00100000"), (14, "00100111"),
        (15, "001010000"), (225, "00010001100010"),
        (4294967292, "000001000001111111111111111111111111111101"),
        (4294967293, "000001000001111111111111111111111111111110"),
        (4294967294, "0000010000011111111111111111111111111111110"),
        (4294967295, "0000010000011111111111111111111111111111111"),
    ],
)  # fmt: skip
def test_elias_delta_as_documented(value, bits):
    assert read_fields((4,), writer.as_bytes(bits)) == [value]
    assert read_fields((4, 4, 1), writer.as_bytes(bits + "0100") + b"\x09") == [value, 1, 9]


ALL = (0, 1, 3, 4, 5, 6, 7, 8, 9, 10)


@pytest.mark.parametrize("seed", range(12))
def test_what_was_written_is_read(seed):
    intervals = [(32, 1, 1), (64, 1, 4), (32, 2, 3), (16, 5, 6), (1, 1, 1), (128, 1, 2)][seed % 6]
    encodings = ALL if seed % 3 else (0, 1, 6, 7, 8)
    log, _ = writer.write_log(
        seed, 500, encodings, wide=seed % 2 == 1, intervals=intervals, start=1280 * seed
    )
    equal(decoded(log.data), log)


def test_pieces_are_read_like_the_whole(monkeypatch):
    """History of predictions, broken chains and GPS homes go from piece to piece."""
    log, _ = writer.write_log(100, 700, ALL, intervals=(256, 1, 1))
    for size in (60, 257, 4096):
        monkeypatch.setattr(blackbox_frames, "PIECE", size)
        equal(decoded(log.data), log)


def test_a_log_of_one_stretch_and_numbers_beyond_32_bits():
    log, _ = writer.write_log(200, 300, wide=True, intervals=(1 << 20, 1, 1))
    equal(decoded(log.data), log)


@pytest.mark.parametrize("seed", range(6))
def test_as_orangebox(seed, tmp_path):
    """Small numbers: orangebox computes with more than 32 bits. It knows 4 and 5 not to be bits, and not 10."""
    orangebox = pytest.importorskip("orangebox")
    log, fields = writer.write_log(
        300 + seed, 300, (0, 1, 6, 7, 8), intervals=[(32, 1, 1), (32, 1, 4)][seed % 2], others=False
    )
    (tmp_path / "log.bbl").write_bytes(log.data)
    logging.getLogger("orangebox").setLevel(logging.CRITICAL)
    parser = orangebox.Parser.load(str(tmp_path / "log.bbl"))
    rows = np.array([frame.data[: len(fields)] for frame in parser.frames()], float)
    session = decoded(log.data)
    ours = np.stack([session.main[name] for name in session.main.names], axis=1)
    np.testing.assert_array_equal(ours % 2.0**32, rows % 2.0**32)


def test_several_sessions_and_what_lies_between(tmp_path):
    one, _ = writer.write_log(1, 50)
    two, _ = writer.write_log(2, 120)
    data = b"\x00" * 100 + one.data + b"\xff" * 333 + two.data + b"IPSG" * 20
    assert len(find_sessions(bytes(data))) == 2
    equal(decoded(data, 0), one)
    equal(decoded(data, 1), two)


@pytest.mark.parametrize(
    "rest", [b"\xff" * 9000, b"\x00" * 9000, b"P" * 3, b"", b"\xff" * 9000 + b"I" * 9000]
)
def test_what_follows_where_the_power_was_lost(rest, monkeypatch):
    """An erased flash memory, or part of a frame: what is before it is read; a frame counts if a letter follows it."""
    log, _ = writer.write_log(9, 300, others=False)
    monkeypatch.setattr(blackbox_frames, "PIECE", 2048)
    session = decoded(log.data[: log.data.index(b"E\xffEnd")] + rest)
    ours = np.stack([session.main[name] for name in session.main.names], axis=1)
    assert len(ours) == (300 if rest in (b"", b"PPP") else 299)
    np.testing.assert_array_equal(ours, np.array(log.main, float)[: len(ours)])
    assert session.complete == (rest == b"")


def test_bytes_that_are_missing_cost_frames_up_to_the_next_i_frame():
    log, _ = writer.write_log(3, 400, intervals=(32, 1, 1), others=False)
    detected = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        at = int(rng.integers(40, 300))
        cut = log.offsets[at] + 3
        data = log.data[:cut] + log.data[cut + int(rng.integers(1, 30)) :]
        session = decoded(data)
        iteration = session.main["loopIteration"].astype(int)
        assert session.lost == 400 - len(iteration)
        assert session.lost < 70
        detected += session.lost > 0
        assert np.all(np.diff(iteration) > 0)
        right = np.array(log.main, float)[iteration]
        ours = np.stack([session.main[name] for name in session.main.names], axis=1)
        wrong = np.flatnonzero((ours != right).any(axis=1))
        assert len(wrong) < 32  # what decodes by chance up to the next I frame
        assert all(at - 1 <= iteration[k] < at + 64 for k in wrong)
    assert detected > 20  # a byte that says "more follows" can be missing without a trace


def test_time_that_goes_back_or_leaps_is_left_out():
    log, _ = writer.write_log(4, 400, intervals=(32, 1, 1), others=False)
    at = log.offsets[64] + 2  # the time of an I frame
    for value in (b"\xff\xff\xff\xff\x07", b"\x05"):
        old = writer.unsigned_byte(log.main[64][1])
        assert log.data[at : at + len(old)] == old
        session = decoded(log.data[:at] + value + log.data[at + len(old) :])
        assert session.lost == 32
        assert 64 not in session.main["loopIteration"]
        assert 96 in session.main["loopIteration"]
        assert np.all(np.diff(session.main["time"]) > 0)


def test_a_pause_that_all_later_frames_share_is_kept():
    one, _ = writer.write_log(5, 200, others=False)
    other, _ = writer.write_log(5, 800, others=False)
    data = one.data[: one.offsets[160]] + other.data[other.offsets[640] :]
    assert decoded(data).main["loopIteration"].tolist() == [*range(160), *range(640, 800)]


def test_time_that_overflows_goes_on():
    log, _ = writer.write_log(6, 200, others=False)
    rows = np.array(log.main)
    shift = (1 << 32) - 60_000 - rows[0, 1]
    data = bytearray(log.data[: log.offsets[0]])
    edges = [*log.offsets, len(log.data)]
    for number, (begin, end) in enumerate(itertools.pairwise(edges)):
        frame = log.data[begin:end]
        if frame[:1] == b"I":
            old = b"I" + writer.unsigned_byte(number) + writer.unsigned_byte(rows[number, 1])
            assert frame.startswith(old)
            time = int(rows[number, 1] + shift) & 0xFFFFFFFF
            frame = b"I" + writer.unsigned_byte(number) + writer.unsigned_byte(time) + frame[len(old) :]
        data += frame
    session = decoded(data)
    assert session.lost == 0
    np.testing.assert_array_equal(session.main["time"], (rows[:, 1] + shift) % 2.0**32)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"Data version:2", b"Data version:1", "version"),
        (b"Field P encoding:9", b"Field P encoding:2", "encoding 2"),
        (b"Field P predictor:6", b"Field P predictor:77", "predictor 77"),
        (b"Field I name:loopIteration,time", b"Field I name:time,time", "same name"),
        (b"Field I name:loopIteration,time", b"Field I name:a,b", "no time"),
        (b"Field I predictor:0", b"Field I predictor:0,0", "predictors"),
        (b"minthrottle:1070", b"minthrottle:many", "minthrottle"),
        (b"Field I name:", b"Field I name:" + b",".join(b"x%d" % i for i in range(3000)) + b",", "at most"),
        (b"motor[0]", b"rotor[0]", r"motor\[0\]"),
    ],
)
def test_headers_that_cannot_be(old, new, said):
    log, _ = writer.write_log(7, 20, (8,), intervals=(32, 1, 1))
    data = bytes(log.data).replace(b"I predictor:0,0,0", b"I predictor:0,0,4").replace(old, new)
    with pytest.raises(CodeError, match=said):
        decoded(data)


def test_fields_that_take_no_bytes_are_no_way_to_fill_the_memory():
    groups = group_fields((1,) + (9,) * 900)
    assert least_length(groups) == 2
    names = ["loopIteration", "time", *(f"x{i}" for i in range(900))]
    head = "".join(
        f"H {line}\n"
        for line in (
            "Product:Blackbox flight data recorder by Nicholas Sherlock", "Data version:2",
            "Field I name:" + ",".join(names),
            *(f"Field {k} predictor:" + ",".join(["0"] * len(names)) for k in "IP"),
            *(f"Field {k} encoding:" + ",".join(["9"] * len(names)) for k in "IP"),
        )
    )  # fmt: skip
    with pytest.raises(CodeError, match="902 fields"):
        decoded(head.encode() + b"I" * 5000)


def test_a_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    (tmp_path / "log.bbl").write_bytes(writer.write_log(8, 20)[0].data)
    monkeypatch.setattr(blackbox, "LARGEST", 1000)
    with pytest.raises(LogError, match="at most 0 MB are read; log at a lower rate"):
        read(tmp_path / "log.bbl")


@pytest.mark.slow
def test_memory_is_twice_the_channels_at_most_and_300_mb(tmp_path):
    """A quarter of an hour at 1 kHz, read into a flight."""
    frames = 1_000_000
    (tmp_path / "log.bbl").write_bytes(made_up_log(frames))
    tracemalloc.start()
    try:
        flight = read(tmp_path / "log.bbl")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(flight["imu.gyro"].time) == frames
    channels = 8 * frames * (2 + len(FIELDS))
    assert peak < 2 * channels + 300e6
    assert peak < 1.5 * channels
