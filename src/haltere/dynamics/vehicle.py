"""A vehicle as plain numbers: mass, inertia, allocation and what its rotors can give.

This is what a controller believes and what limits a trajectory; every number is a leaf, so wrong beliefs and
numbers replaced in flight are just other numbers. u = squared rotor speeds, (rad/s)^2. With c = `com` and [c]
its cross-product matrix, the wrench about the centre of mass, in body axes, force first, is

    F = [[1, 0], [-[c], 1]] K u = `allocation_at_com` u,    K = `allocation` about the body origin        (1)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.dynamics import Compact, Model
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.foundation.constants import GRAVITY
from haltere.lie import so3

HEADROOM = 1.5
"""Highest speed over mean hover speed of a rotor whose file names no limits."""


class VehicleError(HaltereError):
    """An airframe that is no vehicle with rotors."""


@pytree
@dataclass(frozen=True)
class VehicleNumbers:
    """One rigid vehicle with R rotors, its joints held."""

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
        """The numbers of an airframe; a rotor without limits turns up to 1.5 times the mean hover speed."""
        if not airframe.rotors:
            raise VehicleError(
                f"{airframe.name}: it has no rotor, at least one is expected; add a [[rotors]] table"
            )
        return cls.from_model(
            Model.from_airframe(airframe), speed_limits(airframe, gravity), joint_angles, gravity
        )

    @property
    def allocation_at_com(self) -> Array:
        """(6, R) wrench about the centre of mass, body axes, per squared speed: equation (1)."""
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

    def perturbed(self, key: Array, relative: ArrayLike = 0.10) -> "VehicleNumbers":
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
