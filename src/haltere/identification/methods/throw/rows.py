"""What each rotor did in a recorded throw or flight: effectiveness rows, offline.

With squared speeds u = w^2, body rate W, in the axes of the log,

    f = F u + X(W, W') r                                                                                   (1)

X r = force at the IMU's position r, one r for the three rows. There is no constant: in a hover, where rotors hardly
change, it would take as much of the thrust as it likes, and no accelerometer is that far off. What is left is not
white, and is treated as in `haltere.identification.methods.throw.torque`. The window ends where something else
pushes: the ground, or a hand. Angular acceleration: see equation (1) of
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
from haltere.identification.methods.throw.jackknife import stretch_covariance
from haltere.identification.methods.throw.signals import ThrowSettings, ThrowSignals, throw_signals
from haltere.identification.methods.throw.torque import (
    TorqueRows,
    neighbour_correlation,
    robust_cost,
    torque_rows,
)
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
        force_cov: (3, m, m) of the rows of force, from stretches of the throw.
        torque_cov: (3, 2 m, 2 m) of the rows of torque and reaction, likewise.
        end: time of the last sample, s: before the ground or a hand.
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
    force_cov: Floats | None = None
    torque_cov: Floats | None = None
    end: float = np.inf


@dataclass(frozen=True)
class ForceRows:
    """Equation (1): F (3, m), r (3,), rms (3,), covariance (3, m, m) of the rows, cost; residual (n, 3), its times."""

    force: Floats
    imu_position: Floats
    residual: Floats
    cov: Floats
    cost: float
    unexplained: Floats
    time: Floats


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
    signals = _without_contact(throw_signals(flight, start, end, accel), cutoff)
    found, delay = _timed(signals, cutoff, rotated)
    forces = [_force(signals, cutoff, delay, lag) for lag in SETTINGS.lags]
    best = int(np.argmin([fit.cost for fit in forces]))
    force = forces[best]
    return ThrowRows(
        force.force,
        found.torque,
        found.reaction,
        force.imu_position,
        delay,
        SETTINGS.lags[best],
        np.concatenate([force.residual, found.residual]),
        found.shape,
        found.gyroscopic,
        force.cov,
        found.cov,
        float(signals.time[-1]),
    )


def _without_contact(signals: ThrowSignals, cutoff: float) -> ThrowSignals:
    """The signals up to where something else than rotors and air pushes: ground, or a hand that catches."""
    fit = _force(signals, cutoff, 0.0, SETTINGS.lags[1])
    size = MAD_TO_SIGMA * float(np.median(np.linalg.norm(fit.unexplained, axis=1)))
    pushed = np.linalg.norm(fit.unexplained, axis=1) > max(SETTINGS.contact, SETTINGS.contact_levels * size)
    late = fit.time > signals.time[0] + SETTINGS.shortest
    if not (pushed & late).any():
        return signals
    last = float(fit.time[np.argmax(pushed & late)]) - SETTINGS.before_contact
    return signals.until(last)


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


def _force(signals: ThrowSignals, cutoff: float, delay: float, lag: float) -> ForceRows:
    """Equation (1): the rows share one position; what they predict passes the accelerometer's low-pass, too."""
    W, squares, _ = _filtered(signals, cutoff, delay)
    turn = np.gradient(W, 1.0 / signals.rate, axis=0)
    edge = signals.inner(cutoff)
    kept = slice(edge.start, edge.stop, max(round(SETTINGS.spacing * signals.rate), 1))
    forces = lever_matrices(W, turn)
    squares, forces = (apply_lag(x, lag, signals.rate) for x in (squares, forces))
    f, u, X = low_pass(signals.accel, signals.rate, cutoff)[kept], squares[kept], forces[kept]
    m, n = u.shape[1], len(u)
    rows = np.zeros((n, 3, 3 * m + 3))
    for i in range(3):
        rows[:, i, m * i : m * (i + 1)] = u
    rows[:, :, 3 * m :] = X
    memory, sizes, weight = np.zeros(3), np.ones(3), np.ones((n - 1, 3))
    for _ in range(SETTINGS.force_rounds):
        root = np.sqrt(weight) / sizes
        A = (rows[1:] - memory[:, None] * rows[:-1]) * root[:, :, None]
        y = (f[1:] - memory * f[:-1]) * root
        flat = A.reshape(-1, 3 * m + 3)
        scale = np.maximum(np.sqrt(np.mean(flat**2, axis=0)), 1e-12)
        theta = np.linalg.lstsq(flat / scale, y.reshape(-1), rcond=1e-9)[0] / scale
        left = f - rows @ theta
        memory = np.array([neighbour_correlation(row) for row in left.T])
        white = left[1:] - memory * left[:-1]
        sizes = np.maximum(MAD_TO_SIGMA * np.median(np.abs(white), axis=0), 1e-9)
        weight = huber_weights(white, sizes, SETTINGS.outlier, 1e-12)
    cost = robust_cost(white, sizes, weight)
    cov = stretch_covariance(A, y, np.zeros(3 * m + 3))
    blocks = np.stack([cov[m * i : m * (i + 1), m * i : m * (i + 1)] for i in range(3)])
    return ForceRows(
        theta[: 3 * m].reshape(3, m),
        theta[3 * m :],
        np.sqrt(np.mean(left**2, axis=0)),
        blocks,
        cost,
        left,
        signals.time[kept],
    )
