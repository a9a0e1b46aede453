"""A vehicle with an arm of two links: its dynamics with the joints as degrees of freedom, and rotor wash on the links.

Bodies b are the base (with its rotors) and two links; in body axes with the origin's specific force f and the angular
acceleration dw, joint angles t, joint axes a_k at points o_k, and J_bk = a_k x (c_b - o_k), A_bk = a_k for joints k
that carry body b,

    (1)  f_b = f + dw x c_b + w x (w x c_b) + J_b ddt + 2 w x (J_b dt) + n_b      specific force of its centre
    (2)  r_b = dw + A_b ddt + w x (A_b dt),   w_b = w + A_b dt
    (3)  sum_b (dv_b)^T m_b f_b + (dw_b)^T (I_b r_b + w_b x I_b w_b) = Q            for every velocity (Kane)

with n_b the centripetal acceleration of the joints' motion; (3) has 6 + 2 rows. Kane and Levinson, Dynamics: Theory and
Applications (1985), sections 4.9-6.1. Q holds force and torque about the origin, less w x h + dh of the rotors, and the
servo torques; a servo's motor adds its inertia on the diagonal.

Wash: a link below a rotor is pushed down by 1/2 rho C_d A w^2 with w = 2 v_i, twice the induced velocity of hover (the
wake of momentum theory), weighted by exp(-(d / R)^2) over the distance d from the rotor's axis.
"""

import tomllib
from dataclasses import dataclass, replace

import numpy as np
from tests.world.drawings import DENSITY, read_drawing
from tests.world.draws import clipped_normal
from tests.world.rigid import GRAVITY, Motion
from tests.world.vectors import (
    apply,
    cross,
    normalize,
    point_inertia,
    quaternion_of_vector,
    quaternion_rate,
    rotation_matrix,
    symmetric,
)

LINKS = 2


@dataclass(frozen=True)
class Arm:
    """Two links of a batch (N last): joint origins and axis in the parent's frame, mass, com, inertia, drag area."""

    names: tuple[str, str]
    axis: np.ndarray  # (3, N), of both joints
    origin: np.ndarray  # (2, 3, N): of joint 1 in body axes, of joint 2 in the frame of link 1
    mass: np.ndarray  # (2, N)
    com: np.ndarray  # (2, 3, N) in the frame of the link
    inertia: np.ndarray  # (2, 3, 3, N) about the com, in the frame of the link
    reach: np.ndarray  # (3, N): the gripper in the frame of link 2
    drag_area: np.ndarray  # (2, N)

    def with_payload(self, mass, size: float = 0.03) -> "Arm":
        """The arm with balls of `mass` (N) kg in its gripper."""
        total = self.mass[1] + mass
        com = (self.mass[1] * self.com[1] + mass * self.reach) / total
        inertia = self.inertia[1] + point_inertia(self.mass[1], self.com[1] - com)
        inertia = (
            inertia + point_inertia(mass, self.reach - com) + 0.4 * mass * size**2 * np.eye(3)[:, :, None]
        )
        return replace(
            self,
            mass=np.stack([self.mass[0], total]),
            com=np.stack([self.com[0], com]),
            inertia=np.stack([self.inertia[0], inertia]),
        )


@dataclass(frozen=True)
class ArmMotion(Motion):
    """Motion with the joints' angles and rates (2, N)."""

    joints: np.ndarray
    joint_rates: np.ndarray

    def along(self, slope: "ArmMotion", step: float) -> "ArmMotion":  # type: ignore[override]
        mine, theirs = vars(self).values(), vars(slope).values()
        return ArmMotion(*(a + step * b for a, b in zip(mine, theirs, strict=True)))

    def normalized(self) -> "ArmMotion":
        return replace(self, wxyz=normalize(self.wxyz))


