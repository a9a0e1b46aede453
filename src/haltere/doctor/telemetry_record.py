"""The rotor speeds of a flight beside those that the commands ask for: what checks of their telemetry look at.

The speed that the command of each rotor asks for follows a curve that all rotors share, with a gain of each one.
With v_i the command of rotor i passed through a lag and a delay common to all, l_i = log v_i, and s(t) a slow factor
that all rotors share (the battery sags):

    (1)  log w_i = g_i + c_1 l_i + c_2 l_i^2 + s(t)

is fitted by iteratively reweighted least squares with the weights of [BeatonTukey1974], so that a rotor whose speed is
read wrongly changes neither the curve nor the others. Ratios of speeds per command, exp(g_i - g_j), tell a rotor that
is read at half from its siblings.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy import ndimage, signal

from haltere.doctor.motion import RATE, finite_rows, low_pass_over_gaps, smooth
from haltere.doctor.motors import check_pairs
from haltere.flight import Channel, Flight
from haltere.flight.resampling import interpolate_columns
from haltere.foundation.constants import MAD_TO_SIGMA
from haltere.foundation.numbers import Bools, Floats, Times

CARRYING = 0.5
"""Speed over its usual one, in the median of the rotors, above which the vehicle flies."""
MARGIN = 0.4
"""s, left out at both ends of a flying stretch: rotors spin up and down."""
SHORTEST = 2.0
"""s of flight at least."""
LAGS = (0.0, 0.01, 0.02, 0.04, 0.08, 0.16)
"""Time constants of motors that are tried, s."""
DELAYS = tuple(0.01 * k for k in range(-2, 7))
"""Delays of telemetry behind commands that are tried, s: clocks of two streams may differ."""
LEAST_COMMAND = 0.02
GAP, SHORTEST_GAP = 5.0, 0.05
"""Time between two commands, in usual ones and in s, from which on they are missing."""
SETTLED = 3.0
"""Lags after which what a command was before no longer counts."""
ROWS = 3000
"""Samples that the curve is fitted to at most."""
KNOT = 6.0
"""Distance of the knots of the slow factor, s."""
EXPONENT = (0.7, 0.3)
"""Prior of c_1 and its deviation: thrust goes with the command's first to second power, speed with half of that."""
BEND = 0.2
"""Prior deviation of c_2."""
SLOW = 0.05
"""Prior deviation of the slow factor at a knot."""
REACH = 1.25
"""Factor by which the range of the others' commands may be left: the curve is smooth."""
TUKEY = 4.7
"""Residual over its scale beyond which a sample has no weight."""
LEAST_SCALE = 0.01
"""Smallest relative scale of the residuals."""


@dataclass(frozen=True)
class MotorResponse:
    """What commands ask of the rotors at the samples of their speeds.

    Attributes:
        commands: (T, R) passed through lag and delay, 0..1.
        expected: (T, R) rad/s, eq. (1) with each rotor's own gain.
        gains: (R,) g_i; NaN for a rotor without any sample above zero.
        scatter: (R,) robust relative deviation of the speeds from those expected.
        overlap: (R,) fraction of the samples of a rotor whose command is near those of the others.
        logged: (T,) where the commands were logged: what they ask for in a gap, and just after it, is not known.
    """

    commands: Floats
    expected: Floats
    gains: Floats
    scatter: Floats
    overlap: Floats
    logged: Bools


def motor_response(speed: Channel, command: Channel, flying: Bools) -> MotorResponse | None:
    """Fit eq. (1) to the speeds where `flying` (T,); None if the commands say nothing."""
    count = speed.values.shape[1]
    if command.values.shape[1] != count or flying.sum() < 50 or count < 2:
        return None
    lag, delay = _lag_and_delay(speed, command)
    commands = _lagged(command, speed.time, lag, delay)
    logged = _logged(command, speed.time, lag, delay)
    usable = (flying & logged)[:, None] & (commands > LEAST_COMMAND) & (speed.values > 0.0)
    if np.sum(usable.sum(axis=0) > 50) < 2:
        return None
    logs = np.log(np.maximum(commands, LEAST_COMMAND)), np.log(np.maximum(speed.values, 1e-3))
    seconds = speed.seconds(int(speed.time[0]))
    slow = _knots(seconds, flying)
    curve, gains, factor = _curve(logs, slow, usable)
    shape = logs[0] * curve[0] + logs[0] ** 2 * curve[1] + (slow @ factor)[:, None]
    left = np.where(usable, logs[1] - shape, np.nan)
    gains = _median(left)
    expected = np.exp(np.nan_to_num(gains) + shape)
    scatter = MAD_TO_SIGMA * _median(np.abs(left - gains))
    return MotorResponse(commands, expected, gains, scatter, _overlap(commands, usable), logged)


def _median(values: Floats) -> Floats:
    """Return the medians of columns (T, R), NaN for one without a number."""
    return np.array([np.median(x[np.isfinite(x)]) if np.isfinite(x).any() else np.nan for x in values.T])


