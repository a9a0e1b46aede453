"""A flight with one channel of each kind, short."""

import numpy as np
import pytest

from haltere.flight import Channel, Flight

ROTORS = ("front", "left", "back", "right")
KINDS = [
    ("imu.accel", 200, (3,), "m/s2", "imu", ()),
    ("imu.gyro", 200, (3,), "rad/s", "imu", ()),
    ("pose.position", 50, (3,), "m", "world", ()),
    ("pose.wxyz", 50, (4,), "1", "world", ()),
    ("gps.position", 5, (3,), "m", "world", ()),
    ("rotors.speed", 100, (4,), "rad/s", "", ROTORS),
    ("rotors.command", 100, (4,), "1", "", ROTORS),
    ("joints.angle", 100, (2,), "rad", "", ("a", "b")),
    ("joints.rate", 100, (2,), "rad/s", "", ("a", "b")),
    ("joints.command", 100, (2,), "rad", "", ("a", "b")),
    ("mag.field", 50, (3,), "T", "mag", ("x", "y", "z")),
    ("baro.altitude", 50, (), "m", "world", ()),
    ("truth.position", 1000, (3,), "m", "world", ()),
    ("truth.wxyz", 1000, (4,), "1", "world", ()),
    ("truth.twist", 1000, (6,), "m/s, rad/s", "body", ()),
    ("truth.acceleration", 1000, (6,), "m/s2, rad/s2", "body", ()),
    ("truth.imu.accel_bias", 1000, (3,), "m/s2", "imu", ()),
    ("odd.matrix", 20, (2, 2), "1", "", ()),
    ("odd.nothing", 20, (0,), "1", "", ()),
]


def make_flight(duration, **texts):
    rng = np.random.default_rng(1)
    channels = []
    for name, rate, shape, unit, frame, columns in KINDS:
        count = int(duration * rate)
        time = 1_700_000_000_123_456_789 + np.arange(count) * (1_000_000_000 // rate)
        values = rng.normal(size=(count, *shape))
        channels.append(Channel(name, time, values, unit, frame, columns))
    return Flight.of(*channels, **texts)


@pytest.fixture(scope="session")
def flight():
    return make_flight(0.5, airframe='name = "x"\n', scenario='title = "schräg"\n', notes=("a note",))


@pytest.fixture
def half_a_minute():
    return make_flight(30.0)
