"""Before export a result is flown: good ones hover, bad ones are refused with the reason, ratios make a vehicle."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.dynamics import Compact, Model
from haltere.gate.draws import make_flyable, sample_airframes
from haltere.gate.hover_test import certify
from haltere.identification.described import DescribedVehicle, force_of, torque_of
from haltere.identification.result import Covariance


@pytest.fixture(scope="module")
def results():
    path = Path(__file__).resolve().parents[1] / "exporters" / "results.py"
    spec = importlib.util.spec_from_file_location("hand_built_results", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["hand_built_results"] = module
    spec.loader.exec_module(module)
    return module


def with_sigma(result, factor):
    return replace(
        result,
        parameters=tuple(
            p if p.sigma is None else replace(p, sigma=factor * p.sigma) for p in result.parameters
        ),
    )


def test_a_good_result_hovers_and_a_wild_one_is_refused(results):
    good = certify(DescribedVehicle.from_result(results.whole()), 20, 0)
    assert good.passed
    assert good.sentence.startswith("20 of 20 vehicles")
    wild = certify(DescribedVehicle.from_result(with_sigma(results.whole(), 40.0)), 20, 0)
    assert not wild.passed
    assert f"in {20 - wild.hovered} of 20 draws" in wild.sentence
    assert "--unchecked" in wild.sentence
    again = certify(DescribedVehicle.from_result(with_sigma(results.whole(), 40.0)), 20, 0)
    assert again == wild


def test_a_reversed_rotor_is_noticed_by_the_controllers_own_belief(results):
    result = results.whole()
    airframe = result.airframe
    weak = tuple(r.model_copy(update={"thrust_coefficient": 1e-9}) for r in airframe.rotors)
    told = certify(
        DescribedVehicle.from_result(replace(result, airframe=airframe.model_copy(update={"rotors": weak}))),
        20,
        0,
    )
    assert told.hovered == 0
    assert "cannot hover" in told.sentence


def test_a_vehicle_made_of_ratios_accelerates_as_they_say(results):
    subject = DescribedVehicle.from_result(results.ratios())
    made = Compact.from_model(Model.from_airframe(make_flyable(subject)))
    mass, com, inertia = (np.asarray(x) for x in made.mass_properties)
    K = np.asarray(made.allocation)
    np.testing.assert_allclose(com, 0.0, atol=1e-12)
    for i, rotor in enumerate(subject.rotors):
        force, torque = force_of(subject.numbers, rotor), torque_of(subject.numbers, rotor)
        np.testing.assert_allclose(K[:3, i] / mass, force, rtol=1e-9, atol=1e-16)
        np.testing.assert_allclose(np.linalg.solve(inertia, K[3:, i]), torque, rtol=1e-9, atol=1e-14)


def test_ratios_hover_too(results):
    assert certify(DescribedVehicle.from_result(results.ratios()), 20, 3).passed


def test_draws_spread_as_the_sigmas_say_and_ratios_stay_where_numbers_are_known_together(results):
    subject = DescribedVehicle.from_result(results.scaled(results.whole()))
    plants = sample_airframes(subject, subject.airframe, 400, np.random.default_rng(1))
    mass = np.array([p.total_mass for p in plants])
    k = np.array([p.rotors[0].thrust_coefficient for p in plants])
    x = np.array([p.rotors[0].position[0] for p in plants])
    assert np.std(mass) / np.mean(mass) == pytest.approx(0.01, rel=0.15)
    assert np.std(k / mass) / np.mean(k / mass) < 1e-3
    assert np.std(x) == pytest.approx(0.002, rel=0.15)


def test_draws_follow_the_covariance_where_the_result_tells_one(results):
    whole = results.whole()
    names = ("mass", *(f"rotors.{r.name}.thrust_coefficient" for r in whole.airframe.rotors))
    sigma = np.array([0.02 * whole.parameters[n].value for n in names])
    told = Covariance(names, 0.999 * np.outer(sigma, sigma) + 0.001 * np.diag(sigma**2))
    subject = DescribedVehicle.from_result(replace(whole, covariance=told))
    plants = sample_airframes(subject, subject.airframe, 400, np.random.default_rng(4))
    mass = np.array([p.total_mass for p in plants])
    k = np.array([p.rotors[0].thrust_coefficient for p in plants])
    assert np.std(mass) / np.mean(mass) == pytest.approx(0.02, rel=0.15)
    assert np.std(k) / np.mean(k) == pytest.approx(0.02, rel=0.15)
    assert np.corrcoef(mass, k)[0, 1] > 0.99


def test_an_airframe_needs_no_gate_but_can_be_flown():
    assert certify(DescribedVehicle.from_airframe(from_catalogue("x500")), 20, 0).passed


def test_a_drawing_with_swapped_motors_does_not_pass(results):
    airframe = from_catalogue("indiflight-3inch")
    called = tuple(r.model_copy(update={"name": f"m{i + 1}"}) for i, r in enumerate(airframe.rotors))
    right = replace(results.ratios(), airframe=airframe.model_copy(update={"rotors": called}))
    assert certify(DescribedVehicle.from_result(right), 20, 0).passed
    a, b, *rest = called
    crossed = (
        a.model_copy(update={"position": b.position}),
        b.model_copy(update={"position": a.position}),
        *rest,
    )
    wrong = replace(right, airframe=airframe.model_copy(update={"rotors": crossed}))
    told = certify(DescribedVehicle.from_result(wrong), 20, 0)
    assert not told.passed
    assert "tilted beyond 60 deg" in told.sentence
