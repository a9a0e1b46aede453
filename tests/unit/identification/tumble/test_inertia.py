"""Inertia from a tumble, against bodies integrated by scipy with Euler's equations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from haltere.identification.tumble.free_rotation import coasting_speeds
from haltere.identification.tumble.inertia import from_triangle, throw_inertia, triangle_of
from haltere.identification.tumble.tumble import TumbleError

RATE = 2000.0
AXIS = np.array([0.0, 0.0, -1.0])


def random_inertia(rng):
    S = rng.normal(size=(3, 3)) * 0.01
    S = S @ S.T + 2e-5 * np.eye(3)
    return np.trace(S) * np.eye(3) - S


def thrown(inertia, spin, wheel=0.0, seconds=0.5):
    """Gyro (N, 3) and momentum (N, 3) of a body whose flywheel of `wheel` kg m2 is spun up to 1200 rad/s."""

    def speed(t):
        return 1200.0 / (1.0 + np.exp(-(t - 0.15) / 0.02))

    def slope(t, w):
        rise = speed(t) * (1.0 - speed(t) / 1200.0) / 0.02
        h, dh = wheel * speed(t) * AXIS, wheel * rise * AXIS
        return np.linalg.solve(inertia, -dh - np.cross(w, inertia @ w + h))

    t = np.arange(round(seconds * RATE)) / RATE
    w = solve_ivp(slope, (0.0, seconds), spin, t_eval=t, rtol=1e-10, atol=1e-10).y.T
    return w, wheel * speed(t)[:, None] * AXIS


@pytest.mark.parametrize("seed", range(4))
def test_absolute_with_a_flywheel(seed):
    rng = np.random.default_rng(seed)
    inertia = random_inertia(rng)
    w, h = thrown(inertia, rng.normal(size=3) * 8.0, wheel=0.002 * np.trace(inertia))
    found = throw_inertia(w + 0.003 * rng.normal(size=w.shape), RATE, h)
    assert found.absolute
    np.testing.assert_allclose(found.moments, np.linalg.eigvalsh(inertia), rtol=0.02)


@pytest.mark.parametrize("seed", range(4))
def test_up_to_scale_without(seed):
    rng = np.random.default_rng(seed)
    inertia = random_inertia(rng)
    w, _ = thrown(inertia, rng.normal(size=3) * 10.0, seconds=0.8)
    found = throw_inertia(w + 0.002 * rng.normal(size=w.shape), RATE)
    assert not found.absolute
    assert np.trace(found.inertia) == pytest.approx(1.0)
    np.testing.assert_allclose(found.moments, np.linalg.eigvalsh(inertia) / np.trace(inertia), rtol=0.05)


def misread(w, h, rng):
    """Gyro and momentum as sensors that nobody calibrated report them, one draw of each error; torques by the air."""
    gains = (
        np.diag(1.0 + 0.004 * rng.normal(size=3))
        @ Rotation.from_rotvec(0.008 * rng.normal(size=3)).as_matrix()
    )
    gyro = w @ gains.T + 0.01 * rng.normal(size=3) + 0.004 * rng.normal(size=w.shape)
    time = np.arange(len(w)) / RATE
    late = time - 0.004 * rng.normal()
    momentum = np.stack([np.interp(late, time, column) for column in h.T], axis=1)
    momentum = momentum * (1.0 + 0.004 * rng.normal())
    return gyro, momentum @ Rotation.from_rotvec(0.006 * rng.normal(size=3)).as_matrix().T


@pytest.mark.slow
@pytest.mark.parametrize("wheel", [0.002, 0.0])
def test_deviations_hold_the_errors_of_sensors_that_nobody_calibrated(wheel):
    """60 bodies: chi-square of the principal moments over their sigmas, not in the least free of each other."""
    z, within = [], []
    for seed in range(100, 160):
        rng = np.random.default_rng(seed)
        inertia = random_inertia(rng)
        falls = [
            misread(*thrown(inertia, rng.normal(size=3) * 8.0, wheel * np.trace(inertia)), rng) for _ in "ab"
        ]
        if wheel:
            found = throw_inertia(falls[0][0], RATE, falls[0][1], delays=(-0.004, 0.0, 0.004))
        else:
            found = throw_inertia([w for w, _ in falls], RATE)
        true = np.linalg.eigvalsh(inertia) / (1.0 if wheel else np.trace(inertia))
        if found.enough:
            z.append((found.moments - true) / found.sigma)
            within.append(np.abs(found.moments / true - 1.0))
    assert len(z) >= 50
    rms, held = np.sqrt(np.mean(np.square(z))), np.mean(np.abs(z) < 1.96)
    assert np.median(within) < 0.03
    assert 0.6 < rms < 1.3, rms
    assert held > 0.9, held
    assert np.max(np.abs(z)) < 5.0


def test_a_rotor_that_speeds_up_before_the_fall_is_refused():
    rng = np.random.default_rng(6)
    inertia = random_inertia(rng)
    w, h = thrown(inertia, rng.normal(size=3) * 8.0, wheel=0.002 * np.trace(inertia))
    assert throw_inertia(w, RATE, h).enough
    late = throw_inertia(w[320:], RATE, h[320:])
    assert not late.enough
    assert "after the release" in late.advice


def test_a_motor_without_sensor_coasts_below_what_it_reports():
    time = np.arange(0.0, 0.5, 1e-3)
    true = 600.0 * np.exp(-np.maximum(time - 0.1, 0.0) / 0.05)
    reported = np.where(true < 60.0, 0.0, true)
    np.testing.assert_allclose(coasting_speeds(time, reported[:, None])[:, 0], true, atol=2.0)


def test_a_kick_by_hand_in_the_fall_is_no_fall():
    rng = np.random.default_rng(3)
    w, _ = thrown(random_inertia(rng), rng.normal(size=3) * 8.0)
    found = throw_inertia(np.concatenate([w, 3.0 - w[::-1]]), RATE)
    assert not found.enough
    assert "hand, catch and ground" in found.advice


def test_a_spin_about_one_axis_is_called_too_little():
    inertia = np.diag([1e-3, 1.2e-3, 2e-3])
    w, _ = thrown(inertia, np.array([0.0, 0.0, 12.0]))
    assert not throw_inertia(w + 0.002 * np.random.default_rng(0).normal(size=w.shape), RATE).enough


def test_a_late_wheel_speed_is_found():
    rng = np.random.default_rng(5)
    inertia = random_inertia(rng)
    w, h = thrown(inertia, rng.normal(size=3) * 8.0, wheel=0.002 * np.trace(inertia))
    late = np.concatenate([np.repeat(h[:1], 6, axis=0), h[:-6]])
    assert throw_inertia(w, RATE, late).delay == pytest.approx(0.003, abs=1e-4)


@given(st.integers(0, 10_000))
def test_every_triangle_is_a_possible_body(seed):
    numbers = np.random.default_rng(seed).normal(size=6)
    a, b, c = np.linalg.eigvalsh(from_triangle(numbers))
    assert a > -1e-12
    assert a + b >= c - 1e-12
    whole = from_triangle(numbers)
    np.testing.assert_allclose(
        from_triangle(triangle_of(from_triangle(numbers))), whole, atol=4e-3 * np.max(whole)
    )


def test_faults():
    with pytest.raises(TumbleError, match=r"\(N, 3\)"):
        throw_inertia(np.zeros((10, 3)), RATE)
    with pytest.raises(TumbleError, match="one row for each gyro sample"):
        throw_inertia(np.zeros((100, 3)), RATE, np.zeros((50, 3)))
