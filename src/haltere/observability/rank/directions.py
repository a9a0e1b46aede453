"""The null space of the observability matrix as sentences: which parameters move together, and how.

First come entries that alone move without a trace, then the known symmetries that the exact matrix confirms, without
such entries; what is then still missing is given as a sparse basis in plain numbers. Shares are changes in the
vehicle's own units (mass, arm length, ...), the largest 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from haltere.algebra import modular
from haltere.foundation.numbers import Numbers
from haltere.observability.rank import exact
from haltere.observability.rank.coordinates import XYZ
from haltere.observability.rank.matrix import chart
from haltere.observability.rank.rank import ExactMatrix, FloatMatrix
from haltere.observability.rank.subject import Subject
from haltere.observability.rank.symmetry import Symmetry, candidates

_SHOWN = 1e-6


@dataclass(frozen=True)
class Direction:
    """One unobservable direction.

    Attributes:
        kind: `absent` (a single entry), the kind of a `Symmetry`, or `combination`.
        members: names with their share; share 1 moves the most.
        explanation: a sentence.
        vector: (37 + 7N,) in the error state; rational, or floats for `combination`.
        symmetry: the finite transformation, where there is one.
    """

    kind: str
    members: tuple[tuple[str, float], ...]
    explanation: str
    vector: Numbers
    symmetry: Symmetry | None = None


_ABSENT = {
    "state.position": "the position in the world: nothing measures it",
    "state.velocity": "the velocity: nothing measures it",
    "state.attitude": "the attitude in the world: nothing measures it",
    "gravity": "gravity: it does not show in what the sensors read",
    "rotation": "the rotation of the {0} sensor: nothing that it turns is read",
    "position": "the place of the {0} sensor: nothing that depends on it is read",
    "accel_bias": "the accelerometer's bias: no accelerometer is read",
    "gyro_bias": "the gyroscope's bias: no gyroscope is read",
    "azimuth": "the azimuth of an upright axis: it has none",
}


def named_directions(
    subject: Subject, matrix: ExactMatrix | FloatMatrix, axes: str, floating: FloatMatrix | None = None
) -> list[Direction]:
    """As many independent directions as the null space has dimensions.

    Args:
        subject: the vehicle.
        matrix: of the sensors alone.
        axes: `sphere` or `spherical`.
        floating: the floating-point matrix, for directions without a name.
    """
    width = subject.coordinates.errors
    found: list[Direction] = []
    space = _Span(modular.largest_primes(1)[0], width)
    symmetries = candidates(subject, matrix.motion, chart(subject, matrix.motion, axes))
    symmetries = [symmetry for symmetry in symmetries if matrix.annihilates(symmetry.vector)]
    slid = {int(np.flatnonzero(s.vector)[0]) for s in symmetries if np.count_nonzero(s.vector) == 1}
    alone = matrix.blind()
    for i in (i for i in alone if i not in slid):
        unit = np.full(width, Fraction(0), object)
        unit[i] = Fraction(1)
        space.add(unit)
        found.append(_absent(subject, i, unit, axes))
    for symmetry in symmetries:
        vector = symmetry.vector.copy()
        if np.count_nonzero(vector) > 1:
            vector[alone] = Fraction(0)  # what nobody sees moves or not
        if space.add(vector):
            members = _members(subject, exact.floats(vector), axes)
            found.append(Direction(symmetry.kind, members, symmetry.explanation, vector, symmetry))
    nullity = width - matrix.rank
    if len(found) < nullity and floating is not None:
        found += _remaining(subject, floating, matrix.rank, found, axes)
    return found


def respecting(
    subject: Subject, directions: Sequence[Direction], known: Numbers, axes: str
) -> list[Direction]:
    """Those directions, and combinations of them, along which the known quantities (m, 37 + 7N) do not change.

    Slides and single entries give way first, so that a scale or a turn keeps its name and says what moves with it.
    """
    if len(known) == 0 or not directions:
        return list(directions)
    order = sorted(directions, key=lambda d: _YIELDS.get(d.kind, 2))
    basis = np.stack([d.vector for d in order], axis=1)
    exactly = all(isinstance(x, Fraction) for x in basis.flat)
    weights = _null_combinations(
        known @ basis if exactly else exact.floats(known) @ exact.floats(basis), exactly
    )
    result = []
    for column in weights:
        parts = [(d, w) for d, w in zip(order, column, strict=True) if w != 0]
        if len(parts) == 1:
            result.append(parts[0][0])
            continue
        main = parts[-1][0]
        vector = basis @ np.asarray(column, object)
        others = ", ".join(dict.fromkeys(_short(d) for d, _ in parts[:-1]))
        text = f"{main.explanation}; with what is known only together with {others}"
        result.append(Direction(main.kind, _members(subject, exact.floats(vector), axes), text, vector))
    return sorted(result, key=lambda d: _SHOWN_FIRST.get(d.kind, 9))


_YIELDS = {"absent": 0, "slide": 1, "combination": 2, "mass scale": 3, "leverage scale": 4, "turn": 5}
_SHOWN_FIRST = {"absent": 0, "mass scale": 1, "leverage scale": 2, "slide": 3, "turn": 4, "combination": 5}


def _short(direction: Direction) -> str:
    if direction.kind == "slide":
        return direction.explanation.split(":", maxsplit=1)[0]
    return direction.kind if direction.kind != "absent" else direction.members[0][0]


def _null_combinations(matrix: Numbers, exactly: bool) -> list[list[Any]]:
    """All independent w with matrix w = 0; each has one entry 1 that stands as far right as possible."""
    rows = [list(row) for row in matrix]
    width = matrix.shape[1]
    smallest = 0 if exactly else 1e-9 * float(np.max(np.abs(matrix), initial=0.0))
    pivots: list[int] = []
    for column in range(width):
        top = len(pivots)
        best = max(range(top, len(rows)), key=lambda i: abs(rows[i][column]), default=None)
        if best is None or abs(rows[best][column]) <= smallest:
            continue
        rows[top], rows[best] = rows[best], rows[top]
        pivot = rows[top][column]
        rows[top] = [x / pivot for x in rows[top]]
        for i in range(len(rows)):
            if i != top and rows[i][column] != 0:
                factor = rows[i][column]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[top], strict=True)]
        pivots.append(column)
    combinations = []
    for free in (i for i in range(width) if i not in pivots):
        weights: list[Any] = [Fraction(0) if exactly else 0.0] * width
        weights[free] = Fraction(1) if exactly else 1.0
        for row, pivot in zip(rows, pivots, strict=False):
            weights[pivot] = -row[free]
        combinations.append(weights)
    return combinations


class _Span:
    """Independent vectors modulo a prime."""

    def __init__(self, prime: int, width: int) -> None:
        self._prime = prime
        self._rows = np.zeros((0, width), np.int64)

    def add(self, vector: Numbers) -> bool:
        """Take the vector in; whether it was independent of those before."""
        stacked = np.concatenate([self._rows, modular.residues(vector, self._prime)[None]])
        reduced, pivots = modular.echelon(stacked, self._prime)
        grown = len(pivots) > len(self._rows)
        self._rows = reduced
        return grown


def _absent(subject: Subject, place: int, unit: Numbers, axes: str) -> Direction:
    members = _members(subject, exact.floats(unit), axes)
    name = members[0][0] if members else f"{subject.coordinates.entries[place][:-2]}.azimuth"
    group = name.rsplit(".", 1)[0]
    key = group if group in _ABSENT else group.rsplit(".", 1)[-1]
    key = "azimuth" if name.endswith("azimuth") else key
    text = _ABSENT.get(key, f"{name}: nothing that is read depends on it").format(
        group.split(".", maxsplit=1)[0]
    )
    return Direction("absent", members or ((name, 1.0),), text, unit)


def _members(subject: Subject, vector: Numbers, axes: str) -> tuple[tuple[str, float], ...]:
    """Names and shares of all that moves, in the vehicle's own units."""
    c = subject.coordinates
    units = np.asarray(c.error_units(*subject.units()))
    changes: list[tuple[str, float]] = []
    for i, name in enumerate(c.entries):
        if ".axis." not in name:
            changes.append((name, float(vector[i]) / units[i]))
        elif name.endswith(".1"):
            rotor = (i - c.rotor_error(0, "axis")) // 7
            stem, two = name[:-2], vector[i : i + 2]
            if axes == "sphere":
                moves = exact.floats(exact.tangent(subject.axis(rotor))) @ two
                changes += [(f"{stem}.{axis}", float(x)) for axis, x in zip(XYZ, moves, strict=True)]
            else:
                changes += [(f"{stem}.azimuth", float(two[0])), (f"{stem}.inclination", float(two[1]))]
    largest = max((abs(x) for _, x in changes), default=0.0)
    if largest == 0.0:
        return ()
    return tuple((name, x / largest) for name, x in changes if abs(x) > _SHOWN * largest)


