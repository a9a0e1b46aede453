"""`equip`: the vehicle with every number that its sensors' readings need; what the file leaves out is assumed and said.

A sensor without stated noise has that which a log shows, or that of a good one of its kind where there is no log; one
that the file does not have at all sits at the body's origin. What the file states is never changed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from haltere.airframe import Airframe, Imu, PoseSensor, PositionSensor
from haltere.flight import Channel, Flight
from haltere.flight.filters import white_noise

Sensor = Imu | PoseSensor | PositionSensor
SensorNumbers = Mapping[str, Mapping[str, float]]
"""Rate, Hz, and deviations of one sample, SI, by sensor and field."""

USUAL: SensorNumbers = {
    "imu": {"rate": 200.0, "sigma_accel": 0.1, "sigma_gyro": 0.005},
    "pose": {"rate": 50.0, "sigma_position": 0.001, "sigma_rotation": 0.002},
    "position": {"rate": 10.0, "sigma_position": 0.5},
}
"""Of a good sensor of each kind."""
SMALLEST = {"sigma_accel": 1e-3, "sigma_gyro": 1e-5, "sigma_position": 1e-3, "sigma_rotation": 3e-3}
"""Deviations of a sample that a log may show at least: m/s2, rad/s, m, rad. Numbers that a log rounds or repeats look
less noisy than they are."""


def equip(
    airframe: Airframe,
    sensors: Sequence[str],
    rates: Mapping[str, float] | None = None,
    measured: SensorNumbers | None = None,
) -> tuple[Airframe, tuple[str, ...]]:
    """The airframe with one IMU and one pose or position sensor that have all their numbers, and what was assumed.

    Args:
        airframe: The vehicle.
        sensors: Of `pose`, `position`, `imu`; notes are made about these only.
        rates: How often a sensor really reads, Hz, where it is not as the file says.
        measured: What a log shows of the sensors (`measure_sensors`), for what the file does not state.
    """
    outer = "position" if "position" in sensors and "pose" not in sensors else "pose"
    kinds: dict[str, tuple[Sequence[Sensor], type[Sensor]]] = {
        "imu": (airframe.imu, Imu),
        "pose": (airframe.pose or airframe.position, PoseSensor),
        "position": (airframe.position or airframe.pose, PositionSensor),
    }
    notes: list[str] = []
    complete = {
        name: _complete(
            *kinds[name],
            name,
            (rates or {}).get(name),
            (measured or {}).get(name, {}),
            notes if name in sensors else [],
        )
        for name in ("imu", outer)
    }
    update = {"imu": (complete["imu"],), "pose": (), "position": (), outer: (complete[outer],)}
    return airframe.model_copy(update=update), tuple(notes)


def measure_sensors(flight: Flight) -> SensorNumbers:
    """Rates and white noise that a log with `imu.accel`, `imu.gyro` and `pose.position` shows."""
    imu = {
        "rate": flight["imu.accel"].rate,
        "sigma_accel": _noise(flight["imu.accel"]),
        "sigma_gyro": _noise(flight["imu.gyro"]),
    }
    pose = {"sigma_position": _noise(flight["pose.position"]), "sigma_rotation": 0.0}
    if "pose.wxyz" in flight:
        pose["sigma_rotation"] = 2.0 * _noise(flight["pose.wxyz"])
    return {
        name: {field: max(value, SMALLEST.get(field, 0.0)) for field, value in numbers.items()}
        for name, numbers in (("imu", imu), ("pose", pose))
    }


def _noise(channel: Channel) -> float:
    return float(np.max(white_noise(channel.values[channel.finite])))


def _complete(
    sensors: Sequence[Sensor],
    kind: type[Sensor],
    name: str,
    rate: float | None,
    measured: Mapping[str, float],
    notes: list[str],
) -> Sensor:
    first: Any = sensors[0] if sensors else None
    if first is None:
        notes.append(f"the file has no {name} sensor: one at the body's origin is assumed")
    numbers = {field: getattr(first, field, None) for field in kind.model_fields}
    numbers = {field: value for field, value in numbers.items() if value is not None}
    for field, usual in USUAL[name].items():
        if numbers.get(field) or numbers.get(f"{field}_density"):
            continue
        numbers[field] = measured.get(field, usual)
        if first is not None and field != "rate":
            source = "taken from the log" if field in measured else "assumed"
            notes.append(f"{name}.{field} is not stated: {numbers[field]:.4g} is {source}")
    if rate is not None:
        numbers["rate"] = rate
    return kind(**{"position": (0.0, 0.0, 0.0), **numbers})
