"""Rows joined with a drawing: vehicles drawn around it, of which a log shows only some directions."""

from dataclasses import replace

import numpy as np
import pytest

from haltere.airframe.rigid import RigidAirframe
from haltere.identification.regression.nominal_rows import NominalRotors, agree

COUNT = 6
ANGLES = np.deg2rad(30.0 + 60.0 * np.arange(COUNT))
SPINS = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
PLACES = np.stack([0.3 * np.cos(ANGLES), 0.3 * np.sin(ANGLES), 0.0 * ANGLES], axis=1)
MOMENTS = np.array([0.05, 0.055, 0.09])
MASS, THRUST, RATIO = 3.0, 2e-5, 0.016


def force_and_torque(places, axes, thrust, ratio):
    """(3, m) each, N and N m per (rad/s)^2, by the textbook's sums."""
    force = thrust * axes.T
    torque = np.cross(places, force.T).T - SPINS * ratio * force
    return force, torque


@pytest.fixture(scope="module")
def drawing():
    axes = np.tile([0.0, 0.0, 1.0], (COUNT, 1))
    force, torque = force_and_torque(PLACES, axes, np.full(COUNT, THRUST), np.full(COUNT, RATIO))
    yaw = -SPINS * RATIO * force
    names = tuple(f"m{i + 1}" for i in range(COUNT))
    one = np.array([1.0, 0.0, 0.0, 0.0])
    return RigidAirframe(
        MASS, np.diag(MOMENTS), torque, yaw, force, np.eye(3), one, np.zeros(3), PLACES, names
    )


def vehicle(rng):
    """Rows (4, m) of a vehicle near the drawing, whose rotors are all 20 % stronger."""
    axes = np.tile([0.0, 0.0, 1.0], (COUNT, 1))
    axes[:, :2] = 0.005 * rng.standard_normal((COUNT, 2))
    places = PLACES + 0.002 * rng.standard_normal((COUNT, 3)) - 0.012 * rng.standard_normal(3)
    thrust = 1.2 * THRUST * (1.0 + 0.04 * rng.standard_normal(COUNT))
    ratio = RATIO * (1.0 + 0.04 * rng.standard_normal(COUNT))
    moments = MOMENTS * (1.0 + 0.08 * rng.standard_normal(3))
    force, torque = force_and_torque(places, axes, thrust, ratio)
    return np.concatenate([force[2:] / MASS, torque / moments[:, None]])


def measured(rng, rows):
    """Rows as a log has them that drove rotors as a mixer does, and a gyro turned by 8 mrad; and their covariance."""
    x, y = PLACES.T[:2]
    driven = np.stack([np.ones(COUNT), y, -x, -SPINS])
    driven /= np.linalg.norm(driven, axis=1, keepdims=True)
    turn = 0.008 * rng.standard_normal(3)
    seen = rows.copy()
    seen[1:] -= np.cross(turn, rows[1:].T).T
    cov = np.zeros((4 * COUNT, 4 * COUNT))
    found = seen.copy()
    for k in range(4):
        own = np.max(np.abs(rows[k])) ** 2 * (0.02**2 * driven.T @ driven)
        loose = np.eye(COUNT) - driven.T @ np.linalg.solve(driven @ driven.T, driven)
        own = own + (3.0 * np.max(np.abs(rows[k]))) ** 2 * loose
        found[k] += np.linalg.cholesky(own + 1e-12 * np.trace(own) * np.eye(COUNT)) @ rng.standard_normal(
            COUNT
        )
        cov[k * COUNT : (k + 1) * COUNT, k * COUNT : (k + 1) * COUNT] = own
    return found, cov


def test_no_difference_is_the_drawing_itself(drawing):
    rotors = NominalRotors.of(drawing)
    rows = rotors.rows(np.zeros(len(rotors.sigmas())))
    one = np.eye(COUNT)
    np.testing.assert_allclose(rows[0], drawing.specific_forces(one)[:, 2], rtol=1e-12)
    np.testing.assert_allclose(rows[1:], drawing.accelerations(one).T, rtol=1e-9, atol=1e-12)


def test_intervals_hold_the_rows_of_vehicles_near_the_drawing(drawing):
    """Single rotors, which the log alone knows to 300 %, are within 8 % of the row."""
    rotors, ratios, sigmas, probabilities = NominalRotors.of(drawing), [], [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = vehicle(rng)
        joined = agree(rotors, *measured(rng, rows))
        sigma = np.sqrt(np.diagonal(joined.cov)).reshape(4, COUNT)
        ratios.append((joined.rows - rows) / sigma)
        sigmas.append(sigma[:3] / np.max(np.abs(rows[:3]), axis=1, keepdims=True))
        probabilities.append(joined.probability)
    held = np.mean(np.abs(ratios) < 1.96)
    assert 0.91 < held <= 1.0
    assert 0.6 < np.sqrt(np.mean(np.square(ratios))) < 1.2
    assert np.median(sigmas) < 0.08
    assert min(probabilities) > 1e-3


def test_another_order_of_the_rotors_contradicts(drawing):
    rng = np.random.default_rng(3)
    rows = vehicle(rng)
    found, cov = measured(rng, rows)
    order = [1, 0, 2, 3, 4, 5]
    permuted = replace(
        drawing,
        **{part: getattr(drawing, part)[:, order] for part in ("torques", "yaw", "forces")},
    )
    assert agree(NominalRotors.of(permuted), found, cov).probability < 1e-6


def test_a_drawing_without_torque_ratios_is_not_joined(drawing):
    assert NominalRotors.of(replace(drawing, yaw=0.0 * drawing.yaw)) is None
