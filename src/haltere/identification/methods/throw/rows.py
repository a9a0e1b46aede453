"""What each rotor did in a recorded throw or flight: effectiveness rows, offline.

With squared speeds u = w^2, body rate W, in the axes of the log,

    f = F u + X(W, W') r + c                                                                               (1)

X r = force at the IMU's position r, one r for the three rows; c = constant. Angular acceleration: see equation (1) of
`haltere.identification.methods.throw.torque`. All signals pass the same zero-phase low-pass. Signals of different
filters and telemetry are late by different times: the delay of the rotor speeds and the low-pass of the accelerometer
that leave least are taken. Outliers are weighed down (Huber). Motors: see
`haltere.identification.methods.throw.motors`; where the throw is in a log:
`haltere.identification.methods.throw.signals`.
"""

from dataclasses import dataclass

import numpy as np

from haltere.flight import Flight
from haltere.flight.filters import apply_lag, low_pass, parabola_minimum
from haltere.flight.rotations import lever_matrices
from haltere.foundation.constants import MAD_TO_SIGMA
from haltere.foundation.numbers import Floats
from haltere.identification.methods.throw.signals import ThrowSettings, ThrowSignals, throw_signals
from haltere.identification.methods.throw.torque import TorqueRows, torque_rows
from haltere.identification.regression.regression import huber_weights

SETTINGS = ThrowSettings()
DELAYS: Floats = np.arange(*map(float, SETTINGS.delay_steps)) * SETTINGS.delay_step
"""s, of the rotor speeds against the gyro, tried; negative where the gyro is the later one."""


@dataclass(frozen=True)
class ThrowRows:
    """Rows of force and torque, per rotor along the last axis.

    Attributes:
        force: (3, m) m/s2 per (rad/s)^2.
        torque: (3, m) rad/s2 per (rad/s)^2.
        reaction: (3, m) rad/s2 per rad/s2.
        imu_position: (3,) of the IMU, m.
        delay: of the rotor speeds against the gyro, s.
        lag: time constant of the accelerometer's PT2 low-pass, s; 0 for none.
        residual: (6,) rms of force (m/s2) and torque rows (rad/s2, of what neighbours do not share).
        shape: (3, 3) inertia of trace 3; None where nobody fitted one.
        gyroscopic: share of the rotors' gyroscopic torque that was found: about 1, or 0 in simulators without.
    """

    force: Floats
    torque: Floats
    reaction: Floats
    imu_position: Floats
    delay: float
    lag: float
    residual: Floats
    shape: Floats | None = None
    gyroscopic: float = 1.0


def fit_throw(
    flight: Flight,
    start: float,
    end: float,
    cutoff: float = SETTINGS.cutoff,
    accel: str = "imu.accel",
    rotated: bool = False,
) -> ThrowRows:
    """Rows of force and torque from `start` to `end`, s since the first sample.

    Args:
        flight: with `imu.gyro`, an accelerometer and `rotors.speed` on one clock.
        start: where rotors spin freely in the air.
        end: where they still do.
        cutoff: of the low-pass, Hz.
        accel: name of the accelerometer's channel.
        rotated: whether the IMU is rotated against the principal axes: the products of inertia are then not small.
    """
    signals = throw_signals(flight, start, end, accel)
    found, delay = _timed(signals, cutoff, rotated)
    forces = [_force(signals, cutoff, delay, lag) for lag in SETTINGS.lags]
    best = int(np.argmin([fit[2].sum() for fit in forces]))
    force, place, left = forces[best]
    residual = np.concatenate([left, found.residual])
    return ThrowRows(
        force,
        found.torque,
        found.reaction,
        place,
        delay,
        SETTINGS.lags[best],
        residual,
        found.shape,
        found.gyroscopic,
    )


def _timed(signals: ThrowSignals, cutoff: float, rotated: bool) -> tuple[TorqueRows, float]:
    """The torque rows at the delay that leaves least: the best of `DELAYS`, refined by a parabola."""
    costs = np.array(
        [torque_rows(signals, cutoff, delay, rotated, SETTINGS.search_rounds).cost for delay in DELAYS]
    )
    delay = parabola_minimum(DELAYS, costs)[0]
    return torque_rows(signals, cutoff, delay, rotated), delay


def predicted_acceleration(
    rows: ThrowRows, flight: Flight, start: float, end: float, cutoff: float = SETTINGS.cutoff
) -> tuple[Floats, Floats]:
    """Angular accelerations (N, 3) measured and by the rows (u and w' only), low-passed, rad/s2."""
    signals = throw_signals(flight, start, end)
    W, squares, rises = _filtered(signals, cutoff, rows.delay)
    turn = np.gradient(W, 1.0 / signals.rate, axis=0)
    cut = signals.inner(cutoff)
    return turn[cut], (squares @ rows.torque.T + rises @ rows.reaction.T)[cut]


def _filtered(signals: ThrowSignals, cutoff: float, delay: float) -> tuple[Floats, Floats, Floats]:
    """Body rate (N, 3), squared speeds and rotor accelerations (N, m), low-passed."""
    speeds = signals.delayed_speeds(delay)
    W, squares, slow = (low_pass(x, signals.rate, cutoff) for x in (signals.gyro, speeds**2, speeds))
    return W, squares, np.asarray(np.gradient(slow, 1.0 / signals.rate, axis=0))


def _force(signals: ThrowSignals, cutoff: float, delay: float, lag: float) -> tuple[Floats, Floats, Floats]:
    """(3, m) F, (3,) IMU position, (3,) rms: the rows share one position; what they predict passes the PT2, too."""
    W, squares, _ = _filtered(signals, cutoff, delay)
    turn = np.gradient(W, 1.0 / signals.rate, axis=0)
    edge = signals.inner(cutoff)
    forces = lever_matrices(W, turn)
    squares, forces = (apply_lag(x, lag, signals.rate) for x in (squares, forces))
    f, u, X = low_pass(signals.accel, signals.rate, cutoff)[edge], squares[edge], forces[edge]
    m, n = u.shape[1], len(u)
    rows = np.zeros((n, 3, 3 * m + 6))
    for i in range(3):
        rows[:, i, m * i : m * (i + 1)] = u
        rows[:, i, 3 * m + 3 + i] = 1.0
    rows[:, :, 3 * m : 3 * m + 3] = X
    table, _ = _robust(rows.reshape(3 * n, -1), f.reshape(-1, 1))
    left = f - rows @ table[0]
    return table[0, : 3 * m].reshape(3, m), table[0, 3 * m : 3 * m + 3], np.sqrt(np.mean(left**2, axis=0))


def _robust(X: Floats, Y: Floats) -> tuple[Floats, Floats]:
    """Rows (k, n) of Y = X table^T by iteratively weighted least squares, and the rms of each."""
    scale = np.maximum(np.sqrt(np.mean(X**2, axis=0)), 1e-12)
    A = X / scale
    found, rms = [], []
    for y in Y.T:
        weight = np.ones(len(y))
        for _ in range(SETTINGS.force_rounds):
            root = np.sqrt(weight)
            theta = np.linalg.lstsq(A * root[:, None], y * root, rcond=1e-8)[0]
            left = y - A @ theta
            size = max(MAD_TO_SIGMA * float(np.median(np.abs(left))), 1e-9)
            weight = huber_weights(left, size, SETTINGS.outlier, 1e-12)
        found.append(theta / scale)
        rms.append(float(np.sqrt(np.mean(left**2))))
    return np.array(found), np.array(rms)
