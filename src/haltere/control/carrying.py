"""The controller of a vehicle that carries something: where servos, hover thrust and the CoG filter meet.

Each of the three says something of mass M and centre of mass c; `carried` weighs them by their covariances and tells
how far each is from the others. Mass, centre and relative thrust s of every rotor are known only together
(`haltere.control.compensation`), so with M and c the rotors' thrust follows from the belief of the CoG filter, whose
covariance P holds what the flight has shown of s and u = (mu, offset) together:

    s = E s + P_su P_uu^-1 (u - E u),   mu = m / M - 1,   offset = c - c_0                                      (1)

with nominal mass m and centre c_0. The allocation is then K diag(1 + s) about c, lifting M g.
"""

import jax.numpy as jnp
import numpy as np

from haltere.control.compensation import Trim
from haltere.estimation.cog import CogFilter
from haltere.estimation.cog_belief import MASS, OFFSET, THRUST, CogBelief, CogEstimate
from haltere.estimation.payload_fusion import Source, Whole, centre_filter, fused
from haltere.foundation.arrays import Array

TOLD = (MASS, *range(OFFSET.start, OFFSET.stop))
"""Of the CoG filter's state, u of equation (1)."""


def carried(servos: Source, thrust: Source, centre: CogEstimate) -> Whole:
    """Mass and centre of mass of one vehicle from servos, hover thrust and CoG filter, and how far they disagree."""
    across = centre_filter(np.asarray(centre.com), np.asarray(centre.cov))
    return fused({"servos": servos, "thrust": thrust, "centre": across})


def trim_of(cog: CogFilter, belief: CogBelief, value: Array, cov: Array) -> Trim:
    """What the controller is told, with a value (4,) and cov (4, 4) of mass (kg) and centre (m) as in `Whole`; JAX."""
    mass, com = value[0], value[1:]
    u = jnp.concatenate([cog.numbers.vehicle.mass / mass[None] - 1.0, com - belief.nominal])
    told, mean, P = jnp.asarray(TOLD), belief.mean, belief.cov
    away = jnp.linalg.solve(P[told][:, told], u - mean[told])
    thrust = mean[THRUST] + P[THRUST][:, told] @ away
    return Trim(com, jnp.sqrt(jnp.max(jnp.diagonal(cov)[1:3])), mass, thrust)
