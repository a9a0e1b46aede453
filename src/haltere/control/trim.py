"""A controller that flies with an estimated centre of mass, mass and rotor thrust, within limits of plausibility.

The allocation about the centre of mass, with its hover point, is made anew from the estimate at every tick
([Fresk2017] Section III-B.2): with the centre c, mass m and relative thrust s of every rotor,

    K = K_nominal diag(1 + s),  taken about c,  lifting m g                                               (1)

The centre-of-gravity filter gives the trim for c, s = 0, and for m what the nominal rotors lift: an offset, rotors
unlike the file and steady wind are the same thing in a hover, and the mixer wants their sum. An
estimate reaches the mixer only if it is finite, sure enough, near enough to the nominal one and leaves the vehicle
able to hover; otherwise the last good one stays and a `Reason` is raised. The centre that the mixer uses follows the
estimate no faster than `TrimLimits.speed`.

`SelfTrim` runs that filter beside the controller. For a vehicle that carries something, `fuse_mass_properties` weighs
it against what the servos tell.
"""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np

from haltere.control.controller import GeometricController
from haltere.dynamics.rigid import RigidVehicle
from haltere.estimation.cog.belief import CogBelief, CogEstimate, CogReading
from haltere.estimation.cog.core import CogCore
from haltere.estimation.cog.settings import Reason
from haltere.estimation.payload.fusion import MassSource, VehicleMassProperties, centre_filter, fuse
from haltere.foundation.arrays import Array, ArrayLike, pytree


@dataclass(frozen=True)
class TrimLimits:
    """What counts as plausible; lengths in levers of the vehicle."""

    offset: float = 0.5
    """Largest distance from the nominal centre of mass."""
    sigma: float = 0.05
    """Largest deviation of a component across the thrust."""
    speed: float = 1.0
    """Fastest change of what the mixer uses, per s."""
    mass: tuple[float, float] = (0.5, 2.0)
    """Limits of the mass over the nominal one."""
    thrust: float = 0.3
    """Largest relative thrust of a rotor beyond the nominal one."""
    torque: float = 0.01
    """Largest torque left over at hover, weight times lever."""


@pytree
@dataclass(frozen=True)
class Compensation:
    """The controller in use: that of the last good estimate."""

    controller: GeometricController
    reason: Array
    """() `Reason` of this tick, 0 where the estimate was used."""
    counts: Array
    """(reasons,) how often each was raised."""

    @classmethod
    def of(cls, controller: GeometricController, offset: ArrayLike = 0.0) -> "Compensation":
        """Begin with the numbers of a controller and an offset (3,) of its centre of mass, m."""
        vehicle = controller.vehicle
        moved = controller.with_vehicle(
            replace(vehicle, com=vehicle.com + jnp.asarray(offset, vehicle.com.dtype))
        )
        return cls(moved, jnp.zeros((), int), jnp.zeros(len(Reason), int))


@pytree
@dataclass(frozen=True)
class Trim:
    """What a controller learns of its vehicle, from whichever estimator."""

    com: Array
    """(3,) centre of mass, body axes, m."""
    sigma: Array
    """() its largest deviation across the thrust, m."""
    mass: Array
    """() kg."""
    thrust: Array
    """(R,) or () relative thrust of each rotor beyond the nominal."""

    @classmethod
    def of(cls, estimate: CogEstimate) -> "Trim":
        """What balances the vehicle now, by the centre-of-gravity filter."""
        return cls(estimate.trim, estimate.sigma_across, estimate.lifted_mass, jnp.zeros(()))


