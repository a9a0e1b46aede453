"""Faults put into good flights: each is a function of a flight and a generator, and the kind the doctor must name."""

from dataclasses import replace

import numpy as np

IMU = ("imu.accel", "imu.gyro")
DOWN = np.array([1.0, -1.0, -1.0])


def changed(flight, names, change):
    for name in names:
        if name in flight:
            flight = flight.with_channel(replace(flight[name], values=change(flight[name].values)))
    return flight


def accel_in_g(flight, rng):
    return changed(flight, ["imu.accel"], lambda v: v / 9.80665)


def gyro_in_degrees(flight, rng):
    return changed(flight, ["imu.gyro"], np.degrees)


def imu_in_frd(flight, rng):
    return changed(flight, IMU, lambda v: v * DOWN)


def gravity_reversed(flight, rng):
    return changed(flight, ["imu.accel"], lambda v: -v)


def quaternion_xyzw(flight, rng):
    return changed(flight, ["pose.wxyz"], lambda v: v[:, [1, 2, 3, 0]])


def quaternion_inverse(flight, rng):
    return changed(flight, ["pose.wxyz"], lambda v: v * [1, -1, -1, -1])


def motors_swapped(flight, rng):
    count = flight["rotors.speed"].values.shape[1]
    order = np.arange(count)
    i, j = rng.choice(count, 2, replace=False)
    order[[i, j]] = order[[j, i]]
    return changed(flight, ["rotors.speed", "rotors.command"], lambda v: v[:, order])


def speeds_swapped(flight, rng):
    count = flight["rotors.speed"].values.shape[1]
    order = np.roll(np.arange(count), 1 + rng.integers(count - 1))
    return changed(flight, ["rotors.speed"], lambda v: v[:, order])


def motor_missing(flight, rng):
    lost = rng.integers(flight["rotors.speed"].values.shape[1])
    for name in ("rotors.speed", "rotors.command"):
        channel = flight[name]
        columns = tuple(c for i, c in enumerate(channel.columns) if i != lost)
        flight = flight.with_channel(
            replace(channel, values=np.delete(channel.values, lost, 1), columns=columns)
        )
    return flight


def motor_silent(flight, rng):
    values = np.array(flight["rotors.speed"].values)
    values[:, rng.integers(values.shape[1])] = 0.0
    return changed(flight, ["rotors.speed"], lambda v: values)


def speed_in_rpm(flight, rng):
    return changed(flight, ["rotors.speed"], lambda v: v * 60.0 / (2.0 * np.pi))


def speed_electrical(flight, rng):
    return changed(flight, ["rotors.speed"], lambda v: v * 7.0)


def poles_wrong(flight, rng):
    return changed(flight, ["rotors.speed"], lambda v: v * 14.0 / 12.0)


def speed_late(flight, rng):
    channel = flight["rotors.speed"]
    late = np.int64(rng.uniform(0.012, 0.03) * 1e9)
    return flight.with_channel(replace(channel, time=channel.time + late))


def accel_clipped(flight, rng):
    limit = np.quantile(np.abs(flight["imu.accel"].values).max(axis=1), 0.98)
    return changed(flight, ["imu.accel"], lambda v: np.clip(v, -limit, limit))


def shaken(flight, rng):
    channel = flight["imu.accel"]
    f = rng.uniform(0.3, 0.4) * channel.rate
    wave = 60.0 * np.sin(2 * np.pi * f * channel.seconds() + rng.uniform(0, 6))[:, None]
    return changed(flight, ["imu.accel"], lambda v: v + wave)


def accel_dead(flight, rng):
    return changed(flight, ["imu.accel"], np.zeros_like)


def gyro_axis_dead(flight, rng):
    return changed(flight, ["imu.gyro"], lambda v: np.where(np.arange(3) == rng.integers(3), v[0], v))


def gyro_stuck(flight, rng):
    channel = flight["imu.gyro"]
    values = np.array(channel.values)
    start = rng.integers(len(values) // 4, len(values) // 2)
    axis = rng.integers(3)
    values[start : start + int(1.5 * channel.rate), axis] = values[start, axis]
    return changed(flight, ["imu.gyro"], lambda v: values)


def accel_lost(flight, rng):
    values = np.array(flight["imu.accel"].values)
    values[rng.random(len(values)) < 0.05] = np.nan
    return changed(flight, ["imu.accel"], lambda v: values)


def speed_dropouts(flight, rng):
    values = np.array(flight["rotors.speed"].values)
    values[rng.integers(10, len(values) - 10, 5), rng.integers(values.shape[1], size=5)] = 0.0
    return changed(flight, ["rotors.speed"], lambda v: values)


def speed_spikes(flight, rng):
    values = np.array(flight["rotors.speed"].values)
    row, column = rng.integers(10, len(values) - 10), rng.integers(values.shape[1])
    values[row : row + 3, column] = 33_000.0
    return changed(flight, ["rotors.speed"], lambda v: values)


def stretch_lost(flight, rng):
    start = flight.start + int(rng.uniform(0.3, 0.6) * (flight.end - flight.start))
    for name in flight.names:
        c = flight[name]
        keep = (c.time < start) | (c.time > start + 300_000_000)
        flight = flight.with_channel(replace(c, time=c.time[keep], values=c.values[keep]))
    return flight


def clock_jumped(flight, rng):
    start = flight.start + int(rng.uniform(0.3, 0.6) * (flight.end - flight.start))
    for name in flight.names:
        c = flight[name]
        flight = flight.with_channel(replace(c, time=c.time + np.where(c.time > start, 3_600_000_000_000, 0)))
    return flight


#: Fault, kind of the finding, and whether it can be told without attitude ("any") or needs a pose.
FAULTS = {
    accel_in_g: ("accel-unit", "any"),
    gyro_in_degrees: ("gyro-unit", "any"),
    imu_in_frd: ("imu-axes", "any"),
    gravity_reversed: ("gravity-sign", "any"),
    quaternion_xyzw: ("quaternion-order", "pose"),
    quaternion_inverse: ("quaternion-inverse", "pose"),
    motors_swapped: ("motor-order", "any"),
    speeds_swapped: ("motor-order", "any"),
    motor_missing: ("motor-count", "any"),
    motor_silent: ("motor-count", "any"),
    speed_in_rpm: ("rotor-scale", "any"),
    speed_electrical: ("rotor-scale", "any"),
    poles_wrong: ("rotor-scale", "any"),
    speed_late: ("rotor-latency", "any"),
    accel_clipped: ("clipping", "any"),
    shaken: ("vibration", "any"),
    accel_dead: ("dead", "any"),
    gyro_axis_dead: ("dead", "any"),
    gyro_stuck: ("broken-channel", "any"),
    accel_lost: ("broken-channel", "any"),
    speed_dropouts: ("dropout", "any"),
    stretch_lost: ("gap", "any"),
    clock_jumped: ("clock-jump", "any"),
    speed_spikes: ("spike", "any"),
}
