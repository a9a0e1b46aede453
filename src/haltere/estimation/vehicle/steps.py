"""The self-calibrating filter of [Boehm2022]: one pose update and one IMU step, and their run over a flight.

A flight comes in frames: a pose, then some steps, each with an IMU reading at its beginning and rotor speeds that hold
through it. Within a step the noise w of the rotor speeds is part of the state, because the IMU feels it:

    z_k = h(x_k, u_k + w_k) + v_k,   x_k+1 = f(x_k, u_k + w_k)                                             (1)

Only position, velocity, attitude and rates move; see `haltere.estimation.core.kalman` for what that saves. The update
transports the covariance to the new mean. Missing readings (invalid, or not finite) and readings beyond the gate
change nothing.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, PoseSensor
from haltere.dynamics.sensors.noise import sample_sigma
from haltere.estimation.core.kalman import Gain, gain_of, propagate
from haltere.estimation.core.space import Mean, Space
from haltere.estimation.vehicle.change import change_spread
from haltere.estimation.vehicle.coordinates import VehicleCoordinates
from haltere.estimation.vehicle.covariance_rotation import rotate_covariance, turning
from haltere.estimation.vehicle.effects import spin_answer
from haltere.estimation.vehicle.model import (
    as_kernel,
    linear_imu,
    linear_pose,
    linear_step,
    scalarize,
    shifted,
)
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array
from haltere.foundation.programs import program_by_kind

DEFAULT_RATE = 200.0
"""Of an IMU whose file names none, Hz; it turns a density into the deviation of a sample."""
WIND_WALK = 0.4
"""m/s/sqrt(s): about the gusts of 3 m/s wind at low altitude ([MIL8785C])."""
NO_ROTATION = 1.0
"""Stands where a position sensor has no deviation of attitude; such readings are never valid."""


class VehicleNoise(NamedTuple):
    """Standard deviations."""

    imu: Array
    """(6,) of a reading: m/s2, rad/s."""
    walk: Array
    """(6,) of the biases' random walk: m/s2/sqrt(s), rad/s/sqrt(s)."""
    speed: Array
    """() of a rotor's speed about the reported one, once in each step, rad/s."""
    pose: Array
    """(6,) of a pose: m, rad."""
    wind: Array
    """(3,) of the wind's random walk, world axes, m/s/sqrt(s); used with the effect "wind"."""
    rotor_acceleration: Array
    """() of a rotor's acceleration about the reported one, rad/s2; used with the effect "spin"."""
    change: Array | None = None
    """(3,) how fast mass, centre of mass and inertia may change, see `vehicle_change`; None if they stay."""

    @classmethod
    def from_airframe(cls, airframe: Airframe, speed: float) -> "VehicleNoise":
        """The noise that the airframe file states for its first IMU and its pose or position sensor; `speed` in rad/s.

        Raises:
            HaltereError: the file states no noise for a sensor; a filter cannot weigh it then.
        """
        imu, rate = airframe.imu[0], airframe.imu[0].rate or DEFAULT_RATE
        outer = airframe.pose[0] if airframe.pose else airframe.position[0]
        turn = outer.sigma_rotation if isinstance(outer, PoseSensor) else NO_ROTATION
        stated = {
            f"{imu.name}.sigma_accel": sample_sigma(imu.sigma_accel, imu.sigma_accel_density, rate),
            f"{imu.name}.sigma_gyro": sample_sigma(imu.sigma_gyro, imu.sigma_gyro_density, rate),
            f"{outer.name}.sigma_position": outer.sigma_position,
            f"{outer.name}.sigma_rotation": turn,
        }
        for name, sigma in stated.items():
            if not sigma:
                wanted = "a number above zero is expected; state it in the airframe file"
                raise HaltereError(f"{airframe.name}: {name} is {sigma}, {wanted}")
        accel, gyro, position, angle = stated.values()
        walks = (imu.sigma_accel_walk or 0.0, imu.sigma_gyro_walk or 0.0)

        def six(*pair: float | None) -> Array:
            return jnp.asarray(np.repeat(np.asarray(pair, float), 3))

        return cls(
            six(accel, gyro),
            six(*walks),
            jnp.asarray(float(speed)),
            six(position, angle),
            jnp.asarray(np.full(3, WIND_WALK)),
            jnp.asarray(0.0),
        )


