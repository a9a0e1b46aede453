"""The torque law as a regression of rates in noise made white, and by how much rotor speeds come late.

Integrated over time, equation (1) of `haltere.identification.regression.force_law` is

    W = T int u + B w - D int W + Q int (W W) + H int W + e t + b                                           (1)

b = one number for each stretch without a gap. Nothing is differentiated in it. What is left is gyro noise, which is
white, and torques of the air and errors of the rotor speeds, integrated:
`haltere.identification.regression.regression` finds which prevails.

Rotors upright to `haltere.identification.regression.force_law.UPRIGHT` answer their own acceleration about roll and
pitch by that share of the answer about yaw, times the ratio of the moments of inertia (2 for a flat body): a belief
before the log. It matters because the answer and a delay of the speeds look alike there.
"""

from dataclasses import dataclass

import numpy as np

from haltere.flight.filters import low_pass, parabola_minimum, shift, white_noise
from haltere.flight.window import FlightWindow
from haltere.foundation.numbers import Floats
from haltere.identification.regression import force_law
from haltere.identification.regression.force_law import (
    LowPassed,
    TorqueSignals,
    force_row,
    increments,
    low_passed,
)
from haltere.identification.regression.regression import (
    BAND,
    FITS,
    INCREMENTS,
    ORDER,
    Regression,
    Whitening,
    integral,
    regress,
    stretches,
    whitening,
)

SHORTEST = 4
"""Of a stretch, in orders of the whitening."""
FLAT = 2.0
"""Moment of inertia about yaw over that about roll or pitch, of a flat body."""


@dataclass(frozen=True)
class TorqueRow(Regression):
    """One row: T (m), B (m) if rotor accelerations are in it, a delay if asked for, -D, H (roll, pitch), Q and e.

    Attributes:
        whitening: As found.
        rate: Of what was fitted, Hz.
        belief: Deviation of B about zero before the log.
    """

    whitening: Whitening = INCREMENTS
    rate: float = 1.0
    belief: float = np.inf


def torque_row(
    signals: LowPassed,
    axis: int,
    with_rotor_acceleration: bool = True,
    belief: float = np.inf,
    without_delay: TorqueRow | None = None,
) -> TorqueRow:
    """Row `axis` of the torque law.

    Args:
        signals: The signals.
        axis: 0 roll, 1 pitch, 2 yaw.
        with_rotor_acceleration: Whether rotor accelerations are in it.
        belief: Deviation of B about zero before the log.
        without_delay: The same row, if a delay of the speeds is wanted about the one that the signals have, s.
    """
    m = signals.squared_speeds.shape[1]
    step = max(int(signals.rate / (BAND * signals.cutoff)), 1)
    valid = signals.valid[::step]
    parts = stretches(valid, SHORTEST * ORDER)
    valid = valid & (parts.sum(axis=1) > 0.5)
    motion = integral(motion_terms(signals.rates, axis), signals.rate)[::step]

    def matrix(rotors: TorqueSignals) -> Floats:
        columns = [rotors.swept, rotors.speeds] if with_rotor_acceleration else [rotors.swept]
        if without_delay is not None:
            slope = rotors.squared_speeds @ without_delay.value[:m]
            slope = (
                slope + rotors.rotor_accelerations @ without_delay.value[m : 2 * m]
                if with_rotor_acceleration
                else slope
            )
            columns.append((slope - slope.mean())[:, None])
        return np.concatenate([*(c[::step] for c in columns), motion, parts], axis=1)

    X, y = matrix(signals.torque_signals), signals.rates[::step, axis]
    Z = None if signals.torque_from_command is None else matrix(signals.torque_from_command)
    own = X.shape[1] - parts.shape[1]
    prior = np.full(X.shape[1], np.inf)
    if with_rotor_acceleration:
        prior[m : 2 * m] = belief

    def fitted(white: Whitening) -> Regression:
        # Increments know nothing of where a stretch begins.
        count = own if white is INCREMENTS else X.shape[1]
        where = white.where(valid)
        A, B = (None if x is None else white.of(x[:, :count])[where] for x in (X, Z))
        assert A is not None
        beside = count - own + motion.shape[1]
        return regress(A, white.of(y)[where], B, prior=prior[:count], alike=1.0, beside=beside)

    white = INCREMENTS if without_delay is None else without_delay.whitening
    for _ in range(FITS if without_delay is None else 0):
        value = fitted(white).value
        left = y - X[:, : len(value)] @ value
        if len(value) == own:
            left = left - parts @ ((parts.T @ left) / np.maximum(parts.sum(axis=0), 1.0))
        white = whitening(left, valid)
    row = fitted(white)
    rate = signals.rate / step
    formula = None if row.formula is None else row.formula[:own, :own]
    return TorqueRow(
        row.value[:own], row.cov[:own, :own], row.explained, row.rms, formula, white, rate, belief
    )


