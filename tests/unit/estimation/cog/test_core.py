"""The filter alone, on readings of a vehicle written down here: a rigid body that a proportional law keeps level."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.estimation.cog.belief import CogReading
from haltere.estimation.cog.core import CogCore
from haltere.estimation.cog.settings import Reason

RATE, TICKS, STEP = 220, 1980, 1100
TORQUE_NOISE = 0.7
"""rad/s2 in each tick: with it a window is 1 mm uncertain, as outdoors."""
SHIFT = np.array([0.012, -0.006, 0.0])
COG = CogCore.from_airframe(from_catalogue("neo"))


@cache
def readings(seed=0, runs=8):
    """Newton and Euler in NumPy, hover, motor lag 45 ms, sensor noise of the airframe file, torque noise."""
    rng, vehicle = np.random.default_rng(seed), COG.numbers.vehicle
    K, inertia, mass = (np.asarray(x) for x in (vehicle.allocation, vehicle.inertia, vehicle.mass))
    inverse, mixer, dt = np.linalg.inv(inertia), np.linalg.pinv(K[2:]), 1.0 / RATE
    speeds = np.tile(np.asarray(COG.numbers.hover_speeds()), (runs, 1))
    rate, angle = np.zeros((runs, 3)), np.zeros((runs, 3))
    targets, found = speeds.copy(), []
    for tick in range(TICKS):
        com = SHIFT if tick >= STEP else np.zeros(3)
        noise = TORQUE_NOISE * rng.normal(size=(runs, 3))
        force = speeds**2 @ K[:3].T
        turn = (speeds**2 @ K[3:].T - np.cross(com, force)) @ inverse.T + noise
        felt = force / mass - np.cross(turn, com)
        white = [rng.normal(size=(runs, 3)) for _ in range(2)]
        jitter = 3.1 * rng.normal(size=speeds.shape)
        found.append((rate + 0.0425 * white[0], felt + 0.385 * white[1], speeds + jitter, targets))
        wish = np.column_stack([np.full(runs, mass * 9.81), (-49.0 * angle - 12.0 * rate) @ inertia])
        wish[:, 1:] += np.cross(com, [0.0, 0.0, mass * 9.81])
        targets = np.sqrt(np.maximum(wish @ mixer.T, 0.0))
        speeds = targets + np.exp(-dt / 0.045) * (speeds - targets)
        angle, rate = angle + dt * rate, rate + dt * turn
    return tuple(jnp.asarray(np.stack(x, axis=1)) for x in zip(*found, strict=True))


@jax.jit
def run(gyro, accel, speeds, targets):
    def body(belief, reading):
        belief = COG.tick(belief, reading)
        said = COG.estimate(belief)
        return belief, (said.trim - belief.nominal, said.offset, said.cov, said.observable)

    return jax.lax.scan(body, COG.begin(), CogReading(gyro, accel, speeds, targets))


many = jax.jit(jax.vmap(run))


@pytest.fixture(scope="module")
def flown():
    return jax.tree.map(np.asarray, many(*readings()))


def test_a_step_is_found_quickly_and_then_quietly(flown):
    last, (trim, offset, _, _) = flown
    share = trim.mean(axis=0)[STEP:] @ SHIFT / (SHIFT @ SHIFT)
    assert 0.02 < np.argmax(share > 0.9) / RATE < 0.6
    for late in (trim[:, -RATE:, :2] - SHIFT[:2], offset[:, -RATE:, :2] - SHIFT[:2]):
        assert 1e-5 < np.sqrt(np.mean(late**2)) < 1.2e-3
    assert (last.events == 1).all()


def test_the_deviation_covers_the_error(flown):
    _, (_, offset, cov, _) = flown
    error, sigma = offset[:, -1, :2] - SHIFT[:2], np.sqrt(np.diagonal(cov[:, -1, :2, :2], 0, 1, 2))
    assert np.all(np.abs(error) < 4.0 * sigma)
    assert np.all(sigma < 0.008)


def test_the_component_along_the_thrust_is_frozen_at_hover(flown):
    _, (_, offset, cov, observable) = flown
    assert not observable.any()
    assert np.abs(offset[:, :, 2]).max() < 1e-5
    assert np.sqrt(cov[:, -1, 2, 2]).min() > 0.02


def test_faults_are_left_out_and_named():
    gyro, accel, speeds, targets = (x.copy() for x in readings())
    gyro = gyro.at[:, 700].set(jnp.nan)
    accel = accel.at[:, 720].add(50.0).at[:, 730].set(jnp.inf)
    speeds = speeds.at[:, 800:844].set(jnp.nan).at[:, 900, 0].set(9e3)
    targets = targets.at[:, 950, 2].set(jnp.nan)
    last, (offset, _, _, _) = jax.tree.map(np.asarray, many(gyro, accel, speeds, targets))
    assert np.isfinite(offset).all()
    assert np.abs(offset[:, -1, :2] - SHIFT[:2]).max() < 0.004
    counts = last.counts[0]
    assert counts[Reason.GYRO_MISSING] == 1
    assert counts[Reason.ACCEL_MISSING] == 1
    assert counts[Reason.ACCEL_OUTLIER] == 1
    assert counts[Reason.SPEED_MISSING] == 44
    assert counts[Reason.SPEED_OUTLIER] == 1
    assert counts[Reason.TARGET_MISSING] == 1
    assert counts[Reason.DIVERGED] == 0


def test_a_mark_opens_and_the_change_counts_from_there():
    gyro, accel, speeds, targets = (x[0] for x in readings())
    belief = COG.begin()
    tick = jax.jit(COG.tick)
    for k in range(STEP + 300):
        belief = COG.mark(belief) if k == STEP else belief
        belief = tick(belief, CogReading(gyro[k], accel[k], speeds[k], targets[k]))
    said = COG.estimate(belief)
    sigma = np.asarray(said.change_sigma)
    assert float(said.since) == pytest.approx(300 / RATE)
    assert np.all(np.abs(np.asarray(said.change) - SHIFT)[:2] < 4.0 * sigma[:2])
    assert np.all(sigma[:2] < 0.004)
    assert int(said.events) == 0


def test_time_does_not_run_backwards():
    reading = CogReading(*(x[0, 0] for x in readings()))
    belief = COG.tick(COG.begin(), reading, -0.01)
    assert int(belief.counts[Reason.STAMPS_BACK]) == 1
    assert float(belief.time) == 0.0


def test_every_reason_has_a_sentence():
    assert all(reason.sentence for reason in Reason)
