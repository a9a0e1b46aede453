"""By how much rotor speeds come late against gyro and accelerometer.

The delay of a grid that leaves least is refined by one more regressor in each row, what the row would change by if the
speeds were read a little later: d/dt (T u + B w'), and d/dt (F u) along the thrust. Gyro and accelerometer are asked
one by one, because each has a filter of its own: what they differ by beyond their deviations counts as a deviation.
"""

from dataclasses import dataclass

import numpy as np

from haltere.flight.smoothing import late, least, smoothed
from haltere.flight.window import Excerpt
from haltere.foundation.numbers import Floats
from haltere.identification.regression import force_law as laws
from haltere.identification.regression.force_law import Signals, force_row, increments, signals
from haltere.identification.regression.torque_law import beyond, motion_terms, torque_row, torque_rows

SHARE = 0.9
"""Of the whitening difference while the grid is searched."""
SENSORS = 3e-4
"""s, by how much delays of gyro and accelerometer may differ before anything is known."""
STAMPS = 1e-4
"""s, of a time stamp."""
ANSWER = 0.02
"""s, after which rotors answer a gust: what the air does then shifts the delay by its share of this."""
ROUNDS = 2
FAR = 0.006
"""s, beyond which the grid is better believed than a straight line."""


@dataclass(frozen=True)
class SpeedDelay:
    """A delay in s, its deviation for rows of torque, and for rows of force."""

    value: float
    turn: float
    force: float


def speed_delay(
    part: Excerpt, speeds: Floats, made: Floats | None, cutoff: float, delays: Floats, leaning: bool = False
) -> SpeedDelay:
    """The delay of the rotor speeds (N, m), near one of `delays`, s.

    Rotors that lean turn the vehicle about roll and pitch as they speed up, which looks like speeds that come early:
    if they are `leaning`, that has no bound.
    """
    begin = _searched(part, speeds, cutoff, delays, leaning)
    dots = part.rate >= laws.QUICK
    value = begin.value
    for _ in range(ROUNDS):
        found = signals(part, speeds, made, cutoff, value, 0.0)
        turn, force = _by_gyro(part, found, dots, leaning), _by_accelerometer(found)
        apart = max(abs(turn[0] - force[0]) - float(np.hypot(turn[1], force[1])), 0.0) / np.sqrt(3.0)
        variance = np.array([turn[1] ** 2, force[1] ** 2 + SENSORS**2 + apart**2])
        shift = float(np.sum(np.array([turn[0], force[0]]) / variance) / np.sum(1.0 / variance))
        if not abs(value + shift - begin.value) < FAR:
            return begin
        value += shift
    sigma = float(np.sqrt(1.0 / np.sum(1.0 / variance) + STAMPS**2))
    return SpeedDelay(value, sigma, float(np.sqrt(sigma**2 + apart**2)))


def _by_gyro(part: Excerpt, found: Signals, dots: bool, leaning: bool) -> tuple[float, float]:
    """How much later the rows of torque want the speeds, and its deviation, s."""
    m = found.squares.shape[1]
    place = 2 * m if dots else m
    rows = torque_rows(found, dots, leaning)
    again = [torque_row(found, axis, dots, row.belief, row) for axis, row in enumerate(rows)]
    shift, sigma = np.array([(row.value[place], row.sigma[place]) for row in again]).T
    sigma = np.hypot(sigma, ANSWER * beyond(part, rows, found.cutoff))
    mean = float(np.sum(shift / sigma**2) / np.sum(1.0 / sigma**2))
    worse = max(float(np.sum(((shift - mean) / sigma) ** 2)) / (len(rows) - 1), 1.0)
    return mean, float(np.sqrt(worse / np.sum(1.0 / sigma**2)))


def _by_accelerometer(found: Signals) -> tuple[float, float]:
    """The same of the force along the thrust."""
    plain = force_row(found, found.squares, found.force[:, 2], found.made)

    def matrix(squares: Floats) -> Floats:
        slope = np.gradient(squares @ plain.value, 1.0 / found.rate)
        return np.concatenate([squares, slope[:, None]], axis=1)

    Z = None if found.made is None else matrix(found.made)
    row = force_row(found, matrix(found.squares), found.force[:, 2], Z)
    return float(row.value[-1]), float(row.sigma[-1])


def _searched(part: Excerpt, speeds: Floats, cutoff: float, delays: Floats, leaning: bool) -> SpeedDelay:
    """The delay of a grid that leaves least."""
    left = []
    base = signals(part, speeds, None, cutoff, 0.0, 0.0)
    filtered = smoothed(speeds**2, part.rate, cutoff)
    every = max(round(part.rate / base.rate), 1)
    for delay in delays:
        squares = late(filtered, float(delay), part.rate)[::every]
        beside = [base.turned.rises] if leaning else []
        rows = []
        for axis in (0, 1):
            X = np.concatenate([squares, *beside, motion_terms(base.rates, axis)], axis=1)
            rows.append(increments(base, X, base.turn[:, axis], SHARE))
        rows.append(increments(base, squares, base.force[:, 2], SHARE))
        left.append([np.log(1.0 - min(max(row.explained, 0.0), 0.9999)) for row in rows])
    costs = np.array(left)
    total = costs.sum(axis=1)
    step = float(delays[1] - delays[0])
    if not 0 < int(np.argmin(total)) < len(total) - 1:
        return SpeedDelay(float(delays[int(np.argmin(total))]), 2.0 * step, 2.0 * step)
    independent = max(part.flown * cutoff, 4.0)

    def spread(bend: float) -> float:
        return float(step * np.sqrt(2.0 / (max(bend, 1e-12) * independent)))

    delay, bend = least(delays, total)
    # Rotors that answer their own acceleration shift the torques in time, a filter of the accelerometer the force.
    turn, force = (least(delays, cost) for cost in (costs[:, :2].sum(axis=1), costs[:, 2]))
    apart = max(abs(turn[0] - force[0]) - np.hypot(spread(turn[1]), spread(force[1])), 0.0) / np.sqrt(3.0)
    sigma = float(np.sqrt(spread(bend) ** 2 + SENSORS**2 + apart**2))
    return SpeedDelay(delay, sigma, sigma)
