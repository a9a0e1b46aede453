"""A recorded flight as the vehicle filter takes it: channels found, rotors named, a clock and a first state chosen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.equipment import equip
from haltere.estimation.core.space import Mean
from haltere.estimation.vehicle.core import VehicleCore
from haltere.estimation.vehicle.frames import frames_from_flight
from haltere.estimation.vehicle.steps import Frames
from haltere.flight import Channel, Flight
from haltere.lie import so3
from haltere.observability.rank.rational_vehicle import ObservabilityError

ATTITUDE = "estimate.wxyz"
"""What a filter on board believed: the first attitude if no sensor shows it; else it is found from the track."""
_POSE_EVERY = 4


@dataclass(frozen=True)
class FilterFlight:
    """A flight as the filter takes it.

    Attributes:
        vehicle: the filter.
        frames: the flight, with only the sensors that were asked for.
        first: the moving blocks at the beginning.
        notes: what was assumed.
    """

    vehicle: VehicleCore
    frames: Frames
    first: Mean
    notes: tuple[str, ...]


def prepare_flight(airframe: Airframe, flight: Flight, sensors: Sequence[str]) -> FilterFlight:
    """The flight of a vehicle, seen by some of its sensors: of `pose`, `position`, `imu`.

    Its channels are found, its rotors named and its clock chosen. The filter wants accelerometer, gyroscope, rotor
    speeds and a pose. A flight that lacks a sensor which nobody asked for has it added without a single valid
    reading, so that the information is that of the sensors that were asked for.

    Raises:
        ObservabilityError: the flight lacks a channel; the line says which, and what could be asked instead.
    """
    outer = _outer(airframe, flight, sensors)
    imu = _imu(airframe, flight, sensors)
    flight, notes = _named_rotors(airframe, flight)
    rates = {"imu": flight[f"{imu}.accel"].rate} if f"{imu}.accel" in flight.names else {}
    if outer is not None:
        rates["pose" if "pose" in sensors else "position"] = flight[f"{outer}.position"].rate
    full, assumed = equip(airframe, sensors, {kind: rate for kind, rate in rates.items() if rate > 0.0})
    flight = _with_all(flight, imu, outer)
    attitude = f"{outer}.wxyz"
    if "pose" not in sensors and attitude in flight.names:
        flight = flight.without(attitude)
    framed = frames_from_flight(flight, tuple(r.name for r in full.rotors), imu, outer or "pose")
    frames = framed.frames
    if "imu" not in sensors:
        steps = frames.steps
        frames = frames._replace(steps=steps._replace(imu_valid=jnp.zeros_like(steps.imu_valid)))
    vehicle = VehicleCore.from_airframe(full)
    if outer is None:
        first = _level(vehicle, frames)
    else:
        vehicle = _with_attitude(vehicle, flight, sensors)
        first = vehicle.first_state(frames)
    return FilterFlight(vehicle, frames, first, (*notes, *assumed, *framed.notes))


def _outer(airframe: Airframe, flight: Flight, sensors: Sequence[str]) -> str | None:
    """The name of the pose or position sensor in the flight; None if neither was asked for."""
    wanted = next((kind for kind in ("pose", "position") if kind in sensors), None)
    if wanted is None:
        return None
    own = [sensor.name for sensor in (airframe.pose if wanted == "pose" else airframe.position)]
    usual = ["pose"] if wanted == "pose" else ["position", "gps", "pose"]
    parts = ("position", "wxyz") if wanted == "pose" else ("position",)
    for name in [*own, *usual]:
        if all(f"{name}.{part}" in flight.names for part in parts):
            return name
    raise ObservabilityError(_lacking(flight, wanted, [f"{usual[0]}.{part}" for part in parts]))


def _imu(airframe: Airframe, flight: Flight, sensors: Sequence[str]) -> str:
    names = [*(sensor.name for sensor in airframe.imu), "imu"]
    for name in names:
        if f"{name}.accel" in flight.names and f"{name}.gyro" in flight.names:
            return name
    if "imu" in sensors:
        raise ObservabilityError(_lacking(flight, "imu", ["imu.accel", "imu.gyro"]))
    return names[0]


def _lacking(flight: Flight, kind: str, channels: list[str]) -> str:
    shapes = {
        "pose": ("position", "wxyz"),
        "position": ("position",),
        "gps": ("position",),
        "imu": ("accel", "gyro"),
    }
    has = [name for name, parts in shapes.items() if all(f"{name}.{part}" in flight.names for part in parts)]
    others = list(dict.fromkeys("position" if name == "gps" else name for name in has if name != kind))
    hint = f"try --sensors {','.join(others)}" if others else "give a log that has it"
    return f"the flight has no {kind} sensor ({', '.join(channels)} are expected); {hint}"


def _named_rotors(airframe: Airframe, flight: Flight) -> tuple[Flight, tuple[str, ...]]:
    """The flight with rotor speeds under the airframe's names; a log's own m1, m2, ... count in the file's order."""
    if "rotors.speed" not in flight.names:
        other = "; it has commands, but a command is no speed" if "rotors.command" in flight.names else ""
        raise ObservabilityError(
            f"the flight has no rotor speeds (rotors.speed){other}: log the speed the ESCs report"
        )
    speed, names = flight["rotors.speed"], tuple(rotor.name for rotor in airframe.rotors)
    if speed.values.ndim != 2 or speed.values.shape[1] != len(names):
        count = speed.values.shape[1] if speed.values.ndim == 2 else 1
        raise ObservabilityError(
            f"the flight has {count} rotors but {airframe.name} has {len(names)}; give the airframe that was flown"
        )
    if not speed.columns or set(names) <= set(speed.columns):
        return flight, ()
    note = f"rotors {', '.join(speed.columns)} of the log are taken as {', '.join(names)}"
    return flight.without("rotors.speed").with_channel(replace(speed, columns=names)), (note,)


