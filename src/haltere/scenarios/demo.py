"""An unknown vehicle: a catalogue vehicle changed in every number, flown and identified by what its sensors read.

Nobody but the simulator knows the truth. The controller believes in the catalogue's vehicle and shakes the rotors a
little, so that each of them shows. The identification has the IMU, rotor speeds and motor commands, and two things
from outside: the mass from a scale, and the catalogue's drawing of the nominal rotor positions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, Curve, from_catalogue
from haltere.control import GeometricController, Integral
from haltere.control.pilot import track
from haltere.dynamics import Environment, State
from haltere.flight import Flight
from haltere.foundation.arrays import Array, double_precision
from haltere.foundation.numbers import Floats
from haltere.identification.described import (
    DescribedVehicle,
    force_of,
    lever_of,
    rotor_acceleration_of,
    torque_of,
)
from haltere.identification.known import Known
from haltere.identification.pipeline import identify
from haltere.identification.result import Identification
from haltere.simulation import Command, Timing, Trace, Vehicle, fly
from haltere.simulation.recording import Sensing, record
from haltere.trajectory import Trajectory, lissajous

VEHICLE = "hummingbird"
DURATION, STEP_RATE, CONTROL_RATE, RATE = 15.0, 1000.0, 500.0, 500.0
"""s; Hz of the plant, of the controller, and of IMU and telemetry."""
CYCLES, AMPLITUDE = (2.0, 2.5, 3.0, 2.0), (1.0, 1.0, 0.5, 1.0)
"""Of x, y, z (m) and yaw (rad) in the whole time."""
SHAKE = 0.08
"""Size of the shaking of each rotor's command."""
TONES = (3.1, 4.3, 5.9, 7.3, 8.7, 10.1, 11.3, 12.7)
"""Of the shaking, one for each rotor, Hz."""
NOISE = {
    "sigma_accel": 0.15,
    "sigma_gyro": 0.003,
    "sigma_accel_walk": 1e-3,
    "sigma_gyro_walk": 1e-5,
    "rate": RATE,
}
"""Of a small MEMS unit on a vehicle, m/s2 and rad/s."""
ROTOR_SIGMA = 1.0
"""Of the telemetry, rad/s."""
SCALE = 1e-3
"""Deviation of the scale, kg."""
RELATIVE_CHANGES = {"mass": 0.12, "inertia": 0.1, "thrust": 0.08, "torque": 0.1, "lag": 0.3}
"""Relative changes of the unknown vehicle, evenly distributed to both sides."""
SHIFT = {"com": 0.004, "rotor": 0.004, "imu": 0.01}
"""Changes of positions, m."""
TILT = 0.03
"""Changes of thrust axes, rad."""
CURVE, IDLE = 0.55, 90.0
"""Of its motors; idle in rad/s."""


@dataclass(frozen=True)
class DemoFlight:
    """A flight of a vehicle that nobody knows, and what became of it."""

    vehicle: Airframe
    flight: Flight
    result: Identification
    truth: dict[str, float]
    """By the names of the result."""


@double_precision()
def unknown_vehicle(seed: int, nominal: Airframe | None = None) -> Airframe:
    """The catalogue vehicle with every number changed."""
    draw = np.random.default_rng(seed)
    airframe = nominal or from_catalogue(VEHICLE)

    def factor(kind: str) -> float:
        return float(1.0 + RELATIVE_CHANGES[kind] * draw.uniform(-1.0, 1.0))

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
            "time_constant": (rotor.time_constant or 0.02) * factor("lag"),
            "curve": Curve(kind="kappa", value=CURVE),
            "idle_speed": IDLE,
        }
        rotors.append(rotor.model_copy(update=changes))
    imu = airframe.imu[0].model_copy(update={"position": moved(airframe.imu[0].position, "imu"), **NOISE})
    return airframe.model_copy(
        update={
            "name": f"unknown-{seed}",
            "body": body,
            "rotors": tuple(rotors),
            "imu": (imu, *airframe.imu[1:]),
        }
    )


@double_precision()
def fly_figure(vehicle: Airframe, believed: Airframe, seed: int) -> Flight:
    """A lively figure, flown by a controller that believes in another vehicle, read by noisy sensors."""
    plant, controller = Vehicle.from_airframe(vehicle), GeometricController.from_airframe(believed)
    path = lissajous(CYCLES, DURATION, AMPLITUDE, (0.0, 0.0, 2.0), 0.0)
    timing = Timing(DURATION, STEP_RATE, CONTROL_RATE)

    def flight(begin: State, plant: Vehicle, controller: GeometricController, path: Trajectory) -> Trace:
        steer, first = track(controller, path, plant.motors, jnp.zeros(0), period=1.0 / CONTROL_RATE)

        def pilot(integral: Integral, time: Array, state: State) -> tuple[Integral, Command]:
            later, command = steer(integral, time, state)
            tones = jnp.asarray(TONES[: command.rotors.shape[0]])
            shake = SHAKE * jnp.sin(2.0 * jnp.pi * tones * time)
            return later, replace(command, rotors=command.rotors + shake)

        return fly(plant, begin, pilot, first, timing)

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


@double_precision()
def truth_of(vehicle: Airframe) -> dict[str, float]:
    """Every number of the vehicle by the names of a result; positions count from the centre of mass."""
    subject = DescribedVehicle.from_airframe(vehicle)
    numbers = dict(subject.numbers)
    told = {n: v for n, v in numbers.items() if ".position." not in n and not n.startswith("com.")}
    for head in ("imu", *(f"rotors.{r}" for r in subject.rotors)):
        told |= _named(f"{head}.position", "xyz", lever_of(numbers, head))
    for rotor in subject.rotors:
        head = f"rotors.{rotor}.effectiveness"
        told |= _named(head, ("fx", "fy", "fz"), force_of(numbers, rotor))
        told |= _named(head, "pqr", torque_of(numbers, rotor))
        told |= _named(head, ("p_dot", "q_dot", "r_dot"), rotor_acceleration_of(numbers, rotor))
        told[f"rotors.{rotor}.delay"] = numbers.get(f"rotors.{rotor}.delay", 0.0)
    return told


def _named(head: str, tails: Sequence[str], values: Floats) -> dict[str, float]:
    return {f"{head}.{tail}": float(value) for tail, value in zip(tails, values, strict=True)}


@double_precision()
def run_demo(seed: int = 0, progress: Callable[[str], None] | None = None) -> DemoFlight:
    """Make an unknown vehicle, fly it, identify it."""
    tell = progress or (lambda _: None)
    nominal = from_catalogue(VEHICLE)
    vehicle = unknown_vehicle(seed, nominal)
    tell(f"flying an unknown vehicle for {DURATION:g} s")
    flight = fly_figure(vehicle, nominal, seed)
    tell("finding out what it is")
    truth = truth_of(vehicle)
    draw = np.random.default_rng([seed, 1])
    weighed = truth["mass"] + SCALE * float(draw.standard_normal())
    known = {"mass": Known(weighed, SCALE)}
    result = identify(replace(flight, source=vehicle.name), nominal, known=known, method="effectiveness")
    return DemoFlight(vehicle, flight, result, truth)
