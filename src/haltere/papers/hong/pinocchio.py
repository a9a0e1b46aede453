"""An airframe in Pinocchio, with the air's wrenches: the independent engine that studies and benchmarks compare with.

Everything here is NumPy and Pinocchio; nothing of `haltere.dynamics` is used. The base is a free-flyer, whose
velocity is the twist of this package (linear first, body axes). Joints are added depth first: in any other order
Pinocchio's mass matrix and derivatives are silently wrong. A rotor is a revolute joint about its spin direction, a
fixed link is merged into what carries it. With the accelerations a_J of all joints and rotors given,

    M_BB a_B = -rnea(q, v, (0, a_J), f)_B,   t_J = rnea(q, v, (a_B, a_J), f)_J                        (1)

Orders: Pinocchio numbers joints as the tree is walked; `Peer.velocity_index` holds the index there of each entry of
(twist, joints, rotors), where joints are the moving links in `Airframe.link_order` and rotors stand as in the file.

Air: Pinocchio knows no aerodynamics, so the wrench of the air on rotors, wings and drag bodies is written here in
plain NumPy, from the airframe file's conventions. Directions come from vectors where the package uses angles: with
flow velocity v of a wing frame, V = |v| and h = |(v_x, 0, v_z)|,

    drag along -v/V,   lift along l = (-v_z, 0, v_x) / h,   side force along l x v/V                          (2)

([Hong2021] eqs. (54) to (57), corrected: lift and side force do no work.)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from haltere.airframe import Airframe, Body, Coefficients, Drag, Link, Rotor, Wing
from haltere.foundation import HaltereError
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
    """+1 where the rotor rotates right-handed about its thrust axis."""
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


def carrier_wrench(body: Body | Link, carrier: Carrier, density: float) -> tuple[Floats, Floats]:
    """Force and moment (3,) of wing and drag on the body or a link, at its origin, in its axes."""
    force, moment = np.zeros(3), np.zeros(3)
    if body.wing is not None:
        f, m = _wing(body.wing, carrier, density)
        force, moment = force + f, moment + m
    if body.drag is not None:
        f, m = _drag(body.drag, carrier)
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


class PeerError(HaltereError):
    """The engine to compare with is not there."""


def import_pinocchio() -> Any:
    """The module, or an error that says how to get it."""
    try:
        import pinocchio as pin  # noqa: PLC0415
    except ImportError:
        msg = "got no module 'pinocchio', expected the engine to compare with; try: pip install haltere[oracles]"
        raise PeerError(msg) from None
    return pin


@dataclass(frozen=True)
class Instant:
    """State, drive and surroundings at one instant, in NumPy numbers and in this package's order.

    Position and wxyz are of the body in the world; `twist` (6,) is linear first in body axes; joint arrays are (J,),
    rotor arrays (R,), in rad, rad/s, rad/s2; gravity and wind are world vectors, air density is in kg/m3.
    """

    position: Floats
    wxyz: Floats
    twist: Floats
    joint_angles: Floats
    joint_rates: Floats
    joint_accelerations: Floats
    rotor_angles: Floats
    rotor_rates: Floats
    rotor_accelerations: Floats
    gravity: Floats
    wind: Floats
    air_density: float


@dataclass(frozen=True)
class PeerMotion:
    """What Pinocchio finds: derivative of the twist (6,), torques of joints (J,) and rotors (R,)."""

    acceleration: Floats
    joint_torques: Floats
    rotor_torques: Floats


@dataclass(frozen=True)
class PartMotion:
    """A moving link or rotor seen from the body frame; every vector (6,) is linear first, about the body origin.

    `wrench` is what the part gets through its joint from its parent, `air` what the air does to it.
    """

    screw: Floats
    twist: Floats
    acceleration: Floats
    wrench: Floats
    air: Floats


class Peer:
    """One airframe as a Pinocchio model with its data; `joints` names Pinocchio's joint of every part."""

    def __init__(self, airframe: Airframe) -> None:
        """Walk the tree depth first."""
        self.pin = import_pinocchio()
        self.airframe = airframe
        self.model = self.pin.Model()
        self.joints: dict[str, int] = {}
        self.placements: dict[str, Any] = {}
        identity = self.pin.SE3.Identity()
        root = self.model.addJoint(0, self.pin.JointModelFreeFlyer(), identity, "body")
        self._add("body", airframe.body, root, identity)
        self.data = self.model.createData()
        links = [airframe.links[i] for i in airframe.link_order()]
        moving = [link.name for link in links if not link.joint.fixed]
        self.joint_count, self.part_names = len(moving), (*moving, *(rotor.name for rotor in airframe.rotors))
        joints = [self.model.joints[self.joints[name]] for name in self.part_names]
        self.velocity_index = np.array([*range(6), *(joint.idx_v for joint in joints)], dtype=int)
        self.angle_index = np.array([joint.idx_q for joint in joints], dtype=int)

    def _add(self, name: str, body: Body | Link | Rotor, joint: int, placement: Any) -> None:
        pin = self.pin
        self.joints[name], self.placements[name] = joint, placement
        if body.mass > 0.0:
            xx, yy, zz, xy, xz, yz = body.inertia
            tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            self.model.appendBodyToJoint(joint, pin.Inertia(body.mass, np.array(body.com), tensor), placement)
        for link in self.airframe.links:
            if link.parent == name:
                at = placement * pin.SE3(np.eye(3), np.array(link.joint.origin))
                if link.joint.fixed or link.joint.axis is None:
                    self._add(link.name, link, joint, at)
                else:
                    self._hinge(link.name, link, joint, at, unit(link.joint.axis))
        for rotor in self.airframe.rotors:
            if rotor.link == name:
                at = placement * pin.SE3(np.eye(3), np.array(rotor.position))
                self._hinge(rotor.name, rotor, joint, at, spin_axis(rotor))

    def _hinge(self, name: str, body: Link | Rotor, parent: int, at: Any, axis: Floats) -> None:
        joint = self.model.addJoint(parent, self.pin.JointModelRevoluteUnaligned(axis), at, name)
        self._add(name, body, joint, self.pin.SE3.Identity())

    def configuration(self, instant: Instant) -> Floats:
        """(nq,) configuration in Pinocchio's order; its quaternion has the scalar last."""
        q = np.zeros(self.model.nq)
        q[:3], q[3:7] = instant.position, np.roll(instant.wxyz, -1)
        q[self.angle_index] = np.concatenate([instant.joint_angles, instant.rotor_angles])
        return q

    def velocity(self, instant: Instant) -> Floats:
        """(nv,) velocity in Pinocchio's order."""
        return self._scatter(instant.twist, instant.joint_rates, instant.rotor_rates)

    def acceleration(self, instant: Instant, base: Floats) -> Floats:
        """(nv,) acceleration in Pinocchio's order, with `base` (6,) for the body."""
        return self._scatter(base, instant.joint_accelerations, instant.rotor_accelerations)

    def _scatter(self, base: Floats, joints: Floats, rotors: Floats) -> Floats:
        values = np.zeros(self.model.nv)
        values[self.velocity_index] = np.concatenate([base, joints, rotors])
        return values

    def air_wrenches(self, instant: Instant) -> Any:
        """The air's wrench on every joint's body, in its frame, as Pinocchio's functions take it.

        Runs Pinocchio's forward kinematics on the way.
        """
        return self._vector(self._air(instant))

    def _air(self, instant: Instant) -> list[Any]:
        pin, airframe = self.pin, self.airframe
        pin.forwardKinematics(self.model, self.data, self.configuration(instant), self.velocity(instant))
        forces = [pin.Force.Zero() for _ in range(self.model.njoints)]
        rates = dict(zip((r.name for r in airframe.rotors), instant.rotor_rates, strict=True))
        carriers: list[tuple[str, Body | Link]] = [
            ("body", airframe.body),
            *((link.name, link) for link in airframe.links),
        ]
        for name, part in carriers:
            wrench = carrier_wrench(part, self._carrier(name, instant), instant.air_density)
            forces[self.joints[name]] += self.placements[name].act(pin.Force(*wrench))
        for rotor in airframe.rotors:
            # A rotor's wrench has no preferred direction across its axis, so its spinning frame serves as well.
            wrench = rotor_wrench(rotor, self._carrier(rotor.name, instant), float(rates[rotor.name]))
            forces[self.joints[rotor.name]] += pin.Force(*wrench)
        return forces

    def _carrier(self, name: str, instant: Instant) -> Carrier:
        joint, placement = self.joints[name], self.placements[name]
        twist = placement.actInv(self.data.v[joint])
        wind = (self.data.oMi[joint] * placement).rotation.T @ instant.wind
        return Carrier(twist.linear - wind, twist.angular)

    def _vector(self, forces: list[Any]) -> Any:
        vector = self.pin.StdVec_Force()
        vector.extend(forces)
        return vector

    def forward(self, instant: Instant) -> PeerMotion:
        """Solve (1)."""
        pin, model, data = self.pin, self.model, self.data
        model.gravity.linear = instant.gravity
        forces = self.air_wrenches(instant)
        q, v = self.configuration(instant), self.velocity(instant)
        bias = np.array(pin.rnea(model, data, q, v, self.acceleration(instant, np.zeros(6)), forces)[:6])
        base = np.linalg.solve(self.locked_inertia(instant), -bias)
        torques = np.array(pin.rnea(model, data, q, v, self.acceleration(instant, base), forces))
        ordered = torques[self.velocity_index]
        return PeerMotion(base, ordered[6 : 6 + self.joint_count], ordered[6 + self.joint_count :])

    def locked_inertia(self, instant: Instant) -> Floats:
        """(6, 6) M_BB: inertia of the whole vehicle with its joints held, about the body origin, linear first."""
        upper = np.triu(self.pin.crba(self.model, self.data, self.configuration(instant))[:6, :6])
        return np.asarray(upper + np.triu(upper, 1).T)

    def parts(self, instant: Instant) -> dict[str, PartMotion]:
        """How every moving link and rotor moves, and the wrench through its joint, seen from the body frame."""
        pin, model, data = self.pin, self.model, self.data
        base = self.forward(instant).acceleration
        through = [force.copy() for force in data.f]
        q, v = self.configuration(instant), self.velocity(instant)
        air = self._air(instant)
        pin.forwardKinematics(model, data, q, v, self.acceleration(instant, base))
        pin.computeJointJacobians(model, data, q)
        found = {}
        for name, place in zip(self.part_names, self.velocity_index[6:], strict=True):
            joint = self.joints[name]
            seen = data.oMi[self.joints["body"]].inverse() * data.oMi[joint]
            column = pin.getJointJacobian(model, data, joint, pin.ReferenceFrame.LOCAL)[:, place]
            found[name] = PartMotion(
                screw=seen.act(pin.Motion(column)).vector.copy(),
                twist=seen.act(data.v[joint]).vector.copy(),
                acceleration=seen.act(data.a[joint]).vector.copy(),
                wrench=seen.act(through[joint]).vector.copy(),
                air=seen.act(air[joint]).vector.copy(),
            )
        return found
