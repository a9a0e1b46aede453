"""Logs that are cut off, empty, broken, encrypted or no logs: one line, or a flight that says what is missing."""

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.logs import writers
from tests.unit.logs.conftest import make_flight

from haltere.flight import Flight, write_mcap
from haltere.foundation import HaltereError
from haltere.logs import LogError, read_log

WRITERS = {
    "ulog": writers.ulog,
    "usd": writers.usd,
    "dataflash": writers.dataflash,
    "blackbox": writers.blackbox,
    "csv": writers.table,
    "bag": lambda flight, path: writers.ros_bag(flight, path, 1),
    "mcap": write_mcap,
}
ENDINGS = {"bag": "log.bag"}
HEADS = [
    b"ULog\x01\x12\x35\x01",
    b"\xbc\x02\x00",
    b"\xa3\x95\x80",
    b"H Product:Blackbox\n",
    b"#ROSBAG V2.0\n",
    b"\x89MCAP0\r\n",
    b"SQLite format 3\x00",
    b"time,imu.gyro.x\n",
]


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """A small log of each format, as bytes."""
    folder = tmp_path_factory.mktemp("logs")
    short = make_flight(duration=1.0)
    found = {}
    for name, write in WRITERS.items():
        path = folder / ENDINGS.get(name, f"log.{name}")
        write(short, path)
        found[name] = path.read_bytes()
    return found


def attempt(path):
    """Read a log; it must give a flight or one line, within ten seconds."""
    start = time.monotonic()
    try:
        result = read_log(path)
    except HaltereError as error:
        result = str(error)
        assert "\n" not in result
        assert path.name in result
        assert ";" in result  # what to try
    assert time.monotonic() - start < 10.0
    return result


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("share", [0.02, 0.3, 0.7, 0.97])
def test_a_log_that_was_cut_off_is_read_as_far_as_it_goes_or_refused(logs, tmp_path, name, share):
    data = logs[name]
    path = tmp_path / "cut"
    path.write_bytes(data[: int(len(data) * share)])
    result = attempt(path)
    if name in {"ulog", "usd", "dataflash", "blackbox", "csv"} and share == 0.7:
        assert isinstance(result, Flight)
        assert 0.5 < result.duration < 0.9
    if name in {"usd", "blackbox"} and share == 0.7:
        assert any(note.startswith("truncated") for note in result.notes)


@pytest.mark.parametrize("name", WRITERS)
def test_damaged_bytes_never_raise_anything_but_one_line(logs, tmp_path, name):
    rng = np.random.default_rng(1)
    for trial in range(12):
        data = bytearray(logs[name])
        for place in rng.integers(len(data) if trial % 2 else 2000, size=8):
            data[place] = rng.integers(256)
        path = tmp_path / f"damaged{trial}"
        path.write_bytes(bytes(data))
        attempt(path)


@pytest.mark.parametrize("head", HEADS)
@settings(max_examples=25, deadline=None)
@given(tail=st.binary(max_size=400))
def test_random_bytes_behind_a_true_head(head, tail, tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "log"
    path.write_bytes(head + tail)
    attempt(path)


@settings(max_examples=40, deadline=None)
@given(data=st.binary(max_size=300))
def test_random_bytes(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "log"
    path.write_bytes(data)
    attempt(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"ULogEnc\x01" + bytes(60), "encrypted"),
        (b"Salted__" + bytes(range(200)), "encrypted"),
        (b"-----BEGIN PGP MESSAGE-----\n\nabc", "encrypted"),
        (b"PK\x03\x04" + bytes(30), "ZIP"),
        (b"\x1f\x8b\x08" + bytes(30), "gzip"),
        (b"<html><body>404</body></html>", "web page"),
        (b"%PDF-1.7", "PDF"),
        (b"just a letter to a friend", "no log that is known"),
        (b"UL", "cut off"),
        (np.random.default_rng(0).bytes(4096), "look encrypted"),
    ],
)
def test_what_is_no_log_is_said_in_one_line(content, said, tmp_path):
    path = tmp_path / "thing"
    path.write_bytes(content)
    with pytest.raises(LogError, match=said) as error:
        read_log(path)
    assert "\n" not in str(error.value)


def test_a_missing_file_a_folder_and_a_future_ulog(flown, tmp_path):
    with pytest.raises(LogError, match="check the name"):
        read_log(tmp_path / "nothing")
    with pytest.raises(LogError, match=r"metadata\.yaml"):
        read_log(tmp_path)
    writers.ulog(flown, tmp_path / "new.ulg", incompatible=True)
    with pytest.raises(LogError, match="ULog"):
        read_log(tmp_path / "new.ulg")


def test_names_out_of_a_damaged_log_cannot_break_the_line(tmp_path):
    head = b"\xbc\x02\x00\x01\x00\xff\xfffixedFrequency\x00\x01\x00acc.x(\n)\x00"
    (tmp_path / "log").write_bytes(head + bytes(40))
    with pytest.raises(LogError, match="no type that is known") as error:
        read_log(tmp_path / "log")
    assert "\n" not in str(error.value)


def test_a_mapping_for_a_log_that_needs_none_is_refused(flown, tmp_path):
    writers.usd(flown, tmp_path / "log")
    Path(tmp_path / "map.toml").write_text("[channels]\n", encoding="utf-8")
    with pytest.raises(LogError, match="needs no mapping"):
        read_log(tmp_path / "log", tmp_path / "map.toml")
