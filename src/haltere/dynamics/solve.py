"""The equations of motion of the whole tree, solved either way.

For every node c with inertia G_c, twist V_c and external wrench W_c, all about the body origin in body axes, and with
the acceleration counted against free fall, A_B = V' - (R_WB^T g, 0) ([Hong2021] eqs. (25), (40), (45)):

    F_c = G_c A_c - ad(V_c)^T G_c V_c - W_c                                                           (1)

Inverse: the wrench through a joint is F summed over all that hangs on it, its torque t = S^T sum F       (2)

Forward: the algebraic loop of the paper's Algorithm 1 (its lines 3, 10 and 15 need the acceleration that line 5
yields) is solved from the tips inwards, after [Featherstone2008] chapter 7, for joints with given acceleration and
joints with given torque alike. With J, z the inertia and bias wrench of all that hangs on a node, U = J S, D = S . U:

    torque given:        J' = J - U U^T / D,   z' = z + J b + U (t - S . z - U . b) / D                (3)
    acceleration given:  J' = J,               z' = z + J (b + S q'')                                  (4)

and J_B A_B = -z_B at the body; a sweep outwards then gives all accelerations, and t = S . (J A + z).
"""

import jax
import jax.numpy as jnp

from haltere.dynamics.inertia import generalized_inertia
from haltere.dynamics.loads import (
    LinearParameters,
    external_wrenches,
    linear_parameters,
    rotor_wrenches,
    wind_in_body,
)
from haltere.dynamics.model import Model
from haltere.dynamics.state import Drive, Environment, Motion, State
from haltere.dynamics.tree import (
    Nodes,
    by_joint,
    by_node,
    from_levels,
    inertias_in_body,
    kinematics,
    put,
    take,
)
from haltere.foundation.arrays import Array, compiled
from haltere.lie import se3


@compiled
def forward_dynamics(
    model: Model,
    state: State,
    drive: Drive,
    environment: Environment | None = None,
    link_wrenches: Array | None = None,
) -> Motion:
    """How the vehicle accelerates, and the torques in its joints.

    Args:
        model: the vehicle.
        state: its configuration and velocity.
        drive: acceleration or torque of each joint and rotor.
        environment: gravity, wind, air density; the default is still air and 9.81 m/s2 down.
        link_wrenches: (L, 6) further wrenches (N, N m; force first) at each link's origin in its axes.
    """
    environment = environment or Environment()
    nodes = kinematics(model, state)
    parameters = linear_parameters(model, nodes, wind_in_body(model, state, environment))
    wrenches = external_wrenches(model, state, nodes, environment, parameters, link_wrenches)
    return solve_forward(
        model, nodes, drive, parameters.bodies, wrenches, gravity_in_body(model, state, environment)
    )


def core_dynamics(
    model: Model, state: State, drive: Drive, square: Array, speed: Array, gravity: Array
) -> Motion:
    """The forward dynamics in still air without wings and drag: what every algebra of `haltere.algebra` can evaluate.

    Only + - * /, sine, cosine and fixed indices occur. `square` (R,) is w|w| and `speed` (R,) is |w| of the rotors, in
    (rad/s)^2 and rad/s; `gravity` (3,) in world axes, m/s2.
    """
    nodes = kinematics(model, state)
    on_rotors = rotor_wrenches(model, nodes, jnp.zeros_like(gravity), square, speed)
    wrenches = jnp.concatenate([jnp.zeros((model.topology.links, 6), model.dtype), on_rotors])
    fall = gravity_in_body(model, state, Environment(gravity=gravity))
    return solve_forward(model, nodes, drive, model.bodies, wrenches, fall)


@compiled
def inverse_dynamics(
    model: Model,
    state: State,
    acceleration: Array,
    joint_accelerations: Array,
    rotor_accelerations: Array,
    environment: Environment | None = None,
    link_wrenches: Array | None = None,
) -> tuple[Array, Array, Array]:
    """The wrench and torques that a motion takes.

    Returns the (6,) wrench on the body (about its origin, body axes, force first) that is missing for the given
    acceleration (6,) to happen, and the joint (J,) and rotor (R,) torques.
    """
    environment = environment or Environment()
    nodes = kinematics(model, state)
    parameters = linear_parameters(model, nodes, wind_in_body(model, state, environment))
    motion = (acceleration, joint_accelerations, rotor_accelerations)
    return solve_inverse(model, state, nodes, motion, environment, parameters, link_wrenches)


def gravity_in_body(model: Model, state: State, environment: Environment) -> Array:
    """(6,) acceleration of free fall as a spatial vector in body axes."""
    gravity = state.R_WB.T @ jnp.asarray(environment.gravity, model.dtype)
    return jnp.concatenate([gravity, jnp.zeros(3, model.dtype)])


def newton_euler(inertia: Array, twist: Array, acceleration: Array, wrench: Array) -> Array:
    """(6,) of equation (1)."""
    return inertia @ acceleration - se3.ad(twist).T @ (inertia @ twist) - wrench


