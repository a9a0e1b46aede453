"""When a vehicle is in the air: take-offs, dives, flips, rests, benches and hands, made up without our models."""

import numpy as np
import pytest

from haltere.flight import window as module

RATE = 200.0


def airborne(*signals):
    """Where it flies, and a check that rotors carry nowhere else."""
    flying, carrying = module.airborne(*signals)
    assert not np.any(carrying & ~flying)
    return flying


G = 9.80665


def made(thrust, spin=0.3, seed=0, noise=0.05, held=None):
    """Commands (N, 4), gyro (N, 3) and accelerometer (N, 3) of a vehicle with a thrust (N,) over its weight.

    `spin` is the rms rate while it flies, `held` (N,) where something else carries it.
    """
    rng = np.random.default_rng(seed)
    thrust = np.asarray(thrust, float)
    flying = thrust > 0.02 if held is None else ~held
    command = np.sqrt(np.clip(thrust, 0.0, None) / 8.0)[:, None] * (
        1.0 + 0.01 * rng.standard_normal((len(thrust), 4))
    )
    rough = rng.standard_normal((len(thrust) + 40, 3))
    smooth = np.stack(
        [np.convolve(column, np.ones(41) / np.sqrt(41.0), "valid") for column in rough.T], axis=1
    )
    gyro = (
        0.002 * rng.standard_normal((len(thrust), 3)) + np.where(flying[:, None], spin * smooth, 0.0) + 0.01
    )
    accel = noise * rng.standard_normal((len(thrust), 3))
    accel[:, 2] += G * np.where(flying, thrust, 1.0)
    return command, gyro, accel


def seconds(*parts):
    return np.concatenate([np.full(int(RATE * length), value) for value, length in parts])


def wobble(thrust, size=0.15, seed=1):
    """Thrust that a pilot changes a little, at about a hertz."""
    rng = np.random.default_rng(seed)
    slow = np.convolve(rng.standard_normal(len(thrust) + 200), np.hanning(201) / 8.0, "valid")
    return thrust * (1.0 + size * np.clip(slow, -2.0, 2.0))


def share(found, wanted):
    """Of the samples, how many are told right."""
    return float(np.mean(found == wanted))


@pytest.mark.parametrize("with_accel", [True, False])
def test_dives_flips_and_punches_are_flight(with_accel):
    thrust = seconds((0, 3), (1, 4), (6, 1), (0.1, 3), (1, 2), (0.03, 1.5), (5, 1), (1, 3), (0, 3))
    command, gyro, accel = made(wobble(thrust), spin=2.0)
    found = airborne(command, gyro, accel if with_accel else None, RATE)
    assert share(found, thrust > 0.0) > 0.97


def test_rotors_that_spin_on_the_ground_do_not_fly():
    thrust = wobble(seconds((0.1, 10), (0.5, 3), (1, 6), (0.3, 10)))
    ground = np.arange(len(thrust)) / RATE
    held = (ground < 13.0) | (ground > 19.0)
    found = airborne(*made(thrust, held=held), RATE)
    assert share(found, ~held) > 0.97


def test_a_landing_in_between_is_none():
    thrust = wobble(seconds((1, 8), (0.05, 6), (1, 8)))
    resting = np.zeros(len(thrust), bool)
    resting[int(8 * RATE) : int(14 * RATE)] = True
    found = airborne(*made(thrust, held=resting), RATE)
    assert share(found, ~resting) > 0.97


def test_a_vehicle_on_a_bench_does_not_fly():
    thrust = wobble(seconds((0.05, 2), (0.5, 3), (1.2, 5), (0.8, 4)), size=0.3)
    command, gyro, accel = made(thrust, held=np.ones(len(thrust), bool))
    assert not airborne(command, gyro, accel, RATE).any()


def test_a_perfect_hover_flies():
    command, gyro, accel = made(seconds((1, 12)), spin=0.0)
    assert airborne(command, gyro, accel, RATE).mean() > 0.99
    rng = np.random.default_rng(5)
    accel[:, 2] = G + 0.01 * rng.standard_normal(len(accel))
    assert (
        airborne(command, gyro, accel, RATE).mean() > 0.99
    )  # nothing moves, so nothing tells that it is held


def test_a_vehicle_carried_by_hand_does_not_fly():
    thrust = seconds((1, 6), (0, 6), (1, 6))
    command, gyro, accel = made(wobble(thrust), spin=0.5)
    hand = thrust == 0.0
    rng = np.random.default_rng(2)
    gyro[hand] += 0.5 * np.sin(np.arange(hand.sum()) / 30.0)[:, None] + 0.01 * rng.standard_normal(
        (hand.sum(), 3)
    )
    accel[hand, 2] += G
    assert share(airborne(command, gyro, accel, RATE), ~hand) > 0.97


def test_nothing_flies_where_no_rotor_turned():
    command, gyro, accel = made(seconds((0, 5)))
    assert not airborne(0.0 * command, gyro, accel, RATE).any()
    assert not airborne(np.full((50, 4), np.nan), gyro[:50], accel[:50], RATE).any()


def test_rotors_that_the_air_drives_do_not_carry():
    thrust = seconds((1, 4), (0.03, 1.5), (1, 4))
    _, carrying = module.airborne(*made(wobble(thrust), spin=2.0), RATE)
    assert share(carrying, thrust > 0.5) > 0.95


def test_the_shock_of_a_landing_is_left_out():
    thrust = wobble(seconds((1, 10), (0, 2)))
    command, gyro, accel = made(thrust)
    hit = int(9.5 * RATE)
    accel[hit : hit + 20] *= 12.0
    found = airborne(command, gyro, accel, RATE)
    assert not found[hit:].any()
    assert found[: hit - 20].mean() > 0.97
