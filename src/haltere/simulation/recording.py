"""From a trace to a `Flight`: every sensor sampled at its own rate, the truth beside it.

A sensor reads the trace at the plant step nearest to its own clock and carries that step's time stamp. A latency means
that a reading shows what was true that much earlier. A flight that ended on the ground is cut there and says so.
"""

from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, Imu, PoseSensor, PositionSensor, dumps
from haltere.dynamics import Environment, Model
from haltere.dynamics.sensors.imu import ImuErrors, imu_readings, pose_readings, quantised, rotor_readings
from haltere.flight import Channel, Flight
from haltere.foundation.arrays import Array
from haltere.simulation.closed_loop import Trace, crash_time

EARTH_FIELD = (0.0, 2.0e-5, -4.4e-5)
"""Magnetic field in world axes (east, north, up) where a scenario names none, T: mid-latitude north."""
DEFAULT_RATE = 200.0
"""Rate in Hz of a sensor whose file names none."""


@dataclass(frozen=True)
class Sensing:
    """How sensors differ from what the airframe file says of them; all that is absent there."""

    imu: ImuErrors = field(default_factory=ImuErrors)
    pose_latency: float = 0.0
    rotor_rate: float = DEFAULT_RATE
    rotor_latency: float = 0.0
    rotor_resolution: float = 0.0
    rotor_sigma: float = 0.0
    joint_rate: float = DEFAULT_RATE
    joint_resolution: float = 0.0
    magnetometer_rate: float = 0.0
    magnetometer_sigma: float = 0.0
    magnetic_field: tuple[float, float, float] = EARTH_FIELD
    barometer_rate: float = 0.0
    barometer_sigma: float = 0.0
    truth_rate: float = 200.0


def record(
    airframe: Airframe,
    model: Model,
    trace: Trace,
    environment: Environment,
    sensing: Sensing,
    key: Array,
    scenario: str = "",
    notes: tuple[str, ...] = (),
) -> Flight:
    """The flight that the sensors of `airframe` saw."""
    trace = jax.tree.map(np.asarray, trace)
    crash = crash_time(trace)
    if crash is not None:
        end = int(np.argmin(np.asarray(trace.alive)))
        fall = float(np.linalg.norm(np.asarray(trace.state.twist[end, :3])))
        notes = (*notes, f"touched the ground after {crash:.3f} s at {fall:.1f} m/s; the flight ends there")
        trace = jax.tree.map(lambda x: x[: max(end, 1)], trace)
    clock = _Clock(trace)
    gravity = jnp.asarray(environment.gravity, model.dtype)
    sensors: list[Imu | PoseSensor | PositionSensor] = [*airframe.imu, *airframe.pose, *airframe.position]
    keys = iter(jax.random.split(key, len(sensors) + 4))
    channels: list[Channel] = []
    for sensor in sensors:
        rate = sensor.rate or DEFAULT_RATE
        if isinstance(sensor, Imu):
            time, sampled = clock.sample(rate)
            read = partial(imu_readings, imu=sensor, rate=rate, errors=sensing.imu)
            found = jax.jit(read)(model, sampled.state, sampled.motion, gravity, key=next(keys))
            for name, unit in (("accel", "m/s2"), ("gyro", "rad/s")):
                channels.append(_channel(f"{sensor.name}.{name}", time, found[name], unit, sensor.name))
                bias = found[f"{name}_bias"]
                channels.append(_channel(f"truth.{sensor.name}.{name}_bias", time, bias, unit, sensor.name))
        else:
            time, sampled = clock.sample(rate, sensing.pose_latency)
            read = partial(pose_readings, sensor=sensor)
            for name, values in jax.jit(read)(model, sampled.state, key=next(keys)).items():
                unit = "m" if name == "position" else "1"
                channels.append(_channel(f"{sensor.name}.{name}", time, values, unit, "world"))
    channels += _actuators(model, clock, sensing, next(keys))
    channels += _magnetometer(clock, sensing, next(keys)) + _barometer(clock, sensing, next(keys))
    channels += _truth(model, clock, sensing.truth_rate)
    return Flight.of(*channels, airframe=dumps(airframe), scenario=scenario, notes=notes)


