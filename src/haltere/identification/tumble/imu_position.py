"""Where the IMU sits against the centre of mass, from free tumbles, with an ellipsoid that covers.

Beside equation (1) of `haltere.identification.tumble.tumble` the accelerometer feels drag, and both sensors have
errors. With X r the force at position r, R = R_0I the rotation since release, t the time since it, in each throw

    f = X r + C R^T sum_k d_k P_k(t) + b + (E_a + [e_a]x) X r + dX r,   dX = -dX/dw (E_g + [e_g]x) w          (1)

d_k = drag in the world with Legendre polynomials P_k over the fall, k = 0..3: it reverses at the apex; C = 1 +
diag(c_x, c_y, 0), a body that is not round, for k = 0, 1 (24 numbers per throw); b = bias of the accelerometer; E =
diagonal of scale errors; e = misalignments of accelerometer (a) and gyro (g). The accelerometer may read X r a time T
late, too. All of these are unknown but bounded by the `Budget`: they are estimated together with r under Gaussian
priors of those sizes, linearised at r, so what the data say is used and what they do not say widens the covariance:

    cov = [ (A^T A / (s^2 n) + diag(0, 1/sigma^2)) ^-1 ]_rr,    s^2 = |residual|^2 / (3 N - 3)              (2)

n = samples that count as one: `Tumble.inflation`, or more where the residual is correlated over more ([Blaha2024] takes
n = 1 and no budget: its ellipsoids cover 0 to 8 %).
A throw about one axis leaves the position along that axis unknown; `TumbleExcitation` names it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.legendre import legvander
from scipy.stats import chi2

from haltere.flight.rotations import cross_matrices, lever_matrices
from haltere.foundation.numbers import Floats
from haltere.identification.tumble.tumble import Tumble, TumbleError, correlated_samples

ROUNDS = 3
NEEDED = 1e-3
"""m: a throw whose deviation along some direction is larger says too little alone."""
QUIETEST = 2e-3
"""m/s2: no accelerometer is better than its resolution."""
ORDER = 4
"""Polynomials of the drag over one fall."""
UNEVEN = 2
"""Of these, those of which a body that is not round takes more along one of its axes than along another."""
SHARED = 19
"""Numbers that all throws share: position, bias, gains of both sensors, lag."""
OWN = 3 * ORDER + 6 * UNEVEN
"""Numbers of the drag of each throw."""
FLAT = 1.0
"""m: the prior of the position itself, so wide that it says nothing."""


@dataclass(frozen=True)
class Budget:
    """Systematic errors of a vehicle that nobody calibrated for this, one sigma each."""

    bias: float = 0.1
    """Of the accelerometer, m/s2."""
    scale: float = 0.005
    """Of each axis of accelerometer and gyro, relative."""
    misalignment: float = np.deg2rad(0.6)
    """Of each sensor's axes, rad."""
    lag: float = 0.002
    """Of the accelerometer behind the gyro, s: low-passes on board differ."""
    drag: float = 0.15
    """Specific drag force at release, m/s2."""
    uneven: float = 1.0
    """By how much more of it there is along one axis of the body than along another, relative; 0 for a ball."""


ROUGH = Budget(bias=0.3, scale=0.01, misalignment=np.deg2rad(1.2), lag=0.006, drag=0.5)
"""Of a log whose stamps are irregular: hardware of which less is known, with low-passes of its own."""


@dataclass(frozen=True)
class TumbleExcitation:
    """What one throw says alone.

    Attributes:
        enough: whether every direction is known well enough from this throw alone.
        weakest: (3,) unit vector, IMU axes, of the direction it says least about.
        sigma: deviation along it, m.
        spin: (3,) unit vector of the mean axis of rotation, up to sign.
        advice: one sentence.
    """

    enough: bool
    weakest: Floats
    sigma: float
    spin: Floats
    advice: str


