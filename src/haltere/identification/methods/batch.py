"""The result of a log with pose, rotor speeds and a nominal airframe: the batch estimate of the whole vehicle.

`haltere.estimation.smoother` gives numbers in body axes from the airframe's origin. They are compared with what the
effectiveness method finds in the same log, which knows neither pose nor prior, and with parts of the flight; where they
disagree, intervals widen (`haltere.identification.methods.credibility`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.equipment import equip, measure_sensors
from haltere.estimation.smoother.hand_measurements import with_measured
from haltere.estimation.smoother.levels import NAMES
from haltere.estimation.smoother.nodes import FlightNodes
from haltere.estimation.smoother.numbers import COMPONENTS, Numbers, number_names, physical_numbers, source_of
from haltere.estimation.smoother.parameters import NominalVehicle, Widths
from haltere.estimation.smoother.smoother import SmoothedFlight, smooth
from haltere.flight import Flight
from haltere.flight.filters import fill_gaps
from haltere.flight.window import HELD_OUT, FlightWindow, IdentifyError
from haltere.foundation.arrays import double_precision
from haltere.foundation.memory import bound_programs
from haltere.foundation.numbers import Floats
from haltere.foundation.verdict import NORMAL, Limit, Source, judge, limits
from haltere.identification.known import Known
from haltere.identification.methods.airframe import validated, with_identified_numbers
from haltere.identification.methods.base import HeldOut, MethodResult, predict_accelerations
from haltere.identification.methods.credibility import check_credibility
from haltere.identification.methods.effectiveness import identify_effectiveness
from haltere.identification.methods.vehicle import flying_part, held_joints
from haltere.identification.methods.vehicle_airframe import body_without_rotors
from haltere.identification.parameters import Parameter
from haltere.identification.regression import force_law
from haltere.identification.result import Covariance, Prediction

UNITS = {
    "mass": "kg", "com": "m", "inertia": "kg m2", "gravity": "m/s2", "thrust_coefficient": "N/(rad/s)2",
    "torque_ratio": "m", "rotation": "rad", "axis": "1", "spin_inertia": "kg m2", "position": "m", "delay": "s",
    "accel_delay": "s",
}  # fmt: skip
POSITIVE = ("mass", "inertia", "thrust_coefficient", "torque_ratio", "spin_inertia")
FAR = 3.0
"""Prior deviations of the thrust from which on the flight starts from what the effectiveness method finds."""
CUTOFF = 20.0
"""Hz, of the low-pass of held-out predictions."""
LAG_SIGMA = 0.1
"""Relative deviation of a motor's time constant, at least: it speeds up and slows down with different ones."""
LIVELIER = "fly longer and livelier (haltere design)"
MOTOR_NUMBERS = ("max_speed", "idle_speed", "curve", "time_constant", "delay")
"""Numbers of the motors, which commands tell and poses do not."""


@double_precision()
def identify_batch(
    flight: Flight, window: FlightWindow, airframe: Airframe, known: Mapping[str, Known]
) -> MethodResult:
    """What the batch estimate tells.

    Args:
        flight: With `imu.*`, `rotors.speed` and `pose.*`, readings in IMU axes.
        window: The flying part of it, readings in body axes.
        airframe: The prior.
        known: Numbers measured otherwise.
    """
    bound_programs()
    told = MethodResult()
    joints = held_joints(airframe, flight, told.notes)
    rotors = tuple(rotor.name for rotor in airframe.rotors)
    nodes = FlightNodes.from_flight(flying_part(flight, window, airframe), rotors)
    quick = identify_effectiveness(window, airframe, known, exact_force=False)
    near = _near(airframe, quick, told.notes)
    equipped, assumed = equip(near, ("pose", "imu"), measured=measure_sensors(flight))
    told.notes += [note for note in assumed if ".sigma" not in note]
    nominal = NominalVehicle.from_airframe(equipped, joints, Widths.from_airframe(airframe))
    nominal, measured, left = with_measured(nominal, rotors, known)
    told.notes += [f"--known {name} is not used by this method" for name in left]
    found = smooth(nodes, nominal)
    numbers = physical_numbers(found, rotors)
    credibility = check_credibility(found, numbers, quick.parameters)
    if credibility.refusal:
        raise IdentifyError(credibility.refusal)
    told.notes += credibility.notes
    told.parameters += _parameters(numbers, credibility.sigma, measured, rotors)
    told.parameters += [_motor(p) for p in quick.parameters if p.name.rpartition(".")[2] in MOTOR_NUMBERS]
    told.covariance = _covariance(numbers, credibility.sigma)
    told.airframe = _identified_airframe(airframe, numbers, quick, told.notes)
    told.predictions += _predictions(found, window, rotors)
    told.fit.update(
        frame="airframe",
        levels={n: float(x) for n, x in zip(NAMES, np.exp(found.log_levels), strict=True)},
        iterations=found.iterations,
        **credibility.figures,
    )
    return told


