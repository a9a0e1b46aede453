"""The search for a manoeuvre: exact gradients, kept limits."""

import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.observability import Question, RationalVehicle, analyse
from haltere.observability.information.fisher import Information, ReadingNoise
from haltere.observability.manoeuvres.flat_flight import Limits, Pilot
from haltere.observability.manoeuvres.search import Designer


@pytest.fixture(scope="module")
def designer():
    airframe = from_catalogue("hummingbird")
    vehicle = RationalVehicle.from_airframe(airframe)
    known = analyse(vehicle, Question(("pose", "imu"))).restore_all[0]
    information = Information(vehicle, ReadingNoise.of(airframe, ("pose", "imu")), known)
    pilot = Pilot.of(airframe, vehicle, Limits())
    return Designer(information, pilot, ("inertia.zz",), seconds=15.0, period=5.0, harmonics=5)


def test_gradient_is_exact(designer):
    rng = np.random.default_rng(1)
    at = designer.random(rng)
    _, gradient, _ = designer.value_and_gradient(at)
    for _ in range(3):
        step = 1e-5 * rng.normal(size=at.shape)
        up, down = (designer.value_and_gradient(at + s * step)[0] for s in (1, -1))
        assert 0.5 * (up - down) == pytest.approx(float(np.sum(gradient * step)), rel=2e-3, abs=1e-9)


def test_random_manoeuvres_reach_a_limit_and_keep_all(designer):
    for seed in range(3):
        found = designer.evaluate(designer.random(np.random.default_rng(seed)))
        assert 0.9 < found.use <= 1.0


def test_a_search_improves_and_keeps_the_limits(designer):
    rng = np.random.default_rng(0)
    start = min(
        (designer.evaluate(designer.random(np.random.default_rng(s))) for s in range(3)),
        key=lambda m: m.value,
    )
    found = designer.search(rng, starts=2, iterations=12)
    assert found.use <= 1.0
    assert found.sigma["inertia.zz"] < start.sigma["inertia.zz"]
    path = found.trajectory.derivatives(1.3)
    assert np.abs(np.asarray(path[0, :3]) - [0.0, 0.0, 1.5]).max() <= 1.5


def test_three_flights_of_one_period_are_root_three_better(designer):
    from dataclasses import replace

    at = designer.random(np.random.default_rng(5))
    once = replace(designer, seconds=5.0).evaluate(at).sigma["inertia.zz"]
    assert once / designer.evaluate(at).sigma["inertia.zz"] == pytest.approx(np.sqrt(3.0), rel=1e-6)
