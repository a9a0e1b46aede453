"""Free rotation with a spinning rotor, simulated: what a gyro must read, and what the gyro says of the inertia.

With inertia I, momentum h of rotors relative to the body and whole momentum m = I w + h, in body axes,

    m' = m x w + k (D(t) d),    w = I^-1 (m - h(t + T))                                                     (1)
    gyro = (1 + E + [e]x) w + b + noise                                                                     (2)

d = what the air does, as angular acceleration (k = mean moment): torques of the body with Legendre polynomials of order
0..2 over the fall, those of a wind (world, order 0..1) at a centre of pressure, and damping along each axis; E =
errors of scale, e = misalignment, b = bias of the gyro; T = time by which h is reported late; the size of h has an
error, its axis a tilt. All of these are unknown but bounded (`InertiaBudget`): they are estimated together with I by
Gauss-Newton steps under Gaussian priors of those sizes. What the data say of them is used, and what they do not say
widens the covariance

    cov = (J^T W J / (s^2 n) + diag(sigma^-2))^-1                                                          (3)

s = deviation of what is left; n = how many neighbouring samples count as one, by its correlation; W = Huber's weights,
less where a rotor is kicked and more is left there (telemetry is late by turns).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.polynomial.legendre import legvander
from scipy.spatial.transform import Rotation

from haltere.airframe.fields import tensor as full_tensor
from haltere.flight import Flight
from haltere.flight.filters import low_pass
from haltere.flight.resampling import interpolate_columns
from haltere.flight.rotations import cross_matrices
from haltere.foundation.constants import MAD_TO_SIGMA
from haltere.foundation.numbers import Bools, Floats
from haltere.identification.regression.regression import huber_weights
from haltere.identification.tumble.tumble import ImuSamples, TumbleError, correlated_samples

SMOOTH = 40.0
"""Hz of the low-pass on gyro and momentum: reports of rotors are held and noisy."""
MANY = 5.0
"""Samples kept per period of it."""
QUIETEST = 2e-4
"""rad/s: no gyro is better than its resolution."""
ORDER = 3
"""Polynomials of the air over one fall."""
STEADY = 2
"""Polynomials of the wind that a body feels with a centre of pressure of its own."""
OUTLIER = 3.0
"""Deviations from which on a residual has less weight."""
COAST = 0.03
"""s before a motor seems to stand, from which its time constant is taken."""
FASTEST_STOP, SLOWEST_STOP = 0.005, 0.3
"""s, bounds of that."""
RELEASE = 0.02
"""s at both ends of a free fall that are left out: fingers touch a body without much force."""
SHORTEST_ROTATION = 0.08
"""s that must be left."""
ROUNDS = 30
HALVED = 5
"""Times that a step is halved which makes the fit worse."""
_NUDGE = 1e-6
_FLAT = 10.0
"""Prior deviation of what the data alone tell: of the trace, and rad/s."""
_SETTLED, _CONVERGED = 1.0, 0.01
"""Of the deviations: smaller steps let weights be found; end the search."""


@dataclass(frozen=True)
class InertiaBudget:
    """Systematic errors of a thrown body that nobody calibrated for this, one sigma each."""

    bias: float = 0.02
    """Of the gyro, rad/s."""
    scale: float = 0.005
    """Of each axis of the gyro, relative."""
    misalignment: float = np.deg2rad(0.6)
    """Of the gyro's axes, rad."""
    usual_delay: float = 0.005
    """Usual delay of the report of the rotor's speed against the gyro, s."""
    clock: float = 0.008
    """Of that delay, s: latency, offset of clocks, low-passes."""
    rotor: float = 0.01
    """Of the rotor's inertia, relative."""
    tilt: float = np.deg2rad(0.5)
    """Of the rotor's axis, rad."""
    air: float = 1.5
    """Angular acceleration by the air, rad/s2."""


ROUGH = InertiaBudget(0.03, 0.01, np.deg2rad(1.2), 0.01, 0.012, 0.015, np.deg2rad(1.0), 3.0)
"""Of a log whose stamps are irregular: hardware of which less is known."""


