"""The vehicle as one rigid body, its joints held: compact model, mass properties, allocation and rotor limits.

`Compact` is the equation of motion of a vehicle whose rotors do not tilt; `at_rest` and `MassProperties` are mass,
centre of mass and inertia of a vehicle at one posture; `RigidVehicle` is what a controller believes of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.dynamics.inertia import generalized_inertia
from haltere.dynamics.loads import rotor_wrenches
from haltere.dynamics.model import Model, locked_rotors
from haltere.dynamics.solve import gravity_in_body, ldl_solve
from haltere.dynamics.state import Environment, State
from haltere.dynamics.tree import inertias_in_body, kinematics
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array, ArrayLike, compiled, pytree
from haltere.foundation.constants import GRAVITY
from haltere.foundation.numbers import Floats
from haltere.foundation.programs import CachedProgram
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
    """The compact model of a vehicle whose rotors do not tilt: the three constant matrices of equation (1).

        G_T V' = ad(V)^T (G_T V + H w) + G_T (R_WB^T g, 0) + K w|w| - H w' + W                            (1)

    G_T = `inertia` of the whole vehicle, K = `allocation` ([Hong2021] eq. (62)), H = `spin` with the columns G_i S_i
    ([Hong2021] eqs. (58), (66)). It holds exactly when no link moves and every rotor is balanced and axisymmetric
    about its axis, in still air or without inflow coefficients; `mismatch` says how far a model is from that. Without
    H it is [Hong2021] eq. (62).
    """

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


def _at_rest(model: Model, angles: Array) -> tuple[Array, Array, Array, Array, Array]:
    still = locked_rotors(model)
    nodes = kinematics(still, replace(State.rest(still), joint_angles=angles))
    return (*Compact.from_model(still, angles).mass_properties, nodes.positions, nodes.rotations)


at_rest = CachedProgram(_at_rest, None, (0, 0, 0, 0, 0), fast_compile=True)
"""Of a model at joint angles (J,) rad: mass, centre of mass (3,), inertia about it (3, 3); of links and rotors the
positions (L + R, 3) and axes (L + R, 3, 3); in body axes, kg, m."""


@dataclass(frozen=True)
class MassProperties:
    """Mass, centre of mass and inertia of the whole vehicle at one posture, taken from the dynamics."""

    mass: float
    """kg."""
    com: Floats
    """(3,) centre of mass in the body frame, m."""
    inertia: Floats
    """(3, 3) about the centre of mass, body axes, kg m2."""

    @classmethod
    def of(cls, model: Model, joint_angles: ArrayLike | None = None) -> Self:
        """With the links held at `joint_angles` (J,) rad, by default all zero."""
        angles = np.zeros(model.topology.joints) if joint_angles is None else np.asarray(joint_angles, float)
        mass, com, inertia, *_ = (np.asarray(x) for x in at_rest(model, angles))
        return cls(float(mass), com, inertia)


HEADROOM = 1.5
"""Highest speed over mean hover speed of a rotor whose file names no limits."""


class VehicleError(HaltereError):
    """An airframe that is no vehicle with rotors."""


@pytree
@dataclass(frozen=True)
class RigidVehicle:
    """One rigid vehicle with R rotors, its joints held, as plain numbers.

    This is what a controller believes and what limits a trajectory; every number is a leaf, so wrong beliefs and
    numbers replaced in flight are just other numbers. u = squared rotor speeds, (rad/s)^2. With c = `com` and [c]
    its cross-product matrix, the wrench about the centre of mass, in body axes, force first, is

        F = [[1, 0], [-[c], 1]] K u = `allocation_at_com` u,    K = `allocation` about the body origin    (2)
    """

    mass: Array
    """() kg."""
    com: Array
    """(3,) centre of mass, body axes, m."""
    inertia: Array
    """(3, 3) about the centre of mass, body axes, kg m2."""
    allocation: Array
    """(6, R) wrench about the body origin, body axes, force first, per squared rotor speed."""
    low: Array
    """(R,) least squared speed, (rad/s)^2."""
    high: Array
    """(R,) largest squared speed, (rad/s)^2."""
    gravity: Array
    """() m/s2, along -z of the world."""

    @classmethod
    def from_model(
        cls,
        model: Model,
        speed_limits: ArrayLike | Sequence[Sequence[float]],
        joint_angles: ArrayLike | None = None,
        gravity: ArrayLike = GRAVITY,
    ) -> Self:
        """The numbers of a model whose links are held.

        Args:
            model: the vehicle.
            speed_limits: (R, 2) lowest and highest speed of each rotor, rad/s.
            joint_angles: (J,) rad; zero where not given.
            gravity: m/s2.
        """
        held = None if joint_angles is None else jnp.asarray(joint_angles, model.dtype)
        mass, com, inertia, allocation = _rigid(model, held)
        speeds = jnp.asarray(speed_limits, model.dtype).reshape(-1, 2)
        low, high = speeds[:, 0] * jnp.abs(speeds[:, 0]), speeds[:, 1] * jnp.abs(speeds[:, 1])
        return cls(mass, com, inertia, allocation, low, high, jnp.asarray(gravity, model.dtype))

    @classmethod
    def from_airframe(
        cls, airframe: Airframe, joint_angles: ArrayLike | None = None, gravity: float = GRAVITY
    ) -> Self:
        """The numbers of an airframe; a rotor without limits spins up to 1.5 times the mean hover speed."""
        if not airframe.rotors:
            raise VehicleError(
                f"{airframe.name}: it has no rotor, at least one is expected; add a [[rotors]] table"
            )
        return cls.from_model(
            Model.from_airframe(airframe), speed_limits(airframe, gravity), joint_angles, gravity
        )

    @property
    def allocation_at_com(self) -> Array:
        """(6, R) wrench about the centre of mass, body axes, per squared speed: equation (2)."""
        force = self.allocation[:3]
        return jnp.concatenate([force, self.allocation[3:] - so3.hat(self.com) @ force])

    @property
    def weight(self) -> Array:
        """() N."""
        return self.mass * self.gravity

    @property
    def lever(self) -> Array:
        """() typical arm of a rotor: root mean square of torque across the body's z over force, m."""
        table = self.allocation_at_com
        return jnp.sqrt(jnp.sum(table[3:5] ** 2) / jnp.sum(table[:3] ** 2))

    def perturbed(self, key: Array, relative: ArrayLike = 0.10) -> "RigidVehicle":
        """Wrong numbers: mass, com, inertia and every entry of the allocation off by up to `relative`.

        Each number gets a factor of its own, drawn evenly from 1 - relative to 1 + relative. The inertia I
        becomes D I D with D = diag(sqrt(factors)), so that it stays positive definite. Zeros stay zero:
        errors of strength, arm and torque ratio of each rotor, not of its symmetry. Limits and gravity stay.
        """
        mass_key, com_key, inertia_key, allocation_key = jax.random.split(key, 4)

        def factor(one: Array, shape: tuple[int, ...]) -> Array:
            return 1.0 + jnp.asarray(relative) * jax.random.uniform(one, shape, self.mass.dtype, -1.0, 1.0)

        stretch = jnp.sqrt(factor(inertia_key, (3,)))
        return replace(
            self,
            mass=self.mass * factor(mass_key, ()),
            com=self.com * factor(com_key, (3,)),
            inertia=self.inertia * stretch[:, None] * stretch[None, :],
            allocation=self.allocation * factor(allocation_key, self.allocation.shape),
        )


@jax.jit
def _rigid(model: Model, joint_angles: Array | None) -> tuple[Array, Array, Array, Array]:
    """Mass, centre of mass, inertia about it, and allocation of a model whose links are held."""
    compact = Compact.from_model(model, joint_angles)
    return *compact.mass_properties, compact.allocation


def speed_limits(airframe: Airframe, gravity: float = GRAVITY) -> tuple[tuple[float, float], ...]:
    """(R, 2) lowest and highest speed of each rotor, rad/s; the idle speed is the lowest where there is one."""
    strength = sum(rotor.thrust_coefficient for rotor in airframe.rotors)
    top = HEADROOM * float(np.sqrt(airframe.total_mass * gravity / strength)) if strength > 0.0 else 1.0
    pairs = ((rotor.speed_limits or (0.0, top), rotor.idle_speed) for rotor in airframe.rotors)
    return tuple((idle or low, high) for (low, high), idle in pairs)
