"""A short flight of the world smoothed, as it is and spoiled, and the jackknife against fits without a part."""

from functools import lru_cache

import numpy as np
import pytest
from scipy import optimize
from tests.unit.estimation.vehicle.quadrotor import AIRFRAME
from tests.world.adapters.base import to_flight
from tests.world.drawings import QUADROTOR
from tests.world.flights import fly
from tests.world.levels import REALISTIC

from haltere.airframe import loads
from haltere.estimation.vehicle.flight_parts import BLOCKS, FlightParts
from haltere.estimation.vehicle.marginal import CHUNK
from haltere.estimation.vehicle.nodes import FlightNodes
from haltere.estimation.vehicle.numbers import physical_numbers
from haltere.estimation.vehicle.parameters import NominalVehicle
from haltere.estimation.vehicle.smoother import (
    FEWEST,
    LEAST_WHITE,
    LONGEST_STEP,
    SETTLED,
    in_logarithms,
    limit_step,
    smooth,
)
from haltere.flight import Channel

SECONDS = 5.1  # one chunk of nodes
FEW = 2.0
"""Sigma by which a number may change when a short part of the flight is spoiled."""


class TestJackknife:
    """Least squares with a prior, 12 parts of 30 rows for 6 coordinates."""

    def setup_method(self):
        rng = np.random.default_rng(0)
        self.rows = rng.normal(size=(12, 30, 6))
        self.right = self.rows @ rng.normal(size=6) + rng.normal(size=(12, 30))
        self.z = rng.normal(size=6)
        self.parts = FlightParts(
            np.einsum("bki,bkj->bij", self.rows, self.rows),
            np.einsum("bki,bk->bi", self.rows, self.right),
            self.fit(range(12)),
        )

    def fit(self, own):
        own = list(own)
        rows = np.vstack([self.rows[own].reshape(-1, 6), np.eye(6)])
        return np.linalg.lstsq(rows, np.concatenate([self.right[own].ravel(), -self.z]))[0]

    def test_steps_are_those_of_fits_to_the_parts(self):
        for own in (range(12), range(6), (0, 3, 7), ()):
            np.testing.assert_allclose(self.parts.step_of(own), self.fit(own), rtol=1e-9, atol=1e-12)

    def test_covariance_is_the_spread_of_fits_without_a_part(self):
        fits = np.array([self.fit([k for k in range(12) if k != left]) for left in range(12)])
        wanted = 11.0 * np.cov(fits.T, bias=True)
        np.testing.assert_allclose(self.parts.jackknife(), wanted, rtol=1e-8, atol=1e-12)

    def test_it_is_near_the_covariance_of_white_noise(self):
        """The rows have noise of variance 1: the mean ratio of both variances is about 1."""
        cov = np.linalg.inv(self.parts.information.sum(axis=0) + np.eye(6))
        ratio = np.diagonal(self.parts.jackknife()) / np.diagonal(cov)
        assert 0.4 < ratio.mean() < 2.0


@lru_cache
def world():
    (flight,) = fly(QUADROTOR, REALISTIC, "full", seeds=[900], duration=SECONDS)
    airframe = loads(flight.nominal)
    record = to_flight(flight, ("imu.", "rotors.", "pose."))
    return (
        record,
        NominalVehicle.from_airframe(airframe),
        tuple(r.name for r in airframe.rotors),
        flight.truth,
    )


def changed(**changes):
    """The flight with channels changed; each function gets times (T,) s and values (T, m) and returns those kept."""
    record = world()[0]
    for word, change in changes.items():
        name = next(name for name in record if name.endswith(word))
        own = record[name]
        kept, values = change(own.seconds(record.start), own.values.copy())
        record = record.with_channel(
            Channel(name, own.time[kept], values[kept], own.unit, own.frame, own.columns)
        )
    return record


def smoothed(record):
    _, nominal, names, _ = world()
    return smooth(FlightNodes.from_flight(record, names), nominal)


@pytest.fixture(scope="module")
def clean():
    result = smoothed(world()[0])
    return result, physical_numbers(result, world()[2])


def test_the_result_is_finite_and_its_covariance_definite(clean):
    result, numbers = clean
    assert len(result.time) < CHUNK  # the rest of the chunk is filled up
    for part in (result.z, result.cov, result.states, result.log_levels, numbers.values, numbers.cov):
        assert np.isfinite(part).all()
    variances = np.linalg.eigvalsh(result.cov)
    assert variances[0] > 0.0
    assert variances[-1] < 1.0 + 1e-9  # a flight never makes the prior wider
    np.testing.assert_allclose(np.linalg.norm(result.states[:, 6:10], axis=1), 1.0, rtol=1e-9)
    assert np.linalg.eigvalsh(result.parts.jackknife())[0] > -1e-9
    assert result.parts.information.shape[0] == BLOCKS
    assert result.iterations >= FEWEST
    assert result.last_step < SETTLED


def test_the_truth_is_within_the_intervals(clean):
    """All numbers whose truth the world knows; their errors are those of one flight, hence correlated."""
    _, numbers = clean
    truth = world()[3]
    known = {n: truth[n] for n in numbers.names if n in truth and not isinstance(truth[n], tuple)}
    errors = np.array([(numbers[n][0] - value) / numbers[n][1] for n, value in known.items()])
    assert len(errors) > 80
    assert np.mean(np.abs(errors) < 1.96) > 0.9
    assert np.abs(errors).max() < 4.0