@dataclass(frozen=True)
class FreeRotation:
    """One free fall.

    Attributes:
        rate: samples per second, Hz.
        gyro: (N, 3) rad/s, body axes.
        reports: (K,) s since the first sample, when the rotors' speeds were reported; also before and after.
        momentum: (K, 3) of rotors relative to the body, N m s.
        irregular: whether the stamps of the log are.
        raw: number, rate and cutoff of the samples before a low-pass, and which were kept.
    """

    rate: float
    gyro: Floats
    reports: Floats
    momentum: Floats
    irregular: bool = False
    raw: tuple[int, float, float, slice] | None = None

    @classmethod
    def sampled(cls, rate: float, gyro: Floats, momentum: Floats) -> Self:
        """Gyro and momentum (N, 3) on one clock."""
        return cls(rate, gyro, np.arange(len(gyro)) / rate, momentum)

    @property
    def moving(self) -> bool:
        """Whether a rotor changes its momentum, so that the scale of the inertia shows."""
        return float(np.ptp(self.momentum_at(0.0), axis=0).max()) > 0.0

    @property
    def kicked(self) -> bool:
        """Whether a rotor begins to change its speed in the fall: it hardly does, and does hard later."""
        h = self.smoothed().momentum_at(0.0)
        rise = np.linalg.norm(np.gradient(h, axis=0), axis=1)
        hard = np.flatnonzero(rise > 0.6 * rise.max())
        return bool((rise[: hard[-1]] < 0.3 * rise.max()).any())

    @property
    def rotation(self) -> Floats:
        """(N, 3, 3) attitude against the first sample, by integration."""
        steps = Rotation.from_rotvec(0.5 * (self.gyro[1:] + self.gyro[:-1]) / self.rate).as_matrix()
        turn = np.empty((len(self.gyro), 3, 3))
        turn[0] = np.eye(3)
        for i, step in enumerate(steps):
            turn[i + 1] = turn[i] @ step
        return turn

    def smoothed(self) -> Self:
        """The same behind a zero-phase low-pass, without its ends and samples that it makes needless."""
        wide = min(SMOOTH, 0.4 * self.rate)
        few = max(int(self.rate / (MANY * wide)), 1)
        edge = round(0.3 * self.rate / wide)
        kept = slice(edge, len(self.gyro) - edge, few)
        gyro = low_pass(self.gyro, self.rate, wide, pad=_pad(self.rate, wide), corrected=False)[kept]
        return replace(self, rate=self.rate / few, gyro=gyro, raw=(len(self.gyro), self.rate, wide, kept))

    def momentum_at(self, delay: float) -> Floats:
        """(N, 3) momentum of rotors whose reports are `delay` s late, behind the low-pass that the gyro has passed."""
        count, rate, wide, kept = self.raw or (len(self.gyro), self.rate, 0.0, slice(None))
        h = interpolate_columns(np.arange(count) / rate + delay, self.reports, self.momentum)
        if wide and np.ptp(h) > 0.0:
            h = low_pass(h, rate, wide, pad=_pad(rate, wide), corrected=False)
        return h[kept]


def _pad(rate: float, cutoff: float) -> int:
    return int(2 * rate / cutoff)


def find_rotations(flight: Flight, momentum: Floats | None = None, imu: str = "imu") -> list[FreeRotation]:
    """The free falls of a log, without the moments in which the fingers let go.

    Args:
        flight: with channels `<imu>.accel` (m/s2), `<imu>.gyro` (rad/s), and `rotors.speed` (rad/s) if rotors spin.
        momentum: (m, 3) of each rotor per speed, kg m2: its inertia times its axis, body axes; None if they stand.
        imu: name of the sensor.
    """
    samples = ImuSamples.of(flight, imu)
    reports: Floats = np.zeros(1)
    spun = np.zeros((1, 3))
    if momentum is not None:
        speed = flight["rotors.speed"]
        values = speed.values.reshape(len(speed), -1)
        kept = np.isfinite(values).all(axis=1) & _updated(values)
        values = coasting_speeds(np.asarray((speed.time - samples.start) * 1e-9, np.float64), values)
        reports = np.asarray((speed.time[kept] - samples.start) * 1e-9, np.float64)
        spun = np.asarray(values[kept] @ np.asarray(momentum, np.float64).reshape(-1, 3), np.float64)
    found = []
    for fall in samples.free_falls():
        first, last = (
            x + round(side * RELEASE * samples.rate) for x, side in ((fall.first, 1), (fall.last, -1))
        )
        if last - first >= SHORTEST_ROTATION * samples.rate:
            here = reports - first / samples.rate
            found.append(FreeRotation(samples.rate, samples.gyro[first:last], here, spun, samples.irregular))
    return found


