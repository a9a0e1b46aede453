"""What a log told of a vehicle: parameters with verdicts, how well they predict, and what to do next; and its file.

Names, units and verdicts are those of the command line's JSON. A result is written as that JSON and read back from it,
so that export and report need no flight.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from haltere.airframe import Airframe, AirframeError
from haltere.foundation import HaltereError
from haltere.foundation.jsonable import fields_to_jsonable
from haltere.foundation.numbers import Floats
from haltere.foundation.verdict import NORMAL, VERDICTS, Verdict, judge

FORMAT = "haltere-result-1"
PRINCIPAL = "principal_axes"
"""In `fit`: the principal axes in body axes, as columns, where places and inertia are told along them."""


class ResultError(HaltereError):
    """A file that is no result of `haltere identify`."""


@dataclass(frozen=True)
class Parameter:
    """One number of the vehicle.

    Attributes:
        name: Its path in the airframe, with component (`inertia.zz`, `rotors.m1.effectiveness.fz`).
        value: In SI; None if nothing is known of it.
        sigma: Standard deviation, systematic part included; None if nothing is known.
        interval: At 95 %; None for an open side.
        unit: Of all three.
        verdict: Whether the log told it.
        partners: The parameters that it is known together with, if it is a combination.
        fix: What to fly, measure or log instead; empty if it is identified.
    """

    name: str
    value: float | None
    sigma: float | None
    interval: tuple[float | None, float | None]
    unit: str
    verdict: Verdict
    partners: tuple[str, ...] = ()
    fix: str = ""

    @classmethod
    def measured(
        cls,
        name: str,
        value: float,
        sigma: float,
        unit: str,
        fix: str = "",
        positive: bool = False,
        least: float = 0.0,
    ) -> Self:
        """A number that the log tells, or an unobservable one if it is not finite.

        Args:
            name: Of the number.
            value: SI.
            sigma: Its deviation, systematic part included.
            unit: Of both.
            fix: What would make it better, if it is weak.
            positive: Whether it cannot be below `least`: then its interval is cut there.
            least: Lowest value there can be, if `positive`.
        """
        if not (math.isfinite(value) and math.isfinite(sigma)) or sigma <= 0.0:
            return cls.unobservable(name, unit, fix)
        low, high = value - NORMAL * sigma, value + NORMAL * sigma
        if positive and low < least:
            low = least
        verdict = judge(value, (low, high))
        return cls(name, value, sigma, (low, high), unit, verdict, (), fix if verdict == "weak" else "")

    @classmethod
    def given(cls, name: str, value: float, sigma: float, unit: str) -> Self:
        """A number above zero that the user gave; one part in a thousand where no deviation was given."""
        return cls.measured(name, value, sigma or 1e-3 * value, unit, positive=True)

    @classmethod
    def unobservable(cls, name: str, unit: str, fix: str) -> Self:
        """A number that the log does not tell."""
        return cls(name, None, None, (None, None), unit, "unobservable", (), fix)

    @classmethod
    def combination(cls, name: str, unit: str, partners: tuple[str, ...], fix: str) -> Self:
        """A number that is known only together with others."""
        return cls(name, None, None, (None, None), unit, "combination", partners, fix)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return fields_to_jsonable(self)


@dataclass(frozen=True, eq=False)
class Covariance:
    """Of the numbers called `names` (n,): `matrix` (n, n), in the products of their units."""

    names: tuple[str, ...]
    matrix: Floats

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return fields_to_jsonable(self)


@dataclass(frozen=True)
class Prediction:
    """One signal, measured and as the identified vehicle predicts it, on time that the fit has not seen.

    Attributes:
        name: Of the signal (`imu.accel.z`, `angular_acceleration.x`).
        unit: Of the values.
        time: (T,) s.
        measured: (T,) values.
        predicted: (T,) values.
    """

    name: str
    unit: str
    time: Floats
    measured: Floats
    predicted: Floats

    @property
    def rms(self) -> float:
        """Root mean square of what is left."""
        return float(np.sqrt(np.mean(np.square(self.measured - self.predicted))))

    @property
    def whiteness(self) -> float:
        """Correlation of neighbouring residuals, 0 for white ones."""
        left = self.measured - self.predicted
        left = left - np.mean(left)
        power = float(np.sum(left**2))
        return float(np.sum(left[1:] * left[:-1]) / power) if power > 0.0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """As plain data: figures, not samples."""
        power = float(np.std(self.measured))
        return {
            "name": self.name,
            "unit": self.unit,
            "rms": self.rms,
            "share": self.rms / power if power > 0.0 else None,
            "whiteness": self.whiteness,
            "samples": len(self.time),
        }


@dataclass(frozen=True)
class Identification:
    """All that a log told.

    Attributes:
        source: The log's file name.
        duration: s.
        method: How it was found: `effectiveness`, `command`, `throw`, `filter` or `batch`.
        parameters: One entry for each number.
        airframe: The vehicle as identified, as far as a whole one can be told; what the log did not tell stands
            there as it was given.
        covariance: Of the numbers whose errors are known together; None if only their sigmas are known.
        nominal: What the vehicle was meant to be, if that was given.
        predictions: On held-out time.
        fit: Further figures of the fit, plain data.
        excitation: How much each axis moved, by name, in the unit of the name.
        findings: The doctor's, plain data.
        unknown: What the doctor could not tell, plain data.
        notes: Sentences on what was odd or assumed.
        steps: Sentences on what to do next, most useful first.
    """

    source: str
    duration: float
    method: str
    parameters: tuple[Parameter, ...]
    airframe: Airframe | None = None
    covariance: Covariance | None = None
    nominal: Airframe | None = None
    predictions: tuple[Prediction, ...] = ()
    fit: Mapping[str, Any] = field(default_factory=dict)
    excitation: Mapping[str, float] = field(default_factory=dict)
    findings: Sequence[Mapping[str, Any]] = ()
    unknown: Sequence[Mapping[str, Any]] = ()
    notes: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of this name, if the result speaks of it."""
        return next((p for p in self.parameters if p.name == name), None)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, all but the samples of the predictions."""
        return {
            "format": FORMAT,
            "file": self.source,
            "duration": self.duration,
            "method": self.method,
            "parameters": [p.to_dict() for p in self.parameters],
            "airframe": _dump(self.airframe),
            "covariance": None if self.covariance is None else self.covariance.to_dict(),
            "nominal": _dump(self.nominal),
            "fit": {**self.fit, "residuals": [p.to_dict() for p in self.predictions]},
            "excitation": dict(self.excitation),
            "findings": [dict(f) for f in self.findings],
            "unknown": [dict(u) for u in self.unknown],
            "notes": list(self.notes),
            "steps": list(self.steps),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """From what `to_dict` gave; predictions are not kept in it."""
        try:
            if data["format"] != FORMAT:
                raise ResultError(f"format is {data['format']!r}; {FORMAT!r} is understood here")
            return cls(
                source=str(data["file"]),
                duration=float(data["duration"]),
                method=str(data["method"]),
                parameters=tuple(_parameter(entry) for entry in data["parameters"]),
                airframe=_airframe(data["airframe"]),
                covariance=_covariance(data.get("covariance")),
                nominal=_airframe(data["nominal"]),
                fit={k: v for k, v in data["fit"].items() if k != "residuals"},
                excitation=dict(data["excitation"]),
                findings=tuple(data["findings"]),
                unknown=tuple(data["unknown"]),
                notes=tuple(data["notes"]),
                steps=tuple(data["steps"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError, AirframeError) as error:
            raise ResultError(
                f"is no result of `haltere identify` ({error}); identify the log again"
            ) from None


def read_result(path: Path) -> Identification:
    """The result in a JSON file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "no JSON"
        raise ResultError(
            f"{path}: cannot be read ({reason}); give the result.json of `haltere identify`"
        ) from None
    try:
        return Identification.from_dict(data)
    except ResultError as error:
        raise ResultError(f"{path}: {error}") from None


