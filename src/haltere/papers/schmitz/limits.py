"""The arm itself: its workspace (Figure 3 of [Schmitz]) and what 400 to 450 g, the paper's limit, ask of its servos."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import from_catalogue
from haltere.dynamics.arm import Arm
from haltere.dynamics.servo import Servos, friction_levels
from haltere.estimation.payload.signals import arm_rows
from haltere.foundation.constants import GRAVITY
from haltere.foundation.numbers import Numbers
from haltere.papers.schmitz.bench import VEHICLE

HEAVIEST = 0.45
"""kg, [Schmitz] Section IV-A."""
CLEARANCE = 0.0
"""m below the first joint: the gripper stays below the rotors."""


def workspace(step: float = 5.0) -> tuple[Numbers, Numbers]:
    """Poses (P, 2), rad, within the joints' limits whose gripper is below the first joint, and its place (P, 2), m.

    The place is forward and up from the first joint.
    """
    airframe = from_catalogue(VEHICLE)
    first, second = airframe.links[0], airframe.links[1]
    upper, lower = -second.joint.origin[2], -2.0 * second.com[2]
    limits = [link.joint.limits or (-np.pi, np.pi) for link in (first, second)]
    axes = [np.arange(low, high + 1e-9, np.deg2rad(step)) for low, high in limits]
    poses = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    a, b = poses[:, 0], poses.sum(axis=1)
    place = np.stack([upper * np.sin(a) + lower * np.sin(b), -upper * np.cos(a) - lower * np.cos(b)], axis=-1)
    below = place[:, 1] <= -CLEARANCE
    return poses[below], place[below]


def shares(poses: Numbers, mass: float) -> Numbers:
    """(P, J) share of the stall torque that lifting takes with a mass at the gripper, at poses (P, J)."""
    airframe = from_catalogue(VEHICLE)
    arm, servos = Arm.from_airframe(airframe), Servos.from_airframe(airframe)
    still = np.zeros_like(poses)
    base = np.zeros((len(poses), 3))
    rows = arm_rows(arm, (poses, still, still, base + np.asarray([0.0, 0.0, GRAVITY]), base, base))
    gripper = 2.0 * np.asarray(arm.model.links.com)[arm.link]
    own = np.einsum("pjlk,lk->pj", rows, np.asarray(arm.bodies))
    load = own + mass * (rows[:, :, arm.link, :4] @ np.concatenate([[1.0], gripper]))
    lifting = jax.jit(jax.vmap(lambda q, t: friction_levels(servos, q, jnp.abs(t))[0]))
    level = lifting(jnp.asarray(poses), jnp.asarray(load))
    return np.asarray((np.abs(load) + np.asarray(level)) / np.asarray(servos.stall_torque))


def limit_rows() -> list[dict[str, Any]]:
    """Reach, and the servos at the paper's limit."""
    poses, place = workspace()
    lifting = shares(poses, HEAVIEST)
    stiffness = np.asarray(Servos.from_airframe(from_catalogue(VEHICLE)).stiffness)
    stall = np.asarray(Servos.from_airframe(from_catalogue(VEHICLE)).stall_torque)
    sag = np.rad2deg((lifting * stall / stiffness).max(axis=0))
    reach = np.linalg.norm(place, axis=1)
    values = [
        ("reach", "m", reach.max(), 0.1789),
        ("shortest reach in the workspace", "m", reach.min(), None),
        ("450 g, share of the stall torque to lift, joint 1", "1", lifting[:, 0].max(), 1.0),
        ("450 g, share of the stall torque to lift, joint 2", "1", lifting[:, 1].max(), 1.0),
        ("450 g, position error while lifting, joint 1", "deg", sag[0], None),
        ("450 g, position error while lifting, joint 2", "deg", sag[1], None),
    ]
    return [
        {"quantity": name, "unit": unit, "paper": None, "ours": float(value), "bound": bound}
        for name, unit, value, bound in values
    ]
