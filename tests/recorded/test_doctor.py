"""Recorded flights with rotor speeds: telemetry that works raises no alarm, and one rotor spoiled is named."""

from dataclasses import replace

import numpy as np
import pytest

from haltere import logs
from haltere.doctor.diagnosis import diagnose

LOGS = (
    "betaflight/sample-short.BFL",
    "crazyflie_rpm/brushless_eckart36",
    "crazyflie_rpm/payload_eckart32",
    "px4/gazebo_x500_mass_vertical.csv",
    "throw_real/LOG00257.BFL",
    "throw_real/LOG00472_rotated_imu.BFL",
    "throw_sim/LOG00158.BFL",
    "nanodrone/raw/chirp_run1.csv",
    "nanodrone/raw/random_run1.csv",
    "nanodrone/raw/square_run2.csv",
)


@pytest.mark.parametrize("name", LOGS)
def test_rotors_raise_no_alarm_and_a_halved_one_is_named(recorded, name):
    file = recorded(name, "false alarms on rotor telemetry")
    mapping = recorded("nanodrone/map.toml", "its columns") if "nanodrone" in name else None
    flight = logs.read(file, mapping=mapping)
    assert [finding.kind for finding in diagnose(flight).findings if finding.rotors] == []
    speed = flight["rotors.speed"]
    values = np.array(speed.values)
    values[:, 1] *= 0.5
    found = [
        finding
        for finding in diagnose(flight.with_channel(replace(speed, values=values))).findings
        if finding.rotors
    ]
    assert [finding.kind for finding in found] == ["rotor-half"]
    assert found[0].rotors == ((speed.columns or ("m1", "m2"))[1],)
