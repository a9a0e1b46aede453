"""Feedback gains from bandwidths, by pole placement, and bandwidths from the size of the vehicle.

A double integrator under feedback -k x - d x' has both poles at angular frequency w = bandwidth with damping
ratio z for

    k = w^2,   d = 2 z w;   an integral part with its own pole about a times lower:  k_i = a w^3           (1)

Lengths l and times sqrt(l / g) go together when a vehicle is scaled, so with lever l of the rotors and motor
lag T:

    w_attitude = min(2 sqrt(g / l), 1 / (2 T)),  w_yaw = y w_attitude,  w_position = w_attitude / 4        (2)

within the bounds given below; y^2 is the ratio of the angular accelerations that the rotors have about yaw
and about roll and pitch, y from 1/3 to 1. A quadrotor of 0.17 m and fast motors gets 15, 5 and 3.8 rad/s.
Motors that are slow for the size of the vehicle are led: with measured speed w and wanted speed w_d, the
command

    w + r (w_d - w),   r = lag / T = `lead`                                                                (3)

makes a motor of time constant `lag` answer like one of T; r is at most 4.
"""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from haltere.control.errors import ControlError
from haltere.dynamics.rigid import RigidVehicle
from haltere.foundation.arrays import Array, ArrayLike, pytree

MOST_LEAD = 4.0
"""Largest r of equation (3): it multiplies the noise of measured speeds."""
SHORTEST_LAG = 1e-3
"""s."""


def _by_size(vehicle: RigidVehicle) -> Array:
    """() bandwidth of the attitude of a vehicle of this size with fast motors, rad/s."""
    return 2.0 * jnp.sqrt(vehicle.gravity / vehicle.lever)


def _yaw_fraction(vehicle: RigidVehicle) -> Array:
    """() y of equation (2), taken about the axes of the body."""
    torque = vehicle.allocation_at_com[3:] * (vehicle.high - vehicle.low)
    turning = jnp.sqrt(jnp.sum(torque**2, axis=1)) / jnp.diagonal(vehicle.inertia)
    return jnp.sqrt(2.0 * turning[2] / (turning[0] + turning[1]))


def lead_ratio(vehicle: RigidVehicle, lag: ArrayLike) -> Array:
    """() r of equation (3) that makes motors of time constant `lag` (s) quick enough for the vehicle's size."""
    slow = jnp.maximum(jnp.asarray(lag, vehicle.mass.dtype), SHORTEST_LAG)
    return jnp.clip(slow * 4.0 * _by_size(vehicle), 1.0, MOST_LEAD)


@pytree
@dataclass(frozen=True)
class Bandwidths:
    """How fast errors shall vanish, rad/s, and how well damped."""

    position: ArrayLike
    attitude: ArrayLike
    yaw: ArrayLike
    damping: ArrayLike = 0.9
    """Ratio z of equation (1)."""
    integral: ArrayLike = 0.15
    """Ratio a of equation (1); zero switches the integral part off."""

    @classmethod
    def for_vehicle(cls, vehicle: RigidVehicle, lag: ArrayLike = 0.0) -> "Bandwidths":
        """Equation (2), for motors with the time constant `lag` (s), led or not."""
        by_lag = 0.5 / jnp.maximum(jnp.asarray(lag, vehicle.mass.dtype), SHORTEST_LAG)
        attitude = jnp.minimum(_by_size(vehicle), by_lag)
        position = jnp.clip(attitude / 4.0, 0.5, 4.0)
        return cls(position, attitude, attitude * jnp.clip(_yaw_fraction(vehicle), 1.0 / 3.0, 1.0))


@pytree
@dataclass(frozen=True)
class Gains:
    """Accelerations per error; positions in world axes, attitude in hover axes (roll, pitch, yaw)."""

    position: Array
    """() 1/s2."""
    velocity: Array
    """() 1/s."""
    integral: Array
    """() 1/s3."""
    attitude: Array
    """(3,) 1/s2."""
    rate: Array
    """(3,) 1/s."""
    yaw_integral: Array
    """() 1/s3."""

    @classmethod
    def from_bandwidths(cls, bandwidths: Bandwidths, dtype: Any = float) -> "Gains":
        """Equation (1)."""
        position, attitude, yaw, damping, integral = (
            jnp.asarray(x, dtype)
            for x in (
                bandwidths.position,
                bandwidths.attitude,
                bandwidths.yaw,
                bandwidths.damping,
                bandwidths.integral,
            )
        )
        turning = jnp.stack([attitude, attitude, yaw])
        return cls(
            position**2,
            2.0 * damping * position,
            integral * position**3,
            turning**2,
            2.0 * damping * turning,
            integral * yaw**3,
        )


def check_bandwidths(bandwidths: Bandwidths) -> None:
    """Raise a `ControlError` for a bandwidth that is not above zero."""
    for name in ("position", "attitude", "yaw", "damping"):
        value = float(jnp.asarray(getattr(bandwidths, name)))
        if not (value > 0.0 and jnp.isfinite(value)):
            raise ControlError(f"bandwidth {name}: got {value:g}; give a finite number above zero")
