"""The inertia tensor from free tumbles: up to scale from the gyro alone, absolute with a rotor that is spun up.

With inertia I (body axes, about the centre of mass), angular rate w, and h = momentum of rotors or a flywheel relative
to the body, the angular momentum L of a freely tumbling body does not change in the world:

    I w + h - R^T L = 0                                                                                     (1)

R = attitude since release by the gyro; linear in the six numbers of I and in L. Where h = 0 the equations are
homogeneous and give I up to scale (here: trace 1); where h changes during the fall they give I itself. That is where
`haltere.identification.tumble.free_rotation` begins, which fits the gyro's readings themselves together with the
errors of the sensors and the air, so that the deviations hold them. A rigid body can only have

    I = tr(S) 1 - S,   S = C C^T positive semi-definite                                                    (2)

(S = second moments of its mass); of these the one nearest to the fit is taken, by the fit's covariance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from haltere.airframe.fields import tensor as full_tensor
from haltere.foundation.numbers import Floats
from haltere.identification.tumble.free_rotation import (
    ROUGH,
    FreeRotation,
    InertiaBudget,
    RotationFit,
    fit_rotation,
)
from haltere.identification.tumble.tumble import TumbleError

_LOWER = np.tril_indices(3)
_DIAGONAL = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
RISEN = 1.05
"""Of the largest speed before: a rotor that spins faster is speeding up."""
DELAYS = (0.0025, 0.012)
"""s, of the rotor's report, with which the search may begin."""
_IDLE = 400
_SHORTEST = 40
_DIFFERENT = 5.0
_WEAK = 0.3
"""Relative deviation of a principal moment beyond which a tensor is not called known."""
_UNEXPLAINED = 0.02
"""Residual over the gyro's readings beyond which a body did not fall freely."""


@dataclass(frozen=True)
class ThrowInertia:
    """An inertia tensor.

    Attributes:
        inertia: (3, 3) about the centre of mass, body axes; kg m2 if absolute, of trace 1 otherwise.
        cov: (6, 6) covariance of its xx, yy, zz, xy, xz and yz.
        absolute: whether the scale is known.
        moments: (3,) principal moments, smallest first.
        axes: (3, 3) principal axes as columns, in the order of the moments.
        moments_cov: (3, 3) covariance of the principal moments.
        residual: rms of what the gyro read otherwise than expected, over that of its readings.
        delay: by which the rotor's speed was found late, s.
        enough: whether every principal moment is known to better than 30 %, and the body fell freely.
        advice: one sentence on what to do where it is not, or empty.
    """

    inertia: Floats
    cov: Floats
    absolute: bool
    moments: Floats
    axes: Floats
    moments_cov: Floats
    residual: float
    delay: float
    enough: bool
    advice: str

    @property
    def sigma(self) -> Floats:
        """(3,) deviations of the principal moments."""
        return np.asarray(np.sqrt(np.diagonal(self.moments_cov)))


def throw_inertia(
    gyro: Floats | Sequence[Floats],
    rate: float,
    momentum: Floats | Sequence[Floats] | None = None,
    delays: tuple[float, ...] = DELAYS,
    budget: InertiaBudget | None = None,
) -> ThrowInertia:
    """The inertia of a body that tumbles freely.

    Args:
        gyro: (N, 3) angular rate, rad/s, body axes, regularly sampled, free fall only; or one for each of several.
        rate: samples per second, Hz.
        momentum: (N, 3) momentum of the rotors relative to the body, N m s, body axes; None if they stand still.
        delays: of `momentum` to begin with, s; what leaves least is taken.
        budget: of the errors of sensors, rotor and air.
    """
    if not delays:
        raise TumbleError("got no delay to try; give (0.0,)")
    return inertia_of_falls(_falls(gyro, rate, momentum), delays, budget)


def inertia_of_falls(
    falls: Sequence[FreeRotation],
    delays: tuple[float, ...] = DELAYS,
    budget: InertiaBudget | None = None,
) -> ThrowInertia:
    """The inertia of a body from the free falls of a log: `inertia_of_falls(find_rotations(flight, momentum))`."""
    if not falls:
        raise TumbleError(
            "the log holds no free fall with spin; throw the body higher, spinning at 5 rad/s or more"
        )
    moving = any(fall.moving for fall in falls)
    limits = budget or (ROUGH if any(fall.irregular for fall in falls) else InertiaBudget())
    # Size and delay of what rises exponentially look alike: several beginnings, of which some are wrong.
    fits: list[RotationFit] = []
    for delay in delays if moving else (0.0,):
        try:
            fits.append(fit_rotation(falls, _begin(falls, delay, moving), delay, limits, moving))
        except TumbleError as error:
            reason = error
    if not fits:
        raise reason
    found = min(fits, key=lambda fit: fit.residual)
    return _result(found, falls, moving)


