"""The result of an identification: parameters with verdicts, how well they predict, and what to do next; its files.

Names, units and verdicts are those of the command line's JSON. A result is written as that JSON and read back from it,
so that export and report need no flight.
"""

import importlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from haltere.airframe import Airframe, AirframeError, dumps
from haltere.foundation.files import check_folder, write_folder
from haltere.foundation.jsonable import fields_to_jsonable, to_jsonable
from haltere.foundation.numbers import Floats
from haltere.foundation.tables import html_lines, text_lines
from haltere.foundation.verdict import SOURCES, VERDICTS
from haltere.identification.parameters import Parameter, Parameters, ResultError, check_parameters
from haltere.identification.summary import result_lines, result_tables

FORMAT = "haltere-result-1"
RESULT_FILES = ("result.json", "airframe.toml", "report.html")
REPORT = "haltere.report.identified"


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
        """Root mean square of the residual."""
        return float(np.sqrt(np.mean(np.square(self.measured - self.predicted))))

    @property
    def fraction(self) -> float | None:
        """`rms` over the standard deviation of the measured signal; None if that does not move."""
        deviation = float(np.std(self.measured))
        return self.rms / deviation if deviation > 0.0 else None

    @property
    def whiteness(self) -> float:
        """Correlation of neighbouring residuals, 0 for white ones."""
        residual = self.measured - self.predicted
        residual = residual - np.mean(residual)
        power = float(np.sum(residual**2))
        return float(np.sum(residual[1:] * residual[:-1]) / power) if power > 0.0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """As plain data: figures, not samples."""
        return {
            "name": self.name,
            "unit": self.unit,
            "rms": self.rms,
            "share": self.fraction,
            "whiteness": self.whiteness,
            "samples": len(self.time),
        }