def solve_forward(
    model: Model, nodes: Nodes, drive: Drive, bodies: Array, wrenches: Array, gravity: Array
) -> Motion:
    """Equations (3) and (4); the polynomial core, in which only + - * / and fixed indices occur."""
    topology = model.topology
    torque_given = _flags(drive, model)
    drive_value = by_node(topology, drive.joints, drive.rotors)
    inertias = jax.vmap(generalized_inertia)(inertias_in_body(nodes, bodies))
    biases = jax.vmap(newton_euler)(inertias, nodes.twists, jnp.zeros_like(nodes.twists), wrenches)

    inner: list[tuple[Array, ...]] = []
    carried: tuple[Array, Array] | None = None
    for level, below in zip(reversed(topology.levels), (None, *reversed(topology.levels[1:])), strict=True):
        J, z = take(inertias, level.nodes), take(biases, level.nodes)
        if carried is not None and below is not None:
            J = J + put(carried[0], below.parents, len(level.nodes))
            z = z + put(carried[1], below.parents, len(level.nodes))
        rows = (nodes.screws, nodes.biases, drive_value, torque_given)
        joint = tuple(take(values, level.nodes) for values in rows)
        inner.append((J, z, *joint))
        if level.parents:
            carried = jax.vmap(_carry)(J, z, *joint)

    J, z, *_ = inner.pop()
    above = -ldl_solve(J[0], z[0])[None]
    base = above[0] + gravity
    accelerations, torques = [jnp.zeros(1, model.dtype)], [jnp.zeros(1, model.dtype)]
    for level in topology.levels[1:]:
        above, joint_acceleration, torque = jax.vmap(_release)(take(above, level.parents), *inner.pop())
        accelerations.append(joint_acceleration)
        torques.append(torque)
    return Motion(
        base,
        *by_joint(topology, from_levels(topology, accelerations)),
        *by_joint(topology, from_levels(topology, torques)),
    )


def _flags(drive: Drive, model: Model) -> Array:
    flags = [jnp.asarray(f, model.dtype) for f in (drive.joint_torque_given, drive.rotor_torque_given)]
    return by_node(model.topology, *flags)


def _carry(
    J: Array, z: Array, S: Array, b: Array, drive_value: Array, torque_given: Array
) -> tuple[Array, Array]:
    """What a node passes to its parent: equation (3) where `torque_given` is 1, (4) where it is 0."""
    U = J @ S
    gain = torque_given / (S @ U + (1.0 - torque_given))
    along = gain * (drive_value - S @ z - U @ b) + (1.0 - torque_given) * drive_value
    return J - gain * U[:, None] * U[None, :], z + J @ b + U * along


def _release(
    above: Array, J: Array, z: Array, S: Array, b: Array, drive_value: Array, torque_given: Array
) -> tuple[Array, Array, Array]:
    """A node's spatial acceleration, its joint's acceleration and its joint's torque."""
    U = J @ S
    gain = torque_given / (S @ U + (1.0 - torque_given))
    fall = above + b
    joint = gain * (drive_value - S @ z - U @ fall) + (1.0 - torque_given) * drive_value
    acceleration = fall + S * joint
    return acceleration, joint, U @ acceleration + S @ z


def ldl_solve(matrix: Array, vector: Array) -> Array:
    """Solution of a symmetric positive definite (n, n) system: unrolled elimination without pivots."""
    columns, right = [], []
    while True:
        pivot, column = matrix[0, 0], matrix[1:, 0]
        columns.append(column / pivot)
        right.append(vector[0] / pivot)
        if matrix.shape[0] == 1:
            break
        matrix = matrix[1:, 1:] - columns[-1][:, None] * column[None, :]
        vector = vector[1:] - columns[-1] * vector[0]
    solution = right.pop()[None]
    for column, entry in zip(reversed(columns[:-1]), reversed(right), strict=True):
        solution = jnp.concatenate([(entry - column @ solution)[None], solution])
    return solution


def solve_inverse(
    model: Model,
    state: State,
    nodes: Nodes,
    motion: tuple[Array, Array, Array],
    environment: Environment,
    parameters: LinearParameters,
    link_wrenches: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Equation (2); linear in the parameters and in the accelerations."""
    topology = model.topology
    wrenches = external_wrenches(model, state, nodes, environment, parameters, link_wrenches)
    accelerations = spatial_accelerations(model, state, nodes, motion, environment)
    inertias = jax.vmap(generalized_inertia)(inertias_in_body(nodes, parameters.bodies))
    needed = jax.vmap(newton_euler)(inertias, nodes.twists, accelerations, wrenches)
    through = wrenches_through_joints(model, needed)
    torques = jnp.sum(nodes.screws * through, axis=1)
    return through[0], *by_joint(topology, torques)


def spatial_accelerations(
    model: Model, state: State, nodes: Nodes, motion: tuple[Array, Array, Array], environment: Environment
) -> Array:
    """(N, 6) acceleration of every node against free fall, body axes."""
    topology = model.topology
    relative = nodes.biases + nodes.screws * by_node(topology, motion[1], motion[2])[:, None]
    levels = [(motion[0] - gravity_in_body(model, state, environment))[None]]
    for level in topology.levels[1:]:
        levels.append(take(levels[-1], level.parents) + take(relative, level.nodes))
    return from_levels(topology, levels)


def wrenches_through_joints(model: Model, needed: Array) -> Array:
    """(N, 6) wrench that each node gets from its parent, from what each node needs for itself."""
    topology = model.topology
    levels = [take(needed, level.nodes) for level in topology.levels]
    for depth in range(len(levels) - 1, 0, -1):
        above = topology.levels[depth - 1]
        levels[depth - 1] = levels[depth - 1] + put(
            levels[depth], topology.levels[depth].parents, len(above.nodes)
        )
    return from_levels(topology, levels)
