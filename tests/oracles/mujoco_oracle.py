"""The vehicle in MuJoCo: forward dynamics at an instant, and free flight with its Runge-Kutta integrator.

Every inertia is diagonalised here and given with `quat` and `diaginertia`. A rotor that cannot turn as a
body of its own (no mass, or a point mass on its axis) has no hinge: MuJoCo refuses joints without inertia;
its loads act on its link. A free joint's velocity is linear in world axes and angular in body axes, so with
R = R_WB

1. qvel = (R v, w), qacc = (R (dv + w x v), dw), force on the base (R f, m), m about the body origin.
"""

from dataclasses import replace
from typing import Any
from xml.sax.saxutils import quoteattr

import mujoco
import numpy as np

from haltere.airframe import Airframe

from .loads import LinkMotion, loads, rotation_matrix, spin_axis, unit
from .pinocchio_oracle import Solution, inertia_matrix
from .random_state import Draw, moving_names
from .random_vehicle import Vector

_OPTION = (
    '<compiler inertiafromgeom="false" fusestatic="false" autolimits="false" angle="radian"/>'
    '<option integrator="RK4" timestep="{step}" density="0" viscosity="0">'
    '<flag contact="disable" constraint="disable"/></option>'
    '<default><joint armature="0" damping="0" frictionloss="0" stiffness="0" limited="false"/></default>'
)


def _numbers(values: Any) -> str:
    return " ".join(repr(float(value)) for value in values)


def _inertial(part: Any) -> str:
    if part.mass == 0.0:
        return ""
    moments, axes = np.linalg.eigh(inertia_matrix(part.inertia))
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    wxyz = np.zeros(4)
    mujoco.mju_mat2Quat(wxyz, axes.reshape(-1))
    moments = np.maximum(moments, 0.0)
    place = f'pos="{_numbers(part.com)}" quat="{_numbers(wxyz)}"'
    return f'<inertial mass="{part.mass!r}" {place} diaginertia="{_numbers(moments)}"/>'


def turns(rotor: Any) -> bool:
    """Whether a rotor has inertia about its axis and therefore a hinge."""
    return bool(rotor.mass > 0.0 and any(rotor.inertia))


