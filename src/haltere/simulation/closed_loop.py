"""A vehicle flown by a controller, all inside one scan, so that it can be compiled, differentiated and mapped over.

The controller is a function (its state, time, vehicle state) -> (its state, `Command`), called at its own rate;
between two calls its command is held and the plant takes several steps. Commands reach motors late by each motor's
delay. A vehicle that touches the ground stays where it is; `Trace.alive` says from when.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from haltere.dynamics import Environment, Motion, State
from haltere.foundation.arrays import Array, pytree
from haltere.simulation.plant import Vehicle, step_vehicle

C = TypeVar("C")


@pytree
@dataclass(frozen=True)
class Command:
    """What a controller asks for: motor commands (R,) in 0..1 and joint angles (J,) in rad."""

    rotors: Array
    joints: Array
    log: Any = None
    """Anything it wants to keep beside, a pytree of arrays."""


Controller = Callable[[C, Array, State], tuple[C, Command]]
Change = Callable[[Vehicle, Array], Vehicle]
"""The vehicle as it is at a time in s: parts that come and go, see `haltere.simulation.payload`."""
Push = Callable[[Array, State], Array]
"""(L, 6) wrenches from outside at a time and state, at each link's origin in its axes, force first (N, N m)."""


@dataclass(frozen=True)
class Timing:
    """Duration (s) and rates (Hz) of a flight; the step rate is a whole multiple of the control rate."""

    duration: float
    step_rate: float = 1000.0
    control_rate: float = 500.0

    @property
    def substeps(self) -> int:
        """Plant steps for each call of the controller."""
        return max(round(self.step_rate / self.control_rate), 1)

    @property
    def periods(self) -> int:
        """Calls of the controller."""
        return max(round(self.duration * self.control_rate), 1)

    @property
    def dt(self) -> float:
        """One plant step, s."""
        return 1.0 / (self.control_rate * self.substeps)

    @property
    def steps(self) -> int:
        """Plant steps of the whole flight."""
        return self.periods * self.substeps


@pytree
@dataclass(frozen=True)
class Trace:
    """What happened, sampled at every plant step: leaves with a leading axis of `Timing.steps`."""

    time: Array
    state: State
    motion: Motion
    command: Command
    wind: Array
    alive: Array


def fly(
    vehicle: Vehicle,
    start: State,
    controller: Controller[Any],
    controller_state: Any,
    timing: Timing,
    environment: Environment | None = None,
    wind: Array | None = None,
    ground: float | None = None,
    longest_delay: float = 0.0,
    change: Change | None = None,
    push: Push | None = None,
) -> Trace:
    """Fly `controller` from `start`.

    Args:
        vehicle: model and actuators.
        start: state at time zero; motors start at the speeds it holds.
        controller: see the module.
        controller_state: its first state.
        timing: duration and rates.
        environment: gravity, constant wind, air density.
        wind: (steps, 3) gusts added to the constant wind, world axes, m/s.
        ground: height of the ground in m; None for no ground.
        longest_delay: upper bound of the motors' delays in s; it sizes the buffer of pending commands.
        change: what becomes of the vehicle in flight; it may not change motors, servos or topology.
        push: further wrenches, taken at the beginning of each plant step.
    """
    environment = environment or Environment()
    dtype = vehicle.model.dtype
    steady = jnp.asarray(environment.wind, dtype)
    gusts = jnp.zeros((timing.steps, 3), dtype) if wind is None else wind
    pending = int(np.ceil(longest_delay / timing.dt)) + 1
    age = vehicle.motors.delay / timing.dt

    def substep(carry: tuple[State, Array, Array], air: Array, clock: Array, command: Command) -> Any:
        state, alive, buffer = carry
        buffer = jnp.concatenate([command.rotors[None], buffer[:-1]])
        reached = vehicle.motors.target(_delayed(buffer, age))
        here = Environment(environment.gravity, steady + air, environment.air_density)
        now = vehicle if change is None else change(vehicle, clock)
        wrenches = None if push is None else push(clock, state)
        later, motion = step_vehicle(now, state, reached, command.joints, here, timing.dt, wrenches)
        if ground is not None:
            alive = alive & (state.position[2] > ground)
            later = jax.tree.map(lambda new, old: jnp.where(alive, new, old), later, state)
        return (later, alive, buffer), (state, motion, steady + air, alive)

    def period(carry: Any, air: Array) -> Any:
        control, plant, clock = carry
        control, command = controller(control, clock, plant[0])
        clocks = clock + timing.dt * jnp.arange(timing.substeps, dtype=dtype)
        plant, sampled = jax.lax.scan(lambda c, a: substep(c, *a, command), plant, (air, clocks))
        return (control, plant, clock + timing.substeps * timing.dt), (sampled, command)

    _, first = controller(controller_state, jnp.zeros((), dtype), start)
    idle = jnp.broadcast_to(vehicle.motors.command(start.rotor_rates), (pending, *first.rotors.shape))
    begin = (controller_state, (start, jnp.asarray(True), idle), jnp.zeros((), dtype))
    air = gusts.reshape(timing.periods, timing.substeps, 3)
    _, ((state, motion, winds, alive), command) = jax.lax.scan(period, begin, air)

    def flat(x: Array) -> Array:
        return x.reshape(timing.steps, *x.shape[2:])

    held = jax.tree.map(lambda x: jnp.repeat(x, timing.substeps, axis=0), command)
    time = jnp.arange(timing.steps) * timing.dt
    return Trace(time, jax.tree.map(flat, state), jax.tree.map(flat, motion), held, flat(winds), flat(alive))


def _delayed(buffer: Array, age: Array) -> Array:
    """(R,) command each motor sees now, linear between the steps of the buffer (newest first)."""
    places = jnp.arange(buffer.shape[0], dtype=buffer.dtype)[:, None]
    return jnp.sum(buffer * jnp.maximum(0.0, 1.0 - jnp.abs(places - age[None, :])), axis=0)


def crash_time(trace: Trace) -> float | None:
    """Time in s at which the vehicle touched the ground, None if it never did."""
    alive = np.asarray(trace.alive)
    return None if alive.all() else float(np.asarray(trace.time)[int(np.argmin(alive))])
