"""The signals of a recorded throw on one clock: cut to a window, low-passed alike, and where the throw is in the log.

A throw begins where one rotor alone is driven for a while ([Blaha2024]: the motors are excited one after the other;
a test of the motors at arming drives all of them, or one for a single sample), and the flight lasts until the rotors
are stopped. All signals of one regression pass the same zero-phase low-pass, so that a linear relation stays exact.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import signal

from haltere.flight import Flight
from haltere.flight.resampling import interpolate_columns, regular_rate
from haltere.foundation import HaltereError
from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.foundation.numbers import Floats


@dataclass(frozen=True)
class ThrowSettings:
    """Numbers of the method for throws.

    Floors are from simulated throws with exact truth and from throws of one vehicle after the other.
    """

    driving_command: float = 0.2
    """Command above which a rotor is driven, of full command: above the idle of any motor."""
    stopped_command: float = 0.05
    """Command below which a rotor is not driven, of full command."""
    alone: float = 0.03
    """Time that one rotor alone is driven in an excitation, s: a test of the motors at arming is one sample."""
    free_fall: float = 0.75
    """Specific force over gravity below which a vehicle falls: in the hand and in flight it is about one."""
    before: float = 0.05
    """Time taken from before the first rotor is driven, s."""
    after: float = 0.3
    """Time left out before the rotors are stopped, s: the vehicle may be caught."""
    contact: float = 4.0
    """Force that rotors do not explain, m/s2, from which something touches the vehicle."""
    contact_levels: float = 10.0
    """The same in robust deviations of what is left of the force."""
    before_contact: float = 0.15
    """Time left out before a contact, s: the low-pass and the first touch."""
    shortest: float = 1.3
    """Time from the first rotor driven to the last command below which there is no flight, s."""
    longest: float = 10.0
    """Time of flight that is looked at, s: enough for the rows, and bounded in cost."""
    spin_up: float = 3.0
    """Time after the excitation begins in which motors are fitted, s: they go from rest to full command there."""
    cutoff: float = 20.0
    """Cutoff of the low-pass, Hz."""
    delay_steps: tuple[int, int] = (-12, 9)
    """First and last (excluded) delay of the rotor speeds behind the gyro that is tried, in `delay_step`; negative
    where the gyro is the later one."""
    delay_step: float = 5e-4
    """Step of the delays and dead times that are tried, s: half a sample of a log at 1 kHz."""
    lags: tuple[float, ...] = (0.0, 0.004, 0.008, 0.011, 0.013, 0.015, 0.018)
    """Time constants of the second-order filter that an accelerometer may have passed, s, tried."""
    outlier: float = 2.0
    """Robust deviations from which on a residual has less weight (Huber)."""
    force_rounds: int = 6
    """Rounds of robust weights of the force rows."""
    torque_rounds: int = 8
    """Gauss-Newton steps and rounds of weights of the torque rows."""
    search_rounds: int = 5
    """The same while delays are compared: enough to tell them apart."""
    spacing: float = 0.01
    """Time between samples of the torque rows, s: the low-pass leaves nothing between them."""
    inertia_sigma: float = 0.2
    """Prior deviation of the entries of the inertia of trace 3 from those of a ball."""
    product_sigma: float = 0.1
    """The same of the products of inertia where the axes of the log are about the principal ones."""
    gyroscopic_sigma: float = 1.0
    """Prior deviation of the rotors' gyroscopic torque from its physical value, relative: simulators leave it out."""
    floors: tuple[float, ...] = (0.04, 0.04, 0.05, 0.05, 0.06, 0.06, 0.04, 0.04, 0.04)
    """Floors of fx fy fz p q r p_dot q_dot r_dot over the largest number of the row (of fz and r_dot for those
    across)."""
    sum_floor: float = 0.01
    """Floor of the sum of the fz, relative: the scale of an accelerometer, and air."""
    imu_position_sigma: float = 0.003
    """Deviation of the IMU position, m, per axis."""
    dead_time_steps: int = 17
    """Dead times of the motors that are tried, in `delay_step` from zero."""
    motor_steps: int = 25
    """Damped Gauss-Newton steps of the motor fit."""
    slew_unit: float = 4e4
    """Unit of the slew limits in the fit, rad/s2: about what such motors reach."""
    speed_resolution: float = 2.0
    """Smallest robust deviation of rotor speeds, rad/s: telemetry counts in such steps."""


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

    def until(self, last: float) -> Self:
        """The samples up to a time, s."""
        kept = self.time <= last
        parts = (self.time, self.gyro, self.accel, self.rotor_speeds)
        return type(self)(self.rate, *(values[kept] for values in parts))

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
