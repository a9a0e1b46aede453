"""Vehicles and random instants of the study, each seen three times: by the paper, by Pinocchio and by this package.

Every case is a catalogue vehicle of [Hong2021] Section 4, some with one thing changed, such as two-blade rotors. All
joint and rotor accelerations are given, as the paper has it. This package's results for all draws of a case come from
one compiled function, which is shared by the cases of equal topology.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.random import Generator

from haltere.airframe import Airframe, from_catalogue
from haltere.dynamics import Drive, Environment, Model, Motion, State, forward_dynamics
from haltere.dynamics.inertia import generalized_inertia
from haltere.dynamics.loads import external_wrenches, linear_parameters, wind_in_body
from haltere.dynamics.solve import (
    gravity_in_body,
    newton_euler,
    spatial_accelerations,
    wrenches_through_joints,
)
from haltere.dynamics.tree import inertias_in_body, kinematics
from haltere.foundation.arrays import Array
from haltere.foundation.numbers import Floats
from haltere.papers.hong.pinocchio import Instant, PartMotion, Peer, PeerMotion, rotation
from haltere.papers.hong.vehicle import HongVehicle

TWO_BLADES = (4.0e-6, 8.8e-5, 9.0e-5, 0.0, 0.0, 0.0)
"""Inertia of a rotor with two blades along x, kg m2: slender, of the same I_zz as the catalogue's disc."""


@dataclass(frozen=True)
class HongCase:
    """A vehicle of the study: catalogue name, change of its entries, and the kind of instants it is looked at."""

    vehicle: str
    change: Callable[[Airframe], Airframe] = lambda airframe: airframe
    both_speeds: bool = False
    from_behind: bool = False


def _rotors(airframe: Airframe, **update: Any) -> Airframe:
    return airframe.model_copy(update={"rotors": tuple(r.model_copy(update=update) for r in airframe.rotors)})


def two_blades(airframe: Airframe) -> Airframe:
    """All rotors with two blades."""
    return _rotors(airframe, inertia=TWO_BLADES)


def unbalanced(airframe: Airframe) -> Airframe:
    """Two-blade rotors whose centre of mass is 2 mm off the axis."""
    return _rotors(airframe, inertia=TWO_BLADES, com=(0.002, 0.0, 0.001))


def massless(airframe: Airframe) -> Airframe:
    """Rotors that weigh nothing."""
    return _rotors(airframe, mass=0.0, inertia=(0.0,) * 6)


def oblong(airframe: Airframe) -> Airframe:
    """A body with I_bx different from I_by."""
    xx, yy, zz, *rest = airframe.body.inertia
    body = airframe.body.model_copy(update={"inertia": (0.7 * xx, 1.2 * yy, zz, *rest)})
    return airframe.model_copy(update={"body": body})


CASES = {
    "quadrotor": HongCase("hong-quadrotor"),
    "quadrotor, both speeds": HongCase("hong-quadrotor", both_speeds=True),
    "quadrotor, two blades": HongCase("hong-quadrotor", two_blades),
    "quadrotor, unbalanced": HongCase("hong-quadrotor", unbalanced),
    "quadrotor, oblong": HongCase("hong-quadrotor", oblong),
    "quadrotor, massless rotors": HongCase("hong-quadrotor", massless),
    "tilt-rotor": HongCase("hong-tilt-rotor"),
    "tilt-rotor, two blades": HongCase("hong-tilt-rotor", two_blades),
    "fixed-wing": HongCase("hong-fixed-wing"),
    "fixed-wing, from behind": HongCase("hong-fixed-wing", from_behind=True),
    "tilt-wing": HongCase("hong-tilt-wing"),
}


@dataclass(frozen=True)
class Ours:
    """This package's results at one instant, linear first about the body origin; details for wingless cases only."""

    acceleration: Floats
    details: "Details | None" = None


@dataclass(frozen=True)
class Details:
    """What rows about joints need; (N, 6) rows are nodes."""

    inertia: Floats
    screws: Floats
    twists: Floats
    accelerations: Floats
    through: Floats
    air: Floats
    torques: Floats


@dataclass(frozen=True)
class Sample:
    """One instant of a case: the paper's vehicle with frames at centres of mass, and with frames anywhere."""

    instant: Instant
    vehicle: HongVehicle
    anywhere: HongVehicle
    reference: PeerMotion
    reference_inertia: Floats
    parts: dict[str, PartMotion]
    ours: Ours
    nodes: dict[str, int]