class _Clock:
    """Samples of a trace at other rates."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.time = np.asarray(trace.time)
        self.step = self.time[1] - self.time[0] if len(self.time) > 1 else 1.0

    def sample(self, rate: float, latency: float = 0.0) -> tuple[np.ndarray, Trace]:
        """Time stamps in ns, and the trace as it was `latency` seconds before each."""
        wanted = np.arange(0.0, self.time[-1] + 0.5 * self.step, 1.0 / rate)
        places = np.unique(np.minimum(np.round(wanted / self.step).astype(int), len(self.time) - 1))
        seen = np.maximum(places - round(latency / self.step), 0)
        stamps = np.round(self.time[places] * 1e9).astype(np.int64)
        return stamps, jax.tree.map(lambda x: x[seen], self.trace)


def _channel(
    name: str, time: np.ndarray, values: Array, unit: str, frame: str, columns: tuple[str, ...] = ()
) -> Channel:
    return Channel(name, time, np.asarray(values, float), unit, frame, columns)


def _actuators(model: Model, clock: _Clock, sensing: Sensing, key: Array) -> list[Channel]:
    topology = model.topology
    channels = []
    if topology.rotors:
        time, sampled = clock.sample(sensing.rotor_rate, sensing.rotor_latency)
        _, now = clock.sample(sensing.rotor_rate)
        speed = rotor_readings(sampled.state.rotor_rates, sensing.rotor_resolution, sensing.rotor_sigma, key)
        rotors = topology.rotor_names
        channels.append(_channel("rotors.speed", time, speed, "rad/s", "", rotors))
        channels.append(_channel("rotors.command", time, now.command.rotors, "1", "", rotors))
    if topology.joints:
        time, sampled = clock.sample(sensing.joint_rate)
        joints = topology.joint_names
        angle = quantised(sampled.state.joint_angles, sensing.joint_resolution)
        channels.append(_channel("joints.angle", time, angle, "rad", "", joints))
        channels.append(_channel("joints.command", time, sampled.command.joints, "rad", "", joints))
    return channels


def _magnetometer(clock: _Clock, sensing: Sensing, key: Array) -> list[Channel]:
    if sensing.magnetometer_rate <= 0.0:
        return []
    time, sampled = clock.sample(sensing.magnetometer_rate)
    field_W = jnp.asarray(sensing.magnetic_field)
    field_B = jax.jit(jax.vmap(lambda state: state.R_WB.T @ field_W))(sampled.state)
    noise = sensing.magnetometer_sigma * jax.random.normal(key, field_B.shape)
    return [_channel("mag.field", time, field_B + noise, "T", "body")]


def _barometer(clock: _Clock, sensing: Sensing, key: Array) -> list[Channel]:
    if sensing.barometer_rate <= 0.0:
        return []
    time, sampled = clock.sample(sensing.barometer_rate)
    altitude = sampled.state.position[:, 2]
    noise = sensing.barometer_sigma * jax.random.normal(key, altitude.shape)
    return [_channel("baro.altitude", time, altitude + noise, "m", "world")]


def _truth(model: Model, clock: _Clock, rate: float) -> list[Channel]:
    time, sampled = clock.sample(rate)
    state, motion, topology = sampled.state, sampled.motion, model.topology
    linear = jax.jit(jax.vmap(lambda m, s: m.inertial_acceleration(s)))(motion, state)
    acceleration = jnp.concatenate([linear, motion.acceleration[:, 3:]], axis=1)
    channels = [
        _channel("truth.position", time, state.position, "m", "world"),
        _channel("truth.wxyz", time, state.wxyz, "1", "world"),
        _channel("truth.twist", time, state.twist, "m/s, rad/s", "body"),
        _channel("truth.acceleration", time, acceleration, "m/s2, rad/s2", "body"),
        _channel("truth.wind", time, sampled.wind, "m/s", "world"),
    ]
    if topology.rotors:
        rotors = topology.rotor_names
        channels.append(_channel("truth.rotors.speed", time, state.rotor_rates, "rad/s", "", rotors))
    if topology.joints:
        joints = topology.joint_names
        channels.append(_channel("truth.joints.angle", time, state.joint_angles, "rad", "", joints))
        channels.append(_channel("truth.joints.rate", time, state.joint_rates, "rad/s", "", joints))
    return channels
