"""Where every body of the tree is and how fast it moves, all seen from the body frame B.

With parent p, child c, joint origin o and unit axis n in the parent's frame ([Hong2021] eqs. (21), (22), (26), with
every quantity carried to frame B, where the adjoints of the paper become sums):

    R_Bc = R_Bp Rot(n, q) = rotations,   p_Bc = p_Bp + R_Bp o = positions                              (1)
    S_c = (p_Bc x a, a),  a = R_Bp n = screws (linear first)                                          (2)
    V_c = V_p + S_c q' = twists                                                                       (3)
    b_c = ad(V_c) S_c q' = biases:  A_c = A_p + S_c q'' + b_c                                          (4)

A is the acceleration of the body seen as a spatial vector; at the base it is the derivative of the twist's components.
Nodes of equal depth are treated together, so the size of the traced program depends on the depth of the tree and not
on the number of rotors. Rows are chosen and summed by constant matrices of zeros and ones.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from haltere.dynamics.inertia import transform_inertia
from haltere.dynamics.model import Model, Topology
from haltere.dynamics.state import State
from haltere.foundation.arrays import Array, pytree
from haltere.lie import se3, so3


@pytree
@dataclass(frozen=True)
class Nodes:
    """Every body of the tree in node order (body, links, rotors), in coordinates of the body frame."""

    rotations: Array
    """(N, 3, 3) R_BN."""
    positions: Array
    """(N, 3) p_BN, m."""
    screws: Array
    """(N, 6) joint screw, zero for the body and for fixed links."""
    twists: Array
    """(N, 6) twist against the world."""
    biases: Array
    """(N, 6) velocity part of the relative acceleration."""


def take(rows: Array, indices: tuple[int, ...]) -> Array:
    """The chosen rows of an array, by a constant matrix; no operation where the order stays."""
    if indices == tuple(range(rows.shape[0])):
        return rows
    chosen = np.zeros((len(indices), rows.shape[0]))
    chosen[np.arange(len(indices)), list(indices)] = 1.0
    return jnp.tensordot(jnp.asarray(chosen, rows.dtype), rows, 1)


def put(rows: Array, indices: tuple[int, ...], length: int) -> Array:
    """The transpose of `take`: rows summed into the rows `indices` of an array of zeros."""
    if indices == tuple(range(length)):
        return rows
    chosen = np.zeros((length, len(indices)))
    chosen[list(indices), np.arange(len(indices))] = 1.0
    return jnp.tensordot(jnp.asarray(chosen, rows.dtype), rows, 1)


def by_node(topology: Topology, joints: Array, rotors: Array) -> Array:
    """(N,) from (J,) and (R,): the value of each node's joint, zero where it has none."""
    return put(jnp.concatenate([joints, rotors]), topology.actuated_nodes, topology.nodes)


def by_joint(topology: Topology, nodes: Array) -> tuple[Array, Array]:
    """(J,) and (R,) from (N,): the inverse of `by_node`."""
    values = take(nodes, topology.actuated_nodes)
    return values[: topology.joints], values[topology.joints :]


def from_levels(topology: Topology, levels: list[Array]) -> Array:
    """(N, ...) in node order from one array per level."""
    order = [node for level in topology.levels for node in level.nodes]
    return take(jnp.concatenate(levels), tuple(int(i) for i in np.argsort(order)))


def kinematics(model: Model, state: State) -> Nodes:
    """Equations (1) to (4) over the whole tree, from the body outwards."""
    topology = model.topology
    angles = by_node(topology, state.joint_angles, state.rotor_angles)
    rates = by_node(topology, state.joint_rates, state.rotor_rates)
    origins, axes = model.origins, model.spin_axes
    zero = jnp.zeros((1, 6), model.dtype)
    base = Nodes(
        jnp.asarray(np.eye(3)[None], model.dtype),
        jnp.zeros((1, 3), model.dtype),
        zero,
        state.twist[None],
        zero,
    )
    levels = [base]
    for level in topology.levels[1:]:
        above = levels[-1]
        levels.append(
            jax.vmap(_child)(
                *(take(rows, level.parents) for rows in (above.rotations, above.positions, above.twists)),
                *(take(rows, level.nodes) for rows in (origins, axes, angles, rates)),
            )
        )
    return Nodes(*(from_levels(topology, [getattr(level, name) for level in levels]) for name in _FIELDS))


_FIELDS = ("rotations", "positions", "screws", "twists", "biases")


def _child(R: Array, p: Array, V: Array, origin: Array, axis: Array, angle: Array, rate: Array) -> Nodes:
    position, direction = p + R @ origin, R @ axis
    screw = jnp.concatenate([so3.hat(position) @ direction, direction])
    twist = V + screw * rate
    rotation = R @ so3.rodrigues(axis, jnp.sin(angle), jnp.cos(angle))
    return Nodes(rotation, position, screw, twist, se3.ad(twist) @ screw * rate)


def inertias_in_body(nodes: Nodes, bodies: Array) -> Array:
    """(N, 10) inertial parameters about the body origin in body axes, from those in each node's own frame."""
    return jax.vmap(transform_inertia)(bodies, nodes.rotations, nodes.positions)


def wrench_in_body(R: Array, p: Array, wrench: Array) -> Array:
    """(6,) wrench (force first) about the body origin, from one given in a frame at (R, p)."""
    force = R @ wrench[:3]
    return jnp.concatenate([force, R @ wrench[3:] + so3.hat(p) @ force])
