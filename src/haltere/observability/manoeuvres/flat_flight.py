"""A flight as flatness gives it: motion and rotor speeds along a trajectory, and what it asks of limits.

The trajectory is periodic, with K harmonics of 1/T on each flat output y_j (x, y, z, yaw):

    y_j(t) = y_0j + sum_k a_kj sin(2 pi k t / T) + b_kj cos(2 pi k t / T)                                   (1)

From it `haltere.trajectory` gives attitude, angular rates and wrench, and the least-norm allocation the squared speeds.
Each limit is a share that must not exceed one: room of the rotors, tilt, speed, the box, the ground.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.dynamics.rigid import RigidVehicle
from haltere.foundation.arrays import Array, pytree
from haltere.lie import so3
from haltere.observability.information.fisher import RATE
from haltere.observability.rank import exact
from haltere.observability.rank.rational_vehicle import ObservabilityError, RationalVehicle
from haltere.trajectory import (
    Reference,
    Trajectory,
    TrajectoryError,
    flat_motion,
    flat_wrench,
    hover_fault,
    hover_point,
)
from haltere.trajectory.hovering import HoverPoint
from haltere.trajectory.limits import MARGIN, TILT_LIMIT


@dataclass(frozen=True)
class Limits:
    """What a manoeuvre must keep: SI units, world axes; the box lies around `centre`."""

    size: tuple[float, float, float] = (1.5, 1.5, 1.0)
    """Half the box, m."""
    centre: tuple[float, float, float] = (0.0, 0.0, 1.5)
    speed: float = 4.0
    tilt: float = TILT_LIMIT
    margin: float = MARGIN
    """Part of the rotors' room that stays for feedback."""
    ground: float = 0.3
    """Least height, m."""

    def __post_init__(self) -> None:
        if not all(np.isfinite(half) and half > 0.0 for half in self.size):
            box = " x ".join(f"{half:g}" for half in self.size)
            raise ObservabilityError(f"got a box of {box} m, expected numbers above zero; try 1.5 1.5 1")
        if not (np.isfinite(self.speed) and self.speed > 0.0):
            raise ObservabilityError(
                f"got a highest speed of {self.speed:g} m/s, expected more than zero; try 4"
            )


@pytree
@dataclass(frozen=True)
class FlatFlight:
    """A flight at T instants."""

    motion: Array
    """(T, 13) moving state in the centre of mass on principal axes."""
    inputs: Array
    """(T, R) squared rotor speeds, (rad/s)^2."""
    use: Array
    """(T, L) share of each limit; at most one where the limit is kept."""


@dataclass(frozen=True)
class Pilot:
    """From flat outputs to a `FlatFlight`, for one vehicle."""

    vehicle: RigidVehicle
    hover: HoverPoint
    limits: Limits
    R_BM: Any
    inverse: Any
    """(R, 6) least-norm squared speeds for a wrench in hover axes."""

    @classmethod
    def of(cls, airframe: Airframe, rational: RationalVehicle, limits: Limits) -> "Pilot":
        """The pilot of a vehicle that can hover."""
        vehicle = RigidVehicle.from_airframe(airframe)
        fault = hover_fault(vehicle)
        if fault is not None:
            raise TrajectoryError(f"{airframe.name}: {fault}")
        hover = hover_point(vehicle)
        inverse = np.linalg.pinv(np.asarray(hover.allocation(vehicle)), rcond=1e-10)
        return cls(vehicle, hover, limits, exact.floats(exact.rotation(rational.wxyz_BM)), inverse)

    def fly(self, derivatives: Array) -> FlatFlight:
        """Along flat outputs with derivatives (T, 5, 4)."""
        vehicle, hover, limits = self.vehicle, self.hover, self.limits
        turn = jnp.asarray(hover.frame).T @ self.R_BM
        box, centre = jnp.asarray(limits.size), jnp.asarray(limits.centre)

        def one(flat: Array) -> FlatFlight:
            reference = Reference.from_derivatives(flat)
            motion = flat_motion(vehicle, hover, reference)
            u: Array = jnp.asarray(self.inverse) @ flat_wrench(vehicle, hover, motion)
            R_WM = motion.R_WH @ turn
            state = jnp.concatenate(
                [motion.com_position, R_WM.T @ motion.com_velocity, _wxyz(R_WM), turn.T @ motion.rate]
            )
            room = jnp.where(u > hover.command, vehicle.high - hover.command, hover.command - vehicle.low)
            rotors = (
                jnp.abs(u - hover.command) / jnp.maximum(room, 1e-6 * vehicle.high) / (1.0 - limits.margin)
            )
            lean = (1.0 - motion.R_WH[2, 2]) / (1.0 - np.cos(limits.tilt))
            speed = jnp.sqrt(flat[1, :3] @ flat[1, :3] + 1e-12) / limits.speed
            inside = jnp.abs(flat[0, :3] - centre) / box
            low = (centre[2] - flat[0, 2]) / (centre[2] - limits.ground)
            return FlatFlight(state, u, jnp.concatenate([rotors, lean[None], speed[None], inside, low[None]]))

        flown: FlatFlight = jax.vmap(one)(derivatives)
        return flown


def _wxyz(R: Array) -> Array:
    """(4,) quaternion of a rotation that is not by pi about a level axis, smooth in R."""
    w = jnp.sqrt(jnp.maximum(1.0 + jnp.trace(R), 1e-9)) / 2.0
    return jnp.concatenate([w[None], so3.vee(R - R.T) / (4.0 * w)])


def sample_trajectory(trajectory: Trajectory, seconds: float) -> Array:
    """(T, 5, 4) flat outputs at `RATE` from the start, for so many seconds."""
    return jax.vmap(trajectory.derivatives)(jnp.arange(round(seconds * RATE)) / RATE)
