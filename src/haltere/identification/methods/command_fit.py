"""Identification from motor commands alone: thrust curve, lag and dead time, averaged over forms that fit alike.

With command d in 0..1, curve and lag of the speed, w over its highest value,

    w = G(s) v^b (k d + (1 - k) sqrt d),   G = exp(-s T) / (1 + tau s),   u = w^2                            (1)
    f_z = sum F_i u_i - C z' + X(W, W') r,   z'' = sum F_i u_i - g - L z',   W' = sum T_i u_i + Q (W W) + D W + e (2)

F_i (m/s2), T_i (rad/s2) = what rotor i does at full command; C = how much less rotors pull against the air that they
climb into at speed z', which commands alone tell, from rest at the start of each stretch, forgotten after 1/L;
X(W, W') r = what an IMU off the centre of mass feels; v = battery voltage over its mean, b = 0 or 1; D W = what
a lag of another form leaves (for predictions only). No log tells the form of the curve for sure, and it moves the
inertia by a third. Every form on a grid of (k, tau, T, b) is fitted, and the result is the mean over them with weights

    exp(-n/2 sum_rows log((1 - R2) / (1 - R2_best))),   n = `independent_samples`                            (3)

over the rows that say something (`smallest_r_squared`: in a calm flight the controller's answer to gusts looks like a
law, too); few samples only, because the error is one of form: more data do not decide it. Gains are the geometric means
of forward and backward regression, since commands as well as motion have errors.
"""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy import signal

from haltere.flight.filters import fill_gaps, low_pass, shift
from haltere.flight.resampling import runs_of_true
from haltere.flight.rotations import lever_matrices
from haltere.flight.window import FlightWindow, IdentifyError
from haltere.foundation.constants import MAD_TO_SIGMA, STANDARD_GRAVITY
from haltere.foundation.numbers import Bools, Floats
from haltere.identification.regression import force_law
from haltere.identification.regression.regression import HUBER, huber_weights


@dataclass(frozen=True)
class CommandSettings:
    """Numbers of the method for motor commands without rotor speeds."""

    cutoff: float = 20.0
    """Cutoff of the low-pass, Hz, where the log allows it."""
    curves: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    """Shapes k of the thrust curve that are tried: every curve between square root and line."""
    time_constants: tuple[float, ...] = (0.01, 0.022, 0.035, 0.05, 0.065, 0.085, 0.12)
    """Lags of a motor that are tried, s: from racing to large propellers."""
    dead_times: tuple[float, ...] = (0.0, 0.01, 0.02)
    """Dead times that are tried, s: finer steps cannot be distinguished from a lag."""
    independent_samples: float = 8.0
    """n of equation (3) of `command_fit`: few, because the error is one of form and more data do not decide it."""
    smallest_r_squared: float = 0.75
    """R2 about an axis below which it is not identified: in a calm flight the controller's answer to gusts looks like a
    law, too."""
    inflow_sigma: float = 0.5
    """Prior deviation of C, the loss of thrust with the climb, 1/s."""
    climb_leak: float = 0.5
    """L, 1/s: the climb that commands alone give is forgotten after two seconds, before its error counts."""
    correlated_samples: float = 40.0
    """Neighbouring samples that count as one against the priors: residuals are those of a wrong form, not of noise."""
    smallest_sag: float = 0.05
    """Change of the battery voltage over its mean below which its effect is not fitted."""
    floor: float = 0.03
    """Relative floor of authority and thrust over weight."""
    left_over: float = 0.7
    """Relative deviation of authority over the share of the motion that commands do not explain."""
    thrust_floor: float = 0.15
    """Relative floor of the thrust of a single rotor: commands hardly distinguish rotors."""
    lag_floor: float = 0.12
    """Relative floor of a lag: motors speed up faster than they slow down."""
    curve_floor: float = 0.12
    """Floor of the shape of the thrust curve: half of a step of the grid."""
    mass_floor: float = 0.02
    """Relative floor of what counts with the mass: scale of the accelerometer."""
    inertia_floor: float = 0.1
    """Relative floor of a moment of inertia: the form of the curve moves it by a third."""


SETTINGS = CommandSettings()


