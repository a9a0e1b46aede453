"""The filter for the centre of gravity over a flight of the world."""

from dataclasses import replace

import jax
import numpy as np
from tests.world.adapters.base import Estimator, Stated, judged

import haltere as ht
from haltere.airframe import Airframe
from haltere.dynamics.motors import Motors
from haltere.foundation.arrays import double_precision

PADDED = 2000
"""Readings are filled up to a multiple of this, so that one program serves flights of many lengths."""


@double_precision()
def _estimate_cog(flight: ht.Flight, airframe: Airframe) -> list[Stated]:
    """The centre of gravity at the end of the flight, every reading taken as it comes."""
    cog = ht.CogFilter(airframe)
    belief = cog.core.begin(None)
    belief, _ = _run_cog(cog.core, Motors.from_airframe(airframe), belief, _cog_readings(flight))
    estimate = cog.estimate(belief)
    values = {f"com.{axis}": float(x) for axis, x in zip("xyz", estimate.com, strict=True)}
    upright = int(np.argmax(np.abs(np.asarray(estimate.axis))))
    seen = [k != upright or bool(estimate.observable) for k in range(3)]
    return judged(values, np.asarray(estimate.sigma), airframe, seen)


def _cog_readings(flight: ht.Flight) -> tuple[np.ndarray, ...]:
    """dt (T,), gyro and accel (T, 3), rotor speeds and commands (T, R): for each IMU reading the last of the others."""
    gyro, accel = flight["imu.gyro"], flight["imu.accel"]
    stamps = gyro.time
    force = accel.values[np.clip(np.searchsorted(accel.time, stamps), 0, len(accel) - 1)]
    rotors = []
    for name in ("rotors.speed", "rotors.command"):
        channel = flight[name]
        index = np.searchsorted(channel.time, stamps, side="right") - 1
        rotors.append(np.where(index[:, None] >= 0, channel.values[np.maximum(index, 0)], np.nan))
    dt = np.diff(stamps, prepend=stamps[0] - int(np.median(np.diff(stamps)))) * 1e-9
    parts = (dt, gyro.values, force, *rotors)
    missing = -len(dt) % PADDED
    filled = [np.concatenate([p, np.full((missing, *p.shape[1:]), np.nan)]) for p in parts]
    filled[0][len(dt) :] = 1e-9
    return tuple(filled)


@jax.jit
def _run_cog(core, motors, belief, readings):
    def step(belief, reading):
        dt, gyro, accel, speeds, commands = reading
        timed = replace(core, settings=replace(core.settings, period=dt))
        belief = timed.predict(replace(belief, prediction=None), speeds, motors.target(commands), None)
        return replace(core.correct(belief, gyro, accel), prediction=None), None

    return jax.lax.scan(step, belief, readings)


COG_FILTER = Estimator(
    (__name__, "haltere.estimation.cog.filter"), "airframe", ("imu.", "rotors."), _estimate_cog
)