def _with_all(flight: Flight, imu: str, outer: str | None) -> Flight:
    """The flight with channels of no value where it has none."""
    if f"{imu}.accel" not in flight.names:
        clock = flight["rotors.speed"].time
        for part, unit in (("accel", "m/s2"), ("gyro", "rad/s")):
            nothing = Channel(f"{imu}.{part}", clock, np.full((len(clock), 3), np.nan), unit, imu)
            flight = flight.with_channel(nothing)
    if outer is None:
        clock = flight[f"{imu}.accel"].time[::_POSE_EVERY]
        for part in ("position", "wxyz"):
            if f"pose.{part}" in flight.names:
                flight = flight.without(f"pose.{part}")
        nowhere = Channel("pose.position", clock, np.full((len(clock), 3), np.nan), "m", "world")
        flight = flight.with_channel(nowhere)
    return flight


def _level(vehicle: VehicleCore, frames: Frames) -> Mean:
    """Level and at rest, with the gyroscope's rates: without pose nothing else shows."""
    R_MI = so3.from_wxyz(vehicle.description.physical["imu_rotation"])
    zero, rates = jnp.zeros(3), R_MI @ jnp.nan_to_num(frames.steps.imu[0, 0, 3:])
    parts = {"position": zero, "velocity": zero, "attitude": jnp.eye(4)[0], "rates": rates}
    return {**parts, "accel_bias": zero, "gyro_bias": zero}


def _with_attitude(vehicle: VehicleCore, flight: Flight, sensors: Sequence[str]) -> VehicleCore:
    """The filter with a first attitude from the log's own estimate, where no sensor shows it and there is one."""
    if "pose" in sensors or ATTITUDE not in flight.names or not flight[ATTITUDE].finite.any():
        return vehicle
    channel = flight[ATTITUDE]
    wxyz = channel.values[int(np.flatnonzero(channel.finite)[0])]
    turned = so3.multiply_wxyz(jnp.asarray(wxyz), so3.to_wxyz(jnp.asarray(vehicle.description.R_BM)))
    w, x, y, z = np.asarray(turned / jnp.linalg.norm(turned)).tolist()
    return replace(vehicle, first_attitude=(w, x, y, z))
