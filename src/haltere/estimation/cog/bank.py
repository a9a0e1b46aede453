"""The bank of modes of the centre-of-gravity filter: mixed, predicted and corrected, each a pure function.

With T = `period`, B the probability of each change of mode, and for each mode j (interacting multiple models,
[Blom1988])

    mixed x_j, P_j from the modes i with weights B_ij p_i                                                  (1)
    w += T alpha(x),  offset += T velocity (moving only),  d *= exp(-T / memory)                           (2)
    gain K_j from gyroscope and accelerometer; its rows of offset and velocity are cut along the thrust    (3)
    p_j ~ (sum_i B_ij p_i) N(innovation; 0, S_j)                                                           (4)

All modes share one linearisation (`LinearResponse`) of `haltere.estimation.cog.vehicle.predicted_response` at the mean
over the modes. The cut gain is used in Joseph form, so the covariance stays honest.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp

from haltere.algebra import join_single, soa, split_single
from haltere.estimation.cog.belief import MASS, OFFSET, RATE, SPEED, THRUST, TORQUE, CogBelief
from haltere.estimation.cog.settings import CogSettings
from haltere.estimation.cog.vehicle import CogNumbers, predicted_response
from haltere.foundation.arrays import Array, pytree

LEAST_WEIGHT = 1e-6
"""Probability that every mode keeps, so that it can come back."""


@dataclass(frozen=True)
class Bank:
    """What the modes believe."""

    means: Array
    """(3, n)."""
    covs: Array
    """(3, n, n)."""
    weights: Array
    """(3,)."""


@pytree
@dataclass(frozen=True)
class LinearResponse:
    """`predicted_response` near a mean: angular acceleration, then specific force at the IMU, body axes."""

    mean: Array
    """(n,) where it touches."""
    value: Array
    """(6,) there, rad/s2 and m/s2."""
    slope: Array
    """(6, n) by the state."""
    by_speed: Array
    """(3, R) of the angular acceleration by rotor speeds."""
    axis: Array
    """(3,) direction of the thrust."""

    @property
    def across(self) -> Array:
        """(3, 3) projection on what is not along the thrust."""
        return jnp.eye(3) - jnp.outer(self.axis, self.axis)

    @property
    def level(self) -> Array:
        """(6,) `predicted_response` of the zero state by this line."""
        return self.value - self.slope @ self.mean


@pytree
@dataclass(frozen=True)
class CogPrediction:
    """What a prediction leaves for the correction that follows it."""

    before: CogBelief
    """Kept where the correction is not finite."""
    response: LinearResponse
    """Along which the modes moved; the reading is compared with it."""
    free: Array
    """() whether the offset may change along the thrust."""


@dataclass(frozen=True)
class Innovation:
    """A reading of gyroscope and accelerometer as the modes expected it."""

    H: Array
    """(6, n) slope of the reading by the state; zero rows for what is left out."""
    residual: Array
    """(3, 6) zero for what is left out."""
    S: Array
    """(3, 6, 6) its covariance; the identity for what is left out."""
    sigma2: Array
    """(6,) variance of the sensors; zero for what is left out."""


def linear_response_at(numbers: CogNumbers, mean: Array, speeds: Array, speed_rates: Array) -> LinearResponse:
    """The line at a mean (n,) with rotor speeds (R,) rad/s and their rates (R,) rad/s2."""
    value, slope, by_speed = linearised(numbers, mean, speeds, speed_rates)
    push = (numbers.vehicle.allocation[:3] * (1.0 + mean[THRUST])) @ speeds**2
    return LinearResponse(mean, value, slope, by_speed, unit(push))


def mixed(bank: Bank, settings: CogSettings) -> Bank:
    """Equation (1)."""
    change = _transitions(settings)
    chance = bank.weights @ change
    share = change * bank.weights[:, None] / chance
    means = share.T @ bank.means
    apart = bank.means[:, None, :] - means[None, :, :]
    covs = jnp.einsum("ij,ikl->jkl", share, bank.covs)
    return Bank(means, covs + jnp.einsum("ij,ijk,ijl->jkl", share, apart, apart), chance)


def predicted(
    bank: Bank,
    response: LinearResponse,
    settings: CogSettings,
    lever: Array,
    rate_noise: Array,
    torque_cov: Array,
    free: Array,
) -> Bank:
    """Equation (2).

    Args:
        bank: after `mixed`.
        response: at its mean.
        settings: of the filter.
        lever: () of the vehicle, m.
        rate_noise: (3, 3) covariance that one period adds to the rate, (rad/s)^2.
        torque_cov: (3, 3) of a lasting torque, (rad/s2)^2.
        free: () whether the offset may walk along the thrust.
    """
    s, T, n = settings, settings.period, bank.means.shape[1]
    across = response.across
    moving = jnp.asarray([0.0, 1.0, 0.0])
    keep = jnp.exp(-T / jnp.asarray([0.2, s.speed_memory, 0.2]))
    fade = jnp.exp(-T / s.torque_memory)
    F = jnp.eye(n).at[RATE].add(T * response.slope[:3]).at[TORQUE, TORQUE].multiply(fade)
    F = jnp.tile(F, (3, 1, 1)).at[:, OFFSET, SPEED].add(moving[:, None, None] * T * across)
    F = F.at[:, SPEED, SPEED].multiply(keep[:, None, None])
    walks = jnp.asarray([s.still_walk, s.still_walk, s.jump_walk]) * lever
    along = jnp.where(free, (s.along_walk * lever) ** 2, 0.0)
    walk = walks[:, None, None] ** 2 * across + along * jnp.outer(response.axis, response.axis)
    stirred = jnp.where(moving > 0.0, T * s.speed_walk**2, (1.0 - keep**2) * s.first_speed**2) * lever**2
    Q = jnp.zeros((3, n, n)).at[:, RATE, RATE].set(rate_noise)
    Q = Q.at[:, OFFSET, OFFSET].set(T * walk).at[:, SPEED, SPEED].set(stirred[:, None, None] * across)
    Q = Q.at[:, MASS, MASS].set(T * jnp.asarray([s.mass_walk, s.mass_walk, s.mass_jump]) ** 2)
    Q = Q.at[:, TORQUE, TORQUE].set((1.0 - fade**2) * torque_cov)
    means = jnp.einsum("jkl,jl->jk", F, bank.means).at[:, RATE].add(T * response.level[:3])
    return replace(bank, means=means, covs=F @ bank.covs @ jnp.swapaxes(F, 1, 2) + Q)


def corrected(bank: Bank, innovation: Innovation, cut: Array, across: Array) -> Bank:
    """Equations (3) and (4); `cut` and `across` (3, 3) multiply the rows of offset and velocity in the gain."""
    H, n = innovation.H, bank.means.shape[1]
    L = jnp.linalg.cholesky(innovation.S)
    white = jax.vmap(lambda low, v: jax.scipy.linalg.solve_triangular(low, v, lower=True))(
        L, innovation.residual
    )
    gain = jnp.swapaxes(
        jax.vmap(lambda low, HP: jax.scipy.linalg.cho_solve((low, True), HP))(L, H @ bank.covs), 1, 2
    )
    gain = gain.at[:, OFFSET].set(cut @ gain[:, OFFSET]).at[:, SPEED].set(across @ gain[:, SPEED])
    means = bank.means + jnp.einsum("jkl,jl->jk", gain, innovation.residual)
    rest = jnp.eye(n) - gain @ H
    covs = rest @ bank.covs @ jnp.swapaxes(rest, 1, 2) + (gain * innovation.sigma2) @ jnp.swapaxes(gain, 1, 2)
    score = -0.5 * jnp.sum(white**2, axis=1) - jnp.sum(jnp.log(jnp.diagonal(L, 0, 1, 2)), axis=1)
    weights = bank.weights * jnp.exp(score - jnp.max(score))
    weights = jnp.maximum(weights / jnp.sum(weights), LEAST_WEIGHT)
    return Bank(means, 0.5 * (covs + jnp.swapaxes(covs, 1, 2)), weights / jnp.sum(weights))


def linearised(
    numbers: CogNumbers, x: Array, speeds: Array, speed_rates: Array
) -> tuple[Array, Array, Array]:
    """`predicted_response` (6,), its slope by the state (6, 13 + R), and that of the first three by speeds (3, R).

    Evaluated scalar by scalar (`haltere.algebra.soa`).
    """

    def both(x: Array, w: Array, rates: Array, numbers: CogNumbers) -> Array:
        parts = (x[RATE], x[OFFSET], x[MASS], x[TORQUE], x[THRUST])
        return jnp.concatenate(predicted_response(numbers, *parts, w, rates))

    def all_three(x: Array, w: Array, rates: Array, numbers: CogNumbers) -> tuple[Array, Array, Array]:
        by_state, by_speed = jax.jacfwd(both, (0, 1))(x, w, rates, numbers)
        return both(x, w, rates, numbers), by_state, by_speed[:3]

    plain = replace(numbers, model=None)
    found: tuple[Array, Array, Array] = join_single(
        soa(all_three)(*split_single((x, speeds, speed_rates, plain)))
    )
    return found


def unit(vector: Array) -> Array:
    """(3,) of length one."""
    return vector / jnp.maximum(jnp.sqrt(vector @ vector), 1e-12)


def _transitions(settings: CogSettings) -> Array:
    """(3, 3) probability of each change of mode in one tick."""
    (a, b), (c, d), (e, f) = settings.stay
    rates = jnp.asarray([[0.0, a, b], [c, 0.0, d], [e, f, 0.0]]) * settings.period
    return rates + jnp.diag(1.0 - jnp.sum(rates, axis=1))
