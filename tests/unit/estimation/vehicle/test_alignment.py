"""The first attitude from positions and IMU, along a path that is written down here."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from haltere.estimation.vehicle.alignment import AlignmentError, first_attitude

GRAVITY = np.array([0.0, 0.0, -9.81])
RATE = 200.0


def path(t, size):
    """Place (T, 3) and acceleration (T, 3)."""
    rates, phases = np.array([1.9, 2.6, 1.3]), np.array([0.3, 1.1, 2.0])
    angle = rates * t[:, None] + phases
    return size * np.sin(angle), -size * rates**2 * np.sin(angle)


def attitude(t, first):
    return first * Rotation.from_rotvec(np.stack([0.3 * np.sin(2 * t), 0.2 * np.sin(3 * t), 0.6 * t], axis=1))


def readings(size, seed, noise=1.0):
    """Time, gyro, accel, stamps, position as `first_attitude` takes them; the true attitude."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 6.0, 1.0 / RATE)
    first = Rotation.random(random_state=seed)
    h = 1e-5
    gyro = (attitude(t - h, first).inv() * attitude(t + h, first)).as_rotvec() / (2 * h)
    place, acceleration = path(t, size)
    accel = attitude(t, first).inv().apply(acceleration - GRAVITY)
    accel += noise * 0.83 * rng.normal(size=accel.shape)
    gyro += noise * 0.013 * rng.normal(size=gyro.shape)
    seen = place[::4] + noise * 0.001 * rng.normal(size=place[::4].shape)
    return (t, gyro, accel, t[::4], seen, GRAVITY), first


def error(size, seed, noise=1.0):
    given, first = readings(size, seed, noise)
    found = Rotation.from_quat(np.roll(first_attitude(*given), -1))
    return np.rad2deg((found * first.inv()).as_rotvec())  # world axes: tilt, tilt, heading


def test_exact_readings_give_the_attitude():
    assert np.abs(error(1.0, 0, noise=0.0)).max() < 0.02


def test_noisy_readings_give_it_to_some_degrees_whatever_it_is():
    errors = np.array([error(1.0, seed) for seed in range(20)])
    assert np.sqrt(np.mean(errors[:, :2] ** 2)) < 1.0
    assert np.sqrt(np.mean(errors[:, 2] ** 2)) < 3.0


def test_a_hover_has_no_heading():
    for seed in range(10):
        given, _ = readings(0.0, seed)
        with pytest.raises(AlignmentError, match="heading"):
            first_attitude(*given)


def test_a_short_flight_is_refused():
    t, gyro, accel, stamps, position, gravity = readings(1.0, 3)[0]
    with pytest.raises(AlignmentError, match="positions"):
        first_attitude(t[:50], gyro[:50], accel[:50], stamps[:12], position[:12], gravity)
