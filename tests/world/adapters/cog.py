"""The filter for the centre of gravity over a flight of the world."""

import numpy as np
from tests.world.adapters.base import Estimator, Stated, judged

import haltere as ht
from haltere.airframe import Airframe


def _estimate_cog(flight: ht.Flight, airframe: Airframe) -> list[Stated]:
    """The centre of gravity at the end of the flight, from the command's own function."""
    history = ht.track_cog(flight, airframe)
    seen = list(np.isfinite(history.com[-1]))
    values = {f"com.{axis}": float(x) for axis, x in zip("xyz", np.nan_to_num(history.com[-1]), strict=True)}
    return judged(values, np.where(seen, history.sigma[-1], 0.0), airframe, seen)


COG_FILTER = Estimator(
    (__name__, "haltere.identification.cog_log"), "airframe", ("imu.", "rotors."), _estimate_cog
)
