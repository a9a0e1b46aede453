"""Each effect alone is seen in its channel, at its size, and is off when it is off."""

import numpy as np
import pytest
from tests.world.drawings import QUADROTOR
from tests.world.draws import generator
from tests.world.effects import NOISELESS, SHOWN, compare
from tests.world.flights import fly
from tests.world.levels import EFFECTS, NASTY, REALISTIC
from tests.world.sensors import measure_pose


def test_every_effect_has_a_signal():
    assert list(SHOWN) == list(EFFECTS)


def measure(name, duration=0.5):
    found = compare(name, duration)
    return found.without, found.within


def test_rates():
    without, within = measure("rates")
    assert np.median(without.values) == pytest.approx(1 / 500)
    assert np.median(within.values) == pytest.approx(1 / 200)


def test_imu_noise():
    without, within = measure("imu_noise")
    assert np.abs(without.values).max() < 1e-7
    assert within.values.std() == pytest.approx(NASTY.gyro_noise, rel=0.2)


def test_speed_noise():
    without, within = measure("speed_noise")
    assert np.abs(without.values).max() < 0.05
    quantum = 100 * 2 * np.pi / 60
    expected = np.hypot(0.004 * 900, quantum / np.sqrt(12))
    assert within.values.std() == pytest.approx(expected, rel=0.25)


def test_pose_noise():
    without, within = measure("pose_noise")
    assert without.values.max() < 1e-5
    assert np.sqrt((within.values**2).mean()) == pytest.approx(0.002 * np.sqrt(3), rel=0.3)


def test_pose_outliers():
    flight = fly(QUADROTOR, NOISELESS, "hover", (1,), 0.2, settle=0.1, keep_record=True)[0]
    record, vehicle, time = flight.record, flight.vehicle, np.full(20_000, 0.1)
    for level, part in ((NOISELESS, 0.0), (REALISTIC, 0.001), (NASTY, 0.01)):
        rng = generator(2, "outliers")
        position, wxyz = measure_pose(record, time, vehicle, level, rng)
        away = np.sqrt(((position - np.median(position, axis=0)) ** 2).sum(axis=1))
        angle = 2 * np.arccos(np.clip(np.abs(wxyz @ np.median(wxyz, axis=0)), 0, 1))
        wrong = (away > 0.02) | (angle > 0.1)
        assert wrong.mean() == pytest.approx(part, rel=0.3, abs=1e-9)
        assert away.max() <= level.outlier_size + 0.02
        assert (angle > 3).any() == level.attitude_flips


def test_imu_errors():
    without, within = measure("imu_errors")
    assert np.abs(without.values).max() < 1e-7
    assert 0.01 < np.abs(within.values).max() < 0.3


def test_vibration_and_filters():
    without, within = measure("vibration")
    assert within.values.std() == pytest.approx(NASTY.accel_vibration, rel=0.7)
    assert within.values.std() > 10 * without.values.std()
    unfiltered, filtered = measure("filters")
    assert filtered.values.std() < 0.3 * unfiltered.values.std()


def test_latency():
    without, within = measure("latency")
    assert np.abs(within.values).max() > 20 * np.abs(without.values).max()


def test_clocks():
    without, within = measure("clocks")
    assert np.ptp(without.values) < 2e-6
    assert len(within.values) < 0.99 * len(without.values)
    assert 0.0003 < np.median(np.abs(within.values - 0.002)) < 0.002


def test_motors():
    without, within = measure("motors")
    assert np.abs(without.values - within.values).max() > 5


@pytest.mark.parametrize("name", ["rotor_draws", "body_draws"])
def test_draws(name):
    without, within = measure(name, 0.1)
    assert (
        np.abs(without.values).max() < 1e-9 if name == "rotor_draws" else np.abs(without.values).max() < 0.2
    )
    assert np.abs(within.values).max() > 0.02


def test_aero():
    without, within = measure("aero")
    assert np.abs(without.values).max() < 1e-7
    assert np.abs(within.values).max() > 0.1


def test_wind():
    without, within = measure("wind")
    assert np.abs(without.values).max() < 1e-7
    assert np.abs(within.values).max() > 0.1


def test_ground():
    without, within = measure("ground")
    assert within.values.mean() < 0.99 * without.values.mean()


def test_the_world_without_effects_has_none():
    assert NOISELESS.aero == NOISELESS.gust == NOISELESS.sag == NOISELESS.clock_offset == 0
