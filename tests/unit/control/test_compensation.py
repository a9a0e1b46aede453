"""What reaches the mixer: only estimates that can be flown."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.control import GeometricController
from haltere.control.compensation import Compensation, Limits, renewed
from haltere.estimation.cog_settings import Reason

CONTROLLER = GeometricController.from_airframe(from_catalogue("neo"))
NOMINAL = CONTROLLER.vehicle
LEVER = float(NOMINAL.lever)


@jax.jit
def given(last, com, sigma, mass):
    return renewed(last, NOMINAL, com, sigma, mass, 1.0)


def after(com, sigma=0.001, mass=2.853):
    first = Compensation.of(CONTROLLER, (0.01, 0.0, 0.0))
    return given(first, jnp.asarray(com, float), jnp.asarray(sigma), jnp.asarray(mass))


def test_a_good_estimate_moves_the_allocation():
    used = after((0.02, -0.01, 0.0), mass=3.0)
    assert Reason(int(used.reason)) is Reason.NONE
    vehicle = used.controller.vehicle
    assert vehicle.com == pytest.approx([0.02, -0.01, 0.0])
    lift = vehicle.allocation_at_com @ used.controller.hover.command
    assert lift[2:] == pytest.approx([3.0 * 9.81, 0.0, 0.0, 0.0], abs=1e-6)
    assert lift[:2] == pytest.approx([0.0, 0.0], abs=0.01)  # in hover axes, which lean a little


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


def test_the_mixer_follows_no_faster_than_its_limit():
    first = Compensation.of(CONTROLLER)
    used = renewed(first, NOMINAL, jnp.asarray([0.05, 0.0, 0.0]), jnp.zeros(()), NOMINAL.mass, 0.01, Limits())
    assert used.controller.vehicle.com == pytest.approx([0.01 * LEVER, 0.0, 0.0])
