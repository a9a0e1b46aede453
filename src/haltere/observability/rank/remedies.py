"""Which hand measurements make the rest observable: the smallest sets from a menu, computed.

With the unobservable directions as columns D and the rows G of the menu, a set S of measurements restores
direction k if

    e_k is a combination of the rows of (G D)_S                                                          (1)

and everything together if these rows have full rank. Sets are tried by size up to three; within a size the order of
the menu decides, which is that of effort.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from haltere.foundation.numbers import Numbers
from haltere.observability.rank import exact
from haltere.observability.rank.directions import Direction
from haltere.observability.rank.parameters import Parameter, Parameters
from haltere.observability.rank.subject import Subject

_LARGEST, _CANDIDATES, _OFFERED = 3, 30, 3
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
    """The places of non-zero entries as bits."""
    return sum(1 << i for i in np.flatnonzero(row).tolist())


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
    names += [f"gravity.{axis}" for axis in "zxy"]
    return [parameters.by_name[name] for name in names]
