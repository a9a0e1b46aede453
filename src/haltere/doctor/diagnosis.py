"""The log doctor: what is wrong or odd in a flight's record, told from the data itself.

Checks run from the plain to the subtle, each on a flight in which the certain findings before it are mended
already, because a rotor test on an accelerometer in the wrong unit would be worthless. A finding is certain if
only one explanation fits; only then is its remedy applied unasked. Where the data cannot tell, the doctor says
so under `unknown` instead of guessing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from haltere.airframe import Airframe, loads
from haltere.doctor.channels import check_signals, check_time
from haltere.doctor.finding import Finding, Unknown
from haltere.doctor.imu import check_imu
from haltere.doctor.rotors import check_rotors
from haltere.flight import Flight
from haltere.foundation import HaltereError
from haltere.foundation.jsonable import fields_to_jsonable

__all__ = ["Diagnosis", "Finding", "Unknown", "diagnose"]


@dataclass(frozen=True)
class Diagnosis:
    """What the doctor found.

    Attributes:
        findings: Faults, each with evidence and remedy.
        unknown: What the data cannot tell, and what would.
        measures: Numbers that describe the record, in SI, by name.
        mended: The flight with the remedies of all certain findings applied.
    """

    findings: tuple[Finding, ...]
    unknown: tuple[Unknown, ...]
    measures: dict[str, float] = field(default_factory=dict)
    mended: Flight = field(default_factory=Flight)

    def kinds(self) -> tuple[str, ...]:
        """The kinds of the findings, in order."""
        return tuple(finding.kind for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """As plain data: `findings`, `unknown` and `measures`."""
        return fields_to_jsonable(self, leave_out=("mended",))


Check = Callable[[Flight, Airframe | None, dict[str, float]], Iterable[Finding | Unknown]]
CHECKS: tuple[Check, ...] = (check_time, check_signals, check_imu, check_rotors)


def diagnose(flight: Flight, airframe: Airframe | None = None, apply: Iterable[str] = ()) -> Diagnosis:
    """Examine a flight.

    Args:
        flight: The record; channels named `truth.*` are not looked at, and of those without any number
            only that is said.
        airframe: What the vehicle is meant to be; that of the record, if none is given and the record has one.
        apply: Kinds of findings whose remedy is applied though they are not certain.
    """
    with np.errstate(all="ignore"):  # a damaged log may hold any numbers
        return _diagnosed(flight, airframe, set(apply))


def _diagnosed(flight: Flight, airframe: Airframe | None, asked: set[str]) -> Diagnosis:
    nominal = airframe or _described(flight)
    current = _worth_looking(flight)
    findings = [
        Finding(
            "broken-channel",
            f"{name}: no number in any of its {len(flight[name])} samples",
            "it is left out; check the sensor and its cable",
            True,
            (name,),
        )
        for name in flight.names
        if not name.startswith("truth.") and name not in current
    ]
    unknown: list[Unknown] = []
    measures: dict[str, float] = {}
    for check in CHECKS:
        for result in check(current, nominal, measures):
            if isinstance(result, Unknown):
                unknown.append(result)
                continue
            findings.append(result)
            if result.mend is not None and (result.certain or result.kind in asked):
                current = _worth_looking(result.mend(current))
        if check is check_imu and any(f.mend and f.certain for f in findings):
            # Units first, then axes: what was hidden behind a wrong unit shows now.
            for result in check_imu(current, nominal, measures):
                if isinstance(result, Finding) and result.kind not in {f.kind for f in findings}:
                    findings.append(result)
                    if result.mend is not None and (result.certain or result.kind in asked):
                        current = _worth_looking(result.mend(current))
    return Diagnosis(tuple(findings), tuple(unknown), measures, current)


def _worth_looking(flight: Flight) -> Flight:
    """The flight without `truth.*` and without channels that hold no number, as a mended flight may have."""
    for name in flight.names:
        if name.startswith("truth.") or not np.any(np.isfinite(flight[name].values)):
            flight = flight.without(name)
    return flight


def _described(flight: Flight) -> Airframe | None:
    if not flight.airframe:
        return None
    try:
        return loads(flight.airframe, "airframe of the record")
    except HaltereError:
        return None
