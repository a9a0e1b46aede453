"""The parts of the throw alone: low-pass, throw detection, excitation, effectiveness, heading and track."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import signal
from scipy.spatial.transform import Rotation

from haltere.estimation.core.low_pass import LowPass
from haltere.estimation.throw.effectiveness import LATENCIES, LatencySums, Learner, RegressionSums, solve
from haltere.estimation.throw.excitation import (
    PACE,
    RAMP,
    STEP,
    WAIT,
    ThrowDetector,
    excitation_time,
    order,
    pace,
)
from haltere.estimation.throw.navigation import Track, about_up, level
from haltere.foundation import HaltereError

RATE = 2000.0
DT = 1.0 / RATE


def test_the_low_pass_is_that_of_scipy():
    x = np.random.default_rng(0).normal(size=(300, 2))
    low = LowPass(20.0, RATE)
    _, ours = jax.lax.scan(low.step, low.begin(jnp.zeros(2)), jnp.asarray(x))
    theirs = signal.lfilter(*signal.butter(2, 20.0, fs=RATE), x, axis=0)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    with pytest.raises(HaltereError, match="half the rate"):
        LowPass(1000.0, RATE)


def noticed(sizes):
    def one(throw, size):
        after = throw.noticed(jnp.asarray([0.0, 0.0, 1.0]) * size, DT)
        return after, after.released

    return np.asarray(jax.lax.scan(one, ThrowDetector.begin(4), jnp.asarray(sizes))[1])


def test_a_throw_is_noticed_after_it_and_not_before():
    hand, push, fall = np.full(400, 9.81), np.full(200, 45.0), np.full(100, 1.0)
    released = noticed(np.concatenate([hand, push, fall]))
    assert 600 < np.argmax(released) <= 625
    assert not noticed(np.concatenate([hand, fall, hand])).any(), "falling without a push is no throw"
    assert not noticed(np.concatenate([hand, push, hand])).any(), "a push without a fall is no throw"
    assert not noticed(np.concatenate([hand, np.full(10, 45.0), fall])).any(), "a knock is no throw"


def excited(spin, samples=1000, rotors=4):
    throw = ThrowDetector.begin(rotors)
    throw = jax.tree.map(lambda x: x, throw)
    started = ThrowDetector(
        throw.pushed, throw.fell, jnp.asarray(True), jnp.asarray(True), throw.clock, throw.base, throw.cut
    )

    def one(now, rate):
        now = now.noticed(jnp.zeros(3), DT)
        after, command = now.excited(rate, jnp.zeros(3))
        return after, command

    return np.asarray(jax.lax.scan(one, started, jnp.broadcast_to(jnp.asarray(spin), (samples, 3)))[1])


def test_motors_run_one_after_the_other():
    commands = excited([1.0, 0.0, 0.0])
    starts = [np.argmax(c > 0.0) * DT for c in commands.T]
    np.testing.assert_allclose(starts, WAIT + PACE * np.array([0, 2, 1, 3]), atol=2 * DT)
    assert commands.max() == pytest.approx(RAMP, abs=0.01)
    first = commands[round((WAIT + 0.25 * PACE) / DT), 0]
    assert first == pytest.approx(STEP)
    assert np.all(commands[round(excitation_time(4) / DT) + 2 :] == 0.0)


def test_a_motor_that_spins_the_vehicle_up_is_cut_off_and_the_last_may_use_the_rest():
    rates = np.zeros((1000, 3))
    rates[round(0.04 / DT) :, 0] = 16.0  # a share of 28 / sqrt(4) rad/s is passed while the first motor runs
    throw = ThrowDetector.begin(4)
    started = ThrowDetector(
        throw.pushed, throw.fell, jnp.asarray(True), jnp.asarray(True), throw.clock, throw.base, throw.cut
    )
    _, commands = jax.lax.scan(
        lambda n, r: n.noticed(jnp.zeros(3), DT).excited(r, jnp.zeros(3)), started, jnp.asarray(rates)
    )
    commands = np.asarray(commands)
    assert np.all(commands[round(0.045 / DT) :, 0] == 0.0)
    assert commands[:, 1].max() == pytest.approx(RAMP, abs=0.01)
    assert commands[:, 3].max() == pytest.approx(RAMP, abs=0.01)


@pytest.mark.parametrize("rotors", [5, 8])
def test_more_motors_take_their_turns_in_the_same_time(rotors):
    assert sorted(order(rotors)) == list(range(rotors))
    assert excitation_time(rotors) <= 0.7
    turns = np.argsort(order(rotors))
    assert turns[1] - turns[0] == (rotors + 1) // 2, "the second one is half-way round"
    commands = excited([1.0, 0.0, 0.0], 1500, rotors)
    assert 0.6 < commands.max() <= 1.0
    np.testing.assert_allclose(
        [np.argmax(c > 0.0) * DT for c in commands.T],
        WAIT + pace(rotors) * np.array(order(rotors)),
        atol=2 * DT,
    )


@pytest.mark.parametrize("rotors", [8])
def test_vehicles_whose_motors_all_turn_them_one_way_stay_inside_the_range(rotors):
    """Every motor that runs adds 600 rad/s2 about the same axis, late by 20 ms; the gyro's range is 34.9 rad/s."""
    throw = ThrowDetector.begin(rotors)
    started = ThrowDetector(
        throw.pushed, throw.fell, jnp.asarray(True), jnp.asarray(True), throw.clock, throw.base, throw.cut
    )

    def one(carry, _):
        now, rate, push = carry
        axis = jnp.asarray([1.0, 0.0, 0.0])
        now, command = now.noticed(jnp.zeros(3), DT).excited(rate * axis, push * axis)
        push = push + DT / 0.02 * (600.0 * jnp.sum(command) - push)
        return (now, rate + DT * push, push), rate

    rates = jax.lax.scan(one, (started, jnp.asarray(5.0), jnp.asarray(0.0)), length=1500)[1]
    assert 20.0 < float(rates.max()) < 34.9


