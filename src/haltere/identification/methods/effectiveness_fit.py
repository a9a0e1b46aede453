"""Identification from rotor speeds without pose: effectiveness of every rotor, motors, IMU position, delays.

The laws of `haltere.identification.regression.force_law` are fitted at three cutoffs; what they differ by is part of
the deviation, and so is a floor for what the laws leave out (inflow, blades that flap, calibration of the sensors): a
95 % interval from scatter alone covers a third of the truths.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from haltere.flight.filters import apply_lag, fill_gaps, wiener_mix
from haltere.flight.window import FlightWindow
from haltere.foundation.numbers import Floats
from haltere.identification.regression import force_law
from haltere.identification.regression.force_law import LowPassed
from haltere.identification.regression.motors import MotorFit, fit_motors
from haltere.identification.regression.regression import Regression, regress
from haltere.identification.regression.torque_law import (
    TorqueRow,
    estimate_speed_delay,
    torque_rows,
    unexplained_fraction,
)

if TYPE_CHECKING:
    from haltere.identification.regression.nominal_rows import Agreement, NominalRotors


@dataclass(frozen=True)
class EffectivenessSettings:
    """Numbers of the method for rotor speeds, and of what becomes absolute by something known."""

    cutoff: float = 25.0
    """Cutoff of the low-pass, Hz, where the log allows it: above the motion, below motor and frame vibration."""
    cutoff_ratios: tuple[float, ...] = (0.6, 1.0, 1.5)
    """Cutoffs that are compared, over the chosen one; what they differ by is part of the deviation; the middle
    one counts."""
    delays: tuple[float, float, int] = (-0.012, 0.024, 19)
    """First and last delay of the rotor speeds behind the motion that is tried, s, and how many: telemetry is late, and
    so are gyro filters."""
    lags: tuple[float, ...] = (0.0, 0.004, 0.008, 0.013, 0.018)
    """Time constants of the second-order filter that an accelerometer may have passed, s, tried."""
    lag_gain: float = 0.9
    """Unexplained variance with a lag over that without, below which the lag is believed: a lag fits noise, too."""
    follows: float = 0.5
    """R2 of the motor model above which commands are instruments: a worse one is correlated with nothing."""
    force_floor: float = 0.02
    """Floor of force rows, relative to the largest number of the row fz: inflow and scale of the accelerometer."""
    moving_air: float = 0.02
    """What rotors leave of the force along z, over its mean, from which on floors count fully; else in proportion."""
    still_air: float = 0.2
    """Fraction of the floors that counts at least: scale of the sensors."""
    torque_floor: tuple[float, float, float] = (0.013, 0.013, 0.03)
    """Floor of torque rows, relative to the largest number of the row: inflow changes torque more than thrust."""
    reaction_floor: float = 0.055
    """The same of what rotor accelerations do: a delay and a damping that are not quite right change it most."""
    left_over: tuple[float, float] = (0.4, 0.6)
    """Relative deviation of rows of torque, and of what rotor accelerations do, over the share that they do not
    explain: vibration and gusts are among it, which rotors answer."""
    left_across: float = 0.15
    """The same of the rows fx and fy, relative to the largest fz, over that share of roll and pitch."""
    misalignment: float = 0.012
    """Deviation of the axes of gyro and body about each other, rad, and what flow across the rotors adds: yaw then has
    a part of roll and pitch."""
    nominal_position_sigma: float = 0.005
    """Deviation of an IMU from its position in the airframe file, m: boards are placed by hand."""
    nominal_com_sigma: float = 0.05
    """Deviation of the centre of mass from that of the airframe file, over the arm: positions count from there."""
    agreeing: float = 1e-3
    """Probability below which a log and a drawing contradict each other."""
    smallest_r_squared: float = 0.5
    """R2 about an axis below which its row is not identified: the rest is the air's, and rotors answer it."""
    largest_position_sigma: float = 0.02
    """Deviation of the IMU position above which it is not identified, m: the size of the board."""
    sensor_floor: float = 0.008
    """Relative floor of a mass in still air: bias and scale of an accelerometer."""
    mass_floor: float = 0.02
    """Relative floor of a mass: scale of an accelerometer, and the thrust law in moving air."""
    mass_floor_from_pose: float = 0.002
    """The same where the specific force was computed from gravity and pose, whose scale is right."""
    one_sided_misfit: float = 0.35
    """Fraction of the thrust law's residual that may act in one direction and so be mistaken for mass."""
    rotor_position_sigma: float = 0.002
    """Deviation of a rotor from its position in the airframe file, m."""
    torque_ratio_sigma: float = 0.2
    """Relative deviation of a rotor's torque over thrust from the airframe file: few drawings tell it."""
    nominal_mass_sigma: float = 0.1
    """Prior relative sigma of the nominal mass."""
    lifting: float = 0.3
    """Fraction of a rotor's thrust along z above which the force along z identifies its coefficient."""
    largest_inertia_sigma: float = 0.5
    """Relative deviation of a moment of inertia above which it is not identified: it is the reciprocal of a row."""
    inertia_coupling_floor: float = 0.1
    """Floor of the inertia coupling Q: air torques that go with the product of rates."""
    log_ratio_sigma: float = 2.0
    """Prior deviation of the logarithms of ratios of second moments: wide, and nothing runs away."""
    largest_ratio_sigma: float = 0.35
    """Relative deviation of a ratio of inertias above which it is not identified."""


