"""The wrench of the air on rotors, wings and drag bodies in plain NumPy, written from the airframe file's conventions.

It serves the engines that know no aerodynamics, so it shares no code with `haltere.dynamics`. Directions come from
vectors where the package uses angles: with flow velocity v of a wing frame, V = |v| and h = |(v_x, 0, v_z)|,

    drag along -v/V,   lift along l = (-v_z, 0, v_x) / h,   side force along l x v/V                          (1)

([Hong2021] eqs. (54) to (57), corrected: lift and side force do no work.)
"""

from dataclasses import dataclass

import numpy as np

from haltere.airframe import Body, Coefficients, Drag, Link, Rotor, Wing
from haltere.foundation.numbers import Floats


@dataclass(frozen=True)
class Carrier:
    """Motion of a part's frame against the air, in its own axes: velocity (3,) m/s and angular velocity (3,) rad/s."""

    velocity: Floats
    angular: Floats

    def at(self, position: Floats) -> Floats:
        """(3,) velocity of a point of the part."""
        return self.velocity + np.cross(self.angular, position)


def unit(axis: tuple[float, ...]) -> Floats:
    """(3,) direction of an axis."""
    vector = np.array(axis, dtype=float)
    return vector / float(np.linalg.norm(vector))


def spin_sign(rotor: Rotor) -> float:
    """+1 where the rotor turns right-handed about its thrust axis."""
    return 1.0 if rotor.spin == "ccw" else -1.0


def spin_axis(rotor: Rotor) -> Floats:
    """(3,) axis about which the rotor's angle counts positive."""
    return spin_sign(rotor) * unit(rotor.axis)


def rotor_wrench(rotor: Rotor, carrier: Carrier, rate: float) -> tuple[Floats, Floats]:
    """Force and moment (3,) on a rotor at its centre, in its own axes, at `rate` (rad/s) in its spin direction."""
    axis, speed = unit(rotor.axis), abs(rate)
    along = float(axis @ carrier.velocity)
    across = carrier.velocity - axis * along
    thrust = rotor.thrust_coefficient * rate * speed
    force, moment = thrust * axis, -rotor.torque_ratio * thrust * spin_axis(rotor)
    if rotor.inflow is not None:
        force = force - speed * (rotor.inflow.axial * along * axis + rotor.inflow.hub * across)
        moment = moment - speed * rotor.inflow.moment * spin_sign(rotor) * across
    return force, moment


def carrier_wrench(part: Body | Link, carrier: Carrier, density: float) -> tuple[Floats, Floats]:
    """Force and moment (3,) of wing and drag on the body or a link, at its origin, in its axes."""
    force, moment = np.zeros(3), np.zeros(3)
    if part.wing is not None:
        f, m = _wing(part.wing, carrier, density)
        force, moment = force + f, moment + m
    if part.drag is not None:
        f, m = _drag(part.drag, carrier)
        force, moment = force + f, moment + m
    return force, moment


def _drag(drag: Drag, carrier: Carrier) -> tuple[Floats, Floats]:
    position = np.array(drag.position)
    velocity = carrier.at(position)
    force = -(np.array(drag.linear) + np.array(drag.quadratic) * np.linalg.norm(velocity)) * velocity
    return force, np.cross(position, force) - np.array(drag.angular) * carrier.angular


def _wing(wing: Wing, carrier: Carrier, density: float) -> tuple[Floats, Floats]:
    position, R = np.array(wing.frame.position), rotation(wing.frame.wxyz)
    velocity = R.T @ carrier.at(position)
    speed = float(np.linalg.norm(velocity))
    if speed == 0.0:
        return np.zeros(3), np.zeros(3)
    height = float(np.hypot(velocity[0], velocity[2]))
    angles = float(np.arctan2(-velocity[2], velocity[0])), float(np.arctan2(-velocity[1], height))
    six = coefficients_at(wing.coefficients, *angles)
    axes = np.eye(3)
    if wing.coefficients.kind == "wind":
        along = velocity / speed
        lift = (
            np.array([-velocity[2], 0.0, velocity[0]]) / height if height > 0.0 else np.array([0.0, 0.0, 1.0])
        )
        axes = np.column_stack([along, np.cross(lift, along), lift])
    load = 0.5 * density * wing.area * speed**2
    force = R @ axes @ (load * six[:3] * np.array([-1.0, 1.0, 1.0]))
    moment = R @ axes @ (load * six[3:] * np.array([wing.span, wing.chord, wing.span]))
    return force, moment + np.cross(position, force)


def coefficients_at(coefficients: Coefficients, alpha: float, beta: float) -> Floats:
    """(6,) coefficients of the file at these angles (rad): three of force, then Cl, Cm, Cn."""
    names = ("CA", "CY", "CN") if coefficients.kind == "body" else ("CD", "CC", "CL")
    return np.array([_entry(coefficients, name, alpha, beta) for name in (*names, "Cl", "Cm", "Cn")])


def _entry(coefficients: Coefficients, name: str, alpha: float, beta: float) -> float:
    values = np.asarray(getattr(coefficients, name), dtype=float)
    if values.ndim == 0:
        return float(values)
    if values.ndim == 1:
        return float(np.interp(alpha, np.array(coefficients.alpha), values))
    over_beta = [np.interp(alpha, np.array(coefficients.alpha), column) for column in values.T]
    return float(np.interp(beta, np.array(coefficients.beta), over_beta))


def rotation(wxyz: tuple[float, ...]) -> Floats:
    """(3, 3) matrix of a unit quaternion."""
    w, x, y, z = wxyz
    v = np.array([x, y, z])
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray((w * w - v @ v) * np.eye(3) + 2.0 * np.outer(v, v) + 2.0 * w * cross, np.float64)