def _parameter(entry: Mapping[str, Any]) -> Parameter:
    verdict = entry["verdict"]
    if verdict not in VERDICTS:
        raise ResultError(f"verdict is {verdict!r}; expected one of {', '.join(VERDICTS)}")
    low, high = (None if side is None else float(side) for side in entry["interval"])
    value, sigma = (None if entry[key] is None else float(entry[key]) for key in ("value", "sigma"))
    return Parameter(
        str(entry["name"]),
        value,
        sigma,
        (low, high),
        str(entry["unit"]),
        verdict,
        tuple(entry.get("partners", ())),
        str(entry.get("fix", "")),
    )


def _covariance(data: Mapping[str, Any] | None) -> Covariance | None:
    if data is None:
        return None
    names, matrix = tuple(map(str, data["names"])), np.asarray(data["matrix"], np.float64)
    if matrix.shape != (len(names), len(names)) or not np.isfinite(matrix).all():
        raise ResultError(f"covariance has shape {matrix.shape} for {len(names)} names, or is not finite")
    return Covariance(names, matrix)


def _dump(airframe: Airframe | None) -> dict[str, Any] | None:
    return (
        None
        if airframe is None
        else airframe.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    )


def _airframe(data: Mapping[str, Any] | None) -> Airframe | None:
    return None if data is None else Airframe.model_validate(data)
