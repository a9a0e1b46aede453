"""Motors by output error: the speed that a command would have made beside the one that was measured.

With command d in 0..1, lag tau and dead time T,

    w' = (y(d(t - T)) - w) / tau,       y = w_0 + (w_1 - w_0) (k d + (1 - k) sqrt d)     "kappa" [Blaha2024]   (1)

    w' = (y(d(t - T)) - w) / tau,       y = w_0 + (w_1 - w_0) sqrt(k d^2 + (1 - k) d)    "quadratic"          (2)

is linear in the three numbers of the first curve for given tau and T: lag and dead time are searched, the curve is
solved for each of them (variable projection). The second law, linear but for k, is fitted beside it, and all motors of
a vehicle follow the law that leaves less of their speeds. As far as the other one is likely, too, what both differ by
is part of the deviations, and so is what one more term, d^2, changes in all motors alike.

Speeds arrive late by telemetry, too; T holds both. A command may be logged a while after it took effect, so T is
searched from below zero on: held at zero it would shorten tau. With a battery that sags the same command makes less
speed as the flight goes on: what commands make may change linearly over the flight, and the curve is that of its
middle. Dropouts are weighed down (Huber). Vibration that the controller passes on to the motors is aliased in the log
and looks the same after each of its periods, which makes dead times look likely that are none; commands and speeds are
compared below `CUTOFF`, where a lag shows. Motors speed up faster than they slow down: to first order the speed is then
a lag of y plus a share of a lag of |y - w|, one more number.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

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
INDEPENDENT = 0.2
"""Independent samples of what a law leaves, for each period of the cutoff."""
UNEXPLAINED = 1.7
"""Deviation of a top speed over what neither the law nor noise explains: it may be alike all over the flight."""
STATED = 20.0
"""Odds of the law that an airframe file states before the log."""
CHANCE = 2.0
"""Deviations of their mean up to which motors differ from a law by chance."""
TOP_BEYOND = (0.02, 0.15)
"""By how much a top speed may differ by another law, relative: at full command, and over what is not reached of it."""
COMMANDS = np.linspace(0.0, 1.0, 51)
"""Over which two curves are compared."""


LAWS = ("kappa", "quadratic")


@dataclass(frozen=True)
class MotorLaw:
    """One law fitted to one motor.

    Attributes:
        kind: "kappa" (1) or "quadratic" (2).
        top, idle: Speeds at full command and at command zero, rad/s.
        shape: k.
        remainder: Mean square of what it leaves of the speed, (rad/s)^2.
    """

    kind: str
    top: float
    idle: float
    shape: float
    remainder: float

    @property
    def numbers(self) -> Floats:
        """(3,) top, idle, shape."""
        return np.array([self.top, self.idle, self.shape])

    def fraction(self, d: Floats) -> Floats:
        """Speed of commands between idle (0) and top (1)."""
        return fraction_of_top(self.kind, self.shape, d)


def fraction_of_top(kind: str, shape: float, d: Floats) -> Floats:
    """What a law of this kind and shape makes of commands d, between idle (0) and top (1)."""
    if kind == "kappa":
        return np.asarray(shape * d + (1.0 - shape) * np.sqrt(d))
    return np.asarray(np.sqrt(shape * d**2 + (1.0 - shape) * d))


@dataclass(frozen=True)
class MotorFit:
    """One motor.

    Attributes:
        law: The law that the motors of the vehicle follow.
        laws: Of every kind.
        time_constant: s.
        delay: s.
        sigma: (5,) of the top speed, the idle speed, k, tau and T.
        residual: rms, rad/s.
        like_lag, like_delay: Deviation of what neither (1) nor noise explains, as a change of lag or dead time, s.
        extra_term: (2,) top speed and k by a law with one more term, beyond those of (1): rad/s, 1.
        explained: Share of the speed's variance.
        reach: (2,) lowest and highest command of the flight.
        speed_from_command: (N,) speeds that the commands make, rad/s.
    """

    law: MotorLaw
    laws: tuple[MotorLaw, ...]
    time_constant: float
    delay: float
    sigma: Floats
    residual: float
    like_lag: float
    like_delay: float
    extra_term: Floats
    explained: float
    reach: tuple[float, float]
    speed_from_command: Floats

    @property
    def top(self) -> float:
        """Speed at full command, rad/s."""
        return self.law.top

    @property
    def idle(self) -> float:
        """Speed at command zero, rad/s."""
        return self.law.idle

    @property
    def curve_shape(self) -> float:
        """K of the law."""
        return self.law.shape


def _shape(curve: Floats) -> float:
    """K of equation (1) of a curve (3,) of 1, d and sqrt d."""
    return float(curve[1] / (curve[1] + curve[2] + 1e-12))


def fit_motors(window: FlightWindow, speeds: Floats, stated: str = "") -> list[MotorFit]:
    """Every motor of a window with commands; `speeds` (N, m) rad/s without gaps, and the law that is stated, if any."""
    assert window.commands is not None
    commands = np.clip(np.nan_to_num(window.commands), 0.0, None)
    fits = [_motor(window, d, w) for d, w in zip(commands.T, speeds.T, strict=True)]
    log_odds = {kind: np.log(STATED) * (kind == stated) for kind in LAWS}
    independent = INDEPENDENT * window.flight_seconds * _cutoff(window)
    for fit in fits:
        for law in fit.laws:
            log_odds[law.kind] -= 0.5 * independent * np.log(max(law.remainder, 1e-300))
    highest = max(log_odds.values())
    probability = {kind: np.exp(odds - highest) for kind, odds in log_odds.items()}
    total = sum(probability.values())
    best = max(LAWS, key=probability.__getitem__)
    beyond = np.array([[fit.extra_term[0] / max(fit.top, 1.0), fit.extra_term[1]] for fit in fits])
    scatter = np.std(beyond, axis=0, ddof=1) / np.sqrt(len(fits)) if len(fits) > 2 else 0.0
    bent = np.sqrt(np.maximum(beyond.mean(axis=0) ** 2 - (CHANCE * scatter) ** 2, 0.0))
    return [_follow_law(fit, best, 1.0 - probability[best] / total, bent) for fit in fits]


def _follow_law(fit: MotorFit, kind: str, doubt: float, bent: Floats) -> MotorFit:
    """The motor by the law of this kind.

    Args:
        fit: Of the motor.
        kind: Of the law.
        doubt: Probability of the other laws.
        bent: (2,) how far from a law with one more term all motors are, of the top speed (relative) and of k.
    """
    law = next(each for each in fit.laws if each.kind == kind)
    other = max((np.abs(each.numbers - law.numbers) for each in fit.laws), key=np.sum)
    # Beyond the commands that were flown a law with one more term says too much.
    most = TOP_BEYOND[0] + TOP_BEYOND[1] * max(1.0 - fit.reach[1], 0.0)
    more = np.array([min(bent[0], most) * law.top, 0.0, min(bent[1], 1.0)])
    sigma = fit.sigma.copy()
    sigma[:3] = np.sqrt(sigma[:3] ** 2 + doubt * other**2 + more**2)
    return replace(fit, law=law, sigma=sigma)


def _cutoff(window: FlightWindow) -> float:
    """Below which commands and speeds are compared, Hz."""
    return min(CUTOFF, SLOWER / window.speed_period) if window.speed_period > 0.0 else CUTOFF


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
    cutoff = _cutoff(window)
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
    numbers, left, weight = _solved(B[good], smooth_w[good])
    curve = numbers[:3]
    own, curves = [], []
    for block in np.array_split(places, PARTS):
        chosen = np.zeros(len(good), bool)
        chosen[block] = True
        # Each stretch has its own lag and dead time, found from another start; curves without one stretch.
        some = block[:: max(len(block) // 1500, 1)]
        own.append(search(some, 1.4 * tau, dead + 0.004))
        curves.append(_solved(B[good & ~chosen], smooth_w[good & ~chosen])[0][:3])
    shapes = np.array([[c.sum(), c[0], _shape(c)] for c in curves])
    jack = np.sqrt((PARTS - 1) / PARTS * np.sum((shapes - shapes.mean(axis=0)) ** 2, axis=0)) * STUDENT
    # What lies beyond the commands that were flown is extrapolated: a curve without bounds says how far that may go.
    loose = np.linalg.lstsq(B[good], smooth_w[good], rcond=None)[0][:3]
    shape, another_top = _another_law(slow_d, slow_w, good, drift, tau, dead, rate)
    bent = np.array([0.5 * (loose.sum() - curve.sum()), 0.5 * (loose[0] - curve[0]), 0.0])
    times = np.std(np.array(own), axis=0, ddof=1) / np.sqrt(PARTS) * STUDENT
    variance = float(np.var(smooth_w[good]))
    noise = float(white_noise(slow_w[good])) * min(2.0 * cutoff / rate, 1.0) ** 0.5
    unexplained = float(np.sqrt(max(left - noise**2, 0.0)))

    loosely = _formula(B[good], curve, left / (INDEPENDENT * window.flight_seconds * cutoff))
    alike = np.array([UNEXPLAINED * unexplained, 0.0, 0.0])

    def like(later: Floats, by: float) -> float:
        """By how much lag or dead time would have to change to make as much as is unexplained, s."""
        return unexplained * by / max(float(np.std(((later - B) @ numbers)[good])), 1e-9)

    def quadratic(k: float) -> MotorLaw:
        """The law of this k that leaves least."""
        fraction = low_pass(fraction_of_top("quadratic", k, d)[:, None], window.rate, cutoff)[:count]
        passed = motor_response(fraction.reshape(-1, step, 1).mean(axis=1), tau, dead, rate)
        B = np.column_stack([passed, passed[:, 1] * drift, lagging])[good]
        numbers = np.linalg.lstsq(B * root[:, None], smooth_w[good] * root, rcond=None)[0]
        remainder = float(np.sum(weight * (smooth_w[good] - B @ numbers) ** 2) / np.sum(weight))
        return MotorLaw("quadratic", float(numbers[:2].sum()), float(numbers[0]), k, remainder)

    lagging, root = B[:, -1], np.sqrt(weight)
    remainder = float(np.sum(weight * (smooth_w[good] - B[good] @ numbers) ** 2) / np.sum(weight))
    kappa = MotorLaw("kappa", float(curve.sum()), float(curve[0]), _shape(curve), remainder)
    k = optimize.minimize_scalar(
        lambda k: quadratic(k).remainder, bounds=(0.0, 1.0), method="bounded", options={"xatol": 2e-3}
    ).x
    return MotorFit(
        kappa,
        (kappa, quadratic(float(k))),
        tau,
        dead,
        np.concatenate([np.sqrt(np.maximum(jack, loosely) ** 2 + bent**2 + alike**2), times]),
        float(np.sqrt(left)),
        like(response(1.05 * tau, dead), 0.05 * tau),
        like(response(tau, dead + LITTLE), LITTLE),
        np.array([another_top - curve.sum(), np.clip(shape - _shape(curve), -1.0, 1.0)]),
        1.0 - left / variance if variance > 0.0 else 0.0,
        (float(np.percentile(slow_d[good], 0.5)), float(np.percentile(slow_d[good], 99.5))),
        _with_sag(motor_response(_powers(d), tau, dead, window.rate), np.linspace(-1.0, 1.0, len(d)))
        @ numbers[:5],
    )


def _formula(B: Floats, curve: Floats, noise: float) -> Floats:
    """(3,) deviations of top speed, idle speed and k of a curve (3,) without bounds, for responses B (N, k).

    Parts of a flight that all meet a bound agree however little they know. `noise` is the variance of what is left, for
    one independent sample.
    """
    gram = B.T @ B / len(B)
    cov = noise * np.linalg.pinv(gram, hermitian=True)[:3, :3]
    both = max(float(curve[1] + curve[2]), 1e-9)
    slopes = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, curve[2] / both**2, -curve[1] / both**2]])
    # At a bound k changes by both of its terms.
    slopes[2] = np.where(np.arange(3) > 0, np.maximum(np.abs(slopes[2]), 0.25 / both) * [0.0, 1.0, -1.0], 0.0)
    sigma = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", slopes, cov, slopes), 0.0))
    return np.asarray(np.minimum(sigma, [np.inf, np.inf, 1.0]))


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
    return _shape(nearest), float(law[:4].sum())


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