def _lag_and_delay(speed: Channel, command: Channel) -> tuple[float, float]:
    """Return the lag and the delay with which commands go best with speeds, in the median of the rotors, s."""
    start, end = max(speed.time[0], command.time[0]), min(speed.time[-1], command.time[-1])
    clock = np.arange(start, end, np.int64(1e9 / RATE))
    if len(clock) < 100:
        return LAGS[2], 0.0
    w, u = smooth(speed, clock), smooth(command, clock)
    good = finite_rows(w, u)
    if good.sum() < 100:
        return LAGS[2], 0.0
    w, u = (x[good] - low_pass_over_gaps(x, 0.3)[good] for x in (w, u))
    margin = round(max(DELAYS) * RATE) + 1
    best, chosen = -1.0, (LAGS[2], 0.0)
    a = w[margin:-margin]
    for lag in LAGS:
        passed = _first_order(u, lag, RATE)
        for delay in DELAYS:
            k = round(delay * RATE)
            b = passed[margin - k : len(passed) - margin - k]
            norm = np.sqrt(np.sum(a**2, axis=0) * np.sum(b**2, axis=0))
            score = float(np.median(np.sum(a * b, axis=0) / np.maximum(norm, 1e-30)))
            if score > best:
                best, chosen = score, (lag, delay)
    return chosen


def _first_order(values: Floats, lag: float, rate: float) -> Floats:
    if lag == 0.0:
        return values
    pole = np.exp(-1.0 / (rate * lag))
    start = (pole * values[0])[None]
    return np.asarray(signal.lfilter([1.0 - pole], [1.0, -pole], values, axis=0, zi=start)[0])


def _lagged(command: Channel, time: Times, lag: float, delay: float) -> Floats:
    """Return commands (T, R) at stamps (T,), ns, passed through a lag and later by a delay, s."""
    keep = command.finite
    rate = float(np.clip(command.rate, 50.0, 1000.0))
    steps = np.arange(command.time[0], command.time[-1] + 1, np.int64(1e9 / rate))
    regular = interpolate_columns(steps, command.time[keep], command.values[keep])
    return interpolate_columns(time - np.int64(round(delay * 1e9)), steps, _first_order(regular, lag, rate))


def _logged(command: Channel, time: Times, lag: float, delay: float) -> Bools:
    """Return whether commands were logged around stamps (T,), ns, less a delay, s, and some lags (s) before."""
    stamps = command.time[command.finite]
    intervals = np.diff(stamps)
    is_gap = intervals > max(GAP * float(np.median(intervals)), 1e9 * SHORTEST_GAP)
    first, last = stamps[:-1][is_gap], stamps[1:][is_gap] + np.int64(round(1e9 * SETTLED * lag))
    asked = time - np.int64(round(delay * 1e9))
    inside = np.searchsorted(first, asked, side="right") > np.searchsorted(last, asked, side="left")
    return np.asarray(~inside)


def _knots(seconds: Floats, flying: Bools) -> Floats:
    """Return (T, K) hat functions at knots over the time in flight, without the first: s(t) is zero there."""
    inside = seconds[flying]
    count = max(int(np.ceil((inside[-1] - inside[0]) / KNOT)), 1) + 1
    places = np.linspace(inside[0], inside[-1], count)
    return np.stack([np.interp(seconds, places, row) for row in np.eye(count)[1:]], axis=1)


def _curve(logs: tuple[Floats, Floats], slow: Floats, usable: Bools) -> tuple[Floats, Floats, Floats]:
    """Return c (2,), g (R,) and s at the knots (K,) of eq. (1)."""
    count = usable.shape[1]
    rows, rotors = np.nonzero(usable)
    if len(rows) > ROWS * count:
        pick = np.linspace(0, len(rows) - 1, ROWS * count).astype(int)
        rows, rotors = rows[pick], rotors[pick]
    x, y = logs[0][rows, rotors], logs[1][rows, rotors]
    X = np.hstack([x[:, None], x[:, None] ** 2, slow[rows], np.eye(count)[rotors]])
    mean = np.zeros(X.shape[1])
    mean[0] = EXPONENT[0]
    prior = np.concatenate([[EXPONENT[1], BEND], np.full(slow.shape[1], SLOW), np.full(count, np.inf)])
    theta: Floats = mean.copy()
    for i in range(count):
        own = rotors == i
        theta[-count + i] = np.median(y[own] - EXPONENT[0] * x[own]) if own.any() else 0.0
    for _ in range(12):
        left = y - X @ theta
        each = np.array([np.median(np.abs(left[rotors == i])) for i in range(count) if np.any(rotors == i)])
        scale = max(MAD_TO_SIGMA * float(np.median(each)), LEAST_SCALE)
        weight = np.clip(1.0 - (left / (TUKEY * scale)) ** 2, 0.0, None) ** 2
        firm = (scale / prior) ** 2
        A = (X.T * weight) @ X + np.diag(firm + 1e-9)
        theta = np.asarray(np.linalg.solve(A, (X.T * weight) @ y + firm * mean + 1e-9 * theta))
        for i in range(count):  # a rotor none of whose samples has weight is followed by its median
            own = rotors == i
            if own.any() and np.sum(weight[own]) < 0.2 * own.sum():
                theta[-count + i] += np.median(y[own] - X[own] @ theta)
    return theta[:2], theta[-count:], theta[2:-count]