def read_arm(text: str):
    """Base drawing (links left out), links as in the file (2), and the servo data of both joints."""
    data = tomllib.loads(text)
    links = data["links"]
    if len(links) != LINKS or links[1]["parent"] != links[0]["name"] or links[0]["parent"] != "body":
        raise ValueError(
            f"{len(links)} links of {data['name']!r}; expected two, one on the other, on the body"
        )
    if links[0]["joint"]["axis"] != links[1]["joint"]["axis"]:
        raise ValueError(f"joint axes of {data['name']!r} differ; expected two parallel ones")
    start = text.index("[[links]]")
    base = read_drawing(text[:start] + text[text.index("[[rotors]]") :])
    return base, links, [link["joint"]["servo"] for link in links]


def draw_arm(rng, links) -> Arm:
    """The true arm of one flight: masses within 2 %, centres of gravity within 1 mm."""
    mass = np.array([link["mass"] for link in links]) * (1 + 0.02 * clipped_normal(rng, LINKS))
    com = np.array([link["com"] for link in links], float) + 0.001 * clipped_normal(rng, (LINKS, 3))
    inertia = np.stack([symmetric(np.array(link["inertia"], float)) for link in links])
    return Arm(
        names=(links[0]["name"], links[1]["name"]),
        axis=np.array(links[0]["joint"]["axis"], float),
        origin=np.array([link["joint"]["origin"] for link in links], float),
        mass=mass,
        com=com,
        inertia=inertia * (mass / [link["mass"] for link in links])[:, None, None],
        reach=2.0 * np.array(links[1]["com"], float),  # the second link's centre is in its middle
        drag_area=np.array([0.0018, 0.0025]) * rng.uniform(0.8, 1.25, LINKS),
    )


def stack_arms(arms: list[Arm]) -> Arm:
    """A batch of arms."""
    names = arms[0].names
    parts = {k: np.stack([getattr(arm, k) for arm in arms], axis=-1) for k in vars(arms[0]) if k != "names"}
    return Arm(names=names, **parts)


def geometry(arm: Arm, joints):
    """Per link: its joints' points o_k, its centre c (3, N), rotation (3, 3, N), all in body axes."""
    first = rotation_matrix(quaternion_of_vector(arm.axis * joints[0]))
    second = rotation_matrix(quaternion_of_vector(arm.axis * (joints[0] + joints[1])))
    shoulder = arm.origin[0]
    elbow = shoulder + apply(first, arm.origin[1])
    centers = (shoulder + apply(first, arm.com[0]), elbow + apply(second, arm.com[1]))
    return (shoulder, elbow), centers, (first, second)


def rotate_inertia(rotation, inertia):
    """R I R^T of (3, 3, N)."""
    half = (rotation[:, :, None] * inertia[None]).sum(axis=1)
    return (half[:, None] * rotation[None]).sum(axis=2)


