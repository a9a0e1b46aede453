"""What `make world` flies: vehicles, levels, single effects, how many flights of each, and all seeds.

Seeds stand here and nowhere else. Whoever works on an estimator looks at those of `development`; `test` are those of
`make test`, `baseline` those of the first table that was recorded, `table` those of the recorded table. No seed is in
two of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.world.scoring import LEVELS

VEHICLES = ("quadrotor-x", "hexarotor", "tilted-quadrotor", "coaxial-y")
SEEDS = {
    "development": range(10_000),
    "test": range(10_000, 20_000),
    "baseline": range(20_000, 30_000),
    "table": range(30_000, 40_000),
}
SCENARIOS = ("flight", "throws")
"""A flight by sticks; or two throws by hand with the motors at rest."""
BATCH = 25
"""Flights that are flown together, at most: what is lost when a run is stopped."""


@dataclass(frozen=True)
class Size:
    """How much is flown.

    Attributes:
        flights: of each vehicle at each level.
        effect_flights: of the first vehicle with each single effect.
        seeds: which of `SEEDS` are flown unless others are asked for.
        levels: that are flown.
        vehicles: that are flown.
        duration: of a flight, s.
    """

    flights: int
    effect_flights: int
    seeds: str
    levels: tuple[str, ...] = LEVELS
    vehicles: tuple[str, ...] = VEHICLES
    duration: float = 24.0


SIZES = {
    "full": Size(25, 24, "table"),
    "small": Size(5, 2, "development"),
    "look": Size(3, 0, "development"),
    "test": Size(1, 0, "test", levels=("ideal",), vehicles=("quadrotor-x",), duration=10.0),
}


@dataclass(frozen=True)
class Batch:
    """Flights of one kind.

    Attributes:
        level: of the world.
        vehicle: by its name.
        effect: the only one that is taken from a harder level, or empty.
        seeds: one for each flight.
        duration: s, where the scenario leaves it open.
        scenario: what happens, one of `SCENARIOS`.
        profile: of the sticks of a flight.
    """

    level: str
    vehicle: str
    effect: str
    seeds: tuple[int, ...]
    duration: float = 24.0
    scenario: str = "flight"
    profile: str = "full"


def batches(
    size: Size, effects: tuple[str, ...] = (), seeds: str = "", scenario: str = "flight"
) -> Iterator[Batch]:
    """All flights of a size, vehicle after vehicle so that every part of the table fills at the same pace.

    Args:
        size: how much.
        effects: names of the single effects of the world.
        seeds: which of `SEEDS`; those of the size if empty.
        scenario: what happens in each of them.
    """
    start = SEEDS[seeds or size.seeds].start
    for first in range(0, size.flights, BATCH):
        own = tuple(range(start + first, start + min(first + BATCH, size.flights)))
        for vehicle in size.vehicles:
            for level in size.levels:
                yield Batch(level, vehicle, "", own, size.duration, scenario)
    own = tuple(range(start + size.flights, start + size.flights + size.effect_flights))
    for effect in effects if own else ():
        yield Batch("ideal", size.vehicles[0], effect, own, size.duration, scenario)