SETTINGS = EffectivenessSettings()
ROWS = ("fx", "fy", "fz", "p", "q", "r")


@dataclass(frozen=True)
class EffectivenessFit:
    """What the rotors do.

    Attributes:
        force: (3, m) m/s2 per (rad/s)^2.
        torque: (3, m) rad/s2 per (rad/s)^2.
        reaction: (3, m) rad/s2 per rad/s2.
        sigma: The deviations of the three, (9, m).
        force_cov: (m, m) of the row fz, floor included.
        torque_cov: (3, m, m) of the rows p, q, r, floor included.
        r_squared: (6,) share explained, rows in the order of `ROWS`.
        imu_position: (3,) of the IMU, m.
        imu_position_sigma: (3,) m.
        bias: (2,) of the accelerometer across, m/s2.
        delay: Of the speeds against the gyro, s, and its deviation.
        lag: PT2 of the accelerometer, s.
        both_ways: (6,) largest difference between rows with and without instruments, in sigma.
        inertia_coupling: (3,) Q of the rows, and (3,) their deviations.
        cutoff: Hz.
        signals: As fitted.
        motors: Of every rotor, or empty.
        across: (2,) H of the rows p and q, 1/s.
        damping: (3,) D of the rows, 1/s.
        agreement: With the drawing, if one was joined.
        air: Fraction of the floors for moving air that counts.
    """

    force: Floats
    torque: Floats
    reaction: Floats
    sigma: Floats
    force_cov: Floats
    torque_cov: Floats
    r_squared: Floats
    imu_position: Floats
    imu_position_sigma: Floats
    bias: Floats
    delay: tuple[float, float]
    lag: float
    both_ways: Floats
    inertia_coupling: tuple[Floats, Floats]
    cutoff: float
    signals: LowPassed
    motors: tuple[MotorFit, ...]
    across: Floats = field(default_factory=lambda: np.zeros(2))
    damping: Floats = field(default_factory=lambda: np.zeros(3))
    agreement: "Agreement | None" = None
    air: float = 1.0

    @property
    def joined(self) -> bool:
        """Whether the rows are joined with a drawing."""
        return self.agreement is not None and self.agreement.probability > SETTINGS.agreeing


