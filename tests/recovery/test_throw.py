"""Unknown vehicles thrown into the air: they hover, and what they learnt of themselves is right."""

import jax
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.foundation import HaltereError
from haltere.scenarios.throw.throws import LaunchSettings, throw_vehicles


def test_settings_say_what_they_want():
    with pytest.raises(HaltereError, match="mems"):
        LaunchSettings(noise="loud")
    with pytest.raises(HaltereError, match="more than"):
        LaunchSettings(height=1.0)
    with pytest.raises(HaltereError, match="compass"):
        LaunchSettings(heading="stars")


def test_vehicles_that_cannot_be_thrown_are_refused():
    with pytest.raises(HaltereError, match="random-quad"):
        throw_vehicles(jax.random.key(0), 1, "balloon")
    with pytest.raises(HaltereError, match="without links"):
        throw_vehicles(jax.random.key(0), 1, from_catalogue("hong-tilt-rotor"))


@pytest.fixture(scope="module")
def quadrotors():
    return throw_vehicles(jax.random.key(11), 20)


@pytest.mark.slow
def test_random_quadrotors_hover_with_strong_noise(quadrotors):
    assert quadrotors.recovered.all(), quadrotors.causes
    assert np.median(quadrotors.altitude_lost) < 0.35
    assert np.mean(np.degrees(quadrotors.axis_error)) < 2.0
    assert quadrotors.fastest.max() < 34.9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "most"),
    [("torque", 0.05), ("force", 0.08), ("spin", 0.15), ("max_speed", 0.02), ("time_constant", 0.5e-3)],
)
def test_parameters_with_strong_noise(quadrotors, name, most):
    assert np.median(quadrotors.parameters[name]) < most


@pytest.mark.slow
def test_the_papers_quadrotor_with_the_noise_of_its_imu(quadrotors):
    found = throw_vehicles(
        jax.random.key(12), 20, from_catalogue("indiflight-3inch"), LaunchSettings(noise="mems")
    )
    assert found.recovered.all()
    assert np.quantile(np.degrees(found.axis_error), 0.95) < 0.5


@pytest.mark.slow
def test_the_same_key_gives_the_same_throws(quadrotors):
    again = throw_vehicles(jax.random.key(11), 20)
    np.testing.assert_array_equal(again.axis_error, quadrotors.axis_error)


@pytest.mark.slow
def test_octorotors_lose_no_more_altitude_than_others():
    found = throw_vehicles(jax.random.key(1), 20, "random-octo", LaunchSettings(height=4.0))
    assert found.recovered.all(), found.causes
    assert np.median(found.altitude_lost) < 0.35
    assert np.median(found.parameters["force"]) < 0.08
    assert np.median(found.latency_error) < 0.5e-3


@pytest.mark.slow
def test_throws_without_tumbles_before():
    """The place of the IMU comes from the excitation; seven of ten may be asked of it, the tumbles give all."""
    found = throw_vehicles(jax.random.key(13), 20, settings=LaunchSettings(prior_throws=False))
    assert found.recovered.sum() >= 14, found.causes
    assert np.median(found.imu_position_error) < 3e-3


@pytest.mark.slow
def test_throws_with_a_compass():
    found = throw_vehicles(jax.random.key(14), 20, settings=LaunchSettings(heading="compass"))
    assert found.recovered.all(), found.causes
    assert np.quantile(found.heading_error, 0.95) < 0.025
