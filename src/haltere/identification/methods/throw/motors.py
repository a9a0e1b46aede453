"""Motors from a recorded throw, by output error: the speeds that a motor would have had beside those it had.

With command d, curve y(d) of the firmware or of the paper, lag tau, dead time D, speeds w_0 at rest and w_1 at full
command, and limits on how fast the rotor speeds up and slows down (a controller that limits the current of the motor
bounds the first, not the second),

    w' = clip((w_0 + (w_1 - w_0) y(d(t - D)) - w) / tau, -down, up)                                        (1)
    y = sqrt(k d^2 + (1 - k) d)  "quadratic",   y = k d + (1 - k) sqrt(d)  "kappa"    [Blaha2024]           (2)

integrated exactly over a sample where no limit acts. A first-order fit without dead time comes out 4 to 10 ms too slow,
because rotor speeds arrive late: D holds that, too. It comes from protocol and telemetry, the limits and the form of
the curve from the controllers: the motors have them in common. So one D is taken for all of them, the one of `DELAYS`
that leaves least in sum, refined by a parabola, and the median of the upper limits: a single motor that barely reached
its own cannot tell it from its lag. Lower limits are often not reached at all, and stay with each motor. Speeds that
jump (dropouts, telemetry that repeats itself) are weighed down: Huber, with a size that the residuals tell.

Every motor with every dead time is one column of the same arithmetic: Gauss-Newton steps with damping (Levenberg) run
on all of them at once.
"""

from dataclasses import dataclass

import numpy as np
from scipy import signal

from haltere.flight import Flight
from haltere.flight.filters import parabola_minimum
from haltere.flight.resampling import interpolate_columns, regular_rate
from haltere.foundation import HaltereError
from haltere.foundation.constants import MAD_TO_SIGMA
from haltere.foundation.numbers import Floats
from haltere.identification.methods.throw.signals import ThrowSettings
from haltere.identification.regression.regression import huber_weights

SETTINGS = ThrowSettings()
DELAYS: Floats = np.arange(0.0, float(SETTINGS.dead_time_steps)) * SETTINGS.delay_step
"""s, dead times that are tried."""
CURVES = ("quadratic", "kappa")
LOW = np.array([0.5, 0.0, 0.0, 0.003, 0.3, 0.3])
HIGH = np.array([3.0, 1.0, 0.5, 0.1, 50.0, 50.0])
BEGIN = np.array([1.0, 0.5, 0.05, 0.02, 1.5, 1.5])
"""w_1, k, w_0, tau, up and down: bounds and first guess; speeds in the largest seen over the root of the largest
command, limits in 40 000 rad/s2."""
_NUDGE = 1e-5


@dataclass(frozen=True)
class ThrowMotor:
    """One motor: rad/s, curve constant, s, s, rad/s2; `residual` is the rms of the speed, rad/s.

    `slew` limits speeding up, `brake` slowing down; infinite where the throw never reached it.
    """

    max_speed: float
    curve: float
    kind: str
    idle_speed: float
    time_constant: float
    delay: float
    slew: float
    residual: float
    brake: float = np.inf


@dataclass(frozen=True)
class _Columns:
    """One column for each motor and dead time."""

    commands: Floats
    """(N, B) late commands, 0..1."""
    speeds: Floats
    """(N, B) rad/s."""
    scale: Floats
    """(6, B) units of the six numbers."""
    rate: float


def fit_throw_motors(
    flight: Flight, start: float, end: float, kinds: tuple[str, ...] = CURVES
) -> list[ThrowMotor]:
    """Every motor of a log from `start` to `end`, s since the first sample, with the better of the `kinds` of curve."""
    command, speed = flight["rotors.command"], flight["rotors.speed"]
    if not np.array_equal(command.time, speed.time):
        raise HaltereError(
            "commands and rotor speeds have clocks of their own; resample one to the other first"
        )
    time = command.seconds(flight.start)
    inside = (time >= start) & (time <= end)
    if inside.sum() < 100:
        raise HaltereError(f"{start:g} to {end:g} s hold {inside.sum()} samples; give at least 100")
    rate = regular_rate(command)
    d, w = command.values[inside], signal.medfilt(speed.values[inside], (3, 1))
    tried = []
    for kind in kinds:
        _, costs, _ = _fitted(d, w, rate, DELAYS, kind)
        delay = parabola_minimum(DELAYS, costs.reshape(len(DELAYS), -1).sum(axis=1))[0]
        free = _fitted(d, w, rate, np.array([delay]), kind)[0]
        tried.append((kind, delay, *_fitted(d, w, rate, np.array([delay]), kind, float(np.median(free[4])))))
    kind, delay, numbers, _, rms = min(tried, key=lambda fit: float(fit[3].sum()))
    found = []
    for (w_1, k, w_0, tau, up, down), residual in zip(numbers.T.tolist(), rms.tolist(), strict=True):
        reached = down != BEGIN[5] * SETTINGS.slew_unit
        found.append(ThrowMotor(w_1, k, kind, w_0, tau, delay, up, residual, down if reached else np.inf))
    return found


