"""The filter of a stream: states and coordinates a few nodes further, with the readings that have come.

The belief is that of `haltere.estimation.vehicle.marginal` before a node: the state x with the error e = B d + noise
of covariance P, and the error d of the coordinates z with precision L. Over a block of nodes the motion is predicted
from x, the model linearised around it, and with the whitened innovations i and their slopes W

    L <- L + sum W^T W,   d = L^-1 sum W^T i,   z <- z + d,   x <- x + m + B d                                   (1)

which is the extended Kalman filter of states and coordinates together, at the cost of the one of the states. Readings
are weighted by min(1, (c / s)^4), s their size over the deviation that states, coordinates and noise let expect. Where
the IMU does not fit, something may have hit the vehicle: velocity and rate become uncertain by what it reads.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular
from scipy import linalg

from haltere.estimation.vehicle.levels import unpack
from haltere.estimation.vehicle.linearisation import Linear, Readings, linearise, pose_residuals
from haltere.estimation.vehicle.marginal import (
    Carry,
    filter_node,
    mean_disturbance,
    process_noise,
    programs,
    start,
)
from haltere.estimation.vehicle.motion import ERROR, NODE, STATE, RotorInputs, advance, plus
from haltere.estimation.vehicle.nodes import FlightNodes
from haltere.estimation.vehicle.parameters import CoordinateLayout, NominalVehicle, vehicle_of
from haltere.estimation.vehicle.smoother import WITHOUT_ROTORS, FlightWork, SmoothedFlight, smooth
from haltere.estimation.vehicle.weights import IMU_TAIL, NEGLIGIBLE, POSE_TAIL
from haltere.flight import Flight
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array, double_precision
from haltere.foundation.numbers import Bools, Floats
from haltere.foundation.programs import CachedProgram

BLOCK = 10
"""Nodes of a block: 0.2 s."""
GROUPS = 4
"""Gyro, accelerometer, position, rotation: three readings each."""


class CausalBelief(NamedTuple):
    """What is believed before the reading of a node."""

    x: Array
    """(31,) state."""
    B: Array
    """(30, n) its error per error of the coordinates."""
    P: Array
    """(30, 30) covariance of the rest of its error."""
    z: Array
    """(n,) coordinates."""
    precision: Array
    """(n, n) of their error."""


class NodeBlock(NamedTuple):
    """What was read at the nodes of a block, (K, ...)."""

    readings: Readings
    later: Array
    """(P,) s after the node, of its poses."""
    poses: Array
    """(P, 7)."""
    present: Array
    """(P,) which of them there are."""
    imu_valid: Array
    """() whether gyro and accelerometer were read."""
    loose: Array
    """() factor on the error of rotor speeds."""
    active: Array
    """() whether there is such a node: a block may be shorter."""


def filter_block(
    layout: CoordinateLayout,
    nominal: NominalVehicle,
    log_levels: Array,
    belief: CausalBelief,
    block: NodeBlock,
) -> tuple[CausalBelief, Array]:
    """The belief before the node after a block, and (K, 4) the weights of the readings, NaN where there was none."""
    levels = unpack(log_levels)
    noise, mean = process_noise(levels), mean_disturbance(layout, nominal, belief.z)
    vehicle = vehicle_of(layout, nominal, belief.z)
    root = jnp.linalg.cholesky(belief.precision)
    readings = block.readings

    def ahead(x: Array, own: tuple[Array, Array]) -> tuple[Array, Array]:
        rotors, active = own
        following = advance(vehicle, x, RotorInputs(*rotors))
        stays = levels.decay * x[13:25] + (1.0 - levels.decay) * mean.value
        following = following.at[13:25].set(stays)
        return jnp.where(active, following, x), x

    last, x = jax.lax.scan(ahead, belief.x, (readings.rotors, block.active))
    after = jnp.concatenate([x[1:], last[None]])
    linear = linearise(layout, nominal, belief.z, x, after, readings)
    of_poses = pose_residuals(layout, nominal, belief.z, x, readings.rotors, block.later, block.poses)

    def node(carry: Carry, own: tuple[Any, ...]) -> tuple[Carry, tuple[Array, Array, Array]]:
        (F, G, c, H, D, r, rotor), of_poses, present, imu_valid, loose, active, x, after = own
        slopes = solve_triangular(root, (H @ carry.B + D).T, lower=True)
        variance = jnp.sum((H @ carry.P) * H, axis=1) + jnp.sum(slopes**2, axis=0) + levels.readings**2
        predicted = H @ carry.m
        size_imu = _sizes(r - predicted[:6], variance[:6])
        size_pose = jax.vmap(lambda e: _sizes(e - predicted[6:], variance[6:]))(of_poses)
        imu = jnp.where(imu_valid & active & jnp.isfinite(size_imu), _weights(IMU_TAIL, size_imu), 0.0)
        there = present[:, None] & active & jnp.isfinite(size_pose)
        pose = jnp.where(there, _weights(POSE_TAIL, size_pose), 0.0)
        each = jnp.repeat(pose, 3, axis=1)
        total = jnp.sum(each, axis=0)
        pose_residual = jnp.sum(jnp.where(each > 0.0, each * of_poses, 0.0), axis=0)
        pose_residual = pose_residual / jnp.maximum(total, 1e-12)
        weight = jnp.concatenate([jnp.repeat(imu, 3), total])
        weight = jnp.where(weight > NEGLIGIBLE, weight, 0.0)
        hit = jnp.where(imu_valid & active, 1.0 - jnp.minimum(imu, 1.0), 0.0)
        off = jnp.sum((r - predicted[:6]).reshape(2, 3) ** 2, axis=1) * hit
        kick = jnp.zeros(ERROR).at[3:6].set(NODE**2 * off[1]).at[9:12].set(off[0])
        own_linear = Linear(F, G, c, H, D, jnp.concatenate([r, pose_residual]), rotor)
        later, (i, W, *_) = filter_node(
            levels, mean, noise + jnp.diag(kick), carry, own_linear, weight, loose, x, after
        )
        following = jax.tree.map(lambda new, old: jnp.where(active, new, old), later, carry)
        best = jnp.max(jnp.where(there, pose, -1.0), axis=0)
        weights = jnp.concatenate([jnp.where(imu_valid & active, imu, -1.0), best])
        return following, (i, W, jnp.where(weights < 0.0, jnp.nan, weights))

    own = (linear, of_poses, block.present, block.imu_valid, block.loose, block.active, x, after)
    carry, (i, W, weights) = jax.lax.scan(node, Carry(jnp.zeros(ERROR), belief.B, belief.P), own)
    flat = W.reshape(-1, layout.size)
    precision = belief.precision + flat.T @ flat
    d = cho_solve((jnp.linalg.cholesky(precision), True), flat.T @ i.reshape(-1))
    moved = plus(last, carry.m + carry.B @ d)
    return CausalBelief(moved, carry.B, carry.P, belief.z + d, precision), weights


def _sizes(residual: Array, variance: Array) -> Array:
    """Size of each group of three residuals over what is expected."""
    return jnp.sqrt(jnp.mean((residual**2 / variance).reshape(-1, 3), axis=1))


def _weights(tail: float, size: Array) -> Array:
    return jnp.minimum(1.0, tail / jnp.maximum(size, 1e-12)) ** 4


def block_of(nodes: FlightNodes, delays: tuple[float, float, float], slots: int) -> NodeBlock:
    """The block of at most `BLOCK` nodes, with delays of poses, rotor speeds and accelerometer, s."""
    pose_delay, rotor_delay, accel_delay = delays
    count = len(nodes.time)
    rotors = nodes.rotors_at(rotor_delay)
    accel = nodes.accel_at(accel_delay)
    later, poses, present = nodes.poses_at(pose_delay, slots)
    number = np.maximum(present.sum(axis=1), 1)
    mean = np.where(present.any(axis=1), np.sum(later * present, axis=1) / number, pose_delay)
    poses = np.where(present[..., None], poses, UPRIGHT)
    valid = nodes.imu_valid & nodes.rotor_valid  # what an IMU reads depends on the rotors
    loose = np.where(nodes.rotor_valid, 1.0, WITHOUT_ROTORS)
    more = BLOCK - count

    def fill(values: Any) -> Any:
        return np.concatenate([values, np.repeat(values[-1:], more, axis=0)]) if more else values

    parts: Any = [*rotors, nodes.gyro, *accel, mean, later, poses, present, valid, loose]
    parts = [fill(each) for each in parts]
    later, poses, present, valid, loose = parts[6:]
    active: Any = np.arange(BLOCK) < count
    return NodeBlock(Readings(*parts[:6]), later, poses, present, valid, loose, active)


UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
"""A pose that stands where there is none."""


@lru_cache(maxsize=4)
def block_program(layout: CoordinateLayout) -> CachedProgram:
    """`filter_block`, compiled when it first runs."""

    def call(*args: Any) -> Any:
        return filter_block(layout, *args)

    call.__name__ = filter_block.__name__
    leaf: Any = 0
    return CachedProgram(call, layout, (CausalBelief(*5 * (leaf,)), leaf))


def belief_after(nodes: FlightNodes, flight: SmoothedFlight) -> CausalBelief:
    """What is believed before the reading of the last node of a smoothed flight, from all nodes before it."""
    work = FlightWork(nodes, flight.nominal, programs(flight.layout))
    linear, weights, _ = work.linearise(flight.z, flight.states, flight.log_levels, flight.iterations)
    weights[-1] = 0.0
    parts = work.weighted(weights, flight.states)
    kept = work.filtered(linear, parts, flight.log_levels, flight.states)
    W = np.concatenate([np.asarray(each[1]) for each in kept])[: work.count].reshape(-1, len(flight.z))
    at = divmod(work.count - 1, len(kept[0][0]))
    m, B, P = (np.asarray(kept[at[0]][k])[at[1]] for k in (3, 4, 5))
    x: Any = np.asarray(plus(jnp.asarray(flight.states[-1]), jnp.asarray(m)))
    numbers: Any = (x, B, P, flight.z, W.T @ W + np.eye(len(flight.z)))
    return CausalBelief(*numbers)


def begin_again(belief: CausalBelief, nominal: NominalVehicle, log_levels: Floats, x: Floats) -> CausalBelief:
    """The belief at a state (31,) that is known roughly; what is known of the coordinates stays."""
    mean = mean_disturbance(nominal.layout, nominal, belief.z)
    fresh = start(jnp.asarray(log_levels), mean, jnp.zeros(STATE))
    calm: Any = np.array(x)
    calm[13:25] = np.asarray(mean.value)
    return belief._replace(x=calm, B=np.asarray(fresh.B), P=np.asarray(fresh.P))  # type: ignore[arg-type]


def is_finite(belief: CausalBelief) -> bool:
    """Whether all its numbers are."""
    return all(bool(np.isfinite(part).all()) for part in belief)


def has_lost(weights: Floats) -> Bools:
    """(K,) nodes whose readings do not fit: no pose, or neither gyro nor accelerometer, counts."""
    with np.errstate(invalid="ignore"):
        pose = (weights[:, 2:] < FITS).any(axis=1)
        imu = (weights[:, :2] < FITS).any(axis=1)
    return np.asarray(pose | imu)


FITS = 0.1
"""Weight of a reading from which on it fits."""


class SmoothedStretch(NamedTuple):
    """A smoothed stretch of flight, and what is believed before the reading of its last node, at `time` s."""

    flight: SmoothedFlight
    belief: CausalBelief
    slots: int
    time: float


@double_precision()
def smooth_stretch(
    flight: Flight, nominal: NominalVehicle, rotor_names: tuple[str, ...]
) -> SmoothedStretch | str:
    """A stretch of flight smoothed, or why it could not be."""
    try:
        nodes = FlightNodes.from_flight(flight, rotor_names)
        found = smooth(nodes, nominal)
        belief = belief_after(nodes, found)
    except (HaltereError, linalg.LinAlgError, ValueError) as error:
        return f"{flight.duration:.1f} s could not be smoothed: {error}"
    if not is_finite(belief):
        return f"smoothing {flight.duration:.1f} s gave numbers that are not finite"
    return SmoothedStretch(found, belief, nodes.slots, float(nodes.time[-1]) + flight.start * 1e-9)
