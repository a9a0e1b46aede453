"""Each effect of a level alone: the ideal world with one group of effects added, and the signal that shows it.

`compare(name)` flies the same seed without and with the effect and returns both signals over time; the tests measure
them, `python -m tests.world.plots` draws them.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from tests.world.drawings import HEXAROTOR, QUADROTOR
from tests.world.flights import Flight, fly
from tests.world.levels import IDEAL, NASTY
from tests.world.sensors import interpolate
from tests.world.vectors import apply, rotation_matrix

SEED = 5


@dataclass(frozen=True)
class Signal:
    """A signal: time (T,) s and values (T,)."""

    time: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class Comparison:
    """The signal that shows an effect, without it and with it."""

    title: str
    without: Signal
    within: Signal


def stream(name, column=0):
    def signal(flight: Flight) -> Signal:
        chosen = flight.streams[name]
        return Signal(chosen.time, chosen.values[:, column])

    return signal


def recorded(name, column=0):
    def signal(flight: Flight) -> Signal:
        return Signal(flight.record.time, getattr(flight.record, name)[:, column])

    return signal


def error(name, field, column=0):
    """A stream minus the record at the time that its stamp says."""

    def signal(flight: Flight) -> Signal:
        chosen = flight.streams[name]
        true = interpolate(flight.record, getattr(flight.record, field), chosen.time)
        return Signal(chosen.time, chosen.values[:, column] - true[:, column])

    return signal


def pose_error(flight: Flight) -> Signal:
    """Distance of the measured marker from where it is at the time of its stamp, m."""
    chosen, record = flight.streams["pose.position"], flight.record
    attitude = rotation_matrix(record.wxyz.T)
    marker = record.position + apply(attitude, flight.vehicle.pose_position[:, None]).T
    away = chosen.values - interpolate(record, marker, chosen.time)
    return Signal(chosen.time, np.sqrt((away**2).sum(axis=1)))


def stamps(flight: Flight) -> Signal:
    """Time between two IMU stamps, s."""
    time = flight.streams["imu.gyro"].time
    return Signal(time[1:], np.diff(time))


def draws(fields):
    """How far the true vehicle is from its drawing, relative or in units of its own, number by number."""

    def signal(flight: Flight) -> Signal:
        parts = []
        for field in fields:
            true = getattr(flight.vehicle, field)
            drawn = getattr(flight.drawing, field)
            parts.append(np.ravel(true - drawn) / (np.abs(drawn).max() or flight.drawing.arm))
        values = np.concatenate(parts)
        return Signal(np.arange(len(values), dtype=float), values)

    return signal


SHOWN = {
    "rates": ("time between IMU stamps, s", stamps),
    "imu_noise": ("gyro x minus true, rad/s", error("imu.gyro", "rate")),
    "speed_noise": ("telemetry of rotor 1 minus true, rad/s", error("rotors.speed", "speed")),
    "pose_noise": ("distance of the marker from where it is, m", pose_error),
    "pose_outliers": ("distance of the marker from where it is, m", pose_error),
    "imu_errors": ("gyro x minus true, rad/s", error("imu.gyro", "rate")),
    "vibration": ("accelerometer x, m/s2", stream("imu.accel")),
    "filters": ("accelerometer x with vibration, m/s2", stream("imu.accel")),
    "latency": ("telemetry of rotor 1 minus true, rad/s", error("rotors.speed", "speed")),
    "clocks": ("time between IMU stamps, s", stamps),
    "motors": ("speed of rotor 1, rad/s", recorded("speed")),
    "rotor_draws": ("true over drawn: thrusts, positions", draws(("thrust_coefficient", "position"))),
    "body_draws": ("true over drawn: inertia, centre of gravity", draws(("inertia", "com"))),
    "aero": ("specific force x of the origin, m/s2", recorded("specific_force")),
    "wind": ("specific force x of the origin, m/s2", recorded("specific_force")),
    "ground": ("command of rotor 1 close to the ground", recorded("command")),
}
NOISELESS = replace(
    IDEAL, accel_noise=0.0, gyro_noise=0.0, speed_noise=0.0, position_noise=0.0, attitude_noise=0.0,
    rotor_spread=0.0, position_error=0.0, axis_error=0.0, com_offset=0.0, inertia_products=0.0, inertia_error=0.0,
)  # fmt: skip


def compare(name: str, duration: float = 2.0, profile: str = "chirps", source=NASTY) -> Comparison:
    """The effect's signal without and with it, on a world without noise and draws, at the sizes of `source`."""
    title, signal = SHOWN[name]
    base = NOISELESS.with_effects("vibration", source=source) if name == "filters" else NOISELESS
    flights = [
        _fly(level, duration, profile, name == "ground")
        for level in (base, base.with_effects(name, source=source))
    ]
    return Comparison(title, *(signal(flight) for flight in flights))


@lru_cache(maxsize=4)
def _fly(level, duration, profile, low):
    drawing, height = (HEXAROTOR, 0.5) if low else (QUADROTOR, 15.0)
    return fly(drawing, level, profile, (SEED,), duration, height=height, settle=0.1, keep_record=True)[0]
