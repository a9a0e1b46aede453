"""Flights with the loop closed through an estimator of the centre of gravity and a mixer, both passed in.

    flights = fly_cog("x500", "wind 3", "gentle", range(4), make_loop, event=Event(20.0), fault="accel frozen")
    flights[0].said["used"], flights[0].said_time      what the loop said, every 0.1 s
    flights[0].com, flights[0].trim                    what was true then
    trim_left(flights[0])                              what the mixer left, m

Every 4 ms the loop reads a sample and mixes: the sample is a millisecond old, the time to hand it over. The first is
read at 4 ms; until then the nominal hover is commanded. The loop keeps as many estimators as there are flights; its
arrays have the flights first. Its readings may be at fault; the pilot flies by the true motion (`position_pilot`) and
asks for lift and torque by the nominal mass and inertia.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from tests.world.catalogue import VEHICLES, allocation, catalogue_drawing, catalogue_text
from tests.world.conditions import CONDITIONS, Condition, SteadyWind, draw_imu_errors, draw_weighed_vehicle
from tests.world.drawings import Drawing, read_drawing
from tests.world.draws import clipped_normal, generator
from tests.world.flights import TURNED_OVER
from tests.world.imu import stack_errors
from tests.world.pilot import command_of_thrust
from tests.world.plant import Plant
from tests.world.position_pilot import PERIOD, PositionPilot, draw_setpoints
from tests.world.reading_faults import FAULTS, ReadingFault
from tests.world.readings import Readings, Sensors
from tests.world.rigid import GRAVITY, MassProperties, Motion
from tests.world.trim import averaged, trim_left, trim_of
from tests.world.vectors import quaternion_of_euler
from tests.world.vehicles import TICK, Vehicle, stack, with_payload

__all__ = [
    "CONDITIONS", "FAULTS", "VEHICLES", "CogFlight", "Condition", "Event", "Loop", "NominalLoop", "Readings", "fly_cog",
    "trim_left",
]  # fmt: skip

HEIGHT = 15.0  # m
EVERY = round(PERIOD / TICK)  # ticks between two samples
SAMPLES = 25  # between two records
LOST_AWAY = 100.0  # m from the setpoint
PAYLOAD_SIZE = 0.02  # m, radius


class Loop(Protocol):
    """Estimator and mixer of N flights with R rotors."""

    def read(self, time, gyro, accel, speeds, commands) -> None:
        """A sample: stamps (N,) s, gyro (N, 3) rad/s and accel (N, 3) m/s2 in the axes of the nominal IMU, speeds
        (N, R) rad/s as measured, and the commands (N, R) from 0 to 1 in force until now. NaN is what is missing."""

    def mark(self, time: float) -> None:
        """A payload has just been gripped or dropped, as the vehicle knows."""

    def mix(self, lift, torque):
        """Commands (N, R) from 0 to 1 for the lift (N,) N along the body's z axis and the torque (N, 3) N m."""

    def state(self) -> dict[str, np.ndarray]:
        """What the estimator says, arrays (N, ...); "used" is the offset (N, 2) m from the nominal centre of gravity
        by which the mixer allocates."""


@dataclass(frozen=True)
class Event:
    """A payload gripped at `time` (s), or with a negative share dropped, having been part of the vehicle until then.

    It has the `mass_share` of the vehicle's mass before and moves the centre of gravity by `step` (m) in a drawn
    horizontal direction, and by some 0.3 of it up or down. The loop is told of it where it is `marked`.
    """

    time: float
    mass_share: float = 0.12
    step: float = 0.010
    marked: bool = True

    def after(self, vehicle: Vehicle, seed: int) -> Vehicle:
        """The vehicle after the event: a ball more or less, where the centre of gravity moves as it should."""
        rng = generator(seed, "event")
        angle = rng.uniform(0, 2 * np.pi)
        shift = self.step * np.array([np.cos(angle), np.sin(angle), 0.3 * clipped_normal(rng)])
        mass = self.mass_share * float(vehicle.mass)
        position = vehicle.com + shift * (vehicle.mass + mass) / mass
        return with_payload(vehicle, mass, position, PAYLOAD_SIZE)


