"""The estimate in flight, after every reading of a flight of the world in the order of its stamps."""

from collections.abc import Iterable

from tests.world.adapters.base import Estimator, Stated
from tests.world.adapters.identify import SCALE_SIGMA

import haltere as ht
from haltere.airframe import Airframe
from haltere.estimation.smoother.online import replay
from haltere.foundation.verdict import NORMAL, limits


def _estimate_online(flight: ht.Flight, airframe: Airframe) -> Iterable[Stated]:
    weighed = airframe.total_mass
    estimate = replay(flight, airframe, known={"mass": (weighed, SCALE_SIGMA * weighed)}).estimate()
    scales = limits({p.name: p.value for p in estimate})
    return [
        Stated(
            p.name,
            p.value,
            (p.value - NORMAL * p.sigma, p.value + NORMAL * p.sigma),
            p.verdict,
            scales[p.name].scale,
        )
        for p in estimate
    ]


ONLINE = Estimator(
    (__name__, "haltere.estimation.smoother.online"),
    "airframe",
    ("imu.", "rotors.", "pose."),
    _estimate_online,
)
