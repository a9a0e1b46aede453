"""The filter of [Boehm2022] on a series of flights, as a baseline beside the smoother and its Cramer-Rao bound."""

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.estimation.core.consistency import nees
from haltere.estimation.core.space import Mean
from haltere.foundation.arrays import Array
from haltere.foundation.numbers import Floats
from haltere.papers.boehm.flights import SPEED_SIGMA, Conditions, Recording
from haltere.papers.boehm.paper_filter import PaperFrames, run_paper_filter
from haltere.papers.boehm.paper_vehicle import (
    PaperNoise,
    PaperVehicle,
    describe_paper_vehicle,
    slopes,
    thrust_axes,
)
from haltere.papers.boehm.prior import paper_filter_start
from haltere.papers.boehm.series import Bound, Outcome, Series, one_of, stacked
from haltere.papers.tables import Progress, silent

UPDATES = 3
"""Iterations of each update."""


def estimate_by_paper_filter(
    airframe: Airframe,
    seeds: Sequence[int],
    hand_measurements: Mapping[str, float],
    conditions: Conditions,
    recording: Recording,
    bound: Bound,
    progress: Progress | None = None,
    updates: int = UPDATES,
) -> Series:
    """The filter of the paper on the same flights, beside the same bound."""
    progress = progress or silent
    vehicle, physical = describe_paper_vehicle(airframe)
    noise = PaperNoise.from_airframe(airframe, SPEED_SIGMA)
    filtered = _compiled_filter(vehicle, updates)
    outcomes, seconds = [], []
    for i, seed in enumerate(seeds):
        one = one_of(recording, i)
        first, end = _true_ends(vehicle, physical, one, conditions)
        start = paper_filter_start(vehicle, first, hand_measurements, np.random.default_rng(seed))
        begin = time.process_time()
        mean, cov = jax.block_until_ready(filtered(noise, *start, _frames(one, conditions)))
        seconds.append(time.process_time() - begin)
        outcomes.append(_outcome(vehicle, physical, start, (mean, cov), end))
        progress(f"filtered flight {i + 1} of {len(seeds)}")
    return Series(vehicle, vehicle.space.dimension, stacked(outcomes), bound, float(np.median(seconds)))


@lru_cache(maxsize=4)
def _compiled_filter(vehicle: PaperVehicle, updates: int) -> Any:
    def go(noise: PaperNoise, mean: Mean, cov: Array, frames: PaperFrames) -> tuple[Mean, Array]:
        return run_paper_filter(vehicle, noise, mean, cov, frames, updates)

    return jax.jit(go)


def _frames(one: Recording, conditions: Conditions) -> PaperFrames:
    poses = len(one.pose_position)

    def framed(x: Array) -> Array:
        return jnp.asarray(x).reshape(poses, conditions.pose_every, -1)

    dt = jnp.asarray(1.0 / conditions.rate)
    return PaperFrames(one.pose_position, one.pose_wxyz, framed(one.reported), framed(one.imu), dt)


def _true_ends(
    vehicle: PaperVehicle, physical: Mean, one: Recording, conditions: Conditions
) -> tuple[Mean, Mean]:
    """The true state at the first sample, and after the last step."""

    def at(k: int) -> Mean:
        s = one.state
        parts = (s.position[k], s.twist[k, :3], s.wxyz[k], s.twist[k, 3:], one.bias[k, :3], one.bias[k, 3:])
        names = (block.name for block in vehicle.moving.blocks)
        return {**{name: jnp.asarray(x) for name, x in zip(names, parts, strict=True)}, **physical}

    last = at(-1)
    later = vehicle.step(last, jnp.asarray(one.speeds[-1]), jnp.asarray(1.0 / conditions.rate))
    return at(0), {**last, **later}


def _outcome(
    vehicle: PaperVehicle, physical: Mean, start: tuple[Mean, Array], end: tuple[Mean, Array], truth: Mean
) -> Outcome:
    """The errors of a run of the paper's filter, its thrust axes as tilts along and across their azimuth."""
    (mean, cov), first = end, vehicle.moving.dimension
    error = vehicle.space.minus(mean, truth)
    axes = thrust_axes(physical["rotor_tilt"])
    across = jnp.stack(
        [-jnp.sin(physical["rotor_tilt"][:, 1]), jnp.cos(physical["rotor_tilt"][:, 1])], axis=1
    )
    across = jnp.pad(across, ((0, 0), (0, 1)))
    tangents = jnp.stack([jnp.cross(across, axes), across], axis=1)

    def numbers(state: Mean) -> Array:
        away = vehicle.physical.minus(state, physical)
        tilts = jnp.einsum("rti,ri->rt", tangents, thrust_axes(state["rotor_tilt"]))
        return away.at[vehicle.physical.slices["rotor_tilt"]].set(tilts.ravel())

    slope = slopes(vehicle.physical, numbers, vehicle.physical.select(mean))
    sigma = jnp.sqrt(jnp.diagonal(slope @ cov[first:, first:] @ slope.T))
    told, before = (_information(vehicle, *belief) for belief in (end, start))
    away = np.asarray(numbers(mean))
    return Outcome(
        float(nees(error, cov)),
        float(np.max(np.abs(away / np.asarray(sigma)))),
        away,
        np.asarray(sigma),
        np.asarray(error[vehicle.space.slices["accel_bias"].start : first]),
        told / before - 1.0,
    )


def _information(vehicle: PaperVehicle, mean: Mean, cov: Array) -> Floats:
    """(2 + N,) information along the null directions at `mean`."""
    slices, count = vehicle.space.slices, len(vehicle.rotors)
    directions: Any = np.zeros((2 + count, vehicle.space.dimension))
    scaled = (("mass", "inertia", "thrust_coefficient"), ("inertia", "torque_ratio", "rotor_position"))
    for row, names in enumerate(scaled):
        for name in names:
            directions[row, slices[name]] = np.asarray(mean[name]).ravel()
    start = slices["rotor_position"].start
    for i, axis in enumerate(np.asarray(thrust_axes(mean["rotor_tilt"]))):
        directions[2 + i, start + 3 * i : start + 3 * i + 3] = axis
    spread = np.sqrt(np.diagonal(np.asarray(cov)))
    scaled_cov = np.asarray(cov) / np.outer(spread, spread)
    whitened = directions / spread
    return np.asarray(np.einsum("di,id->d", whitened, np.linalg.solve(scaled_cov, whitened.T)))
