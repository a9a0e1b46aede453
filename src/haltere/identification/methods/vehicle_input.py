"""What batch smoother and filter start from: the flying part of a log, the nominal vehicle with its prior, the motors.

Motors and, where the airframe's thrust is far off, the first guess of all numbers come from the effectiveness method,
which needs neither pose nor prior.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.equipment import equip, measure_sensors
from haltere.dynamics import Model
from haltere.estimation.vehicle.hand_measurements import with_measured
from haltere.estimation.vehicle.parameters import NominalVehicle, Widths
from haltere.flight import Flight
from haltere.flight.window import FlightWindow, IdentifyError
from haltere.foundation.arrays import double_precision
from haltere.foundation.numbers import Floats
from haltere.identification.known import Known
from haltere.identification.methods.airframe import with_identified_numbers
from haltere.identification.methods.base import IdentifiedModel, MethodResult
from haltere.identification.methods.effectiveness import identify_effectiveness

FAR = 3.0
"""Prior deviations of the thrust from which on the flight starts from what the effectiveness method finds."""
LONGEST_PAUSE = 2.0
"""s without rotors that carry the vehicle, or without a signal, that a flight may hold; a longer one is a landing."""
JOINT_AT_REST = 0.05
"""Angle up to which a joint counts as at rest, rad."""


@dataclass(frozen=True)
class VehicleInput:
    """What an estimate of the whole vehicle starts from.

    Attributes:
        flight: The flying part, readings in IMU axes, rotors named as in the airframe.
        window: The same, readings in body axes.
        airframe: The nominal vehicle as it was given.
        near: The one from which the estimate starts.
        joint_angles: (J,) rad at which its joints stood.
        nominal: Its numbers and their prior, with those measured otherwise.
        known: Numbers measured otherwise that the prior takes, by name or pattern.
        measured: Sigma of each number that these are.
        motors: What the effectiveness method found.
        notes: Sentences on what was assumed or not used.
    """

    flight: Flight
    window: FlightWindow
    airframe: Airframe
    near: Airframe
    joint_angles: Floats
    nominal: NominalVehicle
    known: Mapping[str, Known]
    measured: Mapping[str, float]
    motors: MethodResult
    notes: tuple[str, ...]

    @classmethod
    @double_precision()
    def from_log(
        cls,
        flight: Flight,
        window: FlightWindow,
        airframe: Airframe,
        known: Mapping[str, Known],
        model: IdentifiedModel = "full",
    ) -> Self:
        """All of it for one log.

        Args:
            flight: With `imu.*`, `rotors.speed` and `pose.*`, readings in IMU axes.
            window: The flying part of it, readings in body axes.
            airframe: The prior.
            known: Numbers measured otherwise.
            model: What is estimated.
        """
        notes: list[str] = []
        joint_angles = held_joints(airframe, flight, notes)
        flying = flying_part(flight, window, airframe)
        motors = identify_effectiveness(window, airframe, known, exact_force=False, predict=False)
        near = _near(airframe, motors, notes)
        equipped, assumed = equip(near, ("pose", "imu"), measured=measure_sensors(flight))
        notes += [note for note in assumed if ".sigma" not in note]
        nominal = NominalVehicle.from_airframe(equipped, joint_angles, Widths.from_airframe(airframe), model)
        names = tuple(rotor.name for rotor in airframe.rotors)
        nominal, measured, unused = with_measured(nominal, names, known)
        notes += [f"--known {name} is not used by this method" for name in unused]
        used = {name: number for name, number in known.items() if name not in unused}
        return cls(
            flying, window, airframe, near, joint_angles, nominal, used, measured, motors, tuple(notes)
        )

    @property
    def rotor_names(self) -> tuple[str, ...]:
        """In the airframe's order."""
        return tuple(rotor.name for rotor in self.airframe.rotors)


