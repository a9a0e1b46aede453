"""Logs in which sensors and rotors have nothing to do with each other: nothing that needs both is identified.

Flights are those of `made_flight`, which shares no code with the package; each kind of nonsense spoils them in
another way. `make test-slow` tries many of each kind.
"""

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.identification.made_flight import NAMES, made

import haltere as ht
from haltere.flight import Channel, Flight, nanoseconds
from haltere.foundation import HaltereError

ROTORS = ("rotors.speed", "rotors.command")
IMU = ("imu.gyro", "imu.accel")
SECONDS = 10.0


def changed(flight, names, change):
    for name in names:
        if name in flight:
            flight = flight.with_channel(replace(flight[name], values=change(flight[name].values)))
    return flight


def shuffled_in_time(flight, rng):
    """Rotors of half-second pieces in another order."""
    count = len(flight["rotors.speed"]) // 100
    order = (rng.permutation(count)[:, None] * 100 + np.arange(100)).ravel()
    return changed(flight, ROTORS, lambda v: np.vstack([v[order], v[count * 100 :]]))


def rotors_of_another_flight(flight, rng):
    other = made(int(rng.integers(10_000, 20_000)), SECONDS, pose=False)
    return flight.with_channel(replace(other["rotors.speed"], time=flight["rotors.speed"].time)).with_channel(
        replace(other["rotors.command"], time=flight["rotors.command"].time)
    )


def imu_of_another_flight(flight, rng):
    other = made(int(rng.integers(10_000, 20_000)), SECONDS, pose=False)
    for name in IMU:
        flight = flight.with_channel(replace(other[name], time=flight[name].time))
    return flight


def rotors_reversed_in_time(flight, _):
    return changed(flight, ROTORS, lambda v: v[::-1].copy())


def random_rotors(flight, rng):
    """Rotor speeds that wander by themselves."""
    shape = flight["rotors.speed"].values.shape
    walk = np.cumsum(rng.standard_normal(shape), axis=0)
    walk = 450.0 + 40.0 * (walk - walk.mean(axis=0)) / walk.std(axis=0)
    return changed(changed(flight, ROTORS[:1], lambda v: walk), ROTORS[1:], lambda v: walk / 900.0)


def one_rotor_four_times(flight, rng):
    which = int(rng.integers(4))
    return changed(flight, ROTORS, lambda v: np.repeat(v[:, [which]], 4, axis=1))


def constant_rotors(flight, _):
    return changed(flight, ROTORS, lambda v: np.repeat(v[:1], len(v), axis=0))


def noise_of_the_imu(flight, rng):
    """A vehicle at rest, so the log says, while its rotors fly a figure."""
    down = np.array([0.0, 0.0, 9.81])
    flight = changed(flight, IMU[:1], lambda v: 0.01 * rng.standard_normal(v.shape))
    return changed(flight, IMU[1:], lambda v: down + 0.2 * rng.standard_normal(v.shape))


def parked(_, rng):
    """Rotors that idle on the ground."""
    count, t = 2000, np.arange(2000) / 200.0
    stamps = nanoseconds(t)
    idle = 100.0 + 3.0 * np.sin(2.0 * t)[:, None] + rng.standard_normal((count, 4))
    return Flight.of(
        Channel("imu.gyro", stamps, 0.005 * rng.standard_normal((count, 3)), "rad/s", "imu"),
        Channel("imu.accel", stamps, [0, 0, 9.81] + 0.1 * rng.standard_normal((count, 3)), "m/s2", "imu"),
        Channel("rotors.speed", stamps, idle, "rad/s", "", NAMES),
        Channel("rotors.command", stamps, idle / 900.0, "1", "", NAMES),
    )


def frozen_gyro(flight, _):
    return changed(flight, IMU[:1], lambda v: np.repeat(v[:1], len(v), axis=0))


KINDS = (
    shuffled_in_time,
    rotors_of_another_flight,
    imu_of_another_flight,
    rotors_reversed_in_time,
    random_rotors,
    one_rotor_four_times,
    constant_rotors,
    noise_of_the_imu,
    parked,
    frozen_gyro,
)
DEPENDENT = (
    "effectiveness.",
    "authority.",
    "thrust_coefficient",
    "torque_ratio",
    "thrust_to_weight",
    "inertia",
    "mass",
)
"""Parts of the names of what rotors and motion tell together."""


def claimed(flight, method="auto"):
    """Names of what is called identified although it needs what was spoiled."""
    try:
        result = ht.identify(flight, method=method)
    except HaltereError:
        return []
    return [
        p.name
        for p in result.parameters
        if p.verdict == "identified" and p.source == "data" and any(part in p.name for part in DEPENDENT)
    ]


def spoiled(kind, seed, commands):
    rng = np.random.default_rng(seed)
    flight = kind(made(seed, SECONDS, pose=False, lively=(0.5, 1.5, 2.5)[seed % 3]), rng)
    return flight.without("rotors.speed") if commands else flight


@pytest.mark.parametrize("commands", [False, True], ids=["speeds", "commands"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_nothing_is_identified(kind, commands):
    for seed in range(3):
        assert claimed(spoiled(kind, seed, commands)) == [], seed


@pytest.mark.slow
@pytest.mark.parametrize("commands", [False, True], ids=["speeds", "commands"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_nothing_is_identified_in_a_hundred_logs(kind, commands):
    wrong = {seed: names for seed in range(100, 200) if (names := claimed(spoiled(kind, seed, commands)))}
    assert wrong == {}


def test_good_flights_are_identified():
    """The same flights, not spoiled, are not refused."""
    for seed in range(3):
        assert len(claimed(made(seed, SECONDS, pose=False, lively=2.5))) >= 8
