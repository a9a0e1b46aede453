"""What each rotor does once more, from rows kept at 100 Hz: with the air that it flew through, and with a covariance.

With F, T, b of `haltere.estimation.throw.effectiveness`, a_i the direction of F_i, r_i the position of rotor i, and
v_i = R^T (v - wind) + W x r_i its velocity through the air, thrust falls as it climbs and hub force grows as it slips:

    u_i  <-  u_i - k w_i a_i . v_i,        hub force = -h |F_i| w_i (v_i - a_i a_i . v_i)                  (1)

k and h are common to all rotors. A propeller loses 0.9 of its thrust for each unit of the advance ratio (Brandt and
Selig, AIAA 2011-1255), and its tip moves at about `TIP` m/s at full speed: k = 0.9 pi w_max / TIP, h = k / 2, both
good to `AIR`. Wind is good to `WIND` m/s. With F, T of the first solution all of this is linear in (k, k wind, h,
h wind), so it joins the regression as columns with priors; r_i x a_i follows from the shape of the inertia and T_i,
with the square of the radius of gyration taken for that of the arm. So do latencies, and for the force rows the
position and bias of the accelerometer.

Residuals are white noise of the sensors, differentiated for the gyro, through the low-pass, and slow forces of the
air with the correlation time `SLOW`: covariance s^2 ((1 - c) K_white + c K_slow) with c of `MIXES` of the largest
restricted likelihood, for force and torque rows each. To the covariance s^2 (X^T K^-1 X)^-1 of the estimate is added
what no residual shows: the scale error of the sensors, and `MODEL` of the share of the thrust that moving air can have
taken, k |v_i| / w_i, for each rotor.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import signal as filters

from haltere.estimation.throw.alignment import Alignment
from haltere.estimation.throw.effectiveness import (
    LEVER_UNIT,
    SPEED,
    SPIN_UP,
    Effectiveness,
    LatencySums,
    Learner,
    design,
    eliminated,
    inverse_definite,
    parabola,
    parabola_slope,
)
from haltere.estimation.throw.navigation import about_up
from haltere.estimation.throw.reckoning import DeadReckoning
from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.lie import so3

ROW_RATE = 100.0
"""Hz at which rows are kept."""
RETAINED = 100
TIP, AIR, WIND = 140.0, 0.6, 2.5
MODEL = 0.35
"""Of the thrust that moving air can have taken, what (1) leaves out."""
SLOW = 0.15
"""s."""
MIXES = (0.0, 0.03, 0.1, 0.3, 0.6, 0.9)
NUGGET = 1e-3
SCALE = 0.006
"""Relative, of gyro and accelerometer, per axis."""
VOLTAGE = 0.005
"""Relative, by which the largest speed changes with the battery while the vehicle flies."""

WEAK = 1e-8
"""Prior information, relative to the largest: it only decides what was never excited."""
REACTION = 1.4
"""Factor on the deviations of what a rotor's acceleration does: what the air does meanwhile looks alike."""


@pytree
@dataclass(frozen=True)
class RetainedRows:
    """Filtered signals, L latencies, and the motion beside them, of the last K moments."""

    row: Array
    """(K, L, 22 + 5 m)."""
    motor: Array
    """(K, L, 5, m)."""
    wxyz: Array
    """(K, 4) q_LI, velocity (K, 3) in L, rate (K, 3)."""
    velocity: Array
    rate: Array
    weight: Array
    """(K,) 1 since release."""

    @classmethod
    def none(cls, rotors: int, latencies: int, count: int = RETAINED) -> "RetainedRows":
        """Nothing kept yet."""
        shapes = ((latencies, 22 + 5 * rotors), (latencies, 5, rotors), (4,), (3,), (3,), ())
        return cls(*(jnp.zeros((count, *shape)) for shape in shapes))

    def retained(self, sums: LatencySums, reckoning: DeadReckoning, released: Array) -> "RetainedRows":
        """With the rows of now, and without the oldest."""
        one = jnp.where(released, 1.0, 0.0)
        now = RetainedRows(
            one * sums.sums.row,
            one * sums.sums.motor_row,
            reckoning.wxyz,
            reckoning.velocity,
            reckoning.rate,
            one,
        )
        moved: RetainedRows = jax.tree.map(lambda old, new: jnp.concatenate([old[1:], new[None]]), self, now)
        return moved


