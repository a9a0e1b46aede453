"""Motors by output error: the speed that a command would have made beside the one that was measured.

With command d in 0..1, lag tau and dead time T,

    w' = (y(d(t - T)) - w) / tau,       y = w_0 + (w_1 - w_0) (k d + (1 - k) sqrt d)     "kappa" [Blaha2024]   (1)

is linear in the three numbers of the curve for given tau and T: lag and dead time are searched, the curve is solved for
each of them (variable projection). Speeds arrive late by telemetry, too; T holds both. A command may be logged a while
after it took effect, so T is searched from below zero on: held at zero it would shorten tau. With a battery that sags
the same command makes less speed as the flight goes on: what commands make may change linearly over the flight, and the
curve is that of its middle. Dropouts are weighed down (Huber). Vibration that the controller passes on to the motors is
aliased in the log and looks the same after each of its periods, which makes dead times look likely that are none;
commands and speeds are compared below `CUTOFF`, where a lag shows. Motors speed up faster than they slow down: to first
order the speed is then a lag of y plus a share of a lag of |y - w|, one more number.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, signal

from haltere.flight.filters import low_pass, shift, white_noise
from haltere.flight.window import FlightWindow
from haltere.foundation.constants import MAD_TO_SIGMA
from haltere.foundation.numbers import Floats
from haltere.identification.regression.regression import huber_weights

TAUS = (0.003, 0.01, 0.025, 0.05, 0.1)
"""s."""
DEAD = (0.0, 0.003, 0.008, 0.014, 0.02)
"""s."""
FASTEST = 250.0
"""Hz, for the search."""
CUTOFF = 50.0
"""Hz, at most."""
SLOWER = 0.15
"""Share of the rate of rotor speeds above which what lies between two of them would look like a lag."""
PARTS = 5
"""Stretches of the flight whose time constants are compared."""
STUDENT = 1.4
"""Of five stretches: Student's t against the normal distribution at 95 %."""
LEVEL = 3.0
"""Outliers, in robust deviations."""
LITTLE = 5e-4
"""s, of a difference that gives the slope in the dead time."""
COMMANDS = np.linspace(0.0, 1.0, 51)
"""Over which two curves are compared."""


@dataclass(frozen=True)
class MotorFit:
    """One motor.

    Attributes:
        curve: (3,) of 1, d, sqrt d: rad/s.
        time_constant: s.
        delay: s.
        sigma: (5,) of the top speed, the idle speed, k, tau and T.
        residual: rms, rad/s.
        like_lag, like_delay: Deviation of what neither (1) nor noise explains, as a change of lag or dead time, s.
        another_top: Top speed beside that of a law with one more term, rad/s.
        explained: Share of the speed's variance.
        reach: (2,) lowest and highest command of the flight.
        speed_from_command: (N,) speeds that the commands make, rad/s.
    """

    curve: Floats
    time_constant: float
    delay: float
    sigma: Floats
    residual: float
    like_lag: float
    like_delay: float
    another_top: float
    explained: float
    reach: tuple[float, float]
    speed_from_command: Floats

    @property
    def top(self) -> float:
        """Speed at full command, rad/s."""
        return float(self.curve.sum())

    @property
    def idle(self) -> float:
        """Speed at command zero, rad/s."""
        return float(self.curve[0])

    @property
    def curve_shape(self) -> float:
        """K of equation (1)."""
        return self.shape_of(self.curve)

    @staticmethod
    def shape_of(curve: Floats) -> float:
        """K of equation (1) of a curve (3,)."""
        return float(curve[1] / (curve[1] + curve[2] + 1e-12))


def fit_motors(window: FlightWindow, speeds: Floats) -> list[MotorFit]:
    """Every motor of a window with commands; `speeds` (N, m) rad/s without gaps."""
    assert window.commands is not None
    commands = np.clip(np.nan_to_num(window.commands), 0.0, None)
    return [_motor(window, d, w) for d, w in zip(commands.T, speeds.T, strict=True)]


def motor_response(basis: Floats, tau: float, dead: float, rate: float) -> Floats:
    """(N, 1 + k) what 1 and k columns make of a first-order lag with dead time, from steady state."""
    if dead != 0.0:
        basis = shift(basis, -dead, rate)
    keep = np.exp(-1.0 / (rate * tau))
    # A command holds until the next sample: the speed at a sample has seen the commands before it.
    held = np.concatenate([basis[:1], basis[:-1]])
    passed = signal.lfilter([1.0 - keep], [1.0, -keep], held, axis=0, zi=keep * basis[:1])[0]
    return np.concatenate([np.ones((len(basis), 1)), passed], axis=1)


