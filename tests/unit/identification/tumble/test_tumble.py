"""Free tumbles: the force of a place, free falls in a log, what a throw says."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from haltere.estimation.core.rls import Recursive
from haltere.flight import Channel, Flight
from haltere.flight.rotations import lever_matrices
from haltere.identification.tumble.imu_position import Budget, locate_imu
from haltere.identification.tumble.tumble import (
    ImuSamples,
    TumbleError,
    filter_tumble,
    find_free_falls,
    find_tumbles,
)

RATE = 1000.0
INERTIA = np.array([[7.2e-4, 3e-5, 0.0], [3e-5, 7.7e-4, -2e-5], [0.0, -2e-5, 8.9e-4]])


def fall(spin, seconds=0.8, place=(0.01, -0.012, 0.008)):
    """Gyro and accelerometer (N, 3) of a free body, by scipy's integrator and Euler's equations."""

    def slope(_, w):
        return np.linalg.solve(INERTIA, -np.cross(w, INERTIA @ w))

    t = np.arange(round(seconds * RATE)) / RATE
    w = solve_ivp(slope, (0, seconds), spin, t_eval=t, rtol=1e-10, atol=1e-10).y.T
    dw = np.array([slope(0, x) for x in w])
    r = np.asarray(place)
    return w, np.cross(dw, r) + np.cross(w, np.cross(w, r))


def test_the_matrix_is_the_two_cross_products():
    rng = np.random.default_rng(0)
    w, a, r = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), rng.normal(size=3)
    np.testing.assert_allclose(
        lever_matrices(w, a) @ r, np.cross(a, r) + np.cross(w, np.cross(w, r)), atol=1e-14
    )


def test_noise_free_throws_give_the_place():
    place = (0.01, -0.012, 0.008)
    throws = [filter_tumble(*fall(spin, place=place), RATE) for spin in ([12.0, 1.0, 0.5], [0.5, 12.0, 1.0])]
    found = locate_imu(throws)
    np.testing.assert_allclose(found.position, place, atol=2e-5)
    assert found.contains(place)
    assert found.enough


def test_the_recursive_form_is_the_same_least_squares():
    throw = filter_tumble(*fall([12.0, 3.0, 2.0]), RATE)
    X, y = lever_matrices(throw.gyro, throw.slope)[::20], throw.accel[::20]
    state = Recursive.prior(3, 1, 1e6)
    for rows, values in zip(X, y, strict=True):
        for row, value in zip(rows, values, strict=True):
            state = state.update(row, np.array([value]))
    expected = np.linalg.lstsq(X.reshape(-1, 3), y.reshape(-1), rcond=None)[0]
    np.testing.assert_allclose(state.theta[:, 0], expected, atol=1e-8)


@pytest.mark.parametrize("axis", [0, 2])
def test_one_throw_is_flagged_along_its_axis(axis):
    """About the axes of least and greatest inertia, where the spin stays; about the middle one it would tumble."""
    principal = np.linalg.eigh(INERTIA)[1][:, axis]
    (said,) = locate_imu([filter_tumble(*fall(12.0 * principal), RATE)]).throws
    assert not said.enough
    assert abs(said.weakest @ principal) > 0.99
    assert "second axis needed" in said.advice


def log_of_two_throws():
    rng = np.random.default_rng(3)
    gyro, accel, places = [], [], []
    for spin in ([12.0, 1.0, 0.5], [1.0, 11.0, 1.5]):
        w, f = fall(spin)
        n = round(0.4 * RATE)
        ramp = np.linspace(0.0, 1.0, n)[:, None]
        hand = Rotation.from_rotvec(0.3 * ramp * spin).apply([0.0, 0.0, 9.81], inverse=True) * (
            1.0 + 2.0 * ramp
        )
        rest = np.tile([0.0, 0.0, 9.81], (n, 1))
        places.append((sum(map(len, gyro)) + 2 * n, len(w)))
        gyro += [np.zeros((n, 3)), ramp * w[0], w, w[-1] * ramp[::-1]]
        accel += [rest, hand, f, hand[::-1] + 15.0]
    w, f = np.concatenate(gyro), np.concatenate(accel)
    time = (np.arange(len(w)) * 1_000_000).astype(np.int64)
    return (
        Flight.of(
            Channel("imu.gyro", time, w + 0.003 * rng.normal(size=w.shape), "rad/s", "imu"),
            Channel("imu.accel", time, f + 0.03 * rng.normal(size=f.shape), "m/s2", "imu"),
        ),
        places,
    )


def test_free_falls_are_found_in_a_log():
    flight, places = log_of_two_throws()
    found = find_free_falls(flight)
    assert len(found) == 2
    for fall_, (first, length) in zip(found, places, strict=True):
        assert first - 5 <= fall_.first < first + 0.1 * length
        assert first + 0.9 * length < fall_.last <= first + length + 5
    calibrated = Budget(bias=0.02, misalignment=np.deg2rad(0.3))
    place = locate_imu(find_tumbles(flight), calibrated)
    np.testing.assert_allclose(place.position, (0.01, -0.012, 0.008), atol=3e-4)
    assert place.contains((0.01, -0.012, 0.008))
    assert locate_imu(find_tumbles(flight)).contains((0.01, -0.012, 0.008))


def misstamped(flight, rng, *, every=5, jitter=1e-3, dropped=0.02, gap=(1.0, 1.2)):
    """Every fifth sample of a log, stamped with jitter, with drops, a gap and readings that are not finite."""
    time = flight["imu.gyro"].time[::every]
    arrived = (rng.random(len(time)) > dropped) & ((time < gap[0] * 1e9) | (time > gap[1] * 1e9))
    stamps = np.maximum.accumulate(
        time + np.round(1e9 * jitter * rng.normal(size=len(time))).astype(np.int64)
    )
    arrived[1:] &= np.diff(stamps) > 0
    channels = []
    for name in ("imu.gyro", "imu.accel"):
        values = flight[name].values[::every].copy()
        values[rng.random(len(values)) < 0.005] = np.nan
        channels.append(Channel(name, stamps[arrived], values[arrived], flight[name].unit, "imu"))
    return Flight.of(*channels)


def test_a_log_with_irregular_stamps_is_taken():
    flight, places = log_of_two_throws()
    poor = misstamped(flight, np.random.default_rng(8))
    throws = find_tumbles(poor)
    assert len(throws) >= 2
    assert all(throw.irregular for throw in throws)
    assert not any(throw.irregular for throw in find_tumbles(flight))
    ends = [(first / RATE, (first + length) / RATE) for first, length in places]
    assert all(any(a - 0.03 < t.start and t.start + t.time[-1] < b + 0.03 for a, b in ends) for t in throws)
    found = locate_imu(throws)
    assert found.contains((0.01, -0.012, 0.008))
    assert np.sqrt(np.diag(found.cov)).max() < 6e-3


def test_the_fall_of_a_body_whose_imu_is_far_off_the_centre_is_found():
    """Centripetal forces are beyond one g all the time."""
    w, f = fall([12.0, 4.0, 16.0], place=(0.05, 0.03, -0.02))
    assert np.linalg.norm(f, axis=1).min() > 9.81
    n = 500
    rest = np.tile([0.0, 0.0, 9.81], (n, 1))
    gyro, accel = np.concatenate([np.zeros((n, 3)), w, np.zeros((n, 3))]), np.concatenate([rest, f, rest])
    time = (np.arange(len(gyro)) * 1_000_000).astype(np.int64)
    flight = Flight.of(
        Channel("imu.gyro", time, gyro, "rad/s", "imu"), Channel("imu.accel", time, accel, "m/s2", "imu")
    )
    (found,) = find_free_falls(flight)
    assert n - 5 <= found.first < n + 0.15 * len(w)
    assert n + 0.85 * len(w) < found.last <= n + len(w) + 5


def test_a_clipped_gyro_is_left_out():
    w, f = fall([9.0, 2.0, 1.5])
    limit = np.deg2rad(500.0)
    assert np.abs(w).max() > 1.01 * limit
    clipped = np.clip(w, -limit, limit)
    time = (np.arange(len(w)) * 1_000_000).astype(np.int64)
    samples = ImuSamples.of(
        Flight.of(
            Channel("imu.gyro", time, clipped, "rad/s", "imu"), Channel("imu.accel", time, f, "m/s2", "imu")
        )
    )
    assert not samples.valid[np.abs(w).max(axis=1) > limit].any()
    assert samples.valid[np.abs(w).max(axis=1) < 0.99 * limit].all()


def test_faults_say_what_to_do():
    w, f = fall([12.0, 1.0, 0.5])
    with pytest.raises(TumbleError, match="throw higher"):
        filter_tumble(w[:50], f[:50], RATE)
    with pytest.raises(TumbleError, match=r"\(N, 3\)"):
        filter_tumble(w[:, :2], f, RATE)
    with pytest.raises(TumbleError, match="not finite"):
        filter_tumble(w * np.nan, f, RATE)
    with pytest.raises(TumbleError, match="no throw"):
        locate_imu([])
