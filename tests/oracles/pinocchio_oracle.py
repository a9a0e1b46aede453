"""The vehicle in Pinocchio: forward and inverse dynamics, regressor and derivatives.

Joints are added depth first: in any other order `crba` and the derivatives are silently wrong. Fixed links
are merged into the body that carries them. A rotor's joint turns about its spin axis; a rotor without
inertia keeps its joint, which is then driven by acceleration. With q = base, moving links, rotors in the
order of the file, U the unknown accelerations (base and torque-driven joints) and K the known ones:

1. M_UU a_U = tau_U - h_U - M_UK a_K, tau = M a + h, with h = rnea(q, v, 0, f_ext).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin

from haltere.airframe import Airframe, Wing

from .loads import LinkMotion, Load, loads, spin_axis, unit, wing_basis
from .random_state import Draw, moving_names
from .random_vehicle import Vector


@dataclass(frozen=True)
class Solution:
    """`acceleration` (6 + J + R): derivative of the twist, then joints and rotors; `torque` alike, zero at
    the base.
    """

    acceleration: Vector
    torque: Vector


@dataclass(frozen=True)
class Sensitivity:
    """Derivatives (6 + J + R, ...) of the accelerations; columns as in `Solution`, of the drive without the
    base.
    """

    d_configuration: Vector
    d_velocity: Vector
    d_drive: Vector


def inertia_matrix(components: tuple[float, ...]) -> Vector:
    """Return the matrix of the six components xx yy zz xy xz yz."""
    xx, yy, zz, xy, xz, yz = components
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


class PinocchioVehicle:
    """An airframe as a Pinocchio model; `order` maps file order to Pinocchio's velocity indices."""

    def __init__(self, airframe: Airframe) -> None:
        """Build the tree depth first."""
        self.airframe = airframe
        self.model = pin.Model()
        self.joint: dict[str, int] = {}
        self.placement: dict[str, pin.SE3] = {}
        root = self.model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")
        self._add("body", airframe.body, root, pin.SE3.Identity())
        self.data = self.model.createData()
        names = moving_names(airframe) + [rotor.name for rotor in airframe.rotors]
        joints = [self.model.joints[self.joint[name]] for name in names]
        self.order = np.array([*range(6), *(joint.idx_v for joint in joints)])
        self._angle_index = [joint.idx_q for joint in joints]

    def _add(self, name: str, part: Any, joint: int, placement: pin.SE3) -> None:
        self.joint[name], self.placement[name] = joint, placement
        if part.mass > 0.0:
            inertia = pin.Inertia(part.mass, np.array(part.com), inertia_matrix(part.inertia))
            self.model.appendBodyToJoint(joint, inertia, placement)
        self.model.addFrame(pin.Frame(name, joint, 0, placement, pin.FrameType.OP_FRAME))
        for link in (link for link in self.airframe.links if link.parent == name):
            origin = placement * pin.SE3(np.eye(3), np.array(link.joint.origin))
            if link.joint.fixed:
                self._add(link.name, link, joint, origin)
            else:
                hinge = pin.JointModelRevoluteUnaligned(unit(link.joint.axis))
                self._add(
                    link.name, link, self.model.addJoint(joint, hinge, origin, link.name), pin.SE3.Identity()
                )
        for rotor in (rotor for rotor in self.airframe.rotors if rotor.link == name):
            origin = placement * pin.SE3(np.eye(3), np.array(rotor.position))
            hinge = pin.JointModelRevoluteUnaligned(spin_axis(rotor))
            self._add(
                rotor.name, rotor, self.model.addJoint(joint, hinge, origin, rotor.name), pin.SE3.Identity()
            )

    def _place(self, draw: Draw) -> tuple[Vector, Vector]:
        """Set gravity, and return Pinocchio's configuration and velocity of a draw."""
        self.model.gravity.linear = draw.gravity
        q = np.zeros(self.model.nq)
        q[:3], q[3:7] = draw.position, np.roll(draw.wxyz, -1)
        q[self._angle_index] = draw.angles
        return q, self._scatter(np.concatenate([draw.twist, draw.rates]))

    def _scatter(self, values: Vector) -> Vector:
        """Turn file order into Pinocchio's order."""
        scattered = np.zeros(self.model.nv)
        scattered[self.order] = values
        return scattered

    def motions(self, draw: Draw) -> dict[str, LinkMotion]:
        """Return the motion of every link and of every rotor."""
        q, v = self._place(draw)
        pin.forwardKinematics(self.model, self.data, q, v)
        found = {}
        for name, joint in self.joint.items():
            pose = self.data.oMi[joint] * self.placement[name]
            twist = self.placement[name].actInv(self.data.v[joint])
            R = pose.rotation
            found[name] = LinkMotion(R, pose.translation.copy(), R @ twist.linear, R @ twist.angular)
        return found

    def _forces(self, found: list[Load]) -> pin.StdVec_Force:
        """Express loads in the frames of the joints; kinematics must have been run."""
        forces = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for load in found:
            joint = self.joint[load.owner]
            at_origin = pin.Force(load.force, load.moment + np.cross(load.point, load.force))
            forces[joint] = forces[joint] + self.data.oMi[joint].actInv(at_origin)
        vector = pin.StdVec_Force()
        vector.extend(forces)
        return vector

    def external_loads(self, draw: Draw, *, air: bool = True) -> list[Load]:
        """Return everything that acts on the vehicle but gravity."""
        return loads(self.airframe, self.motions(draw), draw, air=air)

    def _external(self, draw: Draw, air: bool) -> pin.StdVec_Force:
        return self._forces(self.external_loads(draw, air=air))

    def inverse(self, draw: Draw, acceleration: Vector, *, air: bool = True) -> Vector:
        """Return the generalised force (6 + J + R) that an acceleration in file order needs beside all
        loads.
        """
        forces = self._external(draw, air)
        q, v = self._place(draw)
        return np.array(pin.rnea(self.model, self.data, q, v, self._scatter(acceleration), forces))[
            self.order
        ]

    def _known(self, draw: Draw) -> Vector:
        """Mark the accelerations that the drive prescribes."""
        return np.array([False] * 6 + [not given for given in draw.torque_given])

    def mass_matrix(self, draw: Draw) -> Vector:
        """Return the joint-space inertia in file order."""
        q, _ = self._place(draw)
        upper = np.triu(pin.crba(self.model, self.data, q))
        full = upper + np.triu(upper, 1).T
        return np.asarray(full[np.ix_(self.order, self.order)])

    def forward(self, draw: Draw, *, air: bool = True) -> Solution:
        """Solve equation 1; the torques come from a second pass of `rnea`."""
        known = self._known(draw)
        drive = np.concatenate([np.zeros(6), draw.drive])
        prescribed = np.where(known, drive, 0.0)
        residual = self.inverse(draw, prescribed, air=air)
        M = self.mass_matrix(draw)
        acceleration = prescribed.copy()
        acceleration[~known] = np.linalg.solve(M[np.ix_(~known, ~known)], (drive - residual)[~known])
        return Solution(acceleration, self.inverse(draw, acceleration, air=air))

    def derivatives(self, draw: Draw) -> Sensitivity:
        """Differentiate equation 1 with `computeRNEADerivatives`, or `computeABADerivatives` if all joints
        take torques.

        Rotors, wings and drag are left out; external wrenches stay constant in link axes. Nothing depends
        on the position, and Pinocchio, which works in world axes here, loses digits with the distance from
        the origin: so it is put there.
        """
        draw = replace(draw, position=np.zeros(3))
        known, nv = self._known(draw), self.model.nv
        forces = self._external(draw, air=False)
        q, v = self._place(draw)
        grid = np.ix_(self.order, self.order)
        if not known.any():
            tau = self._scatter(np.concatenate([np.zeros(6), draw.drive]))
            pin.computeABADerivatives(self.model, self.data, q, v, tau, forces)
            Minv = np.triu(self.data.Minv) + np.triu(self.data.Minv, 1).T
            return Sensitivity(self.data.ddq_dq[grid], self.data.ddq_dv[grid], Minv[grid][:, 6:])
        a = self._scatter(self.forward(draw, air=False).acceleration)
        forces = self._external(draw, air=False)
        pin.computeRNEADerivatives(self.model, self.data, q, v, a, forces)
        dq, dv = np.array(self.data.dtau_dq)[grid], np.array(self.data.dtau_dv)[grid]
        M = self.mass_matrix(draw)
        free = ~known
        inverse = np.zeros((nv, nv))
        inverse[np.ix_(free, free)] = np.linalg.inv(M[np.ix_(free, free)])
        d_drive = np.where(known[None, :], np.eye(nv) - inverse @ M, inverse)
        return Sensitivity(-inverse @ dq, -inverse @ dv, d_drive[:, 6:])

    def inertial_regressor(self, draw: Draw, acceleration: Vector) -> dict[str, Vector]:
        """Return the columns (6 + J + R, 10) of each body, link and rotor, in its own frame.

        Movable bodies: `computeJointTorqueRegressor`. Links merged by a fixed joint: J^T times
        `frameBodyRegressor`.
        """
        q, v = self._place(draw)
        a = self._scatter(acceleration)
        whole = np.array(pin.computeJointTorqueRegressor(self.model, self.data, q, v, a))
        columns = {}
        for name, joint in self.joint.items():
            if self.placement[name] == pin.SE3.Identity() and self.model.names[joint] == name:
                block = whole[:, 10 * (joint - 1) : 10 * joint]
            else:
                frame = self.model.getFrameId(name)
                J = pin.computeFrameJacobian(self.model, self.data, q, frame, pin.LOCAL)
                pin.rnea(self.model, self.data, q, v, a)
                block = J.T @ np.array(pin.frameBodyRegressor(self.model, self.data, frame))
            columns[name] = np.array(block)[self.order]
        return columns

    def inertial_parameters(self) -> dict[str, Vector]:
        """Return (m, mx, my, mz, xx, xy, yy, xz, yz, zz) about the frame's origin of each body, link and
        rotor.
        """
        parts = {
            "body": self.airframe.body,
            **{x.name: x for x in (*self.airframe.links, *self.airframe.rotors)},
        }
        return {
            name: np.array(
                pin.Inertia(part.mass, np.array(part.com), inertia_matrix(part.inertia)).toDynamicParameters()
            )
            for name, part in parts.items()
        }

    def load_column(self, draw: Draw, load: Load) -> Vector:
        """Return the generalised force (6 + J + R) that balances one load: -J^T of it."""
        self.motions(draw)
        q, _ = self._place(draw)
        still = np.zeros(self.model.nv)
        forces = self._forces([load])
        with_load = pin.rnea(self.model, self.data, q, still, still, forces).copy()
        return np.asarray(with_load - pin.rnea(self.model, self.data, q, still, still))[self.order]

    @staticmethod
    def wing_rotation(wing: Wing) -> Vector:
        """Return the rotation (3, 3) from wing axes to link axes."""
        return np.asarray(pin.Quaternion(*wing.frame.wxyz).toRotationMatrix())

    def wing_columns(self, draw: Draw, name: str) -> Vector:
        """Return the columns (6 + J + R, 6) of a wing's force and moment coefficients."""
        part = (
            self.airframe.body if name == "body" else next(x for x in self.airframe.links if x.name == name)
        )
        if part.wing is None:
            msg = f"{name} has no wing"
            raise ValueError(msg)
        motion = self.motions(draw)[name]
        R_LA = self.wing_rotation(part.wing)
        offset = np.array(part.wing.frame.position)
        basis, scale = wing_basis(
            part.wing, R_LA.T @ motion.air_velocity(offset, draw.wind), draw.air_density
        )
        columns = []
        for index in range(6):
            direction = motion.rotation @ R_LA @ basis[:, index % 3] * scale[index]
            zero = np.zeros(3)
            force, moment = (direction, zero) if index < 3 else (zero, direction)
            columns.append(self.load_column(draw, Load(name, motion.point(offset), force, moment)))
        return np.stack(columns, axis=1)
