"""Arm poses for a payload: which ones tell its mass and where its weight acts from the torques of the joints.

A payload of mass m and first moment h about the gripper, in the axes of the link that holds it, is a rigid part of that
link. At rest with the base level the joint torques are linear in it, with the columns Y of `haltere.dynamics.regressor`
for that link and the gripper at p:

    tau = tau_0 + (Y_m + Y_h p) m + Y_h h = tau_0 + Y_q (m, h)                                             (1)

One pose q gives as many equations as joints carry the payload. The information of poses adds up, sum Y_q^T Y_q / s^2
for readings of deviation s, and the best set of K poses of a grid within the joint limits makes the sum of variances
small, with lengths counted in the arm's reach. Poses are blind where their own equations say less than others can.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from os import PathLike
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, Link, load_airframe
from haltere.airframe.errors import closest
from haltere.dynamics import Model, State
from haltere.dynamics.regressor import compute_regressor, regressor_names
from haltere.foundation.arrays import double_precision
from haltere.foundation.numbers import Numbers
from haltere.foundation.tables import TextTable, html_lines, text_lines
from haltere.observability.rank.rational_vehicle import ObservabilityError

NAMES = ("payload.mass", "payload.first_moment.x", "payload.first_moment.y", "payload.first_moment.z")
SIGMA = 0.01
"""Deviation of a joint's torque after averaging, N m: about the dry friction of a small servo ([Schmitz])."""
_MOST_POSES = 700
_STEP = np.deg2rad(15.0)
_VAGUE = 1.0
"""Information before any reading: a payload is of the order of one kg at the arm's reach. It decides between sets that
leave something open, and is small beside the others'."""
_SMALL = 1e-6


@dataclass(frozen=True)
class PoseGrid:
    """The joints that carry a link, and what they feel of a payload in it.

    Attributes:
        link: the link that holds the payload.
        joints: names of the joints that carry it, from the body outwards.
        poses: (Q, J) angles of the grid, rad.
        rows: (Q, J, 4) Y_q of equation (1), in kg and kg m.
        reach: length that makes a first moment of a mass, m.
    """

    link: str
    joints: tuple[str, ...]
    poses: Numbers
    rows: Numbers
    reach: float

    @property
    def scaled(self) -> Numbers:
        """(Q, J, 4) the rows by (m, h / reach)."""
        return np.asarray(self.rows * np.asarray([1.0, *[self.reach] * 3]))


@dataclass(frozen=True)
class ArmPoses:
    """A set of arm poses.

    Attributes:
        angles: (K, J) rad.
        sigma: predicted deviation by name of `NAMES`, kg and kg m; None where the set says nothing.
    """

    angles: Numbers
    sigma: dict[str, float | None]


@dataclass(frozen=True, repr=False)
class ArmPosePlan:
    """Which poses to take.

    Attributes:
        airframe: name of the vehicle.
        arm: the arm.
        torque_sigma: deviation of one torque reading, N m.
        rank: of (m, h) over all poses, of 4.
        unobservable: sentences about what no pose shows.
        plans: the best set of each size from one.
        blind: sentences about poses that tell less than others.
    """

    airframe: str
    arm: PoseGrid
    torque_sigma: float
    rank: int
    unobservable: tuple[str, ...]
    plans: tuple[ArmPoses, ...]
    blind: tuple[str, ...]

    @property
    def sigma(self) -> dict[str, float | None]:
        """Predicted deviation of the largest set by name of `NAMES`, kg and kg m; None where it says nothing."""
        return self.plans[-1].sigma

    def to_dict(self) -> dict[str, Any]:
        """The plan in plain numbers, as `haltere design --for payload --json` prints it."""
        return {
            "airframe": self.airframe,
            "link": self.arm.link,
            "joints": list(self.arm.joints),
            "rank": self.rank,
            "unobservable": list(self.unobservable),
            "blind": list(self.blind),
            "trajectory": [
                {"kind": "poses", "angles": plan.angles.tolist(), "predicted_sigma": plan.sigma}
                for plan in self.plans
            ],
            "predicted_sigma": self.sigma,
        }

    @property
    def sigma_table(self) -> TextTable:
        """The angles and predicted deviations of every set."""
        rows = []
        for plan in self.plans:
            poses = ("(" + ", ".join(f"{a:.0f}" for a in np.rad2deg(pose)) + ")" for pose in plan.angles)
            rows.append((len(plan.angles), "; ".join(poses), *plan.sigma.values()))
        known = f"torques known to {self.torque_sigma:g} N m"
        return TextTable(
            f"Payload on {self.arm.link} from {known}, one sigma in kg and kg m",
            ("poses", f"angles of {', '.join(self.arm.joints)}, deg", "mass", "m x", "m y", "m z"),
            rows,
        )

    @property
    def remarks(self) -> list[str]:
        """What no pose shows, and which poses show less than others, in sentences."""
        return [*self.unobservable, *(f"blind: {sentence}" for sentence in self.blind)]

    def __repr__(self) -> str:
        return text_lines([self.sigma_table, *self.remarks])

    def _repr_html_(self) -> str:
        return self.sigma_table.html() + html_lines(self.remarks)