def coasting_speeds(time: Floats, speeds: Floats) -> Floats:
    """Speeds (N, m) with the end of each spin-down, where a motor without a sensor reports that it stands.

    They go on towards zero as they did before, with the time constant that their last reports show.
    """
    found = speeds.copy()
    for column in found.T:
        reported = np.where(np.isfinite(column), column, 0.0)
        for stop in np.flatnonzero((reported[1:] == 0.0) & (reported[:-1] != 0.0)) + 1:
            last = time[stop - 1]
            seen = slice(int(np.searchsorted(time, last - COAST)), stop)
            moving = reported[seen] != 0.0
            decay = 0.0
            if moving.sum() > 2 and np.ptp(reported[seen][moving]) > 0.0:
                decay = -float(
                    np.polyfit(time[seen][moving] - last, np.log(np.abs(reported[seen][moving])), 1)[0]
                )
            again = np.flatnonzero(reported[stop:])
            until = stop + int(again[0]) if len(again) else len(column)
            gone = (time[stop:until] - last) * np.clip(decay, 1.0 / SLOWEST_STOP, 1.0 / FASTEST_STOP)
            column[stop:until] = reported[stop - 1] * np.exp(-gone)
    return found


def _updated(values: Floats) -> Bools:
    """(N,) which reports (N, m) are new: telemetry that is slower than the log is held in between."""
    new = np.concatenate([[True], (np.diff(values, axis=0) != 0.0).any(axis=1)])
    where = np.flatnonzero(new)
    period = float(np.quantile(np.diff(where), 0.25)) if len(where) > 4 else 1.0
    last = 0
    for i in range(len(new)):
        if new[i] or i - last > 1.5 * period:
            new[i], last = True, i
    return np.asarray(new)


@dataclass(frozen=True)
class RotationFit:
    """What falls say together.

    Attributes:
        six: (6,) xx yy zz xy xz yz of the inertia.
        cov: (6, 6) its covariance.
        delay: of the rotor's report, s.
        residual: rms of the gyro, rad/s.
    """

    six: Floats
    cov: Floats
    delay: float
    residual: float


_SHARED = 20
"""Numbers that all falls share: inertia 6, scale 3, misalignment 3, bias 3, delay, size and tilt 3 of the rotor."""
_TORQUES = 3 * ORDER + 9 * STEADY
_AIR = _TORQUES + 3
_OWN = 3 + _AIR
"""Numbers of each fall: rate at its beginning, and the air."""


