"""What each rotor did in a recorded throw or flight: effectiveness rows and motors, offline.

With squared speeds u = w^2, rotor accelerations w' and body rate W, in the axes of the log,

    f = F u + X(W, W') r + c,        W' = T u + B w' + Q (W W)                                             (1)

X r = force of the IMU's place, one r for the three rows; c = constant; Q = what the products of the rates do, because
the inertia is not known: one product a row where the axes of the log are about principal, six otherwise. All signals
pass the same zero-phase low-pass. Torque rows are fitted to differences over 10 ms, because slow torques of the air
are not of the rotors. Signals of different filters and telemetry are late by different times: the delay of the rotor
speeds and the low-pass of the accelerometer that leave least are taken. Outliers (a rotor speed that drops to zero)
are weighed down (Huber). Motors: see `haltere.identification.throw_motors`.
"""

from dataclasses import dataclass

import numpy as np
from scipy import signal

from haltere.flight import Flight
from haltere.flight.fault import Values
from haltere.flight.sampling import regular_rate
from haltere.foundation import HaltereError
from haltere.identification.tumble import place_matrix

CUTOFF = 15.0
"""Hz."""
DIFFERENCE = 0.01
"""s."""
DELAYS = np.arange(-12, 9) * 5e-4
"""s, of the rotor speeds against the gyro, tried; negative where the gyro is the later one."""
LAGS = (0.0, 0.004, 0.008, 0.011, 0.013, 0.015, 0.018)
"""s, time constants of a PT2 that the accelerometer may have passed, tried."""
ROUNDS = 6
HUBER = 2.0


@dataclass(frozen=True)
class LogRows:
    """Rows of (1), per rotor along the last axis.

    Attributes:
        force: (3, m) m/s2 per (rad/s)^2.
        torque: (3, m) rad/s2 per (rad/s)^2.
        spin: (3, m) rad/s2 per rad/s2.
        place: (3,) of the IMU, m.
        delay: of the rotor speeds against the gyro, s.
        lag: time constant of the accelerometer's PT2 low-pass, s; 0 for none.
        residual: (6,) rms of force (m/s2) and torque rows (rad/s2, of differences).
    """

    force: Values
    torque: Values
    spin: Values
    place: Values
    delay: float
    lag: float
    residual: Values


@dataclass(frozen=True)
class _Signals:
    rate: float
    time: Values
    gyro: Values
    accel: Values
    speeds: Values


def log_rows(
    flight: Flight,
    start: float,
    end: float,
    cutoff: float = CUTOFF,
    accel: str = "imu.accel",
    turned: bool = False,
) -> LogRows:
    """Rows of equation (1) from `start` to `end`, s since the first sample.

    Args:
        flight: with `imu.gyro`, an accelerometer and `rotors.speed` on one clock.
        start: where rotors turn freely in the air.
        end: where they still do.
        cutoff: of the low-pass, Hz.
        accel: name of the accelerometer's channel.
        turned: whether the IMU is turned against the principal axes.
    """
    signals = _signals(flight, start, end, accel)
    fits = [_torque(signals, cutoff, delay, turned) for delay in DELAYS]
    best = int(np.argmin([rms.sum() for _, rms in fits]))
    table, rms = fits[best]
    m = signals.speeds.shape[1]
    forces = [_force(signals, cutoff, float(DELAYS[best]), lag) for lag in LAGS]
    force, place, left = min(forces, key=lambda fit: float(fit[2].sum()))
    lag = LAGS[int(np.argmin([fit[2].sum() for fit in forces]))]
    return LogRows(
        force, table[:, :m], table[:, m : 2 * m], place, float(DELAYS[best]), lag, np.concatenate([left, rms])
    )


def predicted(
    rows: LogRows, flight: Flight, start: float, end: float, cutoff: float = CUTOFF
) -> tuple[Values, Values]:
    """Angular accelerations (N, 3) measured and by the rows (u and w' only, without Q), low-passed, rad/s2."""
    signals = _signals(flight, start, end, "imu.accel")
    W, squares, rises = _filtered(signals, cutoff, rows.delay)
    turn = np.gradient(W, 1.0 / signals.rate, axis=0)
    cut = slice(_edge(signals.rate, cutoff), -_edge(signals.rate, cutoff))
    return turn[cut], (squares @ rows.torque.T + rises @ rows.spin.T)[cut]


def _signals(flight: Flight, start: float, end: float, accel: str) -> _Signals:
    gyro, force, speed = (flight[name] for name in ("imu.gyro", accel, "rotors.speed"))
    if not (np.array_equal(gyro.time, speed.time) and np.array_equal(gyro.time, force.time)):
        raise HaltereError(
            "gyro, accelerometer and rotor speeds have clocks of their own; resample them to one first"
        )
    rate = regular_rate(gyro)
    time = gyro.seconds(flight.start)
    inside = (time >= start) & (time <= end)
    if inside.sum() < rate * 0.3:
        raise HaltereError(
            f"{start:g} to {end:g} s hold {inside.sum()} samples; give at least 0.3 s of flight"
        )
    speeds = signal.medfilt(speed.values[inside], (3, 1))
    return _Signals(rate, time[inside], gyro.values[inside], force.values[inside], speeds)


