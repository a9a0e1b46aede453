"""A vehicle that carries something: what it weighs then, and where that meets the servos."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.control.trim import fuse_mass_properties
from haltere.estimation.cog.core import CogCore
from haltere.estimation.cog.payload import with_payload
from haltere.estimation.cog.state import FIXED, GAIN, MARKED, MARKED_GAIN, OFFSET, Gaussian
from haltere.estimation.payload.fusion import MassSource

COG = CogCore.from_airframe(from_catalogue("hummingbird"))
EMPTY = np.asarray([0.7, 1e-3, -2e-3, 5e-3])
EMPTY_COV = np.diag(np.square([0.004, 2e-4, 3e-4, 1e-3]))


@pytest.fixture(scope="module")
def belief():
    """After a grip: 10 % more mass, the centre 4 mm aside, all known together as after some hovering."""
    n = FIXED + 4
    mean = jnp.zeros(n).at[GAIN].set(-0.1).at[MARKED_GAIN].set(0.01).at[OFFSET].set(jnp.asarray([4e-3, 0, 0]))
    rng = np.random.default_rng(2)
    sigma = np.zeros(n)
    sigma[[GAIN, MARKED_GAIN]], sigma[OFFSET], sigma[MARKED] = 5e-3, 1e-3, 1e-3
    root = rng.normal(size=(n, n)) * sigma[:, None] / np.sqrt(n)
    return replace(COG.begin(), state=Gaussian(mean, jnp.asarray(root @ root.T)))


def test_mass_and_centre_follow_from_what_was_and_what_changed(belief):
    """Against draws of all that is uncertain."""
    value, cov = (np.asarray(x) for x in with_payload(COG, belief, EMPTY, EMPTY_COV, 0.0))
    rng = np.random.default_rng(3)
    x = rng.multivariate_normal(np.asarray(belief.mean), np.asarray(belief.cov), 100_000)
    empty = rng.multivariate_normal(EMPTY, EMPTY_COV, 100_000)
    mass = empty[:, 0] * (1 + x[:, MARKED_GAIN]) / (1 + x[:, GAIN])
    com = empty[:, 1:] + x[:, OFFSET] - x[:, MARKED]
    draws = np.column_stack([mass, com])
    assert value == pytest.approx([0.7 * 1.01 / 0.9, 5e-3, -2e-3, 5e-3], rel=1e-9)
    assert value == pytest.approx(draws.mean(axis=0), abs=5e-5)
    assert np.sqrt(np.diagonal(cov))[0] == pytest.approx(draws[:, 0].std(), rel=0.02)
    assert np.all(np.sqrt(np.diagonal(cov))[1:] >= 0.98 * draws.std(axis=0)[1:])


def test_rotors_that_weaken_under_load_are_doubt_of_the_mass(belief):
    value, sure = with_payload(COG, belief, EMPTY, EMPTY_COV, 0.0)
    _, wide = with_payload(COG, belief, EMPTY, EMPTY_COV, 0.01)
    assert float(wide[0, 0] - sure[0, 0]) == pytest.approx((0.01 * float(value[0])) ** 2)


def test_all_three_meet(belief):
    """A wrong source is named: the servos against mass and centre of the flight."""
    value, cov = (np.asarray(x) for x in with_payload(COG, belief, EMPTY, EMPTY_COV))
    flight = MassSource((0, 1, 2, 3), value, cov)
    servos = MassSource((0, 1, 2, 3), value, np.diag(np.square([0.005, 1e-3, 1e-3, 1e-3])))
    agreed = fuse_mass_properties(servos, flight)
    assert np.allclose(agreed.value, value)
    assert max(agreed.disagreement.values()) < 1e-9
    assert agreed.cov[0, 0] < servos.cov[0, 0]
    heavier = replace(servos, value=value + np.asarray([1.0, 0.0, 0.0, 0.0]))
    assert fuse_mass_properties(heavier, flight).disagreement["thrust"] > 25.0
    aside = replace(servos, value=value + np.asarray([0.0, 0.3, 0.0, 0.0]))
    assert fuse_mass_properties(aside, flight).disagreement["centre"] > 25.0