@dataclass(frozen=True)
class LowPassedCommands:
    """Low-passed signals at a low rate: commands (n, m), voltage (n,), motion."""

    rate: float
    time: Floats
    commands: Floats
    voltage: Floats | None
    rates: Floats
    angular_acceleration: Floats
    force: Floats
    valid: Bools
    cutoff: float


@dataclass(frozen=True)
class Form:
    """One form of curve and lag, and what it gives.

    Attributes:
        curve: k.
        time_constant: tau, s.
        delay: T, s.
        sag: b.
        thrust_per_command: (m,) F_i, m/s2.
        acceleration_per_command: (3, m) T_i, rad/s2.
        noise: (3, m) deviations of T_i that what is left makes, rad/s2.
        damped: Whether D is in it.
        r_squared: (4,) R2 of f_z (about its mean) and the three torque rows.
        remainder: (3, 3) Q, e and D of the rows.
        gain: Mean F, m/s2.
        drift: (4,) r and C of f_z.
        weight: Of (3).
    """

    curve: float
    time_constant: float
    delay: float
    sag: float
    damped: bool
    thrust_per_command: Floats
    acceleration_per_command: Floats
    noise: Floats
    r_squared: Floats
    remainder: Floats
    gain: float
    drift: Floats
    weight: float = 0.0

    @property
    def node(self) -> "Node":
        """Where on the grid."""
        return self.curve, self.time_constant, self.delay, self.sag


def low_pass_commands(window: FlightWindow) -> LowPassedCommands:
    """The signals of (2)."""
    if window.commands is None or window.accel is None:
        raise IdentifyError("the log has no motor commands; log the motor outputs")
    rate = window.rate
    changes = np.any(np.diff(window.commands, axis=0) != 0.0, axis=1)
    fresh = max(float(changes[window.valid[1:]].mean()) * rate, 1.0)
    cutoff = float(min(SETTINGS.cutoff, 0.2 * rate, max(0.3 * fresh, 2.0)))
    step = max(int(rate / (8.0 * cutoff)), 1)
    count = len(window.time) // step * step

    def mean(x: Floats) -> Floats:
        return np.asarray(x[:count].reshape(-1, step, *x.shape[1:]).mean(axis=1))

    rates = low_pass(fill_gaps(window.gyro), rate, cutoff)
    angular_acceleration = np.gradient(rates, 1.0 / rate, axis=0)
    force = low_pass(fill_gaps(window.accel), rate, cutoff)
    edge = max(int(0.4 * rate / cutoff), 1)
    valid = np.convolve(~window.valid, np.ones(2 * edge + 1), mode="same") < 0.5
    valid[:edge] = valid[-edge:] = False
    voltage = None
    if window.voltage is not None:
        slow = mean(window.voltage) / np.mean(window.voltage[window.valid])
        voltage = slow if np.ptp(slow[valid[:count:step]]) > SETTINGS.smallest_sag else None
    commands = np.clip(np.nan_to_num(window.commands), 0.0, 1.5)
    return LowPassedCommands(
        rate / step,
        mean(window.time),
        mean(commands),
        voltage,
        mean(rates),
        mean(angular_acceleration),
        mean(force),
        np.asarray(valid[:count].reshape(-1, step).all(axis=1)),
        cutoff,
    )


def speeds_from_commands(signals: LowPassedCommands, k: float, tau: float, dead: float, sag: float) -> Floats:
    """(n, m) u of equation (1), low-passed as the motion is."""
    d = signals.commands
    y = k * d + (1.0 - k) * np.sqrt(d)
    if sag and signals.voltage is not None:
        y = y * signals.voltage[:, None] ** sag
    if dead > 0.0:
        y = shift(y, -dead, signals.rate)
    keep = np.exp(-1.0 / (signals.rate * tau))
    # The mean over a sample's interval stands at its middle: the lag over half of it is taken before and after.
    w = signal.lfilter([0.5 * (1.0 - keep), 0.5 * (1.0 - keep)], [1.0, -keep], y, axis=0, zi=_begin(y, keep))[
        0
    ]
    return low_pass(w**2, signals.rate, signals.cutoff)


def _begin(y: Floats, keep: float) -> Floats:
    """State of the lag that has been steady before."""
    return np.asarray(y[:1] * (1.0 - 0.5 * (1.0 - keep)))


Node = tuple[float, float, float, float]


