"""The numbers of batch smoother and filter as a result: parameters with verdicts, their covariance, the airframe.

All numbers are in body axes, positions from the airframe's origin.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from haltere.airframe import Airframe
from haltere.estimation.vehicle.numbers import COMPONENTS, Numbers, source_of
from haltere.flight.filters import fill_gaps
from haltere.flight.window import FlightWindow
from haltere.foundation.numbers import Floats
from haltere.foundation.verdict import NORMAL, Limit, Source, judge, limits
from haltere.identification.methods.airframe import body_without_rotors, validated, with_identified_numbers
from haltere.identification.methods.base import HeldOut, MethodResult, predict_accelerations
from haltere.identification.parameters import Parameter
from haltere.identification.regression import force_law
from haltere.identification.result import Covariance, Prediction

UNITS = {
    "mass": "kg", "com": "m", "inertia": "kg m2", "gravity": "m/s2", "thrust_coefficient": "N/(rad/s)2",
    "torque_ratio": "m", "rotation": "rad", "axis": "1", "spin_inertia": "kg m2", "position": "m", "delay": "s",
    "accel_delay": "s",
}  # fmt: skip
POSITIVE = ("mass", "inertia", "thrust_coefficient", "torque_ratio", "spin_inertia")
CUTOFF = 20.0
"""Hz, of the low-pass of held-out predictions."""
LIVELIER = "fly longer and livelier (haltere design)"
MOTOR_NUMBERS = ("max_speed", "idle_speed", "curve", "time_constant", "delay")
"""Numbers of the motors, which commands tell and poses do not."""
ROWS = {"force": ("fx", "fy", "fz"), "torque": ("p", "q", "r"), "reaction": ("p_dot", "q_dot", "r_dot")}


def to_parameters(
    numbers: Numbers, sigma: Floats, measured: Mapping[str, float], rotor_names: tuple[str, ...]
) -> list[Parameter]:
    """Every physical number with what is known of it; thrust axes get the angle of their uncertainty, too.

    Args:
        numbers: Values and prior.
        sigma: (N,) their deviations.
        measured: Sigma of what was measured otherwise, by name.
        rotor_names: In order.
    """
    values = {name: float(value) for name, value in zip(numbers.names, numbers.values, strict=True)}
    bounds = limits(values)
    sigma = _with_second_order(numbers, sigma, rotor_names)
    found = []
    for name, own, prior in zip(numbers.names, map(float, sigma), numbers.prior_sigma, strict=True):
        source = source_of(own, float(prior), measured.get(name))
        found.append(_parameter(name, values[name], own, bounds[name], source))
    by_name = {p.name: p for p in found}
    for rotor in rotor_names:
        three = [by_name[f"rotors.{rotor}.axis.{axis}"] for axis in "xyz"]
        spread = float(np.linalg.norm([p.sigma or 0.0 for p in three]))
        origin: Source = "prior" if any(p.source == "prior" for p in three) else "data"
        name = f"rotors.{rotor}.axis.angle_sigma"
        found.append(_parameter(name, spread, spread, limits({name: spread})[name], origin, "rad"))
    return found


def _with_second_order(numbers: Numbers, sigma: Floats, rotor_names: tuple[str, ...]) -> Floats:
    """The deviations, and of thrust axes what a tilt changes along the axis, to which no slope belongs."""
    found = sigma.copy()
    for rotor in rotor_names:
        rows = [numbers.names.index(f"rotors.{rotor}.axis.{axis}") for axis in "xyz"]
        found[rows] = np.hypot(found[rows], 0.5 * np.sum(sigma[rows] ** 2))
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


def motor_parameters(motors: MethodResult) -> list[Parameter]:
    """The numbers of the motors by the effectiveness method."""
    return [p for p in motors.parameters if p.name.rpartition(".")[2] in MOTOR_NUMBERS]


def to_covariance(numbers: Numbers, sigma: Floats) -> Covariance:
    """Of all numbers, scaled to deviations (N,) that may be wider than their own."""
    scale = sigma / np.maximum(numbers.sigma, 1e-300)
    return Covariance(numbers.names, numbers.cov * np.outer(scale, scale))


def identified_airframe(
    airframe: Airframe, numbers: Numbers, motors: MethodResult, notes: list[str]
) -> Airframe | None:
    """The airframe with the numbers of the flight, and the motors of the effectiveness method."""
    if airframe.links:
        notes.append("the identified numbers are not put into an airframe file: the vehicle has moving links")
        return None
    value = dict(zip(numbers.names, map(float, numbers.values), strict=True))

    def vector(head: str) -> Floats:
        return np.array([value[f"{head}.{axis}"] for axis in "xyz"])

    of_motors = [p for p in motors.parameters if p.name.rpartition(".")[2] in MOTOR_NUMBERS]
    driven = with_identified_numbers(airframe, of_motors, motors.curves, notes) or airframe
    rotors, positions = [], []
    for rotor in driven.rotors:
        head = f"rotors.{rotor.name}"
        positions.append(vector(f"{head}.position"))
        changes: dict[str, Any] = {
            "position": tuple(map(float, positions[-1])),
            "axis": tuple(map(float, vector(f"{head}.axis"))),
            "thrust_coefficient": value[f"{head}.thrust_coefficient"],
            "torque_ratio": value[f"{head}.torque_ratio"],
        }
        rotors.append(rotor.model_copy(update=changes))
    body = body_without_rotors(airframe, value["mass"], vector("com"), _inertia(value), np.array(positions))
    return validated(airframe, {"body": body, "rotors": tuple(rotors)}, notes)


def predict_end(numbers: Numbers, window: FlightWindow, rotor_names: tuple[str, ...]) -> list[Prediction]:
    """What numbers from the early parts of a flight say of its held-out end.

    Args:
        numbers: Of the early parts.
        window: The flight, readings in body axes.
        rotor_names: In order.
    """
    late = window.late()
    if late.flight_seconds < 0.5 or window.rotor_speeds is None:
        return []
    value = dict(zip(numbers.names, map(float, numbers.values), strict=True))

    def rows(kind: str) -> Floats:
        """(N, 3); zero where the model has no such rows."""
        heads = [f"rotors.{rotor}.effectiveness" for rotor in rotor_names]
        return np.array([[value.get(f"{head}.{row}", 0.0) for row in ROWS[kind]] for head in heads])

    cutoff = min(CUTOFF, 0.2 * window.rate)
    signals = force_law.low_passed(late, fill_gaps(window.rotor_speeds), None, cutoff, 0.0, 0.0)
    rates, angular_acceleration = signals.rates, signals.angular_acceleration
    inertia = _inertia(value)
    gyroscopic = -np.cross(rates, rates @ inertia) @ np.linalg.inv(inertia)
    predicted = signals.squared_speeds @ rows("torque") + gyroscopic
    predicted = predicted + signals.torque_signals.rotor_accelerations @ rows("reaction")
    arm = np.array([value[f"imu.position.{axis}"] - value[f"com.{axis}"] for axis in "xyz"])
    force = (
        signals.squared_speeds @ rows("force")
        + np.cross(angular_acceleration, arm)
        + np.cross(rates, np.cross(rates, arm))
    )
    return predict_accelerations(
        HeldOut(signals.time, signals.valid, signals.rate),
        (signals.force, force),
        (angular_acceleration, predicted),
    )


def _inertia(value: Mapping[str, float]) -> Floats:
    xx, yy, zz, xy, xz, yz = (value[f"inertia.{c}"] for c in COMPONENTS)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