def _overlap(commands: Floats, usable: Bools) -> Floats:
    """Return (R,) which fraction of a rotor's commands lies in the range of those of the others, or near it."""
    found = np.zeros(commands.shape[1])
    for i, own in enumerate(usable.T):
        others = np.delete(commands, i, axis=1)[np.delete(usable, i, axis=1)]
        if own.any() and len(others):
            low, high = np.percentile(others, [0.5, 99.5]) * (1.0 / REACH, REACH)
            found[i] = np.mean((commands[own, i] >= low) & (commands[own, i] <= high))
    return found


@dataclass(frozen=True)
class TelemetryRecord:
    """Rotor speeds at their own samples.

    Attributes:
        names: (R,) of the rotors.
        seconds: (T,) since the first sample.
        speeds: (T, R) rad/s, without sign; NaN where there is no number.
        flying: (T,) where the vehicle flies.
        response: What the commands ask for; None in a log without commands that the speeds follow.
    """

    names: tuple[str, ...]
    seconds: Floats
    speeds: Floats
    flying: Bools
    response: MotorResponse | None

    @classmethod
    def from_flight(cls, flight: Flight) -> Self | None:
        """Return the record of a flight with two rotors or more that flies long enough; else None."""
        speed, command = (flight.channels.get(f"rotors.{last}") for last in ("speed", "command"))
        if speed is None or speed.values.ndim != 2 or speed.values.shape[1] < 2 or len(speed) < 50:
            return None
        unsigned = Channel(
            speed.name, speed.time, np.abs(speed.values), speed.unit, speed.frame, speed.columns
        )
        flying = _flying(unsigned)
        seconds = speed.seconds(int(speed.time[0]))
        if not np.sum(np.diff(seconds, prepend=seconds[0])[flying]) >= SHORTEST:
            return None
        response = None
        if command is not None and command.values.ndim == 2 and int(command.finite.sum()) > 30:
            same = command.values.shape[1] == speed.values.shape[1]
            swapped = same and any(check_pairs(unsigned, command))
            response = motor_response(unsigned, command, flying) if same and not swapped else None
        names = speed.columns or tuple(f"m{i + 1}" for i in range(speed.values.shape[1]))
        return cls(tuple(names), seconds, unsigned.values, flying, response)

    @property
    def count(self) -> int:
        """Number of rotors, R."""
        return len(self.names)

    @cached_property
    def intervals(self) -> Floats:
        """(T,) time since the sample before, s; a gap counts as one interval."""
        steps = np.diff(self.seconds, prepend=self.seconds[0])
        return np.asarray(np.minimum(steps, 5.0 * np.median(steps)))

    def duration(self, samples: Bools) -> float:
        """Return how long the samples (T,) last together, s."""
        return float(np.sum(self.intervals[samples]))

    def others(self, rotor: int, values: Floats) -> Floats:
        """Return the medians (T,) of values (T, R) over all rotors but one."""
        rest = np.delete(values, rotor, axis=1)
        return np.asarray(np.median(np.where(np.isfinite(rest), rest, 0.0), axis=1))

    def resolution(self, rotors: list[int]) -> float:
        """Return the smallest difference of two speeds that were read, rad/s, in the median of these rotors."""
        steps = []
        for i in rotors:
            values = self.speeds[self.flying, i]
            levels = np.unique(values[np.isfinite(values)])
            apart = np.diff(levels)
            apart = apart[apart > 1e-6 * np.abs(levels).max(initial=0.0)]
            if len(apart):
                steps.append(float(np.percentile(apart, 10, method="lower")))
        return float(np.median(steps)) if steps else 0.0

    def without(self, rotors: set[int]) -> list[int]:
        """Return the rotors that are none of these."""
        return [i for i in range(self.count) if i not in rotors]


def _flying(speed: Channel) -> Bools:
    """(T,) where the median rotor runs at half of its usual speed or more, some time after and before it does not."""
    values = np.nan_to_num(speed.values)
    usual = np.array([np.percentile(x[x > 0.0], 70) if np.any(x > 0.0) else np.nan for x in values.T])
    running = usual > 0.0
    if not running.any():
        return np.zeros(len(values), bool)
    share = np.median(values[:, running] / usual[running], axis=1)
    width = min(max(int(0.1 * speed.rate) | 1, 3), len(share))
    carrying = ndimage.median_filter(share, width, mode="nearest") > CARRYING
    edge = min(max(int(MARGIN * speed.rate), 1), len(share) - 1)
    return np.asarray(ndimage.minimum_filter1d(carrying, 2 * edge + 1, mode="constant", cval=1))
