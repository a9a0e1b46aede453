"""The dynamics under test, evaluated for a batch of vehicles of one topology and returned in the order of
the file.

Vehicles, states, drives and surroundings are stacked leaf by leaf; each function is compiled once per
topology.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from haltere.airframe import Airframe
from haltere.dynamics import Drive, Environment, Model, State, forward_dynamics, inverse_dynamics

from .pinocchio_oracle import Solution
from .random_state import Draw, moving_names, random_draw, random_torque_given
from .random_vehicle import Features, Vector, VehicleTopology, random_airframe, random_topology

DRAWS = 20
QUICK: Any = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}


@dataclass(frozen=True)
class Batch:
    """Vehicles of one topology, each with a state."""

    topology: VehicleTopology
    airframes: tuple[Airframe, ...]
    draws: tuple[Draw, ...]

    @property
    def joints(self) -> int:
        """Number of moving links."""
        return len(self.topology.moving_links)


def random_batch(
    seed: int,
    features: Features | None = None,
    *,
    draws: int = DRAWS,
    all_torque: bool = False,
    wrenches: bool = True,
    rotor_speed: float = 800.0,
) -> Batch:
    """Return random vehicles of the topology of a seed, with random states, wind and wrenches."""
    topology = random_topology(seed, features)
    given = random_torque_given(topology, seed)
    if all_torque:
        given = (True,) * len(given)
    rng = np.random.default_rng([seed, 3])
    airframes = tuple(random_airframe(topology, rng) for _ in range(draws))
    states = [random_draw(airframe, rng, given, rotor_speed=rotor_speed) for airframe in airframes]
    if not wrenches:
        states = [replace(draw, wrenches=np.zeros_like(draw.wrenches)) for draw in states]
    return Batch(topology, airframes, tuple(states))


def stack(trees: Sequence[Any]) -> Any:
    """Join equal trees leaf by leaf along a new first axis."""
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf, dtype=float) for leaf in leaves]), *trees)


class Order:
    """Between the order of the file and the order of the model."""

    def __init__(self, airframe: Airframe, model: Model) -> None:
        """Compare names; every moving link, rotor and link must occur in both exactly once."""
        joints, rotors = moving_names(airframe), [rotor.name for rotor in airframe.rotors]
        links = ["body", *(link.name for link in airframe.links)]
        topology = model.topology
        assert sorted(topology.joint_names) == sorted(joints)
        assert sorted(topology.rotor_names) == sorted(rotors)
        assert sorted(topology.link_names) == sorted(links)
        self.joints = np.array([joints.index(name) for name in topology.joint_names], dtype=int)
        self.rotors = np.array([rotors.index(name) for name in topology.rotor_names], dtype=int)
        self.links = np.array([links.index(name) for name in topology.link_names], dtype=int)
        self.drives = np.concatenate([self.joints, len(joints) + self.rotors])
        self.coordinates = np.concatenate([np.arange(6), 6 + self.drives])

    def split(self, values: Vector) -> tuple[Vector, Vector]:
        """Return joint and rotor values in the order of the model from (J + R) values in the order of the
        file.
        """
        ordered = values[self.drives]
        return ordered[: len(self.joints)], ordered[len(self.joints) :]

    def to_file(self, values: Any, axis: int = -1) -> Vector:
        """Put (..., 6 + J + R) values into the order of the file; a drive axis has no base and is J + R
        long.
        """
        array = np.asarray(values)
        index = self.coordinates if array.shape[axis] == len(self.coordinates) else self.drives
        return np.take(array, np.argsort(index), axis=axis)


def subject_state(order: Order, draw: Draw) -> State:
    """Return the state of a draw."""
    (joint_angles, rotor_angles), (joint_rates, rotor_rates) = (
        order.split(draw.angles),
        order.split(draw.rates),
    )
    return State(
        position=draw.position,
        wxyz=draw.wxyz,
        twist=draw.twist,
        joint_angles=joint_angles,
        joint_rates=joint_rates,
        rotor_angles=rotor_angles,
        rotor_rates=rotor_rates,
    )


def subject_drive(order: Order, draw: Draw) -> Drive:
    """Return the drive of a draw."""
    joints, rotors = order.split(draw.drive)
    joint_given, rotor_given = order.split(np.array(draw.torque_given, dtype=bool))
    return Drive(
        joints=joints,
        rotors=rotors,
        joint_torque_given=tuple(bool(given) for given in joint_given),
        rotor_torque_given=tuple(bool(given) for given in rotor_given),
    )


def subject_environment(draw: Draw) -> Environment:
    """Return gravity, wind and air of a draw."""
    return Environment(gravity=draw.gravity, wind=draw.wind, air_density=draw.air_density)


@dataclass(frozen=True)
class Arguments:
    """Stacked arguments of a batch, with the order of its model."""

    order: Order
    model: Any
    state: Any
    drive: Any
    environment: Any
    wrenches: Vector
    accelerations: tuple[Vector, Vector, Vector]


def arguments(batch: Batch) -> Arguments:
    """Stack everything that the dynamics takes."""
    models = [Model.from_airframe(airframe) for airframe in batch.airframes]
    order = Order(batch.airframes[0], models[0])
    split = [order.split(draw.accelerations) for draw in batch.draws]
    return Arguments(
        order=order,
        model=stack(models),
        state=stack([subject_state(order, draw) for draw in batch.draws]),
        drive=stack([subject_drive(order, draw) for draw in batch.draws]),
        environment=stack([subject_environment(draw) for draw in batch.draws]),
        wrenches=np.stack([draw.wrenches[order.links] for draw in batch.draws]),
        accelerations=(
            np.stack([draw.acceleration for draw in batch.draws]),
            np.stack([joints for joints, _ in split]),
            np.stack([rotors for _, rotors in split]),
        ),
    )


def compiled(function: Callable[..., Any], *examples: Any) -> Any:
    """Compile a function for a test that runs it a few times: compile time counts, not speed."""
    lowered = jax.jit(function).lower(*examples)
    try:
        return lowered.compile(compiler_options=QUICK)
    except jax.errors.JaxRuntimeError:  # another version of the compiler may not know these options
        return lowered.compile()


def batched(function: Callable[..., Any], *values: Any) -> Any:
    """Compile a function, map it over the first axis of every argument and evaluate it."""
    return compiled(jax.vmap(function), *values)(*values)


@dataclass(frozen=True)
class Outcome:
    """Results of a batch in the order of the file: forward solutions, and generalised forces of the inverse
    problem.
    """

    forward: tuple[Solution, ...]
    inverse: Vector


def evaluate(batch: Batch) -> Outcome:
    """Run forward and inverse dynamics of a batch."""
    given = arguments(batch)

    def both(model: Any, state: Any, drive: Any, environment: Any, wrenches: Any, accelerations: Any) -> Any:
        motion = forward_dynamics(model, state, drive, environment, wrenches)
        return motion, inverse_dynamics(model, state, *accelerations, environment, wrenches)

    motion, forces = batched(
        both, given.model, given.state, given.drive, given.environment, given.wrenches, given.accelerations
    )
    parts = (motion.acceleration, motion.joint_accelerations, motion.rotor_accelerations)
    accelerations = given.order.to_file(np.concatenate(parts, axis=1))
    parts = (np.zeros_like(motion.acceleration), motion.joint_torques, motion.rotor_torques)
    torques = given.order.to_file(np.concatenate(parts, axis=1))
    forward = tuple(Solution(a, tau) for a, tau in zip(accelerations, torques, strict=True))
    return Outcome(forward, given.order.to_file(np.concatenate(forces, axis=1)))


@lru_cache(maxsize=256)
def evaluated(seed: int) -> tuple[Batch, Outcome]:
    """Return the standard batch of a seed and our results, so that several oracles share one compilation."""
    batch = random_batch(seed)
    return batch, evaluate(batch)