def rotor_motion(rng, m, n):
    """Commands, speeds and their slopes (n, m) of first-order motors, exact between samples."""
    lag, a, c, idle = rng.uniform(0.015, 0.03, m), 2000.0, 1800.0, 400.0
    d = np.zeros((n, m))
    for i in range(m):
        d[200 * i + 40 : 200 * i + 140, i] = 0.35
        d[200 * i + 140 : 200 * i + 340, i] = np.linspace(0.7, 0.0, 200)
    w = np.full((n, m), idle)
    for k in range(n - 1):
        w[k + 1] = w[k] + (1 - np.exp(-DT / lag)) * (a * d[k] + c * np.sqrt(d[k]) + idle - w[k])
    return d, w, lag, (a, c, idle)


def test_noise_free_excitation_gives_every_parameter():
    """Against rigid-body equations integrated here, gyroscopic and W x I W torques included."""
    rng = np.random.default_rng(4)
    m, n = 4, 1000
    d, w, lag, (a, c, idle) = rotor_motion(rng, m, n)
    inertia = np.array([[7e-4, 3e-5, 1e-5], [3e-5, 8e-4, -2e-5], [1e-5, -2e-5, 10e-4]])
    F, T = rng.normal(size=(3, m)) * 6e-7, rng.normal(size=(3, m)) * 1.5e-5
    b = rng.normal(size=(3, m)) * 7e-4
    place = np.array([0.01, -0.012, 0.008])
    inverse = np.linalg.inv(inertia)

    def slope(W, speeds, rises):
        h = -inertia @ b @ speeds
        return T @ speeds**2 + b @ rises - inverse @ np.cross(W, inertia @ W + h)

    W, turns = np.zeros((n, 3)), np.zeros((n, 3))
    W[0] = [4.0, -3.0, 2.0]
    rises = np.gradient(w, DT, axis=0)
    for k in range(n - 1):
        turns[k] = slope(W[k], w[k], rises[k])
        middle = slope(W[k] + 0.5 * DT * turns[k], 0.5 * (w[k] + w[k + 1]), (w[k + 1] - w[k]) / DT)
        W[k + 1] = W[k] + DT * middle
    turns[-1] = turns[-2]
    accel = w**2 @ F.T + np.cross(turns, place) + np.cross(W, np.cross(W, place))
    learner = Learner(RATE)
    shape, back = inertia / np.trace(inertia), inverse * np.trace(inertia)

    @jax.jit
    def learnt(rows, place):
        def one(now, row):
            return learner.update(now, *row, place, shape, back), None

        return jax.lax.scan(one, RegressionSums.begin(m), rows)[0]

    rows = tuple(jnp.asarray(x) for x in (W, accel, w, d))
    found = solve(learnt(rows, jnp.asarray(place)))
    np.testing.assert_allclose(found.torque, T, atol=5e-3 * np.abs(T).max())
    np.testing.assert_allclose(found.force, F, atol=1e-2 * np.abs(F).max())
    np.testing.assert_allclose(found.spin, b, atol=2e-2 * np.abs(b).max())
    np.testing.assert_allclose(found.max_speed, a + c + idle, rtol=0.01)
    np.testing.assert_allclose(found.time_constant, lag, atol=2e-4)
    blind = solve(
        learnt(rows, jnp.zeros(3)), position_sigma=0.05
    )  # no tumbles before: the place from the excitation
    np.testing.assert_allclose(blind.shift, place, atol=3e-4)
    np.testing.assert_allclose(blind.force, F, atol=2e-2 * np.abs(F).max())


