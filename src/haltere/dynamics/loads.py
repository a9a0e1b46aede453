"""All that pushes on the bodies from outside: rotor wrenches, wings, drag, and wrenches given by hand.

This is the thin layer around the polynomial core: magnitudes, flow angles and tables are evaluated here, and the core
receives wrenches. Drag of a link at its point of attack, per axis of the link, with air-relative velocity v and w:

    f_i = -(linear_i + quadratic_i |v|) v_i,   m_i = -angular_i w_i                                    (1)

The wrench of a rotor is that of `rotor_wrenches`, equations (2) and (3).
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from haltere.dynamics.model import Model
from haltere.dynamics.state import Environment, State
from haltere.dynamics.tree import Nodes, wrench_in_body
from haltere.dynamics.wing import coefficients_in_effect, wing_wrenches
from haltere.foundation.arrays import Array, pytree
from haltere.lie import so3


def rotor_wrenches(
    model: Model,
    nodes: Nodes,
    wind_B: Array,
    square: Array,
    speed: Array,
    coefficients: tuple[Array, Array] | None = None,
) -> Array:
    """(R, 6) wrenches of the air on spinning rotors about the body origin, body axes, force first.

    With unit thrust axis n, spin sign e = +-1 (the rotor spins about e n), speed w counted in its own direction,
    centre at p, and air-relative velocity v of the centre ([Hong2021] eqs. (41), (42), in the form that holds for
    both signs of w):

        f = n (k_f w|w| - c_a |w| v_n) - c_h |w| v_t,      v_n = n . v,  v_t = v - n v_n              (2)
        m = -e n k_d w|w| - e c_m |w| v_t + p x f                                                    (3)

    k_f = thrust_coefficient, k_d = drag_coefficient, (c_a, c_h, c_m) = inflow: loss of thrust in axial flow, hub
    force, and rolling moment, first order in the air speed; without them this is the hover model. The drag torque
    never does positive work. w|w| and |w| are arguments, so that the formula itself is polynomial.

    Args:
        model: the vehicle.
        nodes: its kinematics.
        wind_B: (3,) velocity of the air, body axes, m/s.
        square: (R,) w|w|, (rad/s)^2.
        speed: (R,) |w|, rad/s.
        coefficients: (R,) thrust and (R,) drag coefficients instead of the model's.
    """
    rotors = model.rotors
    thrust, drag = coefficients or (rotors.thrust_coefficient, rotors.drag_coefficient)
    first = model.topology.links
    return jax.vmap(rotor_wrench, in_axes=(0, 0, 0, 0, 0, 0, 0, 0, 0, None))(
        nodes.screws[first:, 3:],
        nodes.twists[first:],
        nodes.positions[first:],
        rotors.spin,
        thrust,
        drag,
        rotors.inflow,
        square,
        speed,
        wind_B,
    )


def rotor_wrench(
    spin_axis: Array,
    twist: Array,
    p: Array,
    spin: Array,
    k_f: Array,
    k_d: Array,
    inflow: Array,
    square: Array,
    speed: Array,
    wind_B: Array,
) -> Array:
    """(6,) wrench of the air on one rotor by equations (2) and (3), about the origin that `p` and `twist` refer to.

    Args:
        spin_axis: (3,) e n, the direction about which it spins.
        twist: (6,) velocity of the origin, m/s, and rate, rad/s.
        p: (3,) centre of the rotor, m.
        spin: () e.
        k_f: () thrust coefficient.
        k_d: () drag coefficient.
        inflow: (3,) c_a, c_h, c_m.
        square: () w|w|, (rad/s)^2.
        speed: () |w|, rad/s.
        wind_B: (3,) velocity of the air, m/s.
    """
    n = spin * spin_axis
    v = twist[:3] - wind_B + so3.hat(twist[3:]) @ p
    v_n = n @ v
    v_t = v - n * v_n
    force = n * (k_f * square - inflow[0] * speed * v_n) - inflow[1] * speed * v_t
    moment = -spin_axis * (k_d * square) - spin * inflow[2] * speed * v_t
    return jnp.concatenate([force, moment + so3.hat(p) @ force])


@pytree
@dataclass(frozen=True)
class LinearParameters:
    """The numbers in which the equations of motion are linear."""

    bodies: Array
    """(N, 10) inertial parameters of each node, see `haltere.dynamics.inertia`."""
    thrust: Array
    """(R,) N/(rad/s)^2."""
    drag: Array
    """(R,) N m/(rad/s)^2."""
    wings: tuple[Array, ...]
    """(6,) coefficients in effect at the present flow angles, for each wing."""


def linear_parameters(model: Model, nodes: Nodes, wind_B: Array) -> LinearParameters:
    """The linear parameters of the model at this instant."""
    rotors = model.rotors
    wings = coefficients_in_effect(model, nodes, wind_B)
    return LinearParameters(model.bodies, rotors.thrust_coefficient, rotors.drag_coefficient, wings)


def wind_in_body(model: Model, state: State, environment: Environment) -> Array:
    """(3,) velocity of the air in body axes, m/s."""
    return state.R_WB.T @ jnp.asarray(environment.wind, model.dtype)


def external_wrenches(
    model: Model,
    state: State,
    nodes: Nodes,
    environment: Environment,
    parameters: LinearParameters,
    link_wrenches: Array | None = None,
) -> Array:
    """(N, 6) wrench on every node about the body origin, body axes, force first; gravity is not among them.

    `link_wrenches` (L, 6) are further wrenches on the links, each at its link's origin in its link's axes.
    """
    topology = model.topology
    wind_B = wind_in_body(model, state, environment)
    density = jnp.asarray(environment.air_density, model.dtype)
    speed = jnp.abs(state.rotor_rates)
    on_rotors = rotor_wrenches(
        model, nodes, wind_B, state.rotor_rates * speed, speed, (parameters.thrust, parameters.drag)
    )
    on_links = [jnp.zeros(6, model.dtype) for _ in topology.link_names]
    if link_wrenches is not None:
        for i in range(topology.links):
            on_links[i] = wrench_in_body(
                nodes.rotations[i], nodes.positions[i], jnp.asarray(link_wrenches)[i]
            )
    for link, wrench in wing_wrenches(model, nodes, wind_B, density, parameters.wings):
        on_links[link] = on_links[link] + wrench
    for i, link in enumerate(topology.drag_links):
        on_links[link] = on_links[link] + _drag_wrench(model, nodes, i, link, wind_B)
    return jnp.concatenate([jnp.stack(on_links), on_rotors])


def _drag_wrench(model: Model, nodes: Nodes, i: int, link: int, wind_B: Array) -> Array:
    drag, R = model.drag, nodes.rotations[link]
    p = nodes.positions[link] + R @ drag.position[i]
    twist = nodes.twists[link]
    velocity = R.T @ (twist[:3] - wind_B + so3.hat(twist[3:]) @ p)
    squared = velocity @ velocity
    speed = jnp.where(squared > 0.0, jnp.sqrt(jnp.where(squared > 0.0, squared, 1.0)), 0.0)
    force = -(drag.linear[i] + drag.quadratic[i] * speed) * velocity
    return wrench_in_body(R, p, jnp.concatenate([force, -drag.angular[i] * (R.T @ twist[3:])]))
