"""The likelihood of a flight with its states integrated out: one pass forwards, one backwards.

Around a nominal motion and coordinates z the model is linear: with the error e_k of the state at node k and a step d of
the coordinates,

    e_k+1 = F_k e_k + G_k d + c_k + process noise,   residual r_k = H_k e_k + D_k d + noise                      (1)

A Kalman filter at d = 0 carries the mean m, its slope B = de/dd and the covariance P. Its whitened innovations i and
their slopes W give the normal equations of d with everything else integrated out,

    A = sum W^T W,   g = sum W^T i,   d = (A + 1)^-1 (g - z + b),   covariance (A + 1)^-1                        (2)

for coordinates that are whitened by their prior. b is what the coordinates change in F and H: by Fisher's identity the
slope of the likelihood is the expectation of that of states and readings together, and with the filtered covariance P,
the smoothed one S, the variance R of the readings and the precision N of the adjoint after the step

    b_j = -sum <N F P, dF/dz_j> - sum <R^-1 H S, dH/dz_j>                                                       (3)

Without it coefficients of damping come out too small (they make the states more certain than they are). The pass
backwards is the disturbance smoother of de Jong (1989): the adjoints give the states and the slopes of the likelihood
in the noise levels (`haltere.estimation.vehicle.levels`).
Both work on `CHUNK` nodes at a time, so that one program serves flights of every length.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from haltere.estimation.vehicle.levels import KINDS, NAMES, READINGS, Levels, unpack
from haltere.estimation.vehicle.linearisation import Linear, Readings, linearise, pose_residuals
from haltere.estimation.vehicle.motion import (
    BIAS,
    DISTURBANCE,
    ERROR,
    GUST,
    NODE,
    RotorInputs,
    plus,
    rates_and_readings,
)
from haltere.estimation.vehicle.parameters import CoordinateLayout, NominalVehicle, vehicle_of
from haltere.foundation.arrays import Array
from haltere.foundation.numbers import Floats
from haltere.foundation.programs import CachedProgram
from haltere.lie import so3

CHUNK = 250
"""Nodes of a program: 5 s."""
START = (1.0, 1.0, 0.1, 1.0)
"""Deviation of the first guess at the first node: m, m/s, rad, rad/s."""
START_BIAS = (0.5, 0.05)
"""m/s2, rad/s."""
COUPLED = np.array([*range(3, 24)])
"""Of the error: velocity, attitude, momentum rate and disturbances, whose effect depends on the coordinates."""
ROUNDING = 1e-5
"""Process deviation of position and attitude over a step, m and rad: keeps the covariance definite."""


def coupling_slopes(
    layout: CoordinateLayout,
    nominal: NominalVehicle,
    z: Array,
    x: Array,
    readings: Readings,
    on_step: Array,
    on_reading: Array,
    state_slopes: Array,
) -> tuple[Array, Array]:
    """Return b of (3) of the nodes of a chunk: (n,) at fixed states, and (n,) what the states add, times `root`.

    F is taken to first order in the step. The states follow the coordinates, and what depends on both (drag on the
    velocity of the air) follows them: `state_slopes` (K, 30, n) is that of the smoothed states in the coordinates,
    times `root`.
    """

    def total(z: Array, errors: Array) -> Array:
        vehicle = vehicle_of(layout, nominal, z)

        def one(x: Array, at: Array, own: Readings, on_step: Array, on_reading: Array) -> Array:
            def f(error: Array) -> tuple[Array, Array]:
                y = plus(plus(x, at), jnp.zeros(ERROR).at[COUPLED].set(error))
                later = own.pose_later - vehicle.pose_delay
                moved, w, turn, imu, place, q = rates_and_readings(
                    vehicle, y, RotorInputs(*own.rotors), later
                )
                q1 = so3.box_plus_wxyz(y[6:10], NODE * w)
                turned = [so3.box_minus_wxyz(now, jax.lax.stop_gradient(now)) for now in (q1, q)]
                step = jnp.concatenate([NODE * moved, turned[0], NODE * turn])
                return step, jnp.concatenate([imu, place, turned[1]])

            F, H = jax.jacfwd(f)(jnp.zeros(on_step.shape[1]))
            return -jnp.sum(on_step * F) - jnp.sum(on_reading * H)

        return jnp.sum(jax.vmap(one)(x, errors, readings, on_step, on_reading))

    in_z, in_x = jax.grad(total, argnums=(0, 1))(z, jnp.zeros((x.shape[0], ERROR)))
    return in_z, jnp.einsum("ki,kin->n", in_x, state_slopes)


class Carry(NamedTuple):
    """Between two chunks of the pass forwards."""

    m: Array
    B: Array
    P: Array


class Backward(NamedTuple):
    """Between two chunks of the pass backwards: adjoint, its slopes in the coordinates, its precision."""

    adjoint: Array
    slopes: Array
    precision: Array


class Sums(NamedTuple):
    """Sums of r^2 and of N of equation (1) of `levels` over nodes, and slopes of the likelihood in the decay."""

    process: Array
    process_precision: Array
    rotor: Array
    rotor_precision: Array
    decay: Array
    readings: Array
    readings_precision: Array


class Mean(NamedTuple):
    """What the disturbances fluctuate around: the wind, and zero."""

    value: Array
    """(12,)."""
    slope: Array
    """(12, n) in the coordinates."""


def mean_disturbance(layout: CoordinateLayout, nominal: NominalVehicle, z: Array | Floats) -> Mean:
    """The wind at coordinates z (n,), among the disturbances."""
    value, slope = jnp.zeros(3), jnp.zeros((3, layout.size))
    if "wind" in layout.slices:
        wind = layout.slices["wind"]
        value = (nominal.mean + nominal.sigma * z)[wind]
        slope = slope.at[:, wind].set(jnp.diag(jnp.asarray(nominal.sigma)[wind]))
    return Mean(jnp.zeros(12).at[GUST].set(value), jnp.zeros((12, layout.size)).at[GUST].set(slope))


def start(log_levels: Array, mean: Mean, first: Array) -> Carry:
    """The belief before the first node, whose nominal state is `first` (31,)."""
    levels = unpack(log_levels)
    place = jnp.repeat(jnp.asarray(START) ** 2, 3)
    bias = jnp.repeat(jnp.asarray(START_BIAS) ** 2, 3)
    m = jnp.concatenate([jnp.zeros(12), mean.value - first[13:25], -first[25:]])
    B = jnp.zeros((ERROR, mean.slope.shape[1])).at[DISTURBANCE].set(mean.slope)
    return Carry(m, B, jnp.diag(jnp.concatenate([place, levels.disturbance**2, bias])))


def forwards(
    log_levels: Array,
    mean: Mean,
    linear: Linear,
    weights: Array,
    loose: Array,
    x: Array,
    after: Array,
    carry: Carry,
) -> tuple[Carry, tuple[Array, ...]]:
    """The Kalman filter over a chunk.

    Args:
        log_levels: (19,).
        mean: of the disturbances.
        linear: equation (1).
        weights: (K, 12) of the readings; 0 where there is none.
        loose: (K,) factor on the error of rotor speeds: large where they are not known.
        x: (K, 31) nominal states.
        after: (K, 31) those of the next nodes.
        carry: before the chunk.

    Returns:
        The belief after it, and for each node what the pass backwards needs: whitened innovation and slopes, log
        determinant, belief after the reading, gains.
    """
    levels = unpack(log_levels)
    noise = process_noise(levels)

    def node(carry: Carry, own: tuple[Array, ...]) -> tuple[Carry, tuple[Array, ...]]:
        return filter_node(levels, mean, noise, carry, Linear(*own[:7]), *own[7:])

    return jax.lax.scan(node, carry, (*linear, weights, loose, x, after))


def filter_node(
    levels: Levels,
    mean: Mean,
    noise: Array,
    carry: Carry,
    linear: Linear,
    weight: Array,
    loose: Array,
    x: Array,
    after: Array,
) -> tuple[Carry, tuple[Array, ...]]:
    """One node of `forwards`: the reading, then the step to the next node; `noise` (30, 30) is that of the step."""
    F, G, c, H, D, r, rotor = linear
    read = weight > 0.0
    H, D, r = jnp.where(read[:, None], H, 0.0), jnp.where(read[:, None], D, 0.0), jnp.where(read, r, 0.0)
    variance = jnp.where(read, levels.readings**2 / jnp.where(read, weight, 1.0), 1.0)
    HP = H @ carry.P
    C = jnp.linalg.cholesky(HP @ H.T + jnp.diag(variance))
    right = jnp.concatenate([(r - H @ carry.m)[:, None], H @ carry.B + D, HP], axis=1)
    white = solve_triangular(C, right, lower=True)
    n = carry.B.shape[1]
    i, W, gain = white[:, 0], white[:, 1 : 1 + n], white[:, 1 + n :]
    m, B, P = carry.m + gain.T @ i, carry.B - gain.T @ W, carry.P - gain.T @ gain
    log_det = 2.0 * jnp.sum(jnp.log(jnp.diagonal(C)))
    c = c.at[DISTURBANCE].set(levels.decay * x[13:25] + (1.0 - levels.decay) * mean.value - after[13:25])
    G = G.at[DISTURBANCE].set((1.0 - levels.decay)[:, None] * mean.slope)
    P1 = propagate(F, P, levels.decay) + noise + (loose * levels.rotor) ** 2 * (rotor @ rotor.T)
    ahead = Carry(step(F, m, levels.decay) + c, step(F, B, levels.decay) + G, 0.5 * (P1 + P1.T))
    return ahead, (i, W, log_det, m, B, P, gain, C, H)


def process_noise(levels: Levels) -> Array:
    """(30, 30) of one step, rotors not counted."""
    q = jnp.zeros(ERROR).at[DISTURBANCE].set(levels.disturbance**2 * (1.0 - levels.decay**2))
    q = q.at[BIAS].set(NODE * jnp.repeat(jnp.stack([levels.accel_walk, levels.gyro_walk]) ** 2, 3))
    return jnp.diag(q.at[:3].set(ROUNDING**2).at[6:9].set(ROUNDING**2))


def step(F: Array, right: Array, decay: Array) -> Array:
    """F times a vector or matrix: motion by F, disturbances decay, biases stay."""
    tail = decay if right.ndim == 1 else decay[:, None]
    return jnp.concatenate([F[:12] @ right, tail * right[DISTURBANCE], right[BIAS]])


def propagate(F: Array, P: Array, decay: Array) -> Array:
    """F P F^T."""
    return step(F, step(F, P, decay).T, decay)


def backwards(
    log_levels: Array,
    mean: Mean,
    linear: Linear,
    weights: Array,
    loose: Array,
    x: Array,
    filtered: tuple[Array, ...],
    d: Array,
    root: Array,
    carry: Backward,
) -> tuple[Backward, Array, tuple[Array, Array, Array], Sums]:
    """The disturbance smoother over a chunk, from its end.

    Args:
        log_levels: (19,).
        mean: of the disturbances.
        linear: equation (1).
        weights: (K, 12) of the readings.
        loose: (K,) factor on the error of rotor speeds.
        x: (K, 31) nominal states.
        filtered: of `forwards`.
        d: (n,) step of the coordinates.
        root: (n, n) square root of their covariance.
        carry: after the chunk.

    Returns:
        The adjoints before it, errors of the states (K, 30), the factors (K, 12, 21) of dF and dH in (3), and sums over
        the nodes.
    """
    levels = unpack(log_levels)

    def node(carry: Backward, own: tuple[Array, ...]) -> tuple[Backward, tuple[Array, ...]]:
        F, rotor, weight, loose, x, i, W, _, m, B, P, gain, C, H = own
        a, S, N = carry
        F = F.at[12:].set(0.0).at[DISTURBANCE, DISTURBANCE].set(jnp.diag(levels.decay))
        F = F.at[BIAS, BIAS].set(jnp.eye(6))
        process = (a**2 + jnp.sum(S**2, axis=1), jnp.diagonal(N))
        rotor = loose * rotor
        speeds = (jnp.sum((rotor.T @ a) ** 2) + jnp.sum((rotor.T @ S) ** 2), jnp.sum((N @ rotor) * rotor))
        a1, S1, N1 = F.T @ a, F.T @ S, F.T @ N @ F
        error, spread = m + B @ d + P @ a1, B @ root + P @ S1
        off = x[13:25] + error[DISTURBANCE] - mean.value - mean.slope @ d
        off_spread = spread[DISTURBANCE] - mean.slope @ root
        NFP = N[DISTURBANCE] @ (F @ P[:, DISTURBANCE])
        decay = a[DISTURBANCE] * off - jnp.diagonal(NFP)
        decay = decay + jnp.sum(S[DISTURBANCE] * off_spread, axis=1)
        K = solve_triangular(C.T, gain, lower=False)
        inverse = solve_triangular(C, jnp.eye(C.shape[0]), lower=True)
        u = inverse.T @ (i - W @ d) - K @ a1
        U = -inverse.T @ (W @ root) - K @ S1
        left = (u**2 + jnp.sum(U**2, axis=1), jnp.sum(inverse**2, axis=0) + jnp.sum((K @ N1) * K, axis=1))
        over = jnp.where(weight > 0.0, 1.0 / jnp.where(weight > 0.0, weight, 1.0), 0.0)
        white = inverse @ H
        left_over = jnp.eye(ERROR) - K.T @ H
        before = white.T @ white + left_over.T @ N1 @ left_over
        smoothed = P - P @ N1 @ P
        on_step = (N[:12] @ (F @ P))[:, COUPLED]
        on_reading = (H @ smoothed)[:, COUPLED] * jnp.where(weight > 0.0, weight, 0.0)[:, None]
        on_reading = on_reading / levels.readings[:, None] ** 2
        ahead = Backward(a1 + H.T @ u, S1 + H.T @ U, 0.5 * (before + before.T))
        sums = (*process, *speeds, decay, over * left[0], over * left[1])
        return ahead, (error, on_step, on_reading, spread, *sums)

    own = (linear.F, linear.rotor, weights, loose, x, *filtered)
    ahead, (errors, on_step, on_reading, spread, *sums) = jax.lax.scan(node, carry, own, reverse=True)
    return ahead, errors, (on_step, on_reading, spread), Sums(*(jnp.sum(each, axis=0) for each in sums))


def level_sums(log_levels: Array, sums: Sums, first: Backward) -> tuple[Array, Array]:
    """(19,) squares and precisions that `better_levels` takes, of all nodes and of the adjoints before the first."""
    levels = unpack(log_levels)
    squares: dict[str, Array] = {}
    precisions: dict[str, Array] = {}

    def put(name: str, variance: Array, square: Array, precision: Array) -> None:
        squares[name], precisions[name] = jnp.sum(variance * square), jnp.sum(variance * precision)

    for k, name in enumerate(READINGS):
        own = slice(3 * k, 3 * k + 3)
        put(name, levels.readings[own] ** 2, sums.readings[own], sums.readings_precision[own])
    put("rotor", levels.rotor**2, sums.rotor, sums.rotor_precision)
    strength, moving = levels.disturbance**2, 1.0 - levels.decay**2
    before = (first.adjoint**2 + jnp.sum(first.slopes**2, axis=1), jnp.diagonal(first.precision))
    square, precision = (
        strength * (moving * every[DISTURBANCE] + start[DISTURBANCE])
        for every, start in zip((sums.process, sums.process_precision), before, strict=True)
    )
    stirring = (sums.process - sums.process_precision)[DISTURBANCE]
    slope = jnp.log(levels.decay) * levels.decay * (sums.decay - strength * levels.decay * stirring)
    one = jnp.ones(())
    for k, kind in enumerate(KINDS):
        across, along, own = slice(3 * k, 3 * k + 2), 3 * k + 2, slice(3 * k, 3 * k + 3)
        put(f"{kind}_xy", one, square[across], precision[across])
        put(f"{kind}_z", one, square[along], precision[along])
        put(f"{kind}_bandwidth", one, slope[own], jnp.zeros(3))
    for k, name in enumerate(("accel_walk", "gyro_walk")):
        own = slice(BIAS.start + 3 * k, BIAS.start + 3 * k + 3)
        variance = NODE * (levels.accel_walk, levels.gyro_walk)[k] ** 2
        put(name, variance, sums.process[own], sums.process_precision[own])
    return jnp.stack([squares[name] for name in NAMES]), jnp.stack([precisions[name] for name in NAMES])


class Programs(NamedTuple):
    """The functions of this module, compiled for a layout."""

    linearise: CachedProgram
    pose_residuals: CachedProgram
    forwards: CachedProgram
    backwards: CachedProgram
    level_sums: CachedProgram
    coupling_slopes: CachedProgram
    start: CachedProgram


@lru_cache(maxsize=4)
def programs(layout: CoordinateLayout) -> Programs:
    """Compiled when they first run; kept on disk where a folder for that is set."""
    leaf: Any = 0
    carry, back = Carry(leaf, leaf, leaf), Backward(leaf, leaf, leaf)

    def bound(function: Any) -> Any:
        def call(*args: Any) -> Any:
            return function(layout, *args)

        call.__name__ = function.__name__
        return call

    return Programs(
        CachedProgram(bound(linearise), layout, (0,) * 7),
        CachedProgram(bound(pose_residuals), layout, 0),
        CachedProgram(forwards, None, (carry, (0,) * 9)),
        CachedProgram(backwards, None, (back, 0, (0, 0, 0), Sums(*7 * (leaf,)))),
        CachedProgram(level_sums, None, (0, 0)),
        CachedProgram(bound(coupling_slopes), layout, (0, 0), fast_compile=True),
        CachedProgram(start, None, carry),
    )