@pytest.mark.parametrize("late", [1, 3])
def test_the_latency_of_rotor_speeds_is_learnt(late):
    """Known inertia, no noise: latency to a tenth of a sample, and rows as if there were none."""
    rng = np.random.default_rng(6)
    m, n = 4, 1000
    d, w, lag, _ = rotor_motion(rng, m, n)
    T, b = rng.normal(size=(3, m)) * 1.5e-5, rng.normal(size=(3, m)) * 7e-4
    turns = w**2 @ T.T + np.gradient(w, DT, axis=0) @ b.T
    W = np.concatenate([np.zeros((1, 3)), np.cumsum(0.5 * DT * (turns[1:] + turns[:-1]), axis=0)])
    # A ball: no torque from products of rates; the gyroscopic one is taken out of the truth by a tiny W.
    W = 1e-3 * W
    accel, seen = np.zeros((n, 3)), np.concatenate([np.repeat(w[:1], late, axis=0), w[: n - late]])
    learner, eye = Learner(RATE), jnp.eye(3) / 3.0

    @jax.jit
    def learnt(rows):
        def one(now, row):
            gyro, force, speeds, command = row
            held = now.hold_back(gyro, force, command)
            return held.update(learner, speeds, jnp.zeros(3), eye, 3.0 * jnp.eye(3)), None

        return jax.lax.scan(one, LatencySums.begin(m), rows)[0]

    found, latency = learnt(tuple(jnp.asarray(x) for x in (W, accel, seen, d))).solve(RATE)
    assert float(latency) * RATE == pytest.approx(late, abs=0.1)
    np.testing.assert_allclose(found.torque, 1e-3 * T, atol=1e-2 * 1e-3 * np.abs(T).max())
    np.testing.assert_allclose(found.time_constant, lag, atol=3e-4)
    assert LATENCIES[-1] / RATE == pytest.approx(2e-3)


def test_level_points_up_whatever_the_turn():
    for R in Rotation.random(20, rng=np.random.default_rng(1)).as_matrix():
        q = np.asarray(level(jnp.asarray(R.T @ [0.0, 0.0, 9.81])))
        up = Rotation.from_quat(q[[1, 2, 3, 0]]).apply(R.T @ [0.0, 0.0, 1.0])
        np.testing.assert_allclose(up, [0, 0, 1], atol=1e-6)


def test_the_track_finds_tilt_and_heading_of_an_accelerating_imu():
    rng = np.random.default_rng(3)
    true = Rotation.from_rotvec([0.3, -0.2, 0.9])
    wrong = (Rotation.from_rotvec([0.03, -0.04, 0.2]) * true).as_quat()[[3, 0, 1, 2]]
    track = Track.begin(jnp.zeros(3), jnp.zeros(3), jnp.asarray(wrong), 0.05, jnp.asarray(0.3))
    p, v = np.zeros(3), np.zeros(3)

    @jax.jit
    def tick(now, accel, seen):
        now = jax.lax.scan(lambda s, _: (s.propagate(jnp.zeros(3), accel, 9.81, DT), None), now, length=20)[0]
        return now.correct(seen, 1e-3, 0.01, (0.05, 2e-3))

    for k in range(300):
        a = np.array([2.0 * np.sin(0.05 * k), 1.5 * np.cos(0.03 * k), 0.5])
        p, v = p + 0.01 * v + 0.5e-4 * a, v + 0.01 * a
        accel = true.inv().apply(a + np.array([0, 0, 9.81]))
        track = tick(track, jnp.asarray(accel), jnp.asarray(p + 1e-3 * rng.normal(size=3)))
    error = (Rotation.from_quat(np.asarray(track.wxyz)[[1, 2, 3, 0]]) * true.inv()).magnitude()
    assert error < 0.02
    np.testing.assert_allclose(track.velocity, v, atol=0.05)
    assert np.all(np.linalg.eigvalsh(np.asarray(track.P)) > 0.0)


def test_a_turn_about_up():
    np.testing.assert_allclose(about_up(jnp.asarray(np.pi)), [0, 0, 0, 1], atol=1e-12)