def fit_effectiveness(
    window: FlightWindow,
    full_fit: "EffectivenessFit | None" = None,
    nominal_imu_position: Floats | None = None,
    arm: float = 0.0,
    leaning: bool = False,
    nominal: "NominalRotors | None" = None,
    stated_law: str = "",
) -> EffectivenessFit:
    """The rows of a window with rotor speeds.

    Args:
        window: The flying part of the log.
        full_fit: Whose motors, delays and lags are taken, if it is given.
        nominal_imu_position: (3,) of the IMU as drawn, m, if that is known.
        arm: Largest distance of a rotor from the middle of all as drawn, m.
        leaning: Whether rotors are drawn that lean.
        nominal: Rotors as drawn, in the order of the log.
        stated_law: Kind of the motors' curve as stated, or none.
    """
    assert window.rotor_speeds is not None
    speeds = fill_gaps(window.rotor_speeds)
    m = window.rotor_count
    cutoff = min(SETTINGS.cutoff, 0.2 * window.rate)
    fits: tuple[MotorFit, ...] = ()
    if full_fit is not None:
        fits = full_fit.motors
    elif window.commands is not None:
        fits = tuple(fit_motors(window, speeds, stated_law))
    speed_from_command = _speed_from_command(fits)
    if speed_from_command is not None:
        speeds = wiener_mix(speeds, speed_from_command, window.rate)
    if full_fit is not None:
        delay, lag = full_fit.delay, full_fit.lag
    else:
        late_by = estimate_speed_delay(
            window, speeds, speed_from_command, cutoff, np.linspace(*SETTINGS.delays), leaning
        )
        delay = late_by.value, late_by.torque_sigma
        lag = _lag(force_law.low_passed(window, speeds, None, cutoff, delay[0], 0.0))
    with_rotor_acceleration = window.rate >= force_law.QUICK
    near = (
        nominal_imu_position,
        force_law.REACH
        if nominal_imu_position is None
        else float(np.hypot(SETTINGS.nominal_position_sigma, SETTINGS.nominal_com_sigma * arm)),
    )
    regressions = []
    for scale in SETTINGS.cutoff_ratios if full_fit is None else (1.0,):
        signals = force_law.low_passed(window, speeds, speed_from_command, scale * cutoff, delay[0], lag)
        regressions.append((signals, *_rows(signals, with_rotor_acceleration, near, leaning)))
    signals, rows, turns, place, place_sigma = regressions[len(regressions) // 2]
    without, late = rows, signals
    if speed_from_command is not None:
        plain = replace(signals, squared_from_command=None, torque_from_command=None)
        without = _rows(plain, with_rotor_acceleration, near, leaning)[0]
    if full_fit is None:
        late = force_law.low_passed(window, speeds, speed_from_command, cutoff, delay[0] + delay[1], lag)
    later = _rows(late, with_rotor_acceleration, (place, 1e-6), leaning)[0]
    table = _table(rows, m, with_rotor_acceleration)
    moved = np.array([_table(each[1], m, with_rotor_acceleration) for each in regressions])
    places = np.std([each[3] for each in regressions], axis=0)
    place_sigma = np.sqrt(place_sigma**2 + places**2 + 5e-4**2)
    air = _moving_air(signals, rows[2].value[:m], place)
    other = _table(without, m, with_rotor_acceleration)
    moved_by = np.nan_to_num(_table(later, m, with_rotor_acceleration) - table)
    if full_fit is None:
        moved_by[:3] *= late_by.force_sigma / late_by.torque_sigma
    sigma = np.sqrt(
        np.array(
            [row.sigma[:m] for row in rows[:2]]
            # Blocks that agree by chance are too sure of single rotors' lift.
            + [np.maximum(rows[2].sigma[:m], np.sqrt(np.diagonal(rows[2].even_cov(m))))]
            + [row.sigma[:m] for row in rows[3:]]
            + [_of_rotor_acceleration(row.sigma, m, with_rotor_acceleration) for row in rows[3:]]
        )
        ** 2
        + np.std(moved, axis=0) ** 2
        + (np.where(np.arange(9)[:, None] < 6, air, 1.0) * _floor(table)) ** 2
        # Speeds that come later than assumed: T w^2 is then seen with a share of its slope, 2 T w w', and so is B w'.
        + moved_by**2
    )
    sigma[:6] = np.hypot(sigma[:6], 0.5 * np.abs(other - table)[:6])
    # What rotors do against gusts looks like less authority. Forward regression gives R2 of what backward regression
    # gives, and the truth lies between, anywhere: seen from the end where the row is, 1/sqrt 3 of the distance.
    largest = np.max(np.abs(table[3:6]), axis=1)
    weaker = unexplained_fraction(window, turns, cutoff) / np.sqrt(3.0)
    sigma[3:6] = np.hypot(sigma[3:6], (largest * weaker)[:, None])
    unexplained = np.clip(1.0 - np.array([row.explained for row in without[3:]]), 0.0, 1.0)
    size = np.max(np.abs(np.nan_to_num(table)), axis=1)
    doubt = np.zeros(9)
    doubt[:2] = SETTINGS.left_across * unexplained[:2].max() * size[2]
    doubt[3:6] = SETTINGS.left_over[0] * unexplained * size[3:6]
    doubt[6:] = SETTINGS.left_over[1] * unexplained * size[6:].max()
    sigma = np.hypot(sigma, doubt[:, None])
    turned = SETTINGS.misalignment * table[3:6]
    sigma[3:6] = np.sqrt(sigma[3:6] ** 2 + np.sum(turned**2, axis=0) - turned**2)
    # An IMU off its place feels torque as force, f = w' x r, and the rows of the force take it.
    for k, (a, b) in enumerate(((1, 2), (2, 0), (0, 1))):
        taken = (table[3 + a] * place_sigma[b]) ** 2 + (table[3 + b] * place_sigma[a]) ** 2
        sigma[k] = np.sqrt(sigma[k] ** 2 + taken)
    fit = EffectivenessFit(
        force=table[:3],
        torque=table[3:6],
        reaction=table[6:],
        sigma=sigma,
        force_cov=_with(rows[2].cov[:m, :m], sigma[2]),
        torque_cov=np.stack(
            [
                _with(row.cov[:m, :m] + turned.T @ turned - np.outer(own, own), s)
                for row, s, own in zip(rows[3:], sigma[3:6], turned, strict=True)
            ]
        ),
        r_squared=np.array([row.explained for row in without]),
        imu_position=place,
        imu_position_sigma=place_sigma,
        bias=np.array([row.value[-1] for row in rows[:2]]),
        delay=delay,
        lag=lag,
        both_ways=np.max(np.abs(other - table)[:6] / sigma[:6], axis=1),
        inertia_coupling=(
            np.array([row.value[-2] for row in rows[3:]]),
            np.array([row.sigma[-2] for row in rows[3:]]),
        ),
        cutoff=cutoff,
        signals=signals,
        motors=fits,
        across=np.array([row.value[-3] for row in rows[3:5]]),
        damping=-np.array([rows[3].value[-4], rows[4].value[-4], rows[5].value[-3]]),
        air=air,
    )
    if nominal is None or full_fit is not None or fit.r_squared[3:5].min() < SETTINGS.smallest_r_squared:
        return fit
    weaker = np.hypot(weaker, SETTINGS.left_over[0] * unexplained)
    common = [
        *((moved - moved.mean(axis=0)) / np.sqrt(len(moved)))[:, 2:6],
        moved_by[2:6],
        0.5 * (other - table)[2:6],
        *(np.where(np.arange(4)[:, None] == 1 + k, weaker[k] * table[2:6], 0.0) for k in range(3)),
        # What an IMU off its place feels, f_z = p y - q x.
        np.eye(4)[0][:, None] * table[3] * place_sigma[1],
        np.eye(4)[0][:, None] * table[4] * place_sigma[0],
    ]
    return _with_nominal(fit, nominal, _evidence(rows, m, np.array(common), air * _floor(table)[2:6]))


def _evidence(rows: list[Regression], m: int, common: Floats, floor: Floats) -> Floats:
    """(4 m, 4 m) covariance of the rows fz, p, q, r.

    Args:
        rows: As fitted.
        m: How many rotors there are.
        common: (D, 4, m) deviations that one cause each makes in all of them.
        floor: (4, m) deviations, half of whose variance all rotors of a row have in common.
    """
    cov = linalg.block_diag(*(row.even_cov(m) for row in rows[2:6]))
    every = common.reshape(len(common), -1)
    signs = np.concatenate([np.sign(row.value[:m]) for row in rows[2:6]]) * floor.ravel()
    row = np.repeat(np.arange(4), m)
    same = np.where(row[:, None] == row, np.outer(signs, signs), 0.0)
    return np.asarray(cov + every.T @ every + 0.5 * same + 0.5 * np.diag(floor.ravel() ** 2))


def _with_nominal(fit: EffectivenessFit, nominal: "NominalRotors", cov: Floats) -> EffectivenessFit:
    """The rows joined with the drawing, where the two agree."""
    from haltere.identification.regression.nominal_rows import agree  # noqa: PLC0415 - few logs come with a drawing

    m = fit.force.shape[1]
    joined = agree(nominal, np.concatenate([fit.force[2:], fit.torque]), cov)
    fit = replace(fit, agreement=joined)
    if not fit.joined:
        return fit
    blocks = [joined.cov[m * k : m * (k + 1), m * k : m * (k + 1)] for k in range(4)]
    sigma = fit.sigma.copy()
    sigma[2:6] = [np.sqrt(np.diagonal(block)) for block in blocks]
    return replace(
        fit,
        force=np.concatenate([fit.force[:2], joined.rows[:1]]),
        torque=joined.rows[1:],
        sigma=sigma,
        force_cov=blocks[0],
        torque_cov=np.stack(blocks[1:]),
    )


def _moving_air(signals: LowPassed, row: Floats, imu_position: Floats) -> float:
    """What rotors and the IMU's position leave of the force along z, over what moving air leaves; 1 at most."""
    valid = signals.valid
    force = (signals.force - signals.lever_matrices @ imu_position)[valid, 2]
    remainder = np.std(force - signals.squared_speeds[valid] @ row) / max(abs(float(force.mean())), 1e-9)
    return float(np.clip(remainder / SETTINGS.moving_air, SETTINGS.still_air, 1.0))


def _table(rows: list[Regression], m: int, with_rotor_acceleration: bool) -> Floats:
    """(9, m) force, torque and what rotor accelerations do."""
    return np.array(
        [row.value[:m] for row in rows]
        + [_of_rotor_acceleration(row.value, m, with_rotor_acceleration) for row in rows[3:]]
    )


def _floor(table: Floats) -> Floats:
    """(9, m) what the laws leave out, for a table of the same shape."""
    lift, size = np.abs(table[2]), np.max(np.abs(np.nan_to_num(table)), axis=1)
    rows = (
        [SETTINGS.force_floor * size[2]] * 3
        + [*(np.array(SETTINGS.torque_floor) * size[3:6])]
        + [SETTINGS.reaction_floor * size[6:].max()] * 3
    )
    floor = np.tile(np.array(rows)[:, None], table.shape[1])
    floor[2] = SETTINGS.force_floor * lift
    return floor


def _with(cov: Floats, sigma: Floats) -> Floats:
    """A covariance whose deviations are enlarged to `sigma`; what is added is independent."""
    return np.asarray(cov + np.diag(np.maximum(sigma**2 - np.diagonal(cov), 0.0)))


def _speed_from_command(fits: tuple[MotorFit, ...]) -> Floats | None:
    """(N, m) speeds that commands make, if they are good enough to be instruments, rad/s."""
    return np.stack([fit.speed_from_command for fit in fits], axis=1) if _follow(fits) else None


def _follow(fits: tuple[MotorFit, ...]) -> bool:
    """Whether the speeds that commands make are good enough to be instruments."""
    return bool(fits) and min(fit.explained for fit in fits) > SETTINGS.follows


def _rows(
    signals: LowPassed, with_rotor_acceleration: bool, near: tuple[Floats | None, float], leaning: bool
) -> tuple[list[Regression], list[TorqueRow], Floats, Floats]:
    forces, place, sigma = force_law.force_rows(signals, *near)
    turns = torque_rows(signals, with_rotor_acceleration, leaning)
    return [*forces, *turns], turns, place, sigma


def _of_rotor_acceleration(values: Floats, m: int, with_rotor_acceleration: bool) -> Floats:
    """(m,) what the values of a row say of rotor accelerations."""
    return values[m : 2 * m] if with_rotor_acceleration else np.full(m, np.nan)


def _lag(signals: LowPassed) -> float:
    """The low-pass of the accelerometer that leaves least of the force along z."""
    left = []
    for lag in SETTINGS.lags:
        squares = apply_lag(signals.squared_speeds, lag, signals.rate)
        row = regress(squares[signals.valid], signals.force[signals.valid, 2])
        left.append(1.0 - row.explained)
    best = int(np.argmin(left))
    return SETTINGS.lags[best] if left[best] < SETTINGS.lag_gain * left[0] else 0.0
