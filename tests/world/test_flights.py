"""Flights: the closed loop, seeds, the plant's step, and the truth."""

import numpy as np
import pytest
from tests.world.drawings import DRAWINGS, QUADROTOR, nominal_toml, read_drawing
from tests.world.flights import fly
from tests.world.levels import EFFECTS, IDEAL, LEVELS, NASTY, REALISTIC
from tests.world.motors import steady_speed
from tests.world.sticks import PROFILES, draw_sticks


@pytest.fixture(scope="module")
def pair():
    """Two short realistic flights with their records."""
    return fly(QUADROTOR, REALISTIC, "full", (11, 12), 3.0, keep_record=True)


def equal(first, second):
    return first.truth == second.truth and all(
        np.array_equal(first.streams[name].time, stream.time)
        and np.array_equal(first.streams[name].values, stream.values)
        for name, stream in second.streams.items()
    )


def test_the_same_seed_is_the_same_flight_whoever_flies_beside_it(pair):
    alone = fly(QUADROTOR, REALISTIC, "full", (12,), 3.0)[0]
    beside = fly(QUADROTOR, REALISTIC, "full", (5, 6, 12), 3.0)[2]
    assert equal(alone, pair[1])
    assert equal(beside, pair[1])
    assert not equal(pair[0], pair[1])


def test_half_the_step_changes_less_than_a_twentieth_of_the_noise():
    """The ideal level has the smallest noise; nasty effects are the quickest."""
    level = IDEAL.with_effects("motors", "aero", "wind", "ground", source=NASTY)
    coarse, fine = (
        fly(QUADROTOR, level, "full", (3, 4, 5), 3.0, substeps=n, keep_record=True) for n in (1, 2)
    )
    for one, two in zip(coarse, fine, strict=True):
        a, b = one.record, two.record
        assert np.abs(a.rate - b.rate).max() < IDEAL.gyro_noise / 20
        assert np.abs(a.specific_force - b.specific_force).max() < IDEAL.accel_noise / 20
        assert np.abs(a.position - b.position).max() < IDEAL.position_noise / 20
        assert np.abs(a.speed - b.speed).max() < IDEAL.speed_noise * QUADROTOR.hover_speed / 20


@pytest.mark.parametrize("name", DRAWINGS)
def test_vehicles_stay_in_the_air(name):
    flights = fly(DRAWINGS[name], NASTY, "full", (1, 2), 2.5)
    assert not any(flight.crashed for flight in flights)


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", DRAWINGS)
@pytest.mark.parametrize("level", LEVELS)
def test_all_vehicles_stay_in_the_air_with_all_profiles(name, level, profile):
    flights = fly(DRAWINGS[name], LEVELS[level], profile, range(24), 24.0)
    assert sum(flight.crashed for flight in flights) == 0


def test_streams_have_their_rates_units_and_order(pair):
    streams = pair[0].streams
    rates = {
        "imu.accel": REALISTIC.imu_rate,
        "rotors.speed": REALISTIC.speed_rate,
        "rotors.command": REALISTIC.command_rate,
        "pose.wxyz": REALISTIC.pose_rate,
    }
    for name, rate in rates.items():
        stream = streams[name]
        assert (np.diff(stream.time) > 0).all()
        assert 0.98 * 3.0 * rate - 2 <= len(stream.time) <= 3.0 * rate + 1
        assert np.median(np.diff(stream.time)) == pytest.approx(1 / rate, rel=0.05)
    assert np.array_equal(streams["imu.accel"].time, streams["imu.gyro"].time)
    assert np.array_equal(streams["pose.position"].time, streams["pose.wxyz"].time)
    commands = streams["rotors.command"].values
    assert commands.min() >= 0
    assert commands.max() <= 1


def test_the_accelerometer_reads_gravity_upwards_at_hover():
    flight = fly(QUADROTOR, IDEAL, "hover", (1,), 2.0)[0]
    assert flight.streams["imu.accel"].values.mean(axis=0)[2] == pytest.approx(9.8, abs=0.1)


