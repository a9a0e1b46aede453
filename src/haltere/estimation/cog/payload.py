"""Mass and centre of mass of a vehicle that has gripped something, from what it was before and what has changed.

How strong the rotors are, and which of them are stronger, no hover can tell from mass and centre of mass; but it
cancels between two. With mass M_0 and centre c_0 of the empty vehicle, known from a drawing, a scale or servos, thrust
over mass u_0 and offset d_0 when the grip was marked, and u and d now

    M = M_0 (1 + u_0) / (1 + u),    c = c_0 + d - d_0                                                       (1)

and all rotors may be a little stronger or weaker under the other load.
"""

import jax
import jax.numpy as jnp

from haltere.estimation.cog.belief import CogBelief
from haltere.estimation.cog.core import CogCore
from haltere.estimation.cog.state import GAIN, MARKED, MARKED_GAIN, OFFSET
from haltere.foundation.arrays import Array, ArrayLike

THRUST_CHANGE = 0.005
"""Relative deviation by which the rotors' strength may differ between the empty vehicle and the loaded one."""


def with_payload(
    core: CogCore, belief: CogBelief, empty: ArrayLike, cov: ArrayLike, thrust: float = THRUST_CHANGE
) -> tuple[Array, Array]:
    """Mass (kg) and centre of mass (m, body axes) (4,) by equation (1), and their covariance (4, 4); JAX.

    Args:
        core: the filter.
        belief: with a mark at the grip.
        empty: (4,) mass and centre of mass before.
        cov: (4, 4) of them.
        thrust: by which the rotors may have become stronger or weaker, relative.
    """
    before, at = (
        jnp.asarray(empty, float),
        (GAIN, MARKED_GAIN, *range(*OFFSET.indices(6)), *range(*MARKED.indices(6))),
    )
    index = jnp.asarray(at)

    def after(state: Array, known: Array) -> Array:
        mass = known[:1] * (1.0 + state[1]) / (1.0 + state[0])
        return jnp.concatenate([mass, known[1:] + state[2:5] - state[5:8]])

    state = belief.mean[index]
    G, K = jax.jacfwd(after, argnums=(0, 1))(state, before)
    value, change = after(state, before), core.estimate(belief).change_cov
    # with what no window explained, as `CogEstimate.change_cov` has it
    more = jnp.zeros((4, 4)).at[1:, 1:].set(change - (G @ belief.cov[index][:, index] @ G.T)[1:, 1:])
    P = G @ belief.cov[index][:, index] @ G.T + more + K @ jnp.asarray(cov, float) @ K.T
    return value, P.at[0, 0].add((thrust * value[0]) ** 2)
