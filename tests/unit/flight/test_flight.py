import pickle

import numpy as np
import pytest

from haltere.flight import Channel, Flight, FlightError
from haltere.flight.mcap import read_mcap


def channel(name, start=0, count=11, step=100_000_000):
    return Channel(name, start + np.arange(count) * step, np.arange(float(count)), "1", "")


def test_it_tells_what_it_holds():
    flight = Flight.of(channel("a", 500_000_000), channel("b.c", 300_000_000))
    assert flight.names == ("a", "b.c")
    assert list(flight) == ["a", "b.c"]
    assert len(flight) == 2
    assert "a" in flight
    assert flight["a"].values[3] == 3.0
    assert flight.start == 300_000_000
    assert flight.duration == pytest.approx(1.2)
    title, *lines = repr(flight).splitlines()
    assert title == "Flight(2 channels, 1.2 s)"
    assert lines[0].split() == ["channel", "rate", "/", "Hz", "samples", "width", "unit", "frame"]
    assert [line.split()[0] for line in lines[1:]] == list(flight.names)
    assert flight._repr_html_().count("<tr>") == 3


def test_nothing_can_be_changed():
    flight = Flight.of(channel("a"))
    with pytest.raises(TypeError):
        flight.channels["b"] = channel("b")
    with pytest.raises(AttributeError):
        flight.notes = ("x",)
    more = flight.with_channel(channel("b"))
    assert (flight.names, more.names, more.without("a").names) == (("a",), ("a", "b"), ("b",))
    assert more.with_channel(channel("a", count=3))["a"].values.shape == (3,)
    assert flight.with_notes("x", "y").notes == ("x", "y")


def test_an_unknown_channel_is_told_with_the_nearest():
    flight = Flight.of(channel("imu.accel"), channel("pose.wxyz"))
    with pytest.raises(
        FlightError, match=r"no channel 'imu.acel' in this flight; did you mean 'imu.accel'\?"
    ):
        flight["imu.acel"]
    with pytest.raises(FlightError, match=r"it has: imu.accel, pose.wxyz"):
        flight.without("zzz")


def test_faults_are_told():
    with pytest.raises(FlightError, match="given twice"):
        Flight.of(channel("a"), channel("a"))
    with pytest.raises(FlightError, match="stands under the name 'b'"):
        Flight({"b": channel("a")})
    with pytest.raises(FlightError, match="got int; give a Channel"):
        Flight({"b": 3})
    with pytest.raises(FlightError, match="must be a mapping"):
        Flight([channel("a")])
    with pytest.raises(FlightError, match="a tuple of texts"):
        Flight(notes="one")
    with pytest.raises(FlightError, match="texts"):
        Flight(airframe=3)


def test_a_part_has_both_ends_and_keeps_its_time():
    flight = Flight.of(channel("a", 2_000_000_000), channel("b", 2_050_000_000), airframe="x")
    part = flight.between(0.2, 0.4)
    assert part["a"].time.tolist() == [2_200_000_000, 2_300_000_000, 2_400_000_000]
    assert part["b"].time.tolist() == [2_250_000_000, 2_350_000_000]
    assert part.airframe == "x"
    assert flight.between(-np.inf, np.inf) == flight
    assert flight.between(0.0, flight.duration) == flight
    assert len(flight.between(100.0, 200.0)["a"]) == 0
    with pytest.raises(FlightError, match="earlier time first"):
        flight.between(2.0, 1.0)
    with pytest.raises(FlightError, match="earlier time first"):
        flight.between(float("nan"), 1.0)


def test_equality_ignores_order_only():
    a, b = channel("a"), channel("b")
    assert Flight.of(a, b) == Flight.of(b, a)
    assert Flight.of(a) != Flight.of(a, b)
    assert Flight.of(a) != Flight.of(a, notes=("x",))
    assert Flight.of(a) != a


def test_samples_without_a_value_are_counted():
    bad = Channel("a", np.arange(3), [1.0, np.nan, np.inf], "1", "")
    assert Flight.of(bad, channel("b")).not_finite() == {"a": 2}


def test_it_travels_between_processes(flight):
    assert pickle.loads(pickle.dumps(flight)) == flight


def test_an_empty_flight_has_no_duration():
    assert Flight().duration == 0.0
    assert Flight().start == 0


def test_it_is_saved_and_read_back(flight, tmp_path):
    path = flight.save(tmp_path / "flight.mcap")
    assert read_mcap(path) == flight
    with pytest.raises(FlightError, match="overwriting"):
        flight.save(path)
    assert flight.save(path, overwrite=True) == path
