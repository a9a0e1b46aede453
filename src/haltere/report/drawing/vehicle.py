"""A vehicle in three dimensions, drawn from its airframe at given joint angles.

Where things stand comes from `haltere.dynamics.rigid.at_rest`; this module adds their looks only. An airframe file
has no shapes: rods stand for what connects two points, the hull for the body, and rotor discs are as large as
their neighbours allow. Wings have their true span and chord.
"""

import itertools
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from haltere.airframe import Airframe, Imu, PoseSensor, PositionSensor
from haltere.dynamics import Model
from haltere.dynamics.rigid import MassProperties, at_rest
from haltere.dynamics.tree import Nodes
from haltere.dynamics.wing import wing_frame
from haltere.flight.rotations import matrix_from_wxyz
from haltere.foundation import HaltereError
from haltere.foundation.arrays import double_precision
from haltere.foundation.numbers import Floats
from haltere.report import theme
from haltere.report.drawing import shapes
from haltere.report.drawing.shapes import Mesh

HULL, ROD, WING = "#8fa0b0", "#5b6771", "#dfe7ee"


@dataclass(frozen=True)
class DrawingPart:
    """Something to draw: what it is, which entry of the airframe it stands for, and its surface in the body frame."""

    kind: str
    name: str
    mesh: Mesh
    colour: str
    opacity: float = 1.0


@dataclass(frozen=True)
class Label:
    """A word at a point (3,) of the body frame, m."""

    text: str
    point: Floats
    colour: str = theme.INK


@dataclass(frozen=True)
class Drawing:
    """A vehicle at one posture, in its body frame."""

    parts: tuple[DrawingPart, ...]
    labels: tuple[Label, ...]
    size: float
    """Distance from the centre of mass to the farthest joint, rotor or wing tip, m."""
    com: Floats
    """(3,) centre of mass, m."""

    def of_kind(self, *kinds: str) -> list[DrawingPart]:
        """The parts of these kinds, in drawing order."""
        return [part for part in self.parts if part.kind in kinds]

    @property
    def lowest(self) -> float:
        """Smallest z of any vertex, m."""
        return min(float(part.mesh.vertices[:, 2].min()) for part in self.parts if len(part.mesh.vertices))


@double_precision()
def draw(
    airframe: Airframe, joint_angles: ArrayLike | None = None, rotor_rates: ArrayLike | None = None
) -> Drawing:
    """The vehicle with its joints at `joint_angles` (J,) rad, by default all zero.

    Thrust arrows are proportional to the thrust at `rotor_rates` (R,) rad/s, by default at equal speed; the largest
    has a fixed length.
    """
    model = _model(airframe)
    angles = _angles(model, joint_angles)
    nodes = _nodes(model, angles)
    com = MassProperties.of(model, angles).com
    size = _size(model, nodes, com)
    rates = np.ones(model.topology.rotors) if rotor_rates is None else np.asarray(rotor_rates, float)
    frame, spine = _frame(model, nodes, size)
    parts = [*frame, _hull(model, spine, size), *_wings(model, nodes)]
    discs, labels = _rotors(airframe, model, nodes, rates, size)
    sensors, names = _sensors(airframe, model, nodes, size)
    parts += (
        discs + sensors + [DrawingPart("com", "centre of mass", shapes.ball(com, 0.035 * size), theme.INK)]
    )
    return Drawing(tuple(parts), (*labels, *names), size, com)


def _angles(model: Model, joint_angles: ArrayLike | None) -> Floats:
    """(J,) rad."""
    angles = np.zeros(model.topology.joints) if joint_angles is None else np.asarray(joint_angles, float)
    if angles.shape != (model.topology.joints,):
        names = ", ".join(model.topology.joint_names) or "none"
        raise HaltereError(
            f"joint angles: got shape {angles.shape}, expected ({model.topology.joints},); "
            f"give one angle in rad for each joint ({names})"
        )
    return angles


@lru_cache(maxsize=4)
def _model(airframe: Airframe) -> Model:
    return Model.from_airframe(airframe)


def _nodes(model: Model, angles: Floats) -> Nodes:
    """Where links and rotors are while nothing moves."""
    *_, positions, rotations = at_rest(model, angles)
    still: Any = np.zeros((len(positions), 6))
    return Nodes(rotations, positions, still, still, still)


def _size(model: Model, nodes: Nodes, com: Floats) -> float:
    points = [np.asarray(nodes.positions), *(wing.vertices for wing in _wing_meshes(model, nodes))]
    farthest = float(np.max(np.linalg.norm(np.concatenate(points) - com, axis=1)))
    return farthest if farthest > 0.0 else 0.1


def _frame(model: Model, nodes: Nodes, size: float) -> tuple[list[DrawingPart], Floats]:
    """Rods from every link to what hangs on it, and the points (k, 3) at which those of the body begin.

    A rod reaches a joint along the joint's axis where it can: the spar of a tilting wing, the arm of a tilting rotor.
    """
    topology = model.topology
    positions, rotations = np.asarray(nodes.positions), np.asarray(nodes.rotations)
    parents = (*topology.link_parents, *topology.rotor_links)
    names = (*topology.link_names, *topology.rotor_names)
    hubs = positions[: topology.links].copy()
    hubs[0] = np.asarray(model.links.com[0])
    axes = np.asarray(model.links.axis)
    parts, spine = [], [hubs[0]]
    for node in range(1, topology.nodes):
        parent = parents[node]
        start, end = hubs[parent], positions[node]
        foot = start
        if node < topology.links and axes[node].any():
            axis = rotations[parent] @ axes[node]
            beside = end + axis * float(axis @ (start - end))
            foot = beside if parent == 0 else start
        if parent == 0:
            spine.append(foot)
        mesh = Mesh.joined([shapes.rod(start, foot, 0.02 * size), shapes.rod(foot, end, 0.014 * size)])
        parts.append(DrawingPart("arm", names[node], mesh, ROD))
    carriers = set(parents[1:]) | set(topology.wing_links)
    for link in sorted(set(range(1, topology.links)) - carriers):
        tip = positions[link] + rotations[link] @ (2.0 * np.asarray(model.links.com[link]))
        parts.append(DrawingPart("arm", names[link], shapes.rod(positions[link], tip, 0.014 * size), ROD))
    return parts, np.asarray(spine)


