"""The filter of [Boehm2022], for comparison: errors in the physical numbers, iterated updates, no smoothed start.

It stands on the model of our own filter, `haltere.estimation.vehicle.model`. With J the Jacobian that maps errors
of the physical numbers to those of the filter's coordinates, derivatives by the former are H J; J moves with
the mean, and so do the directions that no flight shows. That is how a false start becomes false information.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from haltere.estimation.core.kalman import Gain, update
from haltere.estimation.core.space import Block, Mean, Space
from haltere.estimation.vehicle.coordinates import VehicleCoordinates
from haltere.estimation.vehicle.model import linear_imu, linear_step
from haltere.estimation.vehicle.steps import (
    Frames,
    Steps,
    VehicleBelief,
    VehicleNoise,
    pose_residual,
    stepped,
    with_noise,
)
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

    The state is any that `Space` can describe. With prior mean x and covariance P, and a reading whose residual r and
    derivative H (r - H d at y + d) are known at any y, Gauss-Newton on the posterior ([BellCathey1993],
    [Hertzberg2013]) goes

        e = x - y,   P_y = T P T^T, P as it weighs errors about y = `Space.recentred`                       (1)
        y <- y + (e + K (r - H e)),   K = P_y H^T (H P_y H^T + R)^-1                                      (2)

    from y = x; one iteration is the extended filter. The covariance is Joseph's at the last y.

    A residual that is not finite leaves both as they were. The gate holds for the first iteration, at the prior.
    """
    residual, H = linearise(mean)
    valid = jnp.all(jnp.isfinite(residual))
    first = update(cov, H, R, jnp.where(valid, residual, 0.0), valid, gate)[1]

    def iterate(now: tuple[Mean, Array, Gain], _: None) -> tuple[tuple[Mean, Array, Gain], None]:
        here = now[0]
        residual, H = linearise(here)
        offset = space.minus(mean, here)
        innovation = jnp.where(first.used, residual - H @ offset, 0.0)
        new, gain = update(space.recentred(here, offset, cov), H, R, innovation, first.used)
        shift = offset + gain.gain @ innovation
        return (space.plus(here, shift), space.transported(here, shift, new), gain), None

    (moved, new, gain), _ = jax.lax.scan(iterate, (mean, cov, first), None, length=iterations)
    kept = jax.tree.map(lambda new, old: jnp.where(first.used, new, old), (moved, new), (mean, cov))
    return kept[0], kept[1], first._replace(gain=gain.gain, weighted=gain.weighted)


def run_printed(
    coordinates: VehicleCoordinates,
    noise: VehicleNoise,
    belief: VehicleBelief,
    frames: Frames,
    iterations: int,
    gate: float,
) -> tuple[VehicleBelief, tuple[Array, Array]]:
    """As `haltere.estimation.vehicle.steps.run`, with errors in physical numbers.

    Also the NIS of poses (K,) and IMU readings (K, n).
    """
    n, N, m = coordinates.space.dimension, coordinates.count, coordinates.moving.dimension
    space = Space((*coordinates.moving.blocks, *coordinates.physical.blocks))
    wide = Space((*space.blocks, Block("rattle", shape=(N,))))

    def turned(D: Array, physical: Mean) -> Array:
        """Derivatives by the filter's errors as derivatives by those of the physical numbers."""
        return jnp.concatenate([D[:, :m], D[:, m:n] @ coordinates.jacobian(physical), D[:, n:]], axis=1)

    def state(mean: Mean) -> Mean:
        return {
            **coordinates.moving.select(mean),
            **coordinates.to_coordinates(coordinates.physical.select(mean)),
        }

    def step(carry: tuple[Mean, Array], now: Steps) -> Any:
        mean, cov = carry

        def linearise(at: Mean) -> tuple[Array, Array]:
            expected, H = linear_imu(
                state(at), now.speeds + at["rattle"], coordinates, now.rotor_accelerations
            )
            return now.imu - expected, turned(H, coordinates.physical.select(at))

        start = {**mean, "rattle": jnp.zeros(N)}
        known = with_noise(cov, noise, N)
        new, cov, gain = iterated_update(wide, start, known, linearise, noise.imu**2, iterations)
        later, Phi = linear_step(
            state(new), now.speeds + new["rattle"], now.dt, coordinates, now.rotor_accelerations
        )
        cov = stepped(coordinates, cov, turned(Phi, coordinates.physical.select(new)), noise, now.dt, new)
        return ({**space.select(new), **later}, cov), gain.nis

    def frame(carry: tuple[Mean, Array], now: Frames) -> Any:
        mean, cov = carry

        def linearise(at: Mean) -> tuple[Array, Array]:
            residual, H, _ = pose_residual(coordinates, state(at), now.position, now.wxyz, now.pose_valid)
            return residual, turned(H, coordinates.physical.select(at))

        mean, cov, gain = iterated_update(space, mean, cov, linearise, noise.pose**2, iterations, gate)
        carry, nis = jax.lax.scan(step, (mean, cov), now.steps)
        return carry, (gain.nis, nis)

    physical = coordinates.to_physical(coordinates.constants(belief.mean))
    back = jax.scipy.linalg.block_diag(jnp.eye(m), jnp.linalg.inv(coordinates.jacobian(physical)))
    first = ({**coordinates.moving.select(belief.mean), **physical}, back @ belief.cov @ back.T)
    (mean, cov), nis = jax.lax.scan(frame, first, frames)
    forth = jax.scipy.linalg.block_diag(jnp.eye(m), coordinates.jacobian(coordinates.physical.select(mean)))
    return VehicleBelief(state(mean), forth @ cov @ forth.T), nis
