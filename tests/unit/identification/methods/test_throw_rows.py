"""Rows and motors of a made-up throw, integrated here: what `fit_throw` and `fit_throw_motors` find in it."""

import numpy as np
import pytest

from haltere.flight import Channel, Flight
from haltere.identification.methods.throw.motors import fit_throw_motors
from haltere.identification.methods.throw.rows import fit_throw
from haltere.identification.methods.throw.signals import find_throw

RATE, SECONDS, BEGIN, CYCLE = 500.0, 2.3, 0.5, 0.6
INERTIA = np.array([[7.2e-4, 2e-5, 5e-5], [2e-5, 7.7e-4, -1e-5], [5e-5, -1e-5, 9.5e-4]])
T = np.array([[-22.0, -24.0, 23.0, 21.0], [-15.0, 16.0, -14.0, 15.0], [-3.0, 3.0, 3.0, -3.0]]) * 1e-6
F = np.array([[0.02, -0.01, 0.0, 0.01], [0.0, 0.02, -0.02, 0.01], [0.62, 0.60, 0.64, 0.61]]) * 1e-6
J = np.array([[0.0] * 4, [0.0] * 4, [-1.0, 1.0, 1.0, -1.0]]) * 9e-7
PLACE = np.array([-0.010, -0.012, 0.008])
TAU, TOP, KAPPA, SLEW, DEAD = (
    np.array([0.018, 0.024, 0.030, 0.021]), 4100.0, np.array([0.3, 0.5, 0.6, 0.4]), 5.0e4, 0.003
)  # fmt: skip


def commands(t):
    """Three times one motor after the other, forwards and backwards: the rates stay moderate."""
    d = np.zeros((len(t), 4))
    for cycle in range(3):
        for turn in range(4):
            i = turn if cycle % 2 == 0 else 3 - turn
            age = t - BEGIN - CYCLE * cycle - 0.12 * turn
            d[:, i] += np.where((age >= 0) & (age < 0.05), 0.35 + 0.1 * cycle, 0.0)
            d[:, i] += np.where((age >= 0.05) & (age < 0.12), 0.7 * (1.0 - (age - 0.05) / 0.07), 0.0)
    return d


@pytest.fixture(scope="module")
def flight():
    """A throw at 4 kHz, logged at 500 Hz: speeds 3 ms late for the commands, noise, one dropout."""
    rng = np.random.default_rng(2)
    fine = 8
    dt = 1.0 / (fine * RATE)
    t = np.arange(round(SECONDS * RATE * fine)) * dt
    d = commands(t - DEAD)
    w, W, turn = np.zeros((len(t), 4)), np.zeros((len(t), 3)), np.zeros((len(t), 3))
    W[0] = [1.0, -2.0, 1.5]
    inverse = np.linalg.inv(INERTIA)
    for k in range(len(t) - 1):
        goal = TOP * np.sqrt(KAPPA * d[k] ** 2 + (1 - KAPPA) * d[k])
        rise = np.minimum((goal - w[k]) / TAU, SLEW)
        turn[k] = T @ w[k] ** 2 - inverse @ (J @ rise + np.cross(W[k], INERTIA @ W[k] + J @ w[k]))
        w[k + 1], W[k + 1] = w[k] + dt * rise, W[k] + dt * turn[k]
    accel = w**2 @ F.T + np.cross(turn, PLACE) + np.cross(W, np.cross(W, PLACE))
    kept = slice(None, None, fine)
    speeds = w[kept] + 2.0 * rng.normal(size=w[kept].shape)
    speeds[600, 2] = 0.0
    made = {
        "imu.gyro": (W[kept] + 2e-3 * rng.normal(size=W[kept].shape), "rad/s", "imu"),
        "imu.accel": (accel[kept] + 0.05 * rng.normal(size=W[kept].shape), "m/s2", "imu"),
        "rotors.command": (commands(t[kept]), "1", ""),
        "rotors.speed": (speeds, "rad/s", ""),
    }
    stamps = np.round(t[kept] * 1e9).astype(np.int64)
    return Flight.of(*(Channel(name, stamps, *rest) for name, rest in made.items()))


def relative(found, true):
    return np.sqrt(np.sum((found - true) ** 2) / np.sum(true**2))


def test_the_throw_is_found_by_its_commands(flight):
    assert find_throw(flight)[0] == pytest.approx(BEGIN - 0.05, abs=0.01)
    still = Flight.of(
        *(
            c if c.name != "rotors.command" else Channel(c.name, c.time, np.zeros((len(c.time), 4)), "1", "")
            for c in flight.channels.values()
        )
    )
    assert find_throw(still) is None


def test_rows_inertia_and_place(flight):
    rows = fit_throw(flight, BEGIN - 0.05, SECONDS - 0.05)
    assert relative(rows.torque[:2], T[:2]) < 0.02
    assert relative(rows.torque[2], T[2]) < 0.05
    assert relative(rows.reaction[2], (-np.linalg.inv(INERTIA) @ J)[2]) < 0.03
    assert relative(rows.force[2], F[2]) < 0.02
    np.testing.assert_allclose(rows.imu_position, PLACE, atol=1e-3)
    assert rows.gyroscopic == pytest.approx(1.0, abs=0.15)
    np.testing.assert_allclose(rows.shape, 3.0 * INERTIA / np.trace(INERTIA), atol=0.05)
    assert abs(rows.delay) < 0.7e-3


def test_motors(flight):
    motors = fit_throw_motors(flight, BEGIN - 0.05, SECONDS - 0.05, ("quadratic",))
    np.testing.assert_allclose([m.time_constant for m in motors], TAU, atol=0.4e-3)
    np.testing.assert_allclose([m.curve for m in motors], KAPPA, atol=0.05)
    np.testing.assert_allclose([m.max_speed for m in motors], TOP, rtol=0.03)
    assert motors[0].delay == pytest.approx(DEAD, abs=0.5 / RATE), "commands are logged every 2 ms only"
    assert motors[0].slew == pytest.approx(SLEW, rel=0.05)
