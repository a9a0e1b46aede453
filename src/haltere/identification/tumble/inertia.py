"""The inertia tensor from a free tumble: up to scale from the gyro alone, absolute with a rotor that is spun up.

With inertia I (body axes, about the centre of mass), angular rate w, and h = momentum of rotors or a flywheel relative
to the body, the angular momentum of a freely tumbling body does not change in the world. Over a lag, with D = the
rotation from the later to the earlier body axes by the gyro,

    D (I w + h)_later - (I w + h)_earlier = 0                                                              (1)

linear in the six numbers of I, and no derivative of a noisy signal is needed. A short lag keeps out what the air and
the gyro's scale do to the momentum over time, a long one keeps out noise. Where h = 0 the equations are homogeneous and
give I up to scale (here: trace 1); where h changes during the fall they give I itself. A rigid body can only have

    I = tr(S) 1 - S,   S = C C^T positive semi-definite                                                    (2)

(S = second moments of its mass), so the fit is over the six entries of the triangular C: what it gives is always
possible. A late report of the rotor's speed is found by trying delays. Deviations come from the linear fit, with as
many samples counted as one as the low-pass makes alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize
from scipy.spatial.transform import Rotation

from haltere.airframe.fields import tensor as full_tensor
from haltere.flight.filters import low_pass
from haltere.flight.resampling import interpolate_columns
from haltere.foundation.numbers import Floats
from haltere.identification.tumble.tumble import TumbleError

_LOWER = np.tril_indices(3)
SMOOTH = 40.0
"""Hz of the low-pass."""
LAG = 0.005
"""s, where a rotor is spun up: see equation (1)."""
LONG_LAG = 0.1
"""s, where none is."""
RISEN = 1.05
"""Of the largest speed before: a rotor that spins faster is speeding up."""
_IDLE = 400
_SHORTEST = 40
_DIFFERENT = 5.0
_WEAK = 0.3
"""Relative deviation of a principal moment beyond which a tensor is not called known."""


@dataclass(frozen=True)
class ThrowInertia:
    """An inertia tensor.

    Attributes:
        inertia: (3, 3) about the centre of mass, body axes; kg m2 if absolute, of trace 1 otherwise.
        absolute: whether the scale is known.
        moments: (3,) principal moments, smallest first.
        axes: (3, 3) principal axes as columns, in the order of the moments.
        sigma: (3,) deviations of the principal moments.
        residual: rms of (1) over that of what it balances.
        delay: by which the rotor's speed was found late, s.
        enough: whether every principal moment is known to better than 30 %.
    """

    inertia: Floats
    absolute: bool
    moments: Floats
    axes: Floats
    sigma: Floats
    residual: float
    delay: float
    enough: bool


def throw_inertia(
    gyro: Floats,
    rate: float,
    momentum: Floats | None = None,
    cutoff: float = SMOOTH,
    delays: tuple[float, ...] = (0.0,),
    lag: float | None = None,
) -> ThrowInertia:
    """The inertia of a body that tumbles freely.

    Args:
        gyro: (N, 3) angular rate, rad/s, body axes, regularly sampled, free fall only.
        rate: samples per second, Hz.
        momentum: (N, 3) momentum of the rotors relative to the body, N m s, body axes; None if they stand still.
        cutoff: of the low-pass on all signals, Hz.
        delays: of `momentum` to try, s; the one that leaves least is taken.
        lag: between the samples that equation (1) compares, s; chosen by whether a rotor is spun up if None.
    """
    w = np.asarray(gyro, np.float64)
    if w.ndim != 2 or w.shape[1:] != (3,) or len(w) < _SHORTEST:
        raise TumbleError(
            f"gyro has the shape {w.shape}; give (N, 3) with at least {_SHORTEST} samples of free fall"
        )
    if momentum is not None and np.shape(momentum) != w.shape:
        raise TumbleError(
            f"momentum has the shape {np.shape(momentum)}; give {w.shape}, one for each gyro sample"
        )
    best: ThrowInertia | None = None
    for delay in delays if momentum is not None else (0.0,):
        found = _at(w, rate, momentum, cutoff, delay, lag)
        if best is None or found.residual < best.residual:
            best = found
    if best is None:
        raise TumbleError("got no delay to try; give (0.0,)")
    return best


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


def inertia_shape(throws: Sequence[Floats], rate: float, cutoff: float = SMOOTH) -> Floats:
    """(3, 3) inertia of trace 1 from several free tumbles together: two about different axes say what one does not.

    Args:
        throws: angular rates (N, 3) of each, rad/s, body axes, rotors still.
        rate: samples per second, Hz.
        cutoff: of the low-pass, Hz.
    """
    if not throws:
        raise TumbleError("got no throw; give at least one, better two about different axes")
    none = np.zeros(3)
    rows = [
        _rows(np.asarray(w, np.float64), rate, np.tile(none, (len(w), 1)), cutoff, 0.0, None)[0]
        for w in throws
    ]
    return _possible_shape(np.concatenate(rows))


def _rows(
    w: Floats, rate: float, momentum: Floats, cutoff: float, delay: float, lag: float | None
) -> tuple[Floats, Floats, float, Floats]:
    """A (n, 6) and b (n,) of equation (1) as A six = b; samples that count as one; and the scale of I w over I."""
    lower, pad = min(cutoff, 0.4 * rate), int(2 * rate / cutoff)
    smooth = low_pass(w, rate, lower, pad=pad, corrected=False)
    turn = _rotations(w, rate)
    time = np.arange(len(w)) / rate
    late = interpolate_columns(time + delay, time, momentum)
    h = low_pass(late, rate, lower, pad=pad, corrected=False)
    step = max(int(rate / (20.0 * cutoff)), 1)
    edge = round(0.3 * rate / cutoff)
    cut = slice(edge, len(w) - edge - round(delay * rate), step)
    R, w, h = turn[cut], smooth[cut], h[cut]
    moving = float(np.ptp(momentum)) > 0.0
    reach = lag if lag is not None else (LAG if moving else min(LONG_LAG, 0.25 * len(w) * step / rate))
    ahead = max(round(reach * rate / step), 1)
    D = np.transpose(R[:-ahead], (0, 2, 1)) @ R[ahead:]
    A = ((D @ _columns(w[ahead:]) - _columns(w[:-ahead])) / reach).reshape(-1, 6)
    b = -((np.einsum("nij,nj->ni", D, h[ahead:]) - h[:-ahead]) / reach).reshape(-1)
    return A, b, max(rate / step / (2.2 * cutoff), 1.0), np.asarray(w / reach)


def _at(
    w: Floats, rate: float, momentum: Floats | None, cutoff: float, delay: float, lag: float | None
) -> ThrowInertia:
    given = np.zeros_like(w) if momentum is None else np.asarray(momentum, np.float64)
    moving = float(np.ptp(given)) > 0.0
    A, b, inflation, turning = _rows(w, rate, given, cutoff, delay, lag)
    tensor = _possible(A, b) if moving else _possible_shape(A)
    left = A @ _six(tensor) - b
    size = _rms(A @ _six(tensor)) if moving else _rms(turning @ tensor)
    moments, axes = np.linalg.eigh(tensor)
    variance = float(left @ left) / max(len(b) - 9, 1) * inflation
    sigma = _deviation(A, variance, axes, moving)
    return ThrowInertia(
        tensor,
        moving,
        moments,
        axes,
        sigma,
        _rms(left) / max(size, 1e-300),
        delay,
        bool(np.all(sigma < _WEAK * moments)) and (moving or _unique(A)),
    )


def _rotations(w: Floats, rate: float) -> Floats:
    """(N, 3, 3) R_0B by integration of w (N, 3)."""
    steps = Rotation.from_rotvec(0.5 * (w[1:] + w[:-1]) / rate).as_matrix()
    turn = np.empty((len(w), 3, 3))
    turn[0] = np.eye(3)
    for i, step in enumerate(steps):
        turn[i + 1] = turn[i] @ step
    return turn


def _unique(A: Floats) -> bool:
    """Whether one shape alone fits: a spin about one axis leaves several singular values at the level of the noise."""
    values = np.linalg.svd(A, compute_uv=False)
    return bool(values[-2] > _DIFFERENT * values[-1])


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(values**2)))


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


def _possible(A: Floats, b: Floats) -> Floats:
    """The possible tensor that leaves least of A six - b."""
    free = full_tensor(np.linalg.lstsq(A, b, rcond=None)[0])
    scale = float(np.max(np.abs(free))) or 1.0
    found = optimize.least_squares(
        lambda c: (A @ _six(from_triangle(c)) * scale - b) / max(float(np.linalg.norm(b)), 1e-300),
        triangle_of(free / scale),
        xtol=1e-12,
        ftol=1e-12,
    )
    return from_triangle(found.x) * scale


def _possible_shape(A: Floats) -> Floats:
    """The possible tensor of trace 1 that leaves least of A six."""
    last = np.linalg.svd(A, full_matrices=False)[2][-1]
    shape = full_tensor(np.array(last, np.float64))
    begin = shape / np.trace(shape) if abs(np.trace(shape)) > 1e-6 else np.eye(3) / 3.0
    size = float(np.linalg.norm(A))

    def left(c: Floats) -> Floats:
        tensor = from_triangle(c)
        return np.asarray(A @ _six(tensor / np.trace(tensor)) / size)

    found = optimize.least_squares(left, triangle_of(begin), xtol=1e-12, ftol=1e-12)
    tensor = from_triangle(found.x)
    return np.asarray(tensor / np.trace(tensor))


def _deviation(A: Floats, variance: float, axes: Floats, absolute: bool) -> Floats:
    """(3,) deviations of the principal moments by the linear fit, at fixed trace where the scale is unknown."""
    gram = A.T @ A
    if not absolute:
        held = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
        gram = gram + np.outer(held, held) * float(np.trace(gram)) * 1e6
    scale = float(np.trace(gram)) or 1.0
    cov = variance * np.linalg.pinv(gram / scale, rcond=1e-15, hermitian=True) / scale
    kernel = np.stack([_six(np.outer(a, a)) * [1, 1, 1, 2, 2, 2] for a in axes.T])
    return np.asarray(np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", kernel, cov, kernel), 0.0)))
