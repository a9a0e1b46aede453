"""What rows of rotors driven alike, and gyros that are turned, must not claim."""

import numpy as np
import pytest
from tests.unit.identification.made_vehicle import NAMES, draw, record

from haltere.flight.window import FlightWindow
from haltere.identification.methods.effectiveness import effectiveness_parameters
from haltere.identification.methods.effectiveness_fit import SETTINGS, fit_effectiveness
from haltere.identification.parameters import Parameter


@pytest.fixture(scope="module")
def window():
    rng = np.random.default_rng(3)
    return FlightWindow.from_flight(record(rng, draw(rng), 12.0), NAMES)


@pytest.fixture(scope="module")
def fitted(window):
    return fit_effectiveness(window)


def test_yaw_is_as_sure_as_the_gyro_is_straight(fitted):
    """A gyro that is turned puts a part of roll and pitch, which are far stronger, into yaw."""
    part = SETTINGS.misalignment * np.hypot(*fitted.torque[:2])
    assert np.all(fitted.sigma[5] >= part)
    assert np.all(np.diagonal(fitted.torque_cov[2]) >= part**2)
    assert np.all(np.linalg.eigvalsh(fitted.torque_cov[2]) > -1e-12 * fitted.torque_cov[2].max())


def test_rotors_that_run_alike_are_known_together(window):
    """Each rotor twice at the same place, which fly with the same speed but for some noise."""
    speeds = np.repeat(window.rotor_speeds, 2, axis=1)
    speeds = speeds * (1.0 + 1e-3 * np.random.default_rng(0).standard_normal(speeds.shape))
    names = tuple(f"{name}.{side}" for name in NAMES for side in ("up", "low"))
    commands = np.repeat(window.commands, 2, axis=1)
    pairs = FlightWindow(
        **{**vars(window), "rotor_speeds": speeds, "commands": commands, "rotor_names": names}
    )
    found = effectiveness_parameters(pairs, fit_effectiveness(pairs))
    rows = [p for p in found if p.name.endswith((".effectiveness.p", ".effectiveness.q"))]
    assert len(rows) == 16
    assert {p.verdict for p in rows} == {"combination"}
    assert all(len(p.partners) == 7 for p in rows)


def test_each_of_four_rotors_is_known_by_itself(window, fitted):
    found = {p.name: p.verdict for p in effectiveness_parameters(window, fitted)}
    assert {found[f"rotors.{name}.effectiveness.{row}"] for name in NAMES for row in "pq"} == {"identified"}


def test_what_cannot_be_is_not_measured():
    assert Parameter.measured("mass", -0.2, 0.01, "kg", "weigh it", True).verdict == "unobservable"
    assert Parameter.measured("mass", 0.2, 0.01, "kg", "weigh it", True).verdict == "identified"
