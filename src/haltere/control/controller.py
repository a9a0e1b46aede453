"""What a geometric controller knows, all of it numbers that may be wrong, mapped over or replaced in flight."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp

from haltere.airframe import Airframe
from haltere.control.errors import ControlError
from haltere.control.gains import Bandwidths, Gains, check_bandwidths, lead_ratio
from haltere.dynamics import Model
from haltere.dynamics.rigid import RigidVehicle, VehicleError
from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.trajectory import HoverPoint, hover_fault, hover_point

TILT_LIMIT = 1.2
"""Largest angle between the wanted force and the vertical, rad."""


@pytree
@dataclass(frozen=True)
class Integral:
    """What the integral parts have gathered, as accelerations."""

    force: Array
    """(3,) i of equation (1), world axes, m/s2."""
    yaw: Array
    """() j of equation (5), rad/s2."""

    @classmethod
    def zero(cls, dtype: Any = float) -> "Integral":
        """Nothing gathered yet."""
        return cls(jnp.zeros(3, dtype), jnp.zeros((), dtype))


@pytree
@dataclass(frozen=True)
class GeometricController:
    """What a controller knows; see `command` and `control_step`."""

    vehicle: RigidVehicle
    hover: HoverPoint
    gains: Gains
    lead: Array
    """() how much faster than by themselves the motors shall answer, see `haltere.control.gains`; 1 is off."""
    rate_limit: Array
    """(3,) largest angular rate towards the wanted attitude, hover axes, rad/s, see `rate_limit`."""
    tilt_limit: Array
    """() rad."""

    @classmethod
    def from_vehicle(
        cls,
        vehicle: RigidVehicle,
        bandwidths: Bandwidths | None = None,
        lag: ArrayLike = 0.0,
        delay: ArrayLike = 0.0,
        tilt_limit: ArrayLike = TILT_LIMIT,
    ) -> "GeometricController":
        """A controller for these numbers; JAX throughout, so it may be mapped over vehicles. No check is made.

        Args:
            vehicle: what the controller believes.
            bandwidths: how fast errors vanish; from the vehicle's size and `lag` where not given.
            lag: time constant of the motors, s; slow ones are led by the speeds in the state.
            delay: dead time from command to motor, s.
            tilt_limit: largest tilt, rad.
        """
        dtype = vehicle.mass.dtype
        lead = lead_ratio(vehicle, lag)
        chosen = bandwidths or Bandwidths.for_vehicle(vehicle, jnp.asarray(lag) / lead + jnp.asarray(delay))
        gains, hover = Gains.from_bandwidths(chosen, dtype), hover_point(vehicle)
        limit = rate_limit(vehicle, hover, gains, lead)
        return cls(vehicle, hover, gains, lead, limit, jnp.asarray(tilt_limit, dtype))

    @classmethod
    def from_model(
        cls,
        model: Model,
        speed_limits: ArrayLike | Sequence[Sequence[float]],
        joint_angles: ArrayLike | None = None,
        bandwidths: Bandwidths | None = None,
        lag: ArrayLike = 0.0,
    ) -> "GeometricController":
        """A controller for a model held at `joint_angles` (J,) rad; `speed_limits` (R, 2) rad/s.

        Raises:
            ControlError: the vehicle cannot hover, or a bandwidth is not above zero.
        """
        vehicle = RigidVehicle.from_model(model, speed_limits, joint_angles)
        return cls._checked(vehicle, bandwidths, lag, 0.0)

    @classmethod
    def from_airframe(
        cls,
        airframe: Airframe,
        joint_angles: ArrayLike | None = None,
        bandwidths: Bandwidths | None = None,
    ) -> "GeometricController":
        """A controller for an airframe held at `joint_angles` (J,) rad, with the limits and lag of its file.

        Raises:
            ControlError: the vehicle cannot hover, or a bandwidth is not above zero.
        """
        try:
            vehicle = RigidVehicle.from_airframe(airframe, joint_angles)
        except VehicleError as error:
            raise ControlError(str(error)) from error
        lag = max(rotor.time_constant or 0.0 for rotor in airframe.rotors)
        delay = max(rotor.delay or 0.0 for rotor in airframe.rotors)
        return cls._checked(vehicle, bandwidths, lag, delay, airframe.name)

    @classmethod
    def _checked(
        cls,
        vehicle: RigidVehicle,
        bandwidths: Bandwidths | None,
        lag: ArrayLike,
        delay: float,
        name: str = "",
    ) -> "GeometricController":
        fault = hover_fault(vehicle)
        if fault is not None:
            raise ControlError(f"{name}: {fault}" if name else fault)
        if bandwidths is not None:
            check_bandwidths(bandwidths)
        return cls.from_vehicle(vehicle, bandwidths, lag, delay)

    def with_vehicle(self, vehicle: RigidVehicle) -> "GeometricController":
        """The same gains with other beliefs, for instance an allocation identified in flight."""
        hover = hover_point(vehicle)
        limit = rate_limit(vehicle, hover, self.gains, self.lead)
        return replace(self, vehicle=vehicle, hover=hover, rate_limit=limit)

    def perturbed(self, key: Array, relative: ArrayLike = 0.10) -> "GeometricController":
        """Wrong beliefs, see `RigidVehicle.perturbed`."""
        return self.with_vehicle(self.vehicle.perturbed(key, relative))


def rate_limit(vehicle: RigidVehicle, hover: HoverPoint, gains: Gains, lead: Array) -> Array:
    """(3,) rad/s: a rotation that the rate feedback starts and stops with the torques there are at hover.

    Faster ones make slow motors swing between their limits: the lead works only while they are inside.
    """
    room = jnp.minimum(hover.command - vehicle.low, vehicle.high - hover.command)
    torque = jnp.sum(jnp.abs(hover.allocation(vehicle)[3:]) * room, axis=1)
    inertia = jnp.diagonal(hover.frame.T @ vehicle.inertia @ hover.frame)
    limit: Array = 2.0 * torque / (inertia * gains.rate * lead)
    return limit
