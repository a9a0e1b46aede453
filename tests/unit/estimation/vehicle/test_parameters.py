"""Coordinates of the vehicle: every one of them is a vehicle that could exist, and zero is the nominal one."""

import re
from dataclasses import replace

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from tests.unit.estimation.vehicle.quadrotor import AIRFRAME, nominal_vehicle, vehicle_program
from tests.world.drawings import QUADROTOR, nominal_toml

from haltere.airframe import loads
from haltere.estimation.vehicle.parameters import (
    AXIAL,
    HUB,
    SPIN_INERTIA_WIDTH,
    THINNEST,
    CoordinateLayout,
    NominalVehicle,
    VehicleNumbers,
    Widths,
    vehicle_of,
)

POSITIVE = ("mass", "thrust", "torque_ratio", "spin_inertia", "linear_drag", "quadratic_drag")
SIZE = CoordinateLayout(4).size
coordinates = st.tuples(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 5.0, 30.0, 100.0])).map(
    lambda both: both[1] * np.random.default_rng(both[0]).uniform(-1.0, 1.0, SIZE)
)


def point_masses(inertia):
    """Second moments int x x^T dm of a body with this inertia; a body exists if they are positive."""
    return 0.5 * np.trace(inertia) * np.eye(3) - inertia


@given(coordinates)
def test_every_vehicle_is_physical(z):
    vehicle: VehicleNumbers = jax.tree.map(np.asarray, vehicle_program()(z))
    a, b, c = np.linalg.eigvalsh(vehicle.inertia)
    assert a > 0.0
    assert c <= (a + b) * (1.0 + 1e-12)
    for name in POSITIVE:
        assert np.all(getattr(vehicle, name) > 0.0), name
    assert np.all(vehicle.inflow[:, :2] > 0.0)
    np.testing.assert_allclose(np.linalg.norm(vehicle.axis, axis=1), 1.0, rtol=1e-12)
    strength = np.asarray(z)[CoordinateLayout(4).slices["gravity"]]
    np.testing.assert_allclose(
        np.linalg.norm(vehicle.gravity), 9.80665 * np.exp(Widths().gravity * strength), rtol=1e-12
    )
    np.testing.assert_allclose(vehicle.R_BI.T @ vehicle.R_BI, np.eye(3), atol=1e-12)
    assert all(np.all(np.isfinite(x)) for x in jax.tree.leaves(vehicle))


@pytest.mark.parametrize("signs", [(1, 1, 1), (-1, 1, 1), (1, -1, 1), (-1, -1, -1)])
def test_products_of_inertia_together_stay_those_of_a_body(signs):
    """Three products may each be possible and yet no body have all of them."""
    z = np.zeros(SIZE)
    z[CoordinateLayout(4).slices["product"]] = 25.0 * np.array(signs)
    inertia = np.asarray(vehicle_program()(z).inertia)
    assert np.linalg.eigvalsh(point_masses(inertia))[0] > 0.0


def test_inertia_changes_smoothly():
    """Slopes by automatic differentiation are those of differences, also where a second moment is held positive."""
    nominal = nominal_vehicle()
    layout = nominal.layout
    inertia = jax.jit(lambda z: vehicle_of(layout, nominal, z).inertia)
    slopes = jax.jit(jax.jacfwd(lambda z: vehicle_of(layout, nominal, z).inertia))
    rng = np.random.default_rng(0)
    for scale in (0.0, 1.0, 10.0):
        z, step = scale * rng.normal(size=layout.size), rng.normal(size=layout.size)
        differences = (inertia(z + 1e-5 * step) - inertia(z - 1e-5 * step)) / 2e-5
        np.testing.assert_allclose(slopes(z) @ step, differences, rtol=1e-5, atol=1e-9)


