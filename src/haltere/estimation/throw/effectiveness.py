"""What each rotor does, and how late its speed arrives, at the gyro's rate while rotors are excited one by one.

In IMU axes, about the centre of mass, with squared rotor speeds u = w^2, rotor accelerations w', body rate W, inertia
I known up to scale (from the tumbles, `haltere.identification.tumble.inertia`), the laws are

    f = F u + X(W, W') r + c                                       specific force                          (1)
    W' + I^-1 (W x I W) = T u + sum_i b_i w_i' + I^-1 (W x I b_i) w_i      angular acceleration            (2)
    w = a d + c sqrt(d) + w_0 - tau w'                             motor, d = command                      (3)

X r = force of what the tumbles left wrong of the IMU's position, c = bias, both small and with priors (`solve`);
F, T (3, m) = `force`, `torque`; b_i (3, m) = `spin`: the reaction to a rotor's acceleration, and with W the
gyroscopic torque of its momentum, both of the same three numbers because b_i = -I^-1 h_i / w_i. The scale of I drops
out of (2). [Blaha2024] and its method paper fit increments without the gyroscopic and the W x I W terms. (3) is
theirs: w_max = a + c + w_0. The same low-pass on both sides of each law. Where nobody knows I (`Learner.products`), a
ball is taken for it and six products of rates are added to each row of (2).

It is recursive least squares in information form: R <- l R + phi phi^T, s <- l s + phi y. Nothing can wind up,
because no covariance is propagated; `solve` inverts once, with a prior so weak that it only decides what was never
excited. `LatencySums` runs a few learners at once, each for one latency of the rotor speeds, and finds the latency.
"""

from dataclasses import dataclass
from typing import Any, Self

import jax
import jax.numpy as jnp

from haltere.dynamics.sensors.imu import lever_force
from haltere.estimation.core.low_pass import LowPass, State
from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.lie import so3

SPEED = 1000.0
"""rad/s: speeds are counted in it, accelerations of rotors in `SPIN_UP`, so that regressors are of order one."""
SPIN_UP = 1e5
LEVER_UNIT = 1e-2
"""m, in which the correction of the IMU's position is counted."""
PRODUCT = 100.0
"""(rad/s)^2, in which products of rates are counted."""
CUTOFF = 20.0
MOTOR_CUTOFF = 40.0
WEAK = 1e-6
"""Prior information, relative to the largest."""


@pytree
@dataclass(frozen=True)
class RegressionSums:
    """Filters and sums; everything starts at zero at release."""

    signals: State
    motors: State
    last: Array
    """(6 + 2 m,) body rate, specific force, rotor speeds and command of the sample before."""
    R_force: Array
    s_force: Array
    R_torque: Array
    s_torque: Array
    R_motor: Array
    s_motor: Array
    count: Array
    e_torque: Array
    """() sum of squares of the left side of (2), e_force () of (1), e_motor (m,) of (3)."""
    e_force: Array
    e_motor: Array
    row: Array
    """(22 + 5 m,) filtered signals of (1) and (2) at the last sample, motor_row (5, m) those of (3)."""
    motor_row: Array

    @classmethod
    def begin(cls, rotors: int, products: bool = False) -> Self:
        """Nothing seen; `products` as the learner has it."""
        m, zeros = rotors, jnp.zeros
        signals, motors, n = zeros(22 + 5 * m), zeros((5, m)), 3 * m + 6
        k = 6 * m + (18 if products else 0)
        return cls(
            (signals, signals), (motors, motors), zeros(6 + 2 * m), zeros((n, n)), zeros(n),
            zeros((k, k)), zeros(k), zeros((m, 4, 4)), zeros((m, 4)), zeros(()), zeros(()), zeros(()), zeros(m),
            signals, motors,
        )  # fmt: skip


@pytree
@dataclass(frozen=True)
class Effectiveness:
    """What each rotor does; rotors along the last axis, IMU axes."""

    force: Array
    """(3, m) F, m/s2 per (rad/s)^2."""
    torque: Array
    """(3, m) T, rad/s2 per (rad/s)^2."""
    spin: Array
    """(3, m) b, rad/s2 per rad/s2 of the rotor."""
    max_speed: Array
    """(m,) rad/s."""
    linear: Array
    """(m,) a of equation (3), rad/s."""
    root: Array
    """(m,) c of equation (3), rad/s."""
    idle_speed: Array
    """(m,) rad/s."""
    time_constant: Array
    """(m,) s."""
    shift: Array | float = 0.0
    """(3,) to add to the IMU's position that was given, m."""
    residual: Array | float = 0.0
    """() sum of squared residuals of the torque rows."""


