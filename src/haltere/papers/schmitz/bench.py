"""The bench of [Schmitz] in simulation: servos as they may be, weights, motions that measure, limits of the arm.

Every run draws its own servos: each loss and each dry friction within 20 % of the file's, each link's mass within
5 %, a phase of the ripple; after calibration each friction number has drifted by 3 % and the voltage by 1 % (standard
deviations). No estimator knows any of it.

The limits of the arm are its `workspace` (Figure 3 of the paper), and what 400 to 450 g, the paper's limit, ask of
its servos.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import from_catalogue
from haltere.dynamics.arm import Arm
from haltere.dynamics.inertia import inertial_parameters
from haltere.dynamics.servo import Servos, friction_levels
from haltere.estimation.payload.record import ArmRecord
from haltere.estimation.payload.signals import arm_rows
from haltere.foundation.constants import GRAVITY
from haltere.foundation.numbers import Numbers
from haltere.papers.tables import PaperRow
from haltere.simulation.arm import ArmDrive, ArmTrace, arm_tracer, at_rest

VEHICLE = "quad-arm"
RATE = 100.0
POSES = ((0.0, 90.0), (45.0, 45.0), (90.0, 0.0))
"""deg, [Schmitz] Section IV-A."""
FRICTION_SPREAD, MASS_SPREAD = 0.2, 0.05
FRICTION_DRIFT, VOLTAGE_DRIFT = 0.03, 0.01
WIDTH, LENGTH = 25, 100
"""Arms and reports of one piece of a simulation."""
AMPLITUDE = 5.0
"""deg, of the measuring sweep."""
FREQUENCIES = (0.5, 0.75)
"""Hz, of the joints' sweeps: unlike, so that one joint cannot be taken for the other."""


@dataclass(frozen=True, eq=False)
class Bench:
    """N arms.

    Attributes:
        servos: their servos at calibration, (N, J) each.
        later: the same after the drift.
        bodies: (N, L, 10) inertial parameters of their links.
        rng: source of what else is drawn.
    """

    servos: Servos
    later: Servos
    bodies: Any
    rng: np.random.Generator = field(repr=False)

    @property
    def runs(self) -> int:
        """N."""
        return int(self.bodies.shape[0])


def draw_arms(
    runs: int,
    seed: int,
    friction_drift: float = FRICTION_DRIFT,
    voltage_drift: float = VOLTAGE_DRIFT,
    exponent: float = 1.0,
) -> Bench:
    """N arms from a seed; with another `exponent` their friction is not proportional to the load."""
    rng = np.random.default_rng(seed)
    nominal = Servos.from_airframe(from_catalogue(VEHICLE))
    joints = nominal.loss_up.shape[0]
    shape = (runs, joints)

    def within(share: float) -> Any:
        return jnp.asarray(rng.uniform(1.0 - share, 1.0 + share, shape))

    wide: Servos = jax.tree.map(lambda x: jnp.broadcast_to(x, shape), nominal)
    first = wide.changed(
        loss_up=within(FRICTION_SPREAD),
        loss_down=within(FRICTION_SPREAD),
        coulomb=within(FRICTION_SPREAD),
        exponent=exponent,
    )
    first = replace(first, phase=jnp.asarray(rng.uniform(0.0, 2.0 * np.pi, shape)))

    def moved() -> Any:
        return jnp.asarray(1.0 + friction_drift * rng.standard_normal(shape))

    supply = jnp.asarray(1.0 + voltage_drift * rng.standard_normal((runs, 1)))
    later = first.changed(loss_up=moved(), loss_down=moved(), coulomb=moved(), voltage=supply)
    own = np.asarray(arm_of_bench().bodies)
    scale = np.ones((runs, own.shape[0], 1))
    scale[:, 1:] = rng.uniform(1.0 - MASS_SPREAD, 1.0 + MASS_SPREAD, (runs, own.shape[0] - 1, 1))
    return Bench(first, later, jnp.asarray(scale * own), rng)


@cache
def arm_of_bench() -> Arm:
    """The catalogue's arm."""
    return Arm.from_airframe(from_catalogue(VEHICLE))


def _shared_but_goal() -> Any:
    """Which axes of a drive are mapped: goals differ from arm to arm, the base's motion does not."""
    none: Any = None
    first: Any = 0
    return ArmDrive(first, none, none, none, none)


@cache
def _trace(period: float) -> Any:
    mapped = jax.vmap(arm_tracer(arm_of_bench(), period), in_axes=(0, 0, 0, _shared_but_goal(), 0))
    return jax.jit(mapped)