def fit_rotation(
    falls: Sequence[FreeRotation], start: Floats, delay: float, budget: InertiaBudget, absolute: bool
) -> RotationFit:
    """The inertia by equation (3) from one or more falls.

    Args:
        falls: as logged.
        start: (3, 3) the inertia to begin with.
        delay: of the rotor's report to begin with, s.
        budget: of systematic errors.
        absolute: whether a rotor shows the scale; the trace of `start` is kept otherwise.
    """
    thin = [fall.smoothed() for fall in falls]
    scale = float(np.trace(start))
    basis = [_air(fall) for fall in thin]
    size = _SHARED + _OWN * len(thin)
    x = np.zeros(size)
    x[:6] = start[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]] / scale
    x[15] = delay
    for i, fall in enumerate(thin):
        x[_SHARED + _OWN * i :][:3] = fall.gyro[: max(round(0.01 * fall.rate), 1)].mean(axis=0)
    middle = np.where(np.arange(size) < 6, x, 0.0)
    middle[15] = budget.usual_delay
    for i in range(len(thin)):
        middle[_SHARED + _OWN * i :][:3] = x[_SHARED + _OWN * i :][:3]
    shown = np.eye(6)
    if not absolute:  # the trace is kept
        shown[:3, :3] -= 1.0 / 3.0
    fewest = MANY / 2.2  # the low-pass makes neighbours alike
    many, weights = np.full(len(thin), fewest), [np.ones_like(f.gyro) for f in thin]
    level, weighted, halved = 0.0, False, 0
    good = (x, [np.full_like(fall.gyro, 1e9) for fall in thin])
    for _ in range(ROUNDS):
        sigma = _sigmas(budget, thin)
        parts = [
            _linear(fall, b, _own(x, i), scale) for i, (fall, b) in enumerate(zip(thin, basis, strict=True))
        ]
        left = [fall.gyro - base for fall, (base, _) in zip(thin, parts, strict=True)]
        level = _level(left) if level == 0.0 else level
        costs = [
            sum(float(np.sum(w * y**2)) / (level**2 * n) for w, y, n in zip(weights, ys, many, strict=True))
            + float(np.sum(((at - middle) / sigma) ** 2))
            for ys, at in ((left, x), (good[1], good[0]))
        ]
        if not costs[0] <= costs[1] and halved < HALVED:
            x, halved = 0.5 * (x + good[0]), halved + 1
            continue
        if not np.isfinite(costs[0]):
            raise TumbleError("no free rotation is near what the gyro reads; cut out hand, catch and ground")
        good, halved = (x, left), 0
        information, right = np.diag(sigma**-2.0), (middle - x) / sigma**2
        for i, ((_, J), y, weight, n) in enumerate(zip(parts, left, weights, many, strict=True)):
            which = np.r_[:_SHARED, _SHARED + _OWN * i : _SHARED + _OWN * (i + 1)]
            J[:, :, :6] = J[:, :, :6] @ shown
            flat, root = J.reshape(-1, _SHARED + _OWN), np.sqrt(weight.reshape(-1) / n) / level
            A = flat * root[:, None]
            information[np.ix_(which, which)] += A.T @ A
            right[which] += A.T @ (y.reshape(-1) * root)
        information[:6, :6] += (np.eye(6) - shown) * float(np.trace(information[:6, :6]))
        units = np.sqrt(np.diagonal(information))
        cov = np.linalg.inv(information / np.outer(units, units)) / np.outer(units, units)
        step = cov @ right
        x = x + step * min(1.0, 0.3 / max(float(np.abs(step[:6]).max()), 1e-12))
        deviation = np.sqrt(np.maximum(np.diagonal(cov), 1e-300))
        left = [y - np.einsum("nik,k->ni", J, step[np.r_[:_SHARED, _SHARED + _OWN * i : _SHARED + _OWN * (i + 1)]])
                for i, ((_, J), y) in enumerate(zip(parts, left, strict=True))]  # fmt: skip
        settled = float(np.abs(step / deviation).max()) < (_CONVERGED if weighted else _SETTLED)
        if settled and weighted:
            break
        weighted = weighted or settled
        if not weighted:  # weights found before would hold a wrong delay where it is
            level = _level(left)
            continue
        kicks = [_kicks(fall, x, scale) for fall in thin]
        jitter = _jitter(left, kicks)
        spread = [np.sqrt(1.0 + (jitter * a) ** 2) for a in kicks]
        level = _level([y / s for y, s in zip(left, spread, strict=True)])
        weights = [
            huber_weights(y / s, level, OUTLIER, 1e-12) / s**2 for y, s in zip(left, spread, strict=True)
        ]
        many = np.array(
            [max(correlated_samples(y * np.sqrt(w)), fewest) for y, w in zip(left, weights, strict=True)]
        )
    rms = float(np.sqrt(np.mean(np.concatenate(left) ** 2)))
    return RotationFit(x[:6] * scale, shown @ cov[:6, :6] @ shown * scale**2, float(x[15]), rms)


def _own(x: Floats, index: int) -> Floats:
    """The numbers of one fall: those that are shared, and its own."""
    first = _SHARED + _OWN * index
    return np.concatenate([x[:_SHARED], x[first : first + _OWN]])


