"""The part of a flight in which rotors carry the vehicle, on one regular clock: what the laws are fitted to.

Every signal is put on the clock of the gyro (at most `FASTEST`, low-passed before that where it was faster); nothing is
made up within gaps. Flying is where the rotors pull: squared speeds, or commands, beyond a share of their usual sum,
some time after they came there and before they leave it.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import signal

from haltere.flight import Channel, Flight
from haltere.flight.filters import low_pass, white_noise
from haltere.flight.resampling import interpolate_columns, runs_of_true
from haltere.foundation import HaltereError
from haltere.foundation.numbers import Bools, Floats

FASTEST = 1000.0
"""Hz."""
SHARE = 0.4
"""Of the usual pull: below it the vehicle stands or falls."""
MARGIN = 0.3
"""s, at both ends of a flying stretch."""
SPIKE = 5.0
"""Deviations of its noise beyond which a rotor speed that is off the median of three is an outlier."""
SHORTEST = 1.0
"""s of flight at least."""
HELD_OUT = 0.25
"""Share of the flying time at its end that no prediction has seen."""


class IdentifyError(HaltereError):
    """A log, or what was said beside it, from which nothing can be identified."""


@dataclass(frozen=True)
class Excerpt:
    """Signals on one clock.

    Attributes:
        rate: Of the clock, Hz.
        time: (N,) s since the flight's first sample.
        gyro: (N, 3) rad/s.
        accel: (N, 3) m/s2, or None.
        speeds: (N, m) rad/s, or None.
        commands: (N, m) in 0..1, or None.
        voltage: (N,) V, or None.
        good: (N,) where all signals are there and the vehicle flies.
        names: Of the rotors.
    """

    rate: float
    time: Floats
    gyro: Floats
    accel: Floats | None
    speeds: Floats | None
    commands: Floats | None
    voltage: Floats | None
    good: Bools
    names: tuple[str, ...]

    @property
    def rotors(self) -> int:
        """How many."""
        return len(self.names)

    @property
    def flown(self) -> float:
        """Seconds of flight."""
        return float(self.good.sum() / self.rate)

    def early(self) -> Self:
        """The same signals, good only before the held-out end."""
        return replace(self, good=self.good & (self.time < self.split))

    def late(self) -> Self:
        """The same signals, good only in the held-out end."""
        return replace(self, good=self.good & (self.time >= self.split))

    def turned(self, R: Floats) -> Self:
        """The same signals with gyro and accelerometer in body axes, R (3, 3) = R_BI those of the IMU in them."""
        accel = None if self.accel is None else self.accel @ R.T
        return replace(self, gyro=self.gyro @ R.T, accel=accel)

    @property
    def split(self) -> float:
        """Time from which on the flight is held out, s."""
        inside = np.flatnonzero(self.good)
        return float(self.time[inside[int((1.0 - HELD_OUT) * (len(inside) - 1))]]) if len(inside) else 0.0


def excerpt(flight: Flight, names: tuple[str, ...] = ()) -> Excerpt:
    """The flying part of a flight.

    Args:
        flight: With `imu.gyro` and `rotors.speed` or `rotors.command`.
        names: Of the rotors, in the log's order; those of the log if none are given.
    """
    for name, wanted in (("imu.gyro", "a gyro"), ("imu.accel", "an accelerometer")):
        if name not in flight or len(flight[name]) < 50:
            raise IdentifyError(f"the log has no {name}; log {wanted} in flight")
    gyro = flight["imu.gyro"]
    rate = _rate(gyro)
    step = 1.0 / rate
    begin = max(flight[n].seconds(flight.start)[0] for n in ("imu.gyro", "imu.accel"))
    end = min(flight[n].seconds(flight.start)[-1] for n in ("imu.gyro", "imu.accel"))
    time = np.arange(begin, end, step)
    if len(time) < SHORTEST * rate:
        both = max(end - begin, 0.0)
        raise IdentifyError(
            f"gyro and accelerometer were logged together for {both:.2g} s; at least {SHORTEST:g} s are needed"
        )
    good = np.ones(len(time), bool)
    found: dict[str, Floats | None] = {}
    for name in ("imu.gyro", "imu.accel", "rotors.speed", "rotors.command", "battery.voltage"):
        found[name] = None
        if name in flight and int(flight[name].finite.sum()) > 20:
            values, there = _on(flight[name], flight.start, time, rate)
            if name.startswith("rotors.") and values.ndim != 2:
                continue
            if name == "battery.voltage":
                values = np.interp(time, time[there], values[there]) if there.any() else values
                found[name] = values if there.any() and np.nanmin(values) > 0.5 else None
                continue
            found[name] = values
            good &= there
    speeds, commands = found["rotors.speed"], found["rotors.command"]
    if speeds is not None and not np.nanmax(np.where(good[:, None], speeds, 0.0), initial=0.0) > 1.0:
        speeds = None
    if commands is not None and not np.nanmax(np.where(good[:, None], commands, 0.0), initial=0.0) > 0.01:
        commands = None
    if speeds is None and commands is None:
        raise IdentifyError(
            "the log has neither rotor speeds nor motor commands that move; log rotors.speed (bidirectional DShot, "
            "ESC telemetry) or at least the motor outputs"
        )
    if speeds is not None and commands is not None and speeds.shape[1] != commands.shape[1]:
        commands = commands[:, : speeds.shape[1]] if commands.shape[1] > speeds.shape[1] else None
    main = speeds if speeds is not None else commands
    assert main is not None
    if speeds is None and commands is not None:
        used = np.nanmax(np.where(good[:, None], commands, 0.0), axis=0) > 0.01
        if not used.all():
            commands = main = commands[:, used]
    good &= _flying(np.nan_to_num(main), rate)
    if good.sum() < SHORTEST * rate:
        raise IdentifyError(
            f"the log holds {good.sum() / rate:.2g} s of flight with all signals; at least {SHORTEST:g} s are needed"
        )
    source = flight["rotors.speed"] if speeds is not None else flight["rotors.command"]
    count = main.shape[1]
    labels = names if len(names) == count else tuple(source.columns)
    if len(labels) != count:
        labels = tuple(f"m{i + 1}" for i in range(count))
    gyro_values = found["imu.gyro"]
    assert gyro_values is not None
    return Excerpt(
        rate, time, gyro_values, found["imu.accel"], speeds, commands, found["battery.voltage"], good, labels
    )


def _rate(gyro: Channel) -> float:
    rate = float((len(gyro) - 1) / max((gyro.time[-1] - gyro.time[0]) * 1e-9, 1e-9))
    rate = min(max(gyro.rate, rate), 1e5)
    return rate / np.ceil(rate / FASTEST) if rate > FASTEST else rate


def _on(channel: Channel, origin: int, time: Floats, rate: float) -> tuple[Floats, Bools]:
    """Values (N, ...) on the clock, and where they are not made up."""
    keep = channel.finite
    stamps, values = channel.seconds(origin)[keep], channel.values[keep]
    flat = values.reshape(len(values), -1)
    own = 1.0 / max(float(np.median(np.diff(stamps))), 1e-9)
    if channel.name == "rotors.speed" and len(flat) > 3:
        flat = _despiked(flat)
    if own > 1.3 * rate and channel.name != "rotors.command":
        flat = low_pass(flat, own, 0.4 * rate, pad=50, corrected=False)
    if channel.name == "rotors.command":
        place = np.clip(np.searchsorted(stamps, time + 1e-6, "right") - 1, 0, len(stamps) - 1)
        on = flat[place]
    else:
        on = interpolate_columns(time, stamps, flat)
    after = np.clip(np.searchsorted(stamps, time, "right"), 1, len(stamps) - 1)
    inside = (time >= stamps[0] - 1e-6) & (time <= stamps[-1] + 1.5 / own)
    width = stamps[after] - stamps[after - 1]
    return on.reshape(len(time), *values.shape[1:]), inside & (width <= max(5.0 / own, 0.03))


def _despiked(values: Floats) -> Floats:
    """Signals (N, m) in which what is far from the median of a sample and its neighbours is that median."""
    middle = signal.medfilt(values, (3, 1))
    return np.where(np.abs(values - middle) > SPIKE * white_noise(values), middle, values)


def _flying(pull: Floats, rate: float) -> Bools:
    """(N,) where the rotors carry the vehicle, from their speeds or commands (N, m)."""
    total = np.sum(np.clip(pull, 0.0, None) ** 2, axis=1)
    width = max(int(0.1 * rate) | 1, 3)
    smooth = signal.fftconvolve(total, np.ones(width) / width, mode="same")
    usual = np.percentile(smooth[smooth > 0.1 * smooth.max()], 60) if smooth.max() > 0.0 else 0.0
    up = smooth > SHARE * usual
    if not up.any() or usual <= 0.0:
        return np.zeros(len(total), bool)
    edge = max(int(MARGIN * rate), 1)
    flying = np.zeros(len(total), bool)
    for first, last in runs_of_true(up, 3 * edge + 1):
        flying[first + edge : last - edge] = True
    return flying
