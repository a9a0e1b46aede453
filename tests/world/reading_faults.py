"""Faults of what an estimator reads, from the middle of the flight on; the vehicle flies as before.

Of "accel" and of "gyro", each on all three axes unless said otherwise:

    dead               zero
    dead with noise    white noise of the sensor around zero
    frozen             the value of the first sample at fault
    axis frozen        the same on one drawn axis
    clipped            within 0.9 g or 0.01 rad/s, so small that a hover clips too
    at range           16 g or 2000 degrees/s on every axis
    NaN                no numbers
    tripled            three times too large
    spikes             100 m/s2 or 20 rad/s more or less on one axis in 1 % of the samples
    bias jump          2 m/s2 or 0.5 rad/s more in a drawn direction

Of all readings:

    half lost, 70 % lost   a sample does not arrive: stamp and readings are NaN, drawn for each flight and sample
    gap                    none arrives for 2 s
    all NaN                stamps arrive, readings are NaN for 1 s
    stamps back            the clock is set back by 2 s, and one stamp in fifty is 20 ms too early

Of one drawn rotor: "speed NaN", "speed frozen", and "speed zeros" in 5 % of the samples.
"""

from dataclasses import replace

import numpy as np
from tests.world.draws import generator
from tests.world.levels import Level
from tests.world.readings import Readings
from tests.world.rigid import GRAVITY

KINDS = (
    "dead", "dead with noise", "frozen", "axis frozen", "clipped", "at range", "NaN", "tripled", "spikes", "bias jump",
)  # fmt: skip
FAULTS = (
    *(f"{sensor} {kind}" for sensor in ("accel", "gyro") for kind in KINDS),
    "half lost", "70 % lost", "gap", "all NaN", "stamps back", "speed NaN", "speed frozen", "speed zeros",
)  # fmt: skip
CLIPPED = {"accel": 0.9 * GRAVITY, "gyro": 0.01}
RANGE = {"accel": 16 * GRAVITY, "gyro": np.deg2rad(2000.0)}
SPIKE = {"accel": 100.0, "gyro": 20.0}
JUMP = {"accel": 2.0, "gyro": 0.5}
LOST = {"half lost": 0.5, "70 % lost": 0.7}
LASTS = {"gap": 2.0, "all NaN": 1.0}  # s; the others last
SET_BACK = 2.0  # s


class ReadingFault:
    """One fault of a batch from `start` (s) on."""

    def __init__(self, name: str, seeds, start: float, level: Level, rotors: int):
        if name not in FAULTS:
            raise ValueError(f"no fault {name!r}; there are {FAULTS}")
        self.name, self.start = name, start
        self.end = start + LASTS.get(name, np.inf)
        self.rngs = [generator(seed, f"fault {name}") for seed in seeds]
        self.axis = np.eye(3, dtype=bool)[[rng.integers(3) for rng in self.rngs]]
        self.rotor = np.eye(rotors, dtype=bool)[[rng.integers(rotors) for rng in self.rngs]]
        direction = self._normal(3)
        self.direction = direction / np.sqrt((direction**2).sum(axis=1, keepdims=True))
        self.noise = {"accel": level.accel_noise, "gyro": level.gyro_noise}
        self.first: Readings | None = None

    def __call__(self, readings: Readings) -> Readings:
        """The readings as they arrive."""
        time = readings.time
        if not self.start - 1e-9 <= time[0] < self.end - 1e-9:
            return readings
        self.first = self.first or readings
        sensor, _, kind = self.name.partition(" ")
        if sensor in SPIKE:
            values, first = getattr(readings, sensor), getattr(self.first, sensor)
            return replace(readings, **{sensor: self._sensor(sensor, kind, values, first)})
        if sensor == "speed":
            return replace(readings, speeds=self._speeds(kind, readings.speeds))
        if self.name == "stamps back":
            return replace(readings, time=time - SET_BACK - 0.02 * (self._uniform(1)[:, 0] < 0.02))
        lost = self._uniform(1) < LOST.get(self.name, 1.0)
        parts = {key: np.where(lost, np.nan, getattr(readings, key)) for key in ("gyro", "accel", "speeds")}
        if self.name == "all NaN":
            return replace(readings, **parts)
        return Readings(np.where(lost[:, 0], np.nan, time), **parts)

    def _sensor(self, sensor, kind, values, first):
        """Values (N, 3) of a sensor at fault; `first` are those of its first sample at fault."""
        if kind == "dead with noise":
            return self.noise[sensor] * self._normal(3)
        if kind == "axis frozen":
            return np.where(self.axis, first, values)
        if kind == "clipped":
            return np.clip(values, -CLIPPED[sensor], CLIPPED[sensor])
        if kind == "tripled":
            return 3.0 * values
        if kind == "bias jump":
            return values + JUMP[sensor] * self.direction
        if kind == "spikes":
            hit, axis, sign = self._uniform(3).T
            chosen = np.eye(3)[(3 * axis).astype(int)] * np.where(sign < 0.5, -1.0, 1.0)[:, None]
            return values + SPIKE[sensor] * chosen * (hit < 0.01)[:, None]
        constant = {"dead": 0.0, "at range": RANGE[sensor], "NaN": np.nan, "frozen": first}[kind]
        return np.broadcast_to(constant, values.shape).copy()

    def _speeds(self, kind, speeds):
        if kind == "zeros":
            return np.where(self.rotor & (self._uniform(1) < 0.05), 0.0, speeds)
        return np.where(self.rotor, np.nan if kind == "NaN" else self.first.speeds, speeds)

    def _uniform(self, size):
        return np.stack([rng.random(size) for rng in self.rngs])

    def _normal(self, size):
        return np.stack([rng.standard_normal(size) for rng in self.rngs])