def torque_rows(signals: LowPassed, with_rotor_acceleration: bool, leaning: bool = False) -> list[TorqueRow]:
    """All three; rotors are upright unless they are `leaning`."""
    m = signals.squared_speeds.shape[1]
    yaw = torque_row(signals, 2, with_rotor_acceleration)
    answer = np.hypot(yaw.value[m : 2 * m], yaw.sigma[m : 2 * m]) if with_rotor_acceleration else np.zeros(1)
    belief = np.inf if leaning else FLAT * force_law.UPRIGHT * float(np.sqrt(np.mean(answer**2)))
    return [*(torque_row(signals, axis, with_rotor_acceleration, belief) for axis in (0, 1)), yaw]


def unexplained_fraction(window: FlightWindow, rows: list[TorqueRow], cutoff: float) -> Floats:
    """(3,) how much there is of what neither rotors nor gyro noise explain, in that which rotors explain.

    Args:
        window: The flying part of the log.
        rows: Of its signals.
        cutoff: Of their low-pass, Hz.
    """
    pulse = np.zeros((max(int(8.0 * window.rate / cutoff), 50), 1))
    pulse[len(pulse) // 2] = 1.0
    answer = low_pass(pulse, window.rate, cutoff)[:, 0]
    gains = [row.whitening.gain(answer, round(window.rate / row.rate)) for row in rows]
    noise = np.array(gains) * white_noise(window.gyro[window.valid])
    moved = np.maximum(1.0 - noise**2 / np.maximum([row.rms**2 for row in rows], 1e-300), 0.0)
    left = np.clip(moved * (1.0 - np.array([row.explained for row in rows])), 0.0, 0.9)
    return np.asarray(left / (1.0 - left))


def motion_terms(rates: Floats, axis: int) -> Floats:
    """(n, 3 or 4) what multiplies D, H, Q and e in row `axis`, of rates (n, 3)."""
    i, j = ((1, 2), (0, 2), (0, 1))[axis]
    across = [rates[:, 1 - axis]] if axis < 2 else []
    return np.stack([rates[:, axis], *across, rates[:, i] * rates[:, j], np.ones(len(rates))], axis=1)


PREWHITENING = 0.9
"""Of the whitening difference while the grid is searched."""
SENSORS = 3e-4
"""s, by how much delays of gyro and accelerometer may differ before anything is known."""
STAMPS = 1e-4
"""s, of a time stamp."""
GUST_RESPONSE = 0.02
"""s, after which rotors answer a gust: what the air does then shifts the delay by its share of this."""
ROUNDS = 2
FAR = 0.006
"""s, beyond which the grid is better believed than a straight line."""


@dataclass(frozen=True)
class SpeedDelay:
    """A delay in s, its deviation for rows of torque, and for rows of force."""

    value: float
    torque_sigma: float
    force_sigma: float


def estimate_speed_delay(
    window: FlightWindow,
    speeds: Floats,
    speed_from_command: Floats | None,
    cutoff: float,
    delays: Floats,
    leaning: bool = False,
) -> SpeedDelay:
    """By how much the rotor speeds (N, m) come late against gyro and accelerometer, near one of `delays`, s.

    The delay of a grid that leaves least is refined by one more regressor in each row, what the row would change by
    if the speeds were read a little later: d/dt (T u + B w'), and d/dt (F u) along the thrust. Gyro and accelerometer
    are asked one by one, because each has a filter of its own: what they differ by beyond their deviations counts as
    a deviation.

    Rotors that lean turn the vehicle about roll and pitch as they speed up, which looks like speeds that come early:
    if they are `leaning`, that has no bound.
    """
    begin = _searched(window, speeds, cutoff, delays, leaning)
    with_rotor_acceleration = window.rate >= force_law.QUICK
    value = begin.value
    for _ in range(ROUNDS):
        signals = low_passed(window, speeds, speed_from_command, cutoff, value, 0.0)
        turn, force = _by_gyro(window, signals, with_rotor_acceleration, leaning), _by_accelerometer(signals)
        apart = max(abs(turn[0] - force[0]) - float(np.hypot(turn[1], force[1])), 0.0) / np.sqrt(3.0)
        variance = np.array([turn[1] ** 2, force[1] ** 2 + SENSORS**2 + apart**2])
        shift = float(np.sum(np.array([turn[0], force[0]]) / variance) / np.sum(1.0 / variance))
        if not abs(value + shift - begin.value) < FAR:
            return begin
        value += shift
    sigma = float(np.sqrt(1.0 / np.sum(1.0 / variance) + STAMPS**2))
    return SpeedDelay(value, sigma, float(np.sqrt(sigma**2 + apart**2)))


def _by_gyro(
    window: FlightWindow, signals: LowPassed, with_rotor_acceleration: bool, leaning: bool
) -> tuple[float, float]:
    """How much later the rows of torque want the speeds, and its deviation, s."""
    m = signals.squared_speeds.shape[1]
    place = 2 * m if with_rotor_acceleration else m
    rows = torque_rows(signals, with_rotor_acceleration, leaning)
    again = [
        torque_row(signals, axis, with_rotor_acceleration, row.belief, row) for axis, row in enumerate(rows)
    ]
    shift, sigma = np.array([(row.value[place], row.sigma[place]) for row in again]).T
    sigma = np.hypot(sigma, GUST_RESPONSE * unexplained_fraction(window, rows, signals.cutoff))
    mean = float(np.sum(shift / sigma**2) / np.sum(1.0 / sigma**2))
    worse = max(float(np.sum(((shift - mean) / sigma) ** 2)) / (len(rows) - 1), 1.0)
    return mean, float(np.sqrt(worse / np.sum(1.0 / sigma**2)))


def _by_accelerometer(signals: LowPassed) -> tuple[float, float]:
    """The same of the force along the thrust."""
    plain = force_row(signals, signals.squared_speeds, signals.force[:, 2], signals.squared_from_command)

    def matrix(squares: Floats) -> Floats:
        slope = np.gradient(squares @ plain.value, 1.0 / signals.rate)
        return np.concatenate([squares, slope[:, None]], axis=1)

    Z = None if signals.squared_from_command is None else matrix(signals.squared_from_command)
    row = force_row(signals, matrix(signals.squared_speeds), signals.force[:, 2], Z)
    return float(row.value[-1]), float(row.sigma[-1])


def _searched(
    window: FlightWindow, speeds: Floats, cutoff: float, delays: Floats, leaning: bool
) -> SpeedDelay:
    """The delay of a grid that leaves least."""
    left = []
    base = low_passed(window, speeds, None, cutoff, 0.0, 0.0)
    filtered = low_pass(speeds**2, window.rate, cutoff)
    every = max(round(window.rate / base.rate), 1)
    for delay in delays:
        squares = shift(filtered, float(delay), window.rate)[::every]
        beside = [base.torque_signals.rotor_accelerations] if leaning else []
        rows = []
        for axis in (0, 1):
            X = np.concatenate([squares, *beside, motion_terms(base.rates, axis)], axis=1)
            rows.append(increments(base, X, base.angular_acceleration[:, axis], PREWHITENING))
        rows.append(increments(base, squares, base.force[:, 2], PREWHITENING))
        left.append([np.log(1.0 - min(max(row.explained, 0.0), 0.9999)) for row in rows])
    costs = np.array(left)
    total = costs.sum(axis=1)
    step = float(delays[1] - delays[0])
    if not 0 < int(np.argmin(total)) < len(total) - 1:
        return SpeedDelay(float(delays[int(np.argmin(total))]), 2.0 * step, 2.0 * step)
    independent = max(window.flight_seconds * cutoff, 4.0)

    def spread(bend: float) -> float:
        return float(step * np.sqrt(2.0 / (max(bend, 1e-12) * independent)))

    delay, bend = parabola_minimum(delays, total)
    # Rotors that answer their own acceleration shift the torques in time, a filter of the accelerometer the force.
    turn, force = (parabola_minimum(delays, cost) for cost in (costs[:, :2].sum(axis=1), costs[:, 2]))
    apart = max(abs(turn[0] - force[0]) - np.hypot(spread(turn[1]), spread(force[1])), 0.0) / np.sqrt(3.0)
    sigma = float(np.sqrt(spread(bend) ** 2 + SENSORS**2 + apart**2))
    return SpeedDelay(delay, sigma, sigma)