@dataclass(frozen=True)
class Learner:
    """How to learn.

    Attributes:
        rate: of the samples, Hz.
        cutoff: of the low-pass of (1) and (2), Hz.
        motor_cutoff: of that of (3), Hz.
        forgetting: per sample; 1: nothing is forgotten.
        products: whether nobody knows the inertia.
        latencies: of the rotor speeds that are tried, in samples.
    """

    rate: float
    cutoff: float = CUTOFF
    motor_cutoff: float = MOTOR_CUTOFF
    forgetting: float = 1.0
    products: bool = False
    latencies: tuple[int, ...] = (0, 2, 4)

    def update(
        self,
        now: RegressionSums,
        gyro: Array,
        accel: Array,
        speeds: Array,
        command: Array,
        imu_position: Array,
        shape: Array,
        inverse: Array,
    ) -> RegressionSums:
        """One sample.

        Args:
            now: the sums until now.
            gyro: (3,) rad/s, IMU axes.
            accel: (3,) m/s2, IMU axes.
            speeds: (m,) rad/s.
            command: (m,) in 0..1, in force from this sample to the next.
            imu_position: (3,) from the centre of mass, IMU axes, m.
            shape: (3, 3) inertia up to scale, IMU axes.
            inverse: (3, 3) of it.
        """
        m = speeds.shape[0]
        fresh = now.count == 0
        last = jnp.concatenate([gyro, accel, speeds, command])
        before = jnp.where(fresh, last, now.last)
        # Slopes are those half a sample ago: so is everything else.
        slopes, mean = (last - before) * self.rate, 0.5 * (last + before)
        angular_acceleration, rotor_acceleration = slopes[:3], slopes[6 : 6 + m]
        rate, middle = mean[:3], mean[6 : 6 + m]
        coriolis = inverse @ jnp.cross(rate, shape @ rate)
        lever = lever_force(rate, angular_acceleration, imu_position)
        lever_matrix = ((so3.hat(angular_acceleration) + so3.hat(rate) @ so3.hat(rate)) * LEVER_UNIT).ravel()
        crossing = jnp.outer(middle, rate).ravel() / SPIN_UP
        raw = jnp.concatenate(
            [
                mean[3:6] - lever,
                angular_acceleration + coriolis,
                (middle / SPEED) ** 2,
                rotor_acceleration / SPIN_UP,
                crossing,
                jnp.outer(rate, rate)[jnp.triu_indices(3)] / PRODUCT,
                lever_matrix,
                jnp.ones(1),
            ]
        )
        signals, y = LowPass(self.cutoff, self.rate).step(now.signals, raw)
        pushes, rows = design(y, shape, inverse, m, self.products)
        d = jnp.clip(before[6 + m :], 0.0, 1.0)
        motor = jnp.stack([d, jnp.sqrt(d), jnp.ones(m), -rotor_acceleration / SPIN_UP, middle / SPEED])
        motors, z = LowPass(self.motor_cutoff, self.rate).step(now.motors, motor)
        regressors = z[:4].T
        keep = self.forgetting
        return RegressionSums(
            signals,
            motors,
            last,
            keep * now.R_force + pushes.T @ pushes,
            keep * now.s_force + pushes.T @ y[:3],
            keep * now.R_torque + rows.T @ rows,
            keep * now.s_torque + rows.T @ y[3:6],
            keep * now.R_motor + regressors[:, :, None] * regressors[:, None, :],
            keep * now.s_motor + regressors * z[4][:, None],
            now.count + 1.0,
            keep * now.e_torque + y[3:6] @ y[3:6],
            keep * now.e_force + y[:3] @ y[:3],
            keep * now.e_motor + z[4] ** 2,
            y,
            z,
        )


