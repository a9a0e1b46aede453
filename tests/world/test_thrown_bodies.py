"""Thrown bodies: laws of momentum, an integration written otherwise, readings against differences, seeds."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.integrate
import scipy.spatial.transform
from tests.world import thrown_bodies
from tests.world.levels import IDEAL, NASTY, REALISTIC
from tests.world.rigid import GRAVITY
from tests.world.thrown_bodies import RATE, draw_body, draw_plan, fly_bodies

Rotation = scipy.spatial.transform.Rotation
EXACT = replace(IDEAL, accel_noise=0.0, gyro_noise=0.0)
SEEDS = (3, 4, 5)


@pytest.fixture(scope="module")
def flights():
    """Three bodies without air and without noise."""
    return fly_bodies(EXACT, SEEDS, keep_record=True)


@pytest.fixture(scope="module")
def rough():
    return fly_bodies(NASTY, SEEDS, keep_record=True)


def free_part(flight):
    """Ticks from the release to the catch, both included."""
    return slice(round(flight.throws.releases[0] * RATE), round(flight.throws.catches[0] * RATE) + 1)


def attitude(record):
    return Rotation.from_quat(record.wxyz, scalar_first=True)


def world_momentum(flight):
    """Angular momentum (T, 3) about the centre of mass in world axes while it flies freely."""
    record, body, part = flight.record, flight.body, free_part(flight)
    own = record.rate @ body.inertia + body.wheel_inertia * record.speed[:, None] * body.wheel_axis
    return attitude(record).apply(own)[part]


def test_angular_momentum_is_kept_while_the_wheel_spins_up(flights):
    for flight in flights:
        momentum = world_momentum(flight)
        np.testing.assert_allclose(
            momentum, momentum[:1] + 0 * momentum, rtol=0, atol=1e-9 * np.linalg.norm(momentum[0])
        )
        speed = flight.record.speed[free_part(flight)]
        assert speed.max() - speed.min() > 700
        change = flight.record.rate[free_part(flight)]
        assert np.ptp(change, axis=0).max() > 0.5  # the wheel or the body's own shape turns it


def test_the_centre_of_mass_falls(flights):
    for flight in flights:
        record, part = flight.record, free_part(flight)
        com = (record.position + attitude(record).apply(flight.body.com))[part]
        time = record.time[part] - record.time[part][0]
        step = 1 / RATE
        velocity = (record.velocity + attitude(record).apply(np.cross(record.rate, flight.body.com)))[part][0]
        fallen = com[0] + velocity * time[:, None]
        fallen[:, 2] -= GRAVITY * time**2 / 2
        np.testing.assert_allclose(com, fallen, rtol=0, atol=1e-9)
        assert 0.8 - step <= time[-1] <= 1.2 + step


def test_the_motion_is_that_of_an_integration_by_the_momentum_in_the_world(flights):
    """State: the rotation matrix; the rate from the constant momentum, R (I w + J W a) = L, the wheel's law solved."""
    for flight in flights:
        record, body, wheel, part = flight.record, flight.body, flight.wheel, free_part(flight)
        momentum = world_momentum(flight)[0]
        time = record.time[part]

        def speed(now, wheel=wheel):
            value = wheel.targets[0]
            for k in range(1, len(wheel.starts)):
                if now <= wheel.starts[k]:
                    break
                until = min(now, wheel.starts[k + 1]) if k + 1 < len(wheel.starts) else now
                value = wheel.targets[k] + (value - wheel.targets[k]) * np.exp(
                    -(until - wheel.starts[k]) / wheel.lags[k]
                )
            return value

        def slope(now, flat, body=body, momentum=momentum, speed=speed):
            turned = flat.reshape(3, 3)
            wheel_part = body.wheel_inertia * speed(now) * body.wheel_axis
            p, q, r = np.linalg.solve(body.inertia, turned.T @ momentum - wheel_part)
            return (turned @ np.array([[0, -r, q], [r, 0, -p], [-q, p, 0]])).ravel()

        start = attitude(record)[part].as_matrix()[0].ravel()
        steps = [time[0], *(t for t in wheel.starts if time[0] < t < time[-1]), time[-1]]
        for low, high in itertools.pairwise(steps):
            found = scipy.integrate.solve_ivp(slope, (low, high), start, "DOP853", rtol=1e-11, atol=1e-12)
            start = found.y[:, -1]
        theirs = attitude(record)[part].as_matrix()[-1]
        np.testing.assert_allclose(theirs, start.reshape(3, 3), rtol=0, atol=1e-7)
        assert abs(speed(time[-1]) - record.speed[part][-1]) < 1e-7 * wheel.targets.max()


def test_readings_are_differences_of_the_path_of_the_imu(flights):
    """The second difference of the IMU's position, and the turn between neighbouring ticks, of an exact log."""
    for flight in flights:
        record, part = flight.record, free_part(flight)
        speed_up = np.diff(record.position, 2, axis=0) * RATE**2
        speed_up[:, 2] += GRAVITY
        force = attitude(record)[1:-1].inv().apply(speed_up)
        turns = (attitude(record)[:-2].inv() * attitude(record)[2:]).as_rotvec() * RATE / 2
        accel, gyro = flight.streams["imu.accel"], flight.streams["imu.gyro"]
        ticks = np.round(gyro.time * RATE).astype(int)
        inside = (ticks > part.start + 2) & (ticks < part.stop - 4)
        begun = np.round(flight.wheel.starts * RATE).astype(int)
        inside &= np.abs(ticks[:, None] - begun[None]).min(axis=1) > 1  # no difference over a jump of torque
        ticks = ticks[inside]
        assert len(ticks) > 700
        np.testing.assert_allclose(accel.values[inside], force[ticks - 1], rtol=0, atol=1e-3)
        np.testing.assert_allclose(gyro.values[inside], turns[ticks - 1], rtol=0, atol=1e-3)
        lever = np.linalg.norm(flight.body.com)
        assert 0.005 <= lever <= 0.05
        assert (
            np.linalg.norm(accel.values[inside], axis=1).max() > 20 * lever
        )  # it is not at the centre of mass


