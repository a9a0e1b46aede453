"""`VehicleFilter` from readings: the same numbers as its core's, at a host of any precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.unit.estimation.vehicle.test_core import HOVER, hovering

from haltere.airframe import from_catalogue
from haltere.estimation.vehicle.core import VehicleCore
from haltere.estimation.vehicle.filter import VehicleFilter
from haltere.estimation.vehicle.prior import HandMeasurement
from haltere.foundation import HaltereError
from haltere.foundation.errors import PrecisionError

AIRFRAME = from_catalogue("hummingbird")
MASS = {"mass": (0.716, 1e-3)}
POSE = (AIRFRAME.pose[0].position, (1.0, 0.0, 0.0, 0.0))
IMU = ((0.0, 0.0, 9.81), (0.0, 0.0, 0.0))
SPEEDS = np.full(4, HOVER)


@pytest.fixture(scope="module")
def vehicle():
    with jax.enable_x64(False):
        return VehicleFilter(AIRFRAME, hand_measurements=MASS)


def run(vehicle, steps=3):
    """Some readings in hover."""
    belief = vehicle.begin(pose=POSE, rotor_speeds=SPEEDS, imu=IMU)
    belief = vehicle.correct(belief, POSE)
    for _ in range(steps):
        belief = vehicle.predict(belief, IMU, SPEEDS, 0.005)
    return vehicle.correct(belief, POSE[0])


def test_sample_by_sample_it_is_its_core(vehicle):
    with jax.enable_x64(False):
        found = run(vehicle)
        assert jnp.ones(1).dtype == jnp.float32
    core = VehicleCore.from_airframe(AIRFRAME, MASS)
    attitude = core.principal_attitude(jnp.asarray(POSE[1]))
    gyro, imu = jnp.asarray(IMU[1]), np.concatenate(IMU)
    belief = core.begin(core.moving_state(jnp.asarray(POSE[0]), attitude, np.zeros(3), gyro, SPEEDS))
    belief = core.pose(belief, jnp.asarray(POSE[0]), jnp.asarray(POSE[1]))
    for _ in range(3):
        belief = core.step(belief, SPEEDS, imu, 0.005)
    belief = core.pose(belief, jnp.asarray(POSE[0]))
    assert all(isinstance(x, np.ndarray) and x.dtype == np.float64 for x in jax.tree.leaves(found))
    jax.tree.map(np.testing.assert_array_equal, found, jax.tree.map(np.asarray, belief))


def test_a_flight_is_fitted_as_its_core_does(vehicle):
    flight = hovering(0.6)
    with jax.enable_x64(False):
        found = vehicle.fit(flight)
        rows = found.table()
    expected = VehicleCore.from_airframe(AIRFRAME, MASS).estimate(flight)
    assert [tuple(row) for row in rows] == [tuple(row) for row in expected.table()]
    assert found.belief.cov.dtype == np.float64


def test_an_estimate_has_a_row_for_every_name(vehicle):
    with jax.enable_x64(False):
        found = vehicle.estimate(run(vehicle))
        rows = {row.name: row for row in found.table()}
    assert tuple(rows) == vehicle.names
    assert rows["mass"].value == pytest.approx(0.716, abs=1e-4)
    assert rows["mass"].sigma == pytest.approx(1e-3, rel=1e-2)
    assert str(found).splitlines()[len(rows) :] == list(found.notes)
    assert "+- 0.001" in next(line for line in str(found).splitlines() if line.startswith("mass "))
    assert found.notes


def test_known_values_replace_those_of_the_airframe():
    known = {"mass": 0.75, "imu.rotation.z": 0.1, "rotors.front.position.z": (0.012, 1e-4)}
    vehicle = VehicleFilter("hummingbird", known=known, uncertainty=0.5)
    rows = {row.name: row for row in vehicle.estimate(run(vehicle, 0)).table()}
    assert rows["mass"].value == pytest.approx(0.75, abs=1e-12)
    assert rows["mass"].sigma < 1e-9
    assert rows["imu.rotation.z"].value == pytest.approx(0.1, abs=1e-12)
    assert rows["rotors.front.position.z"].value == pytest.approx(0.012, abs=1e-6)
    assert rows["rotors.front.position.z"].sigma == pytest.approx(1e-4, rel=1e-3)


def test_hand_measurements_are_given_by_name_or_as_objects():
    objects = VehicleFilter(AIRFRAME, hand_measurements=[HandMeasurement("mass", 1e-3, value=0.716)])
    np.testing.assert_array_equal(
        run(objects, 0).cov, run(VehicleFilter(AIRFRAME, hand_measurements=MASS), 0).cov
    )
    with pytest.raises(HaltereError, match="'mass' has no value"):
        VehicleFilter(AIRFRAME, hand_measurements=[HandMeasurement("mass", 1e-3)])


def test_inside_a_traced_function_64_bits_are_needed(vehicle):
    belief = run(vehicle, 0)

    def later(speeds):
        return vehicle.predict(belief, IMU, speeds, 0.005).cov

    with jax.enable_x64(False), pytest.raises(PrecisionError, match="32 bits"):
        jax.jit(later)(SPEEDS)
    np.testing.assert_allclose(jax.jit(later)(SPEEDS), later(SPEEDS), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pose": POSE[0]}, "position without attitude"),
        ({"pose": ((0.0, 0.0), POSE[1])}, r"a position of shape \(2,\), \(3,\) is expected"),
        ({"rotor_speeds": np.ones(3)}, r"rotor speeds of shape \(3,\), \(4,\) is expected"),
        ({"imu": np.zeros(5)}, r"an IMU reading of shape \(5,\)"),
        ({"imu": (IMU[0], (0.0, np.nan, 0.0))}, "finite readings"),
    ],
)
def test_readings_that_are_none_are_named(vehicle, changes, message):
    with pytest.raises(HaltereError, match=message):
        vehicle.begin(**{"pose": POSE, "rotor_speeds": SPEEDS, "imu": IMU, **changes})
