"""A nominal airframe with what a log told in its place, checked as a file would be."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from haltere.airframe import Airframe, AirframeError, Curve
from haltere.identification.result import Parameter


def validated(airframe: Airframe, changes: Mapping[str, Any], notes: list[str]) -> Airframe | None:
    """The changed airframe, checked as a file would be; None with a note if no such vehicle can be."""
    data = airframe.model_copy(update=dict(changes)).model_dump(mode="json", exclude_none=True)
    try:
        return Airframe.model_validate(data)
    except (AirframeError, ValueError) as error:
        reason = " ".join(str(error).split())
        reason = reason.split(" [type=")[0].split("Airframe ", 1)[-1][:200]
        notes.append(f"not all identified numbers are put into an airframe file: {reason}")
        return None


def with_numbers(
    airframe: Airframe, parameters: list[Parameter], curves: Mapping[str, str], notes: list[str]
) -> Airframe | None:
    """The nominal airframe with the numbers that were identified or are weak in their places.

    `curves` are the kinds of curve by rotor, "kappa" where none is said.
    """
    told = {
        p.name: p.value for p in parameters if p.value is not None and p.verdict in ("identified", "weak")
    }
    if not any(name == "mass" or name.startswith(("inertia", "rotors")) for name in told):
        return None
    rotors = []
    for rotor in airframe.rotors:
        path = f"rotors.{rotor.name}"
        changes: dict[str, Any] = {}
        for last in ("thrust_coefficient", "torque_ratio", "time_constant", "idle_speed", "delay"):
            value = told.get(f"{path}.{last}")
            if value is not None and value > 0.0:
                changes[last] = value
        top = told.get(f"{path}.max_speed")
        if top is not None:
            low = rotor.speed_limits[0] if rotor.speed_limits else 0.0
            if top > max(low, changes.get("idle_speed", rotor.idle_speed or 0.0)):
                changes["speed_limits"] = (low, top)
        curve = told.get(f"{path}.curve")
        if curve is not None:
            changes["curve"] = Curve.model_validate(
                {"kind": curves.get(rotor.name, "kappa"), "value": float(np.clip(curve, 0.0, 1.0))}
            )
        rotors.append(rotor.model_copy(update=changes))
    spinning = sum(r.mass for r in airframe.rotors) + sum(link.mass for link in airframe.links)
    mass = told.get("mass", airframe.total_mass) - spinning
    plain = airframe.body.model_copy(update={"mass": mass})
    body = plain
    if not airframe.links and not spinning:
        body = plain.model_copy(update={"inertia": _moments(airframe.body.inertia, told)})
    sensors: dict[str, Any] = {}
    if airframe.imu and all(f"imu.position.{a}" in told for a in "xyz"):
        place = tuple(told[f"imu.position.{a}"] + c for a, c in zip("xyz", airframe.body.com, strict=True))
        sensors["imu"] = (airframe.imu[0].model_copy(update={"position": place}), *airframe.imu[1:])
    changed = {"body": body, "rotors": tuple(rotors), **sensors}
    return validated(airframe, changed, notes) or validated(airframe, {**changed, "body": plain}, notes)


def _moments(inertia: tuple[float, ...], told: Mapping[str, float]) -> tuple[float, ...]:
    """Six numbers with the moments that were told; the products keep their share of them."""
    names = ("xx", "yy", "zz")
    old = np.array(inertia[:3])
    new = np.array([told.get(f"inertia.{name}", x) for name, x in zip(names, old, strict=True)])
    grown = np.sqrt(new / old)
    pairs = ((0, 1), (0, 2), (1, 2))
    products = [x * grown[i] * grown[j] for x, (i, j) in zip(inertia[3:], pairs, strict=True)]
    return tuple(float(x) for x in (*new, *products))