def _fitted(
    d: Floats, w: Floats, rate: float, delays: Floats, kind: str, limit: float | None = None
) -> tuple[Floats, Floats, Floats]:
    """(6, B) numbers, (B,) robust costs and (B,) rms, dead times slowest; `limit` holds the upper one."""
    time = np.arange(len(d)) / rate
    late = np.concatenate([interpolate_columns(time - delay, time, d) for delay in delays], axis=1)
    top = w.max(axis=0) / np.sqrt(np.maximum(d.max(axis=0), 0.1))
    top = np.tile(np.maximum(top, 1.0), len(delays))
    one = np.ones_like(top)
    scale = np.stack([top, one, top, one, SETTINGS.slew_unit * one, SETTINGS.slew_unit * one])
    columns = _Columns(late, np.tile(w, (1, len(delays))), scale, rate)
    x = np.tile(BEGIN[:, None], (1, len(top)))
    free = np.ones(6)
    if limit is not None:
        x[4], free[4] = limit / SETTINGS.slew_unit, 0.0
    size = 0.02 * top
    damping = np.full(len(top), 1e-3)
    residual = _simulated(columns, x, kind) - columns.speeds
    for step in range(SETTINGS.motor_steps):
        slopes = _slopes(columns, x, residual, kind) * free[:, None]
        weight = huber_weights(residual, size, SETTINGS.outlier, 1e-9)
        trial = _stepped(x, residual, slopes, weight / size**2, damping)
        tried = _simulated(columns, trial, kind) - columns.speeds
        better = _cost(tried, size) < _cost(residual, size)
        x, residual = np.where(better, trial, x), np.where(better, tried, residual)
        damping = np.clip(np.where(better, damping / 5.0, damping * 5.0), 1e-8, 1e4)
        if step % 5 == 4:
            size = np.maximum(MAD_TO_SIGMA * np.median(np.abs(residual), axis=0), SETTINGS.speed_resolution)
    return x * scale, _cost(residual, SETTINGS.speed_resolution * one), np.sqrt(np.mean(residual**2, axis=0))


def _cost(residual: Floats, size: Floats) -> Floats:
    """(B,) Huber's."""
    z = np.abs(residual) / size
    return np.asarray(
        np.sum(
            np.where(z < SETTINGS.outlier, 0.5 * z**2, SETTINGS.outlier * (z - 0.5 * SETTINGS.outlier)),
            axis=0,
        )
    )


def _slopes(columns: _Columns, x: Floats, residual: Floats, kind: str) -> Floats:
    """(N, 6, B) by forward differences, all numbers and columns in one run."""
    count, width = x.shape
    nudged = np.repeat(x[:, None], count, axis=1)
    nudged[range(count), range(count)] += _NUDGE
    many = _Columns(
        np.tile(columns.commands, (1, count)),
        columns.speeds[:1].repeat(count, axis=0).reshape(1, -1),
        np.tile(columns.scale, (1, count)),
        columns.rate,
    )
    ran = _simulated(many, nudged.reshape(count, -1), kind).reshape(len(residual), count, width)
    return np.asarray((ran - (residual + columns.speeds)[:, None]) / _NUDGE)


def _stepped(x: Floats, residual: Floats, slopes: Floats, weight: Floats, damping: Floats) -> Floats:
    """(6, B) one damped step inside the bounds."""
    weighted = slopes * weight[:, None]
    H = np.einsum("nib,njb->bij", weighted, slopes)
    g = np.einsum("nib,nb->bi", weighted, residual)
    diagonal = np.einsum("bii->bi", H)
    ridge = damping[:, None] * diagonal + 1e-9 * diagonal.max(axis=1, keepdims=True) + 1e-12
    H = H + ridge[:, :, None] * np.eye(len(x))
    step = np.linalg.solve(H, -g[:, :, None])[:, :, 0].T
    return np.asarray(np.clip(x + step, LOW[:, None], HIGH[:, None]))


def _simulated(columns: _Columns, x: Floats, kind: str) -> Floats:
    """(N, B) speeds by equation (1)."""
    top, k, idle, tau, up, down = x * columns.scale
    d = columns.commands
    if kind == "quadratic":
        y = np.sqrt(np.maximum(k * d**2 + (1.0 - k) * d, 0.0))
    else:
        y = k * d + (1.0 - k) * np.sqrt(np.maximum(d, 0.0))
    goal = idle + (top - idle) * y
    share = 1.0 - np.exp(-1.0 / (columns.rate * tau))
    most, parabola_minimum = up / columns.rate, -down / columns.rate
    found: Floats = np.empty(goal.shape)
    w = columns.speeds[0].astype(float)
    for i, target in enumerate(goal):
        found[i] = w
        w = w + np.clip((target - w) * share, parabola_minimum, most)
    return found
