"""URDF: the bodies and joints of the vehicle, as Pinocchio and ROS read them.

Links keep their frames; rotors with inertia spin on continuous joints about their spin axis, others are fixed frames,
and so are sensors. URDF cannot express thrust; coefficients stand in comments beside each rotor.
"""

import numpy as np

from haltere.airframe import Rotor
from haltere.airframe.fields import Six
from haltere.exporters.document import Certificate, Document, Rendering, make_heading
from haltere.exporters.tree import (
    BODY,
    all_sensors,
    describe_deviations,
    format_numbers,
    is_spinning_body,
    require_airframe,
    spin_axis,
    xml_comments,
)
from haltere.flight.rotations import euler_from_wxyz
from haltere.foundation.text import xml_attribute
from haltere.identification.described import DescribedVehicle

FASTEST = 6.0
"""Rate limit written for a joint, rad/s: URDF asks for one, airframe files have none."""
STRONGEST = 1e3
"""Effort limit written for a joint, N m, for the same reason."""


def render(vehicle: DescribedVehicle, certificate: Certificate | None) -> Rendering:
    """The model."""
    airframe, sheet = require_airframe(vehicle, "urdf")
    notes = describe_deviations(airframe, sheet)
    parts = [_link(BODY, airframe.body.mass, airframe.body.com, airframe.body.inertia)]
    for i in airframe.link_order():
        link = airframe.links[i]
        parts.append(_link(link.name, link.mass, link.com, link.inertia))
        joint = link.joint
        if joint.fixed or joint.axis is None:
            parts.append(_joint(link.name, "fixed", link.parent, joint.origin))
        else:
            low, high = joint.limits or (-np.pi, np.pi)
            limit = f'<limit lower="{low!r}" upper="{high!r}" effort="{STRONGEST:g}" velocity="{FASTEST:g}"/>'
            parts.append(_joint(link.name, "revolute", link.parent, joint.origin, joint.axis, limit))
    for rotor in airframe.rotors:
        parts.append(xml_comments([_thrust(rotor)]).rstrip())
        parts.append(_link(rotor.name, rotor.mass, rotor.com, rotor.inertia))
        kind = "continuous" if is_spinning_body(rotor) else "fixed"
        axis = spin_axis(rotor) if is_spinning_body(rotor) else None
        parts.append(_joint(rotor.name, kind, rotor.link, rotor.position, axis))
    for sensor in all_sensors(airframe):
        name = f"{sensor.name}_frame"
        parts.append(_link(name, 0.0, (0.0, 0.0, 0.0), (0.0,) * 6))
        wxyz = getattr(sensor, "wxyz", (1.0, 0.0, 0.0, 0.0))
        parts.append(_joint(name, "fixed", sensor.link, sensor.position, rpy=euler_from_wxyz(wxyz)))
    inner = "\n".join("  " + line for part in parts for line in part.splitlines())
    head = xml_comments([*make_heading(vehicle, "URDF model", certificate), *notes])
    text = f'<?xml version="1.0"?>\n{head}<robot name={xml_attribute(airframe.name)}>\n{inner}\n</robot>\n'
    return Rendering((Document(".urdf", text),), tuple(notes))


def _link(name: str, mass: float, com: tuple[float, float, float], inertia: Six | tuple[float, ...]) -> str:
    if mass == 0.0:
        return f"<link name={xml_attribute(name)}/>"
    xx, yy, zz, xy, xz, yz = (repr(float(value)) for value in inertia)
    return (
        f"<link name={xml_attribute(name)}>\n  <inertial>\n"
        f'    <origin xyz="{format_numbers(com)}" rpy="0 0 0"/>\n    <mass value="{mass!r}"/>\n'
        f'    <inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="{xy}" ixz="{xz}" iyz="{yz}"/>\n'
        "  </inertial>\n</link>"
    )


def _joint(
    name: str,
    kind: str,
    parent: str,
    origin: tuple[float, float, float],
    axis: tuple[float, float, float] | None = None,
    limit: str = "",
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> str:
    turning = f'\n  <axis xyz="{format_numbers(axis)}"/>' if axis is not None else ""
    bound = f"\n  {limit}" if limit else ""
    return (
        f'<joint name={xml_attribute(name + "_joint")} type="{kind}">\n'
        f"  <parent link={xml_attribute(parent)}/>\n  <child link={xml_attribute(name)}/>\n"
        f'  <origin xyz="{format_numbers(origin)}" rpy="{format_numbers(rpy)}"/>{turning}{bound}\n</joint>'
    )


def _thrust(rotor: Rotor) -> str:
    return (
        f"{rotor.name}: thrust {rotor.thrust_coefficient:.6g} N/(rad/s)^2 along {format_numbers(rotor.axis)}, "
        f"{rotor.spin}, torque ratio {rotor.torque_ratio:.6g} m"
    )
