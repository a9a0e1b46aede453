"""Wrenches of rotors, wings, drag and the outside, written from the conventions of the airframe file alone.

Kinematics come from the engine that asks, so nothing here knows how the tree is solved. With v the velocity
of a point relative to the air, in link axes, n the unit thrust axis, s = +1 (ccw) or -1 (cw), w the rotor's
rate:

1. rotor: force n (k_f w|w| - axial |w| (v.n)) - hub |w| v_t, moment -s n k_f torque_ratio w|w| - s moment
   |w| v_t, with v_t = v - n (v.n), at the rotor's centre, on the rotor.
2. wing, in wing axes: V = |v|, alpha = atan2(-v_z, v_x), beta = asin(-v_y / V), wrench (rho/2) S V^2 C;
   body axes: force (-CA, CY, CN), moment (Cl b, Cm c, Cn b); wind axes: force (-CD, CC, CL) and the same
   moments, turned into wing axes by Rot(y, alpha) Rot(z, -beta). Zero at V = 0. Tables are linear between
   points, constant outside.
3. drag: F_i = -(linear_i + quadratic_i |v|) v_i, moment -angular_i w_i, at its position.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from haltere.airframe import Airframe

from .random_state import Draw
from .random_vehicle import FORCE_NAMES, MOMENT_NAMES, Vector


@dataclass(frozen=True)
class LinkMotion:
    """Rotation link to world (3, 3), origin (3), velocity of the origin (3) and angular velocity (3) in
    world axes.
    """

    rotation: Vector
    origin: Vector
    velocity: Vector
    angular: Vector

    def point(self, offset: Vector) -> Vector:
        """Return the world position of a point given in link axes."""
        return self.origin + self.rotation @ offset

    def air_velocity(self, offset: Vector, wind: Vector) -> Vector:
        """Return the velocity of a point of the link relative to the air, in link axes."""
        lever = self.rotation @ offset
        return np.asarray(self.rotation.T @ (self.velocity + np.cross(self.angular, lever) - wind))


@dataclass(frozen=True)
class Load:
    """A force and a moment at a point, all in world axes, on a link or a rotor."""

    owner: str
    point: Vector
    force: Vector
    moment: Vector


def unit(axis: Any) -> Vector:
    """Return the direction of a vector."""
    vector = np.array(axis, dtype=float)
    return np.asarray(vector / np.linalg.norm(vector))


def spin_axis(rotor: Any) -> Vector:
    """Return the unit axis about which a rotor turns right-handed when its rate is positive."""
    return unit(rotor.axis) * (1.0 if rotor.spin == "ccw" else -1.0)


def rotation_matrix(wxyz: Any) -> Vector:
    """Return the rotation matrix of a Hamilton quaternion."""
    w, x, y, z = (float(component) for component in wxyz)
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + 2.0 * w * skew + 2.0 * skew @ skew)


def lookup(value: Any, coefficients: Any, alpha: float, beta: float) -> float:
    """Return one coefficient: a constant, linear over alpha, or bilinear over alpha and beta; clamped
    outside.
    """
    table = np.array(0.0 if value is None else value, dtype=float)
    if table.ndim == 2:
        rows = [float(np.interp(beta, coefficients.beta, row)) for row in table]
        return float(np.interp(alpha, coefficients.alpha, rows))
    return float(np.interp(alpha, coefficients.alpha, table)) if table.ndim == 1 else float(table)


def wing_wrench(wing: Any, velocity: Vector, density: float) -> tuple[Vector, Vector]:
    """Return force and moment in wing axes from the velocity relative to the air in wing axes, equation 2."""
    speed = float(np.linalg.norm(velocity))
    if speed == 0.0:
        return np.zeros(3), np.zeros(3)
    basis, scale = wing_basis(wing, velocity, density)
    table = wing.coefficients
    alpha, beta = np.arctan2(-velocity[2], velocity[0]), np.arcsin(-velocity[1] / speed)
    names = FORCE_NAMES[table.kind] + MOMENT_NAMES
    values = np.array([lookup(getattr(table, name), table, alpha, beta) for name in names])
    force, moment = basis @ (scale[:3] * values[:3]), basis @ (scale[3:] * values[3:])
    return force, moment


def wing_basis(wing: Any, velocity: Vector, density: float) -> tuple[Vector, Vector]:
    """Return the rotation from coefficient axes to wing axes, and the factors of the six coefficients."""
    speed = float(np.linalg.norm(velocity))
    pressure = 0.5 * density * wing.area * speed**2
    scale = pressure * np.array([-1.0, 1.0, 1.0, wing.span, wing.chord, wing.span])
    if wing.coefficients.kind == "body":
        return np.eye(3), scale
    alpha, beta = np.arctan2(-velocity[2], velocity[0]), np.arcsin(-velocity[1] / speed)
    half_alpha, half_beta = 0.5 * alpha, -0.5 * beta
    about_y = rotation_matrix((np.cos(half_alpha), 0.0, np.sin(half_alpha), 0.0))
    about_z = rotation_matrix((np.cos(half_beta), 0.0, 0.0, np.sin(half_beta)))
    return np.asarray(about_y @ about_z), scale


def rotor_wrench(rotor: Any, rate: float, velocity: Vector) -> tuple[Vector, Vector]:
    """Return force and moment in link axes from the centre's velocity relative to the air, equation 1."""
    axis, handed = unit(rotor.axis), 1.0 if rotor.spin == "ccw" else -1.0
    square = rate * abs(rate)
    force = rotor.thrust_coefficient * square * axis
    moment = -handed * rotor.thrust_coefficient * rotor.torque_ratio * square * axis
    if rotor.inflow is not None:
        axial = float(velocity @ axis)
        lateral = velocity - axial * axis
        force = force - rotor.inflow.axial * abs(rate) * axial * axis - rotor.inflow.hub * abs(rate) * lateral
        moment = moment - handed * rotor.inflow.moment * abs(rate) * lateral
    return force, moment


