"""What the program's throw loop reads of a flight of the world: sensors as they are on board, a tracker as it is.

Gyro and accelerometer run at 1 kHz with errors, vibration and low-pass, rotor speeds are late, noisy and rounded
(`tests.world.readings`). Positions are those of the marker, at the rate of the level's poses and late by their
lateness, with their noise, outliers, drops and the gap of the log; in between they are NaN.
"""

from collections import deque

import numpy as np
from tests.world.batch import Batch
from tests.world.draws import generator
from tests.world.imu import stack_errors
from tests.world.pilot import PERIOD, Measured
from tests.world.plant import Plant
from tests.world.readings import Sensors
from tests.world.vectors import apply, rotation_matrix
from tests.world.vehicles import TICK


class SampledPlant(Plant):
    """A plant whose sensors are sampled every tick."""

    sensors: Sensors
    tracker: "Tracker"
    tick = 0

    def advance(self, time: float, command) -> None:
        """One tick, and the samples of its start."""
        before = self.motion, self.speed, self.angle
        super().advance(time, command)
        self.sensors.sample(self.tick, self, before)
        self.tracker.sample(self.tick, before[0])
        self.tick += 1


class Tracker:
    """Positions (3, N) of the markers of a batch, NaN where there is none."""

    def __init__(self, level, vehicle, seeds, duration: float):
        self.level, self.vehicle = level, vehicle
        self.rngs = [generator(seed, "tracker") for seed in seeds]
        self.every = round(1.0 / (level.pose_rate * PERIOD))
        self.late = np.array([round(level.pose_latency * rng.uniform(0.8, 1.2) / TICK) for rng in self.rngs])
        self.past: deque = deque(maxlen=int(self.late.max()) + 1)
        starts = np.array([rng.uniform(0.2, 0.8) * duration for rng in self.rngs])
        self.gap = np.stack([starts, starts + level.gap])
        self.flights = np.arange(len(self.rngs))

    def sample(self, tick: int, motion) -> None:
        """Keep where the markers are."""
        attitude = rotation_matrix(motion.wxyz)
        self.past.appendleft(motion.position + apply(attitude, self.vehicle.pose_position))

    def position(self, index: int, time: float):
        """At the control step of this index."""
        none = np.full((3, len(self.rngs)), np.nan)
        if index % self.every or not self.past:
            return none
        seen = np.minimum(self.late, len(self.past) - 1)
        found = np.stack([self.past[k][:, i] for i, k in enumerate(seen)], axis=-1)
        for i, rng in enumerate(self.rngs):
            found[:, i] += self.level.position_noise * rng.standard_normal(3)
            way, reach, wrong, lost = (
                rng.standard_normal(3),
                rng.uniform(0.05, 1.0),
                rng.random(),
                rng.random(),
            )
            if wrong < self.level.outlier_fraction:
                found[:, i] += way / np.linalg.norm(way) * reach * self.level.outlier_size
            if lost < self.level.dropped or self.gap[0, i] <= time < self.gap[1, i]:
                found[:, i] = np.nan
        return found


class ThrowBatch(Batch):
    """Flights whose controller gets these readings."""

    def _make_plant(self, *parts) -> Plant:
        return SampledPlant(*parts)

    def _prepare(self) -> None:
        plant, stacked = self.plant, stack_errors(self.errors)
        ticks = self.settle + self.ticks
        plant.sensors = Sensors(
            plant.vehicle, stacked, self.level, self.seeds, ticks, self.drawing.hover_speed
        )
        plant.tracker = Tracker(self.level, plant.vehicle, self.seeds, self.duration)

    def run(self, profile, controller, mixer) -> None:
        """Fly the whole duration."""
        self._prepare()
        super().run(profile, controller, mixer)

    def measured(self, tick: int, time: float, gyro) -> Measured:
        """What is read at this time; before the first tick what the flight controller of the world has."""
        rough, plant = super().measured(tick, time, gyro), self.plant
        if plant.tick == 0:
            return rough
        read = plant.sensors.readings()
        position = plant.tracker.position(tick // round(PERIOD / TICK), time)
        return Measured(
            time,
            read.gyro.T,
            read.accel.T,
            read.speeds.T,
            rough.wxyz,
            position,
            rough.velocity,
            rough.voltage,
        )
