"""MJCF: nested bodies with explicit inertia; actuators on sites are rotors.

A site's gear is (force, torque) per control: the thrust along its direction, the reaction against the spin. Where the
force per control is near one newton the control is thrust, and the thrust coefficient has to be given.
"""

from pathlib import Path

import numpy as np

from haltere.airframe.airframe import Airframe
from haltere.airframe.errors import AirframeError
from haltere.airframe.fields import tensor
from haltere.airframe.foreign import xml
from haltere.airframe.foreign.options import ImportOptions
from haltere.airframe.foreign.tree import Piece, Propeller, airframe_of
from haltere.flight.rotations import matrix_from_wxyz
from haltere.foundation.numbers import Floats

NEWTONS = 1e-2
"""Force per control from which the control is not a squared speed, N."""


def read_mjcf(path: Path, root: xml.Element, options: ImportOptions, notes: list[str]) -> Airframe:
    """The first free body of an MJCF file."""
    world = root.find("worldbody")
    bodies = [] if world is None else world.findall("body")
    if not bodies:
        raise AirframeError(f"{path}: its worldbody holds no body; give the vehicle's own file")
    pieces: list[Piece] = []
    sites: dict[str, tuple[str, Floats, Floats]] = {}
    _walk(bodies[0], None, np.eye(3), np.zeros(3), pieces, sites, notes)
    sensors = {name: position for name, (_, position, _) in sites.items() if "imu" in name.lower()}
    propellers = _propellers(root, pieces, sites, options, notes)
    return airframe_of(root.get("model") or path.stem, pieces, propellers, sensors, options, notes)


def _rotation(element: xml.Element) -> Floats:
    if element.get("euler") or element.get("axisangle") or element.get("xyaxes") or element.get("zaxis"):
        raise AirframeError(f"{element.get('name')}: only quat is understood here; compile the model first")
    return matrix_from_wxyz(xml.numbers(element.get("quat"), 4, (1.0, 0.0, 0.0, 0.0)))


def _walk(
    body: xml.Element,
    parent: Piece | None,
    R: Floats,
    position: Floats,
    pieces: list[Piece],
    sites: dict[str, tuple[str, Floats, Floats]],
    notes: list[str],
) -> None:
    if parent is not None:
        at = xml.numbers(body.get("pos"), 3, (0.0, 0.0, 0.0))
        position, R = position + R @ at, R @ _rotation(body)
    piece = Piece(
        body.get("name") or f"part{len(pieces)}", None if parent is None else parent.name, R, position
    )
    inertial = body.find("inertial")
    if inertial is not None:
        piece.mass = xml.number(inertial.get("mass"), 0.0)
        piece.com = xml.numbers(inertial.get("pos"), 3, (0.0, 0.0, 0.0))
        full = inertial.get("fullinertia")
        if full:
            piece.inertia = tensor(xml.numbers(full, 6, (0.0,) * 6))
        else:
            turn = _rotation(inertial)
            piece.inertia = turn @ np.diag(xml.numbers(inertial.get("diaginertia"), 3, (0.0,) * 3)) @ turn.T
    elif body.find("geom") is not None:
        notes.append(f"{piece.name}: mass and inertia of shapes are not computed; write an inertial element")
    hinge = body.find("joint")
    if parent is not None and hinge is not None and hinge.get("type", "hinge") == "hinge":
        piece.axis = xml.numbers(hinge.get("axis"), 3, (0.0, 0.0, 1.0))
        if hinge.get("range"):
            low, high = xml.numbers(hinge.get("range"), 2, (0.0, 0.0))
            piece.limits = (float(low), float(high))
    pieces.append(piece)
    for site in body.findall("site"):
        at = xml.numbers(site.get("pos"), 3, (0.0, 0.0, 0.0))
        sites[site.get("name") or f"site{len(sites)}"] = (piece.name, position + R @ at, R @ _rotation(site))
    for child in body.findall("body"):
        _walk(child, piece, R, position, pieces, sites, notes)


def _propellers(
    root: xml.Element,
    pieces: list[Piece],
    sites: dict[str, tuple[str, Floats, Floats]],
    options: ImportOptions,
    notes: list[str],
) -> dict[str, Propeller]:
    found: dict[str, Propeller] = {}
    actuators = root.find("actuator")
    for actuator in () if actuators is None else actuators:
        site = actuator.get("site")
        if site is None or site not in sites:
            continue
        gear = xml.numbers(actuator.get("gear"), 6, (0.0,) * 6)
        k = float(np.linalg.norm(gear[:3]))
        if k == 0.0:
            continue
        owner, position, R = sites[site]
        along = float(gear[3:] @ gear[:3]) / k**2
        newtons = k >= NEWTONS
        if newtons and options.thrust_coefficient is None:
            raise AirframeError(
                f"rotor {site!r}: its control is a thrust in newtons; give --thrust-coefficient in N/(rad/s)^2"
            )
        most = actuator.get("ctrlrange")
        top = None if most is None or newtons else float(np.sqrt(xml.numbers(most, 2, (0.0, 0.0))[1]))
        found[site] = Propeller(
            thrust_coefficient=None if newtons else k,
            torque_ratio=abs(along),
            spin="ccw" if along <= 0.0 else "cw",
            max_speed=top,
            axis=R @ gear[:3] / k,
            position=position,
            carrier=owner,
        )
    if not found:
        notes.append("no actuator pushes on a site; the vehicle has no rotors")
    names = {piece.name for piece in pieces}
    return {n: p for n, p in found.items() if n in names} | {n: p for n, p in found.items() if n not in names}