@pytree
@dataclass(frozen=True)
class Uncertainty:
    """Deviations of the numbers of an `Effectiveness`, by the same names."""

    force: Array
    torque: Array
    spin: Array
    max_speed: Array
    idle_speed: Array
    time_constant: Array
    shift: Array
    cov: Array
    """(6 m, 6 m) of force and torque, rows one after the other."""


@cache
def whitenings(cutoff: float, rate: float, differentiated: bool, count: int) -> tuple[Any, Any]:
    """(C, n, n) inverse Cholesky factors of the covariances for `MIXES`, and (C, n) logarithms of their diagonals."""
    impulse = np.zeros(int(rate))
    impulse[0] = 1.0
    seen = filters.lfilter(*filters.butter(2, cutoff, fs=rate), impulse)
    if differentiated:
        seen = np.diff(seen, prepend=0.0)
    step = round(rate / ROW_RATE)
    full = np.correlate(seen, seen, mode="full")[len(seen) - 1 :]
    white = np.zeros(count)
    shifts = full[::step][:count]
    white[: len(shifts)] = shifts / full[0]
    slow = np.exp(-np.arange(count) / (SLOW * ROW_RATE))
    index = np.abs(np.arange(count)[:, None] - np.arange(count))
    factors = [
        np.linalg.cholesky(((1.0 - c) * white + c * slow)[index] + NUGGET * np.eye(count)) for c in MIXES
    ]
    inverses = [np.linalg.inv(L) for L in factors]
    return np.array(inverses), np.array([np.log(np.diagonal(L)) for L in factors])