@dataclass(frozen=True)
class CommandResponse:
    """What the commands make by a form.

    Attributes:
        squared_speeds: (n, m) u.
        climb: (n, 2) z' of rotors that pull by u, and z' that gravity takes, m/s.
    """

    squared_speeds: Floats
    climb: Floats


def command_responses(signals: LowPassedCommands) -> dict[Node, CommandResponse]:
    """Every form, computed once for all parts of a flight."""
    sags = (0.0, 1.0) if signals.voltage is not None else (0.0,)
    every = {
        node: speeds_from_commands(signals, *node)
        for node in product(SETTINGS.curves, SETTINGS.time_constants, SETTINGS.dead_times, sags)
    }
    return {node: CommandResponse(u, _climb(signals, u)) for node, u in every.items()}


def _climb(signals: LowPassedCommands, u: Floats) -> Floats:
    """Integrals with `SETTINGS.climb_leak` over each stretch that is good."""
    pull = np.stack([u.sum(axis=1), np.full(len(u), STANDARD_GRAVITY)], axis=1)
    speeds = np.zeros_like(pull)
    keep = np.exp(-SETTINGS.climb_leak / signals.rate)
    for first, last in runs_of_true(signals.valid):
        speeds[first:last] = signal.lfilter([1.0 / signals.rate], [1.0, -keep], pull[first:last], axis=0)
    return speeds


def fit_forms(
    signals: LowPassedCommands,
    responses: dict[Node, CommandResponse],
    valid: Bools | None = None,
    damped: bool = False,
) -> list[Form]:
    """Every form on the grid with its weight, best first; those without weight are left out.

    Args:
        signals: The signals.
        responses: What the commands make by every form.
        valid: (n,) where to fit; where the signals are good, if it is not given.
        damped: Whether forms with D count, too: they predict better, but D takes part of the lag.
    """
    chosen = signals.valid if valid is None else valid & signals.valid
    rates, force = signals.rates[chosen], signals.force[chosen, 2]
    angular_acceleration = signals.angular_acceleration[chosen]
    more = _more(rates)
    lever_rows = _lever_rows(signals)[chosen]
    own = {
        node: CommandResponse(each.squared_speeds[chosen], each.climb[chosen])
        for node, each in responses.items()
    }
    weights = [np.ones(len(force))] * 4
    fits: list[Form] = []
    for again in (False, True):
        fits = [
            fit
            for node, each in own.items()
            for fit in _fit_form(node, each, force, lever_rows, angular_acceleration, more, weights)
            if damped or not fit.damped
        ]
        plain = np.max([fit.r_squared for fit in fits if not fit.damped], axis=0)
        # Yaw is of another physics and does not choose the form.
        rows = [row for row in (0, 1, 2) if row == 0 or plain[row] > SETTINGS.smallest_r_squared]
        residual = np.array([np.sum(np.log(np.maximum(1.0 - fit.r_squared[rows], 1e-3))) for fit in fits])
        if not again:  # Outliers are those of the best form.
            best = fits[int(np.argmin(residual))]
            each = own[best.node]
            modelled = [predicted_acceleration(best, each.squared_speeds, more[k], k) for k in range(3)]
            weights = [_weights(angular_acceleration[:, k] - modelled[k]) for k in range(3)]
            weights.append(_weights(force - _predicted_force(best, each, lever_rows)))
    weight = np.exp(-0.5 * SETTINGS.independent_samples * (residual - residual.min()))
    weight /= weight.sum()
    order = [i for i in np.argsort(-weight) if weight[i] > 1e-3]
    total = sum(weight[i] for i in order)
    return [replace(fits[i], weight=float(weight[i] / total)) for i in order]


def _more(rates: Floats) -> list[Floats]:
    """For each row (n, 3): product of the rates, one, own rate."""
    ones = np.ones(len(rates))
    pairs = ((1, 2), (0, 2), (0, 1))
    return [
        np.stack([rates[:, a] * rates[:, b], ones, rates[:, k]], axis=1) for k, (a, b) in enumerate(pairs)
    ]


def predicted_acceleration(form: Form, u: Floats, more: Floats, axis: int) -> Floats:
    """(n,) angular acceleration about an axis by a form, rad/s2; gains are those of the forward regression."""
    forward = form.acceleration_per_command[axis] * np.sqrt(max(form.r_squared[1 + axis], 0.05))
    return np.asarray(u @ forward + more @ form.remainder[axis])


