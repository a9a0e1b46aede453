"""How unsure an estimate of a payload is beyond its model: how it varies over its stretch, and what an IMU's errors do.

The readings since the last change are cut into n blocks of equal time, and the estimate x_k is made without block k:

    cov_1 = (n - 1) / n  sum_k (x_k - mean x) (x_k - mean x)^T                                                 (1)

Efron and Stein, The Jackknife Estimate of Variance (1981). It contains gusts, vibration and friction that differ from
stroke to stroke, whatever their spectra. It knows nothing of what stays the same throughout, as an accelerometer that
reads a wrong direction of gravity does, so that is tried: with x' from forces that are rotated by an angle d about a
horizontal axis, from the tare on,

    cov_2 = sum (x' - x) (x' - x)^T                                                                            (2)

Rotors blow on the arm otherwise in one pose than in another, which looks like a payload of mass m beside its position:

    sigma_3 = a m_links r / m,   r: largest lever of the payload                                               (3)

The covariance is the model's, or (1) where that is larger, plus (2), and for the position plus (3) squared. A mean
specific force that is not 1 g, though a flight begins and ends with small velocities, is an error of the accelerometer:
forces are divided by it (`levelled`), and its size tells, beside what is usual, how wrong the other axes may be
(`lean`).
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from haltere.estimation.payload.core import PayloadCore
from haltere.estimation.payload.model import PAYLOAD
from haltere.estimation.payload.record import ArmRecord
from haltere.estimation.payload.signals import ArmSignals
from haltere.estimation.payload.state import PayloadBelief, PayloadEstimate
from haltere.foundation.constants import GRAVITY
from haltere.foundation.numbers import Numbers

BLOCKS = 8
STEP = 2.0
"""s that are read at a time where all are read."""
LEAN = 0.013
"""rad: bias of 0.1 m/s2 and misalignment of 8 mrad of an accelerometer that was calibrated in the factory."""
BLOWN = 0.05
"""What differs of the air's push on the links from pose to pose, over their weight, a in equation (3)."""
LONG = 8.0
"""s after which the mean specific force of a flight is 1 g within 1 %: its mean velocity changes by less than 1 m/s."""
LIMIT = 0.1
"""Difference from 1 g beyond which it is no error of an accelerometer: the base really moves so."""


@dataclass(frozen=True)
class Stretch:
    """Reports `first` to `last` (excluded) that count, after a tare from those before `tare` (0: without a tare)."""

    tare: int
    first: int
    last: int


def levelled(record: ArmRecord) -> tuple[ArmRecord, float]:
    """The record (T, ...) with a mean specific force of 1 g, and how wrong its direction may be, rad."""
    mean = float(np.linalg.norm(record.force.mean(axis=0))) / GRAVITY
    if record.samples < LONG * record.rate or abs(mean - 1.0) > LIMIT:
        return record, LEAN
    return replace(record, force=record.force / mean), float(np.hypot(LEAN, mean - 1.0))


def widened(
    filter_: PayloadCore, belief: PayloadBelief, signals: ArmSignals, first: int, last: int
) -> PayloadEstimate:
    """The estimate of a belief with the readings `first` to `last` (excluded), as unsure as it varies over them."""
    estimate = filter_.estimate(belief)
    edges = np.linspace(first, last, BLOCKS + 1).round().astype(int)
    if not bool(estimate.observable) or np.diff(edges).min() < 1:
        return estimate
    pairs = list(pairwise(edges))
    start = replace(filter_.clear(belief), x=belief.x, information=belief.information)
    found = [
        _numbers(filter_, _read(filter_, start, signals, [p for p in pairs if p is not out])) for out in pairs
    ]
    values = np.asarray(found)
    sigma = np.sqrt((BLOCKS - 1.0) / BLOCKS * np.square(values - values.mean(axis=0)).sum(axis=0))
    own = np.concatenate([[estimate.sigma], np.sqrt(np.diag(estimate.center_cov)), [estimate.inertia_sigma]])
    grown = np.maximum(sigma / own, 1.0)
    return replace(
        estimate,
        sigma=estimate.sigma * grown[0],
        center_cov=grown[1:4, None] * estimate.center_cov * grown[1:4],
        inertia_sigma=estimate.inertia_sigma * grown[4],
    )


def doubted(
    estimate: PayloadEstimate,
    filter_: PayloadCore,
    record: ArmRecord,
    stretch: Stretch,
    lean: float,
    lever: float,
) -> PayloadEstimate:
    """The estimate with equations (2) and (3), for a filter before its tare and a largest `lever`, N m/kg."""
    if not bool(estimate.observable):
        return estimate
    straight = _measured(filter_, record, stretch)
    away = np.stack([_measured(filter_, _leaning(record, axis, lean), stretch) - straight for axis in (0, 1)])
    more = away.T @ away
    mass = max(abs(float(estimate.mass)), float(estimate.sigma))
    blown = BLOWN * float(filter_.arm.own[:, 0].sum()) * lever / GRAVITY / mass
    return replace(
        estimate,
        sigma=np.sqrt(estimate.sigma**2 + more[0, 0]),
        center_cov=estimate.center_cov + more[1:4, 1:4] + blown**2 * np.eye(3),
        inertia_sigma=np.sqrt(estimate.inertia_sigma**2 + more[4, 4]),
    )


def _leaning(record: ArmRecord, axis: int, angle: float) -> ArmRecord:
    """Forces rotated by a small angle about a body axis."""
    return replace(record, force=record.force + np.cross(angle * np.eye(3)[axis], record.force))


def _measured(filter_: PayloadCore, record: ArmRecord, stretch: Stretch) -> Numbers:
    """(5,) mass, centre and inertia."""
    signals = filter_.signals(record)
    if stretch.tare > 0:
        filter_ = filter_.tared(_read(filter_, filter_.begin(), signals, [(0, stretch.tare)]), 0.0)
    return _numbers(filter_, _read(filter_, filter_.begin(), signals, [(stretch.first, stretch.last)]))


def _numbers(filter_: PayloadCore, belief: PayloadBelief) -> Numbers:
    """(5,) mass, centre and inertia."""
    return np.asarray(filter_.posterior(belief)[0][:PAYLOAD])


def _read(
    filter_: PayloadCore, belief: PayloadBelief, signals: ArmSignals, pieces: list[tuple[int, int]]
) -> PayloadBelief:
    step = max(1, round(STEP * signals.rate))
    for first, last in pieces:
        for at in range(first, last, step):
            belief = filter_.update(belief, signals, at, min(at + step, last))
    return belief