def draw(airframe: Airframe, rng: Generator, case: HongCase) -> Instant:
    """A random instant."""
    joints, rotors = sum(not link.joint.fixed for link in airframe.links), len(airframe.rotors)
    wxyz = rng.normal(size=4)
    linear = rng.normal(0.0, 6.0, 3)
    if case.from_behind:
        wing = next(link.wing for link in airframe.links if link.wing is not None)
        flow = np.array([-rng.uniform(8.0, 15.0), rng.normal(0.0, 2.0), rng.normal(0.0, 2.0)])
        linear = rotation(wing.frame.wxyz) @ flow
    rates = rng.uniform(200.0, 700.0, rotors)
    if case.both_speeds:
        rates = rates * rng.permutation(np.resize([-1.0, 1.0], rotors))
    return Instant(
        position=rng.uniform(-10.0, 10.0, 3),
        wxyz=wxyz / np.linalg.norm(wxyz),
        twist=np.concatenate([linear, rng.normal(0.0, 3.0, 3)]),
        joint_angles=rng.uniform(-1.0, 1.0, joints),
        joint_rates=rng.normal(0.0, 3.0, joints),
        joint_accelerations=rng.normal(0.0, 30.0, joints),
        rotor_angles=rng.uniform(0.0, 2.0 * np.pi, rotors),
        rotor_rates=rates,
        rotor_accelerations=rng.normal(0.0, 300.0, rotors),
        gravity=np.array([0.0, 0.0, -9.81]),
        wind=rng.normal(0.0, 0.5 if case.from_behind else 4.0, 3),
        air_density=float(rng.uniform(0.9, 1.3)),
    )


def samples(case: HongCase, runs: int, rng: Generator) -> list[Sample]:
    """`runs` random instants of a case, with everybody's results."""
    airframe = case.change(from_catalogue(case.vehicle))
    instants = [draw(airframe, rng, case) for _ in range(runs)]
    peer, model = Peer(airframe), Model.from_airframe(airframe)
    topology = model.topology
    names = (*topology.link_names, *topology.rotor_names)
    nodes = {name: i for i, name in enumerate(names) if name in peer.part_names}
    return [
        Sample(
            instant=instant,
            vehicle=HongVehicle.at_instant(airframe, instant),
            anywhere=HongVehicle.at_instant(airframe, instant, rng),
            reference=peer.forward(instant),
            reference_inertia=peer.locked_inertia(instant),
            parts=peer.parts(instant),
            ours=ours,
            nodes=nodes,
        )
        for instant, ours in zip(instants, our_results(model, instants), strict=True)
    ]


def our_results(model: Model, instants: Sequence[Instant]) -> list[Ours]:
    """This package's results for all instants at once, with details where no wings make compilation slow."""
    columns = {f.name: jnp.asarray(np.stack([getattr(i, f.name) for i in instants])) for f in fields(Instant)}
    if model.wings:
        return [Ours(row) for row in np.asarray(_accelerations(model, columns))]
    acceleration, details = jax.tree.map(np.asarray, _everything(model, columns))
    return [Ours(acceleration[i], Details(*(values[i] for values in details))) for i in range(len(instants))]


def _state(at: dict[str, Any]) -> tuple[State, Environment]:
    state = State(*(at[f.name] for f in fields(State)))
    return state, Environment(at["gravity"], at["wind"], at["air_density"])


def _forward(model: Model, at: dict[str, Any]) -> Motion:
    state, environment = _state(at)
    drive = Drive.accelerations(model, at["joint_accelerations"], at["rotor_accelerations"])
    return forward_dynamics(model, state, drive, environment)


def _detailed(model: Model, at: dict[str, Any]) -> tuple[Array, tuple[Array, ...]]:
    state, environment = _state(at)
    motion = _forward(model, at)
    nodes, gravity = kinematics(model, state), gravity_in_body(model, state, environment)
    parameters = linear_parameters(model, nodes, wind_in_body(model, state, environment))
    air = external_wrenches(model, state, nodes, environment, parameters)
    moving = (motion.acceleration, motion.joint_accelerations, motion.rotor_accelerations)
    falling = spatial_accelerations(model, state, nodes, moving, environment)
    inertias = jax.vmap(generalized_inertia)(inertias_in_body(nodes, parameters.bodies))
    needed = jax.vmap(newton_euler)(inertias, nodes.twists, falling, air)
    torques = jnp.concatenate([motion.joint_torques, motion.rotor_torques])
    through = wrenches_through_joints(model, needed)
    total = jnp.sum(inertias, axis=0)
    return motion.acceleration, (total, nodes.screws, nodes.twists, falling + gravity, through, air, torques)


# Each runs once on a few draws, so the time to compile counts and the time to run does not.
_QUICK = {"xla_backend_optimization_level": 0}
_everything = jax.jit(jax.vmap(_detailed, in_axes=(None, 0)), compiler_options=_QUICK)
_accelerations = jax.jit(
    jax.vmap(lambda model, at: _forward(model, at).acceleration, in_axes=(None, 0)), compiler_options=_QUICK
)