def test_truth_explains_the_ideal_flight():
    """By the true effectiveness, speeds give specific force at the centre of gravity and angular acceleration."""
    flight = fly(QUADROTOR, IDEAL, "full", (8,), 1.0, keep_record=True)[0]
    record, truth = flight.record, flight.truth
    rows = {
        row: np.array([truth[f"rotors.{r}.effectiveness.{row}"] for r in QUADROTOR.rotor_names])
        for row in ("fx", "fy", "fz", "p", "q", "r", "p_dot", "q_dot", "r_dot")
    }
    com = np.array([truth[f"com.{k}"] for k in "xyz"])
    at_com = record.specific_force + np.cross(record.angular, com)
    at_com = at_com + np.cross(record.rate, np.cross(record.rate, com))
    predicted = np.stack([record.speed**2 @ rows[k] for k in ("fx", "fy", "fz")], axis=1)
    np.testing.assert_allclose(at_com, predicted, rtol=0, atol=1e-9)
    target = steady_speed(flight.vehicle, record.command, 1.0)
    acceleration = (target - record.speed) / flight.vehicle.lag_up
    angular = np.stack([record.speed**2 @ rows[k] + acceleration @ rows[f"{k}_dot"] for k in "pqr"], axis=1)
    inertia = np.array([[truth[f"inertia.{''.join(sorted(a + b))}"] for b in "xyz"] for a in "xyz"])
    spin = np.array([truth[f"rotors.{r}.spin_inertia"] for r in QUADROTOR.rotor_names]) * QUADROTOR.spin
    axes = np.array([[truth[f"rotors.{r}.axis.{k}"] for k in "xyz"] for r in QUADROTOR.rotor_names])
    momentum = record.rate @ inertia + (record.speed * spin) @ axes
    angular = angular - np.cross(record.rate, momentum) @ np.linalg.inv(inertia)
    np.testing.assert_allclose(record.angular, angular, rtol=0, atol=1e-8)


def test_the_nominal_airframe_has_none_of_the_draws(pair):
    one, two = (read_drawing(flight.nominal) for flight in pair)
    assert one.mass == pytest.approx(pair[0].truth["mass"], rel=0.013)
    np.testing.assert_allclose(one.com, 0, atol=1e-9)
    np.testing.assert_allclose(one.position, two.position)
    np.testing.assert_allclose(one.axis, QUADROTOR.axis)
    np.testing.assert_allclose(one.thrust_coefficient, QUADROTOR.thrust_coefficient)
    np.testing.assert_allclose(
        one.inertia / one.mass, QUADROTOR.inertia / QUADROTOR.mass, rtol=1e-6, atol=1e-9
    )
    assert read_drawing(nominal_toml(QUADROTOR)).mass == pytest.approx(0.5)


def test_sticks_reach_the_sizes_that_are_asked_for():
    sticks = draw_sticks("full", range(20), 24.0)
    tilt = np.rad2deg(np.abs(sticks[:, :2]).max(axis=(0, 1)))
    assert tilt.min() > 20
    assert tilt.max() < 36
    assert np.abs(sticks[:, 2]).max() <= 3
    assert np.abs(sticks[:, 3]).max() == pytest.approx(2.0)
    gentle = np.rad2deg(np.abs(draw_sticks("gentle", range(20), 24.0)[:, :2]).max())
    assert 5 < gentle < 10
    assert not draw_sticks("hover", range(2), 24.0).any()
    with pytest.raises(ValueError, match="no stick profile 'loop'"):
        draw_sticks("loop", (1,), 5.0)


def test_levels_get_worse_and_effects_come_in_groups():
    listed = [name for names in EFFECTS.values() for name in names]
    assert sorted(listed) == sorted(set(vars(IDEAL)) - {"name"})
    windy = IDEAL.with_effects("wind", source=NASTY)
    assert (windy.wind_mean, windy.aero) == (5.0, 0.0)
    assert IDEAL.with_effects("vibration").accel_vibration == 2.0
    with pytest.raises(ValueError, match=r"no effects \['rain'\]"):
        IDEAL.with_effects("rain")
