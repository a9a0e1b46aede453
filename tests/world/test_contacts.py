"""Hand, ground and payload."""

import numpy as np
import pytest
from tests.world.drawings import HEXAROTOR, QUADROTOR
from tests.world.flights import fly, fly_from_ground, fly_throws
from tests.world.hand import draw_throws, longest_throw
from tests.world.levels import IDEAL, REALISTIC
from tests.world.payload import Payload
from tests.world.rigid import GRAVITY
from tests.world.vehicles import draw_vehicle, with_battery_moved, with_payload


@pytest.fixture(scope="module")
def thrown():
    return fly_throws(QUADROTOR, IDEAL, (1, 2), keep_record=True)


def between(record, start, end):
    return (record.time > start) & (record.time < end)


def test_a_thrown_vehicle_falls_freely_and_is_caught(thrown):
    for flight in thrown:
        record, plan = flight.record, flight.throws
        assert len(plan.releases) == 2
        for release, catch in zip(plan.releases, plan.catches, strict=True):
            inside = between(record, release, catch)
            com = np.array([flight.truth[f"com.{k}"] for k in "xyz"])
            at_com = record.specific_force + np.cross(record.angular, com)
            at_com = at_com + np.cross(record.rate, np.cross(record.rate, com))
            np.testing.assert_allclose(at_com[inside], 0, atol=1e-9)
            assert record.velocity[inside][0, 2] > 3
            rate = np.sqrt((record.rate[inside] ** 2).sum(axis=1))
            assert rate[0] > 1
            after = between(record, catch + 0.8, catch + 1.0)
            assert np.abs(record.velocity[after]).max() < 0.5
            assert np.abs(record.specific_force[between(record, release - 0.2, release)]).max() > 2 * GRAVITY
        assert not record.speed.any()
        assert not flight.crashed
        assert record.position[:, 2].min() > 0


def test_a_free_body_keeps_its_angular_momentum_in_flight(thrown):
    flight = thrown[0]
    record, release, catch = flight.record, flight.throws.releases[0], flight.throws.catches[0]
    inside = between(record, release + 0.002, catch - 0.002)
    momentum = record.rate[inside] @ flight.vehicle.inertia
    size = np.sqrt((momentum**2).sum(axis=1))
    np.testing.assert_allclose(size, size[0], rtol=1e-4)


def test_plans_differ_by_seed_and_alternate():
    one, two = draw_throws(1), draw_throws(2)
    assert not np.array_equal(one.starts, two.starts)
    assert (np.diff(one.starts[:-1]) > 0).all()
    assert max(draw_throws(seed).starts[-2] for seed in range(200)) <= 2 * longest_throw()


def test_take_off_flight_and_landing():
    flight = fly_from_ground(HEXAROTOR, IDEAL, "gentle", (3,), 10.0, keep_record=True)[0]
    record = flight.record
    standing = between(record, 0.5, 0.9)
    np.testing.assert_allclose(record.velocity[standing], 0, atol=0.02)
    np.testing.assert_allclose(record.specific_force[standing].mean(axis=0), [0, 0, GRAVITY], atol=0.2)
    assert record.position[:, 2].max() > 1.5
    end = between(record, 9.6, 10.0)
    assert np.abs(record.velocity[end]).max() < 0.05
    assert record.position[end, 2].max() < 0.2


def test_a_payload_is_gripped_and_dropped():
    load = Payload(0.1, (0.05, 0.0, -0.06), 0.4, 0.8)
    flight = fly(QUADROTOR, IDEAL, "hover", (4,), 1.2, settle=0.2, payloads=[load], keep_record=True)[0]
    record, truth = flight.record, flight.truth
    thrust = (record.speed**2 * flight.vehicle.thrust_coefficient * flight.vehicle.axis[2]).sum(axis=1)
    for start, end, mass in (
        (0.1, 0.4, truth["mass"]),
        (0.41, 0.79, truth["mass"] + 0.1),
        (0.81, 1.2, truth["mass"]),
    ):
        inside = between(record, start, end)
        body = (
            flight.vehicle
            if mass == truth["mass"]
            else with_payload(flight.vehicle, load.mass, load.position)
        )
        force = record.specific_force + np.cross(record.angular, body.com)
        force = force + np.cross(record.rate, np.cross(record.rate, body.com))
        np.testing.assert_allclose(force[inside, 2] * mass, thrust[inside], rtol=1e-9)
    assert truth["payload.mass"] == 0.1
    assert truth["payload.position.x"] == 0.05
    with pytest.raises(ValueError, match="1 payloads for 2 flights"):
        fly(QUADROTOR, IDEAL, "hover", (4, 5), 1.0, payloads=[load])


def test_payload_and_battery_shift_move_the_centre_of_gravity():
    vehicle = draw_vehicle(QUADROTOR, REALISTIC, 3)
    loaded = with_payload(vehicle, 0.2, (0.1, 0.0, 0.0))
    np.testing.assert_allclose(
        loaded.com * loaded.mass, vehicle.com * vehicle.mass + 0.2 * np.array([0.1, 0, 0])
    )
    moved = with_battery_moved(vehicle, (0.01, 0.0, 0.0))
    np.testing.assert_allclose(moved.com - vehicle.com, [0.003, 0, 0])
    assert moved.mass == vehicle.mass
