"""A recorded flight of a vehicle, seen by some of its sensors: what the smoother linearises around, and the noise.

What the smoother needs beside the sensors that were asked for tells only the motion that is linearised around, the
attitude and, where there is no gyro, the rates. It counts for nothing.

Sensors are as noisy as the airframe states. Rotors deviate by `SPEED_SIGMA` from the speeds that are reported, which
accelerates the vehicle and shows in the accelerometer: white disturbances of specific force and angular acceleration,

    variance = sum over the rotors of (2 w s E)^2                                                              (1)

with their speeds w, effectiveness E per squared speed, and s = `SPEED_SIGMA` averaged over a node. Correlations between
the axes are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import signal

from haltere.airframe import Airframe
from haltere.airframe.equipment import equip
from haltere.dynamics.sensors.noise import sample_sigma
from haltere.estimation.vehicle.alignment import find_attitude
from haltere.estimation.vehicle.levels import KINDS, NAMES, NO_DISTURBANCE
from haltere.estimation.vehicle.motion import NODE
from haltere.estimation.vehicle.nodes import FlightNodes
from haltere.estimation.vehicle.numbers import ROWS, Numbers, numbers_at
from haltere.estimation.vehicle.parameters import NominalVehicle
from haltere.flight import Channel, Flight
from haltere.flight.resampling import common_clock, interpolate_columns, resample
from haltere.flight.rotations import angular_rates, conjugate, matrix_from_wxyz, multiply, normalize, unwrap
from haltere.foundation.constants import GRAVITY
from haltere.foundation.numbers import Bools, Floats
from haltere.observability.rank import exact
from haltere.observability.rank.rational_vehicle import ObservabilityError, RationalVehicle

CHANNELS = {
    "pose": (("position", "wxyz"), ("pose",)),
    "position": (("position",), ("position", "gps", "pose")),
    "imu": (("accel", "gyro"), ("imu",)),
}
"""What each kind of sensor reads, and its usual names in logs, after those of the airframe."""
ATTITUDE = "estimate.wxyz"
"""What a filter on board believed: the attitude if no sensor shows it; else it is found from the track."""
SPEED_SIGMA = np.pi
"""rad/s, of a rotor about the reported speed, once in each sample of the IMU."""
WHITE = 10.0 / NODE
"""1/s, bandwidth of a disturbance that is new at each node."""
SLOPE_WINDOW = 11
"""Nodes from which rates are taken where there is no gyro."""
LEAST_RATIO = 1e-9
"""m, torque ratio of a rotor that has none: the smoother estimates its logarithm."""


@dataclass(frozen=True)
class SensedFlight:
    """A flight as the smoother takes it.

    Attributes:
        nominal: the vehicle.
        numbers: its physical numbers, with their slopes in the coordinates.
        nodes: the flight.
        counts: (12,) which readings count, of gyro, accelerometer, position and rotation.
        log_levels: (19,) logarithms of the noise levels.
        notes: what was assumed.
    """

    nominal: NominalVehicle
    numbers: Numbers
    nodes: FlightNodes
    counts: Bools
    log_levels: Floats
    notes: tuple[str, ...]


def prepare_flight(vehicle: RationalVehicle, flight: Flight, sensors: Sequence[str]) -> SensedFlight:
    """The flight of a vehicle, seen by some of its sensors: of `pose`, `position`, `imu`.

    Raises:
        HaltereError: the flight lacks a channel; the line says which, and what could be asked instead.
    """
    airframe: Any = vehicle.airframe
    found = _find(airframe, flight, sensors)
    speeds, notes = _rotor_speeds(airframe, flight)
    outer = next((kind for kind in ("pose", "position") if kind in sensors), None)
    rates = {
        kind: flight[f"{found[kind]}.{CHANNELS[kind][0][0]}"].rate for kind in (outer, "imu") if kind in found
    }
    full, assumed = equip(airframe, sensors, {kind: rate for kind, rate in rates.items() if rate > 0.0})
    nominal, rotors = _nominal(vehicle), vehicle.coordinates.rotors
    n = nominal.layout.size
    numbers = numbers_at(nominal, np.zeros(n), np.zeros((n, n)), rotors)
    needed = Flight.of(speeds, *_channels(nominal, flight, found, outer))
    nodes = FlightNodes.from_flight(needed, rotors)
    effectiveness = [[numbers[f"rotors.{r}.effectiveness.{row}"][0] for row in ROWS[:6]] for r in rotors]
    gain = 2.0 * np.sqrt(np.mean(nodes.speed**2, axis=0))[:, None] * effectiveness
    levels = _log_levels(full.imu[0], (*full.pose, *full.position)[0], gain)
    counts = ["imu" in sensors] * 6 + [outer is not None] * 3 + ["pose" in sensors] * 3
    return SensedFlight(nominal, numbers, nodes, np.array(counts), levels, (*notes, *assumed))


def _nominal(vehicle: RationalVehicle) -> NominalVehicle:
    """The vehicle of the exact rank as the smoother takes it: its sensors, and rotors without inertia."""
    airframe: Any = vehicle.airframe
    nominal = NominalVehicle.from_airframe(equip(airframe, ("pose", "imu"))[0], model="paper")
    q_BM = exact.floats(vehicle.wxyz_BM)
    pose, q_MP, imu, q_MI = np.split(exact.floats(vehicle.constants[:14]), [3, 7, 10])
    position: Any = exact.floats(vehicle.com_B) + np.stack([pose, imu]) @ matrix_from_wxyz(q_BM).T
    wxyz: Any = multiply(q_BM[None], np.stack([q_MP, q_MI]))
    ratio: Any = np.maximum(nominal.torque_ratio, LEAST_RATIO)
    return replace(
        nominal, spin_inertia=0.0 * ratio, torque_ratio=ratio, pose_position=position[0], imu_position=position[1],
        pose_wxyz=wxyz[0], imu_wxyz=wxyz[1],
    )  # fmt: skip


def _channels(
    nominal: NominalVehicle, flight: Flight, names: dict[str, str], outer: str | None
) -> list[Channel]:
    """Gyro, accelerometer, positions and attitudes as the smoother takes them; what was not logged tells the motion."""
    inertial = [flight[f"{names['imu']}.{part}"] for part in ("gyro", "accel")] if "imu" in names else []
    if outer is None:
        clock = common_clock(inertial, 1.0 / NODE)
        position = Channel("pose.position", clock, np.zeros((len(clock), 3)), "m", "world")
        wxyz = Channel("pose.wxyz", clock, np.tile([1.0, 0.0, 0.0, 0.0], (len(clock), 1)), "1", "world")
    else:
        position = flight[f"{names[outer]}.position"]
        if outer == "pose":
            wxyz = flight[f"{names[outer]}.wxyz"]
        elif ATTITUDE in flight.names and flight[ATTITUDE].finite.any():
            estimate = resample(flight[ATTITUDE], position.time)
            wxyz = replace(estimate, values=multiply(estimate.values, np.asarray(nominal.pose_wxyz)[None]))
        elif inertial:
            wxyz = _aligned(nominal, inertial[0], inertial[1], position)
        else:
            raise ObservabilityError(
                f"positions alone do not tell the attitude of the flight; log {ATTITUDE}, or an IMU"
            )
    if not inertial:
        gyro = _slope(nominal, wxyz)
        inertial = [gyro, gyro]  # what stands for the accelerometer does not matter
    needed = ("imu.gyro", "imu.accel", "pose.position", "pose.wxyz")
    return [own.renamed(name) for own, name in zip((*inertial, position, wxyz), needed, strict=True)]


def _aligned(nominal: NominalVehicle, gyro: Channel, accel: Channel, position: Channel) -> Channel:
    """Attitudes of the outer sensor from positions and IMU."""
    start, at = accel.time[0], position.finite
    rates = resample(gyro, accel.time)
    good = accel.finite & rates.finite
    gravity = np.array([0.0, 0.0, -GRAVITY])
    q_WI = find_attitude(
        accel.seconds(start)[good], rates.values[good], accel.values[good],
        position.seconds(start)[at], position.values[at], gravity,
    )  # fmt: skip
    q_IP = multiply(conjugate(np.asarray(nominal.imu_wxyz)), np.asarray(nominal.pose_wxyz))
    own = Channel("pose.wxyz", accel.time[good], multiply(q_WI, q_IP[None]), "1", "world")
    return resample(own, position.time)


def _slope(nominal: NominalVehicle, wxyz: Channel) -> Channel:
    """What a gyro would read, from the attitudes of the outer sensor."""
    good, clock = wxyz.finite, common_clock([wxyz], 1.0 / NODE)
    if len(clock) < SLOPE_WINDOW:
        raise ObservabilityError(f"got {len(clock) * NODE:.2g} s of attitudes; give a longer flight")
    q = interpolate_columns(clock, wxyz.time[good], unwrap(wxyz.values[good]))
    rates = angular_rates(normalize(signal.savgol_filter(q, SLOPE_WINDOW, 3, axis=0)), 1.0 / NODE)
    R_PI = matrix_from_wxyz(nominal.pose_wxyz).T @ matrix_from_wxyz(nominal.imu_wxyz)
    return Channel("imu.gyro", clock, rates @ R_PI, "rad/s", "imu")


def _log_levels(imu: Any, outer: Any, gain: Floats) -> Floats:
    """(19,) logarithms of what the sensors state and of (1); `gain` (R, 6) is 2 w E of each rotor."""
    per_node = 1.0 / np.sqrt(imu.rate * NODE)
    variance = np.sum((SPEED_SIGMA * per_node * gain) ** 2, axis=0)
    level = dict.fromkeys(NAMES, 0.0) | {f"{kind}_bandwidth": WHITE for kind in KINDS}
    for kind, (x, y, z) in (("force", variance[:3]), ("torque_fast", variance[3:])):
        level |= {f"{kind}_xy": np.sqrt(0.5 * (x + y)), f"{kind}_z": np.sqrt(z)}
    for name in ("accel", "gyro"):
        one, density, walk = (getattr(imu, f"sigma_{name}{last}") for last in ("", "_density", "_walk"))
        level |= {name: sample_sigma(one, density, imu.rate) * per_node, f"{name}_walk": walk or 0.0}
    level |= {"position": outer.sigma_position, "rotation": getattr(outer, "sigma_rotation", 1.0)}
    return np.log(np.maximum([level[name] for name in NAMES], NO_DISTURBANCE))


def _find(airframe: Airframe, flight: Flight, sensors: Sequence[str]) -> dict[str, str]:
    """The names under which the log has each kind of sensor; those of `sensors` it must have."""
    found = {}
    for kind, (parts, usual) in CHANNELS.items():
        for name in (*usual[::-1], *(sensor.name for sensor in reversed(getattr(airframe, kind)))):
            if all(f"{name}.{part}" in flight.names for part in parts):
                found[kind] = name
    for kind in (kind for kind in CHANNELS if kind in sensors and kind not in found):
        others = [other for other, name in found.items() if (other, name) != ("position", "pose")]
        hint = f"try --sensors {','.join(others)}" if others else "give a log that has it"
        channels = ", ".join(f"{kind}.{part}" for part in CHANNELS[kind][0])
        raise ObservabilityError(f"the flight has no {kind} sensor ({channels} are expected); {hint}")
    return found


def _rotor_speeds(airframe: Airframe, flight: Flight) -> tuple[Channel, tuple[str, ...]]:
    """Rotor speeds under the airframe's names; a log's own m1, m2, ... count in the file's order."""
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
        return speed, ()
    note = f"rotors {', '.join(speed.columns)} of the log are taken as {', '.join(names)}"
    return replace(speed, columns=names), (note,)
