"""The iterated update of an error-state filter on manifolds: any state that `Space` can describe.

With prior mean x and covariance P, and a reading whose residual r and derivative H (r - H d at y + d) are known at any
y, Gauss-Newton on the posterior ([BellCathey1993], [Hertzberg2013]) goes

    e = x - y,   P_y = T P T^T, P as it weighs errors about y = `Space.carried`                           (1)
    y <- y + (e + K (r - H e)),   K = P_y H^T (H P_y H^T + R)^-1                                          (2)

from y = x; one iteration is the extended filter. The covariance is Joseph's at the last y.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from haltere.estimation.core.kalman import Gain, update
from haltere.estimation.core.space import Mean, Space
from haltere.foundation.arrays import Array

Linearise = Callable[[Mean], tuple[Array, Array]]
"""From a state to the residual (k,) of a reading there and its derivative H (k, n)."""


def iterated_update(
    space: Space,
    mean: Mean,
    cov: Array,
    linearise: Linearise,
    R: Array,
    iterations: int = 3,
    gate: float = jnp.inf,
) -> tuple[Mean, Array, Gain]:
    """Mean and covariance after a reading with variances R (k,), and what the last update did.

    A residual that is not finite leaves both as they were. The gate holds for the first iteration, where the prior is.
    """
    residual, H = linearise(mean)
    valid = jnp.all(jnp.isfinite(residual))
    first = update(cov, H, R, jnp.where(valid, residual, 0.0), valid, gate)[1]

    def iterate(now: tuple[Mean, Array, Gain], _: None) -> tuple[tuple[Mean, Array, Gain], None]:
        here = now[0]
        residual, H = linearise(here)
        offset = space.minus(mean, here)
        innovation = jnp.where(first.used, residual - H @ offset, 0.0)
        new, gain = update(space.carried(here, offset, cov), H, R, innovation, first.used)
        shift = offset + gain.gain @ innovation
        return (space.plus(here, shift), space.transported(here, shift, new), gain), None

    (moved, new, gain), _ = jax.lax.scan(iterate, (mean, cov, first), None, length=iterations)
    kept = jax.tree.map(lambda new, old: jnp.where(first.used, new, old), (moved, new), (mean, cov))
    return kept[0], kept[1], first._replace(gain=gain.gain, weighted=gain.weighted)
