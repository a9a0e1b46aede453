"""The batch smoother and the centre-of-gravity filter on the same flights: do they agree?

They share no state and no code but the physics: the one has pose, IMU and the whole flight, the other gyroscope,
accelerometer and rotor speeds, window by window. A Hummingbird flies whose centre of mass is not where its file says
and whose rotors are not quite alike; both believe the file.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.estimation.cog.belief import CogReading
from haltere.estimation.cog.core import CogCore
from haltere.estimation.cog.settings import CogSettings
from haltere.estimation.vehicle.hand_measurements import with_measured
from haltere.estimation.vehicle.nodes import FlightNodes
from haltere.estimation.vehicle.numbers import physical_numbers
from haltere.estimation.vehicle.parameters import NominalVehicle, Widths
from haltere.estimation.vehicle.smoother import smooth
from haltere.papers.boehm.flights import Conditions, fly
from haltere.papers.boehm.series import flight_of, one_of

FILE = from_catalogue("hummingbird")
ROTORS = tuple(rotor.name for rotor in FILE.rotors)
SHIFT = np.array([0.006, -0.004, 0.0])
STRONGER = np.array([0.012, -0.008, 0.004, -0.010])
FLIGHT = Conditions(duration=10.0, lag=True, substeps=2, gentle=True)
SEEDS = range(70, 75)
SETTINGS = CogSettings(period=1.0 / FLIGHT.rate, rotor_spread=0.01)


def flown():
    """The flights of the vehicle as it is."""
    body = FILE.body.model_copy(update={"com": tuple(SHIFT)})
    rotors = tuple(
        rotor.model_copy(update={"thrust_coefficient": rotor.thrust_coefficient * (1.0 + more)})
        for rotor, more in zip(FILE.rotors, STRONGER, strict=True)
    )
    return fly(FILE.model_copy(update={"body": body, "rotors": rotors}), SEEDS, FLIGHT)


def by_smoother(recording):
    """Offset (2,) of the centre of mass from the file's origin, and its covariance; rotors are where the file says."""
    widths = Widths(thrust=SETTINGS.rotor_spread, position=1e-4, tilt=1e-4)
    nominal = NominalVehicle.from_airframe(FILE, widths=widths, model="paper")
    nominal, _, left = with_measured(nominal, ROTORS, {"mass": (FILE.body.mass, 1e-3)})
    assert not left
    found = []
    for i in range(len(SEEDS)):
        nodes = FlightNodes.from_flight(flight_of(one_of(recording, i), FLIGHT, ROTORS), ROTORS)
        numbers = physical_numbers(smooth(nodes, nominal), ROTORS)
        places = [numbers.names.index(f"com.{axis}") for axis in "xy"]
        found.append((numbers.values[places], numbers.cov[np.ix_(places, places)]))
    return found


def by_cog_filter(recording):
    """The same by the other filter, from IMU and rotor speeds only."""
    cog = CogCore.from_airframe(FILE, SETTINGS)

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
    recording = flown()
    first, second = by_smoother(recording), by_cog_filter(recording)
    apart = []
    for (a, cov_a), (b, cov_b) in zip(first, second, strict=True):
        for offset, cov in ((a, cov_a), (b, cov_b)):
            assert np.all(np.sqrt(np.diagonal(cov)) < 3e-3)
            assert np.all(np.abs(offset - SHIFT[:2]) < 4.0 * np.sqrt(np.diagonal(cov)))
        apart.append((a - b) / np.sqrt(np.diagonal(cov_a + cov_b)))
    assert np.abs(apart).max() < 3.0
    assert 0.05 < np.mean(np.square(apart)) < 2.0
