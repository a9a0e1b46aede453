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

from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from haltere.estimation.vehicle.levels import KINDS, NAMES, READINGS, Levels, unpack
from haltere.estimation.vehicle.linearisation import (
    Linear,
    Readings,
    linearise,
    over_nodes,
    pose_residuals,
    rotated_by,
    shift,
)
from haltere.estimation.vehicle.motion import (
    BIAS,
    DISTURBANCE,
    ERROR,
    GUST,
    NODE,
    RotorInputs,
    rates_and_readings,
    rotate_wxyz,
)
from haltere.estimation.vehicle.parameters import CoordinateLayout, NominalVehicle, VehicleNumbers, vehicle_of
from haltere.foundation.arrays import Array
from haltere.foundation.numbers import Floats
from haltere.foundation.programs import CachedProgram

CHUNK = 250
"""Nodes of a program: 5 s."""
START = (1.0, 1.0, 0.1, 1.0)
"""Deviation of the first guess at the first node: m, m/s, rad, rad/s."""
START_BIAS = (0.5, 0.05)
"""m/s2, rad/s."""
COUPLED = np.array([*range(3, 21)])
"""Of the error: velocity, attitude, momentum rate and disturbances, whose effect depends on the coordinates; the slow
disturbance of the angular acceleration, which does the same as the fast one, is counted with that."""
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
    vehicle, pull_back = jax.vjp(lambda z: vehicle_of(layout, nominal, z), z)
    columns = jnp.eye(ERROR)[:, COUPLED]

    def total(vehicle: VehicleNumbers, errors: Array) -> Array:
        def one(x: Array, at: Array, own: Readings, on_step: Array, on_reading: Array) -> Array:
            def f(error: Array) -> tuple[Array, Array]:
                y = shift(shift(x, at), error)
                later = own.pose_later - vehicle.pose_delay
                moved, w, turn, imu, place, q = rates_and_readings(
                    vehicle, y, RotorInputs(*own.rotors), later
                )
                step = jnp.concatenate(
                    [NODE * moved, rotated_by(rotate_wxyz(y[6:10], NODE * w)), NODE * turn]
                )
                return step, jnp.concatenate([imu, place, rotated_by(q)])

            def along(column: Array, on_step: Array, on_reading: Array) -> Array:
                slopes: tuple[Array, Array] = jax.jvp(f, (jnp.zeros(ERROR),), (column,))[1]
                return slopes[0] @ on_step + slopes[1] @ on_reading

            found: Array = jax.vmap(along, in_axes=-1)(columns, on_step, on_reading)
            return -jnp.sum(found)

        each: Array = over_nodes(one)(x, errors, readings, on_step, on_reading)
        return jnp.sum(each)

    in_vehicle, in_x = jax.grad(total, argnums=(0, 1))(vehicle, jnp.zeros((x.shape[0], ERROR)))
    return pull_back(in_vehicle)[0], jnp.einsum("ki,kin->n", in_x, state_slopes)


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
    """Sums of r^2 and of N of equation (1) of `levels` over nodes, and slopes of the likelihood in the decay.

    Each square stands beside what it grows by because the coordinates are estimated along (`_slopes`).
    """

    process: Array
    process_slopes: Array
    process_precision: Array
    rotor: Array
    rotor_slopes: Array
    rotor_precision: Array
    decay: Array
    decay_slopes: Array
    readings: Array
    readings_slopes: Array
    readings_precision: Array