def _traced(arms: Any, goals: Numbers, base: tuple[Numbers, ...], rate: float) -> ArmTrace:
    """What N arms report, flown in pieces of equal width and length, so that one compiled function does them all."""
    runs, samples = goals.shape[:2]
    compiled = _trace(1.0 / rate)
    wide = []
    for first in range(0, runs, WIDTH):
        chosen = np.minimum(np.arange(first, first + WIDTH), runs - 1)
        mine = jax.tree.map(lambda x, c=chosen: jnp.asarray(x)[c], arms)
        state = at_rest(jnp.asarray(goals[chosen, 0]))
        long = []
        for begin in range(0, samples, LENGTH):
            at = np.minimum(np.arange(begin, begin + LENGTH), samples - 1)
            drive = ArmDrive(jnp.asarray(goals[chosen][:, at]), *(jnp.asarray(x[at]) for x in base))
            state, found = compiled(*mine, drive, state)
            long.append(jax.tree.map(np.asarray, found))
        wide.append(jax.tree.map(lambda *x: np.concatenate(x, axis=1)[:, :samples], *long))
    whole: ArmTrace = jax.tree.map(lambda *x: np.concatenate(x)[:runs], *wide)
    return whole


def triangle(phase: Numbers) -> Numbers:
    """A wave of period 1 and amplitude 1 that starts at zero, downwards."""
    return np.asarray(2.0 * np.abs(2.0 * ((phase + 0.25) % 1.0) - 1.0) - 1.0)


def sweep_motion(
    time: Numbers,
    start: float,
    amplitude: float = AMPLITUDE,
    frequencies: Sequence[float] = FREQUENCIES,
    end: float = np.inf,
) -> Numbers:
    """(T, J) rad to add to the goals from `start` on: the measuring motion."""
    since = np.clip(time - start, 0.0, end - start)[:, None]
    return np.asarray(np.deg2rad(amplitude) * triangle(since * np.asarray(frequencies)))


def payloads(
    mass: Numbers | float, runs: int, offset: Numbers | None = None, own_inertia: float = 0.0
) -> Any:
    """(N, 10) balls of an own inertia, kg m2, at the gripper plus an offset (N, 3), m, in the last link's frame."""
    arm = arm_of_bench()
    gripper = 2.0 * np.asarray(arm.model.links.com)[arm.link]
    place = np.broadcast_to(gripper, (runs, 3)) + (0.0 if offset is None else offset)
    masses = jnp.broadcast_to(jnp.asarray(mass, float), (runs,))
    spin = jnp.broadcast_to(own_inertia * jnp.eye(3), (runs, 3, 3))
    return jax.vmap(inertial_parameters)(masses, jnp.asarray(place), spin)


def base_at_rest(time: Numbers) -> Numbers:
    """(T, 3) specific force of a level base at rest."""
    return np.tile([0.0, 0.0, GRAVITY], (len(time), 1))


def trace_arms(
    bench: Bench,
    pose: Sequence[float],
    mass: Numbers | float,
    motion: Numbers,
    attached: Numbers,
    *,
    drifted: bool = True,
    force: Numbers | None = None,
    offset: Numbers | None = None,
    own_inertia: float = 0.0,
    pitch: tuple[Numbers, Numbers] | None = None,
    rate: float = RATE,
) -> tuple[ArmRecord, ArmTrace]:
    """What all N servos report, and what was true.

    Args:
        bench: the arms.
        pose: angles in degrees.
        mass: kg, one or (N,).
        motion: (T, J) rad to add to the pose.
        attached: (T,) fraction of the weight that hangs.
        drifted: whether the drift after calibration has happened.
        force: (T, 3) specific force of the base, m/s2; at rest where not given.
        offset: (N, 3) of the centre of mass from the gripper, m.
        own_inertia: of the weight about its centre, kg m2.
        pitch: (T,) rad/s and (T,) rad/s2 with which the base rotates about its y axis.
        rate: reports per second.
    """
    goal = np.deg2rad(np.asarray(pose)) + motion
    felt = base_at_rest(attached) if force is None else force
    turn, turned = np.zeros_like(felt), np.zeros_like(felt)
    if pitch is not None:
        turn[:, 1], turned[:, 1] = pitch
    jitter = bench.rng.uniform(-0.01, 0.01, (bench.runs, 1, goal.shape[-1]))
    goals = goal + jitter
    servos = bench.later if drifted else bench.servos
    arms = (servos, bench.bodies, payloads(mass, bench.runs, offset, own_inertia))
    found = _traced(arms, goals, (felt, turn, turned, attached), rate)
    wide = (bench.runs, *felt.shape)
    record = ArmRecord(
        rate,
        np.asarray(found.angle),
        np.asarray(found.load),
        np.broadcast_to(felt, wide) + 0.02 * bench.rng.standard_normal(wide),
        np.broadcast_to(turn, wide) + 0.002 * bench.rng.standard_normal(wide),
        np.asarray(goals),
    )
    return record, found


HEAVIEST = 0.45
"""kg, [Schmitz] Section IV-A."""
CLEARANCE = 0.0
"""m below the first joint: the gripper stays below the rotors."""


def workspace(step: float = 5.0) -> tuple[Numbers, Numbers]:
    """Poses (P, 2), rad, within the joints' limits whose gripper is below the first joint, and its position (P, 2), m.

    The position is forward and up from the first joint.
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


def torque_fractions(poses: Numbers, mass: float) -> Numbers:
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


def limit_rows() -> list[PaperRow]:
    """Reach, and the servos at the paper's limit."""
    poses, place = workspace()
    lifting = torque_fractions(poses, HEAVIEST)
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
    return [PaperRow(*value) for value in values]