def loads(
    airframe: Airframe, motions: Mapping[str, LinkMotion], draw: Draw, *, air: bool = True
) -> list[Load]:
    """Return every load on the vehicle; `air` false leaves only the external wrenches."""
    found = []
    for name, wrench in zip(["body", *(link.name for link in airframe.links)], draw.wrenches, strict=True):
        motion = motions[name]
        found.append(Load(name, motion.origin, motion.rotation @ wrench[:3], motion.rotation @ wrench[3:]))
    if not air:
        return found
    for part, name in [(airframe.body, "body"), *((link, link.name) for link in airframe.links)]:
        motion = motions[name]
        if part.wing is not None:
            offset, R_LA = np.array(part.wing.frame.position), rotation_matrix(part.wing.frame.wxyz)
            velocity = R_LA.T @ motion.air_velocity(offset, draw.wind)
            force, moment = wing_wrench(part.wing, velocity, draw.air_density)
            R_WA = motion.rotation @ R_LA
            found.append(Load(name, motion.point(offset), R_WA @ force, R_WA @ moment))
        if part.drag is not None:
            offset, drag = np.array(part.drag.position), part.drag
            velocity = motion.air_velocity(offset, draw.wind)
            force = -(np.array(drag.linear) + np.array(drag.quadratic) * np.linalg.norm(velocity)) * velocity
            moment = -np.array(drag.angular) * (motion.rotation.T @ motion.angular)
            found.append(Load(name, motion.point(offset), motion.rotation @ force, motion.rotation @ moment))
    for rotor, rate in zip(
        airframe.rotors, draw.rates[len(draw.rates) - len(airframe.rotors) :], strict=True
    ):
        motion, offset = motions[rotor.link], np.array(rotor.position)
        force, moment = rotor_wrench(rotor, float(rate), motion.air_velocity(offset, draw.wind))
        found.append(
            Load(rotor.name, motion.point(offset), motion.rotation @ force, motion.rotation @ moment)
        )
    return found
