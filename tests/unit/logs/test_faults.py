"""Logs that are cut off, empty, broken, encrypted or no logs: one line, or a flight that says what is missing."""

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.logs import writers
from tests.unit.logs.conftest import make_flight

from haltere.flight import Flight
from haltere.flight.mcap import write_mcap
from haltere.foundation import HaltereError
from haltere.logs import LogError, read

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
    start = time.process_time()
    try:
        result = read(path)
    except HaltereError as error:
        result = str(error)
        assert "\n" not in result
        assert path.name in result
        assert ";" in result  # what to try
    assert time.process_time() - start < 10.0
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


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """One file that is written anew for each example."""
    return tmp_path_factory.mktemp("random") / "log"


@pytest.mark.parametrize("head", HEADS)
@given(tail=st.binary(max_size=400))
def test_random_bytes_behind_a_true_head(head, tail, path):
    path.write_bytes(head + tail)
    attempt(path)


@given(data=st.binary(max_size=300))
def test_random_bytes(data, path):
    path.write_bytes(data)
    attempt(path)


@pytest.mark.parametrize("name", WRITERS)
@given(
    share=st.floats(0.0, 1.0),
    tail=st.binary(max_size=200),
    again=st.integers(0, 2000),
    size=st.integers(0, 600),
)
def test_random_bytes_behind_the_beginning_of_a_log(logs, name, share, tail, again, size, path):
    data = logs[name]
    head = data[: int(share**4 * len(data))]  # mostly few: the beginning describes the rest
    path.write_bytes(head + tail + data[again : again + size])
    attempt(path)


COLUMNS = ["time", "t_us", "imu.gyro.x", "imu.gyro.y", "imu.gyro.z", "pose.wxyz.w", "rotors.speed.m1"]
COLUMNS += ["rotors.command.m1", "battery.voltage", "x"]
CELLS = [
    "",
    "0",
    "1",
    "2",
    "-1",
    "0.5",
    "nan",
    "inf",
    "-inf",
    "1e308",
    "1e19",
    "9e9",
    "a",
    '"',
    "1,5",
    " ",
    "0x1",
]


@given(
    names=st.lists(st.sampled_from(COLUMNS), max_size=6),
    rows=st.lists(st.lists(st.sampled_from(CELLS), max_size=6), max_size=8),
    mark=st.sampled_from([",", ";", "\t"]),
)
@example(names=["time", "imu.gyro.x"], rows=[["", ""]], mark=",")  # no row with a time
def test_random_tables(names, rows, mark, path):
    path.write_text("\n".join(mark.join(line) for line in [names, *rows]), encoding="utf-8")
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
        read(path)
    assert "\n" not in str(error.value)


def test_a_missing_file_a_folder_and_a_future_ulog(flown, tmp_path):
    with pytest.raises(LogError, match="check the name"):
        read(tmp_path / "nothing")
    with pytest.raises(LogError, match=r"metadata\.yaml"):
        read(tmp_path)
    writers.ulog(flown, tmp_path / "new.ulg", incompatible=True)
    with pytest.raises(LogError, match="ULog"):
        read(tmp_path / "new.ulg")


def test_names_out_of_a_damaged_log_cannot_break_the_line(tmp_path):
    head = b"\xbc\x02\x00\x01\x00\xff\xfffixedFrequency\x00\x01\x00acc.x(\n)\x00"
    (tmp_path / "log").write_bytes(head + bytes(40))
    with pytest.raises(LogError, match="no type that is known") as error:
        read(tmp_path / "log")
    assert "\n" not in str(error.value)


def test_a_mapping_for_a_log_that_needs_none_is_refused(flown, tmp_path):
    writers.usd(flown, tmp_path / "log")
    Path(tmp_path / "map.toml").write_text("[channels]\n", encoding="utf-8")
    with pytest.raises(LogError, match="needs no mapping"):
        read(tmp_path / "log", mapping=tmp_path / "map.toml")
