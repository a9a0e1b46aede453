"""Vehicles of the catalogue, flown with known truth, through the batch smoother of `identify`."""

from dataclasses import dataclass

import numpy as np
import pytest
from tests.recovery.body_truth import BUILT, body_truth
from tests.recovery.test_catalogue import RIGID, SCALE, flown

from haltere.identification.pipeline import identify
from haltere.identification.result import Identification


@dataclass(frozen=True)
class Judged:
    """A result, and the errors over sigma of what it calls identified."""

    result: Identification
    away: dict


def judged(name, seed, without=()):
    airframe, _, truth, flight, weighed = flown(name, seed, BUILT, 12.0)
    for channel in without:
        flight = flight.without(channel)
    result = identify(flight, airframe, known={"mass": weighed})
    assert result.method == "batch", result.notes
    true = body_truth(truth.vehicle)
    told = {p.name: p for p in result.parameters if p.verdict == "identified" and p.name in true}
    return Judged(result, {name: (p.value - true[name]) / p.sigma for name, p in told.items()})


def check_possible(result):
    """No number that no vehicle has: masses and moments above zero, triangle inequality, the body within its arms."""
    value = {p.name: p.value for p in result.parameters}
    J = np.array([[value["inertia." + "".join(sorted(a + b))] for b in "xyz"] for a in "xyz"])
    moments = np.linalg.eigvalsh(J)
    assert moments[0] > 0.0
    assert moments[0] + moments[1] >= moments[2] * (1 - 1e-9)
    assert all(p.value > 0.0 for p in result.parameters if p.name.endswith(("thrust_coefficient", "mass")))


@pytest.mark.parametrize("name", ["hummingbird", "hexa-tilted"])
def test_a_vehicle_built_about_as_drawn(name):
    found = judged(name, 1)
    check_possible(found.result)
    assert len(found.away) >= 40
    assert max(map(abs, found.away.values())) < 4.0, found.away
    assert (
        0.3 < np.sqrt(np.mean(np.square(list(found.away.values())))) < 1.5
    )  # numbers of one flight go together
    assert found.result.airframe is not None
    assert found.result.parameters["mass"].sigma <= 2.0 * SCALE * found.result.parameters["mass"].value
    for held_out in found.result.predictions[3:5]:
        assert np.std(held_out.measured - held_out.predicted) < 0.5 * np.std(held_out.measured), held_out.name


def test_positions_without_attitude():
    found = judged("hummingbird", 1, without=("pose.wxyz",))
    check_possible(found.result)
    assert len(found.away) >= 30
    assert max(map(abs, found.away.values())) < 4.0, found.away
    assert not any(name.startswith("pose.rotation") for name in found.away)


@pytest.mark.slow
def test_every_vehicle_of_the_catalogue():
    away = []
    for name in RIGID:
        for seed in (1, 2, 3):
            found = judged(name, seed)
            check_possible(found.result)
            e = np.array(list(found.away.values()))
            print(
                f"{name} {seed}: {len(e)} identified, largest {np.max(np.abs(e)):.2f}, rms {np.sqrt(np.mean(e**2)):.2f}"
            )
            away += list(e)
    print(
        f"{len(away)} numbers, {np.mean(np.abs(away) < 1.96):.3f} held, rms {np.sqrt(np.mean(np.square(away))):.2f}"
    )
    assert np.mean(np.abs(away) < 1.96) > 0.91
    assert 0.4 < np.sqrt(np.mean(np.square(away))) < 1.3
    assert np.max(np.abs(away)) < 5.0
