"""Flights: vehicles flown in batches, with their streams and their truth.

flights = fly(QUADROTOR, REALISTIC, "full", seeds=range(100))
flights[0].streams["imu.gyro"].time, .values      by its own clock
flights[0].truth["mass"], flights[0].nominal      what is true; the airframe file for the program
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from tests.world.batch import SETTLE, Batch, Setup
from tests.world.drawings import Drawing, nominal_toml
from tests.world.draws import clipped_normal, generator
from tests.world.ground import take_off_and_land
from tests.world.hand import Throws, Unarmed, UnarmedMixer, draw_throws, longest_throw
from tests.world.levels import Level
from tests.world.motors import with_rotors_motors
from tests.world.payload import Payload
from tests.world.pilot import Mixer, Pilot
from tests.world.sensors import Lateness, Record, sample
from tests.world.streams import Stream
from tests.world.truth import truth_of
from tests.world.vehicles import Damage, Vehicle, draw_vehicle, with_battery_moved

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
    throws: Throws | None = None
    record: Record | None = field(default=None, repr=False)


def fly(
    drawing: Drawing,
    level: Level,
    profile: str,
    seeds: Sequence[int],
    duration: float = 24.0,
    *,
    vehicle_seeds: Sequence[int] | None = None,
    vehicles: Sequence[Vehicle] | None = None,
    battery_shift: float = 0.0,
    damage: Damage | None = None,
    height: float | None = None,
    controller: Callable | None = None,
    mixer: Callable | None = None,
    payloads: Sequence[Payload] | None = None,
    throws: Sequence[Throws] | None = None,
    ground: bool = False,
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
    `payloads` and `throws` have one entry per flight; with `throws` a hand begins. With `ground` the vehicle stands on
    it at first (see `fly_from_ground`). `air_model` "rotors" flies the rotors of RotorS: its lags up and down, rotor
    drag and rolling moment, and nothing else of moving air.
    """
    seeds = [int(seed) for seed in seeds]
    vehicles = list(vehicles or _draw(drawing, level, vehicle_seeds or seeds, damage))
    for name, given in (("vehicles", vehicles), ("payloads", payloads), ("throws", throws)):
        if given is not None and len(given) != len(seeds):
            raise ValueError(f"{len(given)} {name} for {len(seeds)} flights; give one for each flight")
    vehicles = [
        with_battery_moved(vehicle, battery_shift * clipped_normal(generator(seed, "battery position"), 3))
        for vehicle, seed in zip(vehicles, seeds, strict=True)
    ]
    if air_model == "rotors":
        vehicles = [with_rotors_motors(vehicle) for vehicle in vehicles]
    height = default_height(level) if height is None else height
    flights = []
    for start in range(0, len(seeds), BATCH):
        chosen = list(range(start, min(start + BATCH, len(seeds))))
        asked = len(chosen)
        if asked == 1:  # sums over one column may be added in another order: a flight never flies alone
            chosen = chosen * 2
        setup = Setup(
            height, air_model, substeps, settle,
            tuple(payloads[i] for i in chosen) if payloads else None,
            tuple(throws[i] for i in chosen) if throws else None, ground,
        )  # fmt: skip
        batch = Batch(
            drawing, level, [seeds[i] for i in chosen], [vehicles[i] for i in chosen], duration, setup
        )
        batch.run(profile, controller or Pilot, mixer or Mixer)
        flights += [finish(batch, index, keep_record) for index in range(asked)]
    return flights


def fly_throws(
    drawing: Drawing,
    level: Level,
    seeds: Sequence[int],
    count: int = 2,
    *,
    spin: float = 6.0,
    height: float = 1.5,
    controller: Callable | None = None,
    mixer: Callable | None = None,
    flight_time: float | None = None,
    **options,
) -> list[Flight]:
    """Carry, throw and catch vehicles `count` times; by default the motors stand.

    `controller` and `mixer` as in `fly` let the vehicle start its motors by itself; `flight_time` then is the time
    until the next catch, s. A hand stands at 1.3 m. The releases are in `flight.throws.releases`.
    """
    plans = [draw_throws(seed, count, spin, height, flight_time) for seed in seeds]
    duration = count * longest_throw(height, flight_time) + 1.0  # the same whoever flies beside
    return fly(
        drawing, level, "hover", seeds, duration, height=1.3, throws=plans, settle=0.0,
        controller=controller or Unarmed, mixer=mixer or UnarmedMixer, **options,
    )  # fmt: skip


def fly_from_ground(
    drawing: Drawing, level: Level, profile: str, seeds: Sequence[int], duration: float = 24.0, **options
) -> list[Flight]:
    """Take off after 1 s, fly the sticks at 2 m, land in the last 7 s and stand."""
    ground_height = 0.076 + float(-min(drawing.position[2].min(), 0.0))
    maker = take_off_and_land(1.0, duration - 7.0, ground_height)
    return fly(
        drawing, level, profile, seeds, duration,
        height=2.0, ground=True, settle=0.0, controller=maker, **options,
    )  # fmt: skip


def default_height(level: Level) -> float:
    """Height of flight, m: near the ground where the ground counts."""
    return 2.0 if level.ground_effect else 15.0


def _draw(drawing, level, seeds, damage):
    return [draw_vehicle(drawing, level, int(seed), damage) for seed in seeds]


def finish(batch: Batch, index: int, keep_record: bool) -> Flight:
    """The flight of a batch with its streams and truth."""
    record, vehicle, seed = batch.record(index), batch.vehicles[index], batch.seeds[index]
    setup, drawing = batch.setup, batch.drawing
    streams, lateness = sample(record, vehicle, drawing, batch.level, batch.errors[index], seed)
    truth = truth_of(vehicle, drawing, batch.duration, lateness.speed + lateness.speed_clock)
    if setup.payloads:
        truth |= setup.payloads[index].truth()
    nominal = nominal_toml(drawing, float(vehicle.weighed))
    crashed = has_crashed(record, free=setup.throws is None and not setup.ground)
    plan = setup.throws[index] if setup.throws else None
    return Flight(
        seed, batch.level, drawing, vehicle, streams, truth, nominal, lateness, crashed, plan,
        record if keep_record else None,
    )  # fmt: skip


TURNED_OVER = -0.5
"""Cosine of the tilt from which a vehicle has turned over: 120 degrees. On its side, at 90, a gust may put it for a
moment, and the pilot rights it."""


def has_crashed(record: Record, free: bool = True) -> bool:
    """Whether the state is no number or out of range; if `free`, also if it touched the ground or turned over."""
    if not np.isfinite(record.position).all() or not np.isfinite(record.rate).all():
        return True
    if np.abs(record.position).max() > 300.0:
        return True
    upright = 1 - 2 * (record.wxyz[:, 1] ** 2 + record.wxyz[:, 2] ** 2)
    return bool(free and (record.position[:, 2].min() < 0.02 or upright.min() < TURNED_OVER))
