"""The attitude from positions and IMU, along a path that is written down here."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from haltere.estimation.vehicle.alignment import find_attitude
from haltere.flight.window import IdentifyError

GRAVITY = np.array([0.0, 0.0, -9.81])
RATE = 200.0


def path(t, size):
    """Place (T, 3) and acceleration (T, 3)."""
    rates, phases = np.array([1.9, 2.6, 1.3]), np.array([0.3, 1.1, 2.0])
    angle = rates * t[:, None] + phases
    return size * np.sin(angle), -size * rates**2 * np.sin(angle)


def attitude(t, first):
    return first * Rotation.from_rotvec(np.stack([0.3 * np.sin(2 * t), 0.2 * np.sin(3 * t), 0.6 * t], axis=1))


def readings(size, seed, noise=1.0, bias=(0.0, 0.0, 0.0), duration=6.0):
    """Time, gyro, accel, stamps, position as `find_attitude` takes them; the true attitude.

    `size` are the metres of the path, or one number for each sample.
    """
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, duration, 1.0 / RATE)
    first = Rotation.random(random_state=seed)
    h = 1e-5
    gyro = (attitude(t - h, first).inv() * attitude(t + h, first)).as_rotvec() / (2 * h)
    place, acceleration = path(t, size)
    accel = attitude(t, first).inv().apply(acceleration - GRAVITY)
    accel += noise * 0.83 * rng.normal(size=accel.shape)
    gyro += noise * 0.013 * rng.normal(size=gyro.shape) + bias
    seen = place[::4] + noise * 0.001 * rng.normal(size=place[::4].shape)
    return (t, gyro, accel, t[::4], seen, GRAVITY), attitude(t, first)


def errors(size, seed, **options):
    """(T, 3) degrees in world axes: tilt, tilt, heading."""
    given, true = readings(size, seed, **options)
    found = Rotation.from_quat(np.roll(find_attitude(*given), -1, axis=1))
    return np.rad2deg((found * true.inv()).as_rotvec())


def test_exact_readings_give_the_attitude_at_every_sample():
    assert np.abs(errors(1.0, 0, noise=0.0)).max() < 0.03


def test_noisy_readings_give_it_to_some_degrees_whatever_it_is():
    found = np.array([errors(1.0, seed)[::100] for seed in range(20)])
    assert np.sqrt(np.mean(found[..., :2] ** 2)) < 1.0
    assert np.sqrt(np.mean(found[..., 2] ** 2)) < 3.0


def test_a_gyro_that_drifts_away_is_followed():
    bias = (0.01, -0.008, 0.012)  # 55 degrees in a minute
    found = errors(1.0, 2, bias=bias, duration=60.0)
    assert np.sqrt(np.mean(found**2)) < 1.5
    assert np.abs(found).max() < 4.0


def test_what_one_part_of_the_flight_tells_serves_the_others():
    t = np.arange(0.0, 20.0, 1.0 / RATE)[:, None]
    window = np.clip((t - 8.0) / 2.0, 0.0, 1.0) * np.clip((16.0 - t) / 2.0, 0.0, 1.0)
    (time, gyro, accel, stamps, _, gravity), true = readings(0.0, 4, noise=0.1, duration=20.0)
    place = 3.0 * window**3 * np.sin(1.9 * t + [0.3, 1.1, 2.0])
    acceleration = np.gradient(np.gradient(place, 1.0 / RATE, axis=0), 1.0 / RATE, axis=0)
    accel = accel + true.inv().apply(acceleration)
    found = Rotation.from_quat(
        np.roll(find_attitude(time, gyro, accel, stamps, place[::4], gravity), -1, axis=1)
    )
    assert np.rad2deg((found * true.inv()).magnitude()).max() < 5.0


def test_a_hover_has_no_heading():
    for seed in range(10):
        given, _ = readings(0.0, seed)
        with pytest.raises(IdentifyError, match="heading"):
            find_attitude(*given)


def test_a_short_flight_is_refused():
    t, gyro, accel, stamps, position, gravity = readings(1.0, 3)[0]
    with pytest.raises(IdentifyError, match="positions"):
        find_attitude(t[:50], gyro[:50], accel[:50], stamps[:12], position[:12], gravity)
