"""Maximum a posteriori over a stretch of flight: Gauss-Newton on trajectory, speed noise and constants together.

Each iteration linearises the whole stretch about a nominal trajectory (x_k, w_k) that need not obey the dynamics, runs
a Kalman filter on the errors from it, and walks back with the adjoint lambda ([BrysonFrazier1963]), which needs no
inverse of a covariance. With gain K, innovation y, its covariance S and P, m after the update at k:

    m_k+1 = Phi m_k + d_k,   d_k = f(x_k, u_k + w_k) - x_k+1                                              (1)
    smoothed error at k = m + P lambda,   lambda' = lambda - H^T K^T lambda + H^T S^-1 y                  (2)
    lambda_k = Phi^T lambda'_k+1                                                                         (3)

Prior and hand measurements are linearised at the nominal constants anew in each iteration and enter once. The last
covariance is the posterior about the result. With the true trajectory as nominal the same pass gives the posterior
Cramer-Rao bound ([Tichavsky1998]).
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from haltere.algebra import product
from haltere.estimation.core.kalman import Gain, update
from haltere.estimation.core.space import CURVED, Mean, Space
from haltere.estimation.vehicle.coordinates import VehicleCoordinates
from haltere.estimation.vehicle.model import as_kernel, linear_imu, linear_step, scalarize
from haltere.estimation.vehicle.steps import (
    Frames,
    Steps,
    VehicleBelief,
    VehicleNoise,
    names,
    pose_residual,
    run,
    stepped,
    with_noise,
)
from haltere.foundation.arrays import Array
from haltere.foundation.programs import program_by_kind
from haltere.lie import so3

Prior = Callable[[Mean], tuple[Array, Array]]
"""From a first state, the prior's mean error (n,) from it and covariance (n, n), hand measurements included."""


class SmoothedTrajectory(NamedTuple):
    """A trajectory to linearise about."""

    moving: Mean
    """The moving blocks at the beginning of each step, (K, n, ...)."""
    noise: Array
    """(K, n, N) rad/s."""
    end: Mean
    """The moving blocks after the last step."""
    constants: Mean

    @property
    def first(self) -> Mean:
        """The whole state at the beginning."""
        return {**self.constants, **{name: x[0, 0] for name, x in self.moving.items()}}


class SmootherStep(NamedTuple):
    """What the way back needs of a step."""

    mean: Array
    rows: Array
    """Rows of the covariance of moving blocks and noise."""
    H: Array
    gain: Gain
    Phi: Array


def forward(
    coordinates: VehicleCoordinates,
    noise: VehicleNoise,
    prior: tuple[Array, Array],
    nominal: SmoothedTrajectory,
    frames: Frames,
    gate: float = jnp.inf,
    keep: bool = True,
) -> tuple[Array, Array, Any]:
    """Mean error (n,) from the nominal end and its covariance (n, n); what `backward` needs if it is to be kept."""
    n, N = coordinates.space.dimension, coordinates.count
    d, moving = coordinates.dynamic.dimension, coordinates.moving.dimension

    def following(x: Array, end: Array) -> Array:
        flat = x.reshape(-1, *x.shape[2:])
        return jnp.concatenate([flat[1:], end[None]]).reshape(x.shape)

    nexts = {name: following(nominal.moving[name], nominal.end[name]) for name in nominal.moving}

    def step(carry: tuple[Array, Array], now: Any) -> Any:
        m, P = carry
        s, *_, w = now
        m = jnp.concatenate([m, -w])
        residual, H, defect, Phi = as_kernel(
            coordinates, partial(_linear, coordinates, nominal.constants), *now
        )
        innovation = residual - H @ m
        valid = s.imu_valid & jnp.all(jnp.isfinite(innovation))
        innovation = jnp.where(valid, innovation, 0.0)
        P, gain = update(with_noise(P, noise, N), H, noise.imu**2, innovation, valid)
        m = m + gain.shift
        retained = SmootherStep(m, jnp.concatenate([P[:moving], P[n:]]), H, gain, Phi)
        m = jnp.concatenate([Phi @ m, m[d:n]]).at[:moving].add(defect)
        P = stepped(coordinates, P, Phi, noise, s.dt, nominal.constants)
        return (m, P), retained if keep else None

    def frame(carry: tuple[Array, Array], now: Any) -> Any:
        m, P = carry
        f, here, there, w = now
        mean = {**nominal.constants, **{name: x[0] for name, x in here.items()}}
        residual, H, valid = pose_residual(coordinates, mean, f.position, f.wxyz, f.pose_valid)
        innovation = residual - H @ m
        P, gain = update(P, H, noise.pose**2, innovation, valid, gate)
        m = m + gain.shift
        (m, P), retained = jax.lax.scan(step, (m, P), (f.steps, here, there, w))
        return (m, P), (retained, H, gain) if keep else None

    (m, P), retained = jax.lax.scan(frame, prior, (frames, nominal.moving, nexts, nominal.noise))
    return m, P, retained


def _linear(
    coordinates: VehicleCoordinates, constants: Mean, step: Steps, here: Mean, there: Mean, w: Array
) -> Any:
    """Residual (6,) of the IMU and H, defect (18,) of the step and Phi, all about the nominal trajectory."""
    mean = {**constants, **here}
    expected, H = linear_imu(mean, step.speeds + w, coordinates, step.rotor_accelerations)
    later, Phi = linear_step(mean, step.speeds + w, step.dt, coordinates, step.rotor_accelerations)
    defect = scalarize(coordinates.moving.minus, {**here, **later}, there)
    turn = scalarize(so3.right_jacobian_inverse, defect[6:9])
    Phi = jnp.concatenate([Phi[:6], product(turn, Phi[6:9]), Phi[9:]])
    return step.imu - expected, H, defect, Phi


