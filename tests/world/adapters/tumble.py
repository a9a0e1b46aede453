"""The position of the IMU from free falls: two throws by hand with the motors at rest."""

from collections.abc import Sequence

import numpy as np
from tests.world import flights as world
from tests.world.adapters.base import Estimator, Stated, judged
from tests.world.drawings import Drawing
from tests.world.hand import Unarmed, UnarmedMixer, draw_throws
from tests.world.levels import Level

import haltere as ht
from haltere.airframe import Airframe
from haltere.identification.tumble.imu_position import locate_imu
from haltere.identification.tumble.tumble import find_tumbles

HAND_HEIGHT = 1.3
"""m above the ground, of the hand that throws."""
THROWS_DURATION = 9.5
"""s: two throws take at most 8.1 s."""


def fly_throws(drawing: Drawing, level: Level, seeds: Sequence[int]) -> list[world.Flight]:
    """Two throws each with the motors at rest; all records are equally long, so that none depends on its batch."""
    plans = [draw_throws(seed) for seed in seeds]
    return world.fly(
        drawing,
        level,
        "hover",
        seeds,
        THROWS_DURATION,
        height=HAND_HEIGHT,
        throws=plans,
        settle=0.0,
        controller=Unarmed,
        mixer=UnarmedMixer,
    )


def _locate_imu(flight: ht.Flight, airframe: Airframe) -> list[Stated]:
    """The position of the IMU from the free falls of a log, in its own axes."""
    found = locate_imu(find_tumbles(flight))
    values = {f"imu.position.{axis}": float(x) for axis, x in zip("xyz", found.position, strict=True)}
    sigmas = np.sqrt(np.diagonal(found.cov))
    return judged(values, sigmas, airframe, (True, True, True))


TUMBLE = Estimator((__name__,), "imu", ("imu.",), _locate_imu, "throws")