@double_precision()
def design_arm_poses(
    airframe: Airframe | str | PathLike[str],
    link: str | None = None,
    gripper: Sequence[float] | None = None,
    torque_sigma: float = SIGMA,
    most: int = 3,
) -> ArmPosePlan:
    """The best poses for a payload at the end of an arm.

    Args:
        airframe: the vehicle with its arm, a name of the catalogue, or a file.
        link: that holds the payload; the outermost link of the longest chain of joints if it is not named.
        gripper: (3,) where it holds, in that link's frame, m; by default twice as far out as its centre of mass.
        torque_sigma: deviation of one torque reading, N m.
        most: largest number of poses.

    Raises:
        ObservabilityError: the vehicle has no arm, or a number makes no sense.
    """
    if not (torque_sigma > 0.0 and np.isfinite(torque_sigma)):
        raise ObservabilityError(
            f"got a torque deviation of {torque_sigma:g} N m, expected more than zero; try {SIGMA:g}"
        )
    if most < 1:
        raise ObservabilityError(f"got {most} poses, expected at least one; try 2")
    airframe = load_airframe(airframe)
    arm = grid_of_poses(airframe, link, gripper)
    whole = arm.scaled.reshape(-1, 4)
    _, values, basis = np.linalg.svd(whole)
    rank = int(np.sum(values > _SMALL * values[0]))
    plans = _best_sets(arm, basis[:rank], torque_sigma, most)
    return ArmPosePlan(
        airframe.name, arm, torque_sigma, rank, _unobservable(basis[rank:]), plans, _blind(arm)
    )


@double_precision()
def grid_of_poses(
    airframe: Airframe, link: str | None = None, gripper: Sequence[float] | None = None
) -> PoseGrid:
    """The arm of a vehicle over a grid of poses; arguments as those of `design_arm_poses`."""
    holder = _holder(airframe, link)
    chain = _chain(airframe, holder)
    point = 2.0 * np.asarray(holder.com) if gripper is None else np.asarray(gripper, float)
    if point.shape != (3,) or not np.all(np.isfinite(point)):
        raise ObservabilityError(f"gripper {gripper} is no point; give three finite numbers in m")
    model = Model.from_airframe(airframe)
    moving = [model.topology.link_names[i] for i in model.topology.moving_links]
    places = [moving.index(one.name) for one in chain]
    poses = _grid([one.joint.limits or (-np.pi, np.pi) for one in chain])
    columns = [
        regressor_names(model).index(f"links.{holder.name}.{name}") for name in ("mass", "mx", "my", "mz")
    ]
    rest = State.rest(model)
    still = (jnp.zeros(6), jnp.zeros(model.topology.joints), jnp.zeros(model.topology.rotors))

    def rows(angles: Any) -> Any:
        state = replace(rest, joint_angles=rest.joint_angles.at[jnp.asarray(places)].set(angles))
        return compute_regressor(model, state, *still)[6 + jnp.asarray(places)][:, jnp.asarray(columns)]

    Y = np.array(jax.jit(jax.vmap(rows))(jnp.asarray(poses)))
    Y[:, :, 0] += Y[:, :, 1:] @ point
    outer = [np.linalg.norm(one.joint.origin) for one in chain[1:]]
    reach = float(sum(outer) + np.linalg.norm(point)) or 1.0
    return PoseGrid(holder.name, tuple(one.name for one in chain), poses, Y, reach)


def _holder(airframe: Airframe, link: str | None) -> Link:
    names = [one.name for one in airframe.links]
    if link is not None and link not in names:
        raise ObservabilityError(f"{airframe.name} has no link {link!r}; {closest(link, names)}")
    if link is not None:
        return airframe.links[names.index(link)]
    arms = [one for one in airframe.links if one.wing is None and not _carries(airframe, one.name)]
    best = max(arms, key=lambda one: len(_chain(airframe, one)), default=None)
    if best is None or not _chain(airframe, best):
        raise ObservabilityError(
            f"{airframe.name} has no arm to hold a payload; try quad-arm, or a file with links on joints"
        )
    return best


def _carries(airframe: Airframe, name: str) -> bool:
    return any(one.parent == name for one in airframe.links) or any(r.link == name for r in airframe.rotors)


def _chain(airframe: Airframe, link: Link) -> list[Link]:
    """The links with moving joints from the body to this one."""
    by_name = {one.name: one for one in airframe.links}
    chain: list[Link] = []
    here: Link | None = link
    while here is not None:
        chain = [here, *chain] if not here.joint.fixed else chain
        here = by_name.get(here.parent)
    return chain


