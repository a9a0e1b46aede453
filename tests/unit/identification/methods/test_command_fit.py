"""Thrust from commands alone: rotors that climb, an IMU off the centre of mass, and the ground under the vehicle."""

import numpy as np
import pytest
from scipy import signal

from haltere.identification.methods.command_fit import (
    SETTINGS,
    LowPassedCommands,
    command_responses,
    fit_forms,
    predicted_force,
    speeds_from_commands,
)

RATE, NODE = 160.0, (0.5, 0.05, 0.01, 0.0)
LIFT, CLIMB, PLACE = np.array([4.8, 5.0, 5.2, 5.0]), 0.35, np.array([0.004, -0.003, -0.02])


def flown(rng, seconds=25.0):
    """Force and motion of known numbers; turns about roll and pitch are of no rotor here."""
    n = round(seconds * RATE)

    def slow(columns, hertz):
        white = rng.normal(size=(n, columns))
        passed = signal.sosfiltfilt(signal.butter(2, hertz, output="sos", fs=RATE), white, axis=0)
        return passed / np.std(passed, axis=0)

    rates = 3.0 * slow(3, 3.0)
    turn = np.gradient(rates, 1 / RATE, axis=0)
    commands = np.clip(0.6 + 0.05 * slow(1, 0.5) + 0.05 * slow(4, 3.0), 0.05, 1.0)
    good = np.ones(n, bool)
    good[:80] = good[2000:2200] = good[-80:] = False
    bare = LowPassedCommands(
        RATE, np.arange(n) / RATE, commands, None, rates, turn, np.zeros((n, 3)), good, 20.0
    )
    u = speeds_from_commands(bare, *NODE)
    lift = LIFT * 9.80665 / np.mean(u @ LIFT)
    speed = np.zeros(n)
    for first, last in ((80, 2000), (2200, n - 80)):
        for k in range(first, last):
            before = speed[k - 1] if k > first else 0.0
            speed[k] = before * np.exp(-SETTINGS.climb_leak / RATE) + (u[k] @ lift - 9.80665) / RATE
    force = u @ lift - CLIMB * speed + (np.cross(turn, PLACE) + np.cross(rates, np.cross(rates, PLACE)))[:, 2]
    felt = np.stack([0 * force, 0 * force, force + 0.1 * rng.normal(size=n)], axis=1)
    return LowPassedCommands(RATE, bare.time, commands, None, rates, turn, felt, good, 20.0), lift, force


@pytest.mark.parametrize("standing", [0.0, 1.5])
def test_climb_and_place_are_told_from_thrust(standing):
    found, lift, force = flown(np.random.default_rng(4))
    found.force[80:320, 2] += standing
    made = command_responses(found)
    best = fit_forms(found, made)[0]
    assert best.curve == pytest.approx(NODE[0], abs=0.3)
    assert best.drift[3] == pytest.approx(CLIMB, abs=0.06)
    np.testing.assert_allclose(best.drift[:3], PLACE, atol=0.004)
    assert np.mean(best.thrust_per_command) == pytest.approx(np.mean(lift), rel=0.06)
    left = (predicted_force(best, found, made[best.node]) - force)[found.valid]
    assert np.std(left) < 0.15
