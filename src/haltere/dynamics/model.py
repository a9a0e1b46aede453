"""An airframe as numbers for JAX: the topology is static, every number is a leaf.

Two airframes with equal topology give models of equal tree structure, so they can be stacked and mapped over.
The tree has one node per rigid body: the body itself, the links, and the rotors as leaves that spin. Node order is
body, links (parents first), rotors. A fixed link is a node whose joint axis is zero.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, Body, Joint, Link, Rotor, Wing
from haltere.airframe.fields import tensor
from haltere.dynamics.inertia import inertial_parameters, transform_inertia, unpacked
from haltere.foundation.arrays import Array, has_double_precision, pytree
from haltere.foundation.errors import PrecisionError
from haltere.lie import so3

BODY = "body"


@dataclass(frozen=True)
class Level:
    """The nodes at one depth of the tree, and for each its parent's index in the level above."""

    nodes: tuple[int, ...]
    parents: tuple[int, ...]


@dataclass(frozen=True)
class Topology:
    """What is fixed when a model is traced: names, who hangs on whom, which joints move, kinds of wings."""

    link_names: tuple[str, ...]
    link_parents: tuple[int, ...]
    moving_links: tuple[int, ...]
    rotor_names: tuple[str, ...]
    rotor_links: tuple[int, ...]
    wing_links: tuple[int, ...]
    wing_kinds: tuple[str, ...]
    drag_links: tuple[int, ...]

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The links whose joint moves, in the order of every joint array."""
        return tuple(self.link_names[i] for i in self.moving_links)

    @property
    def links(self) -> int:
        """Number of links, the body included."""
        return len(self.link_names)

    @property
    def joints(self) -> int:
        """Number of moving joints, rotors not counted."""
        return len(self.moving_links)

    @property
    def rotors(self) -> int:
        """Number of rotors."""
        return len(self.rotor_names)

    @property
    def nodes(self) -> int:
        """Number of rigid bodies: links and rotors."""
        return self.links + self.rotors

    @property
    def actuated_nodes(self) -> tuple[int, ...]:
        """Node of each entry of (joints, rotors)."""
        return self.moving_links + tuple(range(self.links, self.nodes))

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The nodes by depth; a node's parent is always in the level before."""
        parents = (*self.link_parents, *self.rotor_links)
        levels = [Level((0,), ())]
        while True:
            above = levels[-1].nodes
            below = tuple(i for i in range(1, self.nodes) if parents[i] in above)
            if not below:
                return tuple(levels)
            levels.append(Level(below, tuple(above.index(parents[i]) for i in below)))


@pytree
@dataclass(frozen=True)
class Links:
    """Body and links, body first; shapes (L, ...)."""

    origin: Array
    """(L, 3) joint origin in the parent's frame, m."""
    axis: Array
    """(L, 3) unit joint axis; zero where the link is fixed."""
    mass: Array
    """(L,) kg."""
    com: Array
    """(L, 3) centre of mass in the link frame, m."""
    inertia: Array
    """(L, 3, 3) about the centre of mass, link axes, kg m2."""


@pytree
@dataclass(frozen=True)
class Rotors:
    """All rotors; shapes (R, ...)."""

    position: Array
    """(R, 3) in the link frame, m."""
    axis: Array
    """(R, 3) unit direction of thrust, link axes."""
    spin: Array
    """(R,) +1 where the rotor spins right-handed about its axis, -1 otherwise."""
    thrust_coefficient: Array
    """(R,) N/(rad/s)^2."""
    drag_coefficient: Array
    """(R,) N m/(rad/s)^2: thrust coefficient times torque ratio."""
    inflow: Array
    """(R, 3) axial and hub force N/(rad/s)/(m/s), rolling moment N m/(rad/s)/(m/s)."""
    mass: Array
    com: Array
    inertia: Array


@pytree
@dataclass(frozen=True)
class WingNumbers:
    """One wing; its coefficients (6, A, B) stand over a grid of angle of attack and sideslip."""

    area: Array
    span: Array
    chord: Array
    position: Array
    rotation: Array
    """(3, 3) R_LW: axes of the wing frame in the link frame."""
    alpha: Array
    """(A,) rad, increasing; one entry where the coefficients do not depend on it."""
    beta: Array
    coefficients: Array
    """(6, A, B): three force coefficients (CA CY CN or CD CC CL), then Cl Cm Cn."""
    reduced_rate_limit: Array


@pytree
@dataclass(frozen=True)
class DragNumbers:
    """Drag of the links named in the topology; shapes (D, 3)."""

    position: Array
    linear: Array
    quadratic: Array
    angular: Array