class Steps(NamedTuple):
    """IMU steps; leading axes as many as wanted."""

    dt: Array
    """() s; zero for a step that is none."""
    speeds: Array
    """(N,) rad/s, held or averaged over the step."""
    imu: Array
    """(6,) specific force and rate at the beginning of the step."""
    imu_valid: Array
    """() bool."""
    rotor_accelerations: Array
    """(N,) rad/s2, rotor accelerations; only some effects ask for it."""


class Frames(NamedTuple):
    """A flight: K poses, each followed by n steps."""

    position: Array
    """(K, 3) m, world."""
    wxyz: Array
    """(K, 4)."""
    pose_valid: Array
    """(K, 6) which of position and rotation count: a position sensor has no rotation."""
    steps: Steps
    """(K, n, ...)."""


class VehicleBelief(NamedTuple):
    """What the filter holds true."""

    mean: Mean
    cov: Array
    """(n, n) of the error in the filter's coordinates."""


class FilterHistory(NamedTuple):
    """What a run left at every step, (K, n, ...): moving blocks after the IMU, noise, and how readings fitted."""

    moving: Mean
    noise: Array
    imu_nis: Array
    pose_nis: Array
    """(K,)."""
    pose_used: Array
    """(K,) bool."""


def with_noise(cov: Array, noise: VehicleNoise, rotors: int) -> Array:
    """(n + N, n + N): the covariance with that of a fresh speed noise beside it."""
    n = cov.shape[0]
    wide = jnp.concatenate([cov, jnp.zeros((n, rotors))], axis=1)
    fresh = jnp.concatenate([jnp.zeros((rotors, n)), noise.speed**2 * jnp.eye(rotors)], axis=1)
    return jnp.concatenate([wide, fresh])


def stepped(
    coordinates: VehicleCoordinates, cov: Array, Phi: Array, noise: VehicleNoise, dt: Array, mean: Mean
) -> Array:
    """(n, n) covariance after a step by Phi (d, n + N) of the covariance (n + N, n + N), from the state `mean`."""
    n, d = coordinates.space.dimension, coordinates.dynamic.dimension
    new = propagate(cov, Phi)[:n, :n]
    walks = jnp.concatenate([noise.walk, noise.wind])[: coordinates.walking]
    walk = jnp.concatenate([jnp.zeros(d), walks**2 * dt, jnp.zeros(n - d - coordinates.walking)])
    new = 0.5 * (new + new.T) + jnp.diag(walk)
    if "spin" in coordinates.effects:
        by_acceleration = noise.rotor_acceleration * dt * spin_answer(coordinates, mean)
        rates = coordinates.space.slices["rates"]
        new = new.at[rates, rates].add(by_acceleration.T @ by_acceleration)
    return new


def pose_residual(
    coordinates: VehicleCoordinates, mean: Mean, position: Array, wxyz: Array, valid: Array
) -> tuple[Array, Array, Array]:
    """Residual (6,) of a pose at position (3,), wxyz (4,), H (6, n), whether anything is left of it.

    Rows that are not valid (6,), or not finite, are zero.
    """
    moving = coordinates.moving.dimension

    def kernel(mean: Mean, position: Array, wxyz: Array, valid: Array) -> tuple[Array, Array, Array]:
        residual, H = scalarize(partial(linear_pose, moving=moving), mean, position, wxyz)
        kept = valid & jnp.isfinite(residual)
        H = jnp.pad(jnp.where(kept[:, None], H, 0.0), ((0, 0), (0, coordinates.space.dimension - moving - 6)))
        return jnp.where(kept, residual, 0.0), H, jnp.any(kept)

    found: tuple[Array, Array, Array] = as_kernel(coordinates, kernel, mean, position, wxyz, valid)
    return found


