"""A tree of rigid parts in any frames, and the airframe that it is.

Airframe files know links whose axes are parallel to the body's at angle zero. A part i with pose (R_i, p_i) in the
body frame at angle zero, mass m, centre of mass c and inertia J in its own axes becomes

    com = R_i c,   inertia = R_i J R_i^T,   joint axis = R_i a,   origin = p_i - p_parent                 (1)

Parts on fixed joints are merged into what carries them, by the parallel-axis theorem. Names that an airframe file
cannot hold are changed, and a note says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from haltere.airframe.airframe import Airframe
from haltere.airframe.errors import AirframeError
from haltere.airframe.foreign.options import ImportOptions
from haltere.airframe.rigid import combine_bodies
from haltere.foundation.numbers import Floats
from haltere.foundation.text import renamed_note, safe_names

BODY = "body"


@dataclass
class Piece:
    """One rigid part; pose in the frame of the base at angle zero."""

    name: str
    parent: str | None
    rotation: Floats
    position: Floats
    mass: float = 0.0
    com: Floats = field(default_factory=lambda: np.zeros(3))
    inertia: Floats = field(default_factory=lambda: np.zeros((3, 3)))
    axis: Floats | None = None
    """Of the joint, in its own axes; None for a fixed one."""
    limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class Propeller:
    """What a file says of a rotor's aerodynamics; None for what it does not."""

    thrust_coefficient: float | None = None
    torque_ratio: float | None = None
    spin: str | None = None
    time_constant: float | None = None
    max_speed: float | None = None
    axis: Floats | None = None
    """(3,) direction of thrust, body axes."""
    position: Floats | None = None
    """(3,) where it sits, body frame, m, if it is no part of its own."""
    carrier: str = BODY


def airframe_of(
    name: str,
    pieces: Sequence[Piece],
    propellers: dict[str, Propeller],
    sensors: dict[str, Floats],
    options: ImportOptions,
    notes: list[str],
) -> Airframe:
    """Equation (1) for every part; `sensors` are positions of IMUs in the body frame."""
    by_name = {piece.name: piece for piece in pieces}
    root = next(piece for piece in pieces if piece.parent is None)
    carriers = {piece.parent for piece in pieces}
    rotors = [p.name for p in pieces if p.name in propellers and p.name not in carriers]
    moving = [p for p in pieces if p.axis is not None and p.name not in rotors]
    moving.sort(key=lambda piece: _depth(piece, by_name))
    keepers = {root.name, *(p.name for p in moving), *rotors}

    for piece in pieces:
        _depth(piece, by_name)

    def keeper(piece: Piece) -> Piece:
        while piece.name not in keepers and piece.parent is not None:
            piece = by_name[piece.parent]
        return piece

    groups: dict[str, list[Piece]] = {}
    for piece in pieces:
        groups.setdefault(keeper(piece).name, []).append(piece)
    title = safe_names([name])
    parts = safe_names([*(p.name for p in moving), *propellers], (BODY,))
    mounted = safe_names(sensors)
    notes += renamed_note({**title, **parts, **mounted}, "parts of the file")
    called = {**parts, root.name: BODY}
    data: dict[str, Any] = {"name": title[name], "body": _mass(groups[root.name], root.position)}
    data["links"] = []
    for piece in moving:
        parent = keeper(by_name[piece.parent or root.name])
        assert piece.axis is not None
        joint: dict[str, Any] = {
            "origin": _floats(piece.position - parent.position),
            "axis": _floats(piece.rotation @ piece.axis),
        }
        if piece.limits is not None:
            joint["limits"] = piece.limits
        link = {"name": called[piece.name], "parent": called[parent.name], "joint": joint}
        data["links"].append({**link, **_mass(groups[piece.name], piece.position)})
    data["rotors"] = [
        _rotor(by_name.get(n), n, p, by_name, keeper, called, groups, options, notes)
        for n, p in propellers.items()
    ]
    data["imu"] = [{"name": mounted[n], "position": _floats(at - root.position)} for n, at in sensors.items()]
    try:
        return Airframe.model_validate(data)
    except ValueError as error:
        raise AirframeError(
            f"{name}: no airframe can be made of it: {str(error).splitlines()[-1].strip()}"
        ) from None


def _depth(piece: Piece, by_name: dict[str, Piece]) -> int:
    """Parts between this one and the root."""
    depth, at = 0, piece
    while at.parent is not None:
        depth, at = depth + 1, by_name[at.parent]
        if depth > len(by_name):
            raise AirframeError(f"{piece.name}: its joints run in a circle; a tree is expected")
    return depth


def _rotor(
    piece: Piece | None,
    name: str,
    propeller: Propeller,
    by_name: dict[str, Piece],
    keeper: Any,
    called: dict[str, str],
    groups: dict[str, list[Piece]],
    options: ImportOptions,
    notes: list[str],
) -> dict[str, Any]:
    carrier = keeper(by_name[propeller.carrier]) if piece is None else keeper(by_name[piece.parent or ""])
    position = propeller.position if piece is None else piece.position
    turn = np.array([0.0, 0.0, 1.0]) if piece is None or piece.axis is None else piece.rotation @ piece.axis
    axis = propeller.axis if propeller.axis is not None else turn * (1.0 if turn[2] >= 0.0 else -1.0)
    spin = propeller.spin
    if spin is None:
        spin = "ccw" if float(turn @ axis) >= 0.0 else "cw"
        notes.append(
            f"{name}: its sense of rotation is taken from the sign of its joint's axis ({spin}); check it"
        )
    k = propeller.thrust_coefficient or options.thrust_coefficient
    q = propeller.torque_ratio if propeller.torque_ratio is not None else options.torque_ratio
    if k is None or q is None:
        wanted = "--thrust-coefficient" if k is None else "--torque-ratio"
        raise AirframeError(f"rotor {name!r}: the file says nothing of its {wanted[2:]}; give {wanted}")
    assert position is not None
    data: dict[str, Any] = {
        "name": called[name],
        "link": called[carrier.name],
        "position": _floats(position - carrier.position),
        "axis": _floats(axis),
        "spin": spin,
        "thrust_coefficient": k,
        "torque_ratio": q,
    }
    top = propeller.max_speed or options.max_speed
    if top is not None:
        data["speed_limits"] = (0.0, top)
    if propeller.time_constant:
        data["time_constant"] = propeller.time_constant
    if piece is not None and name in groups:
        own = _mass(groups[name], piece.position)
        if own["mass"] > 0.0:
            data |= own
    return data


def _mass(parts: Sequence[Piece], origin: Floats) -> dict[str, Any]:
    """Mass, centre of mass from `origin` and inertia of parts taken as one, body axes."""
    if sum(p.mass for p in parts) == 0.0:
        return {"mass": 0.0}
    mass, com, J = combine_bodies(
        (p.mass, p.position + p.rotation @ p.com - origin, p.rotation @ p.inertia @ p.rotation.T)
        for p in parts
    )
    six = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
    return {"mass": mass, "com": _floats(com), "inertia": _floats(np.asarray(six))}


def _floats(values: Floats) -> tuple[float, ...]:
    return tuple(float(x) + 0.0 for x in values)
