"""A batch: flights that are advanced together, and their record."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tests.world.drawings import Drawing
from tests.world.draws import generator
from tests.world.ground import Ground
from tests.world.hand import Hand, Throws
from tests.world.imu import Accelerometer, Gyro, ImuErrors, draw_errors, stack_errors
from tests.world.levels import Level
from tests.world.payload import ChangingMass, Payload
from tests.world.pilot import PERIOD, Measured, Pilot
from tests.world.plant import Plant
from tests.world.rigid import GRAVITY, Motion
from tests.world.sensors import Record
from tests.world.sticks import draw_sticks
from tests.world.vectors import multiply, quaternion_of_euler, quaternion_of_vector
from tests.world.vehicles import TICK, Vehicle, stack
from tests.world.wind import Wind

SETTLE = 2.0  # s of hover before the log begins


@dataclass(frozen=True)
class Setup:
    """How a batch is flown: height m, air model, steps per tick, settling s, and what acts beside the air."""

    height: float
    air_model: str = "blade"
    substeps: int = 1
    settle: float = SETTLE
    payloads: tuple[Payload, ...] | None = None
    throws: tuple[Throws, ...] | None = None
    ground: bool = False


class Batch:
    """Flights of one drawing and level that are advanced together."""

    def __init__(
        self,
        drawing: Drawing,
        level: Level,
        seeds: list[int],
        vehicles: list[Vehicle],
        duration: float,
        setup: Setup,
    ):
        self.drawing, self.level, self.seeds, self.vehicles = drawing, level, seeds, vehicles
        self.duration, self.setup = duration, setup
        self.ticks, self.settle = round(duration / TICK), round(setup.settle / TICK)
        pairs = list(zip(seeds, vehicles, strict=True))
        self.errors: list[ImuErrors] = [
            draw_errors(level, seed, vehicle, duration) for seed, vehicle in pairs
        ]
        self.yaw = np.array([generator(seed, "heading").uniform(-np.pi, np.pi) for seed in seeds])
        self.plant = self._plant()
        stacked = stack_errors(self.errors)
        chain = (self.plant.vehicle, stacked, level, seeds, self.settle + self.ticks, drawing.hover_speed)
        self.gyro, self.accelerometer = Gyro(*chain), Accelerometer(*chain)
        size = max(level.imu_misalignment, 0.002)
        error = [size * generator(seed, "attitude").standard_normal(3) for seed in seeds]
        self.attitude_error = quaternion_of_vector(np.stack(error, axis=-1))
        count, rotors = len(seeds), len(drawing.rotor_names)
        shape = {
            "position": 3, "velocity": 3, "wxyz": 4, "rate": 3, "specific_force": 3, "angular": 3,
            "speed": rotors, "angle": rotors, "command": rotors, "gyro": 3,
        }  # fmt: skip
        self.columns = {name: np.empty((self.ticks, size, count)) for name, size in shape.items()}

    def _plant(self) -> Plant:
        setup, count = self.setup, len(self.seeds)
        vehicle = stack(self.vehicles)
        body = vehicle.mass_properties
        masses = ChangingMass(self.vehicles, list(setup.payloads)) if setup.payloads else None
        at = masses or (lambda _: body)
        ground = Ground(vehicle, self.drawing) if setup.ground else None
        self.hand = Hand(list(setup.throws), self.seeds, at) if setup.throws else None
        speed = self.drawing.hover_speed
        height = setup.height
        if self.hand or ground:
            speed = 0.0
        if ground:
            height = ground.height
        motion = Motion(
            np.stack([np.zeros(count), np.zeros(count), np.full(count, float(height))]),
            quaternion_of_euler(np.zeros(count), np.zeros(count), self.yaw),
            np.zeros((3, count)),
            np.zeros((3, count)),
        )
        return self._make_plant(
            vehicle,
            self.level,
            Wind(self.level, self.seeds, self.duration),
            motion,
            np.full((len(self.drawing.rotor_names), count), speed),
            setup.substeps,
            setup.air_model,
            tuple(part for part in (self.hand, ground) if part is not None),
            masses,
        )

    def _make_plant(self, *parts) -> Plant:
        return Plant(*parts)

    def measured(self, tick: int, time: float, gyro) -> Measured:
        """What the flight controller has at this time."""
        motion, plant = self.plant.motion, self.plant
        wxyz = multiply(motion.wxyz, self.attitude_error)
        accel = self.accelerometer.sample(tick, time, plant)
        return Measured(
            time, gyro, accel, plant.speed, wxyz, motion.position, motion.velocity, plant.voltage(time)
        )

    def run(self, profile: str, controller: Callable, mixer: Callable) -> None:
        """Fly the whole duration."""
        plant, settle, count = self.plant, self.settle, len(self.seeds)
        sticks = draw_sticks(profile, self.seeds, self.duration)
        at_rest = np.zeros((4, count))
        pilot = controller(self.drawing, count, self.setup.height)
        if isinstance(pilot, Pilot):
            pilot.yaw = self.yaw.copy()
        mix = mixer(self.drawing, plant.vehicle.weighed)
        every = round(PERIOD / TICK)
        lift = 0.0 if self.hand or self.setup.ground else GRAVITY
        command = mix(self.measured(0, 0.0, at_rest[:3]), np.full(count, lift), at_rest[:3])
        plant.motors.fill(command)
        for tick in range(settle + self.ticks):
            time = (tick - settle) * TICK
            if self.hand:
                self.hand.begin_tick(time, plant.motion)
            gyro = self.gyro.sample(tick, time, plant.motion.rate, plant.angle, plant.speed)
            if tick % every == 0:
                index = (tick - settle) // every
                measured = self.measured(tick, time, gyro)
                lift, angular = pilot(measured, sticks[index] if index >= 0 else at_rest)
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
        columns["command"][tick] = np.maximum(command, 0.0)
        columns["gyro"][tick] = gyro

    def record(self, index: int) -> Record:
        """The record of one flight."""
        time = np.arange(self.ticks) * TICK
        parts = {name: np.ascontiguousarray(values[:, :, index]) for name, values in self.columns.items()}
        return Record(time=time, voltage=1 - float(self.vehicles[index].sag) * time, **parts)
