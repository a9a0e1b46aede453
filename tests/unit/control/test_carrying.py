"""A vehicle that carries something: what the CoG filter is told, and where it meets servos and thrust."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.control.trim import fuse_mass_properties, trim_of
from haltere.estimation.cog.belief import FIXED, MASS, OFFSET, THRUST
from haltere.estimation.cog.core import CogCore
from haltere.estimation.cog.payload import MASS_AND_OFFSET, open_for_payload, under_load, with_mass_properties
from haltere.estimation.cog.vehicle import predicted_response
from haltere.estimation.payload.fusion import MassSource

AT = np.asarray(MASS_AND_OFFSET)


@pytest.fixture(scope="module")
def cog():
    return CogCore.from_airframe(from_catalogue("hummingbird"))


@pytest.fixture(scope="module")
def belief(cog):
    """All modes alike, with mass, offset and thrust known together as after some hovering."""
    begun = cog.begin()
    rng = np.random.default_rng(2)
    root = rng.normal(size=(FIXED + 4, FIXED + 4)) * np.sqrt(np.diagonal(np.asarray(begun.covs[0])))[:, None]
    mean = np.zeros(FIXED + 4)
    mean[MASS], mean[OFFSET], mean[THRUST] = -0.05, [2e-3, -1e-3, 0.0], [0.01, -0.02, 0.0, 0.01]
    return replace(begun, means=jnp.tile(mean, (3, 1)), covs=jnp.tile(0.1 * root @ root.T, (3, 1, 1)))


def in_words(cog, belief, mass, com):
    return np.concatenate([[float(cog.numbers.vehicle.mass) / mass - 1.0], com - np.asarray(belief.nominal)])


def test_what_is_told_is_a_reading_like_any_other(cog, belief):
    """Against the information form: the sum of both, for modes that are alike."""
    value, cov = np.asarray([0.8, 3e-3, 0.0, -5e-3]), np.diag(np.square([0.01, 1e-3, 1e-3, 1e-3]))
    found = jax.jit(with_mass_properties, static_argnums=())(cog, belief, value, cov)
    slope = np.eye(4)
    slope[0, 0] = -float(cog.numbers.vehicle.mass) / 0.8**2
    H = np.eye(FIXED + 4)[AT]
    weight = H.T @ np.linalg.inv(slope @ cov @ slope.T)
    P, mean = np.asarray(belief.cov), np.asarray(belief.mean)
    after = np.linalg.inv(np.linalg.inv(P) + weight @ H)
    moved = after @ (np.linalg.solve(P, mean) + weight @ in_words(cog, belief, 0.8, value[1:]))
    assert np.allclose(found.mean, moved, rtol=1e-6, atol=1e-9)
    scale = np.sqrt(np.diagonal(after))
    assert np.allclose(
        np.asarray(found.cov) / np.outer(scale, scale), after / np.outer(scale, scale), atol=1e-6
    )
    assert float(jnp.sum(found.weights)) == pytest.approx(1.0)


def test_a_grip_opens_mass_and_centre_together(cog, belief):
    """Draws of what may be gripped, joined by hand, are spread as the covariance says; the means stay."""
    rng = np.random.default_rng(5)
    expected, sigma = np.asarray([0.1, 0.05, 0.0, -0.1]), np.asarray([0.005, 1e-3, 1e-3, 1e-3])
    found = open_for_payload(cog, belief, expected, np.diag(sigma**2))
    mass = float(cog.numbers.vehicle.mass) / (1.0 + float(belief.mean[MASS]))
    com = np.asarray(belief.nominal + belief.mean[OFFSET])
    draws = []
    for m, *p in expected + sigma * rng.standard_normal((20000, 4)):
        draws.append(in_words(cog, belief, mass + m, (mass * com + m * np.asarray(p)) / (mass + m)))
    added = np.asarray(found.covs[0] - belief.covs[0])
    scale = np.sqrt(np.outer(*2 * [np.diagonal(added)[AT]]))
    assert np.allclose(added[np.ix_(AT, AT)] / scale, np.cov(np.asarray(draws).T) / scale, atol=0.05)
    assert np.array_equal(found.means, belief.means)


def test_a_load_that_weakens_the_rotors_looks_like_another_mass(cog, belief):
    """Along what is opened the expected specific force stays the same."""
    wide = under_load(belief, 0.01)
    added = np.asarray(wide.covs[0] - belief.covs[0])
    step = added[:, MASS] / np.sqrt(added[MASS, MASS])
    speeds, still = cog.numbers.hover_speeds(), jnp.zeros(4)

    def felt(size):
        x = belief.mean + size * step
        return predicted_response(
            cog.numbers, jnp.zeros(3), x[OFFSET], x[MASS], jnp.zeros(3), x[THRUST], speeds, still
        )[1]

    assert np.sqrt(added[MASS, MASS]) == pytest.approx(0.01 * 0.95)
    assert np.allclose(felt(0.01), felt(0.0), atol=2e-3)
    assert float(felt(0.0)[2]) > 5.0


def test_thrust_follows_mass_and_centre(cog, belief):
    """The rotors' thrust is what the filter would say if it were told of mass and centre without doubt."""
    value = np.asarray([0.75, 1e-3, -2e-3, 1e-3])
    trim = trim_of(cog, belief, jnp.asarray(value), jnp.eye(4) * 1e-6)
    sure = with_mass_properties(cog, belief, value, 1e-16 * np.eye(4))
    assert np.allclose(trim.thrust, sure.mean[THRUST], atol=1e-7)
    assert np.allclose(np.concatenate([[trim.mass], trim.com]), value)
    assert float(trim.sigma) == pytest.approx(1e-3)


def test_all_three_meet(cog, belief):
    """A wrong source is named: the servos against mass and centre of the flight."""
    said = jax.tree.map(np.asarray, cog.estimate(belief))
    same = np.concatenate([[said.mass], said.com])
    servos = MassSource((0, 1, 2, 3), same, np.diag(np.square([0.005, 1e-3, 1e-3, 1e-3])))
    agreed = fuse_mass_properties(servos, belief, said)
    assert np.allclose(agreed.value, same)
    assert max(agreed.disagreement.values()) < 1e-9
    assert agreed.cov[0, 0] < servos.cov[0, 0]
    heavier = replace(servos, value=same + np.asarray([1.0, 0.0, 0.0, 0.0]))
    assert fuse_mass_properties(heavier, belief, said).disagreement["thrust"] > 25.0
    aside = replace(servos, value=same + np.asarray([0.0, 0.3, 0.0, 0.0]))
    assert fuse_mass_properties(aside, belief, said).disagreement["centre"] > 25.0
