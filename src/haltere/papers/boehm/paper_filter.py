"""The filter as [Boehm2022] has it, for comparison: errors in the printed numbers, iterated updates, no smoothed start.

It stands on the same model. With J the chart's Jacobian, which turns errors of the printed numbers into those of the
filter's coordinates, derivatives by the former are H J; J moves with the mean, and so do the directions that no flight
shows. That is how a false start becomes false information.
"""

from typing import Any

import jax
import jax.numpy as jnp

from haltere.estimation.core.space import Block, Mean, Space
from haltere.estimation.vehicle.coordinates import Chart
from haltere.estimation.vehicle.model import linear_imu, linear_step
from haltere.estimation.vehicle.steps import Belief, Frames, Noise, Steps, pose_residual, stepped, with_noise
from haltere.foundation.arrays import Array
from haltere.papers.boehm.iterated import iterated_update


def run_printed(
    chart: Chart, noise: Noise, belief: Belief, frames: Frames, iterations: int, gate: float
) -> tuple[Belief, tuple[Array, Array]]:
    """As `vehicle_filter.run`, with errors in printed numbers; also the NIS of poses (K,) and IMU readings (K, n)."""
    n, N, m = chart.space.dimension, chart.count, chart.moving.dimension
    space = Space((*chart.moving.blocks, *chart.printed.blocks))
    wide = Space((*space.blocks, Block("rattle", shape=(N,))))

    def turned(D: Array, printed: Mean) -> Array:
        """Derivatives by the filter's errors as derivatives by those of the printed numbers."""
        return jnp.concatenate([D[:, :m], D[:, m:n] @ chart.jacobian(printed), D[:, n:]], axis=1)

    def state(mean: Mean) -> Mean:
        return {**chart.moving.part(mean), **chart.to_coordinates(chart.printed.part(mean))}

    def step(carry: tuple[Mean, Array], now: Steps) -> Any:
        mean, cov = carry

        def linearise(at: Mean) -> tuple[Array, Array]:
            expected, H = linear_imu(state(at), now.speeds + at["rattle"], chart, now.rise)
            return now.imu - expected, turned(H, chart.printed.part(at))

        start = {**mean, "rattle": jnp.zeros(N)}
        known = with_noise(cov, noise, N)
        new, cov, gain = iterated_update(wide, start, known, linearise, noise.imu**2, iterations)
        later, Phi = linear_step(state(new), now.speeds + new["rattle"], now.dt, chart, now.rise)
        cov = stepped(chart, cov, turned(Phi, chart.printed.part(new)), noise, now.dt, new)
        return ({**space.part(new), **later}, cov), gain.nis

    def frame(carry: tuple[Mean, Array], now: Frames) -> Any:
        mean, cov = carry

        def linearise(at: Mean) -> tuple[Array, Array]:
            residual, H, _ = pose_residual(chart, state(at), now.place, now.wxyz, now.pose_valid)
            return residual, turned(H, chart.printed.part(at))

        mean, cov, gain = iterated_update(space, mean, cov, linearise, noise.pose**2, iterations, gate)
        carry, nis = jax.lax.scan(step, (mean, cov), now.steps)
        return carry, (gain.nis, nis)

    printed = chart.to_printed(chart.constants(belief.mean))
    back = jax.scipy.linalg.block_diag(jnp.eye(m), jnp.linalg.inv(chart.jacobian(printed)))
    first = ({**chart.moving.part(belief.mean), **printed}, back @ belief.cov @ back.T)
    (mean, cov), nis = jax.lax.scan(frame, first, frames)
    forth = jax.scipy.linalg.block_diag(jnp.eye(m), chart.jacobian(chart.printed.part(mean)))
    return Belief(state(mean), forth @ cov @ forth.T), nis