def update_trim(
    last: Compensation, nominal: RigidVehicle, estimate: Trim, dt: float, limits: TrimLimits | None = None
) -> Compensation:
    """The controller after an estimate.

    Args:
        last: the one before.
        nominal: the vehicle without any estimate.
        estimate: of the vehicle.
        dt: time since the last estimate, s.
        limits: what counts as plausible.
    """
    bound, before = limits or TrimLimits(), last.controller.vehicle
    lever = nominal.lever
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(x)) for x in jax.tree.leaves(estimate)]))
    com, mass = jnp.where(finite, estimate.com, before.com), jnp.where(finite, estimate.mass, before.mass)
    thrust = jnp.where(finite, estimate.thrust, 0.0)
    low, high = bound.mass
    far = jnp.linalg.norm(com - nominal.com) > bound.offset * lever
    far = far | (mass < low * nominal.mass) | (mass > high * nominal.mass)
    far = far | (jnp.max(jnp.abs(thrust)) > bound.thrust)
    unsure = estimate.sigma > bound.sigma * lever
    step = com - before.com
    length = jnp.sqrt(jnp.maximum(step @ step, 1e-24))
    nearer = before.com + step * jnp.minimum(1.0, bound.speed * lever * dt / length)
    stronger = nominal.allocation * (1.0 + thrust)
    candidate = last.controller.with_vehicle(replace(nominal, com=nearer, mass=mass, allocation=stronger))
    reason = jnp.select(
        [~finite, far, unsure, ~hovers(candidate, bound.torque)],
        [
            Reason.ESTIMATE_NOT_FINITE,
            Reason.ESTIMATE_TOO_FAR,
            Reason.ESTIMATE_UNSURE,
            Reason.ESTIMATE_NOT_FLYABLE,
        ],
        Reason.NONE,
    )
    good = reason == Reason.NONE
    flying = jax.tree.map(lambda new, old: jnp.where(good, new, old), candidate, last.controller)
    return Compensation(flying, reason, last.counts.at[reason].add(1))


def hovers(controller: GeometricController, torque: float) -> Array:
    """() whether the hover point within the limits lifts the weight and leaves little torque across it.

    `torque` counts in weights times levers, and in a tenth of the weight for the lift.
    """
    vehicle, point = controller.vehicle, controller.hover
    left = point.allocation(vehicle) @ point.command
    lift = jnp.abs(left[2] - vehicle.weight) / (0.1 * vehicle.weight)
    across = jnp.max(jnp.abs(left[3:5])) / (vehicle.weight * vehicle.lever)
    return jnp.maximum(lift, across) < torque


def fuse_mass_properties(servos: MassSource, flight: MassSource) -> VehicleMassProperties:
    """Mass and centre of mass of one vehicle, and how far servos, thrust and torque of the rotors disagree.

    The three are weighed by their covariances.

    Args:
        servos: mass M and centre of mass c of the whole vehicle (`haltere.estimation.payload.fusion`).
        flight: the same of the centre-of-gravity filter (`haltere.estimation.cog.payload`), which does not know of it.
    """
    mass, centre = [0], [1, 2, 3]
    sources = {
        "servos": servos,
        "thrust": MassSource((0,), flight.value[mass], flight.cov[np.ix_(mass, mass)]),
        "centre": centre_filter(flight.value[centre], flight.cov[np.ix_(centre, centre)]),
    }
    return fuse(sources)


@pytree
@dataclass(frozen=True)
class Trimmed:
    """What the filter believes and the controller in use."""

    belief: CogBelief
    used: Compensation

    @property
    def controller(self) -> GeometricController:
        """That of the last good estimate."""
        return self.used.controller

    @property
    def allocation(self) -> Array:
        """(6, R) wrench about the centre of mass in use, body axes, force first, per squared rotor speed."""
        return self.controller.vehicle.allocation_at_com


@pytree(static=("limits",))
@dataclass(frozen=True)
class SelfTrim:
    """The CoG filter beside a controller: readings in, a controller for the vehicle as it is now out.

    One step is filter, estimate and compensation (`haltere.estimation.cog.core`, `update_trim`); what is kept between
    steps is a `Trimmed`. Steps can be compiled, mapped and scanned. `nominal` is the vehicle without any estimate.
    """

    filter: CogCore
    nominal: RigidVehicle
    limits: TrimLimits = field(default_factory=TrimLimits)

    def begin(
        self, controller: GeometricController, speeds: Array | None = None, offset: ArrayLike = 0.0
    ) -> Trimmed:
        """With rotor speeds (R,) rad/s (hover where not given) and a guess of the offset (3,), m."""
        return Trimmed(self.filter.begin(speeds, offset), Compensation.of(controller, offset))

    def step(self, last: Trimmed, reading: CogReading) -> tuple[Trimmed, CogEstimate]:
        """After one reading, and what the filter says."""
        belief = self.filter.tick(last.belief, reading)
        estimate = self.filter.estimate(belief)
        used = update_trim(
            last.used, self.nominal, Trim.of(estimate), self.filter.settings.period, self.limits
        )
        return replace(last, belief=belief, used=used), estimate
