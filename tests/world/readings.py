"""What an estimator in the loop reads: IMU and rotor telemetry of a batch, sampled as the flight goes on.

Gyro and accelerometer run at 1 kHz with vibration, low-pass and noise as in `imu`; every fourth sample is handed on,
which folds what is left of the vibration. Rotor speeds are late, noisy and rounded.
"""

from collections import deque
from dataclasses import dataclass, replace

import numpy as np
from tests.world.draws import generator
from tests.world.imu import Gyro, ImuErrors
from tests.world.levels import Level
from tests.world.plant import Plant
from tests.world.rigid import Motion
from tests.world.sensors import RPM
from tests.world.vectors import cross
from tests.world.vehicles import TICK, Vehicle


@dataclass(frozen=True)
class Readings:
    """One sample of N flights: stamps (N,) s, gyro (N, 3) rad/s, accel (N, 3) m/s2 in IMU axes, speeds (N, R) rad/s."""

    time: np.ndarray
    gyro: np.ndarray
    accel: np.ndarray
    speeds: np.ndarray


class LoopAccelerometer(Gyro):
    """The accelerometer of a batch: the chain of the gyro with errors and lever of its own."""

    def __init__(self, vehicle: Vehicle, errors: ImuErrors, level: Level, seeds, ticks: int, hover: float):
        errors = replace(
            errors,
            gyro_scale=errors.accel_scale,
            gyro_bias=errors.accel_bias,
            gyro_vibration=errors.accel_vibration,
        )
        level = replace(level, gyro_vibration=level.accel_vibration, gyro_cutoff=level.accel_cutoff)
        super().__init__(vehicle, errors, level, seeds, ticks, hover)
        noise = [generator(seed, "accel").standard_normal((ticks, 3)) for seed in seeds]
        self.noise = level.accel_noise * np.stack(noise, axis=-1)
        self.lever = vehicle.imu_position

    def specific_force(self, plant: Plant, rate):
        """True specific force (3, N) at the IMU, body axes, for the step that the plant has just made."""
        turning = cross(plant.angular, self.lever) + cross(rate, cross(rate, self.lever))
        return plant.specific_force + turning


class Sensors:
    """Sensors of a batch, sampled every tick."""

    def __init__(self, vehicle: Vehicle, errors: ImuErrors, level: Level, seeds, ticks: int, hover: float):
        chain = (vehicle, errors, level, seeds, ticks, hover)
        self.gyro, self.accelerometer = Gyro(*chain), LoopAccelerometer(*chain)
        self.late: deque = deque(maxlen=round(level.speed_latency / TICK) + 1)
        self.level = level
        self.speed_noise = [generator(seed, "speed") for seed in seeds]

    def sample(self, tick: int, plant: Plant, before: tuple[Motion, np.ndarray, np.ndarray]) -> None:
        """Sample motion, rotor speeds and angles `before` the step that the plant has just made."""
        motion, speed, angle = before
        self.time = tick * TICK
        self.rate = self.gyro.sample(tick, self.time, motion.rate, angle, speed)
        force = self.accelerometer.specific_force(plant, motion.rate)
        self.force = self.accelerometer.sample(tick, self.time, force, angle, speed)
        self.late.append(speed)

    def readings(self) -> Readings:
        """The last sample, with noise of the telemetry drawn anew."""
        speed = self.late[0]
        noise = np.stack([rng.standard_normal(len(speed)) for rng in self.speed_noise], axis=-1)
        speed = speed * (1 + self.level.speed_noise * noise)
        if self.level.speed_quantum > 0:
            quantum = self.level.speed_quantum * RPM
            speed = np.round(speed / quantum) * quantum
        stamps = np.full(speed.shape[1], self.time)
        return Readings(stamps, self.rate.T.copy(), self.force.T.copy(), speed.T.copy())
