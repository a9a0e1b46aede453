"""The flying part of a log on one regular clock: what the laws are fitted to.

Every signal is put on the clock of the gyro (at most `FASTEST`, low-passed before that where it was faster); gaps are
marked, not filled. Flying is from some time after the vehicle took off until some time before it landed
(`airborne`).

Rotors carry where the sum of their squared speeds (or commands) is above a fraction of what it is in flight. Between
two such stretches the vehicle may dive, flip or fall with hardly any throttle: it is still in the air if it never
comes to rest meanwhile. Where it hardly rotates and the specific force stays that of gravity whatever the rotors do,
it stands or is held on a bench.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import ndimage, signal

from haltere.flight import Channel, Flight
from haltere.flight.filters import low_pass, white_noise
from haltere.flight.resampling import interpolate_columns, runs_of_true
from haltere.foundation import HaltereError
from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.foundation.numbers import Bools, Floats

FASTEST = 1000.0
"""Rate of the clock at most, Hz."""
MARGIN = 0.3
"""s, left out at both ends of a stretch in the air, and of one in which the rotors carry."""
SLOWEST = 10.0
"""Rate of the gyro at least, Hz."""
SPIKE = 5.0
"""Deviations of its noise from the median of three beyond which a rotor speed is an outlier."""
SHORTEST = 1.0
"""s of flight at least."""
HELD_OUT = 0.25
"""Fraction of the flying time, at its end, that predictions are tested on."""
CARRYING = 0.4
"""Fraction of the usual sum of squared speeds or commands above which the rotors carry the vehicle."""
IDLING = 0.02
"""The same, below which they do not even slow its fall."""
AVERAGED = 0.1
"""s over which the sum is averaged."""
MOTION_WINDOW = 0.25
"""s over which the angular rate is compared with that of a vehicle at rest."""
AT_REST = 0.05
"""rad/s, root mean square: a vehicle that stands rotates less; and less than a tenth of what it does in flight."""
SHORTEST_REST = 0.3
"""s: a shorter rest may be chance."""
LONGEST_FALL = 10.0
"""s with rotors that do not carry, after which a vehicle has long come down."""
LEVEL = (0.8, 1.25)
"""Specific force over gravity where the rotors just carry the weight."""
BAND = (0.5, 3.0)
"""Hz in which the specific force is compared with the thrust: slower is take-off and landing, faster vibration."""
FOLLOWING = 0.15
"""Change of the specific force over that of the thrust, below which a vehicle is held or stands."""
CONTACT = 1.5
"""s at the ends of a flight in which shocks are those of the ground."""
SHOCK, SHOCK_AVERAGED = 3.0, 0.01
"""Specific force over gravity, averaged over so many seconds, from which on it may be one."""
CHANGE = 0.02
"""Change of the thrust, root mean square over the usual one, below which that tells nothing."""
HELD_WINDOW = 4.0
"""s over which that is compared."""
CALM = 0.1
"""rad/s, root mean square: a vehicle that rotates more is not held."""
DEVIATIONS = 3.0


class IdentifyError(HaltereError):
    """A log, or what was given with it, from which nothing can be identified."""


@dataclass(frozen=True)
class FlightWindow:
    """Signals of the flying part on one clock.

    Attributes:
        rate: Of the clock, Hz.
        time: (N,) s since the flight's first sample.
        gyro: (N, 3) rad/s, IMU axes.
        accel: (N, 3) m/s2, IMU axes, or None.
        rotor_speeds: (N, m) rad/s, or None.
        commands: (N, m) in 0..1, or None.
        voltage: (N,) V, or None.
        valid: (N,) where all signals are known, the vehicle flies, and its rotors carry it.
        rotor_names: (m,) in the log's order.
        command_age: Mean time since the command that holds on the clock was logged, s.
        command_period: Between logged commands, s.
        speed_period: Between logged rotor speeds, s.
        airborne_seconds: Time in the air, s, dives with rotors that hardly spin included.
    """

    rate: float
    time: Floats
    gyro: Floats
    accel: Floats | None
    rotor_speeds: Floats | None
    commands: Floats | None
    voltage: Floats | None
    valid: Bools
    rotor_names: tuple[str, ...]
    command_age: float = 0.0
    command_period: float = 0.0
    speed_period: float = 0.0
    airborne_seconds: float = 0.0

    @classmethod
    def from_flight(cls, flight: Flight, rotor_names: tuple[str, ...] = ()) -> Self:
        """Cut and resample a flight.

        Args:
            flight: With `imu.gyro`, `imu.accel` and `rotors.speed` or `rotors.command`.
            rotor_names: In the log's order; those of the log if none are given.
        """
        time, rate = _clock(flight)
        signals, valid = _signals(flight, time, rate)
        speeds, commands = signals["rotors.speed"], signals["rotors.command"]
        if speeds is not None and not (_largest(speeds, valid) > 1.0 and _changes(speeds, valid)):
            speeds = None
        if commands is not None and not (_largest(commands, valid) > 0.01 and _changes(commands, valid)):
            commands = None
        if speeds is None and commands is None:
            raise IdentifyError(
                "the log has neither rotor speeds nor motor commands that move; log rotors.speed (bidirectional "
                "DShot, ESC telemetry) or at least the motor outputs"
            )
        if speeds is not None and commands is not None and speeds.shape[1] != commands.shape[1]:
            commands = commands[:, : speeds.shape[1]] if commands.shape[1] > speeds.shape[1] else None
        if speeds is None and commands is not None:
            used = np.nanmax(np.where(valid[:, None], commands, 0.0), axis=0) > 0.01
            if not used.all():
                commands = commands[:, used]
        driving = speeds if speeds is not None else commands
        gyro = signals["imu.gyro"]
        assert driving is not None
        if gyro is None:
            raise IdentifyError("the log has no imu.gyro with numbers in it; log a gyro in flight")
        flying, carrying = _flying(driving, gyro, signals["imu.accel"], rate)
        if not flying.any():
            raise IdentifyError(
                "the vehicle is never in the air in this log: where its rotors run it hardly moves, or the "
                f"accelerometer does not follow them; log a flight, at least {SHORTEST:g} s"
            )
        airborne_seconds = float((valid & flying).sum() / rate)
        valid &= carrying
        if valid.sum() < SHORTEST * rate:
            raise IdentifyError(
                f"the log holds {valid.sum() / rate:.2g} s of flight with all signals; at least {SHORTEST:g} s are "
                "needed"
            )
        source = flight["rotors.speed"] if speeds is not None else flight["rotors.command"]
        names = _rotor_names(rotor_names, source, driving.shape[1])
        age, period = (0.0, 0.0) if commands is None else _command_times(flight, time)
        voltage, between = signals["battery.voltage"], 0.0 if speeds is None else _period(source)
        return cls(
            rate,
            time,
            gyro,
            signals["imu.accel"],
            speeds,
            commands,
            voltage,
            valid,
            names,
            age,
            period,
            between,
            airborne_seconds,
        )

    @property
    def rotor_count(self) -> int:
        """Number of rotors, m."""
        return len(self.rotor_names)

    @property
    def flight_seconds(self) -> float:
        """Time that is fitted, s."""
        return float(self.valid.sum() / self.rate)

    def early(self) -> Self:
        """The same signals, valid only before the held-out end."""
        return replace(self, valid=self.valid & (self.time < self.split))

    def late(self) -> Self:
        """The same signals, valid only in the held-out end."""
        return replace(self, valid=self.valid & (self.time >= self.split))

    def rotated(self, R: Floats) -> Self:
        """The same signals with gyro and accelerometer in body axes, R (3, 3) = R_BI those of the IMU in them."""
        accel = None if self.accel is None else self.accel @ R.T
        return replace(self, gyro=self.gyro @ R.T, accel=accel)

    @property
    def split(self) -> float:
        """Time from which on the flight is held out, s."""
        inside = np.flatnonzero(self.valid)
        return float(self.time[inside[int((1.0 - HELD_OUT) * (len(inside) - 1))]]) if len(inside) else 0.0


def _clock(flight: Flight) -> tuple[Floats, float]:
    """(N,) s where gyro and accelerometer were both logged, and the rate, Hz."""
    for name, sensor in (("imu.gyro", "a gyro"), ("imu.accel", "an accelerometer")):
        if name not in flight or len(flight[name]) < 50:
            raise IdentifyError(f"the log has no {name}; log {sensor} in flight")
    rate = _rate(flight["imu.gyro"])
    if rate < SLOWEST:
        raise IdentifyError(
            f"the gyro was logged at {rate:.3g} Hz; at least {SLOWEST:g} Hz are needed, better 200 Hz"
        )
    begin = max(flight[n].seconds(flight.start)[0] for n in ("imu.gyro", "imu.accel"))
    end = min(flight[n].seconds(flight.start)[-1] for n in ("imu.gyro", "imu.accel"))
    time = np.arange(begin, end, 1.0 / rate)
    if len(time) < SHORTEST * rate:
        both = max(end - begin, 0.0)
        raise IdentifyError(
            f"gyro and accelerometer were logged together for {both:.2g} s; at least {SHORTEST:g} s are needed"
        )
    return time, rate


def _signals(flight: Flight, time: Floats, rate: float) -> tuple[dict[str, Floats | None], Bools]:
    """The signals by channel on the clock, None for those that the log lacks, and where all of them are known."""
    valid = np.ones(len(time), bool)
    signals: dict[str, Floats | None] = {}
    for name in ("imu.gyro", "imu.accel", "rotors.speed", "rotors.command", "battery.voltage"):
        signals[name] = None
        if name in flight and int(flight[name].finite.sum()) > 20:
            values, known = _resampled(flight[name], flight.start, time, rate)
            if name.startswith("rotors.") and values.ndim != 2:
                continue
            if name == "battery.voltage":
                values = np.interp(time, time[known], values[known]) if known.any() else values
                signals[name] = values if known.any() and np.nanmin(values) > 0.5 else None
                continue
            signals[name] = values
            valid &= known
    return signals, valid


def _command_times(flight: Flight, time: Floats) -> tuple[float, float]:
    """Mean age of the commands that hold at `time` (N,) s, and the time between two of them, s."""
    channel = flight["rotors.command"]
    stamps = channel.seconds(flight.start)[channel.finite]
    period = _period(channel)
    age = time - stamps[np.clip(np.searchsorted(stamps, time + 1e-6, "right") - 1, 0, len(stamps) - 1)]
    return float(np.mean(np.clip(age, 0.0, period))), period


def _period(channel: Channel) -> float:
    return float(np.median(np.diff(channel.time[channel.finite]))) * 1e-9


def _largest(values: Floats, valid: Bools) -> float:
    return float(np.nanmax(np.where(valid[:, None], values, 0.0), initial=0.0))


def _changes(values: Floats, valid: Bools) -> bool:
    """Whether any of the signals (N, m) is not the same all the time."""
    known = values[valid]
    return bool(np.any(np.nanmax(known, axis=0) > np.nanmin(known, axis=0))) if len(known) else False


def _rotor_names(names: tuple[str, ...], channel: Channel, count: int) -> tuple[str, ...]:
    labels = names if len(names) == count else tuple(channel.columns)
    return labels if len(labels) == count else tuple(f"m{i + 1}" for i in range(count))


def _rate(gyro: Channel) -> float:
    rate = float((len(gyro) - 1) / max((gyro.time[-1] - gyro.time[0]) * 1e-9, 1e-9))
    rate = min(max(gyro.rate, rate), 1e5)
    return rate / np.ceil(rate / FASTEST) if rate > FASTEST else rate


def _resampled(channel: Channel, origin: int, time: Floats, rate: float) -> tuple[Floats, Bools]:
    """Values (N, ...) on the clock, and (N,) where they are near samples of the channel."""
    keep = channel.finite
    stamps, values = channel.seconds(origin)[keep], channel.values[keep]
    flat = values.reshape(len(values), -1)
    own = 1.0 / max(float(np.median(np.diff(stamps))), 1e-9)
    if channel.name == "rotors.speed" and len(flat) > 3:
        flat = _despiked(flat)
    if own > 1.3 * rate and channel.name != "rotors.command":
        flat = low_pass(flat, own, 0.4 * rate, pad=50, corrected=False)
    if channel.name == "rotors.command":
        index = np.clip(np.searchsorted(stamps, time + 1e-6, "right") - 1, 0, len(stamps) - 1)
        on_clock = flat[index]
    else:
        on_clock = interpolate_columns(time, stamps, flat)
    after = np.clip(np.searchsorted(stamps, time, "right"), 1, len(stamps) - 1)
    inside = (time >= stamps[0] - 1e-6) & (time <= stamps[-1] + 1.5 / own)
    width = stamps[after] - stamps[after - 1]
    return on_clock.reshape(len(time), *values.shape[1:]), inside & (width <= max(5.0 / own, 0.03))


def _despiked(values: Floats) -> Floats:
    """Signals (N, m) with the median of a sample and its neighbours where the sample is far from it."""
    middle = signal.medfilt(values, (3, 1))
    return np.where(np.abs(values - middle) > SPIKE * white_noise(values), middle, values)


def _flying(driving: Floats, gyro: Floats, accel: Floats | None, rate: float) -> tuple[Bools, Bools]:
    """(N,) where the vehicle is in the air, and where its rotors carry it; both without first and last moments."""
    edge = max(int(MARGIN * rate), 1)
    in_air, carrying = (np.zeros(len(driving), bool) for _ in range(2))
    for inner, outer in zip((in_air, carrying), airborne(driving, gyro, accel, rate), strict=True):
        for first, last in runs_of_true(outer, 3 * edge + 1):
            inner[first + edge : last - edge] = True
    return in_air, carrying & in_air


def airborne(driving: Floats, gyro: Floats, accel: Floats | None, rate: float) -> tuple[Bools, Bools]:
    """(N,) where the vehicle is in the air, and (N,) where its rotors carry it, too.

    Args:
        driving: (N, m) speeds of the rotors or commands.
        gyro: (N, 3) angular rate, rad/s.
        accel: (N, 3) specific force, m/s2, or None if it is not known.
        rate: of the samples, Hz.
    """
    flying = np.zeros(len(driving), bool)
    thrust = np.sum(np.clip(np.nan_to_num(driving), 0.0, None) ** 2, axis=1)
    total = _mean(thrust, AVERAGED * rate)
    if not total.max(initial=0.0) > 0.0:
        return flying, flying
    force = None if accel is None else np.linalg.norm(np.nan_to_num(accel), axis=1) / STANDARD_GRAVITY
    motion = np.sqrt(_mean(np.sum(np.nan_to_num(_without_bias(gyro)) ** 2, axis=1), MOTION_WINDOW * rate))
    usual = _usual(total, None if force is None else _mean(force, AVERAGED * rate), motion)
    carrying = total > CARRYING * usual
    lively = float(np.median(motion[carrying])) if carrying.any() else 0.0
    resting = motion <= min(AT_REST, 0.1 * lively)
    for first, last in _joined(carrying, resting, total / usual, force, rate):
        stretch = _moving(slice(first, last), resting)
        if force is not None:
            stretch = _without_contact(stretch, force, rate)
        flying[stretch] = True
        if force is not None:
            flying[stretch] &= ~_on_bench(thrust[stretch] / usual, force[stretch], motion[stretch], rate)
    return flying, flying & carrying


def _usual(total: Floats, force: Floats | None, motion: Floats) -> float:
    """What the sum `total` (N,) of squares is while the rotors carry the weight.

    Where the specific force (N,), over gravity, is known it is that at which this is one while the vehicle moves:
    neither punches and flips nor rotors that spin on the ground change it.
    """
    if force is not None:
        moving = (total > 0.01 * total.max()) & (motion > AT_REST)
        level = moving & (force > LEVEL[0]) & (force < LEVEL[1])
        if level.sum() > 0.1 * moving.sum():
            return float(np.median(total[level]))
    return float(np.percentile(total[total > 0.1 * total.max()], 60.0))


def _joined(
    carrying: Bools, resting: Bools, fraction: Floats, force: Floats | None, rate: float
) -> list[tuple[int, int]]:
    """Stretches [first, last) in which rotors carry, joined over gaps in which the vehicle never comes to rest."""
    joined: list[tuple[int, int]] = []
    for first, last in runs_of_true(carrying, 2):
        if joined and _still_flying(joined[-1][1], first, resting, fraction, force, rate):
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return joined


def _moving(stretch: slice, resting: Bools) -> slice:
    """Of a stretch what lies between its first and last movement; all of it if nothing in the log moves."""
    moves = np.flatnonzero(~resting[stretch])
    return (
        slice(stretch.start + int(moves[0]), stretch.start + int(moves[-1]) + 1)
        if moves.size
        else slice(0, 0)
    )


def _without_contact(stretch: slice, force: Floats, rate: float) -> slice:
    """Of a stretch what lies between the shocks of take-off and landing, specific forces far above the usual ones."""
    end = int(CONTACT * rate)
    if stretch.stop - stretch.start < 3 * end:
        return stretch
    felt = _mean(force[stretch], SHOCK_AVERAGED * rate)
    shocks = np.flatnonzero(felt > max(SHOCK, 2.0 * float(np.percentile(felt[end:-end], 99.5))))
    after, before = shocks[shocks < end], shocks[shocks >= len(felt) - end]
    start = stretch.start + int(after[-1]) + 1 if after.size else stretch.start
    return slice(start, stretch.start + int(before[0]) if before.size else stretch.stop)


def _still_flying(
    begin: int, end: int, resting: Bools, fraction: Floats, force: Floats | None, rate: float
) -> bool:
    if end - begin > LONGEST_FALL * rate:
        return False
    if any(last - first >= SHORTEST_REST * rate for first, last in runs_of_true(resting[begin:end], 2)):
        return False
    if float(np.mean(fraction[begin:end])) > IDLING or end - begin < rate:
        return True
    return force is not None and float(np.mean(force[begin:end])) < LEVEL[0]  # else it is carried by hand


def _on_bench(fraction: Floats, force: Floats, motion: Floats, rate: float) -> Bools:
    """(N,) where the vehicle hardly rotates and the specific force does not follow the thrust.

    Args:
        fraction: (N,) thrust over the usual one.
        force: (N,) specific force over gravity.
        motion: (N,) angular rate, root mean square, rad/s.
        rate: of the samples, Hz.
    """
    on_bench = np.zeros(len(fraction), bool)
    block = int(HELD_WINDOW * rate)
    if len(fraction) < block or rate < 4.0 * BAND[1]:
        return on_bench
    band = signal.butter(2, BAND, "bandpass", fs=rate, output="sos")
    x, y = (signal.sosfiltfilt(band, values) for values in (fraction, force))
    for first in [*range(0, len(fraction) - block, block // 2), len(fraction) - block]:
        stretch = slice(first, first + block)
        on_bench[stretch] |= np.median(motion[stretch]) < CALM and _unmoved(x[stretch], y[stretch])
    return on_bench


def _unmoved(x: Floats, y: Floats) -> bool:
    """Whether y (N,), in `BAND`, surely changes by less than `FOLLOWING` of x (N,), and x by more than noise."""
    slope = float(np.dot(x, y)) / max(float(np.dot(x, x)), 1e-12)
    independent = max(2.0 * (BAND[1] - BAND[0]) * HELD_WINDOW - 1.0, 1.0)
    sigma = float(np.std(y - slope * x)) / max(float(np.std(x)), 1e-6) / independent**0.5
    return bool(np.std(x) > CHANGE and abs(slope) + DEVIATIONS * sigma < FOLLOWING)


def _without_bias(gyro: Floats) -> Floats:
    """Angular rate (N, 3) without its bias, which is its median where it is least."""
    size = np.linalg.norm(gyro, axis=1)
    least = size <= np.nanpercentile(size, 10.0)
    return np.asarray(gyro - np.nanmedian(gyro[least], axis=0)) if least.any() else gyro


def _mean(values: Floats, width: float) -> Floats:
    """Moving mean of positive numbers (N,) over `width` samples; rounding makes none of them negative."""
    return np.asarray(
        np.maximum(ndimage.uniform_filter1d(values, max(int(width) | 1, 3), mode="nearest"), 0.0)
    )