def test_bodies_are_such_as_there_are():
    ratios = []
    for seed in range(300):
        body = draw_body(REALISTIC, seed)
        moments, axes = body.principal
        np.testing.assert_allclose(axes @ np.diag(moments) @ axes.T, body.inertia, rtol=0, atol=1e-12)
        assert moments[0] > 0
        assert moments[2] < moments[0] + moments[1]  # what has mass at all has this
        assert np.linalg.det(axes) == pytest.approx(1.0)
        assert 0.15 <= body.mass <= 1.5
        assert body.size.min() > 0.03
        assert body.size.max() <= 0.2
        ratios.append(moments / moments[2])
    ratios = np.array(ratios)
    gaps = np.minimum(ratios[:, 2] - ratios[:, 1], ratios[:, 1] - ratios[:, 0])
    assert 0.2 < (ratios[:, 0] < 0.35).mean() < 0.8  # elongated
    assert 0.2 < (gaps < 0.05).mean() < 0.9  # nearly axisymmetric
    known = [draw_body(REALISTIC, seed) for seed in range(300)]
    errors = np.array([b.wheel_nominal / b.wheel_inertia - 1 for b in known])
    assert 0.005 < errors.std() < 0.01
    exact = draw_body(IDEAL, 0)
    assert exact.wheel_nominal == exact.wheel_inertia
    assert exact.imu_wxyz[0] == 1.0


def test_seeds_draw_the_same_and_flights_alone_are_those_of_the_batch(flights, monkeypatch):
    def same(one, two):
        for name, stream in one.streams.items():
            np.testing.assert_array_equal(stream.values, two.streams[name].values)
            np.testing.assert_array_equal(stream.time, two.streams[name].time)

    monkeypatch.setattr(thrown_bodies, "duration_of", lambda count: 0.2)
    first, again = fly_bodies(NASTY, SEEDS), fly_bodies(NASTY, SEEDS)
    for one, two in zip(first, again, strict=True):
        same(one, two)
    other = fly_bodies(NASTY, [SEEDS[1] + 100], body_seeds=SEEDS[1:2])[0]
    assert other.truth["principal.1"] == first[1].truth["principal.1"] != first[0].truth["principal.1"]
    assert not np.array_equal(other.streams["imu.gyro"].values[:50], first[1].streams["imu.gyro"].values[:50])
    monkeypatch.setattr(
        thrown_bodies, "duration_of", lambda count: 0.95
    )  # carry, stroke and some of the flight
    assert min(flight.throws.releases[0] for flight in flights) < 0.9
    same(fly_bodies(NASTY, SEEDS)[1], fly_bodies(NASTY, SEEDS[1:2])[0])


def test_a_nasty_log_is_one(flights, rough):
    for exact, flight in zip(flights, rough, strict=True):
        record, part = flight.record, free_part(flight)
        momentum = world_momentum(flight)
        lost = np.linalg.norm(np.diff(momentum[[0, -1]], axis=0)) / np.linalg.norm(momentum[0])
        assert 1e-4 < lost < 0.15  # air, small
        gyro, wheel = flight.streams["imu.gyro"], flight.streams["rotors.speed"]
        np.testing.assert_array_equal(gyro.time, wheel.time)
        assert np.diff(gyro.time).min() > 0
        assert np.diff(gyro.time).max() > 0.45  # the gap
        assert np.median(np.diff(gyro.time)) == pytest.approx(1e-3, rel=0.1)
        true = np.interp(gyro.time - flight.telemetry_late, record.time, record.speed)
        fast = (wheel.values[:, 0] > 500) & (true > 500)
        assert fast.sum() > 50
        assert np.median(np.abs(wheel.values[fast, 0] / true[fast] - 1)) < 0.05
        assert len(np.unique(wheel.values)) < 300  # rounded
        after = slice(part.stop, part.stop + round(0.1 * RATE))
        assert np.linalg.norm(record.specific_force[after], axis=1).max() > 40  # a shock at the catch
        assert flight.throws.catches[0] == exact.throws.catches[0]
        assert np.abs(flight.streams["imu.accel"].values).max() < 1.2 * 16 * GRAVITY


def test_rates_of_the_throw_are_a_few_to_fifteen():
    found = []
    for seed in range(100):
        plan, wheel, shocks = draw_plan(seed, draw_body(REALISTIC, seed), 2)
        found.append(np.abs(plan.turning) * 2 * plan.lengths[:, None] / np.pi)
        assert (np.diff(wheel.starts) > 0).all()
        assert len(plan.releases) == 2
        assert 800 <= wheel.targets[1] <= 6000
        free = [(a, b) for a, b in zip(plan.releases, plan.catches, strict=True)]
        ends = shocks.starts + shocks.lengths
        for a, b in free:
            assert not ((shocks.starts < b - 1e-9) & (ends > a + 1e-9)).any()  # nothing touches what flies
            assert ((wheel.starts > a + 0.03) & (wheel.starts < a + 0.16)).any()
    assert np.min(found) > 1.9
    assert np.max(found) < 15.1
