"""From an arm's readings to regression rows: one filter for every signal, and which joints slide which way.

All signals pass the same low-pass filter, three equal lags of time constant `filter`; angles and the base's motion
also pass the lag of the load register, so that all are equally late. Angle, rate and acceleration of a joint are the
filter's own derivatives, without a difference quotient:

    x_f = F x,  x_f' = s F x,  x_f'' = s^2 F x,   F = 1 / (1 + filter s)^3                                    (1)

A joint slides once it has gone from its last turning point further than the gears give way twice over (to read it,
further than any gears do: `onset`), is still going, and no goal pulls it the other way. While it slides in one
direction the friction is known from the servo model; while it is stuck the reading may be anything within the friction
and says nothing. A joint that came to rest after a slide stands at the edge of its friction, which is a poor
measurement, marked `rest`.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy import signal

from haltere.algebra import batched
from haltere.dynamics.arm import Arm, torque_rows
from haltere.dynamics.servo import Servos
from haltere.estimation.payload.record import ArmRecord
from haltere.foundation.numbers import Numbers

CHUNK = 4096
"""Motions of one call: one compiled function for records of all lengths."""
RECOVERY = 0.2
"""s after a gap in which readings are not used."""


@dataclass(frozen=True)
class SignalSettings:
    """How signals are made."""

    filter: float = 0.02
    """s, one of three equal lags."""
    travel: float = 1.5
    """A joint slides after twice its presliding and so many encoder steps."""
    onset: float = 0.04
    """rad from the last turning point after which friction is that of sliding: real gears give way further than their
    data say, the more the heavier the load."""
    window: float = 0.12
    """s without a further encoder step after which a joint is not sliding."""
    settle: float = 0.10
    """s that a joint must have slid before its reading counts: the filter's memory."""
    shaken: float = 2.0
    """m/s2: base acceleration (a deviation over `memory`) above which readings are not used."""
    memory: float = 0.5
    """s."""


@dataclass(frozen=True, eq=False)
class ArmSignals:
    """Regression rows and classes, (..., T, J) and more.

    Attributes:
        rate: reports per second.
        torque: (..., T, J) stall torque times reported share, filtered, N m.
        angle: (..., T, J) filtered, rad.
        speed: (..., T, J) filtered, rad/s.
        acceleration: (..., T, J) filtered, rad/s2.
        rows: (..., T, J, L, 10) joint torque over the inertial parameters of body and links.
        slides: (..., T, J) +1, -1 or 0: the direction of sliding.
        rests: (..., T, J) +1, -1 or 0: the direction of the slide after which the joint came to rest.
        shaken: (..., T) whether the base shakes too much, or reports were missing.
    """

    rate: float
    torque: Numbers
    angle: Numbers
    speed: Numbers
    acceleration: Numbers
    rows: Numbers
    slides: Numbers
    rests: Numbers
    shaken: Numbers


def conditioned(
    arm: Arm, servos: Servos, record: ArmRecord, settings: SignalSettings | None = None
) -> ArmSignals:
    """The signals of a record, for a description of its arm and nominal servos."""
    settings = settings or SignalSettings()
    lag = np.asarray(servos.lag)

    def joints(values: Numbers, order: int = 0, late: Numbers = lag) -> Numbers:
        """Signals (..., T, J), each behind the lag of its own register."""
        parts = [
            _filtered(values[..., j], record.rate, settings.filter, order, float(late[j]))
            for j in range(record.joints)
        ]
        return np.stack(parts, axis=-1)

    def base(values: Numbers, order: int = 0) -> Numbers:
        """Signals (..., T, 3) behind the mean lag."""
        along = np.moveaxis(values, -1, 0)
        return np.moveaxis(_filtered(along, record.rate, settings.filter, order, float(lag.mean())), 0, -1)

    torque = joints(record.load * np.asarray(servos.stall_torque), late=0.0 * lag)
    motion = (
        *(joints(record.angle, order) for order in range(3)),
        base(record.force),
        base(record.gyro),
        base(record.gyro, 1),
    )
    rows = arm_rows(arm, motion)
    shaken = _shaken(record.force, record.rate, settings)
    if record.missing is not None:
        shaken = shaken | _after_gaps(record.missing, record.rate)
    slides, rests = _slides(record, servos, settings, shaken)
    return ArmSignals(
        record.rate,
        torque,
        motion[0],
        motion[1],
        motion[2],
        rows,
        slides,
        rests,
        shaken,
    )


