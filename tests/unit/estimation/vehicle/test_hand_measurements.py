"""Hand measurements in the prior: the vehicle at zero has them, and one deviation away is one sigma of them."""

import numpy as np
import pytest
from tests.unit.estimation.vehicle.quadrotor import NAMES, nominal_vehicle

from haltere.estimation.vehicle.hand_measurements import EXACT, with_measured
from haltere.estimation.vehicle.parameters import vehicle_of

MEASURED = {
    "mass": (0.55, 0.002),
    "com.x": (0.004, 0.001),
    "com.z": (-0.01, 0.002),
    "inertia.xx": (1.7e-3, 5e-5),
    "inertia.zz": (3.1e-3, 9e-5),
    "imu.position.y": (0.02, 0.001),
    "pose.position.z": (0.05, 0.002),
    f"rotors.{NAMES[1]}.thrust_coefficient": (1.4e-6, 2e-8),
    f"rotors.{NAMES[2]}.torque_ratio": (0.012, 3e-4),
    f"rotors.{NAMES[3]}.position.x": (-0.09, 0.001),
}


def read(nominal, name, z):
    """A number by its name, from the vehicle at z."""
    vehicle = vehicle_of(nominal.layout, nominal, z)
    head, *rest = name.split(".")
    if head == "mass":
        return float(vehicle.mass)
    if head == "inertia":
        k = "xyz".index(rest[0][0])
        return float(vehicle.inertia[k, k])
    if head == "rotors":
        i, kind = NAMES.index(rest[0]), rest[1]
        if kind == "position":
            return float(vehicle.position[i, "xyz".index(rest[2])])
        return float({"thrust_coefficient": vehicle.thrust, "torque_ratio": vehicle.torque_ratio}[kind][i])
    vector = {"com": vehicle.com, "imu": vehicle.imu_position, "pose": vehicle.pose_position}[head]
    return float(vector["xyz".index(rest[-1])])


@pytest.fixture(scope="module")
def measured():
    return with_measured(nominal_vehicle(), NAMES, MEASURED)


@pytest.mark.parametrize("name", MEASURED)
def test_a_number_is_what_was_measured(measured, name):
    nominal, taken, unknown = measured
    value, sigma = MEASURED[name]
    n = nominal.layout.size
    assert unknown == []
    assert taken[name] == pytest.approx(sigma)
    assert read(nominal, name, np.zeros(n)) == pytest.approx(value, rel=1e-9)
    changed = np.flatnonzero(
        (np.asarray(nominal.mean) != np.asarray(nominal_vehicle().mean))
        | (np.asarray(nominal.sigma) != np.asarray(nominal_vehicle().sigma))
    )
    assert len(changed) == len(MEASURED)
    h = 1e-5
    slopes = [
        (read(nominal, name, h * e) - read(nominal, name, -h * e)) / (2.0 * h) for e in np.eye(n)[changed]
    ]
    assert np.linalg.norm(slopes) == pytest.approx(sigma, rel=1e-4)


def test_the_rest_of_the_prior_stays(measured):
    nominal, before = measured[0], nominal_vehicle()
    for name in ("inertia", "position", "thrust", "com", "axis", "diameter"):
        np.testing.assert_array_equal(getattr(nominal, name), getattr(before, name))
    air = nominal.layout.slices["axial"].start
    np.testing.assert_array_equal(np.asarray(nominal.mean)[air:], np.asarray(before.mean)[air:])


def test_patterns_stand_for_all_that_they_match():
    nominal, taken, unknown = with_measured(
        nominal_vehicle(), NAMES, {"rotors.*.thrust_coefficient": (1.3e-6, 1e-8)}
    )
    assert sorted(taken) == sorted(f"rotors.{name}.thrust_coefficient" for name in NAMES)
    assert unknown == []
    found = [read(nominal, name, np.zeros(nominal.layout.size)) for name in taken]
    np.testing.assert_allclose(found, 1.3e-6)


def test_names_that_are_not_estimated_are_given_back():
    _, taken, unknown = with_measured(
        nominal_vehicle(), NAMES, {"battery.capacity": (1.5, 0.1), "mass": (0.5, 0.01)}
    )
    assert unknown == ["battery.capacity"]
    assert list(taken) == ["mass"]


@pytest.mark.parametrize(("name", "value"), [("mass", 0.52), ("com.x", 0.0), ("com.y", 0.01)])
def test_an_exact_number_is_held_but_not_singular(name, value):
    nominal, taken, _ = with_measured(nominal_vehicle(), NAMES, {name: (value, 0.0)})
    assert 0.0 < taken[name] <= EXACT * max(1.0, abs(value))
    assert np.all(np.asarray(nominal.sigma) > 0.0)
    assert read(nominal, name, np.zeros(nominal.layout.size)) == pytest.approx(value, abs=1e-12)


def test_later_measurements_replace_earlier_ones():
    once, _, _ = with_measured(nominal_vehicle(), NAMES, {"mass": (0.6, 0.01)})
    twice, _, _ = with_measured(once, NAMES, {"mass": (0.5, 0.002)})
    assert read(twice, "mass", np.zeros(twice.layout.size)) == pytest.approx(0.5)
