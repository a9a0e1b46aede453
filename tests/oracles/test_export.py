"""URDF in Pinocchio and MJCF in MuJoCo fall and turn as our own dynamics do, to 1e-9."""

from typing import Any

import jax.numpy as jnp
import mujoco
import numpy as np
import pinocchio as pin
import pytest

from haltere.airframe import Airframe, from_catalogue
from haltere.dynamics import Drive, Environment, Model, State, forward_dynamics
from haltere.exporters import render
from haltere.exporters.tree import is_spinning_body
from haltere.identification.described import DescribedVehicle

from .loads import rotation_matrix

VEHICLES = ("indiflight-3inch", "x500", "hexa-tilted", "hong-tilt-wing", "quad-arm")
TOLERANCE = 1e-9
GRAVITY = np.array([0.0, 0.0, -9.81])


def in_vacuum(name: str) -> Airframe:
    """A catalogue vehicle without what URDF and MJCF cannot say, its centre of mass moved and its inertia turned."""
    airframe = from_catalogue(name)
    xx, yy, zz, *_ = airframe.body.inertia
    body = {"com": (0.004, -0.006, 0.003), "inertia": (xx, yy, zz, 0.05 * xx, -0.03 * xx, 0.02 * yy)}
    bare: dict[str, Any] = {"wing": None, "drag": None}
    return airframe.model_copy(
        update={
            "body": airframe.body.model_copy(update={**bare, **body}),
            "links": tuple(link.model_copy(update=bare) for link in airframe.links),
            "rotors": tuple(rotor.model_copy(update={"inflow": None}) for rotor in airframe.rotors),
        }
    )


