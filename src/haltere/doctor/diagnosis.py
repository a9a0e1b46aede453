"""The log doctor: what is wrong or odd in a flight's record, judged by the data alone.

Checks run from the plain to the subtle, each on a flight in which the certain findings before it are mended
already, because a rotor test on an accelerometer in the wrong unit would be worthless. A finding is certain if
only one explanation fits; only then is its remedy applied unasked. Where the data do not decide, the doctor says
so under `undecided` instead of guessing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np

from haltere.airframe import Airframe, load_airframe, loads
from haltere.doctor.channels import check_signals, check_time
from haltere.doctor.finding import Finding, Undecided
from haltere.doctor.imu import check_imu
from haltere.doctor.rotors import check_rotors
from haltere.doctor.telemetry import check_telemetry
from haltere.flight import Flight
from haltere.foundation import HaltereError
from haltere.foundation.jsonable import to_jsonable
from haltere.foundation.tables import TextTable, text_lines

__all__ = ["Diagnosis", "Finding", "Undecided", "diagnose"]


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """What the doctor found; `mended` is the flight to go on with.

    Attributes:
        findings: Faults, each with evidence and remedy.
        undecided: What the data do not decide, and what would.
        measures: Numbers that describe the record, in SI, by name.
        mended: The flight with the remedies of all certain findings applied.
    """

    findings: tuple[Finding, ...]
    undecided: tuple[Undecided, ...]
    measures: dict[str, float] = field(default_factory=dict)
    mended: Flight = field(default_factory=Flight)

    def kinds(self) -> tuple[str, ...]:
        """The kinds of the findings, in order."""
        return tuple(finding.kind for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """As plain data: `findings`, `unknown` and `measures`."""
        return {
            "findings": to_jsonable(self.findings),
            "unknown": to_jsonable(self.undecided),
            "measures": to_jsonable(self.measures),
        }

    def __repr__(self) -> str:
        return text_lines(self.tables())

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self.tables())

    def tables(self) -> list[TextTable]:
        """The findings, and what is undecided, where there are any."""
        rows = [(f.kind, "yes" if f.certain else "no", f.evidence, f.remedy) for f in self.findings]
        title = "Findings" if rows else "Nothing found that is wrong"
        tables = [TextTable(title, ("kind", "certain", "evidence", "remedy") if rows else (), rows)]
        if self.undecided:
            lines = [(u.kind, u.reason, u.remedy) for u in self.undecided]
            tables.append(TextTable("What this log does not decide", ("kind", "reason", "what would"), lines))
        return tables


Check = Callable[[Flight, Airframe | None, dict[str, float]], Iterable[Finding | Undecided]]
CHECKS: tuple[Check, ...] = (check_time, check_signals, check_telemetry, check_imu, check_rotors)


def diagnose(
    flight: Flight, airframe: Airframe | str | PathLike[str] | None = None, *, apply: Iterable[str] = ()
) -> Diagnosis:
    """Examine a flight for wrong units, axes and motor orders, broken channels, and the like.

    Args:
        flight: The record. Channels named `truth.*` are ignored; a channel without any number is reported as broken.
        airframe: The nominal vehicle, its file, or its name in the catalogue; if None, the airframe of the record,
            if there is one.
        apply: Kinds of findings whose remedy is applied even if they are not certain.
    """
    with np.errstate(all="ignore"):  # a damaged log may hold any numbers
        return _diagnosed(flight, None if airframe is None else load_airframe(airframe), set(apply))


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
    undecided: list[Undecided] = []
    measures: dict[str, float] = {}
    for check in CHECKS:
        for result in check(current, nominal, measures):
            if isinstance(result, Undecided):
                undecided.append(result)
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
    return Diagnosis(tuple(findings), tuple(undecided), measures, current)


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
