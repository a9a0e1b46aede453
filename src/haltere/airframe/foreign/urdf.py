"""URDF: links on joints, each with its own frame; poses are chained from the root."""

from pathlib import Path

import numpy as np

from haltere.airframe.airframe import Airframe
from haltere.airframe.errors import AirframeError
from haltere.airframe.fields import tensor
from haltere.airframe.foreign import xml
from haltere.airframe.foreign.options import ImportOptions
from haltere.airframe.foreign.tree import Piece, airframe_of
from haltere.airframe.foreign.xml import propellers_of
from haltere.flight.rotations import matrix_from_euler
from haltere.foundation.numbers import Floats

TURNING = ("revolute", "continuous")


def read_urdf(path: Path, root: xml.Element, options: ImportOptions, notes: list[str]) -> Airframe:
    """The vehicle of a URDF file."""
    links = {link.get("name", ""): link for link in root.findall("link")}
    joints = {name: joint for joint in root.findall("joint") if (name := _child(joint)) in links}
    roots = [name for name in links if name not in joints]
    if len(roots) != 1:
        raise AirframeError(f"{path}: has {len(roots)} links without parent; one is expected")
    pieces = [_piece(links[roots[0]], roots[0], None, np.eye(3), np.zeros(3))]
    todo, seen = [pieces[0]], {roots[0]}
    while todo:
        parent = todo.pop(0)
        for name, joint in joints.items():
            above = joint.find("parent")
            if above is None or above.get("link") != parent.name or name in seen:
                continue
            kind = joint.get("type", "fixed")
            if kind not in (*TURNING, "fixed"):
                notes.append(f"joint {joint.get('name')}: kind {kind} is taken as fixed")
            origin = joint.find("origin")
            R = parent.rotation @ matrix_from_euler(_numbers(origin, "rpy"))
            position = parent.position + parent.rotation @ _numbers(origin, "xyz")
            piece = _piece(links[name], name, parent.name, R, position)
            if kind in TURNING:
                piece.axis = xml.axis_of(joint.find("axis"))
                limit = joint.find("limit")
                if kind == "revolute" and limit is not None:
                    piece.limits = (
                        xml.number(limit.get("lower"), 0.0),
                        xml.number(limit.get("upper"), 0.0),
                    )
            seen.add(name)
            pieces.append(piece)
            todo.append(piece)
    sensors = {p.name.removesuffix("_frame"): p.position for p in pieces if "imu" in p.name.lower()}
    propellers = propellers_of(root, pieces, options)
    return airframe_of(root.get("name") or path.stem, pieces, propellers, sensors, options, notes)


def _child(joint: xml.Element) -> str:
    child = joint.find("child")
    return "" if child is None else child.get("link", "")


def _numbers(element: xml.Element | None, key: str) -> Floats:
    return xml.numbers(None if element is None else element.get(key), 3, (0.0, 0.0, 0.0))


def _piece(link: xml.Element, name: str, parent: str | None, R: Floats, position: Floats) -> Piece:
    piece = Piece(name, parent, R, position)
    inertial = link.find("inertial")
    if inertial is None:
        return piece
    mass, moments, origin = inertial.find("mass"), inertial.find("inertia"), inertial.find("origin")
    piece.mass = xml.number(None if mass is None else mass.get("value"), 0.0)
    piece.com = _numbers(origin, "xyz")
    if moments is not None:
        six = np.array([xml.number(moments.get(f"i{k}"), 0.0) for k in ("xx", "yy", "zz", "xy", "xz", "yz")])
        turn = matrix_from_euler(_numbers(origin, "rpy"))
        piece.inertia = turn @ tensor(six) @ turn.T
    return piece
