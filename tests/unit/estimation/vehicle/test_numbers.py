"""Physical numbers of a smoothed flight: names, values by hand, slopes by differences, covariance."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.unit.estimation.vehicle.quadrotor import NAMES, nominal_vehicle, vehicle_program

from haltere.estimation.vehicle.flight_parts import FlightParts
from haltere.estimation.vehicle.numbers import number_names, physical_numbers
from haltere.estimation.vehicle.smoother import SmoothedFlight


def smoothed(z, cov):
    nothing = np.zeros((1, 1))
    parts = FlightParts(nothing[None], nothing, nothing[0])
    return SmoothedFlight(
        nominal_vehicle(),
        z,
        cov,
        parts,
        nothing[0],
        nothing,
        nothing[0],
        nothing,
        nothing,
        {},
        0.0,
        5,
        0.005,
        nothing[0],
    )


@pytest.fixture(scope="module")
def flight():
    rng = np.random.default_rng(0)
    n = nominal_vehicle().layout.size
    root = rng.normal(size=(n, n)) / n
    return smoothed(rng.normal(size=n), root @ root.T)


@pytest.fixture(scope="module")
def numbers(flight):
    return physical_numbers(flight, NAMES)


@pytest.mark.parametrize("rotors", [(), ("front",), NAMES, tuple("abcdefgh")])
def test_names_are_unique(rotors):
    names = number_names(rotors)
    assert len(set(names)) == len(names) == 28 + 18 * len(rotors)


def test_every_number_has_its_name(numbers):
    assert len(numbers.names) == len(numbers.values) == len(numbers.slopes) == len(numbers.cov)
    assert numbers["mass"] == (numbers.values[0], numbers.sigma[0])


def test_values_are_those_of_the_vehicle(flight, numbers):
    """Each by its name, effectiveness from force and moment of a rotor by hand."""
    vehicle = vehicle_program()(flight.z)
    inertia = np.asarray(vehicle.inertia)
    wanted = {"mass": vehicle.mass, "pose.delay": vehicle.pose_delay, "telemetry.delay": vehicle.rotor_delay}
    wanted["imu.accel_delay"] = vehicle.accel_delay
    wxyz = np.asarray(vehicle.pose_wxyz)
    vectors = {
        "com": vehicle.com, "imu.position": vehicle.imu_position, "pose.position": vehicle.pose_position,
        "imu.rotation": Rotation.from_matrix(vehicle.R_BI).as_rotvec(), "gravity": vehicle.gravity,
        "pose.rotation": Rotation.from_quat([*wxyz[1:], wxyz[0]]).as_rotvec(),
    }  # fmt: skip
    for i, name in enumerate(NAMES):
        k, axis, e = (np.asarray(x[i]) for x in (vehicle.thrust, vehicle.axis, vehicle.spin))
        arm = np.asarray(vehicle.position[i] - vehicle.com)
        wanted[f"rotors.{name}.thrust_coefficient"] = k
        wanted[f"rotors.{name}.torque_ratio"] = vehicle.torque_ratio[i]
        wanted[f"rotors.{name}.spin_inertia"] = vehicle.spin_inertia[i]
        vectors |= {f"rotors.{name}.position": vehicle.position[i], f"rotors.{name}.axis": axis}
        moment = np.cross(arm, k * axis) - e * k * float(vehicle.torque_ratio[i]) * axis
        rows = {
            ("fx", "fy", "fz"): k * axis / float(vehicle.mass),
            ("p", "q", "r"): np.linalg.solve(inertia, moment),
            ("p_dot", "q_dot", "r_dot"): -np.linalg.solve(inertia, e * float(vehicle.spin_inertia[i]) * axis),
        }
        for own, vector in rows.items():
            wanted |= {f"rotors.{name}.effectiveness.{row}": x for row, x in zip(own, vector, strict=True)}
    for name, vector in vectors.items():
        wanted |= {f"{name}.{axis}": x for axis, x in zip("xyz", vector, strict=True)}
    for i in range(3):
        for j in range(i, 3):
            wanted[f"inertia.{'xyz'[i]}{'xyz'[j]}"] = inertia[i, j]
    assert set(wanted) == set(numbers.names)
    for name, value in wanted.items():
        assert numbers[name][0] == pytest.approx(float(value), rel=1e-9, abs=1e-15), name


def test_slopes_are_those_of_differences(flight, numbers):
    rng = np.random.default_rng(1)
    h = 1e-5
    for _ in range(5):
        step = rng.normal(size=len(flight.z))
        up, down = (physical_numbers(replace(flight, z=flight.z + s * h * step), NAMES) for s in (1.0, -1.0))
        difference = (up.values - down.values) / (2.0 * h)
        scale = np.linalg.norm(numbers.slopes, axis=1)
        np.testing.assert_allclose((numbers.slopes @ step - difference) / scale, 0.0, atol=1e-5)


def test_covariance_is_carried_over(flight, numbers):
    """The one of the coordinates by default, another one if it is given."""
    np.testing.assert_allclose(numbers.cov, numbers.slopes @ flight.cov @ numbers.slopes.T)
    np.testing.assert_allclose(numbers.sigma**2, np.diagonal(numbers.cov))
    prior = physical_numbers(flight, NAMES, np.eye(len(flight.z)))
    np.testing.assert_allclose(prior.sigma, numbers.prior_sigma, rtol=1e-9)
    k, mass = numbers.names.index("mass"), float(vehicle_program()(flight.z).mass)
    assert numbers.prior_sigma[k] / mass == pytest.approx(0.03)  # factors have a relative deviation
