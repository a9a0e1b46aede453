"""Predicted deviations against the spread of simulated identifications; two-sided bounds, seeded."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from tests.consistency.identification import Flights

from haltere.airframe import from_catalogue
from haltere.observability import ObservabilityError, Question, RationalVehicle, analyse
from haltere.observability.information.fisher import RATE, Information, ReadingNoise
from haltere.observability.manoeuvres.flat_flight import Limits, Pilot, sample_trajectory
from haltere.trajectory import periodic

RUNS = 100


GEOMETRY = ("rotors.*.axis", "rotors.*.position", "pose", "imu.rotation", "gravity")


@pytest.fixture(scope="module")
def hummingbird():
    """Information and pilot of the Hummingbird, with everything measured that must be."""
    airframe = from_catalogue("hummingbird")
    vehicle = RationalVehicle.from_airframe(airframe)
    known = analyse(vehicle, Question(("pose", "imu"))).restore_all[0]
    information = Information(vehicle, ReadingNoise.of(airframe, ("pose", "imu")), known)
    return information, Pilot.of(airframe, vehicle, Limits())


def waves(seed, harmonics=8):
    rng = np.random.default_rng(seed)
    size = np.array([0.5, 0.5, 0.3, 1.5]) / np.arange(1, harmonics + 1)[:, None] ** 1.5
    return rng.normal(size=(2, harmonics, 4)) * size * 0.5


def flown(pilot, coefficients, seconds):
    """The first seconds of a flight of ten."""
    path = periodic(jnp.asarray(coefficients[0]), jnp.asarray(coefficients[1]), 10.0, pilot.limits.centre)
    nominal = compiled(pilot)(sample_trajectory(path, 10.0))
    samples = round(seconds * RATE)
    return np.asarray(nominal.motion)[:samples], np.asarray(nominal.inputs)[:samples]


COMPILED = {}


def compiled(pilot):
    return COMPILED.setdefault(id(pilot), jax.jit(pilot.fly))


def assert_spread_is_predicted(information, motion, inputs, rng):
    """Every free direction's chi-square and the whole mean within two-sided bounds of 1e-4."""
    errors = Flights(information, motion, inputs, RUNS).identify(rng)
    matrix = information.matrix(motion, inputs)
    f = matrix.shape[0]
    whole = np.einsum("ri,ij,rj->r", errors, matrix, errors)
    low, high = stats.chi2.ppf([5e-5, 1 - 5e-5], RUNS * f)
    assert low < whole.sum() < high
    covariance = np.linalg.inv(matrix)
    predicted = np.sqrt(np.diag(covariance))
    low, high = np.sqrt(stats.chi2.ppf([1e-6, 1 - 1e-6], RUNS) / RUNS)
    ratio = np.sqrt(np.mean(errors**2, axis=0)) / predicted
    assert np.all((low < ratio) & (ratio < high)), ratio


def test_predicted_sigma_is_the_spread_of_100_identifications(hummingbird):
    """With the geometry known, so that errors of four seconds are small enough for the bound to be reached."""
    information, pilot = hummingbird
    information = replace(information, known=(*information.known, *GEOMETRY))
    motion, inputs = flown(pilot, waves(1), 4.0)
    assert_spread_is_predicted(information, motion, inputs, np.random.default_rng(2))


def test_longer_flights_say_more_and_known_things_are_certain(hummingbird):
    information, pilot = hummingbird
    short, long = (information.matrix(*flown(pilot, waves(3), t)) for t in (4.0, 8.0))
    names = ["inertia.zz", "rotors.left.torque_ratio", "imu.position.x", "rotors.back.axis.x"]
    less, more = (information.sigmas(matrix, names) for matrix in (short, long))
    assert all(more[name] < less[name] for name in names)
    assert information.sigmas(long, ["mass"])["mass"] < 1e-9


def test_hovering_says_nothing_about_some(hummingbird):
    information, pilot = hummingbird
    matrix = information.matrix(*flown(pilot, np.zeros((2, 1, 4)), 4.0))
    assert information.sigmas(matrix, ["inertia.zz"])["inertia.zz"] is None


def test_one_name_at_a_time(hummingbird):
    with pytest.raises(ObservabilityError, match="several"):
        hummingbird[0].row("inertia")


def test_noise_of_the_file_counts_samples_per_second():
    sigma = ReadingNoise.of(from_catalogue("hummingbird"), ("pose", "imu")).sigma
    assert sigma[0] == pytest.approx(0.001)
    assert sigma[7] == pytest.approx(0.83 / 2)
    assert sigma[10] == pytest.approx(0.0065)
    assert np.isinf(ReadingNoise.of(from_catalogue("hummingbird"), ("imu",)).sigma[0])