def _edge(rate: float, cutoff: float) -> int:
    return max(round(0.4 * rate / cutoff), 1)


def _smooth(values: Values, rate: float, cutoff: float) -> Values:
    sections = signal.butter(2, cutoff * (np.sqrt(2.0) - 1.0) ** -0.25, output="sos", fs=rate)
    return np.asarray(
        signal.sosfiltfilt(sections, values, axis=0, padlen=min(len(values) - 1, int(2 * rate / cutoff)))
    )


def _filtered(signals: _Signals, cutoff: float, delay: float) -> tuple[Values, Values, Values]:
    time = signals.time
    speeds = np.stack([np.interp(time + delay, time, w) for w in signals.speeds.T], axis=1)
    W = _smooth(signals.gyro, signals.rate, cutoff)
    squares = _smooth(speeds**2, signals.rate, cutoff)
    rises = np.gradient(_smooth(speeds, signals.rate, cutoff), 1.0 / signals.rate, axis=0)
    return W, squares, rises


def _torque(signals: _Signals, cutoff: float, delay: float, turned: bool) -> tuple[Values, Values]:
    """(3, 2 m) table T, B and (3,) rms of what is left."""
    W, squares, rises = _filtered(signals, cutoff, delay)
    pairs = [(i, j) for i in range(3) for j in range(i, 3)]
    others = ((1, 2), (0, 2), (0, 1))
    turn = np.gradient(W, 1.0 / signals.rate, axis=0)
    step = max(round(DIFFERENCE * signals.rate), 1)
    edge = _edge(signals.rate, cutoff)

    def differences(x: Values) -> Values:
        return np.asarray((x[step:] - x[:-step])[edge:-edge])

    rotors = np.concatenate([squares, rises], axis=1)
    found, rms = [], []
    for row in range(3):
        chosen = pairs if turned else [others[row]]
        products = np.stack([W[:, i] * W[:, j] for i, j in chosen], axis=1)
        table, left = _robust(
            differences(np.concatenate([rotors, products], axis=1)), differences(turn[:, [row]])
        )
        found.append(table[0, : rotors.shape[1]])
        rms.append(left[0])
    return np.array(found), np.array(rms)


def _force(signals: _Signals, cutoff: float, delay: float, lag: float) -> tuple[Values, Values, Values]:
    """(3, m) F, (3,) place, (3,) rms: the three rows share one place; what they predict passes the PT2, too."""
    W, squares, _ = _filtered(signals, cutoff, delay)
    turn = np.gradient(W, 1.0 / signals.rate, axis=0)
    edge = slice(_edge(signals.rate, cutoff), -_edge(signals.rate, cutoff))
    forces = place_matrix(W, turn)
    if lag > 0.0:
        squares, forces = (_lagged(x, lag, signals.rate) for x in (squares, forces))
    f, u, X = _smooth(signals.accel, signals.rate, cutoff)[edge], squares[edge], forces[edge]
    m, n = u.shape[1], len(u)
    rows = np.zeros((n, 3, 3 * m + 6))
    for i in range(3):
        rows[:, i, m * i : m * (i + 1)] = u
        rows[:, i, 3 * m + 3 + i] = 1.0
    rows[:, :, 3 * m : 3 * m + 3] = X
    table, _ = _robust(rows.reshape(3 * n, -1), f.reshape(-1, 1))
    left = f - rows @ table[0]
    return table[0, : 3 * m].reshape(3, m), table[0, 3 * m : 3 * m + 3], np.sqrt(np.mean(left**2, axis=0))


def _lagged(values: Values, lag: float, rate: float) -> Values:
    """Two first-order lags in a row, along the first axis."""
    share = 1.0 - np.exp(-1.0 / (rate * lag))
    for _ in range(2):
        start = (1.0 - share) * values[:1]
        values = signal.lfilter([share], [1.0, share - 1.0], values, axis=0, zi=start)[0]
    return np.asarray(values)


def _robust(X: Values, Y: Values) -> tuple[Values, Values]:
    """Rows (k, n) of Y = X table^T by iteratively weighted least squares, and the rms of each."""
    scale = np.maximum(np.sqrt(np.mean(X**2, axis=0)), 1e-12)
    A = X / scale
    found, rms = [], []
    for y in Y.T:
        weight = np.ones(len(y))
        for _ in range(ROUNDS):
            root = np.sqrt(weight)
            theta = np.linalg.lstsq(A * root[:, None], y * root, rcond=1e-8)[0]
            left = y - A @ theta
            size = max(1.4826 * float(np.median(np.abs(left))), 1e-9)
            weight = np.minimum(1.0, HUBER * size / np.maximum(np.abs(left), 1e-12))
        found.append(theta / scale)
        rms.append(float(np.sqrt(np.mean(left**2))))
    return np.array(found), np.array(rms)