def design(row: Array, shape: Array, inverse: Array, rotors: int, products: bool) -> tuple[Array, Array]:
    """Regressors (3, 3 m + 6) of (1) and (3, 6 m), or (3, 6 m + 18) with products of rates, of (2).

    Args:
        row: (22 + 5 m,) filtered signals.
        shape: (3, 3) inertia up to scale, IMU axes.
        inverse: (3, 3) of it.
        rotors: m.
        products: whether nobody knows the inertia.
    """
    m, one = rotors, jnp.eye(3)
    squared_speeds, rotor_accelerations = row[6 : 6 + m], row[6 + m : 6 + 2 * m]
    crossed = row[6 + 2 * m : 6 + 5 * m].reshape(m, 3)
    rotated = jax.vmap(lambda c: inverse @ so3.hat(c) @ shape)(crossed)
    gyroscopic = rotated + rotor_accelerations[:, None, None] * one
    of_spin = gyroscopic.transpose(1, 2, 0).reshape(3, 3 * m)
    of_speed = jnp.kron(one, squared_speeds)
    torques = jnp.concatenate([of_speed, of_spin], axis=1)
    if products:
        torques = jnp.concatenate([torques, jnp.kron(one, row[6 + 5 * m : 12 + 5 * m])], axis=1)
    of_position = jnp.concatenate([row[-10:-1].reshape(3, 3), row[-1] * one], axis=1)
    return jnp.concatenate([of_speed, of_position], axis=1), torques


def solve(
    sums: RegressionSums, noise: ArrayLike = 0.1, position_sigma: ArrayLike = 2e-4, bias: ArrayLike = 0.02
) -> Effectiveness:
    """The parameters, from the sums.

    Args:
        sums: of `Learner.update`.
        noise: of one sample of the accelerometer, m/s2.
        position_sigma: of the IMU's position that was given, m; large if it was a guess.
        bias: standard deviation of the accelerometer's bias, m/s2.
    """
    m = sums.s_motor.shape[0]
    strength = jnp.maximum(noise, 0.05) ** 2
    prior = jnp.zeros(3 * m + 6).at[3 * m : 3 * m + 3].set((LEVER_UNIT / jnp.asarray(position_sigma)) ** 2)
    prior = prior.at[3 * m + 3 :].set(jnp.asarray(bias) ** -2.0)

    def solved(R: Array, s: Array) -> Array:
        scale = jnp.sqrt(jnp.maximum(jnp.diagonal(R), 1e-30))
        unit = R / jnp.outer(scale, scale) + WEAK * jnp.eye(R.shape[0])
        return solve_definite(unit, s / scale) / scale

    pushes = solved(sums.R_force + strength * jnp.diag(prior), sums.s_force)
    force = pushes[: 3 * m].reshape(3, m) / SPEED**2
    both = solved(sums.R_torque, sums.s_torque)
    motor = jax.vmap(solved)(sums.R_motor, sums.s_motor)
    motor = motor * jnp.asarray([SPEED, SPEED, SPEED, SPEED / SPIN_UP])
    linear, root, idle, lag = motor.T
    return Effectiveness(
        force,
        both[: 3 * m].reshape(3, m) / SPEED**2,
        both[3 * m : 6 * m].reshape(3, m) / SPIN_UP,
        linear + root + idle,
        linear,
        root,
        idle,
        lag,
        LEVER_UNIT * pushes[3 * m : 3 * m + 3],
        sums.e_torque - sums.s_torque @ both,
    )


def solve_definite(A: Array, b: Array) -> Array:
    """(n,) x of A x = b for A (n, n) symmetric and positive definite, by elimination.

    No library call: several of those at once, in a batch, were seen to wait for each other for ever on two cores.
    """
    both = jnp.concatenate([A, b[:, None]], axis=1)

    def clear(k: Array, M: Array) -> Array:
        row = M[k] / M[k, k]
        return (M - jnp.outer(M[:, k], row)).at[k].set(row)

    return jnp.asarray(jax.lax.fori_loop(0, A.shape[0], clear, both)[:, -1])


def inverse_definite(A: Array) -> Array:
    """(n, n) inverse of A (n, n), symmetric and positive definite."""
    return eliminated(A)[0]


