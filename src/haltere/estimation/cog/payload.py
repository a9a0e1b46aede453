"""The CoG filter of a vehicle that grips something: corrected by its mass and centre before, opened at the grip.

What others know of mass and centre of mass (an arm's servos, a scale, a drawing) is read once, in every mode, whose
weights follow the likelihood; with m_0 / (1 + mu) for the mass, c_0 + offset for the centre and the covariance S of
that reading

    z = (m_0 / M - 1, c - c_0),   K = P H^T (H P H^T + D S D^T)^-1,   D = dz / d(M, c)                          (1)

Given in an empty hover, it lets the filter find how strong each rotor is. A payload of mass m at p then changes

    M' = M + m,   c' = c + m (p - c) / M'                                                                       (2)

and with G the derivative of (mu, offset) by (m, p) and S now the covariance of what may be gripped, G S G^T is added to
the covariance of every mode: the filter finds mass and centre anew, and leaves the rotors as strong as they were. All
of them may be a little stronger or weaker under another load, which no flight can tell from another mass:

    P + t^2 v v^T,   v = d(mu, s) = (-(1 + mu), 1 + s),   t = `thrust`                                          (3)

is what is known then. It is no part of the belief that is filtered on: along v a filter linearised anew at every tick
would drift.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp

from haltere.estimation.cog.belief import MASS, OFFSET, THRUST, CogBelief
from haltere.estimation.cog.core import CogCore
from haltere.foundation.arrays import Array, ArrayLike

MASS_AND_OFFSET = (MASS, *range(OFFSET.start, OFFSET.stop))
"""Of the filter's state, what mass and centre of mass are: (mu, offset)."""
THRUST_CHANGE = 0.005
"""Relative deviation by which the rotors' strength may differ between the empty vehicle and the loaded one."""


def to_state(filter_: CogCore, belief: CogBelief, value: Array) -> Array:
    """(4,) z of equation (1) from mass (kg) and centre of mass (m, body axes) (4,)."""
    return jnp.concatenate([filter_.numbers.vehicle.mass / value[:1] - 1.0, value[1:] - belief.nominal])


def with_mass_properties(filter_: CogCore, belief: CogBelief, value: ArrayLike, cov: ArrayLike) -> CogBelief:
    """The belief corrected by mass (kg) and centre of mass (m, body axes) (4,) with covariance (4, 4); JAX."""
    given, at = jnp.asarray(value, float), jnp.asarray(MASS_AND_OFFSET)
    D = jax.jacfwd(lambda v: to_state(filter_, belief, v))(given)
    R = D @ jnp.asarray(cov, float) @ D.T
    H = jnp.eye(belief.means.shape[1])[at]

    def one(mean: Array, P: Array) -> tuple[Array, Array, Array]:
        away = to_state(filter_, belief, given) - mean[at]
        S = H @ P @ H.T + R
        K = jnp.linalg.solve(S, H @ P).T
        rest = jnp.eye(len(mean)) - K @ H
        score = -0.5 * away @ jnp.linalg.solve(S, away) - 0.5 * jnp.linalg.slogdet(S)[1]
        return mean + K @ away, rest @ P @ rest.T + K @ R @ K.T, score

    means, covs, scores = jax.vmap(one)(belief.means, belief.covs)
    weights = belief.weights * jnp.exp(scores - jnp.max(scores))
    return replace(belief, means=means, covs=covs, weights=weights / jnp.sum(weights))


def open_for_payload(filter_: CogCore, belief: CogBelief, payload: ArrayLike, cov: ArrayLike) -> CogBelief:
    """The belief of a vehicle that grips or lets go something; the means stay; JAX.

    While the gripper closes it may be called at every tick, with that tick's share of the covariance.

    Args:
        filter_: of the vehicle.
        belief: before.
        payload: (4,) mass that is expected, kg, and its position, body axes, m.
        cov: (4, 4) of it.
    """
    expected, at = jnp.asarray(payload, float), jnp.asarray(MASS_AND_OFFSET)
    com, mass = belief.nominal + belief.mean[OFFSET], filter_.numbers.vehicle.mass / (1.0 + belief.mean[MASS])

    def after(held: Array) -> Array:
        total = mass + held[0]
        moved = com + held[0] / total * (held[1:] - com)
        return to_state(filter_, belief, jnp.concatenate([total[None], moved]))

    G = jax.jacfwd(after)(expected)
    opened = belief.covs.at[:, at[:, None], at].add(G @ jnp.asarray(cov, float) @ G.T)
    return replace(belief, covs=opened)


def under_load(belief: CogBelief, thrust: ArrayLike = THRUST_CHANGE) -> CogBelief:
    """Equation (3): what the belief tells of mass and thrust under another load than before; JAX."""
    mean = belief.mean
    v = jnp.zeros_like(mean).at[MASS].set(-1.0 - mean[MASS]).at[THRUST].set(1.0 + mean[THRUST])
    return replace(belief, covs=belief.covs + jnp.asarray(thrust) ** 2 * jnp.outer(v, v))