class MujocoVehicle:
    """An airframe as a MuJoCo model; accelerations of rotors without a hinge are taken as given."""

    def __init__(self, airframe: Airframe, step: float = 1e-4) -> None:
        """Write the MJCF text and compile it."""
        self.airframe = airframe
        tree = self._body("body", airframe.body, "<freejoint/>", (0.0, 0.0, 0.0))
        text = f"<mujoco>{_OPTION.format(step=step)}<worldbody>{tree}</worldbody></mujoco>"
        self.model = mujoco.MjModel.from_xml_string(text)
        self.data = mujoco.MjData(self.model)
        self.names = moving_names(airframe) + [rotor.name for rotor in airframe.rotors]
        hinged = moving_names(airframe) + [rotor.name for rotor in airframe.rotors if turns(rotor)]
        self.hinged = np.array([name in hinged for name in self.names], dtype=bool)
        joints = [self.model.joint(name) for name in hinged]
        self._angles = [int(joint.qposadr[0]) for joint in joints]
        self._rates = [int(joint.dofadr[0]) for joint in joints]

    def _body(self, name: str, part: Any, joint: str, origin: Any) -> str:
        children = ""
        for link in (link for link in self.airframe.links if link.parent == name):
            hinge = "" if link.joint.fixed else self._hinge(link.name, unit(link.joint.axis))
            children += self._body(link.name, link, hinge, link.joint.origin)
        for rotor in (rotor for rotor in self.airframe.rotors if rotor.link == name and rotor.mass > 0.0):
            hinge = self._hinge(rotor.name, spin_axis(rotor)) if turns(rotor) else ""
            children += self._body(rotor.name, rotor, hinge, rotor.position)
        place = f"name={quoteattr(name)} pos={quoteattr(_numbers(origin))}"
        return f"<body {place}>{joint}{_inertial(part)}{children}</body>"

    @staticmethod
    def _hinge(name: str, axis: Vector) -> str:
        return f'<joint name={quoteattr(name)} type="hinge" axis="{_numbers(axis)}"/>'

    def place(self, draw: Draw) -> None:
        """Put a state and gravity into MuJoCo's data."""
        self.model.opt.gravity[:] = draw.gravity
        R = rotation_matrix(draw.wxyz)
        self.data.qpos[:3], self.data.qpos[3:7] = draw.position, draw.wxyz
        self.data.qvel[:3], self.data.qvel[3:6] = R @ draw.twist[:3], draw.twist[3:]
        self.data.qpos[self._angles] = draw.angles[self.hinged]
        self.data.qvel[self._rates] = draw.rates[self.hinged]

    def motions(self) -> dict[str, LinkMotion]:
        """Return the motion of every link; `mj_forward` must have been run."""
        found = {}
        for name in ["body", *(link.name for link in self.airframe.links)]:
            body = self.model.body(name).id
            twist = np.zeros(6)
            mujoco.mj_objectVelocity(self.model, self.data, mujoco.mjtObj.mjOBJ_XBODY, body, twist, 0)
            R, origin = self.data.xmat[body].reshape(3, 3).copy(), self.data.xpos[body].copy()
            found[name] = LinkMotion(R, origin, twist[3:].copy(), twist[:3].copy())
        return found

    def applied(self, draw: Draw, *, air: bool = True) -> tuple[Vector, Vector]:
        """Return J^T of all loads on MuJoCo's coordinates, and the torques (J + R) of rotors without a
        hinge.
        """
        force, torques = np.zeros(self.model.nv), np.zeros(len(self.names))
        rotors = {rotor.name: rotor for rotor in self.airframe.rotors}
        motions = self.motions()
        for load in loads(self.airframe, motions, draw, air=air):
            rotor = rotors.get(load.owner)
            body = self.model.body(load.owner if rotor is None or turns(rotor) else rotor.link).id
            mujoco.mj_applyFT(self.model, self.data, load.force, load.moment, load.point, body, force)
            if rotor is not None and not turns(rotor):
                axis = motions[rotor.link].rotation @ spin_axis(rotor)
                torques[self.names.index(load.owner)] = -axis @ load.moment
        return force, torques

    def _mass_matrix(self) -> Vector:
        """Return the joint-space inertia, column by column."""
        M = np.zeros((self.model.nv, self.model.nv))
        for row, direction in zip(M, np.eye(self.model.nv), strict=True):
            mujoco.mj_mulM(self.model, self.data, row, direction)
        return M

    def forward(self, draw: Draw, *, air: bool = True) -> Solution:
        """Return accelerations and torques; prescribed accelerations are imposed on MuJoCo's mass matrix
        and bias.

        `mj_inverse` at the solution gives the torques.
        """
        self.place(draw)
        mujoco.mj_forward(self.model, self.data)
        applied, torques = self.applied(draw, air=air)
        M = self._mass_matrix()
        given = np.array(draw.torque_given, dtype=bool)[self.hinged]
        known = np.zeros(self.model.nv, dtype=bool)
        known[self._rates] = ~given
        qacc, tau = np.zeros(self.model.nv), np.zeros(self.model.nv)
        qacc[self._rates] = np.where(given, 0.0, draw.drive[self.hinged])
        tau[self._rates] = np.where(given, draw.drive[self.hinged], 0.0)
        rest = (tau + applied - self.data.qfrc_bias - M @ qacc)[~known]
        qacc[~known] = np.linalg.solve(M[np.ix_(~known, ~known)], rest)
        self.data.qacc[:] = qacc
        mujoco.mj_inverse(self.model, self.data)
        needed = self.data.qfrc_inverse - applied
        torques[self.hinged] = needed[self._rates]
        accelerations = draw.drive.copy()
        accelerations[self.hinged] = qacc[self._rates]
        R = rotation_matrix(draw.wxyz)
        linear = R.T @ qacc[:3] - np.cross(draw.twist[3:], draw.twist[:3])
        base = np.concatenate([R.T @ needed[:3], needed[3:6]])
        return Solution(np.concatenate([linear, qacc[3:6], accelerations]), np.concatenate([base, torques]))

    def fly(self, draw: Draw, duration: float, force: Vector, moment: Vector) -> Draw:
        """Fly with constant torques and a constant force and moment in world axes on the body; return the
        last state.

        The force acts at the com of the body (without its links); all rotors must have hinges. There is no
        air.
        """
        self.place(draw)
        self.data.time = 0.0
        self.data.qfrc_applied[self._rates] = draw.drive
        self.data.xfrc_applied[self.model.body("body").id] = np.concatenate([force, moment])
        mujoco.mj_step(self.model, self.data, nstep=round(duration / self.model.opt.timestep))
        return self._read(draw)

    def fly_in_air(self, draw: Draw, duration: float) -> Draw:
        """Fly with constant torques and every load of the draw, renewed at each stage; return the last
        state.
        """

        def control(_: Any, data: Any) -> None:
            rates = draw.rates.copy()
            rates[self.hinged] = data.qvel[self._rates]
            data.qfrc_applied[:] = self.applied(replace(draw, rates=rates))[0]
            data.qfrc_applied[self._rates] += draw.drive

        self.place(draw)
        self.data.time = 0.0
        mujoco.set_mjcb_control(control)
        try:
            mujoco.mj_step(self.model, self.data, nstep=round(duration / self.model.opt.timestep))
        finally:
            mujoco.set_mjcb_control(None)
        return self._read(draw)

    def _read(self, draw: Draw) -> Draw:
        wxyz = self.data.qpos[3:7] / np.linalg.norm(self.data.qpos[3:7])
        twist = np.concatenate([rotation_matrix(wxyz).T @ self.data.qvel[:3], self.data.qvel[3:6]])
        return replace(
            draw,
            position=self.data.qpos[:3].copy(),
            wxyz=wxyz,
            twist=twist,
            angles=self.data.qpos[self._angles].copy(),
            rates=self.data.qvel[self._rates].copy(),
        )
