"""The laws of force and torque as regressions: the same low-pass on every signal, delays profiled, robust.

With squared rotor speeds u = w^2, rotor accelerations w', body rate W, IMU at r from the centre of mass,

    f = F u + X(W, W') r + c,       W' = T u + B w' + Q (W W) + H W + e                                     (1)

f = specific force; F, T, B (3, m) = effectiveness; Q = what the products of the rates do (one product for each row);
H = what the momentum of rotors that do not cancel does (pitch rate to roll and the other way);
c = bias across, none along the thrust because an intercept there takes the place of mass; e slow torques of the air.
Torque rows are whitened by the difference y_k - a y_(k-s) with a the correlation of what is left at lag s: with a near
1 that is a regression of differences.

Errors in variables: with instruments Z (the same signals, of rotor speeds as the commands make them) and P the
projection on them,

    theta = (H'X)^-1 H'y,       H = (1 - a/n) P X + (a/n) X                                                  (2)

has no attenuation, and where instruments say next to nothing it goes back to least squares instead of anywhere: the
estimator of [Fuller1977] for n independent samples. Without commands H = X.

Outliers are weighed down (Huber), deviations come from leaving out one block of time after the other (jackknife), which
needs no model of correlation.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from haltere.flight.fault import Values
from haltere.identification.excerpt import Excerpt
from haltere.identification.smoothing import filled, lagged, late, least, smoothed
from haltere.identification.tumble import place_matrix

BLOCKS = 10
HUBER = 2.0
ROUNDS = 5
LAG = 0.01
"""s, of the whitening difference."""
ALIKE = 12.0
"""Neighbouring samples that count as one."""
FULLER = 4.0
"""The number a of equation (2): least mean square error for few and weak instruments."""
UPRIGHT = 0.1
"""rad, how far rotors lean if nothing else is known."""
REACH = 0.05
"""m, how far from the centre of mass an IMU may be before anything is known."""
SPREAD = 1.15
"""Of ten blocks: Student's t against the normal distribution at 95 %."""


@dataclass(frozen=True)
class Regression:
    """One row: y = X theta.

    Attributes:
        value: (k,) theta.
        cov: (k, k) from the blocks.
        explained: Share of the variance of y that X theta explains, weighted as fitted.
        rms: Of what is left, as fitted (differences for torque rows).
    """

    value: Values
    cov: Values
    explained: float
    rms: float

    @property
    def sigma(self) -> Values:
        """(k,) deviations."""
        return np.sqrt(np.maximum(np.diagonal(self.cov), 0.0))


