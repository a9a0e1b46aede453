"""Flights: a batch of vehicles flown together, with their streams and their truth.

flights = fly(QUADROTOR, REALISTIC, "full", seeds=range(100))
flights[0].streams["imu.gyro"].time, .values      by its own clock
flights[0].truth["mass"], flights[0].nominal      what is true; the airframe file for the program
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from tests.world.drawings import Drawing, nominal_toml
from tests.world.draws import clipped_normal, generator
from tests.world.imu import Gyro, ImuErrors, draw_errors, stack_errors
from tests.world.levels import Level
from tests.world.pilot import PERIOD, Measured, Mixer, Pilot
from tests.world.plant import Plant
from tests.world.rigid import Motion
from tests.world.sensors import Lateness, Record, sample
from tests.world.sticks import draw_sticks
from tests.world.streams import Stream
from tests.world.truth import truth_of
from tests.world.vectors import multiply, quaternion_of_euler, quaternion_of_vector
from tests.world.vehicles import TICK, Damage, Vehicle, draw_vehicle, stack, with_battery_moved
from tests.world.wind import Wind

SETTLE = 2.0  # s of hover before the log begins
BATCH = 100  # flights advanced together at most: bounds memory


@dataclass(frozen=True)
class Flight:
    """One flight: streams by channel, truth by parameter, the nominal airframe file, and what lies behind them."""

    seed: int
    level: Level
    drawing: Drawing
    vehicle: Vehicle
    streams: dict[str, Stream]
    truth: dict
    nominal: str
    lateness: Lateness
    crashed: bool
    record: Record | None = field(default=None, repr=False)


def fly(
    drawing: Drawing,
    level: Level,
    profile: str,
    seeds: Sequence[int],
    duration: float = 24.0,
    *,
    vehicle_seeds: Sequence[int] | None = None,
    battery_shift: float = 0.0,
    damage: Damage | None = None,
    height: float | None = None,
    controller: Callable | None = None,
    mixer: Callable | None = None,
    vehicles: Sequence[Vehicle] | None = None,
    air_model: str = "blade",
    settle: float = SETTLE,
    substeps: int = 1,
    keep_record: bool = False,
) -> list[Flight]:
    """Fly one flight per seed.

    Each seed draws a vehicle of its own; `vehicle_seeds` lets several flights share one, `vehicles` passes them in, and
    `battery_shift` (m, deviation per axis) moves the battery from flight to flight. `controller` and `mixer` make a new
    controller and mixer of a batch: they are called as `controller(drawing, count, height)` and
    `mixer(drawing, mass (N))`, by default `Pilot` and `Mixer`. The vehicle hovers for `settle` s before the log begins.
    """
    seeds = [int(seed) for seed in seeds]
    own = list(seeds if vehicle_seeds is None else vehicle_seeds)
    if len(own) != len(seeds):
        raise ValueError(f"{len(own)} vehicle seeds for {len(seeds)} flights; give one for each flight")
    if vehicles is None:
        vehicles = [draw_vehicle(drawing, level, seed, damage) for seed in own]
    vehicles = [
        with_battery_moved(vehicle, battery_shift * clipped_normal(generator(seed, "battery position"), 3))
        for vehicle, seed in zip(vehicles, seeds, strict=True)
    ]
    height = default_height(level) if height is None else height
    flights = []
    for start in range(0, len(seeds), BATCH):
        part = slice(start, start + BATCH)
        batch = Batch(
            drawing, level, seeds[part], list(vehicles[part]), duration, height, air_model, substeps
        )
        batch.run(profile, controller or Pilot, mixer or Mixer)
        flights += batch.flights(keep_record)
    return flights


def default_height(level: Level) -> float:
    """Height of flight, m: near the ground where the ground counts."""
    return 2.0 if level.ground_effect else 15.0


class Batch:
    """Flights that are advanced together, and their record."""

    def __init__(
        self, drawing, level, seeds, vehicles, duration, height, air_model="blade", substeps=1, settle=SETTLE
    ):
        self.asked = len(seeds)
        if self.asked == 1:  # sums over one column may be added in another order: a flight never flies alone
            seeds, vehicles = seeds * 2, vehicles * 2
        self.drawing, self.level, self.seeds, self.duration, self.height = (
            drawing,
            level,
            seeds,
            duration,
            height,
        )
        self.vehicles = vehicles
        self.ticks = round(duration / TICK)
        self.settle = round(settle / TICK)
        self.errors: list[ImuErrors] = [
            draw_errors(level, seed, vehicle, duration) for seed, vehicle in zip(seeds, vehicles, strict=True)
        ]
        count, rotors = len(seeds), len(drawing.rotor_names)
        yaw = np.array([generator(seed, "heading").uniform(-np.pi, np.pi) for seed in seeds])
        motion = Motion(
            np.stack([np.zeros(count), np.zeros(count), np.full(count, float(height))]),
            quaternion_of_euler(np.zeros(count), np.zeros(count), yaw),
            np.zeros((3, count)),
            np.zeros((3, count)),
        )
        speed = np.full((rotors, count), drawing.hover_speed)
        self.plant = Plant(
            stack(vehicles), level, Wind(level, seeds, duration), motion, speed, substeps, air_model
        )
        self.yaw = yaw
        self.gyro = Gyro(
            self.plant.vehicle,
            stack_errors(self.errors),
            level,
            seeds,
            self.settle + self.ticks,
            drawing.hover_speed,
        )
        error = [
            max(level.imu_misalignment, 0.002) * generator(s, "attitude").standard_normal(3) for s in seeds
        ]
        self.attitude_error = quaternion_of_vector(np.stack(error, axis=-1))
        shape = {
            "position": 3, "velocity": 3, "wxyz": 4, "rate": 3, "specific_force": 3, "angular": 3,
            "speed": rotors, "angle": rotors, "command": rotors, "gyro": 3,
        }  # fmt: skip
        self.columns = {name: np.empty((self.ticks, size, count)) for name, size in shape.items()}

    def measured(self, time, gyro) -> Measured:
        """What the flight controller has at this time."""
        motion = self.plant.motion
        wxyz = multiply(motion.wxyz, self.attitude_error)
        return Measured(time, gyro, wxyz, motion.position, motion.velocity, self.plant.voltage(time))

    def run(self, profile: str, controller: Callable, mixer: Callable) -> None:
        """Fly the whole duration."""
        plant, settle = self.plant, self.settle
        sticks = draw_sticks(profile, self.seeds, self.duration)
        still = np.zeros((4, len(self.seeds)))
        pilot = controller(self.drawing, len(self.seeds), self.height)
        if isinstance(pilot, Pilot):
            pilot.yaw = self.yaw.copy()
        mix = mixer(self.drawing, plant.vehicle.weighed)
        every = round(PERIOD / TICK)
        command = mix(
            self.measured(0.0, still[:3]), np.full(len(self.seeds), 9.80665), np.zeros((3, len(self.seeds)))
        )
        plant.motors.fill(command)
        for tick in range(settle + self.ticks):
            time = (tick - settle) * TICK
            gyro = self.gyro.sample(tick, time, plant.motion.rate, plant.angle, plant.speed)
            if tick % every == 0:
                index = (tick - settle) // every
                measured = self.measured(time, gyro)
                lift, angular = pilot(measured, sticks[index] if index >= 0 else still)
                command = mix(measured, lift, angular)
            before = plant.motion, plant.speed, plant.angle
            plant.advance(time, command)
            if tick >= settle:
                self._keep(tick - settle, *before, command, gyro)

    def _keep(self, tick, motion, speed, angle, command, gyro):
        columns = self.columns
        columns["position"][tick] = motion.position
        columns["velocity"][tick] = motion.velocity
        columns["wxyz"][tick] = motion.wxyz
        columns["rate"][tick] = motion.rate
        columns["specific_force"][tick] = self.plant.specific_force
        columns["angular"][tick] = self.plant.angular
        columns["speed"][tick] = speed
        columns["angle"][tick] = angle
        columns["command"][tick] = command
        columns["gyro"][tick] = gyro

    def record(self, index: int) -> Record:
        """The record of one flight."""
        time = np.arange(self.ticks) * TICK
        parts = {name: np.ascontiguousarray(values[:, :, index]) for name, values in self.columns.items()}
        return Record(time=time, voltage=1 - float(self.vehicles[index].sag) * time, **parts)

    def flights(self, keep_record: bool = False) -> list[Flight]:
        """The flights with their streams and truth."""
        out = []
        for index in range(self.asked):
            record, vehicle, seed = self.record(index), self.vehicles[index], self.seeds[index]
            streams, lateness = sample(record, vehicle, self.drawing, self.level, self.errors[index], seed)
            late = lateness.speed + lateness.speed_clock
            truth = truth_of(vehicle, self.drawing, self.duration, late)
            out.append(
                Flight(
                    seed,
                    self.level,
                    self.drawing,
                    vehicle,
                    streams,
                    truth,
                    nominal_toml(self.drawing, float(vehicle.weighed)),
                    lateness,
                    has_crashed(record),
                    record if keep_record else None,
                )
            )
        return out


def has_crashed(record: Record) -> bool:
    """Whether the vehicle touched the ground, fell over or left any reasonable range."""
    if not np.isfinite(record.position).all() or not np.isfinite(record.rate).all():
        return True
    upright = 1 - 2 * (record.wxyz[:, 1] ** 2 + record.wxyz[:, 2] ** 2)
    far = np.abs(record.position).max() > 200.0
    return bool(far or record.position[:, 2].min() < 0.02 or upright.min() < 0.1)