def inertia_shape(throws: Sequence[Floats], rate: float) -> Floats:
    """(3, 3) inertia of trace 1 from several free tumbles together: two about different axes say what one does not.

    Quick, by equation (1) alone; `throw_inertia` gives its deviations, too.

    Args:
        throws: angular rates (N, 3) of each, rad/s, body axes, rotors still.
        rate: samples per second, Hz.
    """
    if not throws:
        raise TumbleError("got no throw; give at least one, better two about different axes")
    falls = [
        FreeRotation.sampled(rate, w, np.zeros_like(w)) for w in (np.asarray(x, np.float64) for x in throws)
    ]
    return _begin(falls, 0.0, False)


def spin_up(speed: Floats, first: int) -> int:
    """The sample from which a rotor's report shows that it speeds up: the start of what `throw_inertia` should get.

    Telemetry falters for some milliseconds when a motor is kicked, and before there is nothing to learn the scale from.

    Args:
        speed: (N,) of the rotor, rad/s.
        first: sample at which it was commanded to.
    """
    before = np.asarray(speed[max(first - _IDLE, 0) : first + 1], np.float64)
    risen = np.flatnonzero(np.asarray(speed[first:]) > RISEN * float(before.max()) + 1.0)
    if not len(risen):
        raise TumbleError(
            f"the rotor that is commanded at sample {first} never spins faster than before; give another throw"
        )
    return first + int(risen[0])


def _falls(
    gyro: Floats | Sequence[Floats], rate: float, momentum: Floats | Sequence[Floats] | None
) -> list[FreeRotation]:
    many = (
        [np.asarray(w, np.float64) for w in ([gyro] if np.ndim(gyro[0]) == 1 else gyro)] if len(gyro) else []
    )
    if not many:
        raise TumbleError("got no fall; give the gyro's readings (N, 3) of at least one")
    for w in many:
        if w.ndim != 2 or w.shape[1:] != (3,) or len(w) < _SHORTEST:
            raise TumbleError(
                f"gyro has the shape {w.shape}; give (N, 3) with at least {_SHORTEST} samples of free fall"
            )
        if not np.isfinite(w).all():
            raise TumbleError("gyro holds numbers that are not finite; cut them out, or choose another throw")
    if momentum is None:
        return [FreeRotation.sampled(rate, w, np.zeros_like(w)) for w in many]
    given = [
        np.asarray(h, np.float64)
        for h in ([momentum] if len(many) == 1 and np.ndim(momentum) == 2 else momentum)
    ]
    shapes = [h.shape for h in given]
    if shapes != [w.shape for w in many]:
        raise TumbleError(
            f"momentum has the shapes {shapes}; give {[w.shape for w in many]}, one row for each gyro sample"
        )
    return [FreeRotation.sampled(rate, w, h) for w, h in zip(many, given, strict=True)]


def _begin(falls: Sequence[FreeRotation], delay: float, moving: bool) -> Floats:
    """The possible tensor by equation (1)."""
    rows, right = [], []
    for i, fall in enumerate(each.smoothed() for each in falls):
        w, h, R_T = fall.gyro, fall.momentum_at(delay), np.transpose(fall.rotation, (0, 2, 1))
        part = np.zeros((len(w), 3, 6 + 3 * len(falls)))
        part[:, :, :6] = _columns(w)
        part[:, :, 6 + 3 * i : 9 + 3 * i] = -R_T * float(np.sqrt(np.mean(w**2)))
        rows.append(part.reshape(-1, part.shape[2]))
        right.append(-h.reshape(-1))
    A, b = np.concatenate(rows), np.concatenate(right)
    # L is eliminated: what is left of the columns of I when those of L have explained what they can.
    Q = np.linalg.qr(A[:, 6:])[0]
    A, b = A[:, :6] - Q @ (Q.T @ A[:, :6]), b - Q @ (Q.T @ b)
    if moving:
        six = np.linalg.lstsq(A, b, rcond=None)[0]
    else:
        six = np.array(np.linalg.svd(A, full_matrices=False)[2][-1], np.float64)
        six = six / six[:3].sum() if abs(six[:3].sum()) > 1e-6 else _DIAGONAL / 3.0
    return _possible(np.asarray(six, np.float64), A.T @ A, not moving)


