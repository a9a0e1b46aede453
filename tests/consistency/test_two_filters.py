"""The self-calibrating vehicle filter and the centre-of-gravity filter on the same flights: do they agree?

They share no state and no code but the physics: the one has pose, IMU and 68 states seen from the centre of mass, the
other gyroscope, accelerometer and 17 states seen from the body. A Hummingbird flies whose centre of mass is not where
its file says and whose rotors are not quite alike; both believe the file.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.estimation.cog.belief import CogReading
from haltere.estimation.cog.core import CogCore
from haltere.estimation.cog.settings import CogSettings
from haltere.estimation.vehicle.core import VehicleCore
from haltere.estimation.vehicle.description import describe_vehicle
from haltere.papers.boehm.flights import SPEED_SIGMA, Conditions, fly
from haltere.papers.boehm.series import frames_of, paper_hand_measurements

FILE = from_catalogue("hummingbird")
SHIFT = np.array([0.006, -0.004, 0.0])
STRONGER = np.array([0.012, -0.008, 0.004, -0.010])
FLIGHT = Conditions(duration=10.0, lag=True, substeps=2, gentle=True)
SEEDS = range(70, 75)


def flown():
    """The flights of the vehicle as it is."""
    body = FILE.body.model_copy(update={"com": tuple(SHIFT)})
    rotors = tuple(
        rotor.model_copy(update={"thrust_coefficient": rotor.thrust_coefficient * (1.0 + more)})
        for rotor, more in zip(FILE.rotors, STRONGER, strict=True)
    )
    true = FILE.model_copy(update={"body": body, "rotors": rotors})
    return true, fly(true, SEEDS, FLIGHT)


def by_vehicle_filter(true, recording):
    """Offset (2,) of the centre of mass, the common shift of the rotors turned round, and its covariance."""
    coordinates = describe_vehicle(FILE).coordinates
    truth = describe_vehicle(true).physical
    hand_measurements = {
        h.name: (float(h.quantity(coordinates)(truth)), h.sigma) for h in paper_hand_measurements(coordinates)
    }
    known = {
        f"rotors.{r.name}.thrust_coefficient": CogSettings().thrust * r.thrust_coefficient
        for r in FILE.rotors
    }
    vehicle = VehicleCore.from_airframe(FILE, hand_measurements, known, speed_sigma=SPEED_SIGMA)
    nominal = np.asarray(vehicle.description.physical["rotor_position"]).mean(axis=0)
    places = [
        [coordinates.names.index(f"rotors.{r.name}.position.{axis}") for r in FILE.rotors] for axis in "xy"
    ]
    found = []
    for i in range(len(SEEDS)):
        one = jax.tree.map(lambda x, i=i: x[i], recording)
        estimate = vehicle.estimate(frames_of(one, FLIGHT))
        shift = np.asarray(estimate.physical["rotor_position"]).mean(axis=0) - nominal
        cov = estimate.physical_cov
        block = [[cov[np.ix_(a, b)].mean() for b in places] for a in places]
        found.append((-shift[:2], np.array(block)))
    return found


def by_cog_filter(recording):
    """The same by the other filter, from IMU and rotor speeds only."""
    cog = CogCore.from_airframe(FILE, replace(CogSettings(), period=1.0 / FLIGHT.rate))

    def one(imu, speeds):
        at_reading = jnp.concatenate([speeds[:1], 0.5 * (speeds[1:] + speeds[:-1])])
        unknown = jnp.full_like(speeds, jnp.nan)
        readings = CogReading(imu[:, 3:], imu[:, :3], at_reading, unknown)
        last, _ = jax.lax.scan(lambda b, r: (cog.tick(b, r), None), cog.begin(speeds[0]), readings)
        said = cog.estimate(last)
        return said.offset[:2], said.cov[:2, :2]

    offsets, covs = jax.jit(jax.vmap(one))(recording.imu, recording.reported)
    return list(zip(np.asarray(offsets), np.asarray(covs), strict=True))


@pytest.mark.slow
def test_both_filters_find_the_same_centre_of_gravity():
    true, recording = flown()
    first, second = by_vehicle_filter(true, recording), by_cog_filter(recording)
    apart = []
    for (a, cov_a), (b, cov_b) in zip(first, second, strict=True):
        for offset, cov in ((a, cov_a), (b, cov_b)):
            assert np.all(np.sqrt(np.diagonal(cov)) < 3e-3)
            assert np.all(np.abs(offset - SHIFT[:2]) < 4.0 * np.sqrt(np.diagonal(cov)))
        apart.append((a - b) / np.sqrt(np.diagonal(cov_a + cov_b)))
    assert np.abs(apart).max() < 3.0
    assert 0.05 < np.mean(np.square(apart)) < 2.0
