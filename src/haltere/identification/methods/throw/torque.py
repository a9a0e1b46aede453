"""Torque rows of a recorded throw: what each rotor does to the angular acceleration, with the inertia's shape beside.

With squared speeds u = w^2, rotor accelerations w', body rate W and an unknown inertia I of trace 3, in the axes of the
log,

    W' = T u + B w' + c - I^-1 (W x I W) + g I^-1 (W x I B w)                                              (1)

B w' = reaction to the rotors' acceleration, and the last term the gyroscopic torque of their momentum, from the same
B (`haltere.estimation.throw.effectiveness`); g = 1 for a real vehicle, 0 for a simulator that leaves it out. Equation
(1) is linear but for the few numbers of I and g, which all three rows share: Gauss-Newton steps, with wide priors
(`SETTINGS.inertia_sigma`, `SETTINGS.gyroscopic_sigma`) for what a flight does not say.

What is left of a row is not white: air that moves slowly acts on a real vehicle for long, on a simulated one not at
all. Neighbouring samples, 10 ms apart (the low-pass leaves nothing between them), are therefore combined as
y_k - p y_(k-1), with p the correlation of what is left, found anew in each round: levels where p = 0, differences
where p = 1. Outliers (a rotor speed that drops to zero) are weighed down (Huber).
"""

from dataclasses import dataclass

import numpy as np

from haltere.flight.filters import low_pass
from haltere.foundation.constants import MAD_TO_SIGMA
from haltere.foundation.numbers import Floats
from haltere.identification.methods.throw.jackknife import stretch_covariance
from haltere.identification.methods.throw.signals import ThrowSettings, ThrowSignals
from haltere.identification.regression.regression import huber_weights

SETTINGS = ThrowSettings()
_STEP = 1e-4
_CLIP = 5.0


@dataclass(frozen=True)
class TorqueRows:
    """The answer: T and B (3, m), I (3, 3), g, rms (3,) of what is left in rad/s2, p (3,), and the cost to compare.

    `cov` (3, 2 m, 2 m) is that of T and B of each row, from stretches of the throw.
    """

    torque: Floats
    reaction: Floats
    shape: Floats
    gyroscopic: float
    residual: Floats
    memory: Floats
    cost: float
    cov: Floats


@dataclass(frozen=True)
class _Samples:
    """What equation (1) is made of, low-passed and thinned out."""

    linear: Floats
    """(N, 2 m + 1) regressors that the rows have in common."""
    angular_acceleration: Floats
    """(N, 3) W'."""
    products: Floats
    """(N, 3, 3) W W^T."""
    momenta: Floats
    """(N, 3, m) W w^T."""


def torque_rows(
    signals: ThrowSignals, cutoff: float, delay: float, rotated: bool, rounds: int = SETTINGS.torque_rounds
) -> TorqueRows:
    """Rows of equation (1) for rotor speeds that are `delay` s late.

    Args:
        signals: of the window.
        cutoff: of the low-pass, Hz.
        delay: of the rotor speeds against the gyro, s.
        rotated: whether the axes of the log are rotated against the principal ones: products of inertia may be large.
        rounds: of Gauss-Newton steps and of weights.
    """
    samples = _samples(signals, cutoff, delay)
    m = samples.momenta.shape[2]
    n = samples.linear.shape[1]
    middle = np.array([0.0] * 5 + [1.0])
    prior_sigma = np.array(
        [SETTINGS.inertia_sigma] * 2
        + [SETTINGS.inertia_sigma if rotated else SETTINGS.product_sigma] * 3
        + [SETTINGS.gyroscopic_sigma]
    )
    x = middle
    spin, memory, sizes = np.zeros((3, m)), np.zeros(3), np.ones(3)
    weight = np.ones_like(samples.angular_acceleration[1:])
    for _ in range(rounds):
        base = _coupling(samples, x, spin)
        slopes = np.stack(
            [(_coupling(samples, x + _STEP * e, spin) - base) / _STEP for e in np.eye(len(x))], -1
        )
        rows, right = _stacked(samples, base, slopes, memory, weight, sizes)
        theta, step = _solved(rows, right, (middle - x) / prior_sigma, prior_sigma)
        x = x + np.clip(step, -0.5, 0.5)
        spin = theta[:, m : 2 * m]
        residual = samples.angular_acceleration - _coupling(samples, x, spin) - samples.linear @ theta.T
        memory = np.array([neighbour_correlation(row) for row in residual.T])
        white = residual[1:] - memory * residual[:-1]
        sizes = np.maximum(MAD_TO_SIGMA * np.median(np.abs(white), axis=0), 1e-9)
        weight = huber_weights(white, sizes, SETTINGS.outlier, 1e-12)
    rms = np.sqrt(np.mean(white**2, axis=0))
    cost = robust_cost(white, sizes, weight)
    shape, gyroscopic = _tensor(x)
    return TorqueRows(
        theta[:, :m],
        theta[:, m : n - 1],
        shape,
        gyroscopic,
        rms,
        memory,
        cost,
        _covariance(rows, right, prior_sigma, m),
    )