def eliminated(A: Array) -> tuple[Array, Array]:
    """Inverse (n, n) and logarithm of the determinant () of A (n, n), symmetric and positive definite.

    By elimination after scaling to a unit diagonal; no library call, as in `solve_definite`.
    """
    n = A.shape[0]
    scale = jnp.sqrt(jnp.maximum(jnp.diagonal(A), 1e-300))
    both = jnp.concatenate([A / jnp.outer(scale, scale), jnp.eye(n)], axis=1)

    def clear(k: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        M, log = now
        row = M[k] / M[k, k]
        return (M - jnp.outer(M[:, k], row)).at[k].set(row), log + jnp.log(jnp.abs(M[k, k]))

    done, log = jax.lax.fori_loop(0, n, clear, (both, jnp.zeros((), A.dtype)))
    inverse = done[:, n:] / jnp.outer(scale, scale)
    return 0.5 * (inverse + inverse.T), log + 2.0 * jnp.sum(jnp.log(scale))


LATENCIES = (0, 2, 4)
"""Latencies that are tried unless others are asked for, in samples, evenly spaced."""


@pytree
@dataclass(frozen=True)
class LatencySums:
    """Sums for each latency of `LATENCIES`, and the samples that are held back.

    Telemetry brings a rotor's speed later than gyro and accelerometer bring what it did; half a millisecond already
    rotates the thrust axis of [Blaha2024]'s hexarotor by two degrees. A learner for the latency L_k gets IMU and
    commands that are held back by L_k, so that they meet the late speeds. What its torque rows leave,

        E_k = sum y^2 - s^T theta                                                                          (4)

    is a parabola in L near the truth, and so is every parameter: through the smallest E and its neighbours both are
    drawn, and read off at the smallest.
    """

    sums: RegressionSums
    """With a first axis for the latencies."""
    past: Array
    """(L, 6 + m) gyro, accelerometer and command of the last samples, the newest first."""

    @classmethod
    def begin(cls, rotors: int, products: bool = False, latencies: tuple[int, ...] = LATENCIES) -> Self:
        """Nothing seen."""
        one = RegressionSums.begin(rotors, products)
        many = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(latencies), *x.shape)), one)
        return cls(many, jnp.zeros((latencies[-1] + 1, 6 + rotors)))

    def hold_back(self, gyro: Array, accel: Array, command: Array) -> "LatencySums":
        """With one more sample to hold back; to be called from before release on."""
        newest = jnp.concatenate([gyro, accel, command])[None]
        return LatencySums(self.sums, jnp.concatenate([newest, self.past[:-1]]))

    def update(
        self, learner: Learner, speeds: Array, imu_position: Array, shape: Array, inverse: Array
    ) -> "LatencySums":
        """Rotor speeds (m,) that arrive now, against what was held back; the rest as `Learner.update`."""

        def one(now: RegressionSums, seen: Array) -> RegressionSums:
            return learner.update(now, seen[:3], seen[3:6], speeds, seen[6:], imu_position, shape, inverse)

        return LatencySums(jax.vmap(one)(self.sums, self.past[jnp.asarray(learner.latencies)]), self.past)

    def solve(
        self, rate: float, latencies: tuple[int, ...] = LATENCIES, **prior: ArrayLike
    ) -> tuple[Effectiveness, Array]:
        """The parameters and the latency, s; `prior` as for the function `solve`."""
        found: Any = jax.vmap(lambda one: solve(one, **prior))(self.sums)
        weights = parabola(found.residual)
        answer: Effectiveness = jax.tree.map(lambda x: jnp.tensordot(weights, x, 1), found)
        return answer, weights @ jnp.asarray(latencies, float) / rate


def parabola(values: Array) -> Array:
    """(n,) weights that read a quadratic off where `values` (n,) on an even grid are smallest."""
    return _weights(values)[0]


def parabola_slope(values: Array) -> Array:
    """(n,) weights that read the slope of a quadratic off there, per step of the grid."""
    return _weights(values)[1]


def _weights(values: Array) -> tuple[Array, Array]:
    n = values.shape[0]
    middle = jnp.clip(jnp.argmin(values), 1, n - 2)
    before, here, after = values[middle - 1], values[middle], values[middle + 1]
    bend = before - 2.0 * here + after
    shift = jnp.clip(0.5 * (before - after) / jnp.where(bend > 0.0, bend, jnp.inf), -1.0, 1.0)
    three = jnp.stack([0.5 * shift * (shift - 1.0), 1.0 - shift**2, 0.5 * shift * (shift + 1.0)])
    slopes = jnp.stack([shift - 0.5, -2.0 * shift, shift + 0.5])
    near = middle + jnp.arange(-1, 2)
    return jnp.zeros(n).at[near].set(three), jnp.zeros(n).at[near].set(slopes)