class LevelSums(NamedTuple):
    """(19,) sums that the noise levels are found from.

    Attributes:
        square_sums: of r^2 in equation (1) of `levels` at fixed coordinates; of bandwidths the slope of the likelihood.
        slopes: what these grow by because the coordinates are estimated along.
        precisions: of N.
    """

    square_sums: Any
    slopes: Any
    precisions: Any


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
        The adjoints before it, errors of the states (K, 30), the factors (K, 12, 18) of dF and dH in (3) with the
        slopes (K, 30, n) of the states in the coordinates, times `root`, and sums over the nodes.
    """
    levels = unpack(log_levels)
    i, W, _, m, B, P, gain, C, H = filtered
    # What depends on a node alone is computed for all of them at once, which is faster than in the loop.
    inverse = jax.vmap(lambda C: solve_triangular(C, jnp.eye(C.shape[0]), lower=True))(C)
    K = jnp.swapaxes(inverse, 1, 2) @ gain
    left = jnp.einsum("kij,ki->kj", inverse, i - W @ d)
    left_slopes = jnp.swapaxes(inverse, 1, 2) @ (W @ root)
    certain = jnp.swapaxes(inverse, 1, 2) @ inverse
    noise = loose[:, None, None] * linear.rotor

    def node(carry: Backward, own: tuple[Array, ...]) -> tuple[Backward, tuple[Array, ...]]:
        F, rotor, H, K, left, left_slopes, certain = own
        a, S, N = carry
        process = (a**2, jnp.sum(S**2, axis=1), jnp.diagonal(N))
        speeds = (
            jnp.sum((rotor.T @ a) ** 2), jnp.sum((rotor.T @ S) ** 2), jnp.sum((N @ rotor) * rotor)
        )  # fmt: skip
        a1, S1, FN = (step_back(F, each, levels.decay) for each in (a, S, N))
        N1 = step_back(F, FN.T, levels.decay)
        u, U = left - K @ a1, -left_slopes - K @ S1
        KN = K @ N1
        precision = certain + KN @ K.T
        HKN = H.T @ KN
        before = N1 - HKN - HKN.T + H.T @ (precision @ H)
        readings = (u**2, jnp.sum(U**2, axis=1), jnp.diagonal(precision))
        ahead = Backward(a1 + H.T @ u, S1 + H.T @ U, 0.5 * (before + before.T))
        return ahead, (a, S, a1, S1, N1, FN, *process, *speeds, *readings)

    own = (linear.F, noise, H, K, left, left_slopes, certain)
    ahead, (a, S, a1, S1, N1, FN, *sums) = jax.lax.scan(node, carry, own, reverse=True)
    errors = m + B @ d + jnp.einsum("kij,kj->ki", P, a1)
    spread = B @ root + P @ S1
    off = x[:, 13:25] + errors[:, DISTURBANCE] - mean.value - mean.slope @ d
    off_spread = spread[:, DISTURBANCE] - mean.slope @ root
    NFP = jnp.swapaxes(FN, 1, 2) @ P
    decay = a[:, DISTURBANCE] * off - jnp.diagonal(NFP, axis1=1, axis2=2)[:, DISTURBANCE]
    decay_slopes = jnp.sum(S[:, DISTURBANCE] * off_spread, axis=2)
    over = jnp.where(weights > 0.0, 1.0 / jnp.where(weights > 0.0, weights, 1.0), 0.0)
    HP = H @ P
    on_reading = coupled(HP - (HP @ N1) @ P) * (weights / levels.readings**2)[:, :, None]
    process, process_slopes, process_precision, *more = sums
    rotor, rotor_slopes, rotor_precision, *readings = more
    total = Sums(
        process, process_slopes, process_precision, rotor, rotor_slopes, rotor_precision, decay, decay_slopes,
        *(over * each for each in readings),
    )  # fmt: skip
    return (
        ahead,
        errors,
        (coupled(NFP[:, :12]), on_reading, spread),
        jax.tree.map(partial(jnp.sum, axis=0), total),
    )


def coupled(factors: Array) -> Array:
    """The columns `COUPLED` of factors (K, 12, 30)."""
    return factors[:, :, COUPLED].at[:, :, -3:].add(factors[:, :, 21:24])


def step_back(F: Array, right: Array, decay: Array) -> Array:
    """F^T times a vector or matrix, F as in `step`."""
    tail = decay if right.ndim == 1 else decay[:, None]
    own = jnp.concatenate([jnp.zeros_like(right[:12]), tail * right[DISTURBANCE], right[BIAS]])
    return F[:12].T @ right[:12] + own


def level_sums(log_levels: Array, sums: Sums, first: Backward) -> tuple[Array, Array, Array]:
    """`LevelSums` of all nodes and of the adjoints before the first."""
    levels = unpack(log_levels)
    found: dict[str, Array] = {}

    def put(name: str, variance: Array, *each: Array) -> None:
        found[name] = jnp.stack([jnp.sum(variance * one) for one in each])

    for k, name in enumerate(READINGS):
        own = slice(3 * k, 3 * k + 3)
        put(
            name,
            levels.readings[own] ** 2,
            *(each[own] for each in (sums.readings, sums.readings_slopes, sums.readings_precision)),
        )
    put("rotor", levels.rotor**2, sums.rotor, sums.rotor_slopes, sums.rotor_precision)
    strength, moving = levels.disturbance**2, 1.0 - levels.decay**2
    process = (sums.process, sums.process_slopes, sums.process_precision)
    before = (first.adjoint**2, jnp.sum(first.slopes**2, axis=1), jnp.diagonal(first.precision))
    strengths = [
        strength * (moving * every[DISTURBANCE] + start[DISTURBANCE])
        for every, start in zip(process, before, strict=True)
    ]
    stirring = ((sums.process - sums.process_precision)[DISTURBANCE], sums.process_slopes[DISTURBANCE])
    slopes = [
        jnp.log(levels.decay) * levels.decay * (decay - strength * levels.decay * own)
        for decay, own in zip((sums.decay, sums.decay_slopes), stirring, strict=True)
    ]
    one = jnp.ones(())
    for k, kind in enumerate(KINDS):
        across, along, own = slice(3 * k, 3 * k + 2), 3 * k + 2, slice(3 * k, 3 * k + 3)
        put(f"{kind}_xy", one, *(each[across] for each in strengths))
        put(f"{kind}_z", one, *(each[along] for each in strengths))
        put(f"{kind}_bandwidth", one, *(each[own] for each in slopes), jnp.zeros(3))
    for k, name in enumerate(("accel_walk", "gyro_walk")):
        own = slice(BIAS.start + 3 * k, BIAS.start + 3 * k + 3)
        variance = NODE * (levels.accel_walk, levels.gyro_walk)[k] ** 2
        put(name, variance, *(each[own] for each in process))
    squares, slopes_squares, precisions = jnp.stack([found[name] for name in NAMES], axis=1)
    return squares, slopes_squares, precisions


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
        CachedProgram(bound(pose_residuals), layout, 0, fast_compile=True),
        CachedProgram(forwards, None, (carry, (0,) * 9)),
        CachedProgram(backwards, None, (back, 0, (0, 0, 0), Sums(*11 * (leaf,)))),
        CachedProgram(level_sums, None, (0, 0, 0), fast_compile=True),
        CachedProgram(bound(coupling_slopes), layout, (0, 0), fast_compile=True),
        CachedProgram(start, None, carry, fast_compile=True),
    )