def _covariance(rows: Floats, right: Floats, prior_sigma: Floats, m: int) -> Floats:
    """(3, 2 m, 2 m) of T and B by rows stacked one axis after the other."""
    count, k = len(rows) // 3, rows.shape[1]
    prior = np.zeros(k)
    prior[-len(prior_sigma) :] = prior_sigma**-2.0
    in_time = np.transpose(rows.reshape(3, count, k), (1, 0, 2))
    cov = stretch_covariance(in_time, right.reshape(3, count).T, prior)
    n = (k - len(prior_sigma)) // 3
    return np.stack([cov[n * i : n * i + 2 * m, n * i : n * i + 2 * m] for i in range(3)])


def _samples(signals: ThrowSignals, cutoff: float, delay: float) -> _Samples:
    rate, W = signals.rate, signals.gyro
    speeds = signals.delayed_speeds(delay)
    many = max(round(SETTINGS.spacing * rate), 1)
    inner = signals.inner(cutoff)
    kept = slice(inner.start, inner.stop, many)

    def low(values: Floats) -> Floats:
        return low_pass(values, rate, cutoff)

    def slope(values: Floats) -> Floats:
        return np.asarray(np.gradient(low(values), 1.0 / rate, axis=0)[kept])

    squares, rises = low(speeds**2)[kept], slope(speeds)
    linear = np.concatenate([squares, rises, np.ones((len(rises), 1))], axis=1)
    return _Samples(
        linear,
        slope(W),
        low(W[:, :, None] * W[:, None, :])[kept],
        low(W[:, :, None] * speeds[:, None, :])[kept],
    )


def _tensor(x: Floats) -> tuple[Floats, float]:
    """I of trace 3 and g from (6,): deviations of I_xx and I_yy from 1, I_xy, I_xz, I_yz, and g."""
    xx, yy, xy, xz, yz, gyroscopic = x
    tensor = np.array([[1.0 + xx, xy, xz], [xy, 1.0 + yy, yz], [xz, yz, 1.0 - xx - yy]])
    return tensor, float(gyroscopic)


def _coupling(samples: _Samples, x: Floats, spin: Floats) -> Floats:
    """(N, 3) the two terms of (1) with I, low-passed: W x (A W) sums the entries of A W W^T crosswise."""
    tensor, gyroscopic = _tensor(x)
    whole = -samples.products @ tensor + gyroscopic * samples.momenta @ (tensor @ spin).T
    crossed = np.stack(
        [whole[:, 1, 2] - whole[:, 2, 1], whole[:, 2, 0] - whole[:, 0, 2], whole[:, 0, 1] - whole[:, 1, 0]], 1
    )
    return np.asarray(np.linalg.solve(tensor, crossed.T).T)


def _stacked(
    samples: _Samples, base: Floats, slopes: Floats, memory: Floats, weight: Floats, sizes: Floats
) -> tuple[Floats, Floats]:
    """Whitened and weighted rows (3 (N-1), 3 n + k) of one Gauss-Newton step, and their right side."""
    n, k = samples.linear.shape[1], slopes.shape[2]
    rows, right = [], []
    for i in range(3):
        A, y, S = samples.linear, samples.angular_acceleration[:, i] - base[:, i], slopes[:, i]
        root = np.sqrt(weight[:, i]) / sizes[i]
        block = np.zeros((len(A) - 1, 3 * n + k))
        block[:, n * i : n * (i + 1)] = root[:, None] * (A[1:] - memory[i] * A[:-1])
        block[:, 3 * n :] = root[:, None] * (S[1:] - memory[i] * S[:-1])
        rows.append(block)
        right.append(root * (y[1:] - memory[i] * y[:-1]))
    return np.concatenate(rows), np.concatenate(right)


def _solved(rows: Floats, right: Floats, prior_offset: Floats, prior_sigma: Floats) -> tuple[Floats, Floats]:
    """(3, n) linear part and (k,) step of I and g; priors have `prior_sigma`, the step is `prior_offset` of it off."""
    k = len(prior_sigma)
    prior = np.zeros((k, rows.shape[1]))
    prior[:, -k:] = np.diag(1.0 / prior_sigma)
    A, b = np.concatenate([rows, prior]), np.concatenate([right, prior_offset])
    scale = np.maximum(np.sqrt(np.mean(A**2, axis=0)), 1e-12)
    solution = np.linalg.lstsq(A / scale, b, rcond=1e-9)[0] / scale
    return solution[:-k].reshape(3, -1), solution[-k:]


def robust_cost(white: Floats, sizes: Floats, weight: Floats) -> float:
    """Huber's cost of white residuals (N, c) with deviations (c,) and weights (N, c), to compare."""
    z = np.abs(white) / sizes
    huber = np.where(weight < 1.0, SETTINGS.outlier * (2.0 * z - SETTINGS.outlier), z**2)
    return float(np.sum(0.5 * huber.mean(axis=0) + np.log(sizes)))


def neighbour_correlation(residual: Floats) -> float:
    """Correlation of neighbours, between 0 and 1, outliers cut off."""
    size = _CLIP * float(np.median(np.abs(residual)))
    cut = np.clip(residual, -size, size)
    below = float(cut[:-1] @ cut[:-1])
    return float(np.clip(cut[1:] @ cut[:-1] / below, 0.0, 0.999)) if below > 0.0 else 0.0
