"""The first report: a tilt-wing of the catalogue is thrown, tilts its wings and is left to itself.

Nobody steers. What the page shows follows from the dynamics alone, and the page says how well its books balance.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, from_catalogue
from haltere.dynamics import Environment, Model, State, allocation_matrix, base_parameters
from haltere.foundation.arrays import require_x64
from haltere.report.evidence import Evidence
from haltere.report.manoeuvre import Course, Recording, fly
from haltere.report.mass import MassProperties
from haltere.report.page import check_replaceable
from haltere.report.story import page

VEHICLE = "hong-tilt-wing"
DURATION, SAMPLES = 1.6, 160
TILT = (0.2, 0.8)
"""When the wings turn, s."""
LEFT, RIGHT = 0.9, 0.8
"""How far the wings on either side turn forward, rad."""
THROW = (2.0, 0.0, 1.0)
"""Velocity at the beginning, body axes, m/s."""
STEPS = (1, 2, 4)
"""Integration steps per sample, to see the order of the error; the flight itself takes the last."""
SEED, MOTIONS = 0, 40
"""Of the random motions from which the rank of the regressor is found."""


def write_demo(path: Path, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Write the report of the demonstration to `path` and give its main numbers.

    A file that is there already is replaced if Haltere wrote it, otherwise left alone with a `HaltereError`.

    Args:
        path: the HTML file.
        progress: is told in a sentence what is being done.
    """
    say = progress or (lambda _: None)
    require_x64()
    check_replaceable(path)
    airframe = from_catalogue(VEHICLE)
    say(f"integrating a flight of {VEHICLE}")
    evidence = gather(airframe, say)
    say(f"writing {path}")
    page(evidence).write(path)
    flight = evidence.flight
    end = flight.moments.state.position[-1]
    return {
        "report": str(path),
        "vehicle": airframe.name,
        "mass": evidence.mass_before.mass,
        "rotors": len(airframe.rotors),
        "joints": evidence.model.topology.joints,
        "duration": DURATION,
        "final_position": [float(x) for x in end],
        "largest_joint_torque": float(jnp.max(jnp.abs(flight.moments.motion.joint_torques))),
        "power_balance_error": float(jnp.max(jnp.abs(flight.power_error))),
        "energy_balance_error": float(jnp.max(jnp.abs(flight.energy_error))),
        "convergence_order": evidence.order,
        "parameters": len(evidence.base.names),
        "rank": evidence.base.rank,
    }


def gather(airframe: Airframe, say: Callable[[str], None]) -> Evidence:
    """Fly, and compute everything that the page shows."""
    model = Model.from_airframe(airframe)
    course, beginning = manoeuvre(airframe, model)
    with ThreadPoolExecutor(1) as beside:  # most of the time goes into two compilations; let them overlap
        regressor = beside.submit(base_parameters, model, jax.random.key(SEED), MOTIONS)
        flight = fly(model, beginning, course, Environment(), DURATION, SAMPLES, STEPS[-1])
        say("looking at the error of the integration")
        alone = [_in_empty_space(model, beginning, course, steps) for steps in STEPS]
        say("looking for what motion can tell about the parameters")
        base = regressor.result()
    after = np.asarray(course.last)
    matrix = jax.jit(allocation_matrix)
    return Evidence(
        airframe=airframe,
        model=model,
        course=course,
        flight=flight,
        step_ms=np.asarray([1e3 * DURATION / SAMPLES / steps for steps in STEPS]),
        momentum_errors=np.asarray([_momentum_error(recording) for recording in alone]),
        energy_errors=np.asarray([float(jnp.max(jnp.abs(recording.energy_error))) for recording in alone]),
        mass_before=MassProperties.of(model, np.asarray(course.first)),
        mass_after=MassProperties.of(model, after),
        allocation_before=np.asarray(matrix(model, course.first)),
        allocation_after=np.asarray(matrix(model, course.last)),
        base=base,
    )


def manoeuvre(airframe: Airframe, model: Model) -> tuple[Course, State]:
    """The course of the wings and the state at the throw, rotors at the speed that carries the weight in hover."""
    lefts = [airframe.link(name).joint.origin[1] > 0.0 for name in model.topology.joint_names]
    last = jnp.asarray([LEFT if left else RIGHT for left in lefts])
    course = Course(jnp.zeros_like(last), last, *(jnp.asarray(t) for t in TILT))
    lift = float(jnp.sum(model.rotors.thrust_coefficient))
    speed = (airframe.total_mass * 9.81 / lift) ** 0.5
    rest = State.rest(model)
    twist = jnp.asarray([*THROW, 0.0, 0.0, 0.0])
    return course, replace(rest, twist=twist, rotor_rates=jnp.full_like(rest.rotor_rates, speed))


def _in_empty_space(model: Model, beginning: State, course: Course, steps: int) -> Recording:
    """The same course without gravity and air: momentum must stay as it is."""
    rotors = model.rotors
    still = jnp.zeros_like(rotors.thrust_coefficient)
    without = replace(
        rotors, thrust_coefficient=still, drag_coefficient=still, inflow=jnp.zeros_like(rotors.inflow)
    )
    space = Environment(gravity=(0.0, 0.0, 0.0), air_density=0.0)
    return fly(replace(model, rotors=without), beginning, course, space, DURATION, SAMPLES, steps)


def _momentum_error(recording: Recording) -> float:
    momentum = recording.moments.momentum
    return float(jnp.max(jnp.abs(momentum - momentum[0])))