def solve_arm(
    base, arm: Arm, motor_inertia, rate, joints, joint_rates, force, torque, joint_torque, spin, spin_rate
):
    """Specific force of the origin (3, N), angular acceleration (3, N), joint accelerations (2, N), (3).

    `base` are mass properties without the links; `force` and `torque` about the origin, `spin` and `spin_rate` of the
    rotors (3, N), `joint_torque` (2, N).
    """
    count = rate.shape[1]
    points, centers, rotations = geometry(arm, joints)
    zero = np.zeros((3, count))
    axis = arm.axis
    first, both = axis * joint_rates[0], axis * (joint_rates[0] + joint_rates[1])
    swing = cross(first, cross(first, points[1] - points[0]))
    bodies = [
        (base.mass, base.com, base.inertia, (zero, zero), (zero, zero), zero),
        (
            arm.mass[0], centers[0], rotate_inertia(rotations[0], arm.inertia[0]),
            (cross(axis, centers[0] - points[0]), zero), (axis, zero),
            cross(first, cross(first, centers[0] - points[0])),
        ),
        (
            arm.mass[1], centers[1], rotate_inertia(rotations[1], arm.inertia[1]),
            (cross(axis, centers[1] - points[0]), cross(axis, centers[1] - points[1])), (axis, axis),
            swing + cross(both, cross(both, centers[1] - points[1])),
        ),
    ]  # fmt: skip
    partial, turning, inertias = np.zeros((9, 8, count)), np.zeros((9, 8, count)), np.empty((3, 3, 3, count))
    rest, twist, masses = np.empty((9, count)), np.empty((9, count)), np.empty((9, count))
    for body, (mass, center, inertia, linear, angular, centripetal) in enumerate(bodies):
        rows = slice(3 * body, 3 * body + 3)
        mine, twisting = partial[rows], turning[rows]
        for i in range(3):
            mine[i, i] = 1.0
            twisting[i, 3 + i] = 1.0
        mine[0, 4], mine[0, 5] = center[2], -center[1]
        mine[1, 3], mine[1, 5] = -center[2], center[0]
        mine[2, 3], mine[2, 4] = center[1], -center[0]
        for k in range(LINKS):
            mine[:, 6 + k], twisting[:, 6 + k] = linear[k], angular[k]
        moving = linear[0] * joint_rates[0] + linear[1] * joint_rates[1]
        relative = angular[0] * joint_rates[0] + angular[1] * joint_rates[1]
        rest[rows] = cross(rate, cross(rate, center) + 2 * moving) + centripetal
        whole = rate + relative
        twist[rows] = apply(inertia, cross(rate, relative)) + cross(whole, apply(inertia, whole))
        inertias[body], masses[rows] = inertia, mass
    partial, turning = (np.ascontiguousarray(np.moveaxis(part, -1, 0)) for part in (partial, turning))
    heavy = masses.T[:, :, None] * partial
    turned = np.moveaxis(inertias, -1, 0) @ turning.reshape(count, 3, 3, 8)
    over = turning.transpose(0, 2, 1)
    matrix = partial.transpose(0, 2, 1) @ heavy + over @ turned.reshape(count, 9, 8)
    right = -(heavy.transpose(0, 2, 1) @ rest.T[:, :, None] + over @ twist.T[:, :, None])
    matrix[:, 6, 6] += motor_inertia[0]
    matrix[:, 7, 7] += motor_inertia[1]
    forces = np.concatenate([force, torque - cross(rate, spin) - spin_rate, joint_torque])
    solved = np.linalg.solve(matrix, right + forces.T[:, :, None])[:, :, 0].T
    return solved[:3], solved[3:6], solved[6:]


def wash_on_arm(arm: Arm, vehicle, speed, joints):
    """Force and torque about the origin (3, N) and joint torques (2, N) of the rotors' wash on the links."""
    points, centers, _ = geometry(arm, joints)
    thrust = vehicle.thrust_coefficient * speed * speed
    wake = 2 * thrust / (DENSITY * np.pi * vehicle.radius**2)  # (2 v_i)^2
    force, torque = np.zeros_like(centers[0]), np.zeros_like(centers[0])
    joint_torque = np.zeros((LINKS, speed.shape[1]))
    for i, center in enumerate(centers):
        away = center[:, None] - vehicle.position
        flat = away[0] ** 2 + away[1] ** 2
        pressure = 0.5 * DENSITY * (wake * np.exp(-flat / vehicle.radius**2)).sum(axis=0)
        push = np.zeros_like(center)
        push[2] = -pressure * arm.drag_area[i]
        force = force + push
        torque = torque + cross(center, push)
        for k in range(i + 1):
            joint_torque[k] += (cross(arm.axis, center - points[k]) * push).sum(axis=0)
    return force, torque, joint_torque


def slope_of(motion: ArmMotion, attitude, specific, angular, accelerations) -> ArmMotion:
    """Derivative of the motion."""
    velocity_rate = apply(attitude, specific)
    velocity_rate[2] -= GRAVITY
    return ArmMotion(
        motion.velocity,
        quaternion_rate(motion.wxyz, motion.rate),
        velocity_rate,
        angular,
        motion.joint_rates,
        accelerations,
    )
