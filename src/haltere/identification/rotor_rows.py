"""Identification from rotor speeds without pose: effectiveness of every rotor, motors, IMU place, delays.

The laws of `haltere.identification.laws` are fitted at three cutoffs; what they differ by is part of the deviation, and
so is a floor for what the laws leave out (inflow, blades that flap, calibration of the sensors): a 95 % interval from
scatter alone covers a third of the truths.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from haltere.flight.fault import Values
from haltere.identification import laws
from haltere.identification.excerpt import Excerpt
from haltere.identification.laws import Regression, Signals
from haltere.identification.motor_fit import MotorFit, motor_fits
from haltere.identification.smoothing import filled, lagged, smoothed, white_noise

CUTOFF = 25.0
"""Hz, where the log allows it."""
SPREAD = (0.6, 1.0, 1.5)
"""Cutoffs that are compared, in the chosen one."""
DELAYS: Values = np.linspace(-0.012, 0.024, 19)
"""s, of the rotor speeds against the motion, tried."""
LAGS = (0.0, 0.004, 0.008, 0.013, 0.018)
"""s, time constants of a PT2 that the accelerometer may have passed, tried."""
FLOOR_FORCE = 0.02
FLOOR_TORQUE = 0.03
"""Relative, of the largest number of the row."""
DRAWN = 0.005
"""m, how far from its place on a drawing an IMU may be."""
TELLING = 0.3
"""Share of the motion about an axis that the rotors must explain for its row to say anything."""
ROWS = ("fx", "fy", "fz", "p", "q", "r")


@dataclass(frozen=True)
class RotorRows:
    """What the rotors do.

    Attributes:
        force: (3, m) m/s2 per (rad/s)^2.
        torque: (3, m) rad/s2 per (rad/s)^2.
        spin: (3, m) rad/s2 per rad/s2.
        sigma: The deviations of the three, (9, m).
        cov_lift: (m, m) of the row fz, floor included.
        cov_turn: (3, m, m) of the rows p, q, r, floor included.
        told: (6,) share explained, rows in the order of `ROWS`.
        place: (3,) of the IMU, m.
        place_sigma: (3,) m.
        bias: (2,) of the accelerometer across, m/s2.
        delay: Of the speeds against the gyro, s, and its deviation.
        lag: PT2 of the accelerometer, s.
        both_ways: (6,) largest difference between rows with and without instruments, in sigma.
        swirl: (3,) Q of the rows, and (3,) their deviations.
        cutoff: Hz.
        signals: As fitted.
        motors: Of every rotor, or empty.
        across: (2,) H of the rows p and q, 1/s.
    """

    force: Values
    torque: Values
    spin: Values
    sigma: Values
    cov_lift: Values
    cov_turn: Values
    told: Values
    place: Values
    place_sigma: Values
    bias: Values
    delay: tuple[float, float]
    lag: float
    both_ways: Values
    swirl: tuple[Values, Values]
    cutoff: float
    signals: Signals
    motors: tuple[MotorFit, ...]
    across: Values = field(default_factory=lambda: np.zeros(2))


def rotor_rows(
    part: Excerpt,
    whole: "RotorRows | None" = None,
    place_drawn: Values | None = None,
    leaning: bool = False,
) -> RotorRows:
    """The rows of an excerpt with rotor speeds.

    Args:
        part: The excerpt.
        whole: Whose motors, delays and lags are taken, if it is given.
        place_drawn: (3,) of the IMU as drawn, m, if that is known.
        leaning: Whether rotors are drawn that lean.
    """
    assert part.speeds is not None
    speeds = filled(part.speeds)
    m = part.rotors
    cutoff = min(CUTOFF, 0.2 * part.rate)
    fits: tuple[MotorFit, ...] = ()
    if whole is not None:
        fits, delay, lag = whole.motors, whole.delay, whole.lag
    else:
        fits = tuple(motor_fits(part, speeds)) if part.commands is not None else ()
        delay = laws.best_delay(part, speeds, cutoff, DELAYS, leaning=leaning)
        lag = _lag(laws.signals(part, speeds, None, cutoff, delay[0], 0.0))
    made = np.stack([fit.made for fit in fits], axis=1) if _follow(fits) else None
    dots = part.rate >= 150.0
    near = (place_drawn, laws.REACH if place_drawn is None else DRAWN)
    tables, regressions = [], []
    for scale in SPREAD if whole is None else (1.0,):
        found = laws.signals(part, speeds, made, scale * cutoff, delay[0], lag)
        rows, place, place_sigma = _rows(found, dots, near)
        regressions.append((found, rows, place, place_sigma))
        tables.append(np.array([row.value[:m] for row in rows]))
    middle = len(regressions) // 2
    found, rows, place, place_sigma = regressions[middle]
    without = _rows(replace(found, made=None), dots, near)[0] if made is not None else rows
    late = laws.signals(part, speeds, made, cutoff, delay[0] + delay[1], lag) if whole is None else found
    other_delay = _rows(late, dots, (place, 1e-6))[0]
    spread = np.std(np.array(tables), axis=0)
    spin = np.array([_dots(row, m, dots) for row in rows[3:]])
    spins = np.array(
        [[r.value[m : 2 * m] if dots else np.zeros(m) for r in each[1][3:]] for each in regressions]
    )
    spread = np.concatenate([spread, np.std(spins, axis=0)])
    table = np.concatenate([tables[middle], spin])
    scatter = np.array(
        [row.sigma[:m] for row in rows]
        + [r.sigma[m : 2 * m] if dots else np.full(m, np.nan) for r in rows[3:]]
    )
    other = np.array([row.value[:m] for row in without])
    gap = np.zeros_like(spread)
    gap[:6] = 0.5 * np.abs(other - tables[middle])
    floor = np.concatenate(
        [
            np.repeat(FLOOR_FORCE * np.max(np.abs(table[2])), 3),
            FLOOR_TORQUE * np.max(np.abs(table[3:6]), axis=1),
            np.full(3, FLOOR_TORQUE * np.max(np.abs(np.nan_to_num(table[6:])))),
        ]
    )[:, None] * np.ones(m)
    floor[2], floor[3:6] = FLOOR_FORCE * np.abs(table[2]), np.maximum(floor[3:6], 0.0)
    # Speeds that come later than assumed: T w^2 is then seen with a share of its slope, 2 T w w', and so is B w'.
    moved = np.array([row.value[:m] for row in other_delay] + [_dots(r, m, dots) for r in other_delay[3:]])
    shift = np.nan_to_num(moved - table)
    sigma = np.sqrt(scatter**2 + spread**2 + gap**2 + floor**2 + shift**2)
    sigma[3:6] = np.hypot(sigma[3:6], np.abs(table[3:6]) * _attenuation(part, rows[3:], cutoff)[:, None])
    places = np.std([each[2] for each in regressions], axis=0)
    place_sigma = np.sqrt(place_sigma**2 + places**2 + 5e-4**2)
    # An IMU off its place feels torque as force, f = w' x r, and the rows of the force take it.
    for k, (a, b) in enumerate(((1, 2), (2, 0), (0, 1))):
        taken = (table[3 + a] * place_sigma[b]) ** 2 + (table[3 + b] * place_sigma[a]) ** 2
        sigma[k] = np.sqrt(sigma[k] ** 2 + taken)
    return RotorRows(
        table[:3],
        table[3:6],
        table[6:],
        sigma,
        _with(rows[2].cov[:m, :m], sigma[2]),
        np.stack([_with(row.cov[:m, :m], s) for row, s in zip(rows[3:], sigma[3:6], strict=True)]),
        np.array([row.explained for row in without]),
        place,
        place_sigma,
        np.array([row.value[-1] for row in rows[:2]]),
        delay,
        lag,
        np.max(np.abs(other - tables[middle]) / sigma[:6], axis=1),
        (np.array([row.value[-2] for row in rows[3:]]), np.array([row.sigma[-2] for row in rows[3:]])),
        cutoff,
        found,
        fits,
        np.array([row.value[-3] for row in rows[3:5]]),
    )


def _with(cov: Values, sigma: Values) -> Values:
    """A covariance whose deviations are enlarged to `sigma`; what is added is independent."""
    return np.asarray(cov + np.diag(np.maximum(sigma**2 - np.diagonal(cov), 0.0)))


def _attenuation(part: Excerpt, rows: list[Regression], cutoff: float) -> Values:
    """(3,) relative: what rotors do against gusts looks like less authority, down to the share R2 that they explain.

    Forward regression gives R2 of what backward regression gives, and the truth lies between, as from a uniform
    distribution. Noise of the gyro in what is left makes no such error, and is taken off.
    """
    pulse = np.zeros((max(int(8.0 * part.rate / cutoff), 50), 1))
    pulse[len(pulse) // 2] = 1.0
    gain = np.linalg.norm(np.gradient(smoothed(pulse, part.rate, cutoff), 1.0 / part.rate, axis=0))
    noise = gain * white_noise(part.gyro[part.good])
    # The rows are fitted to differences: twice the variance.
    moved = np.maximum(1.0 - 2.0 * noise**2 / np.maximum([row.rms**2 for row in rows], 1e-300), 0.0)
    left = np.clip(moved * (1.0 - np.array([row.explained for row in rows])), 0.0, 0.9)
    return np.asarray((1.0 / (1.0 - left) - 1.0) / np.sqrt(12.0))


def _follow(fits: tuple[MotorFit, ...]) -> bool:
    """Whether the speeds that commands make are good enough to be instruments."""
    return bool(fits) and min(fit.explained for fit in fits) > 0.5


def _rows(
    found: Signals, dots: bool, near: tuple[Values | None, float]
) -> tuple[list[Regression], Values, Values]:
    forces, place, sigma = laws.force_rows(found, *near)
    return [*forces, *(laws.torque_row(found, axis, dots) for axis in range(3))], place, sigma


def _dots(row: Regression, m: int, dots: bool) -> Values:
    """(m,) what a row says of rotor accelerations."""
    return row.value[m : 2 * m] if dots else np.full(m, np.nan)


def _lag(found: Signals) -> float:
    """The low-pass of the accelerometer that leaves least of the force along z."""
    left = []
    for lag in LAGS:
        squares = lagged(found.squares, lag, found.rate)
        row = laws.regress(squares[found.good], found.force[found.good, 2])
        left.append(1.0 - row.explained)
    best = int(np.argmin(left))
    return LAGS[best] if left[best] < 0.9 * left[0] else 0.0