class Case:
    """A random motion, and how we say that it goes on."""

    def __init__(self, name: str, seed: int) -> None:
        draw = np.random.default_rng(seed)
        self.airframe = in_vacuum(name)
        self.model = Model.from_airframe(self.airframe)
        topology = self.model.topology
        quaternion = draw.standard_normal(4)
        self.wxyz = quaternion / np.linalg.norm(quaternion)
        self.twist = draw.standard_normal(6)
        self.joints = 0.3 * draw.standard_normal((2, topology.joints))
        self.joint_names = topology.joint_names
        self.hinged = np.array([is_spinning_body(rotor) for rotor in self.airframe.rotors])
        self.rates = draw.uniform(200.0, 500.0, topology.rotors)
        self.squares = self.rates**2
        self.wrench = 0.1 * draw.standard_normal(6)

    def ours(self, *, thrust: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Derivative of the twist, joint and rotor accelerations, under `wrench` on the body."""
        coefficients = np.array([r.thrust_coefficient for r in self.airframe.rotors])
        ratios = np.array([r.torque_ratio for r in self.airframe.rotors])
        airframe = self.airframe
        if not thrust:
            still = tuple(r.model_copy(update={"thrust_coefficient": 0.0}) for r in airframe.rotors)
            airframe = airframe.model_copy(update={"rotors": still})
        model = Model.from_airframe(airframe)
        state = State(
            jnp.zeros(3),
            jnp.asarray(self.wxyz),
            jnp.asarray(self.twist),
            jnp.asarray(self.joints[0]),
            jnp.asarray(self.joints[1]),
            jnp.zeros(len(self.rates)),
            jnp.asarray(self.rates),
        )
        torques = np.where(self.hinged, ratios * coefficients * self.squares * thrust, 0.0)
        drive = Drive(
            jnp.zeros(len(self.joint_names)),
            jnp.asarray(torques),
            (True,) * len(self.joint_names),
            tuple(bool(x) for x in self.hinged),
        )
        wrenches = jnp.zeros((model.topology.links, 6)).at[0].set(jnp.asarray(self.wrench))
        motion = forward_dynamics(model, state, drive, Environment(tuple(GRAVITY)), wrenches)
        return tuple(
            np.asarray(x)
            for x in (motion.acceleration, motion.joint_accelerations, motion.rotor_accelerations)
        )

    def compare(self, theirs: tuple[np.ndarray, np.ndarray, np.ndarray], *, thrust: bool) -> None:
        for mine, other, chosen in zip(
            self.ours(thrust=thrust), theirs, (None, None, self.hinged), strict=True
        ):
            expected = mine if chosen is None else mine[chosen]
            np.testing.assert_allclose(
                other, expected, rtol=TOLERANCE, atol=TOLERANCE * max(1.0, np.abs(mine).max(initial=0.0))
            )


@pytest.mark.parametrize("name", VEHICLES)
def test_urdf_falls_and_turns_as_we_do(name):
    case = Case(name, 3)
    text = render(DescribedVehicle.from_airframe(case.airframe), "urdf").documents[0].text
    model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
    data = model.createData()
    q, v = pin.neutral(model), np.zeros(model.nv)
    q[3:7], v[:6] = np.roll(case.wxyz, -1), case.twist
    places = {}
    for joint_name, angle, rate in zip(case.joint_names, *case.joints, strict=True):
        joint = model.joints[model.getJointId(f"{joint_name}_joint")]
        q[joint.idx_q], v[joint.idx_v] = angle, rate
        places[joint_name] = joint.idx_v
    for rotor, rate in zip(case.airframe.rotors, case.rates, strict=True):
        if is_spinning_body(rotor):
            joint = model.joints[model.getJointId(f"{rotor.name}_joint")]
            v[joint.idx_v] = rate
            places[rotor.name] = joint.idx_v
    tau = np.zeros(model.nv)
    tau[:6] = case.wrench
    model.gravity.linear = GRAVITY
    a = pin.aba(model, data, q, v, tau)
    joints = np.array([a[places[n]] for n in case.joint_names])
    rotors = np.array([a[places[r.name]] for r in case.airframe.rotors if is_spinning_body(r)])
    case.compare((a[:6], joints, rotors), thrust=False)


@pytest.mark.parametrize("name", VEHICLES)
def test_mjcf_falls_turns_and_is_pushed_by_its_rotors_as_we_say(name):
    case = Case(name, 4)
    text = render(DescribedVehicle.from_airframe(case.airframe), "mjcf").documents[0].text
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.actuator_ctrllimited[:] = 0
    data = mujoco.MjData(model)
    R = rotation_matrix(case.wxyz)
    data.qpos[3:7] = case.wxyz
    data.qvel[:3], data.qvel[3:6] = R @ case.twist[:3], case.twist[3:]
    places = {}
    for joint_name, angle, rate in zip(case.joint_names, *case.joints, strict=True):
        joint = model.joint(f"{joint_name}_joint")
        data.qpos[joint.qposadr[0]], data.qvel[joint.dofadr[0]] = angle, rate
        places[joint_name] = int(joint.dofadr[0])
    for i, rotor in enumerate(case.airframe.rotors):
        data.ctrl[model.actuator(rotor.name).id] = case.squares[i]
        if is_spinning_body(rotor):
            places[rotor.name] = int(model.joint(f"{rotor.name}_joint").dofadr[0])
            data.qvel[places[rotor.name]] = case.rates[i]
    body = model.body("body").id
    mujoco.mj_forward(model, data)
    push = np.zeros(model.nv)
    mujoco.mj_applyFT(model, data, R @ case.wrench[:3], R @ case.wrench[3:], np.zeros(3), body, push)
    data.qfrc_applied[:] = push
    mujoco.mj_forward(model, data)
    a = data.qacc
    linear = R.T @ a[:3] - np.cross(case.twist[3:], case.twist[:3])
    joints = np.array([a[places[n]] for n in case.joint_names])
    rotors = np.array([a[places[r.name]] for r in case.airframe.rotors if is_spinning_body(r)])
    case.compare((np.concatenate([linear, a[3:6]]), joints, rotors), thrust=True)


def test_a_result_without_mass_is_refused_by_name():
    from dataclasses import replace as changed

    from haltere.exporters import ExportError
    from haltere.identification.parameters import Parameter
    from haltere.identification.result import Identification

    airframe = from_catalogue("x500")
    mass = Parameter(
        "mass", 2.0, 0.5, (1.0, 3.0), "kg", "combination", ("rotors.front.thrust_coefficient",), "weigh it"
    )
    result = Identification("flight.ulg", 30.0, "batch", (mass,), airframe)
    for target in ("urdf", "mjcf"):
        with pytest.raises(ExportError, match=f"not enough is known for {target}: mass"):
            render(DescribedVehicle.from_result(result), target)
        with pytest.raises(ExportError, match="ratios only"):
            render(
                DescribedVehicle.from_result(
                    changed(result, airframe=None, parameters=(changed(mass, name="rotors.m1.x"),))
                ),
                target,
            )
