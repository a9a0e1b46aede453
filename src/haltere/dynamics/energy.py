"""Energy, momentum, and the flow of power through the joints.

With all quantities about the body origin in body axes ([Hong2021] eqs. (12), (13), (32) and its Figure 10):

    H = sum V_c . G_c V_c / 2                                       kinetic energy                    (1)
    P = sum G_c V_c                                                 momentum                          (2)
    dH_c/dt = gravity_c + external_c + received_c - sum over children of given                        (3)
    received_c - given_c = t_c q'_c                                 balance of each joint             (4)

where received_c = F_c . V_c is the power that a body gets through its joint and given_c = F_c . V_p what its parent
loses there; the difference is what the motor adds.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from haltere.dynamics.inertia import generalized_inertia
from haltere.dynamics.loads import external_wrenches, linear_parameters, wind_in_body
from haltere.dynamics.model import Model
from haltere.dynamics.solve import (
    gravity_in_body,
    newton_euler,
    spatial_accelerations,
    wrenches_through_joints,
)
from haltere.dynamics.state import Environment, Motion, State
from haltere.dynamics.tree import Nodes, by_node, inertias_in_body, kinematics, take
from haltere.foundation.arrays import Array, compiled, pytree
from haltere.lie import so3


@compiled
def kinetic_energy(model: Model, state: State) -> Array:
    """Kinetic energy of all bodies, J: equation (1)."""
    nodes = kinematics(model, state)
    return 0.5 * jnp.sum(nodes.twists * _momenta(model, nodes))


@compiled
def momentum(model: Model, state: State) -> Array:
    """(6,) linear momentum (kg m/s) and angular momentum about the WORLD origin (kg m2/s), world axes: (2)."""
    total = jnp.sum(_momenta(model, kinematics(model, state)), axis=0)
    linear = state.R_WB @ total[:3]
    return jnp.concatenate([linear, state.R_WB @ total[3:] + so3.hat(state.position) @ linear])


def _inertias(model: Model, nodes: Nodes) -> Array:
    return jax.vmap(generalized_inertia)(inertias_in_body(nodes, model.bodies))


def _momenta(model: Model, nodes: Nodes) -> Array:
    return jnp.einsum("nij,nj->ni", _inertias(model, nodes), nodes.twists)


@pytree
@dataclass(frozen=True)
class PowerFlow:
    """Power of every node (body, links, rotors), W; see equations (3) and (4)."""

    kinetic_rate: Array
    gravity: Array
    external: Array
    received: Array
    passed_on: Array
    joint: Array


@compiled
def power_flow(
    model: Model,
    state: State,
    motion: Motion,
    environment: Environment | None = None,
    link_wrenches: Array | None = None,
) -> PowerFlow:
    """Where power comes from and goes to at this instant, for a motion of `forward_dynamics`."""
    environment = environment or Environment()
    topology = model.topology
    nodes = kinematics(model, state)
    parameters = linear_parameters(model, nodes, wind_in_body(model, state, environment))
    wrenches = external_wrenches(model, state, nodes, environment, parameters, link_wrenches)
    inertias = _inertias(model, nodes)
    accelerations = (motion.acceleration, motion.joint_accelerations, motion.rotor_accelerations)
    against_fall = spatial_accelerations(model, state, nodes, accelerations, environment)
    through = wrenches_through_joints(
        model, jax.vmap(newton_euler)(inertias, nodes.twists, against_fall, wrenches)
    )
    fall = gravity_in_body(model, state, environment)

    def power(wrench: Array, twist: Array) -> Array:
        return jnp.sum(wrench * twist, axis=1)

    weight = jnp.einsum("nij,j->ni", inertias, fall)
    rates = by_node(topology, state.joint_rates, state.rotor_rates)
    torques = by_node(topology, motion.joint_torques, motion.rotor_torques)
    parents = (0, *topology.link_parents[1:], *topology.rotor_links)
    upstream = take(nodes.twists, parents).at[0].set(0.0)
    return PowerFlow(
        kinetic_rate=power(jnp.einsum("nij,nj->ni", inertias, against_fall + fall), nodes.twists),
        gravity=power(weight, nodes.twists),
        external=power(wrenches, nodes.twists),
        received=power(through, nodes.twists),
        passed_on=power(through, upstream),
        joint=torques * rates,
    )
