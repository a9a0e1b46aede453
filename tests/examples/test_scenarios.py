"""The example scenarios are sound and fly as their comments say."""

from pathlib import Path

import numpy as np
import pytest

from haltere.airframe import load_airframe
from haltere.dynamics.rigid import RigidVehicle
from haltere.scenarios.scenario_flight import simulate
from haltere.simulation.scenario import load_scenario
from haltere.trajectory import can_hover

FOLDER = Path(__file__).resolve().parents[2] / "examples"
FILES = sorted(FOLDER.glob("*.toml"))


def test_there_are_examples():
    assert [file.stem for file in FILES] == ["figure", "hexa_level", "lissajous", "payload", "throw", "wind"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_example_can_be_flown_by_its_vehicle(file):
    scenario, text = load_scenario(file)
    assert text.startswith("# ")
    assert can_hover(RigidVehicle.from_airframe(load_airframe(scenario.airframe)))


def fly(name):
    flight = simulate(FOLDER / f"{name}.toml")
    assert not flight.not_finite()
    assert not any("touched the ground" in note for note in flight.notes)
    return flight, flight["truth.position"].values


@pytest.mark.slow
def test_the_figure_is_flown_in_full():
    flight, position = fly("lissajous")
    assert flight.duration > 29.9
    assert np.ptp(position, axis=0) == pytest.approx([2.0, 2.0, 1.0], rel=0.25)
    assert abs(position.mean(axis=0) - [0.0, 0.0, 2.0]).max() < 0.3


@pytest.mark.slow
def test_the_throw_ends_in_hover():
    flight, position = fly("throw")
    np.testing.assert_allclose(position[-1], [1.5, 0.0, 2.5], atol=0.2)
    assert abs(flight["truth.twist"].values[-1]).max() < 0.2


@pytest.mark.slow
def test_the_hexarotor_goes_round_without_tilting():
    flight, position = fly("hexa_level")
    angle = 2.0 * np.pi / 8.0 * flight["truth.position"].time * 1e-9
    circle = np.column_stack([np.cos(angle), np.sin(angle), np.full_like(angle, 3.0)])
    assert np.linalg.norm(position - circle, axis=1).max() < 0.3
    assert tilt_deg(flight).max() < 3.0


@pytest.mark.slow
def test_the_wind_is_held_against():
    flight, position = fly("wind")
    time = flight["truth.position"].time * 1e-9
    assert np.linalg.norm(position[time < 2.0] - [0.0, 0.0, 3.0], axis=1).max() < 0.3
    np.testing.assert_allclose(position[-1], [0.0, 1.0, 3.0], atol=0.3)
    assert np.ptp(flight["truth.wind"].values, axis=0).min() > 0.1
    leaning = tilt_deg(flight)[(time > 1.0) & (time < 2.0)]
    assert 0.5 < leaning.mean() < 15.0


def tilt_deg(flight):
    _, x, y, _ = flight["truth.wxyz"].values.T
    return np.degrees(np.arccos(1.0 - 2.0 * (x * x + y * y)))


@pytest.mark.slow
def test_the_mixer_follows_the_dropped_mass():
    flight, position = fly("payload")
    said, sure = flight["cog.position"].values[-1], flight["cog.sigma"].values[-1]
    assert said[:2] == pytest.approx([0.01112, -0.00509], abs=3.0 * sure[:2].max())
    assert abs(position[-200:, :2]).max() < 0.03
