"""The centre of gravity over a log: trim, absolute position, what changed and when, and the mass.

The flight is mended first (`haltere.doctor.diagnosis`); the filter (`haltere.estimation.cog.core`) then runs on the
flying part, at the stamps of the gyroscope. After a landing it begins a change of its own, since a load may have been
taken on the ground.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import jax
import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.catalogue.entries import load_airframe
from haltere.doctor.diagnosis import diagnose
from haltere.doctor.telemetry import TELEMETRY_KINDS
from haltere.dynamics.motors import Motors
from haltere.estimation.cog.belief import CogBelief, CogEstimate, CogReading
from haltere.estimation.cog.core import CogCore
from haltere.estimation.cog.settings import CogSettings, Reason
from haltere.flight import Flight
from haltere.flight.resampling import runs_of_true
from haltere.flight.window import FlightWindow, IdentifyError
from haltere.foundation.arrays import Array, compiled, double_precision, to_numpy
from haltere.foundation.jsonable import to_jsonable
from haltere.foundation.numbers import Bools, Floats

PERIOD = 0.1
"""s between two lines of the history."""
SHORTEST = 2.0
"""s of a flight without a landing, at least."""
FASTEST = 500.0
"""Ticks per second at most; faster readings are averaged."""
OTHER_MASS = 0.2
"""Mass beyond that of the airframe file, relative, from which the file is in doubt."""
OTHER_TORQUE = 0.15
"""Distance of trim and centre of mass over the vehicle's lever from which either is in doubt."""
CHUNK = 256
"""Lines of the history are computed in multiples of this, so that flights of many lengths share one program."""
NOTED = (
    Reason.GYRO_STUCK,
    Reason.ACCEL_STUCK,
    Reason.SPEED_STUCK,
    Reason.ACCEL_IMPLAUSIBLE,
    Reason.GYRO_OUTLIER,
    Reason.ACCEL_OUTLIER,
    Reason.SPEED_OUTLIER,
    Reason.SPEED_MISSING,
    Reason.READINGS_LOST,
    Reason.STAMPS_BACK,
    Reason.FORCE_JUMP,
    Reason.DIVERGED,
)


@dataclass(frozen=True)
class CogEvent:
    """A change of the centre of gravity.

    Attributes:
        time: s since the first sample of the log.
        kind: "mark" where it was given, "landing" after one, "change" where it was found.
        change: (3,) of the centre of mass by it, body axes, m; NaN along the thrust.
        sigma: (3,) its deviation.
        mass_change: kg.
        mass_change_sigma: kg.
    """

    time: float
    kind: str
    change: Floats
    sigma: Floats
    mass_change: float
    mass_change_sigma: float


