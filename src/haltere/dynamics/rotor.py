"""The wrench that the air puts on a turning rotor.

With unit thrust axis n, spin sign e = +-1 (the rotor turns about e n), speed w counted in its own direction, centre at
p, and air-relative velocity v of the centre ([Hong2021] eqs. (41), (42), in the form that holds for both signs of w):

    f = n (k_f w|w| - c_a |w| v_n) - c_h |w| v_t,      v_n = n . v,  v_t = v - n v_n                  (1)
    m = -e n k_d w|w| - e c_m |w| v_t + p x f                                                        (2)

k_f = thrust_coefficient, k_d = drag_coefficient, (c_a, c_h, c_m) = inflow: loss of thrust in axial flow, hub force, and
rolling moment, first order in the air speed; without them this is the hover model. The drag torque never does
positive work. w|w| and |w| are arguments, so that the formula itself is polynomial.
"""

import jax
import jax.numpy as jnp

from haltere.dynamics.model import Model
from haltere.dynamics.tree import Nodes
from haltere.foundation.arrays import Array
from haltere.lie import so3


def rotor_wrenches(
    model: Model,
    nodes: Nodes,
    wind_B: Array,
    square: Array,
    speed: Array,
    coefficients: tuple[Array, Array] | None = None,
) -> Array:
    """(R, 6) wrenches on the rotors about the body origin, body axes, force first.

    Args:
        model: the vehicle.
        nodes: its kinematics.
        wind_B: (3,) velocity of the air, body axes, m/s.
        square: (R,) w|w|, (rad/s)^2.
        speed: (R,) |w|, rad/s.
        coefficients: (R,) thrust and (R,) drag coefficients in place of the model's.
    """
    rotors = model.rotors
    thrust, drag = coefficients or (rotors.thrust_coefficient, rotors.drag_coefficient)
    first = model.topology.links

    def wrench(
        screw: Array,
        twist: Array,
        p: Array,
        spin: Array,
        k_f: Array,
        k_d: Array,
        c: Array,
        u: Array,
        s: Array,
    ) -> Array:
        turn = screw[3:]
        n = spin * turn
        v = twist[:3] - wind_B + so3.hat(twist[3:]) @ p
        v_n = n @ v
        v_t = v - n * v_n
        force = n * (k_f * u - c[0] * s * v_n) - c[1] * s * v_t
        return jnp.concatenate([force, -turn * (k_d * u) - spin * c[2] * s * v_t + so3.hat(p) @ force])

    return jax.vmap(wrench)(
        nodes.screws[first:],
        nodes.twists[first:],
        nodes.positions[first:],
        rotors.spin,
        thrust,
        drag,
        rotors.inflow,
        square,
        speed,
    )
