"""The filter of [Boehm2022], for comparison: errors in the physical numbers, iterated updates.

A flight comes in frames: a pose, then some steps, each with an IMU reading at its beginning and rotor speeds that hold
through it. Within a step the noise w of the rotor speeds is part of the state, because the IMU feels it:

    z_k = h(x_k, u_k + w_k) + v_k,   x_k+1 = f(x_k, u_k + w_k)                                             (1)

Directions that no flight shows (all masses and thrusts larger by one factor, a rotor slid along its axis) change with
the mean in these numbers. So a false start becomes false information.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from haltere.estimation.core.kalman import Gain, propagate, update
from haltere.estimation.core.space import Block, Mean, Space
from haltere.foundation.arrays import Array
from haltere.papers.boehm.paper_vehicle import PaperNoise, PaperVehicle, slopes

Linearise = Callable[[Mean], tuple[Array, Array]]
"""From a state to the residual (k,) of a reading there and its derivative H (k, n)."""


class PaperFrames(NamedTuple):
    """A flight: K poses, each followed by n steps of one length."""

    position: Array
    """(K, 3) m, world."""
    wxyz: Array
    """(K, 4)."""
    speeds: Array
    """(K, n, N) as reported, rad/s."""
    imu: Array
    """(K, n, 6) specific force and rate at the beginning of each step."""
    dt: Array
    """() s, of a step."""


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


def run_paper_filter(
    vehicle: PaperVehicle, noise: PaperNoise, mean: Mean, cov: Array, frames: PaperFrames, iterations: int
) -> tuple[Mean, Array]:
    """Mean and covariance (n, n) after all frames, from those before them; each update is iterated as often."""
    space, N = vehicle.space, len(vehicle.rotors)
    n, d = space.dimension, vehicle.motion.dimension
    wide = Space((*space.blocks, Block("rattle", shape=(N,))))
    walk = jnp.zeros(n).at[d : d + 6].set(noise.walk**2)

    def step(carry: tuple[Mean, Array], now: tuple[Array, Array]) -> Any:
        mean, cov = carry
        speeds, imu = now

        def read(at: Mean) -> Array:
            return vehicle.imu(at, speeds + at["rattle"])

        def linearise(at: Mean) -> tuple[Array, Array]:
            return imu - read(at), slopes(wide, read, at)

        fresh = jax.scipy.linalg.block_diag(cov, noise.speed**2 * jnp.eye(N))
        start = {**mean, "rattle": jnp.zeros(N)}
        new, cov, _ = iterated_update(wide, start, fresh, linearise, noise.imu**2, iterations)
        later = vehicle.step(new, speeds + new["rattle"], frames.dt)

        def ahead(at: Mean) -> Array:
            return vehicle.motion.minus(vehicle.step(at, speeds + at["rattle"], frames.dt), later)

        cov = propagate(cov, slopes(wide, ahead, new))[:n, :n]
        return ({**space.select(new), **later}, 0.5 * (cov + cov.T) + frames.dt * jnp.diag(walk)), None

    def frame(carry: tuple[Mean, Array], now: tuple[Array, ...]) -> Any:
        mean, cov = carry
        position, wxyz, speeds, imu = now

        def residual(at: Mean) -> Array:
            return vehicle.pose_residual(at, position, wxyz)

        def linearise(at: Mean) -> tuple[Array, Array]:
            return residual(at), -slopes(space, residual, at)

        mean, cov, _ = iterated_update(space, mean, cov, linearise, noise.pose**2, iterations)
        return jax.lax.scan(step, (mean, cov), (speeds, imu))

    (mean, cov), _ = jax.lax.scan(frame, (mean, cov), frames[:4])
    return mean, cov
