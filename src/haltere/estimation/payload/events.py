"""When something was gripped or released: readings that no longer fit what the arm is thought to hold.

With the servo constants and their covariance P, a joint that slides under the believed payload reads phi . beta_k of
its kind k of motion, and one that is stuck anything between giving way and lifting:

    surprise = (y - nearest reading that fits) / sqrt(phi D P D^T phi + sigma^2),   D = dbeta/dx                (1)

A surprise beyond `ALARM` in two blocks of a tenth of a second, or twice as much in one, is a change: more load than
fits means gripped, less means released. The readings are then forgotten and the payload is measured anew. What stays
within the friction of a joint at rest is found by the next measuring motion only.

Before the first grip the arm is taken to hold what it began with, if the readings agree: they weigh the arm itself, in
the air of its rotors, with the servos as they are now, and the payload is what came after (a tare).
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from haltere.estimation.payload.core import PayloadCore
from haltere.estimation.payload.model import DOWN, PAYLOAD, PER_JOINT, UP, coefficients, features
from haltere.estimation.payload.record import ArmRecord
from haltere.estimation.payload.signals import ArmSignals
from haltere.estimation.payload.state import PayloadBelief
from haltere.foundation.numbers import Numbers

BLOCK = 0.1
"""s."""
ALARM = 4.0
"""Deviations of equation (1)."""
BLIND = 0.4
"""s after a change in which no further one is looked for: the weight settles."""
BLOCKS_BEFORE = 10
"""Blocks that a change may have gone unnoticed: the mass before it is that of so many blocks ago."""
AGREES = 3.0
"""Deviations within which a weighing agrees with what is thought to hang."""
STATIC = 0.06
"""By how much starting friction and presliding may exceed that of sliding, relative."""


@dataclass(frozen=True)
class PayloadEvent:
    """A change of what the arm holds.

    Attributes:
        time: s from the first report.
        kind: "gripped" or "released".
        confidence: that it is no chance, 0 to 1.
        before: mass before, kg.
        after: mass after, kg; None if it was not measured any more.
        sigma: of `after`, kg.
    """

    time: float
    kind: str
    confidence: float
    before: float
    after: float | None
    sigma: float | None


@dataclass(frozen=True, eq=False)
class PayloadHistory:
    """What was seen in the reports of one run.

    Attributes:
        filter: the estimator, with what the arm showed before the first grip.
        events: changes of what the arm holds, in their order.
        tare: s until which the readings count that `filter` has learnt from; 0 where there are none.
        since: s from which the readings count that `belief` has.
        belief: all that was read since the last change.
        time: (K,) s from the first report, ends of the blocks.
        mass: (K,) kg; NaN where it is not observable.
        sigma: (K,) its standard deviation, kg.
        stale: (K,) whether it rests on earlier readings only.
    """

    filter: PayloadCore
    events: tuple[PayloadEvent, ...]
    tare: float
    since: float
    belief: PayloadBelief
    time: Numbers
    mass: Numbers
    sigma: Numbers
    stale: Numbers


def detect_changes(
    filter_: PayloadCore, record: ArmRecord, signals: ArmSignals, mass: float = 0.0
) -> PayloadHistory:
    """The changes in the reports (T, J) of one run that begins with a mass held, kg, and what was measured."""
    belief = filter_.begin()
    belief.x[0] = mass
    step = max(1, round(BLOCK * record.rate))
    events: list[PayloadEvent] = []
    earlier: list[PayloadBelief] = []
    course: list[tuple[float, float, float, bool]] = []
    known, excess, quiet, known_sigma, since, tare = mass, 0.0, 0.0, 0.0, 0.0, 0.0
    for first in range(step, record.samples - step, step):
        now = first / record.rate
        said = surprise(filter_, known, known_sigma, signals, first, first + step) if now >= quiet else 0.0
        twice = said * excess > 0.0 and abs(excess) > ALARM
        if abs(said) > (ALARM if twice else 2.0 * ALARM):
            kind = "gripped" if said > 0.0 else "released"
            sure = float(norm.cdf(min(abs(said), abs(excess)) if twice else 0.5 * abs(said)))
            before = earlier[0] if earlier else belief
            events = _closed(filter_, events, before)
            if not events and kind == "gripped" and _agrees(filter_, before, mass):
                filter_, tare = filter_.tared(before, mass), now - BLOCK * (len(earlier) - 1)
            earlier = []
            events.append(PayloadEvent(now - BLOCK, kind, sure, known, None, None))
            belief, quiet = filter_.clear(belief), now + BLIND
            since, excess = quiet, 0.0
            known_sigma = np.inf
        else:
            excess = said
        if now >= quiet:
            belief = filter_.update(belief, signals, first, first + step)
            earlier = [*earlier[-BLOCKS_BEFORE:], belief]
        estimate = filter_.estimate(belief)
        if now >= quiet and events and bool(np.any(belief.count > 0.0)):
            known, known_sigma = float(estimate.mass), float(estimate.sigma)
        told = float(estimate.mass) if estimate.observable else np.nan
        course.append((now + BLOCK, told, float(estimate.sigma), bool(estimate.stale)))
    time, masses, sigma, stale = np.asarray(course).reshape(-1, 4).T
    events = _closed(filter_, events, belief)
    return PayloadHistory(filter_, tuple(events), tare, since, belief, time, masses, sigma, stale > 0.0)


def _agrees(filter_: PayloadCore, belief: PayloadBelief, mass: float) -> bool:
    """Whether the readings show the mass, kg, that is thought to hang."""
    found = filter_.estimate(belief)
    return bool(found.observable) and abs(float(found.mass) - mass) < AGREES * float(found.sigma)


def _closed(filter_: PayloadCore, events: list[PayloadEvent], belief: PayloadBelief) -> list[PayloadEvent]:
    """The events with what was measured after the last."""
    if not events or not bool(filter_.estimate(belief).observable):
        return events
    e, last = filter_.estimate(belief), events[-1]
    done = PayloadEvent(last.time, last.kind, last.confidence, last.before, float(e.mass), float(e.sigma))
    return [*events[:-1], done]


def surprise(
    filter_: PayloadCore, mass: float, sigma: float, signals: ArmSignals, first: int, last: int
) -> float:
    """Equation (1) of the joint that fits worst over some reports; positive where more hangs than believed."""
    at = slice(first, last)
    if not np.isfinite(sigma) or signals.shaken[at].any():
        return 0.0
    constants = filter_.arm
    x = np.concatenate([[mass, 0.0, 0.0, 0.0, 0.0], constants.mean])
    spread = np.zeros((len(x), len(x)))
    spread[0, 0] = sigma**2
    spread[1:4, 1:4] = np.eye(3) * filter_.settings.position_sigma**2
    spread[PAYLOAD:, PAYLOAD:] = constants.cov
    beta, slope = coefficients(constants, x)
    rows, speed, acceleration = (
        x[at].mean(axis=0) for x in (signals.rows, signals.speed, signals.acceleration)
    )
    worst = 0.0
    for j in range(constants.joints):
        way = signals.slides[at, j]
        torque = float(signals.torque[at, j].mean())
        still = np.zeros(constants.joints)
        weight = features(constants, rows, still, still, still)[j]
        load = float(weight @ beta[j, UP]) / float(1.0 + x[PAYLOAD + len(PER_JOINT) * j])
        lifts = np.sign(load) or 1.0
        edges = {}
        for kind, direction in ((UP, lifts), (DOWN, -lifts)):
            phi = features(constants, rows, still + direction, speed, acceleration)[j]
            row = phi @ slope[j, kind]
            edges[kind] = (float(phi @ beta[j, kind]), float(np.sqrt(row @ spread @ row)))
        steady = bool(np.all(way == way[0]) and way[0] != 0.0)
        found = _excess_sigmas(torque, load, lifts, edges, way[0] if steady else 0.0, float(filter_.sigma[j]))
        worst = found if abs(found) > abs(worst) else worst
    return worst


def _excess_sigmas(
    torque: float,
    load: float,
    lifts: float,
    edges: dict[int, tuple[float, float]],
    way: float,
    noise: float,
) -> float:
    """Deviations by which a reading is beyond what fits, positive away from zero load."""
    if way != 0.0:
        value, spread = edges[UP if way * lifts > 0.0 else DOWN]
        return lifts * (torque - value) / float(np.hypot(spread, noise))
    high, low = edges[UP], edges[DOWN]
    above = lifts * torque - lifts * high[0]
    below = lifts * torque - lifts * low[0]
    if above > 0.0:
        return above / float(np.hypot(high[1], noise + STATIC * abs(load)))
    if below < 0.0:
        return below / float(np.hypot(low[1], noise + STATIC * abs(load)))
    return 0.0


def confidence_of_change(
    before: Numbers, sigma_before: Numbers, after: Numbers, sigma_after: Numbers
) -> Numbers:
    """(...) probability that a mass really changed, from two estimates with independent readings."""
    z = np.abs(after - before) / np.hypot(sigma_before, sigma_after)
    return np.asarray(2.0 * norm.cdf(z) - 1.0)