@dataclass(frozen=True)
class ImuPosition:
    """The IMU position.

    Attributes:
        position: (3,) of the IMU from the centre of mass, IMU axes, m.
        cov: (3, 3) its covariance with the budget, m2.
        formal: (3, 3) covariance of white, independent residuals alone, m2: what [Blaha2024] draws.
        throws: what each throw says.
        bias: (3,) of the accelerometer, m/s2.
        residual: rms, m/s2.
    """

    position: Floats
    cov: Floats
    formal: Floats
    throws: tuple[TumbleExcitation, ...]
    bias: Floats
    residual: float

    @property
    def enough(self) -> bool:
        """Whether all throws together say enough about every direction."""
        return bool(np.sqrt(np.linalg.eigvalsh(self.cov)[-1]) <= NEEDED)

    def ellipsoid(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Semi-axes (3,) in m, longest last, and their directions as columns (3, 3)."""
        values, vectors = np.linalg.eigh(self.cov)
        return np.sqrt(values * chi2.ppf(level, 3)), vectors

    def contains(self, position: Floats, level: float = 0.95, *, formal: bool = False) -> bool:
        """Whether a position (3,) in m lies in the ellipsoid."""
        error = np.asarray(position) - self.position
        return bool(error @ np.linalg.solve(self.formal if formal else self.cov, error) <= chi2.ppf(level, 3))


def locate_imu(throws: Sequence[Tumble], budget: Budget | None = None) -> ImuPosition:
    """The IMU position from one or more tumbles, by least squares with the systematic errors of the module.

    The budget is `Budget()`, or `ROUGH` where stamps are irregular, unless another is given.
    """
    if not throws:
        raise TumbleError("got no throw; give at least one, better two about different axes")
    limits = budget or (ROUGH if any(throw.irregular for throw in throws) else Budget())
    r = _unweighted(throws)
    for _ in range(ROUNDS):
        solution, cov, residual = _fit(throws, limits, r)
        r = solution[:3]
    formal = np.asarray(np.linalg.inv(sum(_gram(t) for t in throws)) * residual**2, np.float64)
    alone = tuple(_excitation(i + 1, t, limits, r, residual) for i, t in enumerate(throws))
    return ImuPosition(r, cov[:3, :3], formal, alone, solution[3:6], residual)


def _gram(throw: Tumble) -> Floats:
    X = lever_matrices(throw.gyro, throw.slope)
    return np.asarray(np.einsum("nij,nik->jk", X, X))


def _unweighted(throws: Sequence[Tumble]) -> Floats:
    """Least squares without any nuisance: where the linearisation begins."""
    total = sum(_gram(t) for t in throws)
    right = sum(np.einsum("nij,ni->j", lever_matrices(t.gyro, t.slope), t.accel) for t in throws)
    return np.asarray(np.linalg.lstsq(total, right, rcond=1e-9)[0])


def _rows(throw: Tumble, r: Floats) -> Floats:
    """(N, 3, SHARED + OWN) derivatives of (1) with respect to r, b, E_a, e_a, E_g, e_g, T, d_0, ..., c_x d_0, ..."""
    w, a = throw.gyro, throw.slope
    X = lever_matrices(w, a)
    force = X @ r
    turns = cross_matrices(np.eye(3))  # columns of [e]x
    gains = [*np.stack([np.diag(e) for e in np.eye(3)]), *turns]
    accel = [force @ g.T for g in gains]
    arm = np.cross(w, r)

    def through(g: Floats) -> Floats:
        """What the force at the position changes by where the true rate is w - g w."""
        dw, da = w @ g.T, a @ g.T
        return np.asarray(-np.cross(da, r) - np.cross(dw, arm) - np.cross(w, np.cross(dw, r)))

    gyro = [through(g) for g in gains]
    R_T = np.transpose(throw.rotation, (0, 2, 1))
    swept = legvander(np.linspace(-1.0, 1.0, len(w)), ORDER - 1)
    later = -np.gradient(force, 1.0 / throw.rate, axis=0)[:, :, None]
    blocks = [X, np.broadcast_to(np.eye(3), X.shape), np.stack(accel, 2), np.stack(gyro, 2), later]
    drag = [R_T * p[:, None, None] for p in swept.T]
    uneven = [np.diag(e) @ d for e in np.eye(3)[:2] for d in drag[:UNEVEN]]
    return np.concatenate([*blocks, *drag, *uneven], axis=2)


def _fit(
    throws: Sequence[Tumble], budget: Budget, r: Floats, noise: float | None = None
) -> tuple[Floats, Floats, float]:
    """Solution and covariance of (r, b, gains, drag of each throw), and the rms of the residual."""
    shared, own = SHARED, OWN
    size = shared + own * len(throws)
    gains = [budget.scale] * 3 + [budget.misalignment] * 3
    drag = [budget.drag] * (3 * ORDER) + [budget.drag * max(budget.uneven, 1e-3)] * (6 * UNEVEN)
    sigma = np.array([FLAT] * 3 + [budget.bias] * 3 + gains * 2 + [budget.lag] + drag * len(throws))
    blocks = []
    for i, throw in enumerate(throws):
        part = _rows(throw, r)
        rows = np.zeros((*part.shape[:2], size))
        rows[..., :shared] = part[..., :shared]
        rows[..., shared + own * i : shared + own * (i + 1)] = part[..., shared:]
        blocks.append((rows.reshape(-1, size), throw.accel.reshape(-1), throw.inflation))
    count = sum(len(y) for _, y, _ in blocks)
    level = noise if noise is not None else _level(blocks, sigma, count)
    alike = [many for _, _, many in blocks]
    for _ in range(2 if noise is not None else 3):
        information = np.diag(sigma**-2.0)
        right = np.zeros(size)
        for (A, y, _), many in zip(blocks, alike, strict=True):
            weight = 1.0 / (level**2 * many)
            information += weight * A.T @ A
            right += weight * A.T @ y
        cov = np.linalg.inv(information * np.outer(sigma, sigma)) * np.outer(sigma, sigma)
        solution = cov @ right
        squares = sum(float(np.sum((y - A @ solution) ** 2)) for A, y, _ in blocks)
        rms = max(float(np.sqrt(squares / max(count - 3, 1))), QUIETEST)
        level = noise if noise is not None else rms
        alike = [max(many, correlated_samples((y - A @ solution).reshape(-1, 3))) for A, y, many in blocks]
    return solution, np.asarray(cov, np.float64), rms


def _level(blocks: Sequence[tuple[Floats, Floats, float]], sigma: Floats, count: int) -> float:
    """A first guess of the noise: residual of the fit without priors on what the data see well."""
    information = sum(A.T @ A for A, _, _ in blocks) + 1e-6 * np.diag(sigma**-2.0)
    right = sum(A.T @ y for A, y, _ in blocks)
    solution = np.linalg.solve(information, right)
    squares = sum(float(np.sum((y - A @ solution) ** 2)) for A, y, _ in blocks)
    return max(float(np.sqrt(squares / max(count - 3, 1))), QUIETEST)


def _excitation(number: int, throw: Tumble, budget: Budget, r: Floats, noise: float) -> TumbleExcitation:
    _, cov, _ = _fit([throw], budget, r, noise)
    values, vectors = np.linalg.eigh(cov[:3, :3])
    weakest, sigma = vectors[:, -1], float(np.sqrt(values[-1]))
    spin = np.linalg.eigh(throw.gyro.T @ throw.gyro)[1][:, -1]
    if sigma <= NEEDED:
        return TumbleExcitation(
            True, weakest, sigma, spin, f"throw {number} says enough about every direction"
        )
    x, y, z = np.round(weakest * np.sign(weakest[np.argmax(np.abs(weakest))]), 2) + 0.0
    advice = (
        f"throw {number} leaves the position along ({x:g}, {y:g}, {z:g}) unknown to {1e3 * sigma:.2g} mm: "
        "spin about a second axis needed, across this one"
    )
    return TumbleExcitation(False, weakest, sigma, spin, advice)