def arm_rows(arm: Arm, motion: tuple[Numbers, ...]) -> Numbers:
    """(..., J, L, 10) rows for motions (..., J) three times and (..., 3) three times."""
    lead = motion[0].shape[:-1]
    flat = [np.reshape(x, (-1, x.shape[-1])) for x in motion]
    count = len(flat[0])
    rows = _rows(arm)
    found = []
    for first in range(0, count, CHUNK):
        piece = [x[first : first + CHUNK] for x in flat]
        short = CHUNK - len(piece[0])
        padded = [jnp.asarray(np.concatenate([x, np.repeat(x[-1:], short, 0)])) for x in piece]
        found.append(np.asarray(rows(*padded))[: CHUNK - short])
    return np.asarray(np.concatenate(found).reshape(*lead, *found[0].shape[1:]))


@lru_cache(maxsize=8)
def _rows(arm: Arm) -> Any:
    return batched(partial(torque_rows, arm.model))


def _filtered(values: Numbers, rate: float, constant: float, order: int, lag: float) -> Numbers:
    """Equation (1) of one signal with time along the last axis; it starts as if it had always had its first value."""
    b, a, rest = _low_pass(rate, constant, order, lag)
    return np.asarray(signal.lfilter(b, a, values, axis=-1, zi=rest * values[..., :1])[0])


@lru_cache(maxsize=64)
def _low_pass(rate: float, constant: float, order: int, lag: float) -> tuple[Numbers, Numbers, Numbers]:
    """Numerator, denominator and state at rest of equation (1) behind a lag, s."""
    bottom = np.poly1d([constant, 1.0]) ** 3
    if lag > 0.0:
        bottom = bottom * np.poly1d([lag, 1.0])
    b, a = signal.bilinear([1.0] + [0.0] * order, bottom.coeffs, fs=rate)
    return b, a, signal.lfilter_zi(b, a)


def slide_directions(record: ArmRecord, servos: Servos, settings: SignalSettings | None = None) -> Numbers:
    """(..., T, J) +1, -1 or 0: the direction in which each joint slides."""
    settings = settings or SignalSettings()
    return _slides(record, servos, settings, _shaken(record.force, record.rate, settings))[0]


def _shaken(force: Numbers, rate: float, settings: SignalSettings) -> Numbers:
    decay = np.exp(-1.0 / (rate * settings.memory))
    b, a = [1.0 - decay], [1.0, -decay]

    def average(values: Numbers) -> Numbers:
        state = decay * values[..., :1, :]
        return np.asarray(signal.lfilter(b, a, values, axis=-2, zi=state)[0])

    spread = average((force - average(force)) ** 2)
    return np.asarray(np.sqrt(spread.sum(-1)) > settings.shaken)


def _after_gaps(missing: Numbers, rate: float) -> Numbers:
    """(..., T) where nothing was reported, and for as long after it as the filters remember."""
    window = np.ones(1 + round(RECOVERY * rate))
    return np.asarray(signal.lfilter(window, [1.0], missing.astype(float), axis=-1) > 0.5)


def _slides(
    record: ArmRecord, servos: Servos, settings: SignalSettings, shaken: Numbers
) -> tuple[Numbers, Numbers]:
    """Directions (..., T, J) of sliding and of the slide before a rest."""
    angle, step = record.angle, np.asarray(servos.resolution)
    need = 2.0 * np.asarray(servos.presliding) + settings.travel * step
    fully = np.maximum(need, settings.onset)
    pulled = _goal_directions(record)
    slides, rests = np.zeros(angle.shape), np.zeros(angle.shape)
    turn = far = angle[..., 0, :]
    way, last, since = (np.zeros(far.shape) for _ in range(3))
    still = np.full(far.shape, 1e3)
    period = 1.0 / record.rate
    for t in range(1, record.samples):
        here, pull = angle[..., t, :], pulled[..., t, :]
        back = np.where(way == 0.0, np.abs(here - far) > 0.5 * step, way * (here - far) < -1.25 * step)
        turn = np.where(back, far, turn)
        way = np.where(back, np.sign(here - far), way)
        ahead = back | (way * (here - far) > 0.5 * step)
        far = np.where(ahead, here, far)
        still = np.where(ahead, 0.0, still + period)
        goes = (way * (far - turn) >= need) & (still <= settings.window) & (pull * way >= 0.0)
        since = np.where(goes & (way * (far - turn) >= fully), since + period, 0.0)
        slides[..., t, :] = np.where(since >= settings.settle, way, 0.0)
        unsure = (pull != 0.0) | (ahead & (way != last)) | shaken[..., t, None]
        last = np.where(goes & ~shaken[..., t, None], way, np.where(unsure, 0.0, last))
        rests[..., t, :] = np.where(~goes & (still > 0.3), last, 0.0)
    return slides, rests


def _goal_directions(record: ArmRecord) -> Numbers:
    """(..., T, J) +1 or -1 where a joint's goal moves, else 0; without goals 0."""
    if record.goal is None:
        return np.zeros(record.angle.shape)
    change = np.diff(record.goal, axis=-2, prepend=record.goal[..., :1, :])
    return np.sign(change) * (np.abs(change) > 1e-9)