def _near(airframe: Airframe, quick: MethodResult, notes: list[str]) -> Airframe:
    """The airframe, or if its thrust is far off the one that the effectiveness method finds."""
    found = {p.name: p.value for p in quick.parameters if p.known and p.value}
    ratios = [
        found[name] / rotor.thrust_coefficient
        for rotor in airframe.rotors
        if (name := f"rotors.{rotor.name}.thrust_coefficient") in found
    ]
    if not ratios or abs(np.log(np.median(ratios))) < FAR * Widths().thrust:
        return airframe
    near = with_identified_numbers(airframe, quick.parameters, quick.curves, [])
    if near is None:
        return airframe
    notes.append(
        f"the rotors are {np.median(ratios):.2f} times as strong as the airframe says: the flight starts from what the "
        "effectiveness method finds"
    )
    return near


def _predictions(smoothed: SmoothedFlight, window: FlightWindow, rotors: tuple[str, ...]) -> list[Prediction]:
    """What the early parts of the flight say of the late one."""
    late = window.late()
    if late.flight_seconds < 0.5 or window.rotor_speeds is None:
        return []
    count = len(smoothed.parts.right)
    step = smoothed.parts.step_of(range(int((1.0 - HELD_OUT) * count)))
    early = replace(smoothed, z=smoothed.z - smoothed.parts.step + step)
    value = dict(zip(number_names(rotors), map(float, physical_numbers(early, rotors).values), strict=True))

    def rows(kind: str) -> Floats:
        names = {"force": ("fx", "fy", "fz"), "torque": "pqr", "reaction": ("p_dot", "q_dot", "r_dot")}[kind]
        return np.array([[value[f"rotors.{rotor}.effectiveness.{row}"] for row in names] for rotor in rotors])

    cutoff = min(CUTOFF, 0.2 * window.rate)
    signals = force_law.low_passed(late, fill_gaps(window.rotor_speeds), None, cutoff, 0.0, 0.0)
    rates, turn = signals.rates, signals.angular_acceleration
    inertia = _inertia(value)
    gyroscopic = -np.cross(rates, rates @ inertia) @ np.linalg.inv(inertia)
    made = signals.squared_speeds @ rows("torque") + gyroscopic
    made = made + signals.torque_signals.rotor_accelerations @ rows("reaction")
    arm = np.array([value[f"imu.position.{axis}"] - value[f"com.{axis}"] for axis in "xyz"])
    force = (
        signals.squared_speeds @ rows("force") + np.cross(turn, arm) + np.cross(rates, np.cross(rates, arm))
    )
    return predict_accelerations(
        HeldOut(signals.time, signals.valid, signals.rate), (signals.force, force), (turn, made)
    )


def _inertia(value: Mapping[str, float]) -> Floats:
    xx, yy, zz, xy, xz, yz = (value[f"inertia.{c}"] for c in COMPONENTS)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _parameters(
    numbers: Numbers, sigma: Floats, measured: Mapping[str, float], rotors: tuple[str, ...]
) -> list[Parameter]:
    """Every physical number with what is known of it; thrust axes get the angle of their uncertainty, too."""
    values = {name: float(value) for name, value in zip(numbers.names, numbers.values, strict=True)}
    bounds = limits(values)
    sigma = _with_second_order(numbers, sigma, rotors)
    found = []
    for name, own, prior in zip(numbers.names, map(float, sigma), numbers.prior_sigma, strict=True):
        source = source_of(own, float(prior), measured.get(name))
        found.append(_parameter(name, values[name], own, bounds[name], source))
    by_name = {p.name: p for p in found}
    for rotor in rotors:
        three = [by_name[f"rotors.{rotor}.axis.{axis}"] for axis in "xyz"]
        spread = float(np.linalg.norm([p.sigma or 0.0 for p in three]))
        origin: Source = "prior" if any(p.source == "prior" for p in three) else "data"
        name = f"rotors.{rotor}.axis.angle_sigma"
        found.append(_parameter(name, spread, spread, limits({name: spread})[name], origin, "rad"))
    return found


