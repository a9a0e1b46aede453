"""A written flight is read back bit by bit."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from haltere.flight import Channel, Flight, FlightError
from haltere.flight.mcap import read_mcap, write_mcap

words = st.sampled_from(["accel", "gyro", "position", "wxyz", "angle", "rate", "command", "altitude", "odd"])
names = st.builds(lambda a, b: f"{a}.{b}", st.sampled_from(["imu", "truth", "a-b", "a_b", "2nd"]), words)
units = st.sampled_from(["1", "m", "m/s2", "rad/s", "rad", "T", "µ°"])
bits = st.integers(0, 2**64 - 1).map(lambda n: np.uint64(n).view(np.float64))


@st.composite
def channels(draw):
    count = draw(st.integers(0, 6))
    shape = draw(st.sampled_from([(), (0,), (1,), (3,), (4,), (6,), (2, 3)]))
    stamps = draw(st.lists(st.integers(0, 2**31 * 10**9 - 1), min_size=count, max_size=count, unique=True))
    stamps = draw(st.sampled_from([sorted(stamps), list(range(count))]))
    values = draw(hnp.arrays(np.float64, (count, *shape), elements=bits))
    columns = [f"c{k}" for k in range(shape[0])] if len(shape) == 1 and draw(st.booleans()) else []
    frame = draw(st.sampled_from(["", "world", "Körper"]))
    return Channel(draw(names), np.array(stamps, np.int64), values, draw(units), frame, tuple(columns))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("flights")


@given(
    chosen=st.lists(channels(), max_size=8, unique_by=lambda c: c.name),
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
def test_any_flight_is_read_back_bit_by_bit(folder, chosen, text):
    flight = Flight.of(*chosen, airframe=text, scenario=text[::-1], notes=(text,))
    write_mcap(flight, folder / "any.mcap", overwrite=True)
    back = read_mcap(folder / "any.mcap")
    assert back == flight
    assert back.names == flight.names


def test_a_flight_of_every_kind_is_read_back(flight, tmp_path):
    write_mcap(flight, tmp_path / "f.mcap")
    assert read_mcap(tmp_path / "f.mcap") == flight


def test_many_chunks_make_no_difference(flight, tmp_path, monkeypatch):
    monkeypatch.setattr("haltere.flight.mcap.writer.CHUNK_SIZE", 3000)
    write_mcap(flight, tmp_path / "f.mcap")
    assert read_mcap(str(tmp_path / "f.mcap")) == flight


def test_the_same_flight_gives_the_same_bytes(flight, tmp_path):
    for name in ("a", "b"):
        write_mcap(flight, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_half_a_minute_is_written_and_read_in_seconds(half_a_minute, tmp_path):
    flight = half_a_minute
    start = time.process_time()
    write_mcap(flight, tmp_path / "f.mcap")
    assert read_mcap(tmp_path / "f.mcap") == flight
    assert time.process_time() - start < 6.0  # about 1 s on one core; the rest is for slow machines


def test_a_file_is_kept_unless_asked(flight, tmp_path):
    file = tmp_path / "f.mcap"
    file.write_text("mine")
    with pytest.raises(FlightError, match="exists already"):
        write_mcap(flight, file)
    assert file.read_text() == "mine"
    write_mcap(flight, file, overwrite=True)
    assert read_mcap(file) == flight
    assert [entry.name for entry in tmp_path.iterdir()] == ["f.mcap"]


@pytest.mark.parametrize("stamp", [-1, 2**31 * 10**9])
def test_times_that_ros_cannot_hold_are_refused(stamp, tmp_path):
    flight = Flight.of(Channel("a", [stamp], [1.0], "1", ""))
    with pytest.raises(FlightError, match=r"channel 'a': time stamps from .* shift the time"):
        write_mcap(flight, tmp_path / "f.mcap")
    assert not list(tmp_path.iterdir())


def test_places_that_cannot_be_written_are_told(flight, tmp_path):
    with pytest.raises(FlightError, match="is a directory"):
        write_mcap(flight, tmp_path)
    with pytest.raises(FlightError, match="cannot be written"):
        write_mcap(flight, tmp_path / "no" / "such" / "f.mcap")
    with pytest.raises(FlightError, match="not valid Unicode"):
        write_mcap(Flight(airframe="\ud800"), tmp_path / "f.mcap")
    assert not list(tmp_path.iterdir())
