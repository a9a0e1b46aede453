"""Estimates over time: the last one is the smoother's own, the first one the prior, and deviations only shrink."""

import numpy as np

from haltere.papers.boehm.flights import Conditions, fly
from haltere.papers.boehm.page import draw_bands, estimate_histories, figures, history_of
from haltere.papers.boehm.prior import paper_hand_measurements, ten_percent
from haltere.papers.boehm.series import one_of, smooth_run

SHORT = Conditions(duration=6.0, gentle=True)


def test_history_begins_with_the_prior_and_ends_with_the_estimate():
    figure = figures()["1, 3"]
    recording = fly(figure.airframe, [5], SHORT)
    hands = paper_hand_measurements(tuple(rotor.name for rotor in figure.airframe.rotors))
    run = smooth_run(figure.airframe, one_of(recording, 0), 5, hands, SHORT)
    time, errors, sigma = history_of(run)
    assert time[0] == 0.0
    assert 5.5 < time[-1] < 6.0
    np.testing.assert_allclose(errors[-1], run.prior.errors(run.flight.z), atol=1e-12)
    np.testing.assert_allclose(sigma[-1], run.prior.sigmas(run.flight.z, run.flight.cov), rtol=1e-6)
    histories = estimate_histories(figure, [5], recording, conditions=SHORT)
    vehicle = histories.vehicle
    np.testing.assert_allclose(histories.values[0] - histories.truth, errors, atol=1e-9)
    mass, heights = vehicle.names.index("mass"), vehicle.names.index("rotors.front.position.x")
    physical = dict(zip(vehicle.names, histories.truth, strict=True))
    assert physical["mass"] == 0.716
    assert np.all(np.diff(histories.sigma[0, :, mass] / histories.values[0, :, mass]) < 1e-9)
    assert histories.sigma[0, 0, heights] <= 0.017
    drawn = draw_bands(histories, "rotor_x")
    assert len(drawn.data) == 4 * 5


def test_figure_of_tilted_rotors_shows_azimuths():
    figure = figures()["6"]
    histories = estimate_histories(figure, [2], fly(figure.airframe, [2], SHORT), conditions=SHORT)
    azimuths = [histories.vehicle.names.index(f"rotors.{r}.axis.azimuth") for r in histories.vehicle.rotors]
    np.testing.assert_allclose(np.degrees(histories.truth[azimuths]), [0.0, 90.0, 180.0, -90.0], atol=1e-9)
    from haltere.papers.boehm.paper_vehicle import describe_paper_vehicle

    start = ten_percent(describe_paper_vehicle(figure.airframe)[1])[azimuths] / np.sin(np.radians(20.0))
    np.testing.assert_allclose(histories.sigma[0, 0, azimuths], start, rtol=1e-6)
    assert np.all(histories.sigma[0, -1, azimuths] < 0.8 * start)