def test_zero_is_the_nominal_vehicle():
    nominal = nominal_vehicle()
    vehicle = vehicle_program()(np.zeros(SIZE))
    for name in (
        "mass",
        "com",
        "inertia",
        "position",
        "axis",
        "spin",
        "thrust",
        "torque_ratio",
        "spin_inertia",
    ):
        np.testing.assert_allclose(getattr(vehicle, name), getattr(nominal, name), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(vehicle.imu_position, nominal.imu_position)
    np.testing.assert_allclose(vehicle.pose_wxyz, nominal.pose_wxyz)
    w, *xyz = np.asarray(nominal.imu_wxyz)
    np.testing.assert_allclose(vehicle.R_BI, Rotation.from_quat([*xyz, w]).as_matrix(), atol=1e-12)
    np.testing.assert_allclose(vehicle.gravity, [0.0, 0.0, -9.80665])
    np.testing.assert_allclose(vehicle.accel_gain, np.eye(3))
    for name in ("gyro_gain", "pose_delay", "rotor_delay", "accel_delay", "wind", "pressure", "pitching"):
        np.testing.assert_allclose(getattr(vehicle, name), 1.0 if name == "gyro_gain" else 0.0)
    usual = np.outer(nominal.thrust, [AXIAL / nominal.diameter, HUB / nominal.diameter, 0.0])
    np.testing.assert_allclose(vehicle.inflow, usual)


def test_numbers_are_those_of_the_airframe():
    nominal = nominal_vehicle()
    body, rotors = AIRFRAME.body, AIRFRAME.rotors
    np.testing.assert_allclose(nominal.thrust, [rotor.thrust_coefficient for rotor in rotors])
    np.testing.assert_allclose(nominal.position, [rotor.position for rotor in rotors])
    np.testing.assert_allclose(nominal.axis, [rotor.axis for rotor in rotors], atol=1e-12)
    assert nominal.mass == pytest.approx(body.mass + sum(rotor.mass for rotor in rotors))
    for axis, tangents in zip(nominal.axis, nominal.tangents, strict=True):
        frame = np.vstack([axis, tangents])
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)


def test_one_sigma_of_the_prior_is_the_stated_width():
    layout, widths = CoordinateLayout(4), Widths()
    nominal = nominal_vehicle()

    def moved(name, k=0):
        z = np.zeros(SIZE)
        z[layout.slices[name].start + k] = 1.0
        return vehicle_program()(z)

    assert np.log(moved("mass").mass / nominal.mass) == pytest.approx(widths.mass)
    assert np.log(moved("thrust", 2).thrust[2] / nominal.thrust[2]) == pytest.approx(widths.thrust)
    assert moved("position", 4).position[1, 1] - nominal.position[1, 1] == pytest.approx(widths.position)
    assert np.arccos(moved("tilt").axis[0] @ nominal.axis[0]) == pytest.approx(widths.tilt, rel=1e-3)
    own = np.asarray(nominal.inertia)
    assert np.log(moved("moment", 1).inertia[1, 1] / own[1, 1]) == pytest.approx(widths.moment)
    for k, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        product = moved("product", k).inertia[i, j] / np.sqrt(own[i, i] * own[j, j])
        assert product == pytest.approx(widths.product, rel=0.03)