def refine(
    rows: RetainedRows,
    sums: LatencySums,
    first: Effectiveness,
    alignment: Alignment,
    known: tuple[Array, Array],
    learner: Learner,
    position_sigma: ArrayLike,
    bias: ArrayLike,
    latency_doubt: tuple[float, float],
    air: bool,
) -> tuple[Effectiveness, Uncertainty]:
    """The parameters with the air in the model, and their deviations.

    Args:
        rows: kept until now.
        sums: at the end.
        first: what these gave.
        alignment: velocity of the vehicle.
        known: shape (3, 3) of the inertia up to scale and its inverse, IMU axes.
        learner: that made the rows.
        position_sigma: of the IMU's position, m.
        bias: deviation of the accelerometer's bias, m/s2.
        latency_doubt: what is left to doubt of the latency of the force rows, and of that of the torque rows, s.
        air: whether there is air.
    """
    m = first.max_speed.shape[0]
    weights, slopes = parabola(sums_residual(sums)), parabola_slope(sums_residual(sums))
    per_second = learner.rate / (learner.latencies[1] - learner.latencies[0])
    row = jnp.einsum("l,klj->kj", weights, rows.row)
    moved = jnp.einsum("l,klj->kj", slopes, rows.row) * per_second
    pushes, torques = jax.vmap(lambda y: design(y, *known, m, learner.products))(row)
    moved_pushes, moved_torques = jax.vmap(lambda y: design(y, *known, m, learner.products))(moved)
    blown_force, blown_torque, share = _air_columns(rows, row, first, alignment, known, learner)
    if not air:
        blown_force, blown_torque = jnp.zeros_like(blown_force), jnp.zeros_like(blown_torque)
    n_air = blown_force.shape[-1]
    air_sigma = jnp.concatenate(
        [jnp.asarray([AIR]), jnp.full(3, WIND), 0.5 * jnp.asarray([2.0 * AIR]), jnp.full(3, 0.5 * WIND)]
    )
    air_mean = jnp.concatenate([jnp.ones(1), jnp.zeros(3), 0.5 * jnp.ones(1), jnp.zeros(3)])
    theta_force = jnp.concatenate(
        [first.force.ravel() * SPEED**2, jnp.asarray(first.shift) / LEVER_UNIT, jnp.zeros(3)]
    )
    theta_torque = jnp.concatenate([first.torque.ravel() * SPEED**2, first.spin.ravel() * SPIN_UP])
    late_force = jnp.einsum("kij,j->ki", moved_pushes, theta_force) - moved[:, :3]
    late_torque = jnp.einsum("kij,j->ki", moved_torques[..., : 6 * m], theta_torque) - moved[:, 3:6]
    of_position = jnp.full(3, (LEVER_UNIT / jnp.asarray(position_sigma)) ** 2)
    own_force = jnp.concatenate([jnp.zeros(3 * m), of_position, jnp.full(3, jnp.asarray(bias) ** -2.0)])
    parts = []
    for left, X, blown, moving, late_sigma, own, differentiated in (
        (
            row[:, :3], pushes, blown_force, late_force, latency_doubt[0],
            own_force,
            False,
        ),
        (row[:, 3:6], torques, blown_torque, late_torque, latency_doubt[1], jnp.zeros(torques.shape[-1]), True),
    ):  # fmt: skip
        p = X.shape[-1]
        every = jnp.concatenate([X, blown, moving[..., None]], axis=-1)
        information = jnp.concatenate([own, air_sigma**-2.0, jnp.full(1, late_sigma**-2.0)])
        mean = jnp.concatenate([jnp.zeros(p), air_mean, jnp.zeros(1)])
        if not air:
            information = information.at[p : p + n_air].set(1e12)
            mean = mean.at[p : p + n_air].set(0.0)
        parts.append(_generalised(left, every, information, mean, rows.weight, learner, differentiated, p))
    (x_force, P_force), (x_torque, P_torque) = parts
    ends = x_force[pushes.shape[-1]], x_torque[torques.shape[-1]]
    doubt = MODEL * share * jnp.maximum(jnp.abs(ends[0]), jnp.abs(ends[1]))
    return _combined(first, rows, sums, (x_force, P_force), (x_torque, P_torque), doubt)


def sums_residual(sums: LatencySums) -> Array:
    """(L,) sums of squares that the torque rows leave, as the sums have them for each latency."""
    R, s = sums.sums.R_torque, sums.sums.s_torque

    def left(R: Array, s: Array, e: Array) -> Array:
        scale = jnp.sqrt(jnp.maximum(jnp.diagonal(R), 1e-30))
        unit = R / jnp.outer(scale, scale) + 1e-6 * jnp.eye(R.shape[0])
        return e - s @ (inverse_definite(unit) @ (s / scale) / scale)

    return jnp.asarray(jax.vmap(left)(R, s, sums.sums.e_torque))