def held_joints(airframe: Airframe, flight: Flight, notes: list[str]) -> Floats:
    """(J,) rad at which the joints stood; a vehicle that is no rigid body with rotors, or was none here, is refused."""
    winged = [link.name for link in airframe.links if link.wing is not None]
    if winged or airframe.body.wing is not None:
        raise IdentifyError(
            f"{airframe.name} has wings ({', '.join(winged or ['body'])}), of whose forces smoother and filter have no "
            "model; use --method effectiveness"
        )
    joints = Model.from_airframe(airframe).topology.joint_names
    if not joints:
        return np.zeros(0)
    if "joints.angle" not in flight:
        notes.append(f"the log has no joint angles: {', '.join(joints)} are taken to stand at zero")
        return np.zeros(len(joints))
    logged = flight["joints.angle"]
    names = logged.columns or joints
    if set(names) != set(joints) or logged.values.shape[1:] != (len(joints),):
        raise IdentifyError(
            f"joints.angle has {', '.join(logged.columns) or logged.values.shape[1:]} and {airframe.name} the joints "
            f"{', '.join(joints)}; give its own airframe"
        )
    angles = logged.values[:, [names.index(joint) for joint in joints]]
    middle = np.nanmedian(angles, axis=0)
    moved = np.nanmax(np.abs(angles - middle), axis=0)
    worst = int(np.argmax(moved))
    if not moved[worst] <= JOINT_AT_REST:
        raise IdentifyError(
            f"the joint of {joints[worst]} moved by {np.degrees(moved[worst]):.0f} deg in this log, and smoother and "
            "filter take a vehicle whose joints stand still; hold them, or use --method effectiveness"
        )
    if np.max(np.abs(middle)) > JOINT_AT_REST:
        stood = ", ".join(f"{joint} {np.degrees(x):.0f}" for joint, x in zip(joints, middle, strict=True))
        notes.append(f"all numbers are of the vehicle with its joints at {stood} deg, as in the log")
    return np.asarray(middle, np.float64)


def flying_part(flight: Flight, window: FlightWindow, airframe: Airframe) -> Flight:
    """The longest part of the flight without a landing, rotors named as in the airframe."""
    first, last = _longest_flight(window)
    names = tuple(rotor.name for rotor in airframe.rotors)
    speed = flight["rotors.speed"]
    if speed.values.shape[1] != len(names):
        raise IdentifyError(
            f"the log has {speed.values.shape[1]} rotors and {airframe.name} has {len(names)}; give its own airframe"
        )
    if set(speed.columns) != set(names):
        flight = flight.with_channel(replace(speed, columns=names))
    for name in flight.names:
        if name.startswith("truth."):
            flight = flight.without(name)
    return flight.between(first, last)


def _longest_flight(window: FlightWindow) -> tuple[float, float]:
    """First and last time, s, of the longest stretch in which the rotors carry the vehicle but for short pauses."""
    inside = window.time[window.valid]
    ends = np.flatnonzero(np.diff(inside) > LONGEST_PAUSE)
    starts = np.concatenate([[0], ends + 1])
    stops = np.concatenate([ends, [len(inside) - 1]])
    longest = int(np.argmax(inside[stops] - inside[starts]))
    return float(inside[starts[longest]]), float(inside[stops[longest]])


def _near(airframe: Airframe, motors: MethodResult, notes: list[str]) -> Airframe:
    """The airframe, or if its thrust is far off the one that the effectiveness method finds."""
    found = {p.name: p.value for p in motors.parameters if p.known and p.value}
    ratios = [
        found[name] / rotor.thrust_coefficient
        for rotor in airframe.rotors
        if (name := f"rotors.{rotor.name}.thrust_coefficient") in found
    ]
    if not ratios or abs(np.log(np.median(ratios))) < FAR * Widths().thrust:
        return airframe
    near = with_identified_numbers(airframe, motors.parameters, motors.curves, [])
    if near is None:
        return airframe
    notes.append(
        f"the rotors are {np.median(ratios):.2f} times as strong as the airframe says: the flight starts from what the "
        "effectiveness method finds"
    )
    return near
