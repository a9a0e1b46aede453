"""A whole vehicle from identified numbers: the nominal airframe with what the log told in its place.

From the filter, which sees everything from the centre of mass M along the principal axes, back to the body B: the pose
sensor S is bolted where the airframe says, so it gives the link,

    R_BM = R_BS R_MS^T,    c = p_BS - R_BM p_MS,    r_B = c + R_BM r_M                                       (1)

What spins has its own mass in the file and is taken off the body.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.fields import tensor
from haltere.estimation.vehicle.estimate import VehicleEstimate
from haltere.foundation.arrays import compiled
from haltere.foundation.numbers import Floats
from haltere.identification.methods.airframe import validated
from haltere.lie import so3

axes_of, wxyz_of = compiled(so3.from_wxyz), compiled(so3.to_wxyz)


def assembled(airframe: Airframe, estimate: VehicleEstimate, notes: list[str]) -> Airframe | None:
    """The airframe as the filter estimates it, or None with a note."""
    if airframe.links:
        notes.append("the identified numbers are not put into an airframe file: the vehicle has moving links")
        return None
    p = {name: np.asarray(value, np.float64) for name, value in estimate.physical.items()}
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
    body = body_without_rotors(airframe, float(p["mass"][0]), c, R @ np.diag(p["inertia"]) @ R.T, places)
    sensors: dict[str, Any] = {}
    if airframe.imu:
        q = wxyz_of(R @ np.asarray(axes_of(estimate.physical["imu_rotation"])))
        told = {
            "position": tuple(map(float, c + R @ p["imu_position"])),
            "wxyz": tuple(float(x) for x in np.asarray(q)),
        }
        sensors["imu"] = (airframe.imu[0].model_copy(update=told), *airframe.imu[1:])
    return validated(airframe, {"body": body, "rotors": tuple(rotors), **sensors}, notes)


def principal_frame(airframe: Airframe, p: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """R_BM (3, 3) and c (3,) of equation (1), from physical numbers by name."""
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


def body_without_rotors(airframe: Airframe, mass: float, com: Floats, inertia: Floats, places: Floats) -> Any:
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


def _steiner(mass: float, d: Floats) -> Floats:
    return np.asarray(mass * (d @ d * np.eye(3) - np.outer(d, d)))
