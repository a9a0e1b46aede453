"""MJCF: the vehicle for MuJoCo, with an actuator for each rotor whose control is the squared speed.

Inertia is written with principal axes, because MuJoCo diagonalises other forms less exactly. A rotor's site carries
force k n and torque -q k e n per squared speed on its link: the reaction at steady speed. A rotor with inertia is a
body on a hinge beside it; its rate is a state of its own.
"""

import numpy as np

from haltere.airframe import Airframe, Body, Link, Rotor
from haltere.airframe.fields import Six, tensor
from haltere.exporters.document import Certificate, Document, ExportError, Rendering, make_heading
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
from haltere.foundation.constants import GRAVITY
from haltere.foundation.text import xml_attribute
from haltere.identification.described import DescribedVehicle

STEP = 0.001
"""Step of the simulation that the file asks for, s."""


def render(vehicle: DescribedVehicle, certificate: Certificate | None) -> Rendering:
    """The model."""
    airframe, sheet = require_airframe(vehicle, "mjcf")
    notes = describe_deviations(airframe, sheet)
    head = xml_comments([*make_heading(vehicle, "MuJoCo model", certificate), *notes])
    body = _body(airframe, BODY)
    text = (
        f"{head}<mujoco model={xml_attribute(airframe.name)}>\n"
        '  <compiler angle="radian" inertiafromgeom="false" autolimits="true"/>\n'
        f'  <option timestep="{STEP}" integrator="RK4" gravity="0 0 {-GRAVITY!r}" density="0" viscosity="0"/>\n'
        f"  <worldbody>\n{_indented(body, 4)}\n  </worldbody>\n"
        f"  <actuator>\n{_indented([_actuator(r) for r in airframe.rotors], 4)}\n  </actuator>\n</mujoco>\n"
    )
    return Rendering((Document(".mjcf.xml", text),), tuple(notes))


def _indented(lines: list[str], by: int) -> str:
    return "\n".join(" " * by + line for line in lines)


def _body(airframe: Airframe, name: str) -> list[str]:
    """A link, all that hangs on it, and the marks of its rotors and sensors."""
    part: Body | Link = airframe.body
    opening = [f'<body name="{BODY}">', "  <freejoint/>"]
    if name != BODY:
        part = link = airframe.link(name)
        opening = [
            f'<body name={xml_attribute(name)} pos="{format_numbers(link.joint.origin)}">',
            *_hinge(link),
        ]
    lines = [*opening, *_inertial(name, part.mass, part.com, part.inertia)]
    for rotor in airframe.rotors:
        if rotor.link == name:
            lines += [f"  {line}" for line in _rotor(rotor)]
    for sensor in all_sensors(airframe):
        if sensor.link == name:
            quat = format_numbers(getattr(sensor, "wxyz", (1.0, 0.0, 0.0, 0.0)))
            lines.append(
                f'  <site name={xml_attribute(sensor.name)} pos="{format_numbers(sensor.position)}" quat="{quat}"/>'
            )
    for child in airframe.links:
        if child.parent == name:
            lines += [f"  {line}" for line in _body(airframe, child.name)]
    return [*lines, "</body>"]


def _hinge(link: Link) -> list[str]:
    joint = link.joint
    if joint.fixed or joint.axis is None:
        return []
    limits = f' range="{format_numbers(joint.limits)}"' if joint.limits else ""
    return [
        f'  <joint name={xml_attribute(link.name + "_joint")} axis="{format_numbers(joint.axis)}"{limits}/>'
    ]


def _inertial(name: str, mass: float, com: tuple[float, float, float], inertia: Six) -> list[str]:
    if mass == 0.0:
        return []
    moments, axes = np.linalg.eigh(tensor(inertia))
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    if moments[0] < 0.0 and moments[0] < -1e-9 * moments[2]:
        raise ExportError(
            f"{name}: a moment of inertia is negative ({moments[0]:.3g}); check the airframe file"
        )
    moments = np.maximum(moments, 0.0)
    frame = f'pos="{format_numbers(com)}" quat="{format_numbers(_quaternion(axes))}"'
    return [f'  <inertial mass="{mass!r}" {frame} diaginertia="{format_numbers(tuple(moments))}"/>']


def _rotor(rotor: Rotor) -> list[str]:
    mark = [f'<site name={xml_attribute(rotor.name)} pos="{format_numbers(rotor.position)}"/>']
    if rotor.mass == 0.0:
        return mark
    hinge = (
        f'  <joint name={xml_attribute(rotor.name + "_joint")} axis="{format_numbers(spin_axis(rotor))}"/>'
    )
    return [
        *mark,
        f'<body name={xml_attribute(rotor.name)} pos="{format_numbers(rotor.position)}">',
        *([hinge] if is_spinning_body(rotor) else []),
        *_inertial(rotor.name, rotor.mass, rotor.com, rotor.inertia),
        "</body>",
    ]


def _actuator(rotor: Rotor) -> str:
    n, k = np.asarray(rotor.axis), rotor.thrust_coefficient
    e = rotor.spin_sign
    gear = format_numbers((*(k * n), *(-rotor.torque_ratio * k * e * n)))
    most = f' ctrlrange="0 {rotor.speed_limits[1] ** 2!r}"' if rotor.speed_limits else ""
    return f'<general name={xml_attribute(rotor.name)} site={xml_attribute(rotor.name)} gear="{gear}"{most}/>'


def _quaternion(R: np.ndarray) -> tuple[float, ...]:
    """Unit quaternion wxyz of a rotation matrix: the eigenvector of the largest eigenvalue of its 4 by 4 form."""
    (a, b, c), (d, e, f), (g, h, i) = R
    K = np.array(
        [
            [a + e + i, h - f, c - g, d - b],
            [h - f, a - e - i, b + d, c + g],
            [c - g, b + d, e - a - i, f + h],
            [d - b, c + g, f + h, i - a - e],
        ]
    )
    _, vectors = np.linalg.eigh(K)
    q = vectors[:, -1]
    return tuple(float(x) for x in (q if q[0] >= 0.0 else -q))
