"""The signals of a recorded throw on one clock: cut to a window, low-passed alike, and where the throw is in the log.

A throw begins where one rotor alone is driven for a while ([Blaha2024]: the motors are excited one after the other;
a test of the motors at arming drives all of them, or one for a single sample), and the flight lasts until the rotors
are stopped. All signals of one regression pass the same zero-phase low-pass, so that a linear relation stays exact.
"""

from dataclasses import dataclass

import numpy as np
from scipy import signal

from haltere.flight import Flight
from haltere.flight.resampling import interpolate_columns, regular_rate
from haltere.foundation import HaltereError
from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.foundation.numbers import Floats
from haltere.identification.methods.settings import ThrowSettings

SETTINGS = ThrowSettings()


@dataclass(frozen=True)
class ThrowSignals:
    """A window of a log.

    Attributes:
        rate: samples per second.
        time: (N,) s.
        gyro: (N, 3) rad/s.
        accel: (N, 3) m/s2.
        rotor_speeds: (N, m) of the rotors, rad/s, single dropouts taken out.
    """

    rate: float
    time: Floats
    gyro: Floats
    accel: Floats
    rotor_speeds: Floats

    def delayed_speeds(self, delay: float) -> Floats:
        """(N, m) rotor speeds of a clock that is `delay` s late."""
        time = self.time
        return interpolate_columns(time + delay, time, self.rotor_speeds)

    def inner(self, cutoff: float) -> slice:
        """The samples that the ends of the low-pass have not spoilt."""
        edge = max(round(0.4 * self.rate / cutoff), 1)
        return slice(edge, len(self.time) - edge)


def throw_signals(flight: Flight, start: float, end: float, accel: str = "imu.accel") -> ThrowSignals:
    """The signals from `start` to `end`, s since the first sample."""
    gyro, force, speed = (flight[name] for name in ("imu.gyro", accel, "rotors.speed"))
    if not (np.array_equal(gyro.time, speed.time) and np.array_equal(gyro.time, force.time)):
        raise HaltereError(
            "gyro, accelerometer and rotor speeds have clocks of their own; resample them to one first"
        )
    rate = regular_rate(gyro)
    time = gyro.seconds(flight.start)
    inside = (time >= start) & (time <= end)
    if inside.sum() < rate * 0.3:
        raise HaltereError(
            f"{start:g} to {end:g} s hold {inside.sum()} samples; give at least 0.3 s of flight"
        )
    speeds = signal.medfilt(speed.values[inside], (3, 1))
    return ThrowSignals(rate, time[inside], gyro.values[inside], force.values[inside], speeds)


def find_throw(flight: Flight) -> tuple[float, float] | None:
    """Start and end, s since the first sample, of a throw that the motors end; None if the log holds none.

    One rotor alone is driven for a while, in free fall; the flight lasts until the last command, or the longest time
    that is looked at.
    """
    if not all(name in flight for name in ("rotors.command", "rotors.speed", "imu.accel", "imu.gyro")):
        return None
    command, accel = flight["rotors.command"], flight["imu.accel"]
    if command.values.ndim != 2 or not np.array_equal(command.time, flight["imu.gyro"].time):
        return None
    time, d = command.seconds(flight.start), np.nan_to_num(command.values)
    # The motors are excited one after the other: nothing that flies already does that.
    alone = (d.max(axis=1) > SETTINGS.driving_command) & ((d > SETTINGS.stopped_command).sum(axis=1) == 1)
    length = max(round(SETTINGS.alone * command.rate), 2)
    runs = np.flatnonzero(np.convolve(alone, np.ones(length), "valid") > length - 0.5)
    if not len(runs):
        return None
    start = float(time[runs[0]])
    stamps = accel.seconds(flight.start)
    before = (stamps > start - 0.15) & (stamps < start + 0.01)
    force = np.linalg.norm(accel.values[before], axis=1)
    if before.sum() < 20 or not np.nanmedian(force) < SETTINGS.free_fall * STANDARD_GRAVITY:
        return None
    flying = np.flatnonzero((d > SETTINGS.stopped_command).all(axis=1))
    end = float(time[flying[-1]]) if len(flying) else float(time[-1])
    begin = max(start - SETTINGS.before, float(time[0]))
    return (
        (begin, min(end, begin + SETTINGS.longest) - SETTINGS.after)
        if end - begin > SETTINGS.shortest
        else None
    )
