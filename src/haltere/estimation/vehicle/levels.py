"""Noise levels of a flight: deviations of readings, strength and bandwidth of disturbances, drift of biases.

They are found by restricted maximum likelihood. With the precision N of an adjoint r of the disturbance smoother, the
likelihood of a variance s has the slope sum(r^2 - N) / 2 (Koopman 1993, Disturbance smoother for state space models),
so it is stationary where

    s <- s sum(r^2) / sum(N)                                                                                   (1)

changes nothing. r^2 contains the part of the parameters that are estimated along. The rule keeps variances positive and
needs neither steps nor curvatures; a few times suffice. Bandwidths follow their slope with a bounded step.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from haltere.estimation.vehicle.motion import NODE
from haltere.estimation.vehicle.parameters import NominalVehicle, VehicleModel
from haltere.foundation.arrays import Array
from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.foundation.numbers import Bools, Floats
from haltere.foundation.verdict import USUAL_ARM, arm_length

READINGS = ("gyro", "accel", "position", "rotation")
KINDS = ("force", "gust", "torque_fast", "torque_slow")
NAMES = (
    *READINGS,
    "rotor",
    *(f"{kind}_{axes}" for kind in KINDS for axes in ("xy", "z")),
    *(f"{kind}_bandwidth" for kind in KINDS),
    "accel_walk",
    "gyro_walk",
)
IS_BANDWIDTH = np.array([name.endswith("bandwidth") for name in NAMES])
WIDEST = 6.0
"""Logarithm of a level over its first guess, at most."""
BOLDEST = 1.5
"""Change of a logarithm in one step, at most."""
STRONG_GUSTS = 0.7
"""m/s, deviation of gusts above which deviations of the numbers grow in proportion to them."""
GUSTS = [NAMES.index("gust_xy"), NAMES.index("gust_z")]
NO_DISTURBANCE = 1e-7
"""m/s2 and rad/s2, and 1/s: a model without disturbances."""
BANDWIDTH_STEP = 0.4
BANDWIDTH_CURVATURE = 200.0


class Levels(NamedTuple):
    """The levels in the shapes that the filter uses, SI."""

    readings: Array
    """(12,) deviations of gyro, accelerometer, position and rotation at a node."""
    rotor: Array
    """() deviation of a rotor speed over a step, rad/s."""
    disturbance: Array
    """(12,) standing deviation of the disturbances, m/s2 and rad/s2."""
    decay: Array
    """(12,) what is left of them after a step."""
    accel_walk: Array
    """() m/s2/sqrt(s)."""
    gyro_walk: Array
    """() rad/s/sqrt(s)."""


def first_levels(nominal: NominalVehicle) -> Floats:
    """(19,) logarithms of usual levels, for a vehicle of this size."""
    moments = np.diagonal(np.asarray(nominal.inertia))
    arm = arm_length(np.asarray(nominal.position)) or USUAL_ARM
    turn = 0.02 * float(nominal.mass) * STANDARD_GRAVITY * arm / moments
    usual = {"gyro": 0.01, "accel": 0.2, "position": 0.0015, "rotation": 0.004, "rotor": 2.0}
    usual |= {"force_xy": 0.2, "force_z": 0.2, "gust_xy": 0.5, "gust_z": 0.3}
    for kind in KINDS[2:]:
        usual |= {f"{kind}_xy": 0.5 * float(turn[0]), f"{kind}_z": 0.2 * float(turn[2])}
    usual |= {f"{kind}_bandwidth": 10.0 if kind in ("force", "torque_fast") else 1.0 for kind in KINDS}
    usual |= {"accel_walk": 0.01, "gyro_walk": 0.001}
    held = held_levels(nominal.model)
    return np.log([NO_DISTURBANCE if h else usual[name] for name, h in zip(NAMES, held, strict=True)])


def held_levels(model: VehicleModel) -> Bools:
    """(19,) which levels stay as they are: a model without disturbances has none to find."""
    return np.array([model == "paper" and name.startswith(KINDS) for name in NAMES])


def gust_of(log_levels: Floats) -> float:
    """Largest deviation of the gusts, m/s, from the logarithms of the levels (19,)."""
    return float(np.exp(np.max(log_levels[GUSTS])))


def gust_factor(log_levels: Floats) -> float:
    """On the deviations of what was learnt: the air is known less well than the rotors."""
    return max(gust_of(log_levels) / STRONG_GUSTS, 1.0)


def unpack(log_levels: Array) -> Levels:
    """The levels from their logarithms (19,)."""
    level = dict(zip(NAMES, jnp.exp(log_levels), strict=True))
    readings = jnp.repeat(jnp.stack([level[name] for name in READINGS]), 3)
    strength = jnp.stack([level[f"{kind}_{axes}"] for kind in KINDS for axes in ("xy", "xy", "z")])
    bandwidth = jnp.repeat(jnp.stack([level[f"{kind}_bandwidth"] for kind in KINDS]), 3)
    return Levels(
        readings,
        level["rotor"],
        strength,
        jnp.exp(-NODE * bandwidth),
        level["accel_walk"],
        level["gyro_walk"],
    )


def better_levels(log_levels: Floats, first: Floats, square_sums: Floats, precisions: Floats) -> Floats:
    """(19,) logarithms after one step of (1).

    Args:
        log_levels: as they are.
        first: the first guess, around which they are held.
        square_sums: (19,) sums of r^2; of bandwidths the slope of the likelihood in their logarithm.
        precisions: (19,) sums of N.
    """
    ratio = 0.5 * np.log(np.maximum(square_sums, 1e-12) / np.maximum(precisions, 1e-12))
    slope = np.clip(square_sums / BANDWIDTH_CURVATURE, -BANDWIDTH_STEP, BANDWIDTH_STEP)
    step = np.where(IS_BANDWIDTH, slope, np.clip(ratio, -BOLDEST, BOLDEST))
    return np.clip(log_levels + step, first - WIDEST, first + WIDEST)
