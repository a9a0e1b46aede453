"""The numbers of a vehicle: one `Parameter` each, with its verdict, and all of them by name."""

import difflib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

from haltere.foundation import HaltereError
from haltere.foundation.jsonable import fields_to_jsonable
from haltere.foundation.tables import TextTable, make_dataframe
from haltere.foundation.text import NAME_RULE, is_path, one_line
from haltere.foundation.verdict import KNOWN, NORMAL, Source, Verdict, judge, limits
from haltere.identification.summary import COLUMNS, format_interval

FRAME_COLUMNS = (
    "name",
    "value",
    "sigma",
    "low",
    "high",
    "unit",
    "verdict",
    "partners",
    "fix",
    "scale",
    "source",
)


class ResultError(HaltereError):
    """A file that is no result of `haltere identify`."""


@dataclass(frozen=True, repr=False)
class Parameter:
    """One number of the vehicle.

    Attributes:
        name: Its path in the airframe, with component (`inertia.zz`, `rotors.m1.effectiveness.fz`).
        value: In SI; None if nothing is known of it.
        sigma: Standard deviation, systematic part included; None if nothing is known.
        interval: At 95 %; None for an open side.
        unit: Of all three.
        verdict: What is known of it, by the rule of `haltere.foundation.verdict`.
        partners: The parameters that it forms a combination with, if only that is known.
        fix: What to fly, measure or log instead; empty if it is identified.
        scale: What its limit refers to, in the same unit; None if nothing is known of it.
        source: `data`, `prior` (the data say little more than what was believed before) or `user`.
    """

    name: str
    value: float | None
    sigma: float | None
    interval: tuple[float | None, float | None]
    unit: str
    verdict: Verdict
    partners: tuple[str, ...] = ()
    fix: str = ""
    scale: float | None = None
    source: Source = "data"

    @property
    def known(self) -> bool:
        """Whether value and interval count: it is identified, weak or given."""
        return self.verdict in KNOWN and self.value is not None

    @classmethod
    def measured(
        cls,
        name: str,
        value: float,
        sigma: float,
        unit: str,
        fix: str = "",
        positive: bool = False,
        lower: float = 0.0,
    ) -> Self:
        """A number with an interval, or an unobservable one if it is not finite, or below what it can be.

        Its verdict compares it with its own value until `judge_parameters` knows its companions.

        Args:
            name: Of the number.
            value: SI.
            sigma: Its deviation, systematic part included.
            unit: Of both.
            fix: What would make it better.
            positive: Whether it cannot be below `lower`: then its interval is cut there.
            lower: Lowest value there can be, if `positive`.
        """
        possible = math.isfinite(value) and math.isfinite(sigma) and sigma > 0.0
        if not possible or (positive and value < lower):
            return cls.unobservable(name, unit, fix)
        low, high = value - NORMAL * sigma, value + NORMAL * sigma
        if positive and low < lower:
            low = lower
        limit = limits({name: value})[name]
        verdict = judge(NORMAL * sigma, limit)
        return cls(name, value, sigma, (low, high), unit, verdict, (), fix, limit.scale)

    def __repr__(self) -> str:
        known = "-" if self.value is None else f"{self.value:.6g}"
        known += "" if self.sigma is None else f" +- {self.sigma:.2g}"
        fix = f"; {self.fix}" if self.fix else ""
        interval = format_interval(self.interval)
        return one_line(f"{self.name} = {known} {self.unit}, 95 % {interval}, {self.verdict}{fix}")

    @classmethod
    def given(cls, name: str, value: float, sigma: float, unit: str) -> Self:
        """A number above zero that the user gave; one part in a thousand where no deviation was given."""
        number = cls.measured(name, value, sigma or 1e-3 * value, unit, positive=True)
        return replace(number, verdict="given", source="user")

    @classmethod
    def unobservable(cls, name: str, unit: str, fix: str) -> Self:
        """A number that the log says nothing about."""
        return cls(name, None, None, (None, None), unit, "unobservable", (), fix)

    @classmethod
    def combination(cls, name: str, unit: str, partners: tuple[str, ...], fix: str) -> Self:
        """A number of which only a combination with others is known."""
        return cls(name, None, None, (None, None), unit, "combination", partners, fix)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return fields_to_jsonable(self)