def _with_second_order(numbers: Numbers, sigma: Floats, rotors: tuple[str, ...]) -> Floats:
    """The deviations, and of thrust axes what a tilt changes along the axis, to which no slope belongs."""
    found = sigma.copy()
    for rotor in rotors:
        places = [numbers.names.index(f"rotors.{rotor}.axis.{axis}") for axis in "xyz"]
        found[places] = np.hypot(found[places], 0.5 * np.sum(sigma[places] ** 2))
    return found


def _parameter(
    name: str, value: float, sigma: float, limit: Limit, source: Source, unit: str = ""
) -> Parameter:
    words = name.split(".")
    kind = next((word for word in reversed(words) if word in UNITS), words[0])
    if not unit and "effectiveness" in words:
        last = words[-1]
        unit = "1" if last.endswith("_dot") else ("m/s2/(rad/s)2" if last[0] == "f" else "rad/s2/(rad/s)2")
    low, high = value - NORMAL * sigma, value + NORMAL * sigma
    positive = kind in POSITIVE and not (kind == "inertia" and words[-1][0] != words[-1][1])
    verdict = judge(NORMAL * sigma, limit, source)
    return Parameter(
        name, value, sigma, (max(low, 0.0) if positive else low, high), unit or UNITS[kind], verdict, (), LIVELIER,
        limit.scale, source,
    )  # fmt: skip


def _motor(parameter: Parameter) -> Parameter:
    """A number of a motor from the effectiveness method; time constants are those of a motor that follows none."""
    if not parameter.name.endswith("time_constant") or parameter.value is None or parameter.sigma is None:
        return parameter
    sigma = float(np.hypot(parameter.sigma, LAG_SIGMA * parameter.value))
    wide = Parameter.measured(
        parameter.name, parameter.value, sigma, parameter.unit, parameter.fix, positive=True
    )
    return replace(wide, verdict=parameter.verdict) if parameter.verdict != "identified" else wide


def _covariance(numbers: Numbers, sigma: Floats) -> Covariance:
    """Of all numbers, scaled where a deviation was widened."""
    scale = sigma / np.maximum(numbers.sigma, 1e-300)
    return Covariance(numbers.names, numbers.cov * np.outer(scale, scale))


def _identified_airframe(
    airframe: Airframe, numbers: Numbers, quick: MethodResult, notes: list[str]
) -> Airframe | None:
    """The airframe with the numbers of the flight, and the motors of the effectiveness method."""
    if airframe.links:
        notes.append("the identified numbers are not put into an airframe file: the vehicle has moving links")
        return None
    value = dict(zip(numbers.names, map(float, numbers.values), strict=True))

    def vector(head: str) -> Floats:
        return np.array([value[f"{head}.{axis}"] for axis in "xyz"])

    motors = [p for p in quick.parameters if p.name.rpartition(".")[2] in MOTOR_NUMBERS]
    driven = with_identified_numbers(airframe, motors, quick.curves, notes) or airframe
    rotors, places = [], []
    for rotor in driven.rotors:
        head = f"rotors.{rotor.name}"
        places.append(vector(f"{head}.position"))
        told: dict[str, Any] = {
            "position": tuple(map(float, places[-1])),
            "axis": tuple(map(float, vector(f"{head}.axis"))),
            "thrust_coefficient": value[f"{head}.thrust_coefficient"],
            "torque_ratio": value[f"{head}.torque_ratio"],
        }
        rotors.append(rotor.model_copy(update=told))
    body = body_without_rotors(airframe, value["mass"], vector("com"), _inertia(value), np.array(places))
    changed: dict[str, Any] = {"body": body, "rotors": tuple(rotors)}
    return validated(airframe, changed, notes)
