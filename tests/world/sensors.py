"""What is logged of a flight: streams sampled from the fine record of the plant.

Every stream starts at a phase of its own. The rotor telemetry and the pose are late: the sample stamped t holds the
state at t minus the lateness. The IMU and the commands share the flight computer's clock; the others have an offset
from it.
"""

from dataclasses import dataclass

import numpy as np
from tests.world.drawings import Drawing
from tests.world.draws import generator
from tests.world.imu import ImuErrors, measure_acceleration
from tests.world.levels import Level
from tests.world.streams import Stream, draw_clock
from tests.world.vectors import apply, multiply, quaternion_of_vector, rotation_matrix
from tests.world.vehicles import TICK, Vehicle

FULL_VOLTAGE = 16.8  # V
BATTERY_RATE = 10.0  # Hz
RPM = 2 * np.pi / 60


@dataclass(frozen=True)
class Record:
    """The true flight every millisecond: arrays (T, ...), positions of the origin, body axes but for the first two."""

    time: np.ndarray
    position: np.ndarray  # (T, 3) world
    velocity: np.ndarray  # (T, 3) world
    wxyz: np.ndarray  # (T, 4)
    rate: np.ndarray  # (T, 3)
    specific_force: np.ndarray  # (T, 3) of the origin
    angular: np.ndarray  # (T, 3) angular acceleration
    speed: np.ndarray  # (T, R)
    angle: np.ndarray  # (T, R) of the rotors
    command: np.ndarray  # (T, R) as the controller gives it
    gyro: np.ndarray  # (T, 3) as the flight controller reads it
    voltage: np.ndarray  # (T,) of the full one
    arm: dict[str, np.ndarray] | None = None  # (T, J) each: angle, rate, goal, duty, torque


@dataclass(frozen=True)
class Lateness:
    """How late a flight's streams are, s: lateness plus clock offset is what a log shows."""

    speed: float
    pose: float
    speed_clock: float
    pose_clock: float


def sample(record: Record, vehicle: Vehicle, drawing: Drawing, level: Level, errors: ImuErrors, seed: int):
    """Streams by channel and the lateness of the flight."""
    names = drawing.rotor_names
    duration = float(record.time[-1])
    rng = generator(seed, "clocks")
    speed_late = level.speed_latency * rng.uniform(0.8, 1.2)
    pose_late = level.pose_latency * rng.uniform(0.8, 1.2)
    clocks = {
        name: draw_clock(level, rng, duration, offset)
        for name, offset in (
            ("imu", 0.0), ("command", 0.0), ("speed", level.clock_offset), ("pose", level.clock_offset),
            ("battery", level.clock_offset),
        )
    }  # fmt: skip

    def grid(name, rate):
        period = 1.0 / rate
        phase = generator(seed, f"{name} phase").uniform(0.0, period)
        return np.arange(phase, duration, period)

    def streams_of(name, time, parts):
        stamps, arrived = clocks[name].stamp(time, generator(seed, f"{name} clock"))
        return {
            channel: Stream(stamps[arrived], values[arrived], columns, unit)
            for channel, values, columns, unit in parts
        }

    streams = {}
    stride = round(1 / (level.imu_rate * TICK))
    first = int(generator(seed, "imu phase").integers(stride))
    accel = measure_acceleration(level, vehicle, errors, seed, record, drawing.hover_speed)
    axes = ("x", "y", "z")
    streams |= streams_of("imu", record.time[first::stride], [
        ("imu.accel", accel[first::stride], axes, "m/s2"), ("imu.gyro", record.gyro[first::stride], axes, "rad/s"),
    ])  # fmt: skip
    time = grid("speed", level.speed_rate)
    speeds = measure_speed(record, time - speed_late, level, generator(seed, "speed"))
    streams |= streams_of("speed", time, [("rotors.speed", speeds, names, "rad/s")])
    time = grid("command", level.command_rate)
    held = np.minimum((time / TICK + 1e-6).astype(int), len(record.time) - 1)
    streams |= streams_of("command", time, [("rotors.command", record.command[held], names, "1")])
    time = grid("pose", level.pose_rate)
    position, wxyz = measure_pose(record, time - pose_late, vehicle, level, generator(seed, "pose"))
    streams |= streams_of("pose", time, [
        ("pose.position", position, axes, "m"), ("pose.wxyz", wxyz, ("w", "x", "y", "z"), "1"),
    ])  # fmt: skip
    time = grid("battery", BATTERY_RATE)
    volts = FULL_VOLTAGE * interpolate(record, record.voltage[:, None], time)
    volts = volts + 0.01 * generator(seed, "battery").standard_normal(volts.shape)
    streams |= streams_of("battery", time, [("battery.voltage", volts, ("voltage",), "V")])
    lateness = Lateness(speed_late, pose_late, clocks["speed"].offset, clocks["pose"].offset)
    return streams, lateness


def interpolate(record: Record, values, time):
    """Values (T, C) of the record at times (K,), linear between the milliseconds."""
    place = np.clip(time / TICK, 0.0, len(values) - 1.000001)
    index = place.astype(int)
    part = (place - index)[:, None]
    return values[index] * (1 - part) + values[index + 1] * part


def measure_speed(record: Record, time, level: Level, rng):
    """Rotor speeds (K, R) rad/s as telemetry: noise relative to the speed, rounded to its quantum."""
    speed = interpolate(record, record.speed, time)
    speed = speed * (1 + level.speed_noise * rng.standard_normal(speed.shape))
    if level.speed_quantum > 0:
        quantum = level.speed_quantum * RPM
        speed = np.round(speed / quantum) * quantum
    return speed


def measure_pose(record: Record, time, vehicle: Vehicle, level: Level, rng):
    """Position (K, 3) and wxyz (K, 4) of the marker frame in the world, with noise, outliers and flips."""
    wxyz = interpolate(record, record.wxyz, time).T
    wxyz = wxyz / np.sqrt((wxyz**2).sum(axis=0))
    attitude = rotation_matrix(wxyz)
    position = interpolate(record, record.position, time).T
    position = position + apply(attitude, vehicle.pose_position[:, None])
    noise = level.attitude_noise * rng.standard_normal((3, len(time)))
    measured = multiply(multiply(wxyz, vehicle.pose_wxyz[:, None]), quaternion_of_vector(noise))
    position = position + level.position_noise * rng.standard_normal((3, len(time)))
    wrong = rng.random(len(time)) < level.outlier_fraction
    way = rng.standard_normal((3, len(time)))
    way = way / np.sqrt((way**2).sum(axis=0))
    reach = level.outlier_size * rng.uniform(0.05, 1.0, len(time))
    flips = wrong & (rng.random(len(time)) < 0.5) if level.attitude_flips else np.zeros(len(time), bool)
    axis = np.eye(3)[rng.integers(3, size=len(time))].T
    flipped = multiply(measured, np.concatenate([np.zeros((1, len(time))), axis]))
    position = np.where(wrong & ~flips, position + way * reach, position)
    return position.T.copy(), np.where(flips, flipped, measured).T.copy()