def _air_columns(
    rows: RetainedRows,
    row: Array,
    first: Effectiveness,
    alignment: Alignment,
    known: tuple[Array, Array],
    learner: Learner,
) -> tuple[Array, Array, Array]:
    """(K, 3, 8) columns of force and of torque rows for k, k wind, h, h wind, over the k expected.

    And (m,) the share of the thrust that moving air can have taken.
    """
    m = first.max_speed.shape[0]
    shape, inverse = known
    size = jnp.maximum(jnp.linalg.norm(first.force, axis=0), 1e-12)
    axis = first.force / size
    turned = shape @ first.torque / size
    square = jnp.median(jnp.sum(turned**2, axis=0)) ** -1.0
    lever = square * turned
    place = jnp.cross(axis.T, lever.T)
    k = 0.9 * jnp.pi * jnp.median(first.max_speed) / TIP
    w = SPEED * jnp.sqrt(jnp.maximum(row[:, 6 : 6 + m], 0.0))
    start = so3.from_wxyz(about_up(-alignment.psi)) @ alignment.start_velocity
    R = jax.vmap(so3.from_wxyz)(rows.wxyz)
    delay = ROW_RATE * (np.sqrt(2.0) / (2.0 * np.pi * learner.cutoff))
    whole, part = int(delay), delay - int(delay)

    def late(x: Array) -> Array:
        first_, second = jnp.roll(x, whole, 0), jnp.roll(x, whole + 1, 0)
        return jnp.asarray((1.0 - part) * first_ + part * second)

    back = late(R.transpose(0, 2, 1))
    own = late(jnp.einsum("kji,kj->ki", R, rows.velocity + start))
    rate = late(rows.rate)
    spun = jnp.cross(rate[:, None, :], place[None])
    ground = own[:, None, :] + spun
    winds = -jnp.broadcast_to(back[:, None], (back.shape[0], m, 3, 3))
    through = jnp.concatenate([ground[..., None], winds], axis=-1)
    along = jnp.einsum("im,kmic->kmc", axis, through)
    across = through - jnp.einsum("im,kmc->kmic", axis, along)
    pushed = -k * w[:, :, None] * along
    slipped = -k * w[:, :, None, None] * size[None, :, None, None] * across
    force = jnp.concatenate(
        [jnp.einsum("im,kmc->kic", first.force, pushed), jnp.sum(slipped, axis=1)], axis=-1
    )
    moment = jnp.cross(place[None, :, :, None], slipped, axis=2)
    turning = jnp.einsum("ij,kjc->kic", inverse, jnp.sum(moment, axis=1)) / square
    torque = jnp.concatenate([jnp.einsum("im,kmc->kic", first.torque, pushed), turning], axis=-1)
    speeds = jnp.linalg.norm(ground, axis=2)
    share = k * jnp.sum(w**3 * speeds, axis=0) / jnp.maximum(jnp.sum(w**4, axis=0), 1e-9)
    return force, torque, share


