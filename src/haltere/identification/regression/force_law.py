"""The laws of force and torque as regressions: the same low-pass on every signal, the IMU position beside.

With squared rotor speeds u = w^2, rotor accelerations w', body rate W, IMU at r from the centre of mass,

    f = F u + X(W, W') r + c,       W' = T u + B w' - D W + Q (W W) + H W + e                               (1)

f = specific force; F, T, B (3, m) = effectiveness; Q = what the products of the rates do (one product for each row);
D = damping by the air about each axis, which hides part of yaw if it is left out; H = what the momentum of rotors
that do not cancel does (pitch rate to roll and the other way); c = bias across, none
along the thrust because an intercept there would stand for mass; e slow torques of the air. The torque law is in
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
    STUDENT_FACTOR,
    Regression,
    integral,
    regress,
    white_regress,
)

LAG = 0.01
"""s, of a difference."""
QUICK = 150.0
"""Hz, above which a log shows what accelerations of the rotors do."""
UPRIGHT = 0.1
"""rad, how far rotors lean if nothing else is known."""
MEAN_SIGMA = 0.02
"""Relative deviation of the mean force along the thrust: bias of the accelerometer, climbing and steady wind."""
REACH = 0.05
"""m, how far from the centre of mass an IMU may be before anything is known."""


@dataclass(frozen=True)
class TorqueSignals:
    """Rotor speeds as the torque law has them, low-passed.

    Attributes:
        squared_speeds: (n, m) (rad/s)^2.
        rotor_accelerations: (n, m) rad/s2.
        swept: (n, m) integrals over time of the squares beyond their mean.
        speeds: (n, m) beyond their mean: integrals of the rotor accelerations, rad/s.
    """

    squared_speeds: Floats
    rotor_accelerations: Floats
    swept: Floats
    speeds: Floats

    def every(self, step: int) -> "TorqueSignals":
        """Each sample of `step`."""
        return TorqueSignals(
            self.squared_speeds[::step],
            self.rotor_accelerations[::step],
            self.swept[::step],
            self.speeds[::step],
        )


@dataclass(frozen=True)
class LowPassed:
    """Low-passed signals at a lower rate, all of the same filter.

    Attributes:
        rate: Hz.
        cutoff: Of the low-pass, Hz.
        time: (n,) s.
        rates: (n, 3) rad/s.
        angular_acceleration: (n, 3) rad/s2.
        force: (n, 3) m/s2.
        squared_speeds: (n, m) of the rotor speeds, as the accelerometer has them.
        squared_from_command: The same as the commands make them, or None.
        torque_signals: The rotors of the torque law.
        torque_from_command: The same as the commands make them, or None.
        lever_matrices: (n, 3, 3) X of equation (1).
        valid: (n,).
    """

    rate: float
    cutoff: float
    time: Floats
    rates: Floats
    angular_acceleration: Floats
    force: Floats
    squared_speeds: Floats
    squared_from_command: Floats | None
    torque_signals: TorqueSignals
    torque_from_command: TorqueSignals | None
    lever_matrices: Floats
    valid: Bools


def low_passed(
    window: FlightWindow,
    speeds: Floats,
    speed_from_command: Floats | None,
    cutoff: float,
    delay: float,
    lag: float,
) -> LowPassed:
    """The signals of (1).

    Args:
        window: The flying part of the log.
        speeds: (N, m) rad/s, filled where missing.
        speed_from_command: (N, m) rad/s, as the commands make them, or None.
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
    valid = ~bad
    valid[:edge] = valid[-edge:] = False
    pick = slice(None, None, step)
    own = rotor(speeds)
    other = rotor(speed_from_command) if speed_from_command is not None else (None, None)
    return LowPassed(
        rate=rate / step,
        cutoff=cutoff,
        time=window.time[pick],
        rates=rates[pick],
        angular_acceleration=turn[pick],
        force=low_pass(accel, rate, cutoff)[pick],
        squared_speeds=own[1],
        squared_from_command=other[1],
        torque_signals=own[0],
        torque_from_command=other[0],
        lever_matrices=apply_lag(lever_matrices(rates, turn), lag, rate)[pick],
        valid=valid[pick],
    )


def increments(signals: LowPassed, X: Floats, y: Floats, fraction: float) -> Regression:
    """Regress y (n,) on X (n, k) with differences over `LAG`, of a fraction of the earlier sample."""
    step = max(round(LAG * signals.rate), 1)
    both = signals.valid[step:] & signals.valid[:-step]
    A, b = ((x[step:] - fraction * x[:-step])[both] for x in (X, y))
    return regress(A, b)


def force_row(signals: LowPassed, X: Floats, y: Floats, Z: Floats | None) -> Regression:
    """Regress y (n,) on X (n, k) with instruments Z in noise made white."""
    step = max(int(signals.rate / (BAND * signals.cutoff)), 1)
    A, B = (None if x is None else x[::step, None] for x in (X, Z))
    assert A is not None
    return white_regress(A, y[::step, None], B, signals.valid[::step])


