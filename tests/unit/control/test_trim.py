"""What reaches the mixer: only estimates that can be flown."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.control import GeometricController
from haltere.control.trim import Compensation, Trim, TrimLimits, update_trim
from haltere.estimation.cog.settings import Reason

AIRFRAME = from_catalogue("neo")
CONTROLLER = GeometricController.from_airframe(AIRFRAME)
NOMINAL = CONTROLLER.vehicle
LEVER = float(NOMINAL.lever)


@jax.jit
def given(last, said):
    return update_trim(last, NOMINAL, said, 1.0)


def after(com, sigma=0.001, mass=2.853, thrust=(0.0,) * 6):
    first = Compensation.of(CONTROLLER, (0.01, 0.0, 0.0))
    return given(first, Trim(*(jnp.asarray(x, float) for x in (com, sigma, mass, thrust))))


def test_a_good_estimate_moves_the_allocation():
    used = after((0.02, -0.01, 0.0), mass=3.0)
    assert Reason(int(used.reason)) is Reason.NONE
    vehicle = used.controller.vehicle
    assert vehicle.com == pytest.approx([0.02, -0.01, 0.0])
    lift = vehicle.allocation_at_com @ used.controller.hover.command
    assert lift[2:] == pytest.approx([3.0 * 9.81, 0.0, 0.0, 0.0], abs=1e-6)
    assert lift[:2] == pytest.approx([0.0, 0.0], abs=0.01)  # in hover axes, which lean a little


def test_a_weak_rotor_and_a_lighter_vehicle_are_lifted_rightly():
    """The hover commanded with the estimate holds the vehicle that the estimate describes, computed here by hand."""
    thrust, com, mass = np.array([0.03, 0.0, -0.01, 0.0, 0.0, -0.02]), np.array([0.004, -0.002, 0.0]), 2.7
    used = after(com, mass=mass, thrust=thrust)
    squares = np.asarray(used.controller.hover.command)
    force, torque = np.zeros(3), np.zeros(3)
    for rotor, strength, square in zip(AIRFRAME.rotors, 1.0 + thrust, squares, strict=True):
        axis = np.array(rotor.axis)
        push = rotor.thrust_coefficient * strength * square * axis
        sense = 1.0 if rotor.spin == "ccw" else -1.0
        force += push
        torque += np.cross(np.array(rotor.position) - com, push) - sense * rotor.torque_ratio * push
    assert np.linalg.norm(force) == pytest.approx(mass * 9.81, rel=1e-6)
    assert torque == pytest.approx(np.zeros(3), abs=1e-6)


@pytest.mark.parametrize(
    ("com", "sigma", "mass", "reason"),
    [
        ((np.nan, 0.0, 0.0), 0.001, 2.853, Reason.ESTIMATE_NOT_FINITE),
        ((0.02, 0.0, 0.0), np.inf, 2.853, Reason.ESTIMATE_NOT_FINITE),
        ((0.6 * LEVER, 0.0, 0.0), 0.001, 2.853, Reason.ESTIMATE_TOO_FAR),
        ((0.0, 0.0, 0.0), 0.001, 9.0, Reason.ESTIMATE_TOO_FAR),
        ((0.02, 0.0, 0.0), 0.06 * LEVER, 2.853, Reason.ESTIMATE_UNSURE),
        ((0.0, 0.45 * LEVER, 0.0), 0.001, 5.6, Reason.ESTIMATE_NOT_FLYABLE),
    ],
)
def test_a_bad_one_leaves_the_last_good(com, sigma, mass, reason):
    used = after(com, sigma, mass)
    assert Reason(int(used.reason)) is reason
    assert used.controller.vehicle.com == pytest.approx([0.01, 0.0, 0.0])
    assert used.counts[reason] == 1
    assert reason.sentence


def test_a_rotor_of_impossible_strength_is_not_believed():
    used = after((0.02, 0.0, 0.0), thrust=(0.0, 0.0, 0.5, 0.0, 0.0, 0.0))
    assert Reason(int(used.reason)) is Reason.ESTIMATE_TOO_FAR
    assert used.controller.vehicle.allocation == pytest.approx(np.asarray(NOMINAL.allocation))


def test_the_mixer_follows_no_faster_than_its_limit():
    first = Compensation.of(CONTROLLER)
    said = Trim(jnp.asarray([0.05, 0.0, 0.0]), jnp.zeros(()), NOMINAL.mass, jnp.zeros(6))
    used = update_trim(first, NOMINAL, said, 0.01, TrimLimits())
    assert used.controller.vehicle.com == pytest.approx([0.01 * LEVER, 0.0, 0.0])
