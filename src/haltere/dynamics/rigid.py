"""The compact model of a vehicle whose rotors do not tilt, with its allocation matrix.

    G_T V' = ad(V)^T (G_T V + H w) + G_T (R_WB^T g, 0) + K w|w| - H w' + W                                (1)

G_T = `inertia` of the whole vehicle, K = `allocation` ([Hong2021] eq. (62)), H = `spin` with the columns G_i S_i
([Hong2021] eqs. (58), (66)). It holds exactly when no link moves and every rotor is balanced and axisymmetric about
its axis, in still air or without inflow coefficients; `Compact.mismatch` says how far a model is from that. Without H
it is (62).
"""

from dataclasses import dataclass
from typing import Self

import jax
import jax.numpy as jnp
import numpy as np

from haltere.dynamics.inertia import generalized_inertia
from haltere.dynamics.model import Model
from haltere.dynamics.rotor import rotor_wrenches
from haltere.dynamics.solve import gravity_in_body, ldl_solve
from haltere.dynamics.state import Environment, State
from haltere.dynamics.tree import inertias_in_body, kinematics
from haltere.foundation.arrays import Array, compiled, pytree
from haltere.lie import se3, so3


@compiled
def allocation_matrix(model: Model, joint_angles: Array | None = None) -> Array:
    """(6, R) wrench about the body origin (body axes, force first) per squared rotor speed, [Hong2021] eq. (62)."""
    state = _posture(model, joint_angles)
    still, ones = jnp.zeros(3, model.dtype), jnp.ones(model.topology.rotors, model.dtype)
    return rotor_wrenches(model, kinematics(model, state), still, ones, ones).T


def _posture(model: Model, joint_angles: Array | None) -> State:
    rest = State.rest(model)
    angles = rest.joint_angles if joint_angles is None else jnp.asarray(joint_angles, model.dtype)
    return State(rest.position, rest.wxyz, rest.twist, angles, *([rest.joint_rates, *2 * [rest.rotor_rates]]))


@compiled
def _matrices(model: Model, joint_angles: Array | None) -> tuple[Array, Array, Array]:
    nodes = kinematics(model, _posture(model, joint_angles))
    inertias = jax.vmap(generalized_inertia)(inertias_in_body(nodes, model.bodies))
    first = model.topology.links
    spin = jnp.einsum("rij,rj->ir", inertias[first:], nodes.screws[first:])
    return jnp.sum(inertias, axis=0), allocation_matrix(model, joint_angles), spin


@pytree
@dataclass(frozen=True)
class Compact:
    """The three constant matrices of equation (1)."""

    inertia: Array
    """(6, 6) G_T, linear first."""
    allocation: Array
    """(6, R) K."""
    spin: Array
    """(6, R) H: momentum per rotor speed."""

    @classmethod
    def from_model(cls, model: Model, joint_angles: Array | None = None) -> Self:
        """The compact model with the links held at `joint_angles` (J,)."""
        return cls(*_matrices(model, joint_angles))

    @property
    def mass_properties(self) -> tuple[Array, Array, Array]:
        """Mass () kg, centre of mass (3,) m and inertia (3, 3) about it, kg m2, of the whole vehicle in body axes."""
        mass = self.inertia[0, 0]
        com = so3.vee(self.inertia[3:, :3]) / mass
        lever = so3.hat(com)
        return mass, com, self.inertia[3:, 3:] + mass * (lever @ lever)

    def acceleration(
        self,
        model: Model,
        state: State,
        rotor_accelerations: Array,
        environment: Environment | None = None,
        wrench: Array | None = None,
    ) -> Array:
        """(6,) derivative of the twist by equation (1); `wrench` (6,) acts on the body at its origin."""
        environment = environment or Environment()
        rates = state.rotor_rates
        momentum = self.inertia @ state.twist + self.spin @ rates
        force = se3.ad(state.twist).T @ momentum + self.allocation @ (rates * jnp.abs(rates))
        force = force - self.spin @ rotor_accelerations
        if wrench is not None:
            force = force + wrench
        return ldl_solve(self.inertia, force) + gravity_in_body(model, state, environment)

    @staticmethod
    def mismatch(model: Model) -> float:
        """Largest off-axis mass or inertia of a rotor, relative to its own: 0 where the compact form is exact."""
        worst = 0.0
        rotors = jax.tree.map(np.asarray, model.rotors)
        for axis, mass, com, inertia in zip(
            rotors.axis, rotors.mass, rotors.com, rotors.inertia, strict=True
        ):
            size = np.trace(inertia)
            if mass == 0.0 and size == 0.0:
                continue
            across = np.eye(3) - np.outer(axis, axis)
            radius = np.sqrt(size / mass) if mass > 0.0 else 1.0
            worst = max(worst, float(np.linalg.norm(across @ com) / radius))
            turned = np.asarray(so3.hat(jnp.asarray(axis))) @ inertia
            worst = max(worst, float(np.linalg.norm(turned + turned.T) / size))
        return worst