def check_parameters(parameters: Iterable[Parameter]) -> None:
    """Refuse a parameter whose name is no path of names, or one of whose numbers is not finite.

    Raises:
        ResultError: with the first that is at fault.
    """
    for p in parameters:
        for name in (p.name, *p.partners):
            if not is_path(name) or (name.startswith("rotors.") and name.count(".") < 2):
                raise ResultError(
                    f"a parameter is called {str(name)[:80]!r}; expected names joined by dots ({NAME_RULE}), such as "
                    "rotors.m1.curve; identify the log again"
                )
        for number in (p.value, p.sigma, *p.interval, p.scale):
            if number is not None and not math.isfinite(number):
                raise ResultError(
                    f"parameter {p.name}: got {number}, expected a finite number; identify the log again"
                )


def judge_parameters(parameters: Iterable[Parameter], arm: float | None = None) -> list[Parameter]:
    """The parameters of one vehicle with the verdicts that they have beside each other.

    Args:
        parameters: all of them; those that are not known keep their verdicts.
        arm: largest distance of a rotor from the middle of all, m, if it is known otherwise.
    """
    numbers = list(parameters)
    by_name = limits({p.name: p.value for p in numbers if p.known and p.value is not None}, arm)
    judged = []
    for p in numbers:
        if not p.known or p.sigma is None:
            judged.append(p)
            continue
        verdict = judge(NORMAL * p.sigma, by_name[p.name], p.source)
        fix = p.fix if verdict == "weak" else ""
        judged.append(replace(p, verdict=verdict, fix=fix, scale=by_name[p.name].scale))
    return judged


class Parameters:
    """The parameters of a result in their order; `parameters["mass"]` gives one, `for p in parameters` all."""

    def __init__(self, parameters: Iterable[Parameter] = ()) -> None:
        self._all = tuple(parameters)
        self._by_name = {p.name: p for p in reversed(self._all)}

    def __getitem__(self, name: str) -> Parameter:
        if name in self._by_name:
            return self._by_name[name]
        near = difflib.get_close_matches(str(name), self.names, n=3, cutoff=0.5)
        known = near or [*self.names[:5], *(["..."] if len(self) > 5 else [])]
        raise ResultError(
            f"no parameter is called {name!r}; {'did you mean' if near else 'there are'} {', '.join(known)}"
            f"{'?' if near else ''}"
        )

    def get(self, name: str) -> Parameter | None:
        """The parameter of this name, or None if the result does not have it."""
        return self._by_name.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(p.name for p in self._all)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name or name in self._all

    def __eq__(self, other: object) -> bool:
        return self._all == other._all if isinstance(other, Parameters) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._all)

    def __repr__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()

    def _table(self) -> TextTable:
        rows = [
            (p.name, p.value, p.sigma, format_interval(p.interval), p.unit, p.verdict, p.fix)
            for p in self._all
        ]
        return TextTable(f"{len(self)} parameters", COLUMNS, rows)

    def to_dataframe(self) -> Any:
        """A pandas data frame with one row for each parameter, by name.

        Raises:
            HaltereError: pandas is not installed.
        """
        return make_dataframe(FRAME_COLUMNS, map(frame_row, self._all), "name")


def frame_row(p: Parameter) -> tuple[Any, ...]:
    """The cells of a parameter in a data frame, in the order of `FRAME_COLUMNS`."""
    return (p.name, p.value, p.sigma, *p.interval, p.unit, p.verdict, p.partners, p.fix, p.scale, p.source)
