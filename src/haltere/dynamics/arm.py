"""An arm on a base with given motion: what its joints must carry, and the same as a matrix times inertial parameters.

The base's motion is that of its IMU at the body origin: specific force f, rate w and angular acceleration w'. Seen so,
gravity is part of f, and with A = (f, w') the inverse dynamics (`haltere.dynamics.solve`) of the arm alone is

    torque(q'') = h(q, q', f, w, w') + M(q) q'' = Y(q, q', q'', f, w, w') pi                                (1)

with the ten inertial parameters pi of body and links, in which it is linear.
"""

from dataclasses import dataclass, replace
from typing import Self

import jax
import jax.numpy as jnp

from haltere.airframe import Airframe
from haltere.dynamics.loads import LinearParameters
from haltere.dynamics.model import Model
from haltere.dynamics.solve import solve_inverse
from haltere.dynamics.state import Environment, State
from haltere.dynamics.tree import kinematics
from haltere.foundation.arrays import Array

WEIGHTLESS = Environment(gravity=(0.0, 0.0, 0.0))
"""Gravity is part of the specific force."""


@dataclass(frozen=True, eq=False)
class Arm:
    """A vehicle's links without its rotors.

    Attributes:
        model: the links; known when a function of it is compiled, so that its zeros cost nothing.
        link: number of the link that holds the payload, in the model's order, body 0.
    """

    model: Model
    link: int

    @classmethod
    def from_airframe(cls, airframe: Airframe, link: str | None = None) -> Self:
        """The arm of a vehicle; the payload hangs on the last link unless another is named."""
        model = Model.from_airframe(airframe.model_copy(update={"rotors": ()}))
        names = model.topology.link_names
        number = len(names) - 1 if link is None else names.index(airframe.link(link).name)
        return cls(model, number)

    @property
    def bodies(self) -> Array:
        """(L, 10) inertial parameters of body and links, each in its own frame."""
        return self.model.bodies


def joint_torques(
    model: Model,
    bodies: Array,
    angle: Array,
    joint_rate: Array,
    joint_acceleration: Array,
    force: Array,
    rate: Array,
    angular: Array,
) -> Array:
    """(J,) N m of equation (1) for inertial parameters `bodies` (L, 10)."""
    rest = State.rest(model)
    twist = jnp.concatenate([jnp.zeros(3), rate])
    state = replace(rest, twist=twist, joint_angles=angle, joint_rates=joint_rate)
    none = jnp.zeros(0)
    motion = (jnp.concatenate([force, angular]), joint_acceleration, none)
    parameters = LinearParameters(bodies, none, none, ())
    nodes = kinematics(model, state)
    return solve_inverse(model, state, nodes, motion, WEIGHTLESS, parameters)[1]


def effort(
    model: Model, bodies: Array, angle: Array, joint_rate: Array, force: Array, rate: Array, angular: Array
) -> tuple[Array, Array]:
    """H (J,) N m and M (J, J) kg m2 of equation (1), with inertial parameters `bodies` (L, 10)."""

    def torque(acceleration: Array) -> Array:
        return joint_torques(model, bodies, angle, joint_rate, acceleration, force, rate, angular)

    still = jnp.zeros_like(angle)
    return torque(still), jax.jacfwd(torque)(still)


def torque_rows(model: Model, *motion: Array) -> Array:
    """(J, L, 10): Y of equation (1); `motion` as the arguments of `joint_torques` after `bodies`."""
    rows: Array = jax.jacfwd(lambda bodies: joint_torques(model, bodies, *motion))(
        jnp.zeros((model.topology.links, 10))
    )
    return rows
