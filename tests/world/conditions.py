"""Conditions of the flights for the centre of gravity: still air or wind, a biased or shaken IMU.

All have the draws of the levels (rotor spread 4 %, positions 2 mm, axes 5 mrad, inertia 8 %, centre of gravity 4 % of
the arm per axis), white noise, low-pass, gyro bias, late telemetry and motor lags of the realistic level. None has
misalignment, scale errors or walks of the IMU, nor a sagging battery. The vehicle weighs what its file says to 0.5 %.
"""

from dataclasses import dataclass, replace

import numpy as np
from tests.world.drawings import Drawing
from tests.world.draws import generator
from tests.world.imu import ImuErrors, draw_errors
from tests.world.levels import REALISTIC, Level
from tests.world.vehicles import Vehicle, draw_vehicle
from tests.world.wind import EDDY, GRID, Wind

BIAS = 0.3  # m/s2
GUST = 0.3  # rms of the gusts over the mean of the wind


@dataclass(frozen=True)
class Condition:
    """A level, and the length of the accelerometer's bias (m/s2), which has a drawn direction."""

    name: str
    level: Level
    accel_bias: float = 0.0


CALM_LEVEL = replace(
    REALISTIC, name="calm", speed_rate=250,
    accel_bias=0.0, accel_bias_walk=0.0, gyro_bias_walk=0.0, imu_scale=0.0, imu_misalignment=0.0,
    accel_vibration=0.0, gyro_vibration=0.0, clock_offset=0.0, stamp_jitter=0.0, dropped=0.0, sag=0.0,
    aero=0.0, wind_mean=0.0, gust=0.0,
)  # fmt: skip
VIBRATION_LEVEL = replace(CALM_LEVEL.with_effects("vibration"), name="vibration")


def windy(mean: float) -> Condition:
    """Wind of `mean` m/s with gusts, real rotors in moving air, biased and shaken IMU."""
    name = f"wind {mean:g}"
    level = replace(VIBRATION_LEVEL, name=name, aero=REALISTIC.aero, wind_mean=mean, gust=GUST * mean)
    return Condition(name, level, BIAS)


CONDITIONS = {
    condition.name: condition
    for condition in (
        Condition("calm", CALM_LEVEL),
        Condition("bias", CALM_LEVEL, BIAS),
        Condition("vibration", VIBRATION_LEVEL),
        windy(3.0),
        windy(6.0),
    )
}


def draw_weighed_vehicle(drawing: Drawing, level: Level, seed: int) -> Vehicle:
    """The true vehicle of a seed whose scale shows the mass of the drawing: mass within 0.5 %, inertia with it."""
    vehicle = draw_vehicle(drawing, level, seed)
    factor = drawing.mass / vehicle.weighed
    return replace(
        vehicle, mass=vehicle.mass * factor, inertia=vehicle.inertia * factor, weighed=np.array(drawing.mass)
    )


def draw_imu_errors(condition: Condition, seed: int, vehicle: Vehicle, duration: float) -> ImuErrors:
    """The errors of one flight's IMU, with the bias of the condition."""
    errors = draw_errors(condition.level, seed, vehicle, duration)
    direction = generator(seed, "accel bias").standard_normal(3)
    bias = condition.accel_bias * direction / np.sqrt((direction**2).sum())
    return replace(errors, accel_bias=errors.accel_bias + bias)


def draw_steady_wind(level: Level, seed: int, duration: float):
    """Wind (K, 6) every 10 ms as of `draw_wind`, but with exactly the level's mean, horizontal."""
    rng = generator(seed, "steady wind")
    heading, length = rng.uniform(0, 2 * np.pi), rng.uniform(10.0, 30.0)
    noise = rng.standard_normal((int(np.ceil(duration / GRID)) + 2, 6))
    passing = np.hypot(level.wind_mean, 2.0)
    decay = np.exp(-GRID * passing / np.array([length] * 3 + [EDDY] * 3))
    sigma = level.gust * np.array([1.0, 1.0, 0.6] + [1 / EDDY] * 3)
    series = sigma * noise
    series[1:] *= np.sqrt(1 - decay**2)
    for k in range(1, len(series)):
        series[k] += decay * series[k - 1]
    series[:, :2] += level.wind_mean * np.array([np.cos(heading), np.sin(heading)])
    return series


class SteadyWind(Wind):
    """The wind of a batch whose mean speed is that of the level in every flight."""

    def __init__(self, level: Level, seeds, duration: float):
        super().__init__(replace(level, wind_mean=0.0, gust=0.0), seeds, 0.0)
        self.calm = level.wind_mean == 0.0 and level.gust == 0.0
        self.series = np.stack([draw_steady_wind(level, seed, duration) for seed in seeds], axis=-1)
