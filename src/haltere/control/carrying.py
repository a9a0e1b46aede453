"""The controller of a vehicle that carries something: where servos, hover thrust and the CoG filter meet.

Servos tell mass M and centre of mass c of the whole vehicle (`haltere.estimation.payload.fusion`). The CoG filter says
what the flight shows: M from thrust and specific force, c across the thrust. `carried` weighs the three by their
covariances and tells how far each is from the others. Mass, centre and relative thrust s of every rotor are known only
together (`haltere.control.trim`), so with M and c the rotors' thrust follows from the filter's belief, whose
covariance P holds what the flight has shown of s and u = (mu, offset) together:

    s = E s + P_su P_uu^-1 (u - E u),   mu = m / M - 1,   offset = c - c_0                                      (1)

with nominal mass m and centre c_0. The allocation is then K diag(1 + s) about c, lifting M g.
"""

import jax.numpy as jnp
import numpy as np

from haltere.control.trim import Trim
from haltere.estimation.cog.belief import MASS, THRUST, CogBelief, CogEstimate
from haltere.estimation.cog.filter import CogFilter
from haltere.estimation.cog.payload import TOLD, as_told
from haltere.estimation.payload.fusion import Source, Whole, centre_filter, fused
from haltere.foundation.arrays import Array


def carried(servos: Source, belief: CogBelief, said: CogEstimate) -> Whole:
    """Mass and centre of mass of one vehicle, and how far servos, hover thrust and CoG filter disagree.

    Args:
        servos: what the servos tell.
        belief: of the CoG filter, which was not told of it.
        said: its estimate.
    """
    mass = np.asarray(said.mass)
    var = np.asarray(belief.cov[MASS, MASS]) * (mass / (1.0 + np.asarray(belief.mean[MASS]))) ** 2
    sources = {
        "servos": servos,
        "thrust": Source((0,), mass[None], var[None, None]),
        "centre": centre_filter(np.asarray(said.com), np.asarray(said.cov)),
    }
    return fused(sources)


def trim_of(cog: CogFilter, belief: CogBelief, value: Array, cov: Array) -> Trim:
    """What the controller is told, with a value (4,) and cov (4, 4) of mass (kg) and centre (m) as in `Whole`; JAX."""
    at, mean, P = jnp.asarray(TOLD), belief.mean, belief.cov
    away = jnp.linalg.solve(P[at][:, at], as_told(cog, belief, value) - mean[at])
    thrust = mean[THRUST] + P[THRUST][:, at] @ away
    return Trim(value[1:], jnp.sqrt(jnp.max(jnp.diagonal(cov)[1:3])), value[0], thrust)
