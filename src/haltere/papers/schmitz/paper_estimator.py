"""The payload estimators of [Schmitz] as its text has them: that of Listing 1, the closed form of Section III-C.

With levers l1 = L1 sin(a), l2 = L2 sin(a + b), l12 = l1 + l2 (a, b joint angles; the base's tilt is added to a once),
torques T = share times stall torque, w = weight of one servo:

    m1 = corr1 (T1 - (0.9 l1 + l12) w) / (l12 g),  m2 = corr2 (T2 - 0.5 l2 w) / (l2 g),  mass = (m1 + m2) / 2    (1)
    average <- (n average + mass) / (n + 1)                                                                     (2)
    force = (T1 - T2) / l1,   offset = T2 / force - l2                                                          (3)

The listing's signs count the load against the joint's axis; here it counts along it. g includes the base's vertical
acceleration. corr 2.4 and 1.65 stand for losses in the gears. Where a lever vanishes the result is NaN.
"""

from dataclasses import dataclass

import numpy as np
from scipy import signal

from haltere.estimation.payload.record import ArmRecord
from haltere.foundation.constants import GRAVITY
from haltere.foundation.numbers import Numbers

NO_LEVER = 5e-3
"""m: a lever shorter than this tells nothing."""


@dataclass(frozen=True)
class PaperArm:
    """The numbers of Listing 1."""

    lengths: tuple[float, float] = (0.0733, 0.1055)
    stall: tuple[float, float] = (2.5, 1.8)
    corrections: tuple[float, float] = (2.4, 1.65)
    servo_mass: float = 0.06


def direct_mass(
    record: ArmRecord, arm: PaperArm | None = None, tilt: float = 0.0, vertical: Numbers | float = 0.0
) -> Numbers:
    """(..., T) kg of equation (1), for the base's tilt in rad and vertical acceleration in m/s2."""
    arm = arm or PaperArm()
    l1, l2 = lever_arms(record.angle, arm, tilt)
    l12 = l1 + l2
    g = GRAVITY + np.asarray(vertical)
    weight = arm.servo_mass * g
    torque = record.load * np.asarray(arm.stall)
    far, near = _or_nan(l12), _or_nan(l2)
    first = arm.corrections[0] * (torque[..., 0] - (0.9 * l1 + l12) * weight) / (far * g)
    second = arm.corrections[1] * (torque[..., 1] - 0.5 * l2 * weight) / (near * g)
    return np.asarray(0.5 * (first + second))


def running_average(mass: Numbers, memory: int = 20) -> Numbers:
    """(..., T) of equation (2), from zero at the beginning: an exponential memory of `memory` + 1 samples."""
    share = 1.0 / (memory + 1.0)
    return np.asarray(signal.lfilter([share], [1.0, share - 1.0], mass, axis=-1))


def mean_of_last(mass: Numbers, count: int = 20) -> Numbers:
    """(..., T) mean of the last `count` values, which the paper describes in words."""
    window = np.ones(count) / count
    state = np.repeat(mass[..., :1], count - 1, axis=-1)
    return np.asarray(signal.lfilter(window, [1.0], np.concatenate([state, mass], axis=-1))[..., count - 1 :])


def closed_form(record: ArmRecord, arm: PaperArm | None = None) -> tuple[Numbers, Numbers]:
    """(..., T) force in N and horizontal offset from the gripper in m, equation (3), of torques with corrections."""
    arm = arm or PaperArm()
    l1, l2 = lever_arms(record.angle, arm)
    torque = record.load * np.asarray(arm.stall) * np.asarray(arm.corrections)
    force = (torque[..., 0] - torque[..., 1]) / _or_nan(l1)
    offset = torque[..., 1] / np.where(np.abs(force) < 1e-3, np.nan, force) - l2
    return np.asarray(force), np.asarray(offset)


def lever_arms(angle: Numbers, arm: PaperArm, tilt: float = 0.0) -> tuple[Numbers, Numbers]:
    """l1 and l2 (...), m, of joint angles (..., 2), rad."""
    first = angle[..., 0] + tilt
    return arm.lengths[0] * np.sin(first), arm.lengths[1] * np.sin(first + angle[..., 1])


def _or_nan(lever: Numbers) -> Numbers:
    return np.where(np.abs(lever) < NO_LEVER, np.nan, lever)
