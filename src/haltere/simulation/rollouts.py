"""Very many steps of one vehicle or of a batch, as fast as one core can: held targets in, the last state out.

The step is that of `haltere.simulation.plant`; what is around it changes no number by more than rounding:

1. The vehicle is known when the function is made, so its zeros cost nothing; another vehicle is compiled anew.
2. The loop over the steps becomes one kernel. Otherwise XLA for CPUs walks through a list of some hundred kernels in
   each step, and for one vehicle takes more than ten times as long to start them as to run them.
3. A batch is flown in pieces that stay in the cache, batch along the last axis.
4. The four stages of a single rigid body are one expression, in which nothing is computed twice; of vehicles with
   more parts they stay a loop, which is as fast there and compiled in a quarter of the time.

A rollout uses one core; run several in processes of their own to use more. Controllers, gusts, ground, delays and
records are the duty of `haltere.simulation.closed_loop`.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.algebra import as_one_kernel, join_single, soa, split_single
from haltere.dynamics import Environment, Model, State
from haltere.dynamics.integrator import STAGES
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array
from haltere.simulation.plant import Vehicle, accelerations_and_slope, step_vehicle

WIDEST = 128
"""Vehicles of a batch that fly together: enough to fill the vector registers, few enough for the cache."""
LANES = 16
"""The width of a piece is a multiple of this; the last piece is filled up with copies of the last vehicle."""

Rollout = Callable[[State, Array, Array], State]


def rollout(vehicle: Vehicle, dt: float, steps: int, environment: Environment | None = None) -> Rollout:
    """A compiled function of (state, speed_target, joint_target) that returns the state `steps` steps later.

    The function takes one vehicle, with targets (R,) rad/s and (J,) rad, or a batch: then every array of the state
    and both targets have a leading axis (batch, ...). Make it once and call it often: the first call compiles.

    Args:
        vehicle: model and actuators, shared by the batch; its model's dtype is the one to compute with.
        dt: one step, s.
        steps: number of steps, at least 1.
        environment: gravity, constant wind, air density, shared by the batch.
    """
    if steps < 1 or not dt > 0.0:
        msg = f"a rollout of {steps} steps of {dt} s was asked for; give at least 1 step and a dt above zero"
        raise HaltereError(msg)
    surroundings = environment or Environment()
    dtype = vehicle.model.dtype
    known: Vehicle = jax.tree.map(lambda x: jnp.asarray(x, dtype), vehicle)
    rigid = _is_rigid(vehicle.model)

    def later(state: State, speed_target: Array, joint_target: Array) -> State:
        if rigid:
            return _unrolled(known, state, speed_target, joint_target, surroundings, dt)
        return step_vehicle(known, state, speed_target, joint_target, surroundings, dt)[0]

    def flown(one: Rollout, state: State, *targets: Array) -> State:
        return jax.lax.scan(lambda now, _: (one(now, *targets), None), state, None, length=steps)[0]

    def piece(start: tuple[State, Array, Array]) -> State:
        end: State = as_one_kernel(lambda *args: flown(jax.vmap(later, -1, -1), *args), *start)
        return end

    def run(*given: Any) -> State:
        start = jax.tree.map(lambda x: jnp.asarray(x, dtype), given)
        batch = _batch(vehicle.model, *start)
        if batch is None:
            end: State = as_one_kernel(lambda *args: flown(later, *args), *start)
        else:
            end = _joined(jax.lax.map(piece, _pieces(start, batch)), batch)
        return end

    return jax.jit(run)


def _is_rigid(model: Model) -> bool:
    """Whether the vehicle is one rigid body: no links, rotors without mass."""
    return model.topology.links == 1 and not np.any(model.rotors.mass) and not np.any(model.rotors.inertia)


def _unrolled(
    vehicle: Vehicle,
    state: State,
    speed_target: Array,
    joint_target: Array,
    environment: Environment,
    dt: float,
) -> State:
    """The state `dt` seconds later, as `step_vehicle` computes it, with all stages in one expression."""

    def stages(state: State, speed_target: Array, joint_target: Array) -> State:
        slope = total = jax.tree.map(jnp.zeros_like, state)
        for ahead, weight in STAGES:
            at = jax.tree.map(lambda x, k, h=ahead * dt: x + h * k, state, slope)
            _, slope = accelerations_and_slope(vehicle, at, speed_target, joint_target, environment)
            total = jax.tree.map(lambda sum_, k, h=weight * dt: sum_ + h * k, total, slope)
        end: State = jax.tree.map(jnp.add, state, total)
        return State(end.position, end.wxyz / jnp.sqrt(end.wxyz @ end.wxyz), *jax.tree.leaves(end)[2:])

    later: State = join_single(soa(stages)(*split_single((state, speed_target, joint_target))))
    return later


def _pieces(tree: Any, batch: int) -> Any:
    """Arrays (batch, ...) as (pieces, ..., width)."""
    count = math.ceil(batch / WIDEST)
    width = LANES * math.ceil(batch / (count * LANES))

    def cut(x: Array) -> Array:
        filled = jnp.concatenate([x, jnp.repeat(x[-1:], count * width - batch, axis=0)])
        return jnp.moveaxis(filled.reshape(count, width, *x.shape[1:]), 1, -1)

    return jax.tree.map(cut, tree)


def _joined(tree: Any, batch: int) -> Any:
    """Arrays (pieces, ..., width) as (batch, ...)."""

    def join(x: Array) -> Array:
        count, *inner, width = x.shape
        return jnp.moveaxis(x, -1, 1).reshape(count * width, *inner)[:batch]

    return jax.tree.map(join, tree)


def _batch(model: Model, state: State, speed_target: Array, joint_target: Array) -> int | None:
    """The batch size, None for one vehicle; an error where the shapes are of neither."""
    rotors, joints = model.topology.rotors, model.topology.joints
    batch = state.position.shape[:-1]
    expected = ((*batch, 3), (*batch, rotors), (*batch, joints))
    got = (state.position.shape, speed_target.shape, joint_target.shape)
    if len(batch) > 1 or got != expected or 0 in batch:
        msg = (
            f"position, speed and joint targets have the shapes {got}; give (3,), ({rotors},), ({joints},), "
            "or all of them, and every array of the state, with the same leading batch axis"
        )
        raise HaltereError(msg)
    return batch[0] if batch else None
