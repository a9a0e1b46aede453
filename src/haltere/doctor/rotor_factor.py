"""A rotor whose telemetry reads half or double its speed, and how it differs from one that really runs so.

The speed of a rotor per command (or, in a log without commands, its usual speed) over that of its siblings makes it a
candidate if the ratio a is near a half or two and the siblings are alike. What else tells:

- The motion without an airframe does not. Torques balance in hover whatever the unit of one speed is, and the force
  along the thrust tells a rotor's strength only as well as the lever of the accelerometer is known: a factor of four in
  the coefficient of one rotor looks like a lever of some millimetres.
- An airframe does. With the thrust coefficients of the drawing, the mean squared speeds are balanced by a centre of
  gravity at the distance d from the nominal one as logged, and e as suspected, over the arm. The difference of the log
  likelihoods, p the deviation of such distances, is

      (1)  L = (d^2 - e^2) / 2 p^2

  A rotor that is drawn stronger and really runs slower is balanced as logged.
"""

from dataclasses import dataclass

import numpy as np

from haltere.airframe.rigid import RigidAirframe
from haltere.doctor.telemetry_record import TelemetryRecord
from haltere.foundation.numbers import Floats

NEAR, FARTHEST, SPREAD = 0.14, 0.22, 0.6
"""Octaves by which the ratio of speeds per command may differ from one octave where the siblings are equal, where they
spread, and over which they may spread: motors and propellers do."""
NEAR_ALONE, SPREAD_ALONE = 0.2, 0.3
"""The same for usual speeds: of four rotors that carry different loads, three do not agree so well."""
NEAR_OPEN, SPREAD_OPEN = 0.45, 0.8
"""The same where it remains open without an airframe, and the balance decides with one."""
OVERLAP = 0.5
"""Fraction of a rotor's commands that must be near those of the others for commands to be compared."""
ALIKE = 1.5
"""Ratio of thrust coefficients up to which rotors are alike."""
BALANCE = 0.06
"""p: centre of gravity and thrusts off the drawing."""
DECISIVE = 2.0
"""L from which on the question counts as decided."""


@dataclass(frozen=True)
class WrongFactor:
    """A rotor that is read at a factor, 0.5 or 2, of its speed.

    Attributes:
        rotor: Its column.
        factor: 0.5 or 2.
        ratio: Of its speed to that of its siblings, as measured.
        by_command: Whether speeds per command were compared.
        certain: Whether nothing else explains it: the rotors are drawn alike, and it balances the vehicle.
        is_open: Whether a centre of gravity far off explains it as well.
    """

    rotor: int
    factor: float
    ratio: float
    by_command: bool
    certain: bool
    is_open: bool = False


def wrong_factors(
    record: TelemetryRecord, rotors: list[int], nominal: RigidAirframe | None
) -> list[WrongFactor]:
    """Return those of the rotors that are read at half or double their speed."""
    drawn = nominal if nominal is not None and len(nominal.names) == record.count else None
    strengths = _strengths(record, drawn)
    is_alike = drawn is not None and float(np.ptp(np.log(strengths))) < np.log(ALIKE)
    found = []
    for i in rotors:
        siblings = [j for j in rotors if j != i]
        if len(siblings) < 2:
            continue
        levels, by_command = _levels(record, rotors, i)
        if not by_command:
            levels = levels + 0.5 * np.log2(strengths)
        octaves = float(levels[i] - np.median(levels[siblings]))
        off, spread = abs(abs(octaves) - 1.0), float(np.ptp(levels[siblings]))
        near = min(NEAR + 0.5 * spread, FARTHEST) if by_command else NEAR_OPEN
        if not off < near or not spread < (SPREAD if by_command else SPREAD_OPEN):
            continue
        factor = 0.5 if octaves < 0.0 else 2.0
        likelihood = 0.0 if drawn is None else _balance(record, drawn, i, factor)
        if likelihood > -DECISIVE:
            is_certain = is_alike and likelihood > DECISIVE
            is_near = by_command or likelihood > DECISIVE or (off < NEAR_ALONE and spread < SPREAD_ALONE)
            found.append(WrongFactor(i, factor, 2.0**octaves, by_command, is_certain, not is_near))
    return found


def _strengths(record: TelemetryRecord, nominal: RigidAirframe | None) -> Floats:
    """(R,) thrust coefficients, relative; alike without an airframe."""
    if nominal is None:
        return np.ones(record.count)
    size = np.linalg.norm(nominal.forces, axis=0)
    return np.asarray(size / np.median(size)) if np.all(size > 0.0) else np.ones(record.count)


def _levels(record: TelemetryRecord, rotors: list[int], rotor: int) -> tuple[Floats, bool]:
    """(R,) speed per command, or speed where the commands do not compare, in octaves; and whether they do."""
    response = record.response
    if response is not None and response.overlap[rotor] >= OVERLAP:
        return np.asarray(response.gains / np.log(2.0)), True
    levels = np.full(record.count, np.nan)
    for i in rotors:
        values = record.speeds[record.flying, i]
        levels[i] = np.log2(max(float(np.median(values[np.isfinite(values)])), 1e-3))
    return levels, False


def _balance(record: TelemetryRecord, nominal: RigidAirframe, rotor: int, factor: float) -> float:
    """L of eq. (1)."""
    flown = record.speeds[record.flying & np.isfinite(record.speeds).all(axis=1)]
    squares = np.mean(flown**2, axis=0)
    suspected = squares.copy()
    suspected[rotor] *= factor**-2
    middle = np.mean(nominal.positions, axis=0)
    arm = max(float(np.max(np.linalg.norm(nominal.positions - middle, axis=1))), 1e-9)
    off = []
    for each in (squares, suspected):
        thrust = max(float(np.linalg.norm(nominal.forces @ each)), 1e-300)
        off.append(float(np.linalg.norm((nominal.torques @ each)[:2])) / (thrust * arm))
    return (off[0] ** 2 - off[1] ** 2) / (2.0 * BALANCE**2)