def _level(residuals: Sequence[Floats]) -> float:
    """Deviation of a residual, outliers aside."""
    flat = np.concatenate(residuals).reshape(-1)
    cut = np.clip(flat, -OUTLIER * (size := MAD_TO_SIGMA * float(np.median(np.abs(flat)))), OUTLIER * size)
    free = max(len(flat) - 12, len(flat) // 2)
    return max(float(np.sqrt(np.sum(cut**2) / free)), QUIETEST)


def _kicks(fall: FreeRotation, x: Floats, scale: float) -> Floats:
    """(N, 3) by what a gyro reads otherwise for each second by which the rotor's report is late, rad/s2."""
    rise = np.gradient(fall.momentum_at(float(x[15])), 1.0 / fall.rate, axis=0)
    return np.asarray(np.linalg.solve(full_tensor(x[:6]) * scale, rise.T).T)


def _jitter(residuals: Sequence[Floats], kicks: Sequence[Floats]) -> float:
    """How far the report is late by turns, over the deviation of the gyro: where a rotor is kicked, more is left."""
    y, a = np.concatenate(residuals).reshape(-1), np.concatenate(kicks).reshape(-1)
    power = float(np.sum(a**4))
    if power == 0.0:
        return 0.0
    quiet = _level([y[np.abs(a) <= np.median(np.abs(a))]])
    return float(np.sqrt(max(float(np.sum((y**2 - quiet**2) * a**2)) / power, 0.0))) / quiet


def _spin(fall: FreeRotation) -> float:
    return max(float(np.sqrt(np.mean(fall.gyro**2))), 0.1)


def _sigmas(budget: InertiaBudget, falls: Sequence[FreeRotation]) -> Floats:
    """Prior deviations of all numbers."""
    shared = [_FLAT] * 6 + [budget.scale] * 3 + [budget.misalignment] * 3 + [budget.bias] * 3
    shared += [budget.clock, budget.rotor] + [budget.tilt] * 3
    air = budget.air / float(np.sqrt(_AIR))
    own = [[_FLAT] * 3 + [air] * _TORQUES + [air / _spin(fall)] * 3 for fall in falls]
    return np.array(shared + [s for each in own for s in each])


def _air(fall: FreeRotation) -> Floats:
    """(N, 3, 6 ORDER + 3) D of equation (1): in the body, in the world, damping."""
    n = len(fall.gyro)
    shapes = legvander(np.linspace(-1.0, 1.0, n), ORDER - 1)
    R_T = np.transpose(fall.rotation, (0, 2, 1))
    body = [np.broadcast_to(np.eye(3), (n, 3, 3)) * p[:, None, None] for p in shapes.T]
    levers = [
        cross_matrices(e[None])[0] @ R_T * p[:, None, None] for e in np.eye(3) for p in shapes.T[:STEADY]
    ]
    damping = -fall.gyro[:, :, None] * np.eye(3)
    return np.concatenate([*body, *levers, damping], axis=2)


def _linear(fall: FreeRotation, basis: Floats, x: Floats, scale: float) -> tuple[Floats, Floats]:
    """(N, 3) the gyro by equation (2), and its derivatives (N, 3, SHARED + OWN) by forward differences."""
    count = len(x)
    steps = np.full(count, _NUDGE)
    columns = np.concatenate([x[:, None], x[:, None] + np.diag(steps)], axis=1)
    made = _simulated(fall, basis, columns, float(x[15]), scale)
    base = made[:, :, 0]
    return base, np.asarray((made[:, :, 1:] - base[:, :, None]) / _NUDGE)


def _simulated(fall: FreeRotation, basis: Floats, x: Floats, delay: float, scale: float) -> Floats:
    """(N, 3, B) the gyro for numbers x (SHARED + OWN, B), whose delays are about `delay`."""
    n, width = len(fall.gyro), x.shape[1]
    inertia = np.array([full_tensor(six) for six in x[:6].T]) * scale
    inverse = np.linalg.inv(inertia)
    h = fall.momentum_at(delay)
    rise = np.gradient(h, 1.0 / fall.rate, axis=0)
    tilt = cross_matrices(x[17:20].T)
    turned = np.eye(3) + x[16][:, None, None] * np.eye(3) + tilt
    late = h[:, None, :] + rise[:, None, :] * (x[15] - delay)[None, :, None]
    H = np.einsum("bij,nbj->nib", turned, late)
    torque = scale / 3.0 * np.einsum("nik,kb->nib", basis, x[_SHARED + 3 :])
    A = np.ascontiguousarray(np.transpose(inverse, (1, 2, 0)))
    rate = np.empty((n, 3, width))
    m = np.einsum("bij,jb->ib", inertia, x[_SHARED : _SHARED + 3]) + H[0]
    dt = 1.0 / fall.rate
    here, there = [1, 2, 0], [2, 0, 1]

    def slope(m: Floats, h: Floats, t: Floats) -> Floats:
        w = (A * (m - h)).sum(axis=1)
        return np.asarray(m[here] * w[there] - m[there] * w[here] + t)

    with np.errstate(over="ignore", invalid="ignore"):  # after a step too far, which is halved then
        for k in range(n - 1):
            rate[k] = (A * (m - H[k])).sum(axis=1)
            h_half, t_half = 0.5 * (H[k] + H[k + 1]), 0.5 * (torque[k] + torque[k + 1])
            a = slope(m, H[k], torque[k])
            b = slope(m + 0.5 * dt * a, h_half, t_half)
            c = slope(m + 0.5 * dt * b, h_half, t_half)
            d = slope(m + dt * c, H[k + 1], torque[k + 1])
            m = m + dt / 6.0 * (a + 2 * b + 2 * c + d)
        rate[-1] = (A * (m - H[-1])).sum(axis=1)
    gains = np.eye(3) + np.array([np.diag(s) for s in x[6:9].T]) + cross_matrices(x[9:12].T)
    return np.asarray(np.einsum("bij,njb->nib", gains, rate) + x[12:15])
