"""The torque law as a regression of rates, not of their derivatives, with noise made white.

Integrated over time, equation (1) of `haltere.identification.regression.force_law` is

    W = T int u + B w + Q int (W W) + H int W + e t + b                                                     (1)

b = one number for each stretch without a gap. Nothing is differentiated. What is left is gyro noise, which is white,
and torques of the air and errors of the rotor speeds, integrated: `haltere.identification.regression.whitening` finds
which prevails.

Rotors upright to `laws.UPRIGHT` answer their own acceleration about roll and pitch by that share of the answer about
yaw, times the ratio of the moments of inertia (2 for a flat body): a belief before the log. It matters because the
answer and a delay of the speeds look alike there.
"""

from dataclasses import dataclass

import numpy as np

from haltere.flight.smoothing import smoothed, white_noise
from haltere.flight.window import Excerpt
from haltere.foundation.numbers import Floats
from haltere.identification.regression import force_law as laws
from haltere.identification.regression.force_law import Signals, Turned
from haltere.identification.regression.regression import Regression, regress
from haltere.identification.regression.whitening import (
    BAND,
    FITS,
    INCREMENTS,
    ORDER,
    Whitening,
    integral,
    stretches,
    whitening,
)

SHORTEST = 4
"""Of a stretch, in orders of the whitening."""
FLAT = 2.0
"""Moment of inertia about yaw over that about roll or pitch, of a flat body."""


@dataclass(frozen=True)
class TorqueRow(Regression):
    """One row: T (m), B (m) if rotor accelerations are in it, a delay if asked for, H for roll and pitch, Q and e.

    Attributes:
        whitening: As found.
        rate: Of what was fitted, Hz.
        belief: Deviation of B about zero before the log.
    """

    whitening: Whitening = INCREMENTS
    rate: float = 1.0
    belief: float = np.inf


def torque_row(
    found: Signals, axis: int, dots: bool = True, belief: float = np.inf, late: TorqueRow | None = None
) -> TorqueRow:
    """Row `axis` of the torque law.

    Args:
        found: The signals.
        axis: 0 roll, 1 pitch, 2 yaw.
        dots: Whether rotor accelerations are in it.
        belief: Deviation of B about zero before the log.
        late: The same row, if a delay of the speeds is wanted about the one that the signals have, s.
    """
    m = found.squares.shape[1]
    step = max(int(found.rate / (BAND * found.cutoff)), 1)
    good = found.good[::step]
    parts = stretches(good, SHORTEST * ORDER)
    good = good & (parts.sum(axis=1) > 0.5)
    motion = integral(motion_terms(found.rates, axis), found.rate)[::step]

    def matrix(rotors: Turned) -> Floats:
        columns = [rotors.swept, rotors.speeds] if dots else [rotors.swept]
        if late is not None:
            slope = rotors.squares @ late.value[:m]
            slope = slope + rotors.rises @ late.value[m : 2 * m] if dots else slope
            columns.append((slope - slope.mean())[:, None])
        return np.concatenate([*(c[::step] for c in columns), motion, parts], axis=1)

    X, y = matrix(found.turned), found.rates[::step, axis]
    Z = None if found.turned_made is None else matrix(found.turned_made)
    own = X.shape[1] - parts.shape[1]
    prior = np.full(X.shape[1], np.inf)
    if dots:
        prior[m : 2 * m] = belief

    def fitted(white: Whitening) -> Regression:
        # Increments know nothing of where a stretch begins.
        count = own if white is INCREMENTS else X.shape[1]
        where = white.where(good)
        A, B = (None if x is None else white.of(x[:, :count])[where] for x in (X, Z))
        assert A is not None
        beside = count - own + motion.shape[1]
        return regress(A, white.of(y)[where], B, prior=prior[:count], alike=1.0, beside=beside)

    white = INCREMENTS if late is None else late.whitening
    for _ in range(FITS if late is None else 0):
        value = fitted(white).value
        left = y - X[:, : len(value)] @ value
        if len(value) == own:
            left = left - parts @ ((parts.T @ left) / np.maximum(parts.sum(axis=0), 1.0))
        white = whitening(left, good)
    row = fitted(white)
    rate = found.rate / step
    return TorqueRow(row.value[:own], row.cov[:own, :own], row.explained, row.rms, white, rate, belief)


def torque_rows(found: Signals, dots: bool, leaning: bool = False) -> list[TorqueRow]:
    """All three; rotors are upright unless they are `leaning`."""
    m = found.squares.shape[1]
    yaw = torque_row(found, 2, dots)
    answer = np.hypot(yaw.value[m : 2 * m], yaw.sigma[m : 2 * m]) if dots else np.zeros(1)
    belief = np.inf if leaning else FLAT * laws.UPRIGHT * float(np.sqrt(np.mean(answer**2)))
    return [*(torque_row(found, axis, dots, belief) for axis in (0, 1)), yaw]


def beyond(part: Excerpt, rows: list[TorqueRow], cutoff: float) -> Floats:
    """(3,) how much there is of what neither rotors nor gyro noise explain, in that which rotors explain.

    Args:
        part: The excerpt.
        rows: Of its signals.
        cutoff: Of their low-pass, Hz.
    """
    pulse = np.zeros((max(int(8.0 * part.rate / cutoff), 50), 1))
    pulse[len(pulse) // 2] = 1.0
    answer = smoothed(pulse, part.rate, cutoff)[:, 0]
    gains = [row.whitening.gain(answer, round(part.rate / row.rate)) for row in rows]
    noise = np.array(gains) * white_noise(part.gyro[part.good])
    moved = np.maximum(1.0 - noise**2 / np.maximum([row.rms**2 for row in rows], 1e-300), 0.0)
    left = np.clip(moved * (1.0 - np.array([row.explained for row in rows])), 0.0, 0.9)
    return np.asarray(left / (1.0 - left))


def motion_terms(rates: Floats, axis: int) -> Floats:
    """(n, 2 or 3) what multiplies H, Q and e in row `axis`, of rates (n, 3)."""
    i, j = ((1, 2), (0, 2), (0, 1))[axis]
    across = [rates[:, 1 - axis]] if axis < 2 else []
    return np.stack([*across, rates[:, i] * rates[:, j], np.ones(len(rates))], axis=1)
