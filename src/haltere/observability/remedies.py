"""Which hand measurements make the rest observable: the smallest sets from a menu, computed.

With the unobservable directions as columns D and the rows G of the menu, a set S of measurements restores
direction k if

    e_k is a combination of the rows of (G D)_S                                                          (1)

and everything together if these rows have full rank. Sets are tried by size; within a size the order of the menu
decides, which is that of effort.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from haltere.observability import exact
from haltere.observability.directions import Direction
from haltere.observability.parameters import Parameter, Parameters
from haltere.observability.subject import Subject

Numbers = np.ndarray[Any, np.dtype[Any]]

_LARGEST, _CANDIDATES, _OFFERED = 3, 40, 3
_SMALL = 1e-9


@dataclass(frozen=True)
class Menu:
    """Measurements that can be made by hand, the easiest first, and what they say about the directions.

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
    def of(cls, subject: Subject, parameters: Parameters, directions: Sequence[Direction]) -> "Menu":
        """The menu of this vehicle; measurements that say nothing about the directions are left out."""
        units = np.asarray(subject.coordinates.error_units(*subject.units()))
        basis = np.stack([exact.floats(d.vector) / units for d in directions], axis=1)
        basis = basis / np.linalg.norm(basis, axis=0)
        menu = cls((), np.zeros((0, len(directions))), basis, units)
        changes = {p.name: menu.change(p) for p in _measurable(subject, parameters)}
        telling = {name: row / np.linalg.norm(row) for name, row in changes.items() if np.any(row)}
        rows = np.asarray(list(telling.values())).reshape(len(telling), len(directions))
        return cls(tuple(telling), rows, basis, units)

    def change(self, parameter: Parameter) -> Numbers:
        """(directions,) how much a quantity changes along each direction; zero where that is rounding."""
        row = exact.floats(parameter.row) * self.units
        effect = row / (np.linalg.norm(row) or 1.0) @ self.basis
        return np.where(np.abs(effect) > _SMALL, effect, 0.0)

    def for_direction(self, k: int) -> list[tuple[str, ...]]:
        """The smallest sets that restore direction k, at most three; none if the menu cannot."""
        unit = np.zeros(self.effects.shape[1])
        unit[k] = 1.0
        near = self._touching(k)
        for size in range(1, _LARGEST + 1):
            found: list[tuple[str, ...]] = []
            for chosen in combinations(near, size):
                if _spans(self.effects[list(chosen)], unit):
                    found.append(tuple(self.names[i] for i in chosen))
                    if len(found) == _OFFERED:
                        return found
            if found:
                return found
        return []

    def for_row(self, row: Numbers) -> tuple[str, ...] | None:
        """A smallest set that makes a quantity with the given change along each direction observable."""
        size = np.linalg.norm(row)
        if size == 0.0:
            return ()
        wanted = row / size
        near = [i for i in range(len(self.names)) if np.any((self.effects[i] != 0) & (wanted != 0))][:_CANDIDATES]
        for count in range(1, _LARGEST + 1):
            for chosen in combinations(near, count):
                if _spans(self.effects[list(chosen)], wanted):
                    return tuple(self.names[i] for i in chosen)
        return None

    def for_all(self) -> tuple[tuple[str, ...], int]:
        """A smallest set that restores as much as the menu can, and how many directions stay."""
        chosen: list[int] = []
        for i in range(len(self.names)):
            if np.linalg.matrix_rank(self.effects[[*chosen, i]], tol=1e-7) > len(chosen):
                chosen.append(i)
            if len(chosen) == self.effects.shape[1]:
                break
        return tuple(self.names[i] for i in chosen), self.effects.shape[1] - len(chosen)

    def _touching(self, k: int) -> list[int]:
        """Measurements that the direction changes, and those that share a further direction with one of them."""
        first = [i for i in range(len(self.names)) if self.effects[i, k] != 0]
        shared = np.any(self.effects[first] != 0, axis=0) if first else np.zeros(self.effects.shape[1], bool)
        second = [i for i in range(len(self.names)) if i not in first and np.any((self.effects[i] != 0) & shared)]
        return [*first, *second][:_CANDIDATES]


def _spans(rows: Numbers, wanted: Numbers) -> bool:
    weights = np.linalg.lstsq(rows.T, wanted, rcond=None)[0]
    return bool(np.linalg.norm(rows.T @ weights - wanted) < 1e-7)


def _measurable(subject: Subject, parameters: Parameters) -> list[Parameter]:
    """What a user can measure with scales, ruler and spirit level, the easiest first."""
    c = subject.coordinates
    names = ["mass"]
    names += [f"distance.{a}.{b}" for a, b in combinations(c.rotors, 2)]
    names += [f"{sensor}.rotation.{axis}" for sensor in (c.sensor, "imu") for axis in "zxy"]
    names += [f"rotors.{r}.position.{axis}" for axis in "zxy" for r in c.rotors]
    names += [f"rotors.{r}.axis.{angle}" for angle in ("azimuth", "inclination") for r in c.rotors]
    names += [f"{sensor}.position.{axis}" for sensor in (c.sensor, "imu") for axis in "xyz"]
    names += [f"rotors.{r}.{part}" for part in ("thrust_coefficient", "torque_ratio") for r in c.rotors]
    names += [f"inertia.{axis}" for axis in ("zz", "xx", "yy")]
    names += [f"gravity.{axis}" for axis in "zxy"]
    return [parameters.by_name[name] for name in names]