def pose_update(
    coordinates: VehicleCoordinates,
    noise: VehicleNoise,
    belief: VehicleBelief,
    position: Array,
    wxyz: Array,
    valid: Array,
    gate: float,
) -> tuple[VehicleBelief, Gain]:
    """The belief after a pose at position (3,), wxyz (4,); valid (6,) says which of the six count."""
    space = coordinates.space
    residual, H, usable = pose_residual(coordinates, belief.mean, position, wxyz, valid)
    gain, B = gain_of(belief.cov, H, noise.pose**2, residual, usable, gate)
    mean = as_kernel(coordinates, partial(shifted, space), belief.mean, gain.shift)
    cov = rotate_covariance(coordinates, belief.cov, turning(coordinates, belief.mean, mean), gain.gain, B)
    return VehicleBelief(mean, space.transported(belief.mean, gain.shift, cov)), gain


def imu_step(
    coordinates: VehicleCoordinates, noise: VehicleNoise, belief: VehicleBelief, step: Steps
) -> tuple[VehicleBelief, tuple[Mean, Array, Array]]:
    """The belief after an IMU reading and the step that follows; also the mean between them, the noise, the NIS."""
    space, N = coordinates.space, coordinates.count
    n = space.dimension

    def seen(mean: Mean, step: Steps) -> tuple[Array, Array, Array]:
        expected, H = linear_imu(mean, step.speeds, coordinates, step.rotor_accelerations)
        innovation = step.imu - expected
        valid = step.imu_valid & jnp.all(jnp.isfinite(innovation))
        return jnp.where(valid, innovation, 0.0), H, valid

    def gone(before: Mean, shift: Array, step: Steps) -> tuple[Mean, Mean, Array, Array]:
        mean = shifted(space, before, shift[:n])
        later, Phi = linear_step(
            mean, step.speeds + shift[n:], step.dt, coordinates, step.rotor_accelerations
        )
        return mean, {**mean, **later}, Phi, turning(coordinates, before, mean)

    innovation, H, valid = as_kernel(coordinates, seen, belief.mean, step)
    cov = with_noise(belief.cov, noise, N)
    gain, B = gain_of(cov, H, noise.imu**2, innovation, valid)
    mean, later, Phi, C = as_kernel(coordinates, gone, belief.mean, gain.shift, step)
    cov = stepped(
        coordinates, rotate_covariance(coordinates, cov, C, gain.gain, B), Phi, noise, step.dt, mean
    )
    if noise.change is not None:
        cov = cov + step.dt * change_spread(coordinates, mean, noise.change)
    return VehicleBelief(later, cov), (coordinates.moving.select(mean), gain.shift[n:], gain.nis)


def run(
    coordinates: VehicleCoordinates,
    noise: VehicleNoise,
    belief: VehicleBelief,
    frames: Frames,
    gate: float = jnp.inf,
) -> tuple[VehicleBelief, FilterHistory]:
    """The belief after all frames of a flight."""

    def frame(belief: VehicleBelief, now: Frames) -> tuple[VehicleBelief, FilterHistory]:
        belief, gain = pose_update(coordinates, noise, belief, now.position, now.wxyz, now.pose_valid, gate)
        belief, (moving, w, nis) = jax.lax.scan(partial(imu_step, coordinates, noise), belief, now.steps)
        return belief, FilterHistory(moving, w, nis, gain.nis, gain.used)

    return jax.lax.scan(frame, belief, frames)


def names(space: Space) -> Any:
    """A mean of the space without values, to show its structure."""
    return {block.name: 0 for block in space.blocks}


def _run_tree(kind: VehicleCoordinates) -> Any:
    nothing: Any = 0
    return VehicleBelief(names(kind.space), nothing), FilterHistory(names(kind.moving), *(nothing,) * 4)


@program_by_kind(_run_tree)
def filtered(
    kind: VehicleCoordinates,
    numbers: tuple[Array, Array],
    noise: VehicleNoise,
    belief: VehicleBelief,
    frames: Frames,
    gate: float,
) -> tuple[VehicleBelief, FilterHistory]:
    """`run` for coordinates of one kind, compiled once for each number of frames."""
    return run(kind.of_numbers(numbers), noise, belief, frames, gate)