def _powers(d: Floats) -> Floats:
    """(N, 2) d and sqrt d."""
    return np.stack([d, np.sqrt(d)], axis=1)


def _with_sag(response: Floats, drift: Floats) -> Floats:
    """(N, 5) what 1, d and sqrt d make (N, 3), and the latter two times `drift` (N,)."""
    return np.concatenate([response, response[:, 1:] * drift[:, None]], axis=1)


def _weighted_fit(B: Floats, w: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """(k,) curve and what else changes it, no number of the curve below zero, and what is left (N,) of the speed."""
    one = np.eye(B.shape[1])
    both = np.concatenate([one, -one[:, 3:]], axis=1)  # all but the curve may have any sign
    G = B * weight[:, None]
    root = np.linalg.cholesky(G.T @ B + 1e-8 * len(w) * one)
    curve = both @ optimize.nnls(root.T @ both, np.linalg.solve(root, G.T @ w))[0]
    return curve, np.abs(w - B @ curve)


def _solved(B: Floats, w: Floats) -> tuple[Floats, float, Floats]:
    """The same by a fit in which outliers count little: curve, its cost for each sample, and the weights (N,)."""
    scale = max(float(np.max(np.abs(w))), 1.0)
    weight = np.ones(len(w))
    for _ in range(3):
        curve, left = _weighted_fit(B, w, weight)
        size = max(MAD_TO_SIGMA * float(np.median(left)), 1e-6 * scale)
        weight = huber_weights(left, size, LEVEL, 1e-12 * scale)
    return curve, float(np.sum(weight * left**2) / np.sum(weight)), weight


def _motor(window: FlightWindow, d: Floats, w: Floats) -> MotorFit:
    # A slower clock is quicker and loses nothing of a lag; commands are averaged over the time for which they hold.
    step = max(int(window.rate / FASTEST), 1)
    count = len(d) // step * step
    rate, good = window.rate / step, window.valid[:count:step]
    slow_d, slow_w = d[:count].reshape(-1, step).mean(axis=1), w[:count:step]
    drift = np.linspace(-1.0, 1.0, len(slow_d))
    cutoff = min(CUTOFF, SLOWER / window.speed_period) if window.speed_period > 0.0 else CUTOFF
    smooth_w = low_pass(w, window.rate, cutoff)[:count:step]
    smooth_d = low_pass(_powers(d), window.rate, cutoff)[:count].reshape(-1, step, 2).mean(axis=1)

    away = np.zeros(len(slow_d))  # of the speed from that at which it would settle

    def response(tau: float, dead: float, first: int = 0, last: int | None = None) -> Floats:
        part = slice(first, last)
        whole = _with_sag(motor_response(smooth_d[part], tau, dead, rate), drift[part])
        return np.column_stack([whole, motor_response(away[part, None], tau, 0.0, rate)[:, 1]])

    def at(chosen: NDArray[np.intp], tau: float, dead: float) -> tuple[Floats, Floats]:
        first, last = max(int(chosen[0] - rate), 0), int(chosen[-1]) + 1
        return response(tau, dead, first, last)[chosen - first], smooth_w[chosen]

    def search(chosen: NDArray[np.intp], tau: float, dead: float) -> tuple[float, float]:
        weight = _solved(*at(chosen, tau, dead))[2]  # outliers hardly change with lag and dead time
        return _refined(
            lambda t, T: float(weight @ _weighted_fit(*at(chosen, t, T), weight)[1] ** 2), tau, dead, lowest
        )

    places = np.flatnonzero(good)
    few, more = (places[:: max(len(places) // count_, 1)] for count_ in (1500, 3000))
    lowest = -max(1.0 / rate, window.command_age + window.command_period)
    _, tau, dead = min((_solved(*at(few, tau, dead))[1], tau, dead) for tau in TAUS for dead in DEAD)
    for _ in range(2):  # lag and dead time are a narrow valley, in which a search may stop too early
        tau, dead = search(more, tau, dead)
        B = response(tau, dead)
        numbers = _solved(B[good], smooth_w[good])[0]
        settled = _with_sag(np.column_stack([np.ones(len(drift)), shift(smooth_d, -dead, rate)]), drift)
        away = np.abs(settled @ numbers[:5] - B @ numbers)
    B = response(tau, dead)
    numbers, left, _ = _solved(B[good], smooth_w[good])
    curve = numbers[:3]
    own, curves = [], []
    for block in np.array_split(places, PARTS):
        chosen = np.zeros(len(good), bool)
        chosen[block] = True
        # Each stretch has its own lag and dead time, found from another start; curves without one stretch.
        some = block[:: max(len(block) // 1500, 1)]
        own.append(search(some, 1.4 * tau, dead + 0.004))
        curves.append(_solved(B[good & ~chosen], smooth_w[good & ~chosen])[0][:3])
    shapes = np.array([[c.sum(), c[0], MotorFit.shape_of(c)] for c in curves])
    jack = np.sqrt((PARTS - 1) / PARTS * np.sum((shapes - shapes.mean(axis=0)) ** 2, axis=0)) * STUDENT
    # What lies beyond the commands that were flown is extrapolated: a curve without bounds says how far that may go.
    loose = np.linalg.lstsq(B[good], smooth_w[good], rcond=None)[0][:3]
    shape, another_top = _another_law(slow_d, slow_w, good, drift, tau, dead, rate)
    another = shape - MotorFit.shape_of(curve)
    bent = np.array(
        [0.5 * (loose.sum() - curve.sum()), 0.5 * (loose[0] - curve[0]), np.clip(another, -1.0, 1.0)]
    )
    times = np.std(np.array(own), axis=0, ddof=1) / np.sqrt(PARTS) * STUDENT
    variance = float(np.var(smooth_w[good]))
    noise = float(white_noise(slow_w[good])) * min(2.0 * cutoff / rate, 1.0) ** 0.5
    unexplained = float(np.sqrt(max(left - noise**2, 0.0)))

    def like(later: Floats, by: float) -> float:
        """By how much lag or dead time would have to change to make as much as is unexplained, s."""
        return unexplained * by / max(float(np.std(((later - B) @ numbers)[good])), 1e-9)

    return MotorFit(
        curve,
        tau,
        dead,
        np.concatenate([np.hypot(jack, bent), times]),
        float(np.sqrt(left)),
        like(response(1.05 * tau, dead), 0.05 * tau),
        like(response(tau, dead + LITTLE), LITTLE),
        float(another_top - curve.sum()),
        1.0 - left / variance if variance > 0.0 else 0.0,
        (float(np.percentile(slow_d[good], 0.5)), float(np.percentile(slow_d[good], 99.5))),
        _with_sag(motor_response(_powers(d), tau, dead, window.rate), np.linspace(-1.0, 1.0, len(d)))
        @ numbers[:5],
    )


def _another_law(
    d: Floats, w: Floats, valid: NDArray[np.bool_], drift: Floats, tau: float, dead: float, rate: float
) -> tuple[float, float]:
    """K of the curve of (1) that is nearest to a law with one more term, d^2, over all commands; and its top speed.

    Motors follow other laws than (1); by how much this changes a number is how well the number is known.
    """
    B = motor_response(np.column_stack([_powers(d), d**2]), tau, dead, rate)
    whole = np.concatenate([B, B[:, 1:3] * drift[:, None]], axis=1)
    law = np.linalg.lstsq(whole[valid], w[valid], rcond=None)[0]
    basis = np.stack([np.ones_like(COMMANDS), COMMANDS, np.sqrt(COMMANDS), COMMANDS**2], axis=1)
    nearest = np.linalg.lstsq(basis[:, :3], basis @ law[:4], rcond=None)[0]
    return MotorFit.shape_of(nearest), float(law[:4].sum())


def _refined(
    cost: Callable[[float, float], float], tau: float, dead: float, lowest: float, steps: int = 40
) -> tuple[float, float]:
    """Lag and dead time (at lowest `lowest` s) of the lowest cost near a start, the lag on a logarithmic scale."""

    def numbers(x: Floats) -> tuple[float, float]:
        return float(np.exp(np.clip(x[0], -8.0, 0.0))), float(np.clip(x[1] * 0.01, lowest, 0.06))

    start = np.array([np.log(tau), dead * 100.0])
    answer = optimize.minimize(
        lambda x: cost(*numbers(x)),
        start,
        method="Nelder-Mead",
        options={
            "maxfev": steps,
            "xatol": 2e-3,
            "fatol": 0.0,
            "initial_simplex": start + np.array([[0.0, 0.0], [0.25, -0.3], [0.0, 0.15]]),
        },
    )
    return numbers(answer.x)


def another_top(motors: tuple[MotorFit, ...], fit: MotorFit) -> float:
    """By how much the top speed of a motor may differ by another law, rad/s.

    As that law has it, mean over the motors, but within what motors differ from theirs beyond the commands flown.
    """
    law = float(np.sqrt(np.mean([(each.another_top / each.top) ** 2 for each in motors])))
    return min(law, 0.02 + 0.15 * max(1.0 - fit.reach[1], 0.0)) * fit.top
