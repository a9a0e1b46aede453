"""The laws of force and torque as regressions: the same low-pass on every signal, the place of the IMU beside.

With squared rotor speeds u = w^2, rotor accelerations w', body rate W, IMU at r from the centre of mass,

    f = F u + X(W, W') r + c,       W' = T u + B w' + Q (W W) + H W + e                                     (1)

f = specific force; F, T, B (3, m) = effectiveness; Q = what the products of the rates do (one product for each row);
H = what the momentum of rotors that do not cancel does (pitch rate to roll and the other way); c = bias across, none
along the thrust because an intercept there takes the place of mass; e slow torques of the air. The torque law is in
`haltere.identification.regression.torque_law`. Across the thrust the air pushes slowly and strongly: what is left
there is made white by its own past, `haltere.identification.regression.regression`.
"""

from dataclasses import dataclass, replace

import numpy as np

from haltere.flight.filters import apply_lag, fill_gaps, low_pass, shift
from haltere.flight.rotations import lever_matrices
from haltere.flight.window import FlightWindow
from haltere.foundation.numbers import Bools, Floats
from haltere.identification.regression.regression import (
    BAND,
    BLOCKS,
    SPREAD,
    Regression,
    integral,
    regress,
    white_regress,
)

LAG = 0.01
"""s, of a difference."""
QUICK = 150.0
"""Hz, of a log that tells what accelerations of the rotors do."""
UPRIGHT = 0.1
"""rad, how far rotors lean if nothing else is known."""
REACH = 0.05
"""m, how far from the centre of mass an IMU may be before anything is known."""


@dataclass(frozen=True)
class TorqueSignals:
    """Rotor speeds as the torque law has them, low-passed.

    Attributes:
        squares: (n, m) (rad/s)^2.
        rises: (n, m) rad/s2.
        swept: (n, m) integrals over time of the squares beyond their mean.
        speeds: (n, m) beyond their mean: integrals of the rises, rad/s.
    """

    squares: Floats
    rises: Floats
    swept: Floats
    speeds: Floats

    def every(self, step: int) -> "TorqueSignals":
        """Each sample of `step`."""
        return TorqueSignals(
            self.squares[::step], self.rises[::step], self.swept[::step], self.speeds[::step]
        )


@dataclass(frozen=True)
class LowPassed:
    """Low-passed signals at a lower rate, all of the same filter.

    Attributes:
        rate: Hz.
        cutoff: Of the low-pass, Hz.
        time: (n,) s.
        rates: (n, 3) rad/s.
        turn: (n, 3) rad/s2.
        force: (n, 3) m/s2.
        squares: (n, m) of the rotor speeds, as the accelerometer has them.
        made: The same as the commands make them, or None.
        turned: The rotors of the torque law.
        turned_made: The same as the commands make them, or None.
        levers: (n, 3, 3) X of equation (1).
        good: (n,).
    """

    rate: float
    cutoff: float
    time: Floats
    rates: Floats
    turn: Floats
    force: Floats
    squares: Floats
    made: Floats | None
    turned: TorqueSignals
    turned_made: TorqueSignals | None
    levers: Floats
    good: Bools


def low_passed(
    window: FlightWindow, speeds: Floats, made: Floats | None, cutoff: float, delay: float, lag: float
) -> LowPassed:
    """The signals of (1).

    Args:
        window: The flying part of the log.
        speeds: (N, m) rad/s, filled where missing.
        made: (N, m) rad/s, as the commands make them, or None.
        cutoff: Hz.
        delay: By how much the speeds come late, s.
        lag: Time constant of a PT2 that the accelerometer has passed, s.
    """
    rate = window.rate
    step = max(int(rate / (6.0 * cutoff)), 1)

    def rotor(values: Floats) -> tuple[TorqueSignals, Floats]:
        moved = shift(values, delay, rate)
        speeds, squares = low_pass(moved, rate, cutoff), low_pass(moved**2, rate, cutoff)
        swept = integral(squares - squares.mean(axis=0), rate)
        rises = np.gradient(speeds, 1.0 / rate, axis=0)
        turned = TorqueSignals(squares, rises, swept, speeds - speeds.mean(axis=0)).every(step)
        return turned, apply_lag(squares, lag, rate)[::step]

    gyro, accel = fill_gaps(window.gyro), fill_gaps(window.accel if window.accel is not None else window.gyro)
    rates = low_pass(gyro, rate, cutoff)
    turn = np.gradient(rates, 1.0 / rate, axis=0)
    edge = max(int(0.4 * rate / cutoff), 1)
    bad = np.convolve(~window.valid, np.ones(2 * edge + 1), mode="same") > 0.5
    good = ~bad
    good[:edge] = good[-edge:] = False
    pick = slice(None, None, step)
    own = rotor(speeds)
    other = rotor(made) if made is not None else (None, None)
    return LowPassed(
        rate=rate / step,
        cutoff=cutoff,
        time=window.time[pick],
        rates=rates[pick],
        turn=turn[pick],
        force=low_pass(accel, rate, cutoff)[pick],
        squares=own[1],
        made=other[1],
        turned=own[0],
        turned_made=other[0],
        levers=apply_lag(lever_matrices(rates, turn), lag, rate)[pick],
        good=good[pick],
    )


