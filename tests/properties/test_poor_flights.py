"""Flights of next to nothing: the doctor and `identify` give a result or one line, never a warning."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haltere.airframe import from_catalogue
from haltere.doctor.diagnosis import diagnose
from haltere.flight import Channel, Flight
from haltere.foundation import HaltereError
from haltere.identification.pipeline import identify

KINDS = {
    "imu.accel": (3, "m/s2"),
    "imu.gyro": (3, "rad/s"),
    "rotors.speed": (4, "rad/s"),
    "rotors.command": (4, "1"),
    "pose.position": (3, "m"),
    "pose.wxyz": (4, "1"),
    "gps.position": (3, "m"),
    "battery.voltage": (0, "V"),
}
RATES = [1.0, 50.0, 200.0, 200.0]


@st.composite
def channels(draw, name):
    """A channel of few samples, or of a few seconds; still, empty of numbers, or noise with holes."""
    width, unit = KINDS[name]
    count = draw(st.sampled_from([0, 1, 2, 5, 60, 600, 3000, 3000]))
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    start = draw(st.sampled_from([0.0, 0.0, 0.0, 2.0, 1e6]))
    time = ((start + np.arange(count) / draw(st.sampled_from(RATES))) * 1e9).astype(np.int64)
    values = rng.normal(size=(count, width) if width else count)
    kind = draw(st.sampled_from(["zero", "same", "noise", "noise", "holes", "nothing", "huge"]))
    if kind == "zero":
        values = np.zeros_like(values)
    elif kind == "same":
        values = np.full_like(values, 1.5)
    elif kind == "holes":
        values[rng.random(count) < 0.7] = np.nan
    elif kind == "nothing":
        values = np.full_like(values, np.nan)
    elif kind == "huge":
        values = values * 1e200
    columns = ("m1", "m2", "m3", "m4") if name.startswith("rotors.") else ()
    return Channel(name, time, values, unit, "", columns)


@st.composite
def flights(draw):
    chosen = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=6, unique=True))
    if draw(st.booleans()):
        chosen = sorted({"imu.accel", "imu.gyro", *chosen})
    return Flight.of(*(draw(channels(name)) for name in chosen))


def attempt(function, *args):
    """Call it; a fault must be one line."""
    said = ""
    try:
        function(*args)
    except HaltereError as error:
        said = str(error)
    assert "\n" not in said


@pytest.mark.parametrize("name", [None, "hummingbird"])
@given(flight=flights())
def test_the_doctor_sees_any_flight(name, flight):
    attempt(diagnose, flight, from_catalogue(name) if name else None)


@given(flight=flights())
def test_identify_takes_any_flight_without_airframe(flight):
    attempt(identify, flight)
