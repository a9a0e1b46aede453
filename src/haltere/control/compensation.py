"""A controller that flies with an estimated centre of mass: limits, plausibility, and the last good estimate.

The allocation about the centre of mass, with its hover point, is made anew from the estimate at every tick
([Fresk2017] Section III-B.2). An estimate reaches the mixer only if it is finite, sure enough, near enough to the
nominal place and leaves the vehicle able to hover; otherwise the last good one stays and a `Reason` is raised. What the
mixer uses follows the estimate no faster than `Limits.speed`.
"""

from dataclasses import dataclass, replace

import jax.numpy as jnp

from haltere.control.controller import GeometricController
from haltere.dynamics.model import leaves
from haltere.estimation.cog_settings import Reason
from haltere.foundation.arrays import Array
from haltere.trajectory import VehicleNumbers, hover_point


@dataclass(frozen=True)
class Limits:
    """What counts as plausible; lengths in levers of the vehicle."""

    offset: float = 0.5
    """Largest distance from the nominal centre of mass."""
    sigma: float = 0.05
    """Largest deviation of a component across the thrust."""
    speed: float = 1.0
    """Fastest change of what the mixer uses, per s."""
    mass: tuple[float, float] = (0.5, 2.0)
    """Limits of the mass over the nominal one."""
    torque: float = 0.01
    """Largest torque left over at hover, weight times lever."""


@leaves("com", "mass", "reason", "counts")
@dataclass(frozen=True)
class Compensation:
    """What the mixer uses."""

    com: Array
    """(3,) m."""
    mass: Array
    """() kg."""
    reason: Array
    """() `Reason` of this tick, 0 where the estimate was used."""
    counts: Array
    """(reasons,) how often each was raised."""

    @classmethod
    def of(cls, vehicle: VehicleNumbers) -> "Compensation":
        """Begin with the nominal numbers."""
        return cls(vehicle.com, vehicle.mass, jnp.zeros((), int), jnp.zeros(len(Reason), int))


def renewed(
    last: Compensation,
    vehicle: VehicleNumbers,
    com: Array,
    sigma: Array,
    mass: Array,
    dt: float,
    limits: Limits | None = None,
) -> Compensation:
    """What the mixer uses after an estimate.

    Args:
        last: what it used before.
        vehicle: the nominal vehicle.
        com: (3,) estimated centre of mass, body axes, m.
        sigma: () its largest deviation across the thrust, m.
        mass: () estimated mass, kg.
        dt: time since the last estimate, s.
        limits: what counts as plausible.
    """
    bound = limits or Limits()
    lever = vehicle.lever
    finite = jnp.all(jnp.isfinite(com)) & jnp.isfinite(sigma) & jnp.isfinite(mass)
    com, mass = jnp.where(finite, com, last.com), jnp.where(finite, mass, last.mass)
    far = jnp.linalg.norm(com - vehicle.com) > bound.offset * lever
    low, high = bound.mass
    far = far | (mass < low * vehicle.mass) | (mass > high * vehicle.mass)
    unsure = sigma > bound.sigma * lever
    flyable = hovers(replace(vehicle, com=com, mass=mass), bound.torque)
    reason = jnp.select(
        [~finite, far, unsure, ~flyable],
        [
            Reason.ESTIMATE_NOT_FINITE,
            Reason.ESTIMATE_TOO_FAR,
            Reason.ESTIMATE_UNSURE,
            Reason.ESTIMATE_NOT_FLYABLE,
        ],
        Reason.NONE,
    )
    step = com - last.com
    length = jnp.sqrt(jnp.maximum(step @ step, 1e-24))
    nearer = last.com + step * jnp.minimum(1.0, bound.speed * lever * dt / length)
    good = reason == Reason.NONE
    return Compensation(
        jnp.where(good, nearer, last.com),
        jnp.where(good, mass, last.mass),
        reason,
        last.counts.at[reason].add(1),
    )


def hovers(vehicle: VehicleNumbers, torque: float) -> Array:
    """() whether the hover point within the limits leaves less than `torque` weights times levers over."""
    point = hover_point(vehicle)
    left = point.allocation(vehicle) @ point.command
    wanted = jnp.zeros(6, left.dtype).at[2].set(vehicle.weight)
    unit = jnp.concatenate([jnp.full(3, 10.0), jnp.full(3, 1.0 / vehicle.lever)]) / vehicle.weight
    return jnp.max(jnp.abs(unit * (left - wanted))[jnp.asarray([2, 3, 4])]) < torque


def compensated(controller: GeometricController, used: Compensation) -> GeometricController:
    """The controller with the centre of mass and mass in use."""
    return controller.with_vehicle(replace(controller.vehicle, com=used.com, mass=used.mass))