def _result(fit: RotationFit, falls: Sequence[FreeRotation], absolute: bool) -> ThrowInertia:
    information = np.asarray(np.linalg.pinv(fit.cov, rcond=1e-13, hermitian=True), np.float64)
    tensor = _possible(fit.six, information, not absolute)
    moments, axes = np.linalg.eigh(tensor)
    kernel = np.stack([_six(np.outer(a, a)) * [1, 1, 1, 2, 2, 2] for a in axes.T])
    moments_cov = kernel @ fit.cov @ kernel.T
    sigma = np.sqrt(np.diagonal(moments_cov))
    spin = float(np.sqrt(np.mean(np.concatenate([fall.gyro for fall in falls]) ** 2)))
    residual = fit.residual / max(spin, 1e-300)
    advice = ""
    if residual > _UNEXPLAINED:
        advice = f"the gyro reads {100 * residual:.2g} % otherwise than a free body: cut out hand, catch and ground"
    elif absolute and not any(fall.kicked for fall in falls):
        advice = (
            "the rotor speeds up before the fall begins, so that its delay looks like its inertia: "
            "spin it up 50 ms after the release"
        )
    elif not np.all(sigma < _WEAK * moments):
        worst = int(np.argmax(sigma / moments))
        x, y, z = np.round(axes[:, worst], 2) + 0.0
        advice = (
            f"the moment about ({x:g}, {y:g}, {z:g}) is known to {100 * sigma[worst] / moments[worst]:.2g} % only: "
            "throw with spin about a second axis, or spin the rotor up further"
        )
    return ThrowInertia(
        tensor,
        fit.cov,
        absolute,
        moments,
        axes,
        moments_cov,
        residual,
        fit.delay,
        not advice,
        advice,
    )


def _columns(w: Floats) -> Floats:
    """(N, 3, 6): I w for the six numbers xx yy zz xy xz yz of I."""
    x, y, z = w.T
    o = np.zeros_like(x)
    rows = [[x, o, o, y, z, o], [o, y, o, x, o, z], [o, o, z, o, x, y]]
    return np.asarray(np.transpose(np.array(rows), (2, 0, 1)))


def _six(tensor: Floats) -> Floats:
    return np.asarray(tensor[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])


def from_triangle(numbers: Floats) -> Floats:
    """The tensor (3, 3) of equation (2) from the six entries of C, row by row."""
    C = np.zeros((3, 3))
    C[_LOWER] = numbers
    S = C @ C.T
    return np.asarray(np.trace(S) * np.eye(3) - S)


def triangle_of(tensor: Floats) -> Floats:
    """The six entries of C of equation (2) for the possible tensor nearest to one (3, 3)."""
    values, vectors = np.linalg.eigh(0.5 * np.trace(tensor) * np.eye(3) - tensor)
    S = vectors @ np.diag(np.maximum(values, 1e-3 * np.max(np.abs(values)))) @ vectors.T
    return np.asarray(np.linalg.cholesky(S)[_LOWER])


def _possible(six: Floats, information: Floats, shape: bool) -> Floats:
    """The possible tensor nearest to six numbers in the metric (6, 6) of their information; of trace 1 for a shape."""
    free = full_tensor(six)
    values = np.linalg.eigvalsh(0.5 * np.trace(free) * np.eye(3) - free)
    if values[0] >= 0.0:
        return np.asarray(free / np.trace(free) if shape else free)
    values, vectors = np.linalg.eigh(information)
    root = np.sqrt(np.maximum(values, 0.0) / values[-1])[:, None] * vectors.T
    scale = float(np.max(np.abs(six)))

    def left(c: Floats) -> Floats:
        tensor = from_triangle(c)
        return np.asarray(
            root
            @ (_six(tensor / np.trace(tensor) * np.trace(free) if shape else tensor * scale) - six)
            / scale
        )

    found = optimize.least_squares(left, triangle_of(free / scale), xtol=1e-12, ftol=1e-12)
    tensor = from_triangle(found.x) * scale
    return np.asarray(tensor / np.trace(tensor) if shape else tensor)