def backward(coordinates: VehicleCoordinates, retained: Any) -> Array:
    """(K, n, 18 + N) smoothed errors of the moving blocks and the noise: equations (2) and (3)."""
    n, N = coordinates.space.dimension, coordinates.count
    d, moving = coordinates.dynamic.dimension, coordinates.moving.dimension

    def step(adjoint: Array, now: SmootherStep) -> tuple[Array, Array]:
        after = jnp.concatenate([jnp.zeros(d), adjoint[d:], jnp.zeros(N)])
        after = after + now.Phi.T @ adjoint[:d]
        error = jnp.concatenate([now.mean[:moving], now.mean[n:]]) + now.rows @ after
        return _before(after, now.H, now.gain)[:n], error

    def frame(adjoint: Array, now: Any) -> tuple[Array, Array]:
        retained, H, gain = now
        adjoint, errors = jax.lax.scan(step, adjoint, retained, reverse=True)
        return _before(adjoint, H, gain), errors

    _, errors = jax.lax.scan(frame, jnp.zeros(n), retained, reverse=True)
    return errors


def _before(adjoint: Array, H: Array, gain: Gain) -> Array:
    return adjoint - H.T @ (gain.gain.T @ adjoint) + H.T @ gain.weighted


def smooth(
    coordinates: VehicleCoordinates,
    noise: VehicleNoise,
    first: Mean,
    prior: Prior,
    frames: Frames,
    iterations: int = 4,
    gate: float = jnp.inf,
) -> tuple[VehicleBelief, SmoothedTrajectory, Array]:
    """The belief after the frames, the smoothed trajectory, and how far each iteration moved, in sigmas.

    Args:
        coordinates: those of the filter.
        noise: of sensors and rotor speeds.
        first: the state to begin with, where the prior has its mean.
        prior: see `Prior`.
        frames: the stretch of flight.
        iterations: of Gauss-Newton; the first trajectory is that of the plain filter.
        gate: largest normalised innovation squared of a pose that is believed.
    """
    m, P = prior(first)
    end, trail = run(coordinates, noise, VehicleBelief(coordinates.space.plus(first, m), P), frames, gate)
    begun = SmoothedTrajectory(
        trail.moving, trail.noise, coordinates.moving.select(end.mean), coordinates.constants(end.mean)
    )

    def iterate(carry: tuple[SmoothedTrajectory, Array], _: None) -> Any:
        new, P, size = refined(coordinates, noise, prior(carry[0].first), carry[0], frames, gate)
        return (new, P), size

    (nominal, P), sizes = jax.lax.scan(iterate, (begun, end.cov), None, length=iterations)
    return VehicleBelief({**nominal.end, **nominal.constants}, P), nominal, sizes


def refined(
    coordinates: VehicleCoordinates,
    noise: VehicleNoise,
    prior: tuple[Array, Array],
    nominal: SmoothedTrajectory,
    frames: Frames,
    gate: float = jnp.inf,
) -> tuple[SmoothedTrajectory, Array, Array]:
    """One iteration of Gauss-Newton: the new nominal trajectory, covariance (n, n) at its end, and how far it moved."""
    space, width = coordinates.space, coordinates.moving.dimension
    m, P, retained = forward(coordinates, noise, prior, nominal, frames, gate)
    errors = backward(coordinates, retained)
    plus = jax.vmap(jax.vmap(coordinates.moving.plus))
    last = {**nominal.constants, **nominal.end}
    mean = space.plus(last, m)
    P = space.transported(last, m, P)
    size = jnp.sqrt(jnp.max(m * m / jnp.maximum(jnp.diagonal(P), 1e-300)))
    new = SmoothedTrajectory(
        plus(nominal.moving, errors[..., :width]),
        nominal.noise + errors[..., width:],
        coordinates.moving.select(mean),
        coordinates.constants(mean),
    )
    return new, P, size


def blank(coordinates: VehicleCoordinates, steps: tuple[int, ...]) -> tuple[SmoothedTrajectory, Any]:
    """Shapes of a nominal trajectory of (K, n) steps and of a covariance, for `CachedProgram.prepare`."""

    def shapes(space: Space, lead: tuple[int, ...] = ()) -> Any:
        values = {b.name: CURVED[b.kind][0] if b.kind in CURVED else b.shape for b in space.blocks}
        return {name: jax.ShapeDtypeStruct((*lead, *shape), float) for name, shape in values.items()}

    moving, n = shapes(coordinates.moving, steps), coordinates.space.dimension
    noise: Any = jax.ShapeDtypeStruct((*steps, coordinates.count), float)
    nominal = SmoothedTrajectory(moving, noise, shapes(coordinates.moving), shapes(coordinates.constant))
    return nominal, jax.ShapeDtypeStruct((n, n), float)


def _refined_tree(kind: VehicleCoordinates) -> Any:
    moving, constants = names(kind.moving), names(kind.constant)
    return SmoothedTrajectory(moving, 0, moving, constants), 0, 0  # type: ignore[arg-type]


@program_by_kind(_refined_tree)
def iterated(
    kind: VehicleCoordinates, numbers: tuple[Array, Array], *arguments: Any
) -> tuple[SmoothedTrajectory, Array, Array]:
    """`refined` for coordinates of one kind; its arguments after the numbers of the coordinates."""
    return refined(kind.of_numbers(numbers), *arguments)


def bound(
    coordinates: VehicleCoordinates,
    noise: VehicleNoise,
    prior: Prior,
    truth: SmoothedTrajectory,
    frames: Frames,
) -> Array:
    """(n, n) posterior Cramer-Rao bound, filter coordinates: no estimator from this prior has a smaller covariance."""
    return forward(coordinates, noise, prior(truth.first), truth, frames, keep=False)[1]
