"""Channels without any number: the doctor says so and goes on without them."""

import numpy as np

from haltere.doctor.diagnosis import diagnose
from haltere.flight import Channel, Flight


def test_channels_without_numbers_are_named_and_left_out():
    time = np.arange(100) * 10_000_000
    flight = Flight.of(
        Channel("imu.gyro", time, np.full((100, 3), np.nan), "rad/s", "imu"),
        Channel("imu.accel", time[:0], np.zeros((0, 3)), "m/s2", "imu"),
        Channel("battery.voltage", time, np.full(100, 15.0), "V", ""),
        Channel("truth.position", time, np.full((100, 3), np.nan), "m", "world"),
    )
    diagnosis = diagnose(flight)
    said = {finding.channels: finding.evidence for finding in diagnosis.findings}
    assert said == {
        ("imu.gyro",): "imu.gyro: no number in any of its 100 samples",
        ("imu.accel",): "imu.accel: no number in any of its 0 samples",
    }
    assert diagnosis.kinds() == ("broken-channel", "broken-channel")
    assert diagnosis.mended.names == ("battery.voltage",)
