"""Estimates over time: the last one is the smoother's own, the first one the prior; azimuths of inclined axes."""

from types import SimpleNamespace

import numpy as np
import pytest

from haltere.estimation.vehicle.smoother import FlightParts
from haltere.papers.boehm.flights import tilted
from haltere.papers.boehm.page import EstimateHistories, azimuth_factors, draw_bands, figures, history_of
from haltere.papers.boehm.paper_vehicle import describe_paper_vehicle
from haltere.papers.boehm.prior import SampledPrior, paper_hand_measurements

PARTS = 5


@pytest.fixture(scope="module")
def run():
    """A flight that was smoothed, of random information."""
    figure, rng = figures()["1, 3"], np.random.default_rng(2)
    hands = paper_hand_measurements(tuple(rotor.name for rotor in figure.airframe.rotors))
    prior = SampledPrior.draw(figure.airframe, hands, np.random.default_rng(0))
    n = prior.nominal.layout.size
    slopes = rng.normal(size=(PARTS, 30, n))
    information = np.einsum("bki,bkj->bij", slopes, slopes)
    right = np.einsum("bki,bk->bi", slopes, rng.normal(size=(PARTS, 30)))
    row = prior.measured(prior.nominal, prior.truth)[1]
    measured, before = row.T @ row, rng.normal(size=n)
    cov = np.linalg.inv(information.sum(axis=0) + measured + np.eye(n))
    step = cov @ (right.sum(axis=0) - before)
    parts = FlightParts(information, right, step, measured)
    flight = SimpleNamespace(z=prior.truth + 0.1, cov=cov, parts=parts, time=np.linspace(0.1, 9.9, 50))
    return SimpleNamespace(prior=prior, flight=flight, before=before)


def test_history_begins_with_the_prior_and_ends_with_the_estimate(run):
    time, errors, sigma = history_of(run)
    flight, prior = run.flight, run.prior
    np.testing.assert_allclose(time, [0.0, 1.9, 3.9, 5.9, 7.9, 9.9])
    np.testing.assert_allclose(errors[-1], prior.errors(flight.z), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sigma[-1], prior.sigmas(flight.z, flight.cov), rtol=1e-6)
    known = np.linalg.inv(np.eye(len(flight.z)) + flight.parts.measured)
    start = flight.z - flight.parts.step - known @ run.before
    np.testing.assert_allclose(errors[0], prior.errors(start), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(sigma[0], prior.sigmas(start, known), rtol=1e-6)


def test_azimuths_of_inclined_axes_are_drawn_as_angles():
    vehicle, physical = describe_paper_vehicle(tilted())
    factors = azimuth_factors(vehicle, np.asarray(physical["rotor_tilt"]))
    inclined = [vehicle.names.index(f"rotors.{rotor}.axis.azimuth") for rotor in vehicle.rotors]
    np.testing.assert_allclose(factors[inclined], 1.0 / np.sin(np.radians(20.0)))
    assert np.all(np.delete(factors, inclined) == 1.0)
    assert np.all(azimuth_factors(vehicle, np.zeros((4, 2))) == 1.0)


def test_bands_have_mean_spread_truth_and_sigma(run):
    vehicle, physical = describe_paper_vehicle(figures()["1, 3"].airframe)
    time, errors, sigma = history_of(run)
    values = np.stack([errors, errors + 0.01])
    histories = EstimateHistories(vehicle, time, np.zeros(errors.shape[1]), values, np.stack([sigma, sigma]))
    drawn = draw_bands(histories, "rotor_x")
    assert len(drawn.data) == len(physical["thrust_coefficient"]) * 5
    place = vehicle.names.index("rotors.front.position.x")
    np.testing.assert_allclose(drawn.data[1].y, 1e3 * values[:, :, place].mean(axis=0), rtol=1e-5)
