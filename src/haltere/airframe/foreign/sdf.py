"""SDF: links with poses in their model's frame, joints between them; Gazebo's motor plugins name the rotors.

Included models are other files and are not read; a pose `relative_to` another frame is not understood and is said so.
"""

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

SIX = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def read_sdf(path: Path, root: xml.Element, options: ImportOptions, notes: list[str]) -> Airframe:
    """The first model of an SDF file."""
    model = root if root.tag == "model" else next(iter(root.iter("model")), None)
    if model is None:
        raise AirframeError(f"{path}: holds no model; give a model's SDF file")
    if model.find("include") is not None:
        notes.append("included models are not read; give the file that holds the links")
    pieces = {
        name: _piece(link, name, notes) for link in model.findall("link") if (name := link.get("name", ""))
    }
    if not pieces:
        raise AirframeError(f"{path}: its model has no links; give the file that holds them")
    for joint in model.findall("joint"):
        child = (joint.findtext("child") or "").strip()
        parent = (joint.findtext("parent") or "").strip()
        if child not in pieces or parent not in pieces:
            continue
        pieces[child].parent = parent
        kind = joint.get("type", "fixed")
        if kind in ("revolute", "continuous"):
            pieces[child].axis = xml.axis_of(joint.find("axis"))
        elif kind != "fixed":
            notes.append(f"joint {joint.get('name')}: kind {kind} is taken as fixed")
    roots = [p for p in pieces.values() if p.parent is None]
    if len(roots) != 1:
        names = ", ".join(p.name for p in roots)
        raise AirframeError(f"{path}: {len(roots)} links have no parent ({names}); one is expected")
    base = roots[0]
    for piece in pieces.values():
        if piece is not base:
            piece.position = base.rotation.T @ (piece.position - base.position)
            piece.rotation = base.rotation.T @ piece.rotation
    base.position, base.rotation = np.zeros(3), np.eye(3)
    sensors: dict[str, Floats] = {}
    for link in model.findall("link"):
        piece = pieces[link.get("name", "")]
        for sensor in link.findall("sensor"):
            if sensor.get("type") == "imu":
                at, _ = _pose(sensor.find("pose"), notes)
                sensors[f"imu{len(sensors) + 1}" if sensors else "imu"] = piece.position + piece.rotation @ at
    propellers = propellers_of(model, list(pieces.values()), options)
    return airframe_of(
        model.get("name") or path.stem, list(pieces.values()), propellers, sensors, options, notes
    )


def _pose(element: xml.Element | None, notes: list[str]) -> tuple[Floats, Floats]:
    if element is not None and element.get("relative_to"):
        notes.append(f"pose relative to {element.get('relative_to')} is taken as relative to the model")
    six = xml.numbers(None if element is None else element.text, 6, (0.0,) * 6)
    return six[:3], matrix_from_euler(six[3:])


def _piece(link: xml.Element, name: str, notes: list[str]) -> Piece:
    position, R = _pose(link.find("pose"), notes)
    piece = Piece(name, None, R, position)
    inertial = link.find("inertial")
    if inertial is None:
        return piece
    piece.mass = xml.number(inertial.findtext("mass"), 0.0)
    piece.com, turn = _pose(inertial.find("pose"), notes)
    moments = inertial.find("inertia")
    if moments is not None:
        six = np.array([xml.number(moments.findtext(k), 0.0) for k in SIX])
        piece.inertia = turn @ tensor(six) @ turn.T
    return piece
