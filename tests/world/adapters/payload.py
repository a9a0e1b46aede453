"""What an arm holds, as `haltere payload` states it: servos calibrated on the bench, then a grip in flight.

Users are asked for two logs, and the world gives both, of the same vehicle, arm and servos:

- bench: the vehicle stands, its motors at rest; both joints sweep 15 degrees about (45, 45) degrees, for 12 s each with
  nothing and with 0.1 and 0.3 kg; columns as `haltere calibrate servo` asks for them;
- flight: a hover; the joints sweep by 5 degrees without end, the measuring motion of the documentation, in one pose
  with nothing, then with what was gripped, then with it in a second pose.

The gripped mass is drawn by seed; every fifth flight grips nothing. The mass is that of `haltere payload FLIGHT
--calibration FILE`, its position that of the same call with `--beside-gripper`, which is how a user asks for it. Both
have an interval and no verdict: they are judged by the rule of `identify`. What the program does not show because it
found a fault in the readings is a refusal.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from tests.world import flights as world
from tests.world.adapters.base import Estimator, Stated
from tests.world.arm_flights import ArmBatch, finish_arm
from tests.world.batch import Setup
from tests.world.draws import generator
from tests.world.flights import default_height
from tests.world.hand import Unarmed, UnarmedMixer
from tests.world.levels import Level
from tests.world.pilot import Mixer, Pilot
from tests.world.store import SOURCE
from tests.world.streams import Stream

import haltere as ht
from haltere.airframe import Airframe
from haltere.foundation.verdict import NORMAL, arm_length, judge, limits
from haltere.identification.payload.reading import calibrate_servos, estimate_payload

TEXT = (SOURCE / "haltere" / "airframe" / "catalogue" / "quad-arm.toml").read_text(encoding="utf-8")
VEHICLE = "quad-arm"
KNOWN = (0.0, 0.1, 0.3)
"""kg, of the weights on the bench."""
WEIGHING = 12.0
"""s of each of them."""
BENCH = "bench."
"""What the names of the streams of the bench begin with."""
BENCH_STREAMS = ("joints.angle", "joints.load", "joints.goal")
EMPTY, FULL = 5, (0.05, 0.25)
"""Every how many flights there is nothing to grip; kg otherwise."""
DURATION = 22.0
"""s of the flight."""
GRIPPED, SECOND_POSE = (0.27, 0.36), 0.64
"""Shares of it after which the mass is gripped, and after which the arm goes on to its second pose."""
PACE = 0.8
"""rad/s from one pose to the next."""


class Sweeps:
    """Servo goals (2, N) rad: poses (P, 2, N), each from its start on, with a sweep of both joints about them.

    Args:
        starts: (P,) s, the first 0.
        poses: (P, 2, N) rad.
        amplitude: rad.
        frequencies: of the two joints, Hz.
    """

    def __init__(
        self, starts: Sequence[float], poses: np.ndarray, amplitude: float, frequencies: tuple[float, float]
    ) -> None:
        self.starts, self.poses, self.amplitude = starts, poses, amplitude
        self.turning = 2.0 * np.pi * np.array(frequencies)[:, None]

    def __call__(self, time: float, measured: object = None) -> np.ndarray:
        """Goals at a time, s."""
        now = max(time, 0.0)
        goal = self.poses[0]
        for start, before, after in zip(self.starts[1:], self.poses[:-1], self.poses[1:], strict=True):
            most = PACE * max(now - start, 0.0)
            goal = goal + np.clip(after - before, -most, most)
        return goal + self.amplitude * np.sin(self.turning * now)


class GripBatch(ArmBatch):
    """A batch whose arms grip a mass (N) kg each, at a time (N) s each."""

    def __init__(
        self,
        level: Level,
        seeds: list[int],
        duration: float,
        setup: Setup,
        servo: Sweeps,
        masses: np.ndarray,
        gripped: np.ndarray,
    ) -> None:
        self.masses, self.times = masses, gripped
        super().__init__(TEXT, level, seeds, duration, setup, 0.0, 0.0, float("inf"), servo)

    def _make_plant(self, *parts):
        plant = super()._make_plant(*parts)
        plant.loaded = plant.arm.with_payload(self.masses)
        plant.carried = lambda time: (self.masses > 0.0) & (self.times <= time + 1e-9)
        return plant

    def finish(self, index: int) -> world.Flight:
        """The flight, with the truth of what its arm holds at the end, in the words of `haltere payload`."""
        self.payload, self.gripped = float(self.masses[index]), float(self.times[index])
        flight = finish_arm(self, index, False)
        truth = flight.truth | {"payload.mass": self.payload}
        for axis, x in zip("xyz", self.arms[index].reach if self.payload > 0.0 else (), strict=False):
            truth[f"center_of_mass.{axis}"] = float(x)
        return replace(flight, truth=truth)


def fly_grips(level: Level, seeds: Sequence[int], duration: float = DURATION) -> list[world.Flight]:
    """Flights in which an arm grips something, each with the streams of its bench under names of their own.

    The weighings on the bench are as much shorter as the flight is.
    """
    chosen = list(seeds) if len(seeds) > 1 else list(seeds) * 2  # as `fly`: no flight alone
    rngs = [generator(seed, "grips") for seed in chosen]
    masses = np.array([rng.uniform(*FULL) for rng in rngs])
    masses[np.array(chosen) % EMPTY == 0] = 0.0
    gripped = duration * np.array([rng.uniform(*GRIPPED) for rng in rngs])
    poses = [np.stack([rng.uniform(0.5, 1.2, 2), rng.uniform(-0.4, 0.9, 2)], axis=1) for rng in rngs]
    servo = Sweeps((0.0, SECOND_POSE * duration), np.stack(poses, axis=-1), np.deg2rad(5.0), (0.5, 0.75))
    batch = GripBatch(level, chosen, duration, Setup(default_height(level)), servo, masses, gripped)
    batch.run("hover", Pilot, Mixer)
    flights = [batch.finish(index) for index in range(len(seeds))]
    benches = weigh(level, seeds, WEIGHING * duration / DURATION)
    return [
        replace(flight, streams=flight.streams | bench)
        for flight, bench in zip(flights, benches, strict=True)
    ]


def weigh(level: Level, seeds: Sequence[int], duration: float = WEIGHING) -> list[dict[str, Stream]]:
    """What the servos report on the bench, one known weight after the other; for each seed the streams by name.

    The vehicle stands on its feet on a rack, out of the wind: below the ground of the world there is room for the arm.
    """
    count = len(KNOWN)
    every = [seed for seed in seeds for _ in KNOWN]
    poses = np.full((1, 2, len(every)), np.pi / 4)
    servo = Sweeps((0.0,), poses, np.deg2rad(15.0), (0.2, 0.3))
    calm = replace(level, wind_mean=0.0, gust=0.0)
    setup = Setup(0.0, settle=1.0, ground=True)
    masses = np.tile(KNOWN, len(seeds))
    batch = GripBatch(calm, every, duration, setup, servo, masses, np.full(len(every), -np.inf))
    batch.run("hover", Unarmed, UnarmedMixer)
    flights = [batch.finish(index) for index in range(len(every))]
    return [_joined(flights[k : k + count], duration) for k in range(0, len(every), count)]


def _joined(flights: list[world.Flight], duration: float) -> dict[str, Stream]:
    """The streams of the weighings one after the other, with the known weight beside them."""
    starts = [k * (duration + 0.1) for k in range(len(flights))]
    joined = {}
    for name in BENCH_STREAMS:
        streams = [flight.streams[name] for flight in flights]
        time = np.concatenate([s.time + start for s, start in zip(streams, starts, strict=True)])
        joined[BENCH + name] = replace(
            streams[0], time=time, values=np.concatenate([s.values for s in streams])
        )
    lengths = [len(flight.streams["joints.angle"].time) for flight in flights]
    known = np.repeat(KNOWN, lengths)[:, None]
    joined[f"{BENCH}payload.mass"] = Stream(joined[f"{BENCH}joints.angle"].time, known, ("known",), "kg")
    return joined


def _state_payload(flight: ht.Flight, airframe: Airframe) -> list[Stated]:
    """The mass at the end of the flight and where it hangs, with servos calibrated on the bench."""
    channels = flight.channels.values()
    bench = ht.Flight.of(
        *(replace(c, name=c.name.removeprefix(BENCH)) for c in channels if c.name.startswith(BENCH))
    )
    flown = ht.Flight.of(*(c for c in channels if not c.name.startswith(BENCH)))
    with TemporaryDirectory() as folder:
        file = calibrate_servos(bench, airframe).save(Path(folder) / "servos.json")
        reading = estimate_payload(flown, airframe, calibration=file, fresh=True)
        beside = estimate_payload(flown, airframe, calibration=file, fresh=True, beside_gripper=True)
    if not reading.trusted:
        raise ht.HaltereError("; ".join(f"{f.kind}: {f.evidence}" for f in reading.findings))
    mass, place = reading.to_dict(), beside.to_dict()
    stated = [_judged("payload.mass", "payload.mass", mass["mass"], mass["sigma"], airframe)]
    for i, axis in enumerate("xyz"):
        value = place["center_of_mass"][i] if place["place_observable"] else None
        stated.append(
            _judged(
                f"center_of_mass.{axis}",
                f"payload.position.{axis}",
                value,
                place["center_sigma"][i],
                airframe,
            )
        )
    return stated


def _judged(name: str, kind: str, value: float | None, sigma: float | None, airframe: Airframe) -> Stated:
    """A number with the verdict that `identify` gives one of this kind; without a value it is unobservable."""
    if value is None or sigma is None:
        return Stated(name, None, (None, None), "unobservable", None)
    limit = limits({kind: value}, arm_length([rotor.position for rotor in airframe.rotors]))[kind]
    half = NORMAL * sigma
    return Stated(name, value, (value - half, value + half), judge(half, limit), limit.scale)


PAYLOAD = Estimator(
    (__name__,),
    "airframe",
    ("imu.accel", "imu.gyro", "joints.angle", "joints.load", "joints.goal", BENCH),
    _state_payload,
    "grips",
)