def with_mean(row: Regression, x: Floats, y: float) -> Regression:
    """A row that gives the mean y for the mean x (k,), too, which noise made white says little of, to `MEAN_SIGMA`."""

    def joined(cov: Floats) -> tuple[Floats, Floats]:
        gain = cov @ x / (x @ cov @ x + (MEAN_SIGMA * y) ** 2)
        rest = np.eye(len(x)) - np.outer(gain, x)
        return gain, rest @ cov @ rest.T + (MEAN_SIGMA * y) ** 2 * np.outer(gain, gain)

    gain, cov = joined(row.cov)
    formula = None if row.formula is None else joined(row.even_cov(len(x)))[1]
    return replace(row, value=row.value + gain * (y - x @ row.value), cov=cov, formula=formula)


def force_rows(
    signals: LowPassed, guess: Floats | None = None, reach: float = REACH
) -> tuple[list[Regression], Floats, Floats]:
    """The three rows of the force law, and the IMU position r (3,) with its deviation (3,), m.

    `guess` (3,) is where the IMU is before anything is known, and `reach` how far from there it may be.
    """
    begin = np.zeros(3) if guess is None else guess
    fit = fit_imu_position(replace(signals, force=signals.force - signals.lever_matrices @ begin), reach)
    r, sigma = begin + fit.value[-3:], fit.sigma[-3:]
    force = signals.force - signals.lever_matrices @ r
    rows = []
    for axis in range(3):
        beside = np.ones((len(force), 0 if axis == 2 else 1))
        X = np.concatenate([signals.squared_speeds, beside], axis=1)
        other = signals.squared_from_command
        Z = None if other is None else np.concatenate([other, beside], axis=1)
        # The air pushes slowly and strongly: what changes fast is of the rotors.
        rows.append(force_row(signals, X, force[:, axis], Z))
    squares, lift = signals.squared_speeds[signals.valid], force[signals.valid, 2]
    rows[2] = with_mean(rows[2], squares.mean(axis=0), float(lift.mean()))
    return rows, r, sigma


def fit_imu_position(signals: LowPassed, reach: float = REACH) -> Regression:
    """The IMU position with the force law's other terms beside it: the last three values are r, m.

    What rotors push across and the force of r at the torque that they make look alike. Rotors are upright to about
    `UPRIGHT` unless the rest of the motion says otherwise. What is steady is no position: it stands beside.
    Angular accelerations are noisy: those that the rotors explain are the instruments of the regression.
    """
    n, m = signals.squared_speeds.shape
    step = max(int(signals.rate / (BAND * signals.cutoff)), 1)
    rows = np.zeros((n, 3, 3 * m + 6))
    for i in range(3):
        rows[:, i, m * i : m * (i + 1)] = signals.squared_speeds
        rows[:, i, 3 * m + i] = 1.0
    rows[:, :, -3:] = signals.lever_matrices
    clean = rows.copy()
    clean[:, :, -3:] = lever_matrices(signals.rates, _explained_acceleration(signals))
    lift = float(
        np.mean(signals.force[signals.valid, 2])
        / np.mean(np.sum(signals.squared_speeds[signals.valid], axis=1))
    )
    prior = np.full(3 * m + 6, np.inf)
    prior[: 2 * m] = UPRIGHT * abs(lift)
    prior[-3:] = reach
    return white_regress(rows[::step], signals.force[::step], clean[::step], signals.valid[::step], prior)


def _explained_acceleration(signals: LowPassed) -> Floats:
    """(n, 3) angular acceleration as far as rotors and products of the rates explain it, rad/s2."""
    w = signals.rates
    swirl = np.stack([w[:, 1] * w[:, 2], w[:, 0] * w[:, 2], w[:, 0] * w[:, 1], np.ones(len(w))], axis=1)
    D = np.concatenate(
        [signals.torque_signals.squared_speeds, signals.torque_signals.rotor_accelerations, swirl], axis=1
    )
    D = D / np.maximum(np.sqrt(np.mean(D**2, axis=0)), 1e-300)
    return np.asarray(
        D @ np.linalg.lstsq(D[signals.valid], signals.angular_acceleration[signals.valid], rcond=None)[0]
    )


def thrust_gain(signals: LowPassed, weights: Floats) -> tuple[float, float, float]:
    """How much force along z there is for the squares weighted by `weights` (m,), through the origin.

    Returns:
        The gain between forward and backward regression (their geometric mean), m/s2 for each unit of the weighted sum;
        its relative deviation from blocks and from the difference of the two; and the rms of what is left over the mean
        force.
    """
    x, y = signals.squared_speeds[signals.valid] @ weights, signals.force[signals.valid, 2]

    def gain(a: Floats, b: Floats) -> float:
        return float(np.sqrt(np.sum(b * b) / np.sum(a * a)))

    parts = np.array_split(np.arange(len(y)), BLOCKS)
    value = gain(x, y)
    apart = np.array([gain(np.delete(x, p), np.delete(y, p)) for p in parts])
    scatter = STUDENT_FACTOR * np.sqrt((BLOCKS - 1) / BLOCKS * np.sum((apart - apart.mean()) ** 2)) / value
    forward, backward = float(x @ y / (x @ x)), float(y @ y / (x @ y))
    misfit = float(np.sqrt(np.mean((y - value * x) ** 2)) / np.mean(y))
    return value, float(np.hypot(scatter, abs(np.log(backward / forward)))), misfit
