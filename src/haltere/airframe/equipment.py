"""The vehicle with every number that its sensors' readings need: what the file leaves out is assumed, and said.

A sensor without stated noise has that of a good one of its kind; one that the file does not have at all sits at the
body's origin.
"""

from collections.abc import Sequence
from typing import Any

from haltere.airframe import Airframe, Imu, PoseSensor, PositionSensor

Sensor = Imu | PoseSensor | PositionSensor

USUAL: dict[str, dict[str, float]] = {
    "imu": {"rate": 200.0, "sigma_accel": 0.1, "sigma_gyro": 0.005},
    "pose": {"rate": 50.0, "sigma_position": 0.001, "sigma_rotation": 0.002},
    "position": {"rate": 10.0, "sigma_position": 0.5},
}
"""Rate, Hz, and deviation of one sample, SI, of a good sensor of each kind."""


def equipped(
    airframe: Airframe, sensors: Sequence[str], rates: dict[str, float] | None = None
) -> tuple[Airframe, tuple[str, ...]]:
    """The airframe with one IMU and one pose or position sensor that have all their numbers, and what was assumed.

    Args:
        airframe: the vehicle.
        sensors: of `pose`, `position`, `imu`; notes are made about these only.
        rates: how often a sensor really reads, Hz, where it is not as the file says.
    """
    outer = "position" if "position" in sensors and "pose" not in sensors else "pose"
    notes: list[str] = []
    imu = _complete(airframe.imu, Imu, "imu", (rates or {}).get("imu"), notes if "imu" in sensors else [])
    kinds: dict[str, tuple[Sequence[Sensor], type[Sensor]]] = {
        "pose": (airframe.pose or airframe.position, PoseSensor),
        "position": (airframe.position or airframe.pose, PositionSensor),
    }
    found, kind = kinds[outer]
    seen = _complete(found, kind, outer, (rates or {}).get(outer), notes if outer in sensors else [])
    update = {"imu": (imu,), "pose": (), "position": (), outer: (seen,)}
    return airframe.model_copy(update=update), tuple(notes)


def _complete(
    found: Sequence[Sensor], kind: type[Sensor], name: str, rate: float | None, notes: list[str]
) -> Sensor:
    first: Any = found[0] if found else None
    if first is None:
        notes.append(f"the file has no {name} sensor: one at the body's origin is assumed")
    numbers = {field: getattr(first, field, None) for field in kind.model_fields}
    numbers = {field: value for field, value in numbers.items() if value is not None}
    for field, usual in USUAL[name].items():
        if numbers.get(field) or numbers.get(f"{field}_density"):
            continue
        numbers[field] = usual
        if first is not None and field != "rate":
            notes.append(f"{name}.{field} is not stated: {usual:g} is assumed")
    if rate is not None:
        numbers["rate"] = rate
    return kind(**{"position": (0.0, 0.0, 0.0), **numbers})
