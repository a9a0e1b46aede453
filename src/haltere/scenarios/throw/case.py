"""One throw of the Monte Carlo: the noise of its sensors, how it leaves the hand, what is carried along until hover.

All types are trees of arrays, of one vehicle; `haltere.scenarios.throw.throws` maps over many.
"""

from dataclasses import dataclass

from haltere.control.throw_loop import Ascent, SensorNoise
from haltere.dynamics import State
from haltere.foundation.arrays import Array, pytree
from haltere.scenarios.throw.vehicles import ThrownVehicle

RATE, SAMPLES = 2000.0, 20
DT = 1.0 / RATE
TICK = SAMPLES * DT


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
    ascent: Ascent
    worst: Array
    """() largest rate that the gyro had to show on one axis, rad/s."""
    past_rotor_speeds: Array
    """(L, m) true rotor speeds of the last samples, the newest first: telemetry is late."""