def _hull(model: Model, spine: Floats, size: float) -> DrawingPart:
    reach = np.abs(spine - spine[0]).max(axis=0)
    half = np.maximum(np.array([0.17, 0.13, 0.065]) * size, 1.12 * reach * np.array([1.0, 0.0, 0.0]))
    round_ball = shapes.ball((0.0, 0.0, 0.0), 1.0, rings=14, corners=28)
    mesh = Mesh(round_ball.vertices * half + spine[0], round_ball.faces)
    return DrawingPart("hull", model.topology.link_names[0], mesh, HULL, 0.45)


def _wing_meshes(model: Model, nodes: Nodes) -> list[Mesh]:
    meshes = []
    for link, wing in zip(model.topology.wing_links, model.wings, strict=True):
        R, p = wing_frame(nodes, link, wing)
        meshes.append(
            shapes.aerofoil(float(wing.span), float(wing.chord)).transformed(np.asarray(R), np.asarray(p))
        )
    return meshes


def _wings(model: Model, nodes: Nodes) -> list[DrawingPart]:
    names = [model.topology.link_names[link] for link in model.topology.wing_links]
    return [
        DrawingPart("wing", name, mesh, WING)
        for name, mesh in zip(names, _wing_meshes(model, nodes), strict=True)
    ]


def _rotors(
    airframe: Airframe, model: Model, nodes: Nodes, rates: Floats, size: float
) -> tuple[list[DrawingPart], list[Label]]:
    topology = model.topology
    if rates.shape != (topology.rotors,):
        raise HaltereError(
            f"rotor rates: got shape {rates.shape}, expected ({topology.rotors},); "
            "give one rate in rad/s for each rotor"
        )
    centres = np.asarray(nodes.positions)[topology.links :]
    carriers = np.asarray(nodes.rotations)[list(topology.rotor_links)]
    axes = np.einsum("rij,rj->ri", carriers, np.asarray(model.rotors.axis))
    thrusts = np.asarray(model.rotors.thrust_coefficient) * rates * np.abs(rates)
    largest = float(np.max(np.abs(thrusts), initial=0.0))
    lengths = 0.42 * size * (thrusts / largest if largest > 0.0 else np.zeros_like(thrusts))
    radius = disc_radius(centres, size)
    parts, labels = [], []
    for rotor, centre, axis, length in zip(airframe.rotors, centres, axes, lengths, strict=True):
        colour = theme.SPIN[rotor.spin]
        sense = rotor.spin_sign
        parts += [
            DrawingPart("rotor", rotor.name, shapes.disc(centre, axis, radius), colour, 0.28),
            DrawingPart("spin", rotor.name, _spin_arrow(centre, axis, sense, radius, 0.011 * size), colour),
            DrawingPart("thrust", rotor.name, shapes.arrow(centre, axis * length, 0.013 * size), colour),
        ]
        labels.append(Label(rotor.name, centre + axis * (max(length, 0.0) + 0.08 * size), colour))
    return parts, labels


def disc_radius(centres: Floats, size: float) -> float:
    """A radius at which discs about `centres` (R, 3) do not touch, in m."""
    gaps = [float(np.linalg.norm(a - b)) for i, a in enumerate(centres) for b in centres[:i]]
    apart = [gap for gap in gaps if gap > 0.2 * size]
    return min(0.38 * size, 0.42 * min(apart, default=size))


def _spin_arrow(centre: Floats, axis: Floats, sense: float, radius: float, width: float) -> Mesh:
    """An arrow along the rim of a disc, in the sense of rotation (+1 right-handed about the axis)."""
    turns = sense * np.linspace(0.35, 2.0 * np.pi * 0.72, 28)
    points = shapes.ring(centre, axis, radius, turns)
    pieces = [shapes.rod(a, b, 0.6 * width, corners=6) for a, b in itertools.pairwise(points)]
    return Mesh.joined([*pieces, shapes.cone(points[-1], points[-1] - points[-2], 2.4 * width, 6.5 * width)])


def _sensors(
    airframe: Airframe, model: Model, nodes: Nodes, size: float
) -> tuple[list[DrawingPart], list[Label]]:
    places = model.topology.link_names
    parts, labels = [], []
    everything: tuple[Imu | PoseSensor | PositionSensor, ...] = (
        *airframe.imu,
        *airframe.pose,
        *airframe.position,
    )
    for sensor in everything:
        link = places.index(sensor.link)
        R, p = np.asarray(nodes.rotations)[link], np.asarray(nodes.positions)[link]
        origin = p + R @ np.asarray(sensor.position)
        triad = R @ matrix_from_wxyz(getattr(sensor, "wxyz", (1.0, 0.0, 0.0, 0.0)))
        arrows = [shapes.arrow(origin, 0.2 * size * triad[:, i], 0.009 * size) for i in range(3)]
        parts += [DrawingPart("sensor", sensor.name, mesh, theme.AXES[i]) for i, mesh in enumerate(arrows)]
        labels.append(Label(sensor.name, origin + 0.26 * size * triad[:, 2]))
    return parts, labels