@pytree(static=("topology",))
@dataclass(frozen=True)
class Model:
    """A vehicle as the dynamics sees it."""

    topology: Topology
    links: Links
    rotors: Rotors
    wings: tuple[WingNumbers, ...]
    drag: DragNumbers

    @classmethod
    def from_airframe(cls, airframe: Airframe, dtype: Any = None) -> Self:
        """The model of `airframe`, in 64-bit numbers unless `dtype` says otherwise.

        Raises:
            PrecisionError: 64 bits are asked for where JAX computes with 32.
        """
        if dtype is None:
            if not has_double_precision():
                raise PrecisionError(
                    "JAX computes with 32 bits, 64 are expected for a model; work inside `with jax.enable_x64(True):`, "
                    "or give dtype=jnp.float32"
                )
            dtype = jnp.float64
        ordered = [airframe.links[i] for i in airframe.link_order()]
        names = (BODY, *(link.name for link in ordered))
        carriers: list[Body | Link] = [airframe.body, *ordered]
        rotors = airframe.rotors
        wings = {i: carrier.wing for i, carrier in enumerate(carriers) if carrier.wing is not None}
        drags = {i: carrier.drag for i, carrier in enumerate(carriers) if carrier.drag is not None}
        topology = Topology(
            link_names=names,
            link_parents=(-1, *(names.index(link.parent) for link in ordered)),
            moving_links=tuple(i + 1 for i, link in enumerate(ordered) if not link.joint.fixed),
            rotor_names=tuple(rotor.name for rotor in rotors),
            rotor_links=tuple(names.index(rotor.link) for rotor in rotors),
            wing_links=tuple(wings),
            wing_kinds=tuple(wing.coefficients.kind for wing in wings.values()),
            drag_links=tuple(drags),
        )

        def numbers(rows: Any, *shape: int) -> Array:
            return jnp.asarray(np.asarray(rows, float).reshape(len(rows), *shape), dtype)

        return cls(
            topology,
            Links(
                origin=numbers([(0, 0, 0), *(link.joint.origin for link in ordered)], 3),
                axis=numbers([(0, 0, 0), *(_joint_axis(link.joint) for link in ordered)], 3),
                mass=numbers([carrier.mass for carrier in carriers]),
                com=numbers([carrier.com for carrier in carriers], 3),
                inertia=numbers([tensor(carrier.inertia) for carrier in carriers], 3, 3),
            ),
            Rotors(
                position=numbers([r.position for r in rotors], 3),
                axis=numbers([_unit(r.axis) for r in rotors], 3),
                spin=numbers([r.spin_sign for r in rotors]),
                thrust_coefficient=numbers([r.thrust_coefficient for r in rotors]),
                drag_coefficient=numbers([r.thrust_coefficient * r.torque_ratio for r in rotors]),
                inflow=numbers([_inflow(r) for r in rotors], 3),
                mass=numbers([r.mass for r in rotors]),
                com=numbers([r.com for r in rotors], 3),
                inertia=numbers([tensor(r.inertia) for r in rotors], 3, 3),
            ),
            tuple(_wing_numbers(wing, dtype) for wing in wings.values()),
            DragNumbers(
                *(
                    numbers([getattr(drag, field) for drag in drags.values()], 3)
                    for field in ("position", "linear", "quadratic", "angular")
                )
            ),
        )

    @property
    def dtype(self) -> Any:
        """The number type of every leaf."""
        return self.links.mass.dtype

    @property
    def origins(self) -> Array:
        """(N, 3) origin of each node in its parent's frame, m."""
        return jnp.concatenate([self.links.origin, self.rotors.position])

    @property
    def spin_axes(self) -> Array:
        """(N, 3) axis about which a node's angle counts positive, parent's axes."""
        return jnp.concatenate([self.links.axis, self.rotors.axis * self.rotors.spin[:, None]])

    @property
    def bodies(self) -> Array:
        """(N, 10) inertial parameters of each node in its own frame, see `haltere.dynamics.inertia`."""
        links, rotors = self.links, self.rotors
        return jax.vmap(inertial_parameters)(
            jnp.concatenate([links.mass, rotors.mass]),
            jnp.concatenate([links.com, rotors.com]),
            jnp.concatenate([links.inertia, rotors.inertia]),
        )


def locked_rotors(model: Model) -> Model:
    """The same masses with every rotor's body welded to its link at angle zero: no gyroscopic or spin-up torque."""
    links, rotors = model.links, model.rotors
    own = jax.vmap(inertial_parameters)(links.mass, links.com, links.inertia)
    at_rest = jnp.broadcast_to(jnp.asarray(np.eye(3), model.dtype), (len(rotors.mass), 3, 3))
    carried = jax.vmap(transform_inertia)(model.bodies[len(own) :], at_rest, rotors.position)
    mass, com, inertia = jax.vmap(unpacked)(own.at[jnp.asarray(model.topology.rotor_links, int)].add(carried))
    still = {name: jnp.zeros_like(getattr(rotors, name)) for name in ("mass", "com", "inertia")}
    return replace(
        model, links=replace(links, mass=mass, com=com, inertia=inertia), rotors=replace(rotors, **still)
    )


def _unit(axis: Any) -> np.ndarray:
    vector = np.asarray(axis, float)
    return np.asarray(vector / np.linalg.norm(vector))


def _joint_axis(joint: Joint) -> np.ndarray:
    return np.zeros(3) if joint.fixed else _unit(joint.axis)


def _inflow(rotor: Rotor) -> tuple[float, float, float]:
    inflow = rotor.inflow
    return (0.0, 0.0, 0.0) if inflow is None else (inflow.axial, inflow.hub, inflow.moment)


def _wing_numbers(wing: Wing, dtype: Any) -> WingNumbers:
    coefficients = wing.coefficients
    names = ("CA", "CY", "CN") if coefficients.kind == "body" else ("CD", "CC", "CL")
    alpha = np.atleast_1d(np.asarray(coefficients.alpha or 0.0, float))
    beta = np.atleast_1d(np.asarray(coefficients.beta or 0.0, float))
    grid = np.empty((6, alpha.size, beta.size))
    for row, name in enumerate((*names, "Cl", "Cm", "Cn")):
        value = np.asarray(getattr(coefficients, name), float)
        grid[row] = value[:, None] if value.ndim == 1 else value

    def number(value: Any) -> Array:
        return jnp.asarray(value, dtype)

    return WingNumbers(
        area=number(wing.area),
        span=number(wing.span),
        chord=number(wing.chord),
        position=number(wing.frame.position),
        rotation=so3.from_wxyz(number(wing.frame.wxyz)),
        alpha=number(alpha),
        beta=number(beta),
        coefficients=number(grid),
        reduced_rate_limit=number(wing.reduced_rate_limit),
    )