def _generalised(
    target: Array,
    X: Array,
    information: Array,
    mean: Array,
    weight: Array,
    learner: Learner,
    differentiated: bool,
    free: int,
) -> tuple[Array, Array]:
    """Solution (p,) and covariance (p, p) of the first `free` columns by generalised least squares."""
    inverses, logs = whitenings(learner.cutoff, learner.rate, differentiated, weight.shape[0])
    y = (target - X @ mean) * weight[:, None]
    Z = X * weight[:, None, None]
    used = 3.0 * jnp.sum(weight)
    scale = jnp.sqrt(jnp.maximum(jnp.sum(Z**2, axis=(0, 1)), 1e-30))
    degrees = jnp.maximum(used - free, 3.0)

    def solved(W: Array, log: Array) -> tuple[Array, Array, Array]:
        Y, V = jnp.einsum("kl,li->ki", W, y), jnp.einsum("kl,lij->kij", W, Z / scale)
        A, b = jnp.einsum("kij,kil->jl", V, V), jnp.einsum("kij,ki->j", V, Y)
        prior = information / scale**2
        weak = WEAK * jnp.max(jnp.diagonal(A))

        def again(_: int, now: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
            variance = now[0]
            P, lower = eliminated(A + jnp.diag(variance * prior + weak))
            x = P @ b
            left_over = jnp.sum((Y - V @ x) ** 2) + variance * jnp.sum(prior * x**2)
            return left_over / degrees, lower, P, x

        begin = (jnp.sum(Y**2) / degrees, jnp.zeros(()), jnp.eye(b.shape[0]), b)
        variance, lower, P, x = jax.lax.fori_loop(0, 4, again, begin)
        logdet = 6.0 * jnp.sum(log * weight)
        cost = degrees * jnp.log(variance) + logdet + lower
        return cost, x / scale + mean, variance * P / jnp.outer(scale, scale)

    cost, x, P = jax.vmap(solved)(jnp.asarray(inverses), jnp.asarray(logs))
    best = jnp.argmin(jnp.where(jnp.isfinite(cost), cost, jnp.inf))
    return jnp.asarray(x[best]), jnp.asarray(P[best])


def _combined(
    first: Effectiveness,
    rows: RetainedRows,
    sums: LatencySums,
    pushes: tuple[Array, Array],
    torques: tuple[Array, Array],
    doubt: Array,
) -> tuple[Effectiveness, Uncertainty]:
    (x, P), (z, Q) = pushes, torques
    m = doubt.shape[0]
    n = 3 * m
    force, torque = x[:n].reshape(3, m) / SPEED**2, z[:n].reshape(3, m) / SPEED**2
    spin = z[n : 2 * n].reshape(3, m) / SPIN_UP
    cov = jnp.zeros((2 * n, 2 * n)).at[:n, :n].set(P[:n, :n]).at[n:, n:].set(Q[:n, :n]) / SPEED**4
    both = jnp.concatenate([force, torque])
    blocks = jnp.concatenate([jnp.kron(jnp.eye(6)[i], both[i])[None] for i in range(6)])
    cov = cov + SCALE**2 * blocks.T @ blocks
    single = (both[:, None, :] * jnp.eye(m) * doubt).transpose(1, 0, 2).reshape(m, 6 * m)
    cov = cov + single.T @ single
    deviation = jnp.sqrt(jnp.diagonal(cov)).reshape(6, m)
    spin_sigma = REACTION * jnp.sqrt(
        jnp.diagonal(Q)[n : 2 * n].reshape(3, m) / SPIN_UP**2 + (SCALE * spin) ** 2
    )
    motor, motor_sigma = solve_motors(rows, sums)
    linear, root, idle, lag = motor
    uncertainty = Uncertainty(
        deviation[:3],
        deviation[3:],
        spin_sigma,
        jnp.hypot(motor_sigma[0], VOLTAGE * (linear + root + idle)),
        motor_sigma[1],
        motor_sigma[2],
        LEVER_UNIT * jnp.sqrt(jnp.diagonal(P)[n : n + 3]),
        cov,
    )
    better = replace(
        first, force=force, torque=torque, spin=spin, max_speed=linear + root + idle, linear=linear, root=root,
        idle_speed=idle, time_constant=lag, shift=LEVER_UNIT * x[n : n + 3],
    )  # fmt: skip
    return better, uncertainty


def solve_motors(rows: RetainedRows, sums: LatencySums) -> tuple[Array, Array]:
    """Linear, root, idle speed and lag (4, m); deviations (3, m) of largest speed, idle speed and lag.

    Residuals count as a first-order process with the correlation that they show from row to row.
    """
    z = jnp.einsum("l,kljm->kjm", parabola(sums_residual(sums)), rows.motor)
    unit = jnp.asarray([SPEED, SPEED, SPEED, SPEED / SPIN_UP])
    count = jnp.sum(rows.weight)

    def one(Z: Array, y: Array) -> tuple[Array, Array, Array]:
        A = Z.T @ Z
        P = inverse_definite(A + 1e-9 * jnp.max(jnp.diagonal(A)) * jnp.eye(4) + 1e-30 * jnp.eye(4))
        x = P @ (Z.T @ y)
        return x, P, y - Z @ x

    x, P, r = jax.vmap(one, (2, 1))(z[:, :4], z[:, 4])
    square = jnp.sum(r**2, axis=1)
    alike = jnp.sum(r[:, 1:] * r[:, :-1]) / jnp.maximum(jnp.sum(square), 1e-30)
    alike = jnp.clip(alike, 0.0, 0.9)
    many = jnp.maximum(count * (1.0 - alike) / (1.0 + alike), 4.0)
    P = P * (square / many)[:, None, None] * jnp.outer(unit, unit)
    top = jnp.asarray([1.0, 1.0, 1.0, 0.0])
    deviations = jnp.sqrt(jnp.stack([jnp.einsum("i,mij,j->m", top, P, top), P[:, 2, 2], P[:, 3, 3]]))
    return (x * unit).T, deviations
