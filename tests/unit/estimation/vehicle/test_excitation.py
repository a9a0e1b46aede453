"""What a flight that hardly rotates must not claim."""

import numpy as np
import pytest

from haltere.estimation.vehicle.excitation import Excitation
from haltere.estimation.vehicle.motion import NODE
from haltere.estimation.vehicle.numbers import Numbers, number_names

NAMES = number_names(("left", "right"))
PRIOR = 0.1
OF_ROTORS = [k for k, name in enumerate(NAMES) if name.startswith(("rotors.", "telemetry."))]


@pytest.fixture
def numbers():
    """Numbers of about one, far better known by the model than before the flight."""
    values = np.random.default_rng(0).uniform(0.5, 1.5, len(NAMES))
    return Numbers(NAMES, values, PRIOR * np.eye(len(NAMES)), 1e-8 * np.eye(len(NAMES)))


def excitation(disturbed=0.0, noise=0.0, sampled=0.0):
    return Excitation(np.full(3, disturbed**2), np.ones(3), np.full(3, noise), sampled, 1000)


def test_a_flight_that_rotates_without_disturbance_keeps_its_deviations(numbers):
    assert np.all(excitation().sigma(numbers) == 0.0)


@pytest.mark.parametrize("kind", [{"noise": 1.5}, {"disturbed": 3.0}])
def test_what_noise_or_gusts_do_tells_nothing_of_the_rotors(numbers, kind):
    sigma = excitation(**kind).sigma(numbers)
    assert np.all(sigma[OF_ROTORS] >= PRIOR)
    assert np.all(np.isfinite(sigma))


def test_where_rotors_tell_nothing_a_centre_aside_looks_like_unlike_rotors(numbers):
    """Two rotors: half the error of each arm times its thrust."""
    value = dict(zip(NAMES, numbers.values, strict=True))
    sigma = dict(zip(NAMES, excitation(noise=1.5).sigma(numbers), strict=True))
    for axis in "xy":
        parts = [
            (value[f"rotors.{name}.position.{axis}"] - value[f"com.{axis}"])
            / value[f"rotors.{name}.thrust_coefficient"]
            for name in ("left", "right")
        ]
        assert sigma[f"com.{axis}"] == pytest.approx(0.5 * PRIOR * np.hypot(*parts))
    assert sigma["com.z"] == pytest.approx(PRIOR)
    assert sigma["pose.position.z"] == pytest.approx(PRIOR)


def test_doubt_grows_with_the_noise(numbers):
    little, more = (excitation(noise=noise).sigma(numbers) for noise in (0.01, 0.1))
    assert np.all(more[OF_ROTORS] > little[OF_ROTORS])


def test_yaw_alone_leaves_roll_and_pitch(numbers):
    """A vehicle that only does not yaw still tells thrust and rows of roll and pitch."""
    sigma = dict(
        zip(
            NAMES,
            Excitation(np.zeros(3), np.ones(3), np.array([0.0, 0.0, 2.0]), 0.0).sigma(numbers),
            strict=True,
        )
    )
    assert sigma["rotors.left.thrust_coefficient"] == 0.0
    assert sigma["rotors.left.effectiveness.p"] == 0.0
    assert sigma["rotors.left.effectiveness.r"] >= PRIOR
    assert sigma["rotors.left.torque_ratio"] >= PRIOR


def test_a_flight_of_noise_only_is_known():
    assert excitation(noise=1.5).tells_nothing
    assert not excitation(noise=0.5).tells_nothing


def test_a_flight_that_becomes_lively_tells_more():
    """As much again of three times the rotation: the variance is five times as large, noise of the gyro not counted."""
    noise = 0.01
    time = NODE * np.arange(1000)
    rate = np.sin(2.0 * np.pi * time)  # its acceleration has a variance of 2 pi^2
    rng = np.random.default_rng(1)
    begun = Excitation(np.ones(3), np.full(3, 2.0 * np.pi**2), np.ones(3), 0.0, 1000)
    found = begun
    for block in np.split(3.0 * rate[:, None] + rng.normal(0.0, noise, (1000, 3)), 100):
        found = found.after(block, noise, np.full(3, 3.0))
    np.testing.assert_allclose(found.noise, begun.noise / 5.0, rtol=0.03)
    np.testing.assert_allclose(found.disturbed, np.sqrt(5.0 / (10.0 * np.pi**2)), rtol=0.03)
    assert found.nodes == 2000