@dataclass(frozen=True)
class CogFlight:
    """One flight: what the loop said and what was true, T records every 0.1 s; SI units, body axes.

    `trim` is the mean over the 0.1 s up to the record, `trim_mean` over 1 s. Centres are from the airframe's origin.
    """

    seed: int
    vehicle: str
    condition: Condition
    nominal: str
    body: Vehicle  # before the event
    event: Event | None
    fault: str | None
    said_time: np.ndarray  # (T,)
    said: dict[str, np.ndarray]  # (T, ...)
    com: np.ndarray  # (T, 3)
    mass: np.ndarray  # (T,)
    nominal_com: np.ndarray  # (3,)
    position_error: np.ndarray  # (T, 3) position minus setpoint, world axes
    trim: np.ndarray  # (T, 2)
    trim_mean: np.ndarray  # (T, 2)
    commands: np.ndarray  # (T, R)
    crashed: bool


class NominalLoop:
    """A loop without estimator: allocates by the nominal airframe with a fixed `offset` (2,) or (N, 2) m of its centre.

    The pseudo-inverse gives the thrusts; yaw gives way to the limits first.
    """

    def __init__(self, nominal: str, count: int, offset=(0.0, 0.0)):
        self.drawing = drawing = read_drawing(nominal)
        self.used = np.broadcast_to(np.asarray(offset, float), (count, 2)).copy()
        centers = drawing.com + np.concatenate([self.used, np.zeros((count, 1))], axis=1)
        self.inverse = np.stack([np.linalg.pinv(allocation(drawing, center)) for center in centers])
        self.most = drawing.thrust_coefficient * (0.97 * drawing.max_speed) ** 2
        idle = drawing.thrust_coefficient * (1.2 * drawing.idle_speed) ** 2
        self.least = np.maximum(idle, 0.02 * self.most)

    def read(self, time, gyro, accel, speeds, commands) -> None:
        """Reads nothing."""

    def mark(self, time: float) -> None:
        """Heeds nothing."""

    def mix(self, lift, torque):
        """Commands (N, R)."""
        asked = np.concatenate([lift[:, None], torque[:, :2]], axis=1)
        thrust = (self.inverse[:, :, :3] @ asked[:, :, None])[:, :, 0]
        yaw = self.inverse[:, :, 3] * torque[:, 2:]
        room = np.where(yaw > 0, self.most - thrust, thrust - self.least)
        scale = np.clip((room / np.maximum(np.abs(yaw), 1e-9)).min(axis=1, keepdims=True), 0.0, 1.0)
        thrust = np.clip(thrust + scale * yaw, self.least, self.most)
        return command_of_thrust(self.drawing, thrust.T).T

    def state(self) -> dict[str, np.ndarray]:
        """The offset in use."""
        return {"used": self.used}


