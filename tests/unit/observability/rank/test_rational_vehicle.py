"""A vehicle as exact numbers: what must be exact is exact, and the mass properties are those of the dynamics."""

from fractions import Fraction

import numpy as np
import pytest

from haltere.airframe import catalogue_names, from_catalogue
from haltere.dynamics import Compact, Model
from haltere.observability import ObservabilityError, RationalVehicle
from haltere.observability.rank import exact

NAMES = catalogue_names()


@pytest.mark.parametrize("name", NAMES)
def test_quaternions_and_axes_have_unit_length_exactly(name):
    vehicle = RationalVehicle.from_airframe(from_catalogue(name))
    for first in (16, 23):
        assert sum(vehicle.number(first + i) ** 2 for i in range(4)) == 1
    for rotor in range(len(vehicle.spin)):
        assert sum(x * x for x in vehicle.axis(rotor)) == 1


@pytest.mark.parametrize("name", ["hexa-tilted", "hong-tilt-rotor"])
def test_mass_properties_are_those_of_the_dynamics(name):
    airframe = from_catalogue(name)
    vehicle = RationalVehicle.from_airframe(airframe)
    G = np.asarray(Compact.from_model(Model.from_airframe(airframe)).inertia)
    mass, com = G[0, 0], exact.floats(vehicle.com_B)
    R = exact.floats(exact.rotation(vehicle.wxyz_BM))
    moments = exact.floats([vehicle.number(34 + i) for i in range(3)])
    lever = np.array([[0, -com[2], com[1]], [com[2], 0, -com[0]], [-com[1], com[0], 0]])
    about_com = G[3:, 3:] + mass * lever @ lever
    assert float(vehicle.number(33)) == pytest.approx(mass, rel=1e-12)
    assert np.allclose(lever * mass, G[3:, :3], atol=1e-9 * mass)
    assert np.allclose(R @ np.diag(moments) @ R.T, about_com, rtol=1e-6, atol=1e-6 * np.trace(about_com))


def test_symmetry_of_the_file_stays_exact():
    vehicle = RationalVehicle.from_airframe(from_catalogue("x500"))
    assert vehicle.number(34) == vehicle.number(35)
    assert vehicle.axis(0) == (0, 0, 1)


def test_directions_near_the_axes_and_elsewhere():
    assert exact.direction((0.0, 0.0, 2.0)) == (0, 0, 1)
    n = exact.direction((0.3, -0.2, 0.5))
    assert sum(x * x for x in n) == 1
    assert np.allclose(
        exact.floats(n), np.array([0.3, -0.2, 0.5]) / np.linalg.norm([0.3, -0.2, 0.5]), atol=1e-11
    )
    columns = exact.tangent(n)
    assert all(sum(n[i] * columns[i][k] for i in range(3)) == 0 for k in range(2))


def test_decimal_numbers_are_taken_at_their_word():
    assert exact.decimal(0.1) == Fraction(1, 10)


def test_a_vehicle_without_rotors_is_refused():
    bare = from_catalogue("hummingbird").model_copy(update={"rotors": ()})
    with pytest.raises(ObservabilityError, match="no rotors"):
        RationalVehicle.from_airframe(bare)


def test_blades_are_averaged_over_a_turn():
    """Two-bladed rotors: in the flight they turn, so x and y of a symmetric vehicle stay alike."""
    vehicle = RationalVehicle.from_airframe(from_catalogue("quad-arm"))
    turned = [
        r.model_copy(update={"inertia": (r.inertia[1], r.inertia[0], *r.inertia[2:])})
        for r in vehicle.airframe.rotors
    ]
    other = RationalVehicle.from_airframe(vehicle.airframe.model_copy(update={"rotors": tuple(turned)}))
    assert vehicle.constants == other.constants