@dataclass(frozen=True)
class CogHistory:
    """The centre of gravity over a flight: m, body axes, from the airframe's origin; NaN where not observable.

    Attributes:
        time: (T,) s since the first sample of the log.
        trim: (T, 3) where the rotors must think the centre of mass for the vehicle to be in balance.
        trim_sigma: (T, 3).
        com: (T, 3) centre of mass.
        sigma: (T, 3) of it, with what rotors unlike the airframe file leave open.
        change: (T, 3) of the centre of mass since the last event.
        change_sigma: (T, 3).
        mass: (T,) kg.
        mass_sigma: (T,) kg.
        events: in the order of time.
        notes: what was odd about the readings, with remedies.
    """

    time: Floats
    trim: Floats
    trim_sigma: Floats
    com: Floats
    sigma: Floats
    change: Floats
    change_sigma: Floats
    mass: Floats
    mass_sigma: Floats
    events: tuple[CogEvent, ...] = ()
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Time, trim, centre of mass with its sigma, change, mass and events as plain data; None if not observable."""
        found: dict[str, Any] = to_jsonable(
            {
                "time": self.time,
                "trim": self.trim,
                "com": self.com,
                "sigma": self.sigma,
                "change": {"value": self.change, "sigma": self.change_sigma},
                "mass": self.mass,
                "events": [
                    {"time": event.time, "kind": event.kind, "change": event.change, "sigma": event.sigma}
                    for event in self.events
                ],
            }
        )
        return found


@double_precision()
def track_cog(
    flight: Flight,
    airframe: Airframe | str | PathLike[str],
    *,
    marks: Iterable[float] = (),
    apply: Iterable[str] = (),
    settings: CogSettings | None = None,
) -> CogHistory:
    """The centre of gravity of a vehicle over a recorded flight.

        import haltere as ht

        history = ht.track_cog(ht.read("flight.ulg"), "x500", marks=[12.5])
        print(history.trim[-1], history.com[-1], history.sigma[-1])

    Args:
        flight: with `imu.gyro`, `imu.accel`, and `rotors.speed` or `rotors.command`.
        airframe: the vehicle, its file, or its name in the catalogue.
        marks: s since the first sample of the log at which something was gripped or dropped.
        apply: kinds of findings of `diagnose` to mend even if they are not certain.
        settings: of the filter.

    Raises:
        IdentifyError: the log has no flight that the filter could follow, or a mark lies outside it.
    """
    vehicle = load_airframe(airframe)
    mended = diagnose(flight, vehicle, apply=(*apply, *TELEMETRY_KINDS)).mended
    names = tuple(rotor.name for rotor in vehicle.rotors)
    window = FlightWindow.from_flight(mended, names)
    if window.rotor_count != len(names):
        raise IdentifyError(
            f"the log has {window.rotor_count} rotors, the airframe {vehicle.name} {len(names)}; give its own airframe"
        )
    marked = sorted(float(mark) for mark in marks)
    for mark in marked:
        if not window.time[0] <= mark <= window.time[-1]:
            raise IdentifyError(
                f"got a mark at {mark:g} s, expected one between {window.time[0]:g} and {window.time[-1]:g} s"
            )
    ticks = _ticks(window)
    begins = _beginnings(ticks, marked)
    core = CogCore.from_airframe(vehicle, settings, _joint_angles(vehicle))
    lines, counts = _run(core, Motors.from_airframe(vehicle), ticks, begins)
    history = _history(lines, counts, ticks, begins)
    history.notes.extend(_doubts(history, core))
    return history


def _joint_angles(vehicle: Airframe) -> Floats | None:
    moving = sum(not link.joint.fixed for link in vehicle.links)
    return np.zeros(moving) if moving else None


@dataclass(frozen=True)
class _Ticks:
    """Readings of the flying part; T ticks, `lines` of them between two lines of the history."""

    time: Floats
    dt: Floats
    gyro: Floats
    accel: Floats
    speeds: Floats
    commands: Floats
    landed: Floats
    """s at which a flight begins that is not the first."""
    lines: int


def _ticks(window: FlightWindow) -> _Ticks:
    """What the filter reads, at most `FASTEST` times per second."""
    every = max(1, int(np.ceil(window.rate / FASTEST - 1e-9)))
    size = len(window.time) // every * every

    def thinned(values: Floats | None, columns: int) -> Floats:
        if values is None:
            return np.full((size // every, columns), np.nan)
        means: Floats = np.mean(values[:size].reshape(-1, every, columns), axis=1)
        return means

    flying: Bools = np.all(window.valid[:size].reshape(-1, every), axis=1)
    rate = window.rate / every
    runs = [(a, b) for a, b in runs_of_true(flying) if b - a >= SHORTEST * rate]
    if not runs:
        raise IdentifyError(
            f"the log holds no flight of {SHORTEST:g} s without a landing or a gap; the centre of gravity needs one"
        )
    inside = np.concatenate([np.arange(a, b) for a, b in runs])
    time = window.time[:size].reshape(-1, every).mean(axis=1)
    m = window.rotor_count
    return _Ticks(
        time[inside],
        np.diff(time[inside], prepend=time[inside[0]] - 1.0 / rate),
        thinned(window.gyro, 3)[inside],
        thinned(window.accel, 3)[inside],
        thinned(window.rotor_speeds, m)[inside],
        thinned(window.commands, m)[inside],
        np.array([time[a] for a, _ in runs[1:]]),
        max(1, round(PERIOD * rate)),
    )


def _beginnings(ticks: _Ticks, marks: list[float]) -> list[tuple[int, str]]:
    """Ticks at which a change begins that need not be found, and why."""
    both = [(mark, "mark") for mark in marks] + [(float(time), "landing") for time in ticks.landed]
    return [
        (min(int(np.searchsorted(ticks.time, time - 1e-9)), len(ticks.time) - 1), kind)
        for time, kind in sorted(both)
    ]


def _run(
    core: CogCore, motors: Motors, ticks: _Ticks, begins: list[tuple[int, str]]
) -> tuple[tuple[CogEstimate, Array], Floats]:
    """What the filter says at each line, its counts of reasons there, and those at the end."""
    mark = np.zeros(len(ticks.time), bool)
    mark[[index for index, _ in begins]] = True
    whole = ticks.lines * CHUNK
    parts = (ticks.dt, ticks.gyro, ticks.accel, ticks.speeds, ticks.commands, mark)
    missing = -len(mark) % whole

    def filled(values: Any) -> Any:
        more = np.full((missing, *values.shape[1:]), 0 if values.dtype == bool else np.nan)
        long = np.concatenate([values, more.astype(values.dtype)])
        return long.reshape(-1, CHUNK, ticks.lines, *values.shape[1:])

    dt, *others = (filled(values) for values in parts)
    belief, found = core.begin(), []
    for chunk in zip(np.nan_to_num(dt), *others, strict=True):
        belief, lines = _chunk(core, motors, belief, chunk)
        found.append(to_numpy(lines))
    count = len(mark) // ticks.lines
    stacked = jax.tree.map(lambda *x: np.concatenate(x)[:count], *found)
    return stacked, np.asarray(belief.counts)


@compiled
def _chunk(core: CogCore, motors: Motors, belief: CogBelief, readings: Any) -> Any:
    """The belief after some lines, and what it says at each of them."""

    def tick(last: CogBelief, now: Any) -> tuple[CogBelief, None]:
        dt, gyro, accel, speeds, commands, mark = now
        last = jax.lax.cond(mark, core.mark, lambda b: b, last)
        reading = CogReading(gyro, accel, speeds, motors.target(commands))
        after: CogBelief = jax.lax.cond(dt > 0.0, lambda b: core.tick(b, reading, dt), lambda b: b, last)
        return after, None

    def line(last: CogBelief, now: Any) -> tuple[CogBelief, tuple[CogEstimate, Array]]:
        last, _ = jax.lax.scan(tick, last, now)
        return last, (core.estimate(last), last.events)

    return jax.lax.scan(line, belief, readings)


def _history(
    lines: tuple[CogEstimate, Array], counts: Floats, ticks: _Ticks, begins: list[tuple[int, str]]
) -> CogHistory:
    said, events = lines
    time = ticks.time[ticks.lines - 1 :: ticks.lines][: len(events)]
    along = np.abs(np.asarray(said.axis)) > 0.7
    hidden = along & ~np.asarray(said.observable)[:, None]

    def sigma(cov: Array) -> Floats:
        return np.asarray(np.sqrt(np.maximum(np.diagonal(np.asarray(cov), 0, 1, 2), 0.0)))

    def seen(values: Any, where: Any) -> Floats:
        return np.where(where, np.nan, np.asarray(values))

    history = CogHistory(
        time,
        seen(said.trim, along),
        seen(sigma(said.trim_cov), along),
        seen(said.com, hidden),
        seen(sigma(said.cov), hidden),
        seen(said.change, hidden),
        seen(sigma(said.change_cov), hidden),
        np.asarray(said.mass),
        np.asarray(said.mass_sigma),
        notes=[
            f"{counts[reason]} time{'s' if counts[reason] > 1 else ''}: {reason.sentence}"
            for reason in NOTED
            if counts[reason]
        ],
    )
    grown = np.flatnonzero(np.diff(np.asarray(events), prepend=0) > 0)
    starts = [(index // ticks.lines, float(ticks.time[index]), kind) for index, kind in begins]
    starts += [(int(k), float(time[k] - said.since[k]), "change") for k in grown]
    starts.sort()
    found = []
    for i, (k, at, kind) in enumerate(starts):
        last = starts[i + 1][0] - 1 if i + 1 < len(starts) else len(time) - 1
        last = min(max(last, k), len(time) - 1)
        found.append(
            CogEvent(
                at,
                kind,
                history.change[last],
                history.change_sigma[last],
                float(said.mass_change[last]),
                float(said.mass_change_sigma[last]),
            )
        )
    return CogHistory(**{**vars(history), "events": tuple(found)})


def _doubts(history: CogHistory, core: CogCore) -> list[str]:
    """What the last line leaves open."""
    known = core.numbers.vehicle
    notes = []
    if np.isnan(history.com[-1]).any():
        notes.append(
            "the height of the centre of mass is not observable in a hover; fly rolls and pitches of 2 rad/s to show it"
        )
    taken = sum(event.mass_change for event in history.events)
    ratio = float((history.mass[-1] - taken) / known.mass)
    if abs(ratio - 1.0) > OTHER_MASS:
        notes.append(
            f"for its thrust the vehicle weighs {100 * ratio:.0f} % of what its airframe file says: rotors, motors or "
            "mass are others, and all positions may be off as much; give its own airframe, or haltere identify first"
        )
    apart = np.linalg.norm(np.nan_to_num(history.trim[-1] - history.com[-1])) / float(known.lever)
    if apart > OTHER_TORQUE:
        notes.append(
            f"trim and centre of mass are {100 * apart:.0f} % of the arm apart: a lasting torque that is neither, as "
            "of strong wind or of rotors that are not those of the airframe file; do not trust the centre of mass"
        )
    return notes
