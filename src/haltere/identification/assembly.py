"""A whole vehicle from identified numbers: the nominal airframe with what the log told in its place.

From the filter, which sees everything from the centre of mass M along the principal axes, back to the body B: the pose
sensor S is bolted where the airframe says, so it gives the link,

    R_BM = R_BS R_MS^T,    c = p_BS - R_BM p_MS,    r_B = c + R_BM r_M                                       (1)

What spins has its own mass in the file and is taken off the body.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from haltere.airframe import Airframe, AirframeError, Curve
from haltere.airframe.inertia import tensor
from haltere.estimation import VehicleEstimate
from haltere.flight.fault import Values
from haltere.foundation.arrays import compiled
from haltere.identification.result import Parameter
from haltere.lie import so3

axes_of, wxyz_of = compiled(so3.from_wxyz), compiled(so3.to_wxyz)


def assembled(airframe: Airframe, estimate: VehicleEstimate, notes: list[str]) -> Airframe | None:
    """The airframe as the filter estimates it, or None with a note."""
    if airframe.links:
        notes.append("the identified numbers are not put into an airframe file: the vehicle has moving links")
        return None
    p = {name: np.asarray(value, np.float64) for name, value in estimate.printed.items()}
    R, c = principal_frame(airframe, p)
    axes = estimate.thrust_axes()[0] @ R.T
    places = c + p["rotor_position"] @ R.T
    rotors = []
    for rotor, place, axis, k, d in zip(
        airframe.rotors, places, axes, p["thrust_coefficient"], p["torque_ratio"], strict=True
    ):
        told = {
            "position": tuple(map(float, place)),
            "axis": tuple(map(float, axis)),
            "thrust_coefficient": float(k),
            "torque_ratio": float(max(d, 0.0)),
        }
        rotors.append(rotor.model_copy(update=told))
    body = _body(airframe, float(p["mass"][0]), c, R @ np.diag(p["inertia"]) @ R.T, places)
    sensors: dict[str, Any] = {}
    if airframe.imu:
        q = wxyz_of(R @ np.asarray(axes_of(estimate.printed["imu_rotation"])))
        told = {
            "position": tuple(map(float, c + R @ p["imu_position"])),
            "wxyz": tuple(float(x) for x in np.asarray(q)),
        }
        sensors["imu"] = (airframe.imu[0].model_copy(update=told), *airframe.imu[1:])
    return validated(airframe, {"body": body, "rotors": tuple(rotors), **sensors}, notes)


def principal_frame(airframe: Airframe, p: Mapping[str, Values]) -> tuple[Values, Values]:
    """R_BM (3, 3) and c (3,) of equation (1), from printed numbers by name."""
    R_MS = np.asarray(axes_of(p["pose_rotation"]))
    if airframe.pose:
        R_BS = np.asarray(axes_of(np.asarray(airframe.pose[0].wxyz, np.float64)))
        place = np.asarray(airframe.pose[0].position, np.float64)
    else:
        R_BS = np.eye(3)
        place = np.asarray(airframe.position[0].position if airframe.position else np.zeros(3), np.float64)
        R_MS = R_MS if not airframe.position else np.eye(3)
    R = R_BS @ R_MS.T
    return R, place - R @ p["pose_position"]


def _body(airframe: Airframe, mass: float, com: Values, inertia: Values, places: Values) -> Any:
    """The body without what spins on it."""
    own, moment = mass, mass * com
    for rotor, place in zip(airframe.rotors, places, strict=True):
        own -= rotor.mass
        moment = moment - rotor.mass * (place + np.asarray(rotor.com))
    centre = moment / own
    left = inertia - _steiner(own, centre - com)
    for rotor, place in zip(airframe.rotors, places, strict=True):
        if rotor.mass > 0.0:
            left = left - tensor(rotor.inertia) - _steiner(rotor.mass, place + np.asarray(rotor.com) - com)
    six = tuple(float(left[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    told = {"mass": float(own), "com": tuple(map(float, centre)), "inertia": six}
    return airframe.body.model_copy(update=told)


def _steiner(mass: float, d: Values) -> Values:
    return np.asarray(mass * (d @ d * np.eye(3) - np.outer(d, d)))


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