def _grid(limits: Sequence[tuple[float, float]]) -> Numbers:
    """(Q, J) angles: multiples of a step within the limits, few enough to try them all."""
    step = _STEP
    while True:
        axes = [np.arange(np.ceil(low / step), np.floor(high / step) + 1.0) * step for low, high in limits]
        if np.prod([len(axis) for axis in axes]) <= _MOST_POSES:
            return np.asarray(list(product(*axes)))
        step *= 1.5


def _best_sets(arm: PoseGrid, visible: Numbers, sigma: float, most: int) -> tuple[ArmPoses, ...]:
    """The best set of each size, counting the directions (r, 4) that some pose shows.

    All pairs are tried; a larger set has the best one added, then exchanges of one pose as long as they help.
    """
    rows = arm.scaled @ visible.T
    matrices = np.einsum("qji,qjk->qik", rows, rows) / sigma**2
    chosen: list[int] = []
    plans = []
    for size in range(1, most + 1):
        begun = [[i] for i in range(len(matrices))] if size == 2 else [chosen]
        chosen = min(
            ([*some, _added(matrices, some)] for some in begun), key=lambda some: _cost(matrices, some)
        )
        chosen = _exchanged(matrices, chosen)
        whole = arm.scaled[chosen].reshape(-1, 4)
        plans.append(ArmPoses(arm.poses[chosen], sigmas(arm, whole.T @ whole / sigma**2)))
    return tuple(plans)


def _exchanged(matrices: Numbers, chosen: list[int]) -> list[int]:
    changed = True
    while changed:
        changed = False
        for place in range(len(chosen)):
            others = chosen[:place] + chosen[place + 1 :]
            better = [*others, _added(matrices, others)]
            if _cost(matrices, better) < _cost(matrices, chosen) * (1.0 - 1e-9):
                chosen, changed = better, True
    return chosen


def _added(matrices: Numbers, others: list[int]) -> int:
    total = matrices + matrices[others].sum(0) + _VAGUE * np.eye(matrices.shape[1])
    return int(np.argmin(np.trace(np.linalg.inv(total), axis1=1, axis2=2)))


def _cost(matrices: Numbers, chosen: list[int]) -> float:
    return float(np.trace(np.linalg.inv(matrices[chosen].sum(0) + _VAGUE * np.eye(matrices.shape[1]))))


def sigmas(arm: PoseGrid, matrix: Numbers) -> dict[str, float | None]:
    """Deviations of `NAMES` from an information (4, 4) about (m, h / reach)."""
    values, basis = np.linalg.eigh(matrix)
    weak = values <= _SMALL**2 * max(values[-1], 1e-300)
    inverse = np.where(weak, 0.0, 1.0 / np.where(weak, 1.0, values))
    found: dict[str, float | None] = {}
    for i, name in enumerate(NAMES):
        blind = np.linalg.norm(basis[i, weak]) > 1e-3
        unit = 1.0 if i == 0 else arm.reach
        found[name] = None if blind else float(unit * np.sqrt(basis[i] ** 2 @ inverse))
    return found


def _unobservable(directions: Numbers) -> tuple[str, ...]:
    """What no pose shows, from an orthonormal basis (k, 4)."""
    sentences = []
    for direction in directions:
        moved = [
            (abs(share), name) for share, name in zip(direction, NAMES, strict=True) if abs(share) > 1e-3
        ]
        words = " and ".join(name for _, name in sorted(moved, reverse=True))
        sentences.append(f"no pose shows {words}" + ("" if len(moved) == 1 else " apart"))
    return tuple(sentences)


def _blind(arm: PoseGrid) -> tuple[str, ...]:
    """Poses without a trace of the mass, and poses whose joints all feel the same."""
    scaled = arm.scaled
    size = np.abs(scaled).max()
    no_mass = np.abs(scaled[:, :, 0]).max(axis=1) < _SMALL * size
    values = np.linalg.svd(scaled, compute_uv=False)
    rank = np.sum(values > _SMALL * size, axis=1)
    same = (rank < rank.max()) & ~no_mass
    return (
        *_grouped(arm, no_mass, "the weight has no lever, the mass does not show"),
        *_grouped(
            arm, same, "the joints feel the same, mass and position cannot be separated in this pose alone"
        ),
    )


def _grouped(arm: PoseGrid, which: Numbers, reason: str) -> list[str]:
    """Sentences: joint values at which all poses are concerned first, then the other poses one by one."""
    sentences, left = [], which.copy()
    for j, joint in enumerate(arm.joints):
        for angle in np.unique(arm.poses[:, j]):
            at = arm.poses[:, j] == angle
            if len(arm.joints) > 1 and np.mean(which[at]) > 0.8:
                sentences.append(f"{joint} at {np.rad2deg(angle):.0f} deg: {reason}")
                left &= ~at
    for pose in arm.poses[left]:
        words = ", ".join(f"{joint} {np.rad2deg(a):.0f}" for joint, a in zip(arm.joints, pose, strict=True))
        sentences.append(f"{words} deg: {reason}")
    return sentences
