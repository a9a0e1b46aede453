"""The filter's coordinates: there and back, and against the allocation matrix of the physics source."""

import jax
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.airframe.fields import principal_axes
from haltere.dynamics import Compact, Model
from haltere.dynamics.model import locked_rotors
from haltere.estimation.vehicle.description import describe_vehicle
from haltere.foundation import HaltereError

VEHICLES = ("hummingbird", "hexa-tilted", "x500", "crazyflie", "hong-tilt-rotor")


@pytest.mark.parametrize("axes", ["sphere", "spherical"])
@pytest.mark.parametrize("name", VEHICLES)
def test_there_and_back(name: str, axes: str) -> None:
    description = described(name, axes)
    coordinates, physical = description.coordinates, description.physical
    keys = iter(jax.random.split(jax.random.key(1), len(physical)))
    there = {
        name: value * (1.0 + 0.05 * jax.random.normal(next(keys), value.shape))
        for name, value in physical.items()
    }
    there["rotor_tilt"] = physical["rotor_tilt"] + 0.05 * jax.random.normal(
        jax.random.key(2), physical["rotor_tilt"].shape
    )
    back = coordinates.to_physical(coordinates.to_coordinates(there))
    for key, value in there.items():
        np.testing.assert_allclose(back[key], value, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("name", VEHICLES)
def test_effectiveness_is_the_allocation_matrix_over_inertia(name: str) -> None:
    """Specific force and angular acceleration per squared speed, from `haltere.dynamics` about the centre of mass."""
    description = described(name)
    coordinates = description.coordinates.to_coordinates(description.physical)
    compact = Compact.from_model(locked_rotors(Model.from_airframe(with_pose(name))))
    K = np.asarray(compact.allocation)
    torque = (K[3:].T - np.cross(description.com, K[:3].T)) @ description.R_BM
    inertia = np.asarray(description.physical["inertia"])
    np.testing.assert_allclose(coordinates["torque"], torque / inertia, rtol=1e-9, atol=1e-12)
    mass = float(description.physical["mass"][0])
    np.testing.assert_allclose(coordinates["force"], K[:3].T @ description.R_BM / mass, rtol=1e-9, atol=1e-15)


def test_principal_axes_stay_close_to_the_body() -> None:
    turn = np.array([[0.98, -0.2, 0.0], [0.2, 0.98, 0.0], [0.0, 0.0, 1.0]])
    turn = turn / np.linalg.norm(turn, axis=0)
    R, moments = principal_axes(turn @ np.diag([3.0, 2.0, 4.0]) @ turn.T)
    np.testing.assert_allclose(R, turn, atol=1e-12)
    np.testing.assert_allclose(moments, [3.0, 2.0, 4.0])


def test_a_vehicle_without_imu_is_refused() -> None:
    airframe = from_catalogue("hummingbird").model_copy(update={"imu": ()})
    with pytest.raises(HaltereError, match="needs an IMU"):
        describe_vehicle(airframe)


def with_pose(name):
    from haltere.airframe import Imu, PoseSensor

    airframe = from_catalogue(name)
    update = {}
    if not airframe.imu:
        update["imu"] = (Imu(position=(0.01, 0.0, 0.0)),)
    if not airframe.pose and not airframe.position:
        update["pose"] = (PoseSensor(position=(0.0, 0.02, 0.03)),)
    return airframe.model_copy(update=update)


def described(name, axes="sphere"):
    return describe_vehicle(with_pose(name), axes)
