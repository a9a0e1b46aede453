"""The identified airframe: made of accelerations on a body of given mass and inertia, or a nominal one changed.

A log without pose identifies accelerations. With specific force b and angular acceleration t per squared speed, mass m
and inertia I, a rotor

    k = m |b|,   n = b / |b|,   q e = -n . I t / k,   r = n x I t / k                                      (1)

has force k n and torque r x k n - q k e n = I t. Positions count from the centre of mass; where along its thrust axis a
rotor sits has no effect and is taken as level with it.

`with_identified_numbers` puts the identified numbers into a nominal airframe, which is checked as a file would be.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from haltere.airframe import Airframe, AirframeError, Body, Curve, Imu, Rotor
from haltere.airframe.fields import Six, tensor
from haltere.foundation.numbers import Floats
from haltere.foundation.text import safe_name
from haltere.identification.methods.base import MethodInput, MethodResult
from haltere.identification.parameters import Parameter

MOMENTS = ("inertia.xx", "inertia.yy", "inertia.zz")
TILTED = 8.0
"""Force across the z axis over its sigma from which a rotor counts as tilted: smaller ones would tilt it by noise."""
PRODUCTS = ("inertia.xy", "inertia.xz", "inertia.yz")


class Ratios(NamedTuple):
    """Of one rotor: `force` (3,) m/s2 and `torque` (3,) rad/s2 per (rad/s)^2, further `numbers` by their last name."""

    name: str
    force: Floats
    torque: Floats
    numbers: Mapping[str, float]
    curve: str
    """Kind of the curve of commands."""


def airframe_from_ratios(
    name: str, mass: float, inertia: Six, rotors: Iterable[Ratios], **parts: Any
) -> Airframe:
    """Equation (1) for every rotor, on a body of `mass` (kg) and `inertia` (kg m2) whose origin is its centre."""
    made = tuple(_rotor(rotor, mass, tensor(inertia)) for rotor in rotors)
    return Airframe(name=name, body=Body(mass=mass, inertia=inertia), rotors=made, **parts)


def _rotor(ratios: Ratios, mass: float, inertia: Floats) -> Rotor:
    size = float(np.linalg.norm(ratios.force))
    k, n = mass * size, ratios.force / size
    moment = inertia @ ratios.torque / k
    along = -float(n @ moment)
    numbers = ratios.numbers
    top, shape = numbers.get("max_speed"), numbers.get("curve")
    kind = ratios.curve if ratios.curve in ("kappa", "quadratic") else "quadratic"
    return Rotor.model_validate(
        {
            "name": ratios.name,
            "position": tuple(np.cross(n, moment)),
            "axis": tuple(n),
            "spin": "ccw" if along >= 0.0 else "cw",
            "thrust_coefficient": k,
            "torque_ratio": abs(along),
            "time_constant": numbers.get("time_constant"),
            "delay": max(numbers.get("delay", 0.0), 0.0),
            "idle_speed": numbers.get("idle_speed"),
            "speed_limits": None if top is None else (0.0, top),
            "curve": None if shape is None else Curve(kind=kind, value=min(max(shape, 0.0), 1.0)),
        }
    )


def airframe_from_parameters(
    name: str, parameters: Iterable[Parameter], curves: Mapping[str, str]
) -> Airframe | None:
    """The airframe where mass, moments of inertia and every rotor's row were identified or known; else None.

    Thrust counts as along z unless the force across it is more than `TILTED` sigmas. `curves` are the kinds of curve by
    rotor.
    """
    entries = [p for p in parameters if p.known]
    sure = {p.name for p in entries if p.verdict != "weak"}
    tilted = {p.name for p in entries if p.value and p.sigma and abs(p.value) > TILTED * p.sigma}
    known = {p.name: p.value for p in entries if p.value is not None}
    names = tuple(dict.fromkeys(n.split(".")[1] for n in known if n.startswith("rotors.")))
    rows = [f"rotors.{r}.effectiveness.{x}" for r in names for x in ("fz", "p", "q", "r")]
    if not rows or any(n not in known for n in ("mass", *MOMENTS, *rows)):
        return None
    rotors = []
    for rotor in names:
        head = f"rotors.{rotor}.effectiveness."
        across = [known[head + x] if head + x in tilted else 0.0 for x in ("fx", "fy")]
        force, torque = np.array([*across, known[head + "fz"]]), np.array([known[head + x] for x in "pqr"])
        own = {n.split(".", 2)[2]: v for n, v in known.items() if n.startswith(f"rotors.{rotor}.")}
        rotors.append(Ratios(rotor, force, torque, own, curves.get(rotor, "kappa")))
    xx, yy, zz = (known[n] for n in MOMENTS)
    xy, xz, yz = (known.get(n, 0.0) for n in PRODUCTS)
    place = [known[f"imu.position.{a}"] for a in "xyz" if f"imu.position.{a}" in known]
    parts: dict[str, Any] = (
        {"imu": (Imu(position=(place[0], place[1], place[2])),)} if len(place) == 3 else {}
    )
    if not sure.issuperset(rows):
        parts["description"] = "made of identified numbers alone; those with the verdict weak are rough"
    return airframe_from_ratios(name, known["mass"], (xx, yy, zz, xy, xz, yz), rotors, **parts)


def with_airframe(result: MethodResult, data: MethodInput) -> MethodResult:
    """The result with the airframe that its parameters make: the nominal one changed, or a new one."""
    if data.airframe is None:
        result.airframe = airframe_from_parameters(
            safe_name(Path(data.source).stem), result.parameters, result.curves
        )
    else:
        result.airframe = with_identified_numbers(
            data.airframe, result.parameters, result.curves, result.notes
        )
    return result


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


def with_identified_numbers(
    airframe: Airframe, parameters: list[Parameter], curves: Mapping[str, str], notes: list[str]
) -> Airframe | None:
    """The nominal airframe with the numbers that were identified or are weak.

    `curves` are the kinds of curve by rotor, "kappa" where none is said.
    """
    identified = {p.name: p.value for p in parameters if p.value is not None and p.known}
    if not any(name == "mass" or name.startswith(("inertia", "rotors")) for name in identified):
        return None
    rotors = []
    for rotor in airframe.rotors:
        path = f"rotors.{rotor.name}"
        changes: dict[str, Any] = {}
        for last in ("thrust_coefficient", "torque_ratio", "time_constant", "idle_speed", "delay"):
            value = identified.get(f"{path}.{last}")
            if value is not None and value > 0.0:
                changes[last] = value
        top = identified.get(f"{path}.max_speed")
        if top is not None:
            low = rotor.speed_limits[0] if rotor.speed_limits else 0.0
            if top > max(low, changes.get("idle_speed", rotor.idle_speed or 0.0)):
                changes["speed_limits"] = (low, top)
        curve = identified.get(f"{path}.curve")
        if curve is not None:
            changes["curve"] = Curve.model_validate(
                {"kind": curves.get(rotor.name, "kappa"), "value": float(np.clip(curve, 0.0, 1.0))}
            )
        rotors.append(rotor.model_copy(update=changes))
    spinning = sum(r.mass for r in airframe.rotors) + sum(link.mass for link in airframe.links)
    mass = identified.get("mass", airframe.total_mass) - spinning
    plain = airframe.body.model_copy(update={"mass": mass})
    body = plain
    if not airframe.links and not spinning:
        body = plain.model_copy(update={"inertia": _moments(airframe.body.inertia, identified)})
    sensors: dict[str, Any] = {}
    if airframe.imu and all(f"imu.position.{a}" in identified for a in "xyz"):
        place = tuple(
            identified[f"imu.position.{a}"] + c for a, c in zip("xyz", airframe.body.com, strict=True)
        )
        sensors["imu"] = (airframe.imu[0].model_copy(update={"position": place}), *airframe.imu[1:])
    changed = {"body": body, "rotors": tuple(rotors), **sensors}
    return validated(airframe, changed, notes) or validated(airframe, {**changed, "body": plain}, notes)


def _moments(inertia: tuple[float, ...], identified: Mapping[str, float]) -> tuple[float, ...]:
    """Six numbers with the identified moments; the products keep their fraction of them."""
    names = ("xx", "yy", "zz")
    old = np.array(inertia[:3])
    new = np.array([identified.get(f"inertia.{name}", x) for name, x in zip(names, old, strict=True)])
    grown = np.sqrt(new / old)
    pairs = ((0, 1), (0, 2), (1, 2))
    products = [x * grown[i] * grown[j] for x, (i, j) in zip(inertia[3:], pairs, strict=True)]
    return tuple(float(x) for x in (*new, *products))


def body_without_rotors(
    airframe: Airframe, mass: float, com: Floats, inertia: Floats, positions: Floats
) -> Body:
    """The body of a vehicle without what spins on it.

    Args:
        airframe: The nominal vehicle, whose rotors have masses and inertias of their own.
        mass: Of the whole vehicle, kg.
        com: (3,) its centre of mass, body axes from the airframe's origin, m.
        inertia: (3, 3) about it, kg m2.
        positions: (N, 3) of the rotors, m.
    """
    own, moment = mass, mass * com
    for rotor, position in zip(airframe.rotors, positions, strict=True):
        own -= rotor.mass
        moment = moment - rotor.mass * (position + np.asarray(rotor.com))
    centre = moment / own
    rest = inertia - _steiner(own, centre - com)
    for rotor, position in zip(airframe.rotors, positions, strict=True):
        if rotor.mass > 0.0:
            rest = rest - tensor(rotor.inertia) - _steiner(rotor.mass, position + np.asarray(rotor.com) - com)
    six = tuple(float(rest[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    changes = {"mass": float(own), "com": tuple(map(float, centre)), "inertia": six}
    return airframe.body.model_copy(update=changes)


def _steiner(mass: float, d: Floats) -> Floats:
    """(3, 3) inertia of a point mass (kg) at d (3,) m."""
    return np.asarray(mass * (d @ d * np.eye(3) - np.outer(d, d)))
