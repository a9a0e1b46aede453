"""One throw of the Monte Carlo: the noise of its sensors, how it leaves the hand, what is carried along until hover.

All types are trees of arrays, of one vehicle; `haltere.scenarios.throw.throws` maps over many.
"""

from dataclasses import dataclass
from typing import Any

import jax

from haltere.dynamics import State
from haltere.estimation.throw.effectiveness import LatencySums
from haltere.estimation.throw.excitation import ThrowDetector
from haltere.estimation.throw.navigation import Heading
from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.scenarios.throw.vehicles import ThrownVehicle

RATE, SAMPLES = 2000.0, 20
DT = 1.0 / RATE
TICK = SAMPLES * DT


@pytree
@dataclass(frozen=True)
class SensorNoise:
    """Of one sample, white; and what is left of the accelerometer's bias."""

    gyro: ArrayLike
    """rad/s."""
    accel: ArrayLike
    """m/s2."""
    bias: ArrayLike = 0.02
    speed: ArrayLike = 2.0
    """Of the rotor speeds, rad/s."""
    position: ArrayLike = 1e-3


NOISES = {
    "none": SensorNoise(0.0, 0.0, 0.0, 0.0, 1e-3),
    "mems": SensorNoise(4.89e-5 * RATE**0.5, 6.86e-4 * RATE**0.5),
    "strong": SensorNoise(0.08, 0.8),
}
"""mems: data sheet of the ICM-42688-P, which [Blaha2024] flies; strong: that of the authors' simulation."""


@pytree
@dataclass(frozen=True)
class ThrowCase:
    """One throw: the vehicle, how it leaves the hand, and what two tumbles said of it."""

    vehicle: ThrownVehicle
    state: State
    """At the beginning of the hand's acceleration."""
    imu_position: Array
    """(3,) of the IMU, IMU axes, as the tumbles gave it, m."""
    shape: Array
    """(3, 3) inertia up to scale, IMU axes, as the tumbles gave it."""
    goal: Array
    """(3,) m."""
    velocity: Array
    """(3,) at release, world, m/s."""
    spin: Array
    """(3,) at release, body, rad/s."""
    bias: Array
    """(3,) of the accelerometer, m/s2."""
    latency: Array
    """() of the rotor speeds, in samples."""
    key: Array

    @property
    def rotors(self) -> int:
        """Number of rotors."""
        return int(self.vehicle.motors.curve.shape[-1])


@pytree
@dataclass(frozen=True)
class Launch:
    """What the first part carries along."""

    state: State
    throw: ThrowDetector
    sums: LatencySums
    wxyz: Array
    """(4,) q_LI."""
    displacement: Array
    """(3,) s of `haltere.estimation.throw.navigation`, m."""
    displacement_rate: Array
    """(3,) its derivative."""
    command: Array
    worst: Array
    """() largest rate that the gyro had to show on one axis, rad/s."""
    notice: Any
    inverse: Array
    past_rotor_speeds: Array
    """(L, m) true rotor speeds of the last samples, the newest first: telemetry is late."""
    lever_displacement: Array
    """(3, 3) what `displacement` changes by with the position that was assumed, m per m."""
    lever_rate: Array
    """(3, 3) its derivative."""


@pytree
@dataclass(frozen=True)
class Fixes:
    """Positions that were seen, and what the IMU said of the way there; stacked over the positions."""

    time: Array
    displacement: Array
    lever_displacement: Array
    position: Array
    weight: Array

    def heading(self, shift: Array) -> Heading:
        """The least squares of `haltere.estimation.throw.navigation` for an IMU that sits `shift` (3,) m aside."""
        displacement = self.displacement - self.lever_displacement @ shift

        def more(now: Heading, fix: Any) -> tuple[Heading, None]:
            return now.update(*fix), None

        return jax.lax.scan(more, Heading.begin(), (self.time, displacement, self.position, self.weight))[0]
