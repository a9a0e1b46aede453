"""`haltere identify` over a flight of the world, whose vehicle was weighed: its mass is known as well as by a scale."""

from collections.abc import Callable, Iterable

from tests.world.adapters.base import Estimator, Stated

import haltere as ht
from haltere.airframe import Airframe
from haltere.identification.methods.registry import METHODS

SCALE_SIGMA = 0.005
"""Relative deviation of the scale."""


def identify_by(method: str, frame: str, channels: tuple[str, ...]) -> Estimator:
    """The method of `identify` that has this name."""
    own = METHODS[method].partition(":")[0]  # the registry knows it by its name only
    modules = (__name__, "haltere.identification.pipeline", own)
    return Estimator(modules, frame, channels, _identify(method))


def _identify(method: str) -> Callable[[ht.Flight, Airframe], Iterable[Stated]]:
    def run(flight: ht.Flight, airframe: Airframe) -> Iterable[Stated]:
        weighed = airframe.total_mass
        known = {"mass": (weighed, SCALE_SIGMA * weighed)}
        result = ht.identify(flight, airframe, known=known, method=method)
        return [Stated(p.name, p.value, p.interval, p.verdict, p.scale) for p in result.parameters]

    return run
