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
from haltere.foundation.numbers import Floats

DRIVEN, STILL = 0.15, 0.05
"""Of full command: above the one a rotor is driven, below the other it is not."""
LASTING = 0.03
"""s that one rotor alone is driven."""
BEFORE, AFTER = 0.05, 0.5
"""s that are taken from before the first rotor is driven, and left out before the rotors are stopped."""


@dataclass(frozen=True)
class ThrowSignals:
    """A window of a log.

    Attributes:
        rate: samples per second.
        time: (N,) s.
        gyro: (N, 3) rad/s.
        accel: (N, 3) m/s2.
        speeds: (N, m) of the rotors, rad/s, single dropouts taken out.
    """

    rate: float
    time: Floats
    gyro: Floats
    accel: Floats
    speeds: Floats

    def late(self, delay: float) -> Floats:
        """(N, m) rotor speeds of a clock that is `delay` s late."""
        time = self.time
        return interpolate_columns(time + delay, time, self.speeds)

    def inner(self, cutoff: float) -> slice:
        """The samples that the ends of the low-pass have not spoilt."""
        edge = max(round(0.4 * self.rate / cutoff), 1)
        return slice(edge, len(self.time) - edge)


def window_of(flight: Flight, start: float, end: float, accel: str = "imu.accel") -> ThrowSignals:
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


def thrown_window(flight: Flight) -> tuple[float, float]:
    """Start and end of a recorded throw, s since the first sample, by its motor commands."""
    command = flight["rotors.command"]
    time, d = command.seconds(flight.start), command.values
    rate = regular_rate(command)
    alone = (d.max(axis=1) > DRIVEN) & ((d > STILL).sum(axis=1) == 1)
    length = max(round(LASTING * rate), 1)
    runs = np.flatnonzero(np.convolve(alone, np.ones(length), "valid") > length - 0.5)
    if not len(runs):
        raise HaltereError(
            f"no rotor is driven alone for {LASTING:g} s anywhere in this log; it holds no throw with an excitation: "
            "give start and end yourself"
        )
    flying = np.flatnonzero((d > STILL).all(axis=1) & (np.arange(len(d)) > runs[0]))
    last = flying[-1] if len(flying) else runs[-1] + length
    start, end = float(time[runs[0]]) - BEFORE, float(time[min(last, len(time) - 1)]) - AFTER
    return max(start, float(time[0])), max(end, start + 2.0 * AFTER)