class CogBatch:
    """Flights of one vehicle and condition that are advanced together."""

    def __init__(
        self, name: str, condition: Condition, profile: str, seeds, duration: float, event: Event | None
    ):
        self.drawing: Drawing = catalogue_drawing(name)
        self.event, level = event, condition.level
        self.bodies = [draw_weighed_vehicle(self.drawing, level, seed) for seed in seeds]
        count, self.ticks = len(seeds), round(duration / TICK)
        yaw = np.array([generator(seed, "heading").uniform(-np.pi, np.pi) for seed in seeds])
        start = np.tile([[0.0], [0.0], [HEIGHT]], count)
        none = np.zeros(count)
        motion = Motion(
            start, quaternion_of_euler(none, none, yaw), np.zeros((3, count)), np.zeros((3, count))
        )
        vehicle = stack(self.bodies)
        self.plant = Plant(
            vehicle, level, SteadyWind(level, seeds, duration + 1.0), motion,
            np.full((len(self.drawing.rotor_names), count), self.drawing.hover_speed), masses=self._masses(seeds),
        )  # fmt: skip
        pairs = zip(seeds, self.bodies, strict=True)
        errors = [draw_imu_errors(condition, seed, body, duration + 1.0) for seed, body in pairs]
        self.sensors = Sensors(
            vehicle, stack_errors(errors), level, seeds, self.ticks + 1, self.drawing.hover_speed
        )
        self.points = draw_setpoints(profile, seeds, duration, start, yaw)
        self.crashed = np.zeros(count, bool)

    def _masses(self, seeds) -> Callable[[float], MassProperties]:
        before = stack(self.bodies).mass_properties
        event = self.event
        if event is None:
            return lambda time: before
        changed = [event.after(body, seed) for body, seed in zip(self.bodies, seeds, strict=True)]
        after = stack(changed).mass_properties
        return lambda time: after if time >= event.time - 1e-9 else before

    def run(self, nominal: str, loop: Loop, fault: ReadingFault | None) -> dict[str, np.ndarray]:
        """Fly; returns the records (T, N, ...) by name, those of the loop as "said ..."."""
        plant, sensors = self.plant, self.sensors
        count = len(self.bodies)
        pilot = PositionPilot(self.drawing, count)
        hover = np.full(count, self.drawing.mass * GRAVITY)
        command = NominalLoop(nominal, count).mix(hover, np.zeros((count, 3))).T
        plant.motors.fill(command)
        records: list[dict] = []
        trims: list[np.ndarray] = []
        waiting = self.event is not None and self.event.marked
        for tick in range(self.ticks + 1):
            time, index = tick * TICK, tick // EVERY
            if waiting and self.event is not None and time >= self.event.time - 1e-9:
                loop.mark(time)
                waiting = False
            if tick % EVERY == 0 and tick > 0:
                readings = sensors.readings()
                readings = fault(readings) if fault else readings
                loop.read(readings.time, readings.gyro, readings.accel, readings.speeds, command.T.copy())
                lift, torque = pilot(plant.motion, self.points, index)
                command = _checked(loop.mix(lift, torque.T.copy()), command.shape)
                trims.append(trim_of(plant, self.drawing, time))
                if index % SAMPLES == 0:
                    records.append(self._record(time, index, loop, command, np.mean(trims, axis=0)))
                    trims.clear()
            before = plant.motion, plant.speed, plant.angle
            plant.advance(time, command)
            sensors.sample(tick, plant, before)
        return {key: np.stack([record[key] for record in records]) for key in records[0]}

    def _record(self, time, index, loop, command, trim):
        """One record of arrays (N, ...)."""
        motion, body = self.plant.motion, self.plant.masses(time)
        error = motion.position - self.points.position[index]
        upright = 1 - 2 * (motion.wxyz[1] ** 2 + motion.wxyz[2] ** 2)
        near = np.isfinite(error).all(axis=0) & (np.abs(error).max(axis=0) < LOST_AWAY)
        self.crashed |= ~(near & (upright > TURNED_OVER))
        said = {f"said {key}": np.array(value) for key, value in loop.state().items()}
        for key, value in said.items():
            if value.shape[:1] != error.shape[1:]:
                raise ValueError(
                    f"{key[5:]!r} has shape {value.shape}; its first axis should be the {error.shape[1]} flights"
                )
        return said | {
            "time": np.full(error.shape[1], time), "com": body.com.T, "mass": body.mass, "position_error": error.T,
            "trim": trim.T, "commands": command.T,
        }  # fmt: skip


def _checked(commands, shape):
    """Commands (R, N) from those of a mixer (N, R), within 0 and 1; what is no number stops the motor."""
    commands = np.asarray(commands, float).T
    if commands.shape != shape:
        raise ValueError(f"the mixer gave commands of shape {commands.T.shape}; expected {shape[::-1]}")
    return np.clip(np.nan_to_num(commands, nan=0.0), 0.0, 1.0)


def fly_cog(
    vehicle: str,
    condition: str | Condition,
    profile: str,
    seeds: Sequence[int],
    make_loop: Callable[[str, int], Loop],
    duration: float = 40.0,
    event: Event | None = None,
    fault: str | None = None,
) -> list[CogFlight]:
    """Fly one flight per seed, all at once, through the loop of `make_loop(nominal airframe file, count)`.

    Args:
        vehicle: one of `VEHICLES`; each seed draws a true one around it.
        condition: one of `CONDITIONS`, or its name.
        profile: of the sticks, "hover" or "gentle".
        seeds: of the flights.
        make_loop: makes estimator and mixer of all flights.
        duration: s.
        event: a payload gripped or dropped.
        fault: one of `FAULTS`, from the middle of the flight on.
    """
    condition = CONDITIONS[condition] if isinstance(condition, str) else condition
    seeds = [int(seed) for seed in seeds]
    nominal = catalogue_text(vehicle)
    batch = CogBatch(vehicle, condition, profile, seeds, duration, event)
    rotors = len(batch.drawing.rotor_names)
    broken = ReadingFault(fault, seeds, duration / 2, condition.level, rotors) if fault else None
    records = batch.run(nominal, make_loop(nominal, len(seeds)), broken)
    flights = []
    for i, seed in enumerate(seeds):
        own = {key: values[:, i] for key, values in records.items()}
        flights.append(
            CogFlight(
                seed, vehicle, condition, nominal, batch.bodies[i], event, fault, own["time"],
                {key[5:]: values for key, values in own.items() if key.startswith("said ")},
                own["com"], own["mass"], batch.drawing.com, own["position_error"],
                own["trim"], averaged(own["trim"]), own["commands"], bool(batch.crashed[i]),
            )
        )  # fmt: skip
    return flights
