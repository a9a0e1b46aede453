"""Fly the result before it is exported: would the identified vehicle hover, as far as it is known?

The controller is made for the identified vehicle; the plants are vehicles sampled from what is known of it
(`haltere.gate.draws`). A plant starts level, rotating slowly and off its target, and holds if it stays upright,
near and finite to the end. Rotors are called by number inside, and delays are rounded up, so that one compiled program
serves all vehicles with as many rotors.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.control import GeometricController
from haltere.control.errors import ControlError
from haltere.control.pilot import track
from haltere.dynamics import State
from haltere.dynamics.model import locked_rotors
from haltere.exporters import Certificate
from haltere.foundation.arrays import Array, double_precision
from haltere.foundation.memory import bound_programs
from haltere.gate.draws import make_flyable, sample_airframes
from haltere.identification.described import DescribedVehicle
from haltere.simulation import Timing, Vehicle, fly
from haltere.trajectory import hover, hover_point
from haltere.trajectory.reference import Trajectory

TIMING = Timing(duration=4.0, step_rate=500.0, control_rate=250.0)
TILT = np.radians(60.0)
"""A plant that tilts further has not hovered."""
NEAR = 3.0
"""A plant that is further away from its target has not hovered, m."""
START = (0.2, -0.2, 0.1)
"""Where a plant begins beside its target, m."""
SPIN = (0.3, -0.3, 0.2)
"""Its angular velocity at the beginning, rad/s."""
DELAY_STEP = 0.02
"""Delays of motors are rounded up to a multiple of this where the buffer of pending commands is sized, s."""


@double_precision()
def certify(vehicle: DescribedVehicle, draws: int = 20, seed: int = 0) -> Certificate:
    """Fly `draws` vehicles sampled from what is known.

    Raises:
        ExportError: there is no whole vehicle to fly, nor enough ratios to make one.
    """
    bound_programs()
    estimate = make_flyable(vehicle)
    try:
        controller = GeometricController.from_airframe(estimate)
    except ControlError as error:
        return Certificate(draws, 0, seed, f"the identified vehicle cannot hover: {error}")
    plants = sample_airframes(vehicle, estimate, draws, np.random.default_rng(seed))
    return _certificate_of(_fly(estimate, controller, plants), draws, seed)


class HoverRuns(NamedTuple):
    """What each of the plants did: (draws, steps) time in s, tilt in rad, distance from its target in m."""

    time: np.ndarray
    tilt: np.ndarray
    away: np.ndarray


def _fly(estimate: Airframe, controller: GeometricController, plants: list[Airframe]) -> HoverRuns:
    vehicles = [_numbered(plant) for plant in plants]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *vehicles)
    path = hover((0.0, 0.0, 0.0), 0.0, TIMING.duration)
    longest = max(r.delay or 0.0 for plant in plants for r in plant.rotors)
    program = _program(DELAY_STEP * float(np.ceil(longest / DELAY_STEP)))
    time, tilt, away = program(stacked, _numbered(estimate).motors, controller, path)
    return HoverRuns(np.asarray(time), np.asarray(tilt), np.asarray(away))


def _numbered(airframe: Airframe) -> Vehicle:
    """Rotors as parts of the body, called by number: cheaper to compile, and hover does not feel the difference."""
    rotors = tuple(r.model_copy(update={"name": f"r{i}"}) for i, r in enumerate(airframe.rotors))
    vehicle = Vehicle.from_airframe(airframe.model_copy(update={"rotors": rotors}))
    return replace(vehicle, model=locked_rotors(vehicle.model))


@lru_cache(maxsize=4)
def _program(longest_delay: float) -> Any:
    """The closed loop of all plants at once, compiled."""

    def one(
        vehicle: Vehicle, motors: Any, controller: GeometricController, path: Trajectory
    ) -> tuple[Array, Array, Array]:
        held = jnp.zeros(vehicle.model.topology.joints)
        pilot, first = track(controller, path, motors, held, period=1.0 / TIMING.control_rate)
        rest = State.rest(vehicle.model)
        speeds = jnp.sqrt(hover_point(controller.vehicle).command)
        begin = replace(
            rest,
            position=jnp.asarray(START),
            twist=jnp.asarray((0.0, 0.0, 0.0, *SPIN)),
            rotor_rates=jnp.asarray(speeds, rest.rotor_rates.dtype),
        )
        trace = fly(vehicle, begin, pilot, first, TIMING, longest_delay=longest_delay)
        up = jax.vmap(lambda state: state.R_WB @ controller.hover.frame[:, 2])(trace.state)
        tilt = jnp.arccos(jnp.clip(up[:, 2], -1.0, 1.0))
        return trace.time, tilt, jnp.linalg.norm(trace.state.position, axis=1)

    return jax.jit(jax.vmap(one, in_axes=(0, None, None, None)))


def _certificate_of(runs: HoverRuns, draws: int, seed: int) -> Certificate:
    """The sentence of the certificate."""
    time = runs.time[0]
    tilted = ~(runs.tilt < TILT)
    far = ~(runs.away < NEAR)
    failed = np.any(tilted | far, axis=1)
    hovered = draws - int(np.sum(failed))
    if hovered == draws:
        worst = np.degrees(float(np.max(runs.tilt)))
        return Certificate(
            draws,
            hovered,
            seed,
            f"{draws} of {draws} vehicles sampled from what is known hovered for {TIMING.duration:g} s, "
            f"tilting at most {worst:.0f} deg",
        )
    first = np.argmax(tilted | far, axis=1)[failed]
    by_tilt = int(np.sum(tilted[failed, first]))
    what = (
        f"tilted beyond {np.degrees(TILT):.0f} deg"
        if 2 * by_tilt >= len(first)
        else f"drifted beyond {NEAR:g} m"
    )
    when = float(np.median(time[first]))
    return Certificate(
        draws,
        hovered,
        seed,
        f"in {draws - hovered} of {draws} draws the vehicle {what}, typically within {when:.1f} s, because what is "
        "known is too uncertain or wrong; identify with more excitation or a weighed mass, or insist with --unchecked",
    )
