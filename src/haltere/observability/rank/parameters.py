"""The names that users know, each as a row over the error state: what it means to know or to see a parameter.

A parameter p has the gradient row g = dp / d(error state). Known parameters become rows of the observability matrix;
a parameter is

    observable      if g is a combination of the rows                                                        (1)
    unobservable    if its own entries alone can move without a trace
    combination     otherwise: it moves together with others
"""

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import combinations

import numpy as np

from haltere.airframe.errors import closest
from haltere.foundation.numbers import Numbers
from haltere.observability.rank.coordinates import XYZ
from haltere.observability.rank.matrix import chart
from haltere.observability.rank.rank import ExactMatrix, FloatMatrix
from haltere.observability.rank.subject import ObservabilityError, Subject


class Verdict(StrEnum):
    """What can be said about a parameter."""

    OBSERVABLE = "observable"
    COMBINATION = "combination"
    UNOBSERVABLE = "unobservable"


@dataclass(frozen=True)
class Parameter:
    """A named scalar.

    Attributes:
        name: as in files and reports.
        row: (37 + 7N,) rational gradient by the error state.
        own: the entries of the error state that belong to it.
        reported: whether it is listed; distances and the other way to write an axis can only be known.
    """

    name: str
    row: Numbers
    own: tuple[int, ...]
    reported: bool = True


class Parameters:
    """All parameters of a vehicle by name."""

    def __init__(self, subject: Subject, motion: Sequence[Fraction], axes: str) -> None:
        self.subject = subject
        c = subject.coordinates
        self._width = c.errors
        found = [self._unit(name, i) for i, name in enumerate(c.entries) if ".axis." not in name]
        T = chart(subject, tuple(motion), axes)
        for i, rotor in enumerate(c.rotors):
            number, error = c.rotor_number(i, "axis"), c.rotor_error(i, "axis")
            own = (error, error + 1)
            found += [
                Parameter(f"rotors.{rotor}.axis.{axis}", T[number + k], own, axes == "sphere")
                for k, axis in enumerate(XYZ)
            ]
            for k, angle in enumerate(("azimuth", "inclination")):
                one = self._unit(f"rotors.{rotor}.axis.{angle}", error + k)
                found.append(Parameter(one.name, one.row, one.own, axes == "spherical"))
        for a, b in combinations(range(len(c.rotors)), 2):
            for first, second in ((a, b), (b, a)):
                name = f"distance.{c.rotors[first]}.{c.rotors[second]}"
                found.append(Parameter(name, self._distance(a, b), (), reported=False))
        self.by_name = {parameter.name: parameter for parameter in found}

    def _unit(self, name: str, place: int) -> Parameter:
        row = np.full(self._width, Fraction(0), object)
        row[place] = Fraction(1)
        return Parameter(name, row, (place,))

    def _distance(self, a: int, b: int) -> Numbers:
        """Half the gradient of the squared distance of two rotors."""
        c = self.subject.coordinates
        row = np.full(self._width, Fraction(0), object)
        apart = [p - q for p, q in zip(self.subject.position(a), self.subject.position(b), strict=True)]
        for sign, rotor in ((1, a), (-1, b)):
            first = c.rotor_error(rotor, "position")
            row[first : first + 3] = [sign * x for x in apart]
        return row

    @property
    def reported(self) -> list[Parameter]:
        """Those that have a verdict of their own, without the moving state."""
        return [p for p in self.by_name.values() if p.reported and not p.name.startswith("state.")]

    @property
    def motion(self) -> list[Parameter]:
        """The moving state."""
        return [p for p in self.by_name.values() if p.name.startswith("state.")]

    def named(self, pattern: str) -> list[Parameter]:
        """What a name, a prefix of names or a pattern with `*` stands for; unknown names are an error."""
        parts = pattern.split(".")
        matching = [
            p
            for name, p in self.by_name.items()
            if len(split := name.split(".")) >= len(parts)
            and all(fnmatch.fnmatchcase(x, y) for x, y in zip(split, parts, strict=False))
        ]
        if matching and parts != [""]:
            return [p for p in matching if p.reported] or matching
        heads = {name.rsplit(".", i)[0] for name in self.by_name for i in range(3)}
        hint = closest(pattern, sorted(heads))
        if hint.startswith("known are"):
            hint = "known are mass, inertia, gravity, pose, imu, rotors.<name> and distance.<a>.<b>"
        raise ObservabilityError(f"parameter {pattern!r} is not known for {self.subject.name!r}; {hint}")

    def rows(self, patterns: Iterable[str]) -> tuple[Numbers, list[str]]:
        """The rows (m, 37 + 7N) and names of all that the patterns stand for."""
        found = {p.name: p.row for pattern in patterns for p in self.named(pattern)}
        empty = np.full((0, self._width), Fraction(0), object)
        return (np.stack(list(found.values())) if found else empty), list(found)


def verdict(parameter: Parameter, matrix: ExactMatrix | FloatMatrix) -> Verdict:
    """Equation (1)."""
    if matrix.contains(parameter.row):
        return Verdict.OBSERVABLE
    alone = matrix.moves_alone(parameter.row, parameter.own)
    return Verdict.UNOBSERVABLE if alone else Verdict.COMBINATION