def predicted_force(form: Form, signals: LowPassedCommands, response: CommandResponse) -> Floats:
    """(n,) force along z by a form, m/s2."""
    return _predicted_force(form, response, _lever_rows(signals))


def _predicted_force(form: Form, response: CommandResponse, lever_rows: Floats) -> Floats:
    climb = form.drift[3] * (response.climb @ [form.gain, -1.0])
    return np.asarray(response.squared_speeds @ form.thrust_per_command + lever_rows @ form.drift[:3] - climb)


def _lever_rows(signals: LowPassedCommands) -> Floats:
    """(n, 3) X of equation (2) along z."""
    return np.asarray(lever_matrices(signals.rates, signals.angular_acceleration)[:, 2])


def motion_terms(signals: LowPassedCommands) -> list[Floats]:
    """For each row (n, 3) what stands beside the rotors in (2)."""
    return _more(signals.rates)


def _weights(residual: Floats) -> Floats:
    size = max(MAD_TO_SIGMA * float(np.median(np.abs(residual))), 1e-300)
    return huber_weights(residual, size, HUBER)


def _fit_form(
    node: Node,
    response: CommandResponse,
    force: Floats,
    lever_rows: Floats,
    angular_acceleration: Floats,
    more: list[Floats],
    weights: list[Floats],
) -> list[Form]:
    """The form without and with D."""
    u, w = response.squared_speeds, weights[3]
    total = u.sum(axis=1)
    gain = float(np.sqrt(np.sum(w * force**2) / np.sum(w * total**2)))
    m = u.shape[1]
    # Single rotors about the common gain: only as far as the log tells them apart.
    residual = force - gain * total
    G = np.concatenate([u, lever_rows, (response.climb @ [-gain, 1.0])[:, None]], axis=1)
    before = np.array([0.15 * gain] * m + [force_law.REACH] * 3 + [SETTINGS.inflow_sigma])
    prior = np.diag(float(np.average(residual**2, weights=w)) * SETTINGS.correlated_samples / before**2)
    apart = np.linalg.solve(G.T @ (G * w[:, None]) + prior, G.T @ (w * residual))
    thrust_per_command, drift = gain + apart[:m], apart[m:]
    variance = max(float(np.average((force - np.average(force, weights=w)) ** 2, weights=w)), 1e-12)
    lifted = 1.0 - float(np.average((residual - G @ apart) ** 2, weights=w)) / variance
    rows: list[list[tuple[Floats, float, Floats]]] = [[], []]
    for k in range(3):
        X = np.concatenate([u, more[k], angular_acceleration[:, [k]]], axis=1)
        M = X.T @ (X * weights[k][:, None])
        count, mean = float(np.sum(weights[k])), float(np.sum(weights[k] * angular_acceleration[:, k]))
        power = max(M[-1, -1] - mean**2 / count, 1e-300)
        for damped in (False, True):
            n = m + (3 if damped else 2)
            scale = np.sqrt(np.maximum(np.diagonal(M)[:n], 1e-300))
            A = M[:n, :n] / np.outer(scale, scale) + 1e-9 * np.eye(n)
            inverse = np.linalg.inv(A)
            theta = inverse @ (M[:n, -1] / scale) / scale
            rest = M[-1, -1] - 2.0 * theta @ M[:n, -1] + theta @ M[:n, :n] @ theta
            share = float(np.clip(1.0 - rest / power, 0.0, 1.0))
            noise = np.sqrt(SETTINGS.correlated_samples * max(rest, 0.0) / count * np.diagonal(inverse))
            rows[damped].append((np.append(theta, np.zeros(m + 3 - n)), share, (noise / scale)[:m]))
    fits = []
    for damped in (False, True):
        told = np.array([lifted, *(share for _, share, _ in rows[damped])])
        turns = np.array([theta[:m] / np.sqrt(max(share, 0.05)) for theta, share, _ in rows[damped]])
        rest_ = np.array([theta[m:] for theta, _, _ in rows[damped]])
        noise = np.array([sigma for _, _, sigma in rows[damped]])
        fits.append(Form(*node, damped, thrust_per_command, turns, noise, told, rest_, gain, drift))
    return fits