def test_innovations_have_the_size_that_is_expected(clean):
    """1 where the flight finds the noise of a reading, less where it is held higher, at what is white in the log."""
    result, _ = clean
    record, _, names, _ = world()
    sizes = np.sqrt(np.nanmean(result.innovations.reshape(-1, 4, 3) ** 2, axis=(0, 2)))
    floor = LEAST_WHITE * FlightNodes.from_flight(record, names).white
    held = np.append(np.exp(result.log_levels[:2]) < floor * (1.0 + 1e-6), [False, False])
    np.testing.assert_allclose(sizes[~held], 1.0, atol=0.1)
    assert np.all(sizes[held] < 1.1)


def test_the_same_flight_gives_the_same_result(clean):
    again = smoothed(world()[0])
    np.testing.assert_array_equal(again.z, clean[0].z)
    np.testing.assert_array_equal(again.cov, clean[0].cov)
    np.testing.assert_array_equal(again.states, clean[0].states)


def test_a_limited_step_is_within_its_bounds_and_near_the_best():
    """Against scipy's bounded least squares, which may hold other coordinates at their bounds."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        root = rng.normal(size=(12, 6))
        precision, step = root.T @ root + np.eye(6), 3.0 * rng.normal(size=6)
        most = rng.uniform(0.5, 3.0, size=6)
        found = limit_step(step, precision, np.full(6, -2.0), most)
        assert np.all((found <= most) & (found >= -2.0))
        free = (found < most) & (found > -2.0)
        assert np.allclose((precision @ (found - step))[free], 0.0, atol=1e-9)
        factor = np.linalg.cholesky(precision).T
        best = optimize.lsq_linear(factor, factor @ step, (-2.0, most))
        cost = float(np.sum((factor @ (found - step)) ** 2))
        assert cost < 2.0 * (2.0 * best.cost) + 1e-9
    step = np.array([0.1, -0.2])
    np.testing.assert_array_equal(limit_step(step, np.eye(2), -np.ones(2), np.ones(2)), step)


def test_numbers_that_vanish_are_changed_by_what_the_model_says():
    """Spin inertia by factors 1 + sigma step, to a bound; positions, which are no logarithms, by the step itself."""
    nominal = NominalVehicle.from_airframe(AIRFRAME)
    layout = nominal.layout
    own, sigma = layout.slices["spin_inertia"], np.asarray(nominal.sigma)
    for relative, factor in ((-0.3, 0.7), (0.5, 1.5), (-1.0, np.exp(-LONGEST_STEP * sigma[own])[0])):
        step = np.full(layout.size, 0.1)
        step[own] = relative / sigma[own]
        taken = in_logarithms(nominal, step)
        np.testing.assert_allclose(np.exp(sigma[own] * taken[own]), factor)
        np.testing.assert_array_equal(taken[layout.slices["position"]], 0.1)


def at(t, begin=2.0, end=2.02):
    return (t > begin) & (t < end)


def clipped(limit):
    """20 ms at the end of the range, on all axes."""

    def change(t, x):
        x[at(t)] = limit
        return np.ones(len(t), bool), x

    return change


def dropped(t, x):
    return ~at(t, 2.0, 2.5), x


def hit(t, x):
    """50 m/s2 that are no motion of the vehicle: a blow on its frame."""
    x[at(t)] += [30.0, -40.0, 0.0]
    return np.ones(len(t), bool), x


def jumped(t, x):
    """Every 25th pose belongs to something else."""
    x[50::25] += [1.0, -0.5, 0.3]
    return np.ones(len(t), bool), x


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"imu.accel": clipped(157.0), "imu.gyro": clipped(35.0)}, id="saturated"),
        pytest.param({"imu.accel": dropped, "imu.gyro": dropped}, id="without IMU"),
        pytest.param({"pose.position": dropped, "pose.wxyz": dropped}, id="without poses"),
        pytest.param({"rotors.speed": dropped}, id="without rotor speeds"),
        pytest.param({"imu.accel": hit}, id="hit"),
        pytest.param({"pose.position": jumped}, id="jumping poses"),
    ],
)
def test_a_spoiled_moment_changes_little(clean, changes):
    """Every number within a few sigma of that of the clean flight, and hardly more or less certain."""
    before = clean[1]
    result = smoothed(changed(**changes))
    after = physical_numbers(result, world()[2])
    moved = np.abs(after.values - before.values) / before.sigma
    # The flanks of a blow are steep: they tell of the accelerometer's delay, and tell the wrong thing.
    delay = np.array([name == "imu.accel_delay" for name in before.names])
    worst = int(np.argmax(np.where(delay, 0.0, moved)))
    assert moved[worst] < FEW, before.names[worst]
    assert moved[delay] < 5.0
    assert np.all(np.abs(np.log(after.sigma / before.sigma))[~delay] < 0.3)
    assert np.linalg.eigvalsh(result.cov)[0] > 0.0


def test_poses_of_something_else_count_for_nothing():
    result = smoothed(changed(**{"pose.position": jumped}))
    weights = result.pose_weights[..., 0][np.isfinite(result.pose_weights[..., 0])]
    strangers = len(np.arange(50, len(world()[0]["pose.position"].time), 25))
    assert np.sum(weights < 1e-3) == pytest.approx(strangers, abs=2)
    assert np.median(weights) == 1.0
