"""Random airframes: a topology from a seed, and random numbers for the same topology.

A topology fixes everything that is not a number: how many rotors and links there are, the tree, which
joints are fixed, which rotors have mass, spins, kinds and table sizes of wings, where drag and inflow act.
Airframes of one topology can therefore be stacked and evaluated in one batch. Links are listed in shuffled
order, so children may precede parents.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from haltere.airframe import Airframe

Vector = NDArray[np.float64]
RotorKind = Literal["massless", "point", "disc", "blade"]
"""Nothing, a point mass on the axis, an axisymmetric balanced body, a body with com off axis and full
inertia.
"""

FORCE_NAMES = {"body": ("CA", "CY", "CN"), "wind": ("CD", "CC", "CL")}
MOMENT_NAMES = ("Cl", "Cm", "Cn")


@dataclass(frozen=True)
class WingTopology:
    """Kind of coefficients, and how each of the six is given: 0 constant, 1 over alpha, 2 over alpha and
    beta.
    """

    kind: Literal["body", "wind"]
    dimensions: tuple[int, ...]
    alpha_points: int
    beta_points: int
    full_range: bool
    largest_area: float

    def uses(self, dimension: int) -> bool:
        """Whether any coefficient has at least this many table dimensions."""
        return max(self.dimensions) >= dimension


@dataclass(frozen=True)
class LinkTopology:
    """A link in the order of the file; the parent may come later."""

    name: str
    parent: str
    fixed: bool
    wing: WingTopology | None
    drag: bool


@dataclass(frozen=True)
class RotorTopology:
    """A rotor in the order of the file."""

    name: str
    link: str
    spin: Literal["ccw", "cw"]
    kind: RotorKind
    inflow: bool
    thrust: bool


@dataclass(frozen=True)
class VehicleTopology:
    """All that airframes of one batch have in common."""

    name: str
    links: tuple[LinkTopology, ...]
    rotors: tuple[RotorTopology, ...]
    body_wing: WingTopology | None
    body_drag: bool

    @property
    def moving_links(self) -> tuple[LinkTopology, ...]:
        """The links with a revolute joint, in the order of the file."""
        return tuple(link for link in self.links if not link.fixed)


@dataclass(frozen=True)
class Features:
    """What a random topology may contain; switch off one by one to find a disagreement."""

    max_rotors: int = 8
    max_tilts: int = 4
    max_fixed: int = 2
    rotors_on_links: bool = True
    clockwise: bool = True
    rotor_kinds: tuple[RotorKind, ...] = ("massless", "point", "disc", "blade")
    wings: tuple[Literal["body", "wind"], ...] = ("body", "wind")
    wing_tables: bool = True
    largest_wing: float = 0.3
    drag: bool = True
    inflow: bool = True
    thrust: bool = True


INERTIAL = Features(rotor_kinds=("disc", "blade"), wings=(), drag=False, inflow=False, thrust=False)
"""Every rotor has inertia about its axis, so all joints may be driven by torque; the air does nothing."""


def _random_wing(rng: Generator, features: Features) -> WingTopology | None:
    if not features.wings or rng.random() < 0.5:
        return None
    dimensions = (
        tuple(int(n) for n in rng.integers(0, 3, 6))
        if features.wing_tables and rng.random() < 0.7
        else (0,) * 6
    )
    return WingTopology(
        kind=features.wings[int(rng.integers(len(features.wings)))],
        dimensions=dimensions,
        alpha_points=int(rng.integers(2, 7)),
        beta_points=int(rng.integers(2, 5)),
        full_range=bool(rng.random() < 0.6),
        largest_area=features.largest_wing,
    )


def random_topology(seed: int, features: Features | None = None) -> VehicleTopology:
    """Return the topology that belongs to a seed."""
    allowed = Features() if features is None else features
    rng = np.random.default_rng([seed, 1])
    tilts = int(rng.integers(0, allowed.max_tilts + 1))
    fixed = int(rng.integers(0, allowed.max_fixed + 1))
    is_fixed = rng.permutation([False] * tilts + [True] * fixed)
    names = [f"link_{index}" for index in range(tilts + fixed)]
    links = [
        LinkTopology(
            name=name,
            parent=str(rng.choice(["body", *names[:index]])),
            fixed=bool(is_fixed[index]),
            wing=_random_wing(rng, allowed),
            drag=allowed.drag and bool(rng.random() < 0.4),
        )
        for index, name in enumerate(names)
    ]
    carriers = ["body", *names] if allowed.rotors_on_links else ["body"]
    spins: list[Literal["ccw", "cw"]] = ["ccw", "cw"]
    rotors = tuple(
        RotorTopology(
            name=f"rotor_{index}",
            link=str(rng.choice(carriers)),
            spin=spins[int(rng.integers(2))] if allowed.clockwise else "ccw",
            kind=allowed.rotor_kinds[int(rng.integers(len(allowed.rotor_kinds)))],
            inflow=allowed.inflow and bool(rng.random() < 0.5),
            thrust=allowed.thrust,
        )
        for index in range(int(rng.integers(1, allowed.max_rotors + 1)))
    )
    return VehicleTopology(
        name=f"random_{seed}",
        links=tuple(links[int(index)] for index in rng.permutation(len(links))),
        rotors=rotors,
        body_wing=_random_wing(rng, allowed),
        body_drag=allowed.drag and bool(rng.random() < 0.4),
    )


def random_rotation(rng: Generator) -> Vector:
    """Return a uniformly distributed unit quaternion wxyz."""
    wxyz = rng.standard_normal(4)
    return np.asarray(wxyz / np.linalg.norm(wxyz))


def _inertial(rng: Generator, mass: float, size: float, offset: float) -> dict[str, Any]:
    """Mass, com and an inertia xx yy zz xy xz yz that a distribution of positive mass has."""
    spread = rng.standard_normal((3, 3)) * size
    second_moment = mass * spread @ spread.T / 3.0
    inertia = np.trace(second_moment) * np.eye(3) - second_moment
    rows, columns = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)
    return {"mass": mass, "com": _vector(rng, offset), "inertia": [float(x) for x in inertia[rows, columns]]}


def _vector(rng: Generator, scale: float) -> list[float]:
    return [float(x) for x in rng.uniform(-scale, scale, 3)]


def _axis(rng: Generator) -> list[float]:
    """Return a direction whose length is not one."""
    direction = rng.standard_normal(3)
    return [float(x) for x in direction / np.linalg.norm(direction) * rng.uniform(0.5, 2.0)]


def _wing(rng: Generator, topology: WingTopology) -> dict[str, Any]:
    coefficients: dict[str, Any] = {"kind": topology.kind}
    limits = {
        "alpha": np.pi if topology.full_range else 0.7,
        "beta": np.pi / 2 if topology.full_range else 0.3,
    }
    shape: list[int] = []
    points = {"alpha": topology.alpha_points, "beta": topology.beta_points}
    for dimension, angle in enumerate(points, start=1):
        if topology.uses(dimension):
            inner = rng.uniform(-limits[angle], limits[angle], points[angle] - 2)
            coefficients[angle] = [-limits[angle], *(float(x) for x in np.sort(inner)), limits[angle]]
            shape.append(points[angle])
    for name, dimensions in zip(FORCE_NAMES[topology.kind] + MOMENT_NAMES, topology.dimensions, strict=True):
        coefficients[name] = (
            rng.uniform(-1.5, 1.5, shape[:dimensions]).tolist()
            if dimensions
            else float(rng.uniform(-1.5, 1.5))
        )
    return {
        "area": topology.largest_area * float(rng.uniform(0.1, 1.0)),
        "span": float(rng.uniform(0.2, 1.0)),
        "chord": float(rng.uniform(0.05, 0.3)),
        "frame": {"position": _vector(rng, 0.2), "wxyz": [float(x) for x in random_rotation(rng)]},
        "coefficients": coefficients,
    }


def _drag(rng: Generator) -> dict[str, Any]:
    coefficients = {"linear": 0.3, "quadratic": 0.1, "angular": 0.02}
    return {
        "position": _vector(rng, 0.1),
        **{name: [float(x) for x in rng.uniform(0.0, high, 3)] for name, high in coefficients.items()},
    }


def _surfaces(rng: Generator, wing: WingTopology | None, drag: bool) -> dict[str, Any]:
    surfaces: dict[str, Any] = {}
    if wing is not None:
        surfaces["wing"] = _wing(rng, wing)
    if drag:
        surfaces["drag"] = _drag(rng)
    return surfaces


def _rotor(rng: Generator, topology: RotorTopology) -> dict[str, Any]:
    axis = _axis(rng)
    rotor: dict[str, Any] = {
        "name": topology.name,
        "link": topology.link,
        "position": _vector(rng, 0.4),
        "axis": axis,
        "spin": topology.spin,
        "thrust_coefficient": float(rng.uniform(2e-6, 3e-5)) if topology.thrust else 1e-30,
        "torque_ratio": float(rng.uniform(0.005, 0.05)),
    }
    unit = np.array(axis) / np.linalg.norm(axis)
    mass, along = float(rng.uniform(0.01, 0.05)), float(rng.uniform(-0.03, 0.03))
    if topology.kind in ("point", "disc"):
        rotor |= {"mass": mass, "com": [float(x) for x in along * unit]}
    if topology.kind == "disc":
        axial, lateral = mass * rng.uniform(0.02, 0.06) ** 2, mass * rng.uniform(0.02, 0.06) ** 2 + 2e-6
        axial = min(axial, 1.9 * lateral)
        matrix = lateral * np.eye(3) + (axial - lateral) * np.outer(unit, unit)
        rotor["inertia"] = [float(x) for x in matrix[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]]
    if topology.kind == "blade":
        rotor |= _inertial(rng, mass, 0.06, 0.01)
    if topology.inflow:
        rotor["inflow"] = {
            "axial": float(rng.uniform(0.0, 1e-3)),
            "hub": float(rng.uniform(0.0, 5e-4)),
            "moment": float(rng.uniform(-1e-4, 1e-4)),
        }
    return rotor


def random_airframe(topology: VehicleTopology, rng: Generator) -> Airframe:
    """Return an airframe of the topology with random numbers; the body frame sits anywhere."""
    body = _inertial(rng, float(rng.uniform(0.3, 3.0)), 0.12, 0.3) | _surfaces(
        rng, topology.body_wing, topology.body_drag
    )
    links = []
    for link in topology.links:
        joint: dict[str, Any] = {"origin": _vector(rng, 0.4)}
        joint |= {"fixed": True} if link.fixed else {"axis": _axis(rng)}
        inertial = _inertial(rng, float(rng.uniform(0.05, 0.5)), 0.08, 0.15)
        surfaces = _surfaces(rng, link.wing, link.drag)
        links.append({"name": link.name, "parent": link.parent, "joint": joint} | inertial | surfaces)
    rotors = [_rotor(rng, rotor) for rotor in topology.rotors]
    return Airframe.model_validate({"name": topology.name, "body": body, "links": links, "rotors": rotors})
