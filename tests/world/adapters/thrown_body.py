"""The inertia of a body that is thrown with a flywheel: principal moments from the falls of one log.

The user knows the flywheel's inertia and axis, as the world's `nominal` gives them, and no more. A moment is judged by
the rule for moments of inertia; what is not known well enough, as the result says, is a refusal.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from tests.world import thrown_bodies
from tests.world.adapters.base import Estimator, Stated, answer, compare, to_flight
from tests.world.attempts import Attempt
from tests.world.levels import Level
from tests.world.plan import Batch

import haltere as ht
from haltere.foundation.verdict import NORMAL, judge, limits
from haltere.identification.tumble.free_rotation import find_rotations
from haltere.identification.tumble.inertia import inertia_of_falls
from haltere.identification.tumble.tumble import TumbleError

BODY = "thrown body"
"""What stands in the column of the vehicle."""


def fly_thrown(level: Level, seeds: Sequence[int]) -> list[thrown_bodies.BodyFlight]:
    """Bodies thrown once each."""
    return thrown_bodies.fly_bodies(level, seeds)


def moments_of(flight: ht.Flight, nominal: dict) -> Iterable[Stated]:
    """Principal moments, smallest first, with verdicts."""
    momentum = nominal["flywheel.inertia"] * np.array([nominal["flywheel.axis"]])
    found = inertia_of_falls(find_rotations(flight, momentum))
    if not found.enough:
        raise TumbleError(found.advice)
    values = {f"principal.{i + 1}": float(x) for i, x in enumerate(found.moments)}
    for (name, limit), sigma in zip(limits(values).items(), found.sigma, strict=True):
        half, value = NORMAL * float(sigma), values[name]
        yield Stated(name, value, (value - half, value + half), judge(half, limit), limit.scale)


def attempt_body(name: str, batch: Batch, seed: int, flight: thrown_bodies.BodyFlight) -> Attempt:
    """What the estimator says of one log."""
    record = to_flight(flight, ("imu.", "rotors."))
    stated, refusal, seconds = answer(lambda: moments_of(record, flight.nominal))
    truth = {key: value for key, value in flight.truth.items() if key[-1] in "123"}
    claims = tuple(compare(stated, truth))
    return Attempt(name, batch.level, batch.vehicle, str(seed), claims, refusal, seconds, batch.effect)


THROWN_BODY = Estimator((__name__,), "airframe", ("imu.", "rotors."), lambda *_: (), "bodies")
"""Run by `attempt_body`: no airframe describes a body."""