def regress(
    X: Values, y: Values, Z: Values | None = None, blocks: int = BLOCKS, prior: Values | None = None
) -> Regression:
    """Fit y (n,) = X (n, k) theta by equation (2), robustly; blocks are of equal numbers of samples.

    `prior` (k,) are deviations about zero that the numbers have before, infinite for none; of neighbouring samples
    `ALIKE` count as one against them.
    """
    scale = np.maximum(np.sqrt(np.mean(X**2, axis=0)), 1e-300)
    A = X / scale
    G = A if Z is None else Z / np.maximum(np.sqrt(np.mean(Z**2, axis=0)), 1e-300)
    k = A.shape[1]
    weight = np.ones(len(y))
    parts = np.array_split(np.arange(len(y)), min(blocks, max(len(y) // (2 * k), 2)))
    ridge = 1e-9 * len(y) * np.eye(k)
    theta, size = np.zeros(k), 0.0
    for _ in range(ROUNDS):
        W = _instruments(A, G, weight) if Z is not None else A * weight[:, None]
        if prior is not None:
            ridge = 1e-9 * len(y) * np.eye(k) + np.diag(ALIKE * (size / (prior * scale)) ** 2)
        theta = np.linalg.lstsq(W.T @ A + ridge, W.T @ y, rcond=None)[0]
        left = y - A @ theta
        size = max(1.4826 * float(np.median(np.abs(left - np.median(left)))), 1e-300)
        weight = np.minimum(1.0, HUBER * size / np.maximum(np.abs(left), 1e-300))
    W = _instruments(A, G, weight) if Z is not None else A * weight[:, None]
    M = np.stack([W[p].T @ A[p] for p in parts])
    s = np.stack([W[p].T @ y[p] for p in parts])
    total, right = M.sum(axis=0) + ridge, s.sum(axis=0)
    without = np.stack(
        [np.linalg.lstsq(total - m, right - v, rcond=None)[0] for m, v in zip(M, s, strict=True)]
    )
    apart = without - without.mean(axis=0)
    cov = (len(parts) - 1) / len(parts) * apart.T @ apart * SPREAD**2
    if Z is not None:
        H = _instruments(A, G, weight, FULLER / 4.0)
        shift = theta - np.linalg.lstsq(H.T @ A + ridge, H.T @ y, rcond=None)[0]
        cov = cov + np.outer(shift, shift)
    if (
        prior is not None
    ):  # what is held back towards zero is as far off as it may be before anything is known
        held = np.linalg.pinv(total) @ (ridge * np.where(np.isfinite(prior), prior * scale, 0.0))
        cov = cov + held @ held.T
    left = y - A @ theta
    power = float(np.sum(weight * (y - np.average(y, weights=weight)) ** 2))
    explained = 1.0 - float(np.sum(weight * left**2)) / power if power > 0.0 else 0.0
    return Regression(
        theta / scale, cov / np.outer(scale, scale), explained, float(np.sqrt(np.mean(left**2)))
    )


def _instruments(A: Values, G: Values, weight: Values, fuller: float = FULLER) -> Values:
    """(n, k) weighted H of equation (2) for regressors and instruments of size 1."""
    W = G * weight[:, None]
    share = min(fuller * ALIKE / len(A), 1.0)
    projected = G @ np.linalg.lstsq(W.T @ G + 1e-9 * len(A) * np.eye(G.shape[1]), W.T @ A, rcond=None)[0]
    return np.asarray(((1.0 - share) * projected + share * A) * weight[:, None])


@dataclass(frozen=True)
class Signals:
    """Low-passed signals at a lower rate, all of the same filter.

    Attributes:
        rate: Hz.
        time: (n,) s.
        rates: (n, 3) rad/s.
        turn: (n, 3) rad/s2.
        force: (n, 3) m/s2.
        squares: (n, m) of the rotor speeds.
        rises: (n, m) rad/s2 of the rotors.
        made: The same two as the commands make them, (n, m) each, or None.
        levers: (n, 3, 3) X of equation (1).
        good: (n,).
    """

    rate: float
    time: Values
    rates: Values
    turn: Values
    force: Values
    squares: Values
    rises: Values
    made: tuple[Values, Values] | None
    levers: Values
    good: NDArray[np.bool_]


def signals(
    part: Excerpt, speeds: Values, made: Values | None, cutoff: float, delay: float, lag: float
) -> Signals:
    """The signals of (1).

    Args:
        part: The excerpt.
        speeds: (N, m) rad/s, filled where missing.
        made: (N, m) rad/s, as the commands make them, or None.
        cutoff: Hz.
        delay: By how much the speeds come late, s.
        lag: Time constant of a PT2 that the accelerometer has passed, s.
    """
    rate = part.rate
    step = max(int(rate / (6.0 * cutoff)), 1)

    def rotor(values: Values) -> tuple[Values, Values]:
        moved = late(values, delay, rate)
        rise = np.gradient(smoothed(moved, rate, cutoff), 1.0 / rate, axis=0)
        return smoothed(moved**2, rate, cutoff), rise

    gyro, accel = filled(part.gyro), filled(part.accel if part.accel is not None else part.gyro)
    rates = smoothed(gyro, rate, cutoff)
    turn = np.gradient(rates, 1.0 / rate, axis=0)
    squares, rises = rotor(speeds)
    levers = place_matrix(rates, turn)
    edge = max(int(0.4 * rate / cutoff), 1)
    bad = np.convolve(~part.good, np.ones(2 * edge + 1), mode="same") > 0.5
    good = ~bad
    good[:edge] = good[-edge:] = False
    pick = slice(None, None, step)
    if lag > 0.0:
        squares_force, levers = lagged(squares, lag, rate), lagged(levers, lag, rate)
    else:
        squares_force = squares
    other = rotor(made) if made is not None else None
    found = Signals(
        rate / step,
        part.time[pick],
        rates[pick],
        turn[pick],
        smoothed(accel, rate, cutoff)[pick],
        squares[pick],
        rises[pick],
        None if other is None else (other[0][pick], other[1][pick]),
        levers[pick],
        good[pick],
    )
    if lag > 0.0:
        shifted = None if other is None else (lagged(other[0], lag, rate)[pick], found.made[1])  # type: ignore[index]
        return replace(found, squares=squares_force[pick], made=shifted)
    return found


def whitened(
    X: Values, y: Values, Z: Values | None, good: NDArray[np.bool_], step: int, share: float
) -> tuple[Values, Values, Values | None]:
    """Differences over `step` samples with the share of the earlier one, where both are good."""
    both = good[step:] & good[:-step]

    def apart(x: Values) -> Values:
        return np.asarray((x[step:] - share * x[:-step])[both])

    return apart(X), apart(y), None if Z is None else apart(Z)


def torque_row(found: Signals, axis: int, dots: bool = True, share: float | None = None) -> Regression:
    """Row `axis` of the torque law: values T (m), B (m) if `dots`, H for roll and pitch, then Q and e."""
    more = motion_terms(found.rates, axis)

    def matrix(squares: Values, rises: Values) -> Values:
        return np.concatenate([squares, rises, more] if dots else [squares, more], axis=1)

    X = matrix(found.squares, found.rises)
    Z = None if found.made is None else matrix(*found.made)
    return white_regress(found, X, found.turn[:, axis], Z, share)


def motion_terms(rates: Values, axis: int) -> Values:
    """(n, 2 or 3) what multiplies H, Q and e in row `axis`, of rates (n, 3)."""
    i, j = ((1, 2), (0, 2), (0, 1))[axis]
    across = [rates[:, 1 - axis]] if axis < 2 else []
    return np.stack([*across, rates[:, i] * rates[:, j], np.ones(len(rates))], axis=1)


def white_regress(
    found: Signals, X: Values, y: Values, Z: Values | None, share: float | None = None
) -> Regression:
    """Regress y (n,) on X (n, k) with differences over `LAG`, of the share that whitens what is left."""
    step = max(round(LAG * found.rate), 1)
    if share is None:
        plain = regress(X[found.good], y[found.good], None if Z is None else Z[found.good])
        left = np.where(found.good, y - X @ plain.value, 0.0)
        both = found.good[step:] & found.good[:-step]
        power = float(np.sum(left[found.good] ** 2)) / max(int(found.good.sum()), 1)
        product = float(np.sum((left[step:] * left[:-step])[both])) / max(int(both.sum()), 1)
        share = float(np.clip(product / power, 0.0, 0.99)) if power > 0.0 else 0.0
    return regress(*whitened(X, y, Z, found.good, step, share))


def force_rows(
    found: Signals, guess: Values | None = None, reach: float = REACH
) -> tuple[list[Regression], Values, Values]:
    """The three rows of the force law, and the place r (3,) with its deviation (3,), m.

    `guess` (3,) is where the IMU is before anything is known, and `reach` how far from there it may be.
    """
    begin = np.zeros(3) if guess is None else guess
    fit = place(replace(found, force=found.force - found.levers @ begin), reach)
    r, sigma = begin + fit.value[-3:], fit.sigma[-3:]
    force = found.force - found.levers @ r
    rows = []
    for axis in range(3):
        X = found.squares if axis == 2 else np.concatenate([found.squares, np.ones((len(force), 1))], axis=1)
        made = None if found.made is None else found.made[0]
        Z = None if made is None else np.concatenate([made, X[:, made.shape[1] :]], axis=1)
        if axis == 2:
            rows.append(regress(X[found.good], force[found.good, 2], None if Z is None else Z[found.good]))
        else:  # Across the thrust the air pushes slowly and strongly: what changes fast is of the rotors.
            rows.append(white_regress(found, X, force[:, axis], Z))
    return rows, r, sigma


def place(found: Signals, reach: float = REACH) -> Regression:
    """The place of the IMU with the force law's other terms beside it: the last three values are r, m.

    What rotors push across and the force of r at the torque that they make look alike. Rotors are upright to about
    `UPRIGHT` unless the rest of the motion says otherwise. Differences, because slow forces of the air are no place.
    Angular accelerations are noisy: those that the rotors explain are the instruments of equation (2).
    """
    n, m = found.squares.shape
    step = max(round(LAG * found.rate), 1)
    rows = np.zeros((n, 3, 3 * m + 3))
    for i in range(3):
        rows[:, i, m * i : m * (i + 1)] = found.squares
    rows[:, :, -3:] = found.levers
    clean = rows.copy()
    clean[:, :, -3:] = place_matrix(found.rates, _explained_turn(found))
    both = found.good[step:] & found.good[:-step]
    X, Z, y = ((x[step:] - x[:-step])[both] for x in (rows, clean, found.force))
    lift = float(np.mean(found.force[found.good, 2]) / np.mean(np.sum(found.squares[found.good], axis=1)))
    prior = np.full(3 * m + 3, np.inf)
    prior[: 2 * m] = UPRIGHT * abs(lift)
    prior[-3:] = reach
    return regress(X.reshape(-1, 3 * m + 3), y.reshape(-1), Z.reshape(-1, 3 * m + 3), prior=prior)


def _explained_turn(found: Signals) -> Values:
    """(n, 3) angular acceleration as far as rotors and products of the rates explain it, rad/s2."""
    w = found.rates
    swirl = np.stack([w[:, 1] * w[:, 2], w[:, 0] * w[:, 2], w[:, 0] * w[:, 1], np.ones(len(w))], axis=1)
    D = np.concatenate([found.squares, found.rises, swirl], axis=1)
    D = D / np.maximum(np.sqrt(np.mean(D**2, axis=0)), 1e-300)
    return np.asarray(D @ np.linalg.lstsq(D[found.good], found.turn[found.good], rcond=None)[0])


def pull(found: Signals, weights: Values) -> tuple[float, float, float]:
    """How much force along z there is for the squares weighted by `weights` (m,), through the origin.

    Returns:
        The gain between forward and backward regression (their geometric mean), m/s2 for each unit of the weighted sum;
        its relative deviation from blocks and from the difference of the two; and the rms of what is left over the mean
        force.
    """
    x, y = found.squares[found.good] @ weights, found.force[found.good, 2]

    def gain(a: Values, b: Values) -> float:
        return float(np.sqrt(np.sum(b * b) / np.sum(a * a)))

    parts = np.array_split(np.arange(len(y)), BLOCKS)
    value = gain(x, y)
    apart = np.array([gain(np.delete(x, p), np.delete(y, p)) for p in parts])
    scatter = SPREAD * np.sqrt((BLOCKS - 1) / BLOCKS * np.sum((apart - apart.mean()) ** 2)) / value
    forward, backward = float(x @ y / (x @ x)), float(y @ y / (x @ y))
    misfit = float(np.sqrt(np.mean((y - value * x) ** 2)) / np.mean(y))
    return value, float(np.hypot(scatter, abs(np.log(backward / forward)))), misfit


def best_delay(
    part: Excerpt, speeds: Values, cutoff: float, delays: Values, lag: float = 0.0, leaning: bool = False
) -> tuple[float, float]:
    """The delay of the rotor speeds against gyro and accelerometer that leaves least, and its deviation, s.

    Rotors that lean turn the vehicle about roll and pitch as they speed up, which looks like speeds that come early:
    if they are `leaning`, the rows have that beside.
    """
    left = []
    base = signals(part, speeds, None, cutoff, 0.0, lag)
    filtered = smoothed(speeds**2, part.rate, cutoff)
    step_ = max(round(part.rate / base.rate), 1)
    for delay in delays:
        found = replace(base, squares=late(filtered, float(delay), part.rate)[::step_])
        rows = [torque_row(found, axis, dots=leaning, share=0.9) for axis in (0, 1)]
        rows.append(white_regress(found, found.squares, found.force[:, 2], None, 0.9))
        left.append([np.log(1.0 - min(max(row.explained, 0.0), 0.9999)) for row in rows])
    costs = np.array(left)
    total = costs.sum(axis=1)
    step = float(delays[1] - delays[0])
    if not 0 < int(np.argmin(total)) < len(total) - 1:
        return float(delays[int(np.argmin(total))]), 2.0 * step
    independent = max(part.flown * cutoff, 4.0)

    def spread(bend: float) -> float:
        return float(step * np.sqrt(2.0 / (max(bend, 1e-12) * independent)))

    delay, bend = least(delays, total)
    # Rotors that answer their own acceleration shift the torques in time, a filter of the accelerometer the force.
    turn, force = (least(delays, cost) for cost in (costs[:, :2].sum(axis=1), costs[:, 2]))
    apart = max(abs(turn[0] - force[0]) - np.hypot(spread(turn[1]), spread(force[1])), 0.0) / np.sqrt(3.0)
    return delay, float(np.sqrt(spread(bend) ** 2 + 3e-4**2 + apart**2))
