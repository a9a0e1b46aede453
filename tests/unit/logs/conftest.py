"""A flight with every kind of channel, smooth and different in each column, made without any reader."""

import numpy as np
import pytest

from haltere.flight import Channel, Flight, nanoseconds


def smooth(rng, seconds, columns, size):
    phases, speeds = rng.uniform(0, 6, columns), rng.uniform(0.5, 3, columns)
    return size * np.sin(seconds[:, None] * speeds + phases)


def make_flight(duration=4.0, seed=0, rate=200.0):
    rng = np.random.default_rng(seed)
    fast = np.arange(0.0, duration, 1 / rate) + 12.0
    slow = np.arange(0.0, duration, 0.02) + 12.0
    tf, ts = (nanoseconds(np.round(t, 6)) for t in (fast, slow))
    q = smooth(rng, slow, 4, 0.4) + np.array([1.0, 0, 0, 0])
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    names = ("m1", "m2", "m3", "m4")
    return Flight.of(
        Channel("imu.accel", tf, smooth(rng, fast, 3, 3.0) + np.array([0, 0, 9.81]), "m/s2", "imu"),
        Channel("imu.gyro", tf, smooth(rng, fast, 3, 1.5), "rad/s", "imu"),
        Channel("rotors.speed", tf, smooth(rng, fast, 4, 60.0) + 500.0, "rad/s", "", names),
        Channel("rotors.command", tf, smooth(rng, fast, 4, 0.2) + 0.5, "1", "", names),
        Channel("pose.position", ts, smooth(rng, slow, 3, 2.0), "m", "world"),
        Channel("pose.wxyz", ts, q, "1", "world"),
        Channel("battery.voltage", ts, 15.0 + smooth(rng, slow, 1, 0.3)[:, 0], "V", ""),
    )


@pytest.fixture(scope="session")
def flown():
    return make_flight()
