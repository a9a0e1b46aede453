"""An unknown vehicle: a catalogue vehicle changed in every number, flown and identified by what it felt.

Nobody but the simulator knows the truth. The controller flies with numbers that are up to 10 % wrong, the identification
starts from the catalogue and two measurements by hand, the mass on a scale and the yaw inertia by a swing. The truth
is told in the terms of the filter: from the centre of mass, along the principal axes.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from haltere.airframe import Airframe, from_catalogue, save
from haltere.estimation.vehicle_description import describe_vehicle
from haltere.flight import Flight
from haltere.identification.identify import identify
from haltere.identification.known import Known
from haltere.identification.result import Identification
from haltere.lie import so3
from haltere.simulation.scenario import ControllerPart, NoisePart, Scenario, TrajectoryPart
from haltere.studies.scenario import simulate

VEHICLE = "hummingbird"
DURATION = 12.0
SCALE, SWING = 1e-3, 0.01
"""Deviations of the scale (kg) and, relative, of the swing that gives the yaw inertia."""
SPREAD = {"mass": 0.12, "inertia": 0.1, "thrust": 0.08, "torque": 0.1}
"""Relative changes of the unknown vehicle, evenly distributed to both sides."""
SHIFT = {"com": 0.01, "rotor": 0.008, "imu": 0.01}
"""Changes of places, m."""
TILT = 0.04
"""Changes of thrust axes, rad."""


@dataclass(frozen=True)
class Unknown:
    """A flight of a vehicle that nobody knows, and what became of it."""

    vehicle: Airframe
    flight: Flight
    result: Identification
    truth: dict[str, float]
    """By the names of the result."""


def unknown_vehicle(seed: int, nominal: Airframe | None = None) -> Airframe:
    """The catalogue vehicle with every number changed."""
    draw = np.random.default_rng(seed)
    airframe = nominal or from_catalogue(VEHICLE)

    def factor(kind: str) -> float:
        return float(1.0 + SPREAD[kind] * draw.uniform(-1.0, 1.0))

    def moved(place: tuple[float, ...], kind: str) -> tuple[float, ...]:
        return tuple(float(x) for x in np.asarray(place) + SHIFT[kind] * draw.uniform(-1.0, 1.0, 3))

    body = airframe.body.model_copy(
        update={
            "mass": airframe.body.mass * factor("mass"),
            "com": moved(airframe.body.com, "com"),
            "inertia": (*(x * factor("inertia") for x in airframe.body.inertia[:3]), 0.0, 0.0, 0.0),
        }
    )
    rotors = []
    for rotor in airframe.rotors:
        axis = np.asarray(rotor.axis) + TILT * draw.uniform(-1.0, 1.0, 3)
        changes: dict[str, Any] = {
            "position": moved(rotor.position, "rotor"),
            "axis": tuple(float(x) for x in axis / np.linalg.norm(axis)),
            "thrust_coefficient": rotor.thrust_coefficient * factor("thrust"),
            "torque_ratio": rotor.torque_ratio * factor("torque"),
        }
        rotors.append(rotor.model_copy(update=changes))
    imu = airframe.imu[0].model_copy(update={"position": moved(airframe.imu[0].position, "imu")})
    return airframe.model_copy(
        update={"name": f"unknown-{seed}", "body": body, "rotors": tuple(rotors), "imu": (imu, *airframe.imu[1:])}
    )


def flown(vehicle: Airframe, believed: Airframe, seed: int) -> Flight:
    """A lively figure, flown by a controller that believes in another vehicle, read by noisy sensors."""
    plant, controller = Vehicle.from_airframe(vehicle), GeometricController.from_airframe(believed)
    path = lissajous(CYCLES, DURATION, AMPLITUDE, (0.0, 0.0, 2.0), 0.0)
    timing = Timing(DURATION, STEP_RATE, CONTROL_RATE)

    def flight(begin: State, plant: Vehicle, controller: GeometricController, path: Trajectory) -> Trace:
        def pilot(integral: Integral, time: Array, state: State) -> tuple[Integral, Command]:
            squares, later = step(controller, integral, state, path.at(time), 1.0 / CONTROL_RATE)
            return later, Command(plant.motors.command(jnp.sqrt(squares)), jnp.zeros(0))

        return fly(plant, begin, pilot, Integral.zero(), timing)

    first = path.at(0.0)
    rest = State.rest(plant.model)
    speeds = jnp.sqrt(controller.hover.command)
    begin = replace(
        rest,
        position=first.position,
        twist=jnp.concatenate([first.velocity, jnp.zeros(3)]),
        rotor_rates=jnp.asarray(speeds, rest.rotor_rates.dtype),
    )
    trace = jax.jit(flight)(begin, plant, controller, path)
    sensing = Sensing(rotor_rate=RATE, rotor_sigma=ROTOR_SIGMA)
    note = f"flown by a controller that believes in {believed.name}"
    return record(vehicle, plant.model, trace, Environment(), sensing, jax.random.key(seed), "", (note,))


def truth_of(vehicle: Airframe) -> dict[str, float]:
    """Every number by the names of a result with pose."""
    described = describe_vehicle(vehicle)
    chart, values = described.chart, []
    for block in chart.printed.blocks:
        value = described.printed[block.name]
        values.append(np.asarray(so3.log_wxyz(value) if block.kind == "rotation" else value).reshape(-1))
    named = dict(zip(chart.names, np.concatenate(values).tolist(), strict=True))
    told = {name: value for name, value in named.items() if ".axis" not in name}
    axes = np.asarray([rotor.axis for rotor in vehicle.rotors]) @ described.R_BM
    for rotor, axis in zip(vehicle.rotors, axes, strict=True):
        told |= {f"rotors.{rotor.name}.axis.{x}": float(a) for x, a in zip("xyz", axis, strict=True)}
    return told


def meet(seed: int = 0, say: Callable[[str], None] | None = None) -> Unknown:
    """Make an unknown vehicle, fly it, identify it."""
    tell = say or (lambda _: None)
    nominal = from_catalogue(VEHICLE)
    vehicle = unknown_vehicle(seed, nominal)
    tell(f"flying an unknown vehicle for {DURATION:g} s")
    flight = flown(vehicle, seed)
    truth = truth_of(vehicle)
    draw = np.random.default_rng([seed, 1])
    known = {
        "mass": Known(truth["mass"] + SCALE * float(draw.standard_normal()), SCALE),
        "inertia.zz": Known(truth["inertia.zz"] * (1.0 + SWING * float(draw.standard_normal())), SWING * truth["inertia.zz"]),
    }
    tell("finding out what it is")
    result = identify(flight, nominal, known, "filter", source=vehicle.name)
    return Unknown(vehicle, flight, result, truth)
