"""The parameters by the names that users know: what it means to know or to see one, and what to measure by hand.

Each is a row over the error state: a parameter p has the gradient row g = dp / d(error state). Known parameters
become rows of the observability matrix; a parameter is

    observable      if g is a combination of the rows                                                        (1)
    unobservable    if its own entries alone can move without a trace
    combination     otherwise: it moves together with others

`HandMeasurementChoices` computes which hand measurements make the rest observable.
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
from haltere.observability.rank import exact
from haltere.observability.rank.directions import Direction
from haltere.observability.rank.rank import ObservabilityMatrix, error_jacobian
from haltere.observability.rank.rational_vehicle import ObservabilityError, RationalVehicle
from haltere.observability.rank.system import XYZ


class Verdict(StrEnum):
    """What can be said about a parameter."""

    OBSERVABLE = "observable"
    COMBINATION = "combination"
    UNOBSERVABLE = "unobservable"


@dataclass(frozen=True)
class VehicleParameter:
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


class VehicleParameters:
    """All parameters of a vehicle by name."""

    def __init__(self, vehicle: RationalVehicle, motion: Sequence[Fraction], axes: str) -> None:
        self.vehicle = vehicle
        c = vehicle.coordinates
        self._width = c.errors
        found = [self._unit(name, i) for i, name in enumerate(c.entries) if ".axis." not in name]
        T = error_jacobian(vehicle, tuple(motion), axes)
        for i, rotor in enumerate(c.rotors):
            number, error = c.rotor_number(i, "axis"), c.rotor_error(i, "axis")
            own = (error, error + 1)
            found += [
                VehicleParameter(f"rotors.{rotor}.axis.{axis}", T[number + k], own, axes == "sphere")
                for k, axis in enumerate(XYZ)
            ]
            for k, angle in enumerate(("azimuth", "inclination")):
                one = self._unit(f"rotors.{rotor}.axis.{angle}", error + k)
                found.append(VehicleParameter(one.name, one.row, one.own, axes == "spherical"))
        for a, b in combinations(range(len(c.rotors)), 2):
            for first, second in ((a, b), (b, a)):
                name = f"distance.{c.rotors[first]}.{c.rotors[second]}"
                found.append(VehicleParameter(name, self._distance(a, b), (), reported=False))
        self.by_name = {parameter.name: parameter for parameter in found}

    def _unit(self, name: str, index: int) -> VehicleParameter:
        row = np.full(self._width, Fraction(0), object)
        row[index] = Fraction(1)
        return VehicleParameter(name, row, (index,))

    def _distance(self, a: int, b: int) -> Numbers:
        """Half the gradient of the squared distance of two rotors."""
        c = self.vehicle.coordinates
        row = np.full(self._width, Fraction(0), object)
        apart = [p - q for p, q in zip(self.vehicle.position(a), self.vehicle.position(b), strict=True)]
        for sign, rotor in ((1, a), (-1, b)):
            first = c.rotor_error(rotor, "position")
            row[first : first + 3] = [sign * x for x in apart]
        return row

    @property
    def reported(self) -> list[VehicleParameter]:
        """Those that have a verdict of their own, without the moving state."""
        return [p for p in self.by_name.values() if p.reported and not p.name.startswith("state.")]

    @property
    def motion(self) -> list[VehicleParameter]:
        """The moving state."""
        return [p for p in self.by_name.values() if p.name.startswith("state.")]

    def named(self, pattern: str) -> list[VehicleParameter]:
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
        raise ObservabilityError(f"parameter {pattern!r} is not known for {self.vehicle.name!r}; {hint}")

    def rows(self, patterns: Iterable[str]) -> tuple[Numbers, list[str]]:
        """The rows (m, 37 + 7N) and names of all that the patterns stand for."""
        found = {p.name: p.row for pattern in patterns for p in self.named(pattern)}
        empty = np.full((0, self._width), Fraction(0), object)
        return (np.stack(list(found.values())) if found else empty), list(found)


def verdict(parameter: VehicleParameter, matrix: ObservabilityMatrix) -> Verdict:
    """Equation (1)."""
    if matrix.contains(parameter.row):
        return Verdict.OBSERVABLE
    alone = matrix.moves_alone(parameter.row, parameter.own)
    return Verdict.UNOBSERVABLE if alone else Verdict.COMBINATION


_LARGEST, _CANDIDATES, _OFFERED = 3, 30, 3
_SMALL = 1e-9


@dataclass(frozen=True)
class HandMeasurementChoices:
    """Measurements that can be made by hand, the easiest first, and what they say about the directions.

    With the unobservable directions as columns D and the rows G of the choices, a set S of measurements restores
    direction k if

        e_k is a combination of the rows of (G D)_S                                                      (2)

    and everything together if these rows have full rank. Sets are tried by size up to three; within a size the order
    of the choices decides, which is that of effort.

    Attributes:
        names: of the measurements.
        effects: (measurements, directions) change of each along each direction, rows of unit length.
        basis: (37 + 7N, directions) the directions in the vehicle's own units, of unit length.
        units: (37 + 7N,) the vehicle's own units.
    """

    names: tuple[str, ...]
    effects: Numbers
    basis: Numbers
    units: Numbers

    @classmethod
    def of(
        cls, vehicle: RationalVehicle, parameters: VehicleParameters, directions: Sequence[Direction]
    ) -> "HandMeasurementChoices":
        """The choices of this vehicle; measurements that say nothing about the directions are left out."""
        units = np.asarray(vehicle.coordinates.error_units(*vehicle.units()))
        basis = np.stack([exact.floats(d.vector) / units for d in directions], axis=1)
        basis = basis / np.linalg.norm(basis, axis=0)
        menu = cls((), np.zeros((0, len(directions))), basis, units)
        changes = {p.name: menu.change(p) for p in _measurable(vehicle, parameters)}
        telling = {name: row / np.linalg.norm(row) for name, row in changes.items() if np.any(row)}
        rows = np.asarray(list(telling.values())).reshape(len(telling), len(directions))
        return cls(tuple(telling), rows, basis, units)

    def change(self, parameter: VehicleParameter) -> Numbers:
        """(directions,) how much a quantity changes along each direction; zero where that is rounding."""
        row = exact.floats(parameter.row) * self.units
        effect = row / (np.linalg.norm(row) or 1.0) @ self.basis
        return np.where(np.abs(effect) > _SMALL, effect, 0.0)

    def for_direction(self, k: int) -> list[tuple[str, ...]]:
        """The smallest sets that restore direction k, at most three; none if the menu cannot."""
        unit = np.zeros(self.effects.shape[1])
        unit[k] = 1.0
        return self._smallest(unit, _OFFERED)

    def for_row(self, row: Numbers) -> tuple[str, ...] | None:
        """A smallest set that makes a quantity with the given change along each direction observable."""
        size = np.linalg.norm(row)
        found = self._smallest(row / size, 1) if size > 0.0 else [()]
        return found[0] if found else None

    def _smallest(self, wanted: Numbers, most: int) -> list[tuple[str, ...]]:
        """Sets of up to three, else the part of `for_all` that is needed.

        A combination of rows can only be `wanted` if each direction that it does not want is in at least two of them.
        """
        supports = [_mask(row) for row in self.effects]
        goal = _mask(wanted)
        near = [i for i, support in enumerate(supports) if support & goal]
        shared = 0
        for i in near:
            shared |= supports[i]
        near += [i for i, support in enumerate(supports) if support & shared and not support & goal]
        for size in range(1, _LARGEST + 1):
            found: list[tuple[str, ...]] = []
            for chosen in combinations(near[:_CANDIDATES], size):
                once = twice = 0
                for i in chosen:
                    twice |= once & supports[i]
                    once |= supports[i]
                if (once & ~twice) & ~goal or goal & ~once:
                    continue
                if _spans(self.effects[list(chosen)], wanted):
                    found.append(tuple(self.names[i] for i in chosen))
                if len(found) == most:
                    return found
            if found:
                return found
        basis = [self.names.index(name) for name in self.for_all()[0]]
        if not basis or not _spans(self.effects[basis], wanted):
            return []
        weights = np.linalg.lstsq(self.effects[basis].T, wanted, rcond=None)[0]
        return [tuple(self.names[i] for i, w in zip(basis, weights, strict=True) if abs(w) > 1e-7)]

    def for_all(self) -> tuple[tuple[str, ...], int]:
        """A smallest set that restores as much as the menu can, and how many directions stay."""
        chosen: list[int] = []
        for i in range(len(self.names)):
            if np.linalg.matrix_rank(self.effects[[*chosen, i]], tol=1e-7) > len(chosen):
                chosen.append(i)
            if len(chosen) == self.effects.shape[1]:
                break
        return tuple(self.names[i] for i in chosen), self.effects.shape[1] - len(chosen)


def _mask(row: Numbers) -> int:
    """The indices of non-zero entries as bits."""
    return sum(1 << i for i in np.flatnonzero(row).tolist())


def _spans(rows: Numbers, wanted: Numbers) -> bool:
    weights = np.linalg.lstsq(rows.T, wanted, rcond=None)[0]
    return bool(np.linalg.norm(rows.T @ weights - wanted) < 1e-7)


def _measurable(vehicle: RationalVehicle, parameters: VehicleParameters) -> list[VehicleParameter]:
    """What a user can measure with scales, ruler and spirit level, the easiest first."""
    c = vehicle.coordinates
    names = ["mass"]
    names += [f"distance.{a}.{b}" for a, b in combinations(c.rotors, 2)]
    names += [f"{sensor}.rotation.{axis}" for sensor in (c.sensor, "imu") for axis in "zxy"]
    names += [f"rotors.{r}.position.{axis}" for axis in "zxy" for r in c.rotors]
    names += [f"rotors.{r}.axis.{angle}" for angle in ("azimuth", "inclination") for r in c.rotors]
    names += [f"{sensor}.position.{axis}" for sensor in (c.sensor, "imu") for axis in "xyz"]
    names += [f"rotors.{r}.{part}" for part in ("thrust_coefficient", "torque_ratio") for r in c.rotors]
    names += [f"gravity.{axis}" for axis in "zxy"]
    return [parameters.by_name[name] for name in names]
