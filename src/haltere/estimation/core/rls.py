"""Recursive least squares with forgetting that forgets only what the new sample renews.

Rows y = theta^T phi + noise, with `theta` (n, k) for k outputs that share the regressor phi (n,). With information
R = P^-1 and forgetting 0 < l <= 1, one step is

    R_- = R - (1 - l) R phi phi^T R / (phi^T R phi)                                                        (1)
    P_- = P + (1 - l) / l phi phi^T / (phi^T R phi)                                                        (2)
    g = P_- phi / (1 + phi^T P_- phi),   theta += g (y - theta^T phi)^T,   P = P_- - g phi^T P_-           (3)
    R = R_- + phi phi^T                                                                                    (4)

(2) is the exact inverse of (1). Information is taken only along R phi, the part of it that the sample speaks of:
directions without excitation keep all they know, so P cannot wind up, where the usual division of P by l grows it
without bound and needs a limit on its entries ([Blaha2024], its method paper: 1e10). l = 1 is ordinary least squares
with the prior theta_0, P_0. A sample whose regressor or output is not finite, or whose weight is zero, changes nothing.
"""

from dataclasses import dataclass
from typing import Self

import jax.numpy as jnp
import numpy as np

from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.foundation.numbers import Floats
from haltere.lie.so3 import as_float

SMALLEST = 1e-12
"""Regressors whose squared length is below this speak of nothing: without it (1) divides by zero."""


@pytree
@dataclass(frozen=True)
class Recursive:
    """What is known: the parameters and how well."""

    theta: Array
    """(n, k), in units of outputs over regressors."""
    P: Array
    """(n, n) covariance over the variance of the noise, shared by the outputs."""
    R: Array
    """(n, n) its inverse."""

    @classmethod
    def prior(cls, size: int, outputs: int = 1, variance: ArrayLike = 100.0, theta: ArrayLike = 0.0) -> Self:
        """Nothing seen yet: `theta`, with this `variance` (one number or one for each of `size` parameters)."""
        variances = jnp.broadcast_to(as_float(variance), (size,))
        start = jnp.broadcast_to(as_float(theta), (size, outputs))
        return cls(start, jnp.diag(variances), jnp.diag(1.0 / variances))

    def update(
        self, phi: Array, y: Array, forgetting: ArrayLike = 1.0, weight: ArrayLike = 1.0
    ) -> "Recursive":
        """One sample: regressor `phi` (n,), outputs `y` (k,), forgetting l, weight = 1 over the sample's variance."""
        usable = jnp.all(jnp.isfinite(phi)) & jnp.all(jnp.isfinite(y)) & (jnp.asarray(weight) > 0.0)
        root = jnp.sqrt(jnp.where(usable, weight, 0.0))
        phi, y = jnp.where(usable, phi, 0.0) * root, jnp.where(usable, y, 0.0) * root
        kept = as_float(forgetting)
        known = self.R @ phi
        along = phi @ known
        speaks = phi @ phi > SMALLEST
        share = jnp.where(speaks, (1.0 - kept) / jnp.where(speaks, along, 1.0), 0.0)
        before = self.P + share / kept * jnp.outer(phi, phi)
        spread = before @ phi
        gain = spread / (1.0 + phi @ spread)
        P = before - jnp.outer(gain, spread)
        R = self.R - share * jnp.outer(known, known) + jnp.outer(phi, phi)
        theta = self.theta + jnp.outer(gain, y - phi @ self.theta)
        return Recursive(theta, 0.5 * (P + P.T), 0.5 * (R + R.T))


def update_single(
    theta: Floats, P: Floats, R: Floats, phi: Floats, y: Floats, forgetting: float = 1.0
) -> tuple[Floats, Floats, Floats]:
    """One step of (1) to (4) in NumPy: for one vehicle, where starting a compiled program costs more than the step.

    Args:
        theta: (n, k) parameters.
        P: (n, n) as in `Recursive`.
        R: (n, n) its inverse.
        phi: (n,) regressor, finite.
        y: (k,) outputs, finite.
        forgetting: l.
    """
    known = R @ phi
    along, square = float(phi @ known), float(phi @ phi)
    share = (1.0 - forgetting) / along if square > SMALLEST else 0.0
    spread = P @ phi + (share / forgetting * square) * phi
    gain = spread / (1.0 + float(phi @ spread))
    outer = phi[:, None] * phi
    later = P + (share / forgetting) * outer - gain[:, None] * spread
    return theta + gain[:, None] * (y - phi @ theta), later, R - share * (known[:, None] * known) + outer


def forgetting_of(period: float, memory: float) -> float:
    """L of equation (1) for samples every `period` s and a memory of `memory` s: exp(-period / memory)."""
    if not (period > 0.0 and memory > 0.0):
        raise HaltereError(f"got a period of {period} s and a memory of {memory} s; give both above zero")
    return float(np.exp(-period / memory))
