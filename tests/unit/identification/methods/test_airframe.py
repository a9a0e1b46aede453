"""A vehicle made of accelerations per squared rotor speed is the one that has them."""

import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.identification.methods.airframe import airframe_from_parameters
from haltere.identification.parameters import Parameter

MOTOR = {"max_speed": 1200.0, "idle_speed": 50.0, "curve": 0.4, "time_constant": 0.02}


def told(airframe, *, across="identified"):
    """What a log tells of a vehicle without links, as the laws of motion have it, all exact."""
    xx, yy, zz, xy, xz, yz = airframe.body.inertia
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    mass = airframe.body.mass
    numbers = {"mass": mass, "inertia.xx": xx, "inertia.yy": yy, "inertia.zz": zz}
    numbers |= {"inertia.xy": xy, "inertia.xz": xz, "inertia.yz": yz}
    numbers |= {"imu.position.x": 0.01, "imu.position.y": -0.02, "imu.position.z": 0.003}
    for rotor in airframe.rotors:
        axis = np.asarray(rotor.axis) / np.linalg.norm(rotor.axis)
        thrust = rotor.thrust_coefficient * axis
        place = np.asarray(rotor.position) - np.asarray(airframe.body.com)
        spin = 1.0 if rotor.spin == "ccw" else -1.0
        torque = np.cross(place, thrust) - spin * rotor.torque_ratio * thrust
        row = [*(thrust / mass), *np.linalg.solve(inertia, torque)]
        head = f"rotors.{rotor.name}"
        numbers |= {
            f"{head}.effectiveness.{n}": x for n, x in zip(("fx", "fy", "fz", *"pqr"), row, strict=True)
        }
        numbers |= {f"{head}.{n}": x for n, x in MOTOR.items()}
    wide = ("effectiveness.fx", "effectiveness.fy") if across == "weak" else ()
    return [
        Parameter.measured(
            n, float(x), (1.0 if n.endswith(wide or ("-",)) else 0.01) * max(abs(x), 1e-12), ""
        )
        for n, x in numbers.items()
    ]


@pytest.fixture(scope="module")
def bare():
    """The tilted hexarotor with rotors that weigh nothing, so that the body is all."""
    airframe = from_catalogue("hexa-tilted")
    free = {"mass": 0.0, "inertia": (0.0,) * 6, "com": (0.0, 0.0, 0.0)}
    return airframe.model_copy(update={"rotors": tuple(r.model_copy(update=free) for r in airframe.rotors)})


def test_rotors_come_back_up_to_their_place_along_the_axis(bare):
    found = airframe_from_parameters("flight", told(bare), {bare.rotors[0].name: "quadratic"})
    assert found.total_mass == pytest.approx(bare.total_mass)
    assert found.imu[0].position == pytest.approx((0.01, -0.02, 0.003))
    for rotor, true in zip(found.rotors, bare.rotors, strict=True):
        axis = np.asarray(true.axis) / np.linalg.norm(true.axis)
        place = np.asarray(true.position) - np.asarray(bare.body.com)
        np.testing.assert_allclose(rotor.axis, axis, atol=1e-9)
        np.testing.assert_allclose(rotor.position, place - axis * (axis @ place), atol=1e-9)
        assert rotor.thrust_coefficient == pytest.approx(true.thrust_coefficient)
        assert rotor.torque_ratio == pytest.approx(true.torque_ratio)
        assert rotor.spin == true.spin
        assert rotor.speed_limits == (0.0, 1200.0)
    assert [r.curve.kind for r in found.rotors[:2]] == ["quadratic", "kappa"]


def test_force_across_that_is_not_identified_tilts_nothing(bare):
    found = airframe_from_parameters("flight", told(bare, across="weak"), {})
    assert all(rotor.axis == (0.0, 0.0, 1.0) for rotor in found.rotors)


@pytest.mark.parametrize("missing", ["mass", "inertia.zz", "rotors.{}.effectiveness.q"])
def test_without_mass_moments_or_a_row_there_is_no_vehicle(bare, missing):
    name = missing.format(bare.rotors[1].name)
    assert airframe_from_parameters("flight", [p for p in told(bare) if p.name != name], {}) is None