def increments(found: LowPassed, X: Floats, y: Floats, share: float) -> Regression:
    """Regress y (n,) on X (n, k) with differences over `LAG`, of a share of the earlier sample."""
    step = max(round(LAG * found.rate), 1)
    both = found.good[step:] & found.good[:-step]
    A, b = ((x[step:] - share * x[:-step])[both] for x in (X, y))
    return regress(A, b)


def force_row(found: LowPassed, X: Floats, y: Floats, Z: Floats | None) -> Regression:
    """Regress y (n,) on X (n, k) with instruments Z in noise made white."""
    step = max(int(found.rate / (BAND * found.cutoff)), 1)
    A, B = (None if x is None else x[::step, None] for x in (X, Z))
    assert A is not None
    return white_regress(A, y[::step, None], B, found.good[::step])


def force_rows(
    found: LowPassed, guess: Floats | None = None, reach: float = REACH
) -> tuple[list[Regression], Floats, Floats]:
    """The three rows of the force law, and the place r (3,) with its deviation (3,), m.

    `guess` (3,) is where the IMU is before anything is known, and `reach` how far from there it may be.
    """
    begin = np.zeros(3) if guess is None else guess
    fit = place(replace(found, force=found.force - found.levers @ begin), reach)
    r, sigma = begin + fit.value[-3:], fit.sigma[-3:]
    force = found.force - found.levers @ r
    rows = []
    for axis in range(3):
        X = found.squares if axis == 2 else np.concatenate([found.squares, np.ones((len(force), 1))], axis=1)
        made = found.made
        Z = None if made is None else np.concatenate([made, X[:, made.shape[1] :]], axis=1)
        if axis == 2:
            rows.append(regress(X[found.good], force[found.good, 2], None if Z is None else Z[found.good]))
        else:  # Across the thrust the air pushes slowly and strongly: what changes fast is of the rotors.
            rows.append(force_row(found, X, force[:, axis], Z))
    return rows, r, sigma


def place(found: LowPassed, reach: float = REACH) -> Regression:
    """The place of the IMU with the force law's other terms beside it: the last three values are r, m.

    What rotors push across and the force of r at the torque that they make look alike. Rotors are upright to about
    `UPRIGHT` unless the rest of the motion says otherwise. What is steady is no place: it stands beside.
    Angular accelerations are noisy: those that the rotors explain are the instruments of the regression.
    """
    n, m = found.squares.shape
    step = max(int(found.rate / (BAND * found.cutoff)), 1)
    rows = np.zeros((n, 3, 3 * m + 6))
    for i in range(3):
        rows[:, i, m * i : m * (i + 1)] = found.squares
        rows[:, i, 3 * m + i] = 1.0
    rows[:, :, -3:] = found.levers
    clean = rows.copy()
    clean[:, :, -3:] = lever_matrices(found.rates, _explained_turn(found))
    lift = float(np.mean(found.force[found.good, 2]) / np.mean(np.sum(found.squares[found.good], axis=1)))
    prior = np.full(3 * m + 6, np.inf)
    prior[: 2 * m] = UPRIGHT * abs(lift)
    prior[-3:] = reach
    return white_regress(rows[::step], found.force[::step], clean[::step], found.good[::step], prior)


def _explained_turn(found: LowPassed) -> Floats:
    """(n, 3) angular acceleration as far as rotors and products of the rates explain it, rad/s2."""
    w = found.rates
    swirl = np.stack([w[:, 1] * w[:, 2], w[:, 0] * w[:, 2], w[:, 0] * w[:, 1], np.ones(len(w))], axis=1)
    D = np.concatenate([found.turned.squares, found.turned.rises, swirl], axis=1)
    D = D / np.maximum(np.sqrt(np.mean(D**2, axis=0)), 1e-300)
    return np.asarray(D @ np.linalg.lstsq(D[found.good], found.turn[found.good], rcond=None)[0])


def pull(found: LowPassed, weights: Floats) -> tuple[float, float, float]:
    """How much force along z there is for the squares weighted by `weights` (m,), through the origin.

    Returns:
        The gain between forward and backward regression (their geometric mean), m/s2 for each unit of the weighted sum;
        its relative deviation from blocks and from the difference of the two; and the rms of what is left over the mean
        force.
    """
    x, y = found.squares[found.good] @ weights, found.force[found.good, 2]

    def gain(a: Floats, b: Floats) -> float:
        return float(np.sqrt(np.sum(b * b) / np.sum(a * a)))

    parts = np.array_split(np.arange(len(y)), BLOCKS)
    value = gain(x, y)
    apart = np.array([gain(np.delete(x, p), np.delete(y, p)) for p in parts])
    scatter = SPREAD * np.sqrt((BLOCKS - 1) / BLOCKS * np.sum((apart - apart.mean()) ** 2)) / value
    forward, backward = float(x @ y / (x @ x)), float(y @ y / (x @ y))
    misfit = float(np.sqrt(np.mean((y - value * x) ** 2)) / np.mean(y))
    return value, float(np.hypot(scatter, abs(np.log(backward / forward)))), misfit