def massless_rotors(inertia=None):
    """The airframe, all mass in its body, with this inertia (3, 3) of it."""
    lines = nominal_toml(QUADROTOR).splitlines()
    first = lines.index("[[rotors]]")
    kept = [line for line in lines[first:] if not line.startswith(("mass", "inertia"))]
    text = "\n".join(lines[:first] + kept)
    if inertia is not None:
        six = ", ".join(f"{inertia[i, j]:.17g}" for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        text = re.sub(r"(?m)^inertia = .*$", f"inertia = [{six}]", text, count=1)
    return loads(text)


@pytest.mark.parametrize("zz", [1.0, 1.5, 1.99, 2.0])
@pytest.mark.parametrize("tilt", [0.0, 0.7])
def test_flat_bodies_come_out_as_they_are(zz, tilt):
    """From a ball to a plate, which lies on the triangle inequality, also askew in the axes: within `THINNEST`."""
    R = Rotation.from_rotvec([tilt, 0.5 * tilt, 0.3 * tilt]).as_matrix()
    inertia = 2e-3 * R @ np.diag([1.0, 1.0, zz]) @ R.T
    nominal = NominalVehicle.from_airframe(massless_rotors(inertia))
    np.testing.assert_allclose(nominal.inertia, inertia, rtol=1e-9, atol=1e-15)
    found = np.asarray(vehicle_of(nominal.layout, nominal, np.zeros(SIZE)).inertia)
    a, b, c = np.linalg.eigvalsh(found)
    assert 0.0 < c <= a + b
    tolerance = 1e-9 if zz <= 1.5 else 3.0 * THINNEST
    np.testing.assert_allclose(found, inertia, rtol=0.0, atol=tolerance * 4e-3)


@pytest.mark.parametrize("zz", [2.0, 2.1, 3.0])
def test_moments_beyond_the_triangle_inequality_give_a_thin_body(zz):
    """Moments measured one by one need not fit together."""
    nominal = NominalVehicle.from_airframe(massless_rotors(2e-3 * np.diag([1.0, 1.0, 1.8])))
    mean = np.array(nominal.mean)
    mean[nominal.layout.slices["moment"]] = np.log([1.0, 1.0, zz / 1.8])
    nominal = replace(nominal, mean=mean)
    found = np.asarray(vehicle_of(nominal.layout, nominal, np.zeros(SIZE)).inertia)
    second = np.diagonal(point_masses(found))
    assert 0.0 < second[2] < 2.0 * THINNEST * second[:2].mean()
    np.testing.assert_allclose(found[2, 2], 2e-3 * zz, rtol=1e-12)


def test_a_file_without_spin_inertia_gives_a_usual_one_that_is_hardly_known():
    nominal = NominalVehicle.from_airframe(massless_rotors())
    own = np.asarray(nominal.spin_inertia)
    assert np.all((own > 1e-7) & (own < 1e-4))
    assert nominal.sigma[CoordinateLayout(4).slices["spin_inertia"]] == pytest.approx(SPIN_INERTIA_WIDTH)


def test_blocks_fill_the_coordinates_without_overlap():
    for rotors in (1, 3, 8):
        layout = CoordinateLayout(rotors)
        places = np.concatenate([np.arange(layout.size)[block] for block in layout.slices.values()])
        assert places.tolist() == list(range(layout.size))
        blocks = layout.split(np.arange(layout.size))
        assert {name: block.shape for name, block in blocks.items()} == layout.shapes


def test_sensors_are_where_their_link_is():
    airframe = loads("""
        name = "winged"
        [body]
        mass = 1.0
        inertia = [0.01, 0.01, 0.02, 0, 0, 0]
        [[links]]
        name = "wing"
        parent = "body"
        joint = { origin = [0.0, 0.3, 0.0], axis = [0.0, 1.0, 0.0], limits = [-1.6, 1.6] }
        mass = 0.1
        com = [0.0, 0.1, 0.0]
        inertia = [1e-3, 1e-4, 1e-3, 0, 0, 0]
        [[rotors]]
        name = "one"
        position = [0.2, 0.0, 0.0]
        axis = [0.0, 0.0, 1.0]
        thrust_coefficient = 1e-5
        torque_ratio = 0.02
        spin = "ccw"
        [imu]
        link = "wing"
        position = [0.1, 0.02, 0.0]
        [pose]
        position = [0.0, 0.0, 0.05]
    """)
    angle = 0.5
    nominal = NominalVehicle.from_airframe(airframe, np.array([angle]))
    np.testing.assert_allclose(
        nominal.imu_position, [0.1 * np.cos(angle), 0.32, -0.1 * np.sin(angle)], atol=1e-12
    )
    np.testing.assert_allclose(nominal.imu_wxyz, [np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0], atol=1e-12)
    np.testing.assert_allclose(nominal.pose_position, [0.0, 0.0, 0.05], atol=1e-12)
    np.testing.assert_allclose(nominal.pose_wxyz, [1.0, 0.0, 0.0, 0.0], atol=1e-12)