def _remaining(
    subject: Subject, floating: FloatMatrix, rank: int, found: Sequence[Direction], axes: str
) -> list[Direction]:
    """A sparse basis of what the null space has beyond the directions found, in floating-point numbers."""
    units = np.asarray(subject.coordinates.error_units(*subject.units()))
    space = floating.null_space(rank) / units[:, None]
    if found:
        named = np.stack([exact.floats(d.vector) / units for d in found], axis=1)
        basis = np.linalg.qr(named)[0]
        space = space - basis @ (basis.T @ space)
    left, values, _ = np.linalg.svd(space, full_matrices=False)
    count = space.shape[1] - len(found)
    directions = []
    for column in sparse_basis(left[:, np.argsort(-values)[:count]]).T:
        members = _members(subject, column * units, axes)
        largest = sorted(members, key=lambda item: -abs(item[1]))
        text = "moves together: " + ", ".join(f"{name} {share:+.3g}" for name, share in largest[:8])
        more = f" and {len(largest) - 8} more" if len(largest) > 8 else ""
        directions.append(Direction("combination", members, text + more, column * units))
    return directions


def sparse_basis(space: Numbers) -> Numbers:
    """A basis of the columns' span (n, d) with many zeros: elimination with the largest pivots, rounding cut."""
    rows = np.array(space.T, float)
    taken: list[int] = []
    for i in range(rows.shape[0]):
        rest = np.abs(rows[i:]).copy()
        rest[:, taken] = 0.0
        row, column = divmod(int(np.argmax(rest)), rest.shape[1])
        rows[[i, i + row]] = rows[[i + row, i]]
        rows[i] /= rows[i, column]
        for j in range(rows.shape[0]):
            if j != i:
                rows[j] -= rows[j, column] * rows[i]
        taken.append(column)
    rows[np.abs(rows) < 1e-7] = 0.0
    return rows.T