@dataclass(frozen=True, repr=False)
class Identification:
    """The result of `identify`: parameters with verdicts, how well they predict, and what to do next.

    Attributes:
        source: The log's file name.
        duration: Of the flight, s.
        method: How it was identified: `effectiveness`, `command`, `throw`, `filter` or `batch`.
        parameters: The estimated numbers, by name: `result.parameters["mass"]`.
        airframe: The vehicle as identified, if a whole one can be described; what was not identified has the value
            of the nominal airframe.
        covariance: Of the parameters with correlated errors; None if only their sigmas are known.
        nominal: The airframe that the identification started from, if one was given.
        predictions: Measured and predicted signals on a part of the flight that was held out of the fit.
        fit: Further figures of the fit, plain data.
        excitation: How much each axis moved, as a standard deviation; the name says the unit.
        findings: What `diagnose` found, as plain data.
        undecided: What `diagnose` could not decide, as plain data.
        notes: Sentences on what was odd or assumed.
        next_steps: Sentences on what to do next, most useful first.
    """

    source: str
    duration: float
    method: str
    parameters: Parameters
    airframe: Airframe | None = None
    covariance: Covariance | None = None
    nominal: Airframe | None = None
    predictions: tuple[Prediction, ...] = ()
    fit: Mapping[str, Any] = field(default_factory=dict)
    excitation: Mapping[str, float] = field(default_factory=dict)
    findings: Sequence[Mapping[str, Any]] = ()
    undecided: Sequence[Mapping[str, Any]] = ()
    notes: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", Parameters(self.parameters))

    def __repr__(self) -> str:
        return text_lines([*result_tables(self), *result_lines(self)])

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in result_tables(self)) + html_lines(result_lines(self))

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, without the samples of the predictions."""
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
            "unknown": [dict(u) for u in self.undecided],
            "notes": list(self.notes),
            "steps": list(self.next_steps),
        }

    def to_dataframe(self) -> Any:
        """The parameters as a pandas data frame, one row for each, by name.

        Raises:
            HaltereError: pandas is not installed.
        """
        return self.parameters.to_dataframe()

    def save(self, folder: str | PathLike[str], *, overwrite: bool = False) -> dict[str, Path | None]:
        """Write result.json, report.html and, if a whole vehicle can be described, airframe.toml.

        Args:
            folder: Created if it does not exist.
            overwrite: Whether files of an earlier result may be replaced.

        Returns:
            The files: `result`, `airframe_file` (None if there is none) and `report`.
        """
        there = Path(folder)
        check_folder(there, RESULT_FILES, overwrite, ResultError)
        texts = (
            json.dumps(to_jsonable(self), allow_nan=False, indent=2) + "\n",
            None if self.airframe is None else dumps(self.airframe),
            self._page().html(),
        )
        write_folder(there, dict(zip(RESULT_FILES, texts, strict=True)), ResultError)
        keys = ("result", "airframe_file", "report")
        written = [
            None if text is None else there / name for name, text in zip(RESULT_FILES, texts, strict=True)
        ]
        return dict(zip(keys, written, strict=True))

    def report(self, path: str | PathLike[str]) -> Path:
        """Write the report as one HTML file; an existing file is replaced only if Haltere wrote it."""
        written: Path = self._page().write(Path(path))
        return written

    def _page(self) -> Any:
        """The page of the report, which stands in a layer above: looked up by name, as a plug-in."""
        return importlib.import_module(REPORT).identification_page(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The result that `to_dict` was called on, without its predictions."""
        try:
            if data["format"] != FORMAT:
                raise ResultError(f"format is {data['format']!r}; {FORMAT!r} is understood here")
            return cls(
                source=_text(data["file"], "file"),
                duration=_number(data["duration"], "duration"),
                method=_text(data["method"], "method"),
                parameters=_parameters(data["parameters"]),
                airframe=_airframe(data["airframe"]),
                covariance=_covariance(data.get("covariance")),
                nominal=_airframe(data["nominal"]),
                fit={k: v for k, v in data["fit"].items() if k != "residuals"},
                excitation={name: _number(value, "excitation") for name, value in data["excitation"].items()},
                findings=_entries(data["findings"], "finding", "kind", "evidence", "remedy"),
                undecided=_entries(data["unknown"], "unknown", "kind", "reason", "remedy"),
                notes=tuple(_text(note, "note") for note in data["notes"]),
                next_steps=tuple(_text(step, "step") for step in data["steps"]),
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


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise ResultError(f"{what} is {str(value)[:80]!r}, expected a text; identify the log again")
    return value


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, float | int) or not math.isfinite(value):
        raise ResultError(f"{what} is {str(value)[:80]!r}, expected a finite number; identify the log again")
    return float(value)


def _entries(entries: Sequence[Mapping[str, Any]], what: str, *keys: str) -> tuple[Mapping[str, Any], ...]:
    """Findings and the like, in which what stands under `keys` is text."""
    for entry in entries:
        for key in keys:
            _text(entry.get(key, ""), f"{what}: {key}")
    return tuple(entries)


def _parameters(entries: Sequence[Mapping[str, Any]]) -> Parameters:
    parameters = Parameters(map(_parameter, entries))
    check_parameters(parameters)
    return parameters


def _parameter(entry: Mapping[str, Any]) -> Parameter:
    name = _text(entry["name"], "the name of a parameter")
    what = f"parameter {name[:80]!r}"
    verdict = entry["verdict"]
    if verdict not in VERDICTS:
        raise ResultError(f"verdict is {verdict!r}; expected one of {', '.join(VERDICTS)}")
    source = entry.get("source", "data")
    if source not in SOURCES:
        raise ResultError(f"source is {source!r}; expected one of {', '.join(SOURCES)}")
    given = (entry["value"], entry["sigma"], *entry["interval"], entry.get("scale"))
    value, sigma, low, high, scale = (None if x is None else _number(x, what) for x in given)
    return Parameter(
        name,
        value,
        sigma,
        (low, high),
        _text(entry["unit"], f"{what}: unit"),
        verdict,
        tuple(_text(partner, f"{what}: partner") for partner in entry.get("partners", ())),
        _text(entry.get("fix", ""), f"{what}: fix"),
        scale,
        source,
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
