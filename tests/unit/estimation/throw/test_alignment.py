"""Heading of a thrown IMU from late positions of a marker, with errors of the IMU, against motion integrated here."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from haltere.estimation.throw.alignment import Fixes, align
from haltere.estimation.throw.reckoning import DeadReckoning
from haltere.foundation.arrays import double_precision

RATE, EVERY, GRAVITY = 500.0, 5, 9.80665
DT = 1.0 / RATE
PSI, MARKER, LATE = 2.1, np.array([0.03, -0.02, 0.05]), 0.012


def thrown(rng, scale=0.0, bias=0.0, psi=PSI):
    """Gyro, accelerometer, positions of the marker (late) and attitude at the end; a push upwards, then two aside."""
    n, fine = 500, 10
    t = np.arange(n * fine) * DT / fine
    rate = np.stack(
        [8.0 * np.sin(3.0 * t + 0.3), 6.0 * np.cos(4.0 * t), -5.0 + 4.0 * np.sin(5.0 * t)], axis=1
    )
    force = np.zeros((n * fine, 3))
    force[t < 0.2] = [1.5, -2.0, 35.0]
    force += np.outer((t > 0.4) * (t < 0.6), [6.0, 2.0, 9.0]) + np.outer(t > 0.7, [-3.0, 7.0, 4.0])
    attitude = [Rotation.from_rotvec([0.02, -0.03, 0.0])]
    for w in rate[:-1]:
        attitude.append(attitude[-1] * Rotation.from_rotvec(w * DT / fine))
    R = Rotation.concatenate(attitude)
    acceleration = R.apply(force) - [0.0, 0.0, GRAVITY]
    velocity = np.cumsum(acceleration, axis=0) * DT / fine
    turn = Rotation.from_rotvec([0.0, 0.0, psi])
    place = turn.apply(np.cumsum(velocity, axis=0) * DT / fine) + np.array([1.0, -2.0, 1.3])
    marker = place + turn.apply(R.apply(MARKER))
    late = np.maximum(np.arange(n * fine) - round(LATE * RATE * fine), 0)
    seen = marker[late][::fine] + 1e-3 * rng.standard_normal((n, 3))
    gyro = (1.0 + scale * rng.standard_normal(3)) * rate[::fine] + bias * rng.standard_normal(3)
    return gyro, force[::fine], seen, (turn * R[-fine]).as_matrix(), turn.apply(velocity[-fine])


@pytest.fixture(scope="module")
def aligned():
    @jax.jit
    def run(gyro, accel, seen):
        def one(carry, reading):
            now, fixes, k = carry
            now = now.step(*reading[:2], jnp.zeros(3), jnp.zeros((3, 3)), GRAVITY, DT, jnp.asarray(True))
            kept = fixes.with_fix(now, reading[2], 1.0)
            fixes = jax.tree.map(lambda a, b: jnp.where(k % EVERY == 0, a, b), kept, fixes)
            return (now, fixes, k + 1), None

        begin = (DeadReckoning.begin(jnp.asarray([0.0, 0.0, GRAVITY])), Fixes.none(100), 0)
        (now, fixes, _), _ = jax.lax.scan(one, begin, (gyro, accel, seen))
        return align(fixes, now, 2e-3, 4e-4, (0.0, 0.0)), now.wxyz

    def call(*readings):
        with double_precision():
            found, wxyz = run(*(jnp.asarray(x) for x in readings))
            return jax.tree.map(np.asarray, found), np.asarray(wxyz)

    return call


def heading_error(found, wxyz, attitude):
    """Angle about the vertical between the level frame of the IMU and the world, found less true."""
    level = Rotation.from_quat(wxyz[[1, 2, 3, 0]]).as_matrix()
    turned = attitude @ level.T
    true = np.arctan2(turned[1, 0], turned[0, 0])
    return float(np.angle(np.exp(1j * (found.psi - true))))


@pytest.mark.parametrize("psi", [-2.5, 0.3, 3.0])
def test_marker_latency_and_tilt_are_found_with_the_heading(aligned, psi):
    gyro, accel, seen, attitude, velocity = thrown(np.random.default_rng(1), psi=psi)
    found, wxyz = aligned(gyro, accel, seen)
    assert abs(heading_error(found, wxyz, attitude)) < 0.01
    np.testing.assert_allclose(found.marker, MARKER, atol=5e-3)
    assert found.latency == pytest.approx(LATE, abs=2e-3)
    np.testing.assert_allclose(found.velocity, velocity, atol=0.1)
    off = Rotation.from_quat(found.wxyz[[1, 2, 3, 0]]).inv() * Rotation.from_matrix(attitude)
    assert off.magnitude() < 0.02


def test_wrong_and_missing_positions_do_no_harm(aligned):
    rng = np.random.default_rng(2)
    gyro, accel, seen, attitude, _ = thrown(rng)
    seen[::EVERY][[10, 35, 60, 80]] += rng.normal(size=(4, 3))
    seen[50:150] = np.nan
    found, wxyz = aligned(gyro, accel, seen)
    assert abs(heading_error(found, wxyz, attitude)) < 0.03


def test_the_deviation_of_the_heading_is_honest(aligned):
    ratios = []
    for seed in range(40):
        gyro, accel, seen, attitude, _ = thrown(np.random.default_rng(seed), scale=0.006, bias=0.02)
        found, wxyz = aligned(gyro, accel, seen)
        ratios.append(heading_error(found, wxyz, attitude) / float(found.sigma))
    assert np.mean(np.abs(ratios) < 1.96) >= 0.85
    assert 0.3 < np.sqrt(np.mean(np.square(ratios))) < 1.3
