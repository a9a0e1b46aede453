"""Very many steps of one vehicle or of a batch, as fast as one core can: held targets in, the last state out.

The whole Runge-Kutta step of `haltere.simulation.step`, from the same derivative, is evaluated scalar by scalar
(`haltere.algebra.soa`), and three things are done around it, none of which changes a number by more than rounding:

1. The vehicle is known when the function is made, so its zeros cost nothing; another vehicle means to compile anew.
2. The loop over the steps becomes one compiled function. Otherwise XLA for CPUs interprets a list of some hundred
   kernels in each step, and for one vehicle takes ten times as long to start them as to run them.
3. A batch is flown in pieces that stay in the cache, of a width that fills the vector registers.

A rollout uses one core; run several in processes of their own to use more. Controllers, gusts, ground, delays and
records are the duty of `haltere.simulation.fly`.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp

from haltere.algebra import join, join_single, soa, split, split_single
from haltere.dynamics import Environment, State
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array
from haltere.simulation.step import _STAGES, Vehicle, accelerations_and_slope

WIDEST = 256
"""Vehicles of a batch that fly together; more of them would not fit the cache."""
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

    def later(state: State, speed_target: Array, joint_target: Array) -> State:
        return _step(known, state, speed_target, joint_target, surroundings, dt)

    def flown(*start: Any) -> Any:
        """Elements in, Elements out."""
        targets = start[1:]
        return jax.lax.scan(lambda now, _: (soa(later)(now, *targets), None), start[0], None, length=steps)[0]

    def one(*start: Any) -> State:
        state: State = join_single(_as_one_function(flown, *split_single(start)))
        return state

    def piece(start: Any) -> State:
        state: State = join(_as_one_function(flown, *split(start)))
        return state

    def many(*start: Any) -> State:
        batch = start[0].position.shape[0]
        pieces = math.ceil(batch / WIDEST)
        width = LANES * math.ceil(batch / (pieces * LANES))

        def cut(x: Array) -> Array:
            filled = jnp.concatenate([x, jnp.repeat(x[-1:], pieces * width - batch, axis=0)])
            return filled.reshape(pieces, width, *x.shape[1:])

        ends = jax.lax.map(piece, jax.tree.map(cut, start))
        whole: State = jax.tree.map(lambda x: x.reshape(pieces * width, *x.shape[2:])[:batch], ends)
        return whole

    def run(state: State, speed_target: Array, joint_target: Array) -> State:
        start = jax.tree.map(lambda x: jnp.asarray(x, dtype), (state, speed_target, joint_target))
        _check(vehicle, *start)
        return one(*start) if start[0].position.ndim == 1 else many(*start)

    return jax.jit(run)


def _step(
    vehicle: Vehicle,
    state: State,
    speed_target: Array,
    joint_target: Array,
    environment: Environment,
    dt: float,
) -> State:
    """The state `dt` seconds later; `haltere.simulation.step` without the loop over the stages."""
    slope = total = jax.tree.map(jnp.zeros_like, state)
    for ahead, weight in _STAGES:
        at = jax.tree.map(lambda x, k, h=ahead * dt: x + h * k, state, slope)
        _, slope = accelerations_and_slope(vehicle, at, speed_target, joint_target, environment)
        total = jax.tree.map(lambda sum_, k, h=weight * dt: sum_ + h * k, total, slope)
    end: State = jax.tree.map(jnp.add, state, total)
    return State(end.position, end.wxyz / jnp.sqrt(end.wxyz @ end.wxyz), *jax.tree.leaves(end)[2:])


def _as_one_function(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function so that XLA for CPUs makes a single kernel of it, loops included."""
    with _single_kernel():
        return jax.jit(function)(*args)


def _single_kernel() -> AbstractContextManager[Any]:
    """The context for that; where XLA does not know it the result is only slower."""
    if jax.default_backend() != "cpu":
        return nullcontext()
    try:
        from jax.experimental.xla_metadata import set_xla_metadata  # noqa: PLC0415
    except ImportError:
        return nullcontext()
    context: AbstractContextManager[Any] = set_xla_metadata(inlineable="false", xla_cpu_small_call="true")
    return context


def _check(vehicle: Vehicle, state: State, speed_target: Array, joint_target: Array) -> None:
    topology = vehicle.model.topology
    batch = state.position.shape[:-1]
    expected = ((*batch, topology.rotors), (*batch, topology.joints))
    got = (speed_target.shape, joint_target.shape)
    if len(batch) > 1 or got != expected:
        msg = (
            f"position has shape {state.position.shape}, speed and joint targets {got[0]} and {got[1]}; "
            f"give (3,), ({topology.rotors},), ({topology.joints},), or all three with a leading batch axis"
        )
        raise HaltereError(msg)
