"""The null space of the observability matrix as sentences: which parameters move together, and how.

First come entries that alone move without a trace, then the known symmetries that the exact matrix confirms, without
such entries; what is then still missing is given as a sparse basis in plain numbers. Shares are changes in the
vehicle's own units (mass, arm length, ...), the largest 1. Known symmetries are transformations of a vehicle that no
flight can reveal; `candidates` lists them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from haltere.algebra import modular
from haltere.foundation.numbers import Floats, Numbers
from haltere.observability.rank import exact
from haltere.observability.rank.rank import FloatMatrix, ObservabilityMatrix, error_jacobian
from haltere.observability.rank.rational_vehicle import RationalVehicle
from haltere.observability.rank.system import BASE, XYZ


@dataclass(frozen=True)
class Symmetry:
    """One transformation of a vehicle, as a direction and as a finite step.

    Attributes:
        kind: `mass scale`, `leverage scale`, `slide` or `turn`.
        explanation: a sentence for the user.
        vector: (37 + 7N,) rational direction in the error state.
        moved: from z (40 + 8N,) as floats and a finite step, the transformed z.
    """

    kind: str
    explanation: str
    vector: Numbers
    transform: Callable[[Floats, float], Floats]


def candidates(vehicle: RationalVehicle, motion: Sequence[Fraction], T: Numbers) -> list[Symmetry]:
    """All transformations (1) to (4) that the error state can express, with its jacobian T.

    With factor s, distance d and angle e, m, i, k_f, k_m, r, n as in `haltere.observability.rank.system`:

        scale of mass       m, i and all k_f grow by the factor s: forces and torques grow with what they move    (1)
        scale of leverage   i, all r and all k_m grow by s: torques grow with the inertia                         (2)
        slide of rotor j    r_j moves by d n_j: force and torque of a line of action stay the same                (3)
        turn of the axes    if the two moments across a principal axis are equal, M may rotate by e about it, and
                            with it all that is expressed in M                                                    (4)

    Each is a candidate: whether it is unobservable for given sensors is decided by the exact observability matrix.
    """
    c = vehicle.coordinates
    n = len(c.rotors)
    z = (*motion, *vehicle.constants)
    found = [_mass_scale(vehicle), _leverage_scale(vehicle), *(_slide(vehicle, rotor) for rotor in range(n))]
    moments = z[34:37]
    for axis in (2, 1, 0):
        one, two = (i for i in range(3) if i != axis)
        vector = _rotation_vector(vehicle, z, axis, T) if moments[one] == moments[two] else None
        if vector is not None:
            names = f"{MOMENT_NAMES[one]} and {MOMENT_NAMES[two]}"
            what = {"z": "yaw", "y": "pitch", "x": "roll"}[XYZ[axis]]
            text = (
                f"{what} of the principal axes: {names} are equal, so nothing says how the axes lie about "
                f"{XYZ[axis]}; velocities, sensors and rotors rotate together"
            )
            found.append(Symmetry("turn", text, vector, _rotate_axes(axis, n)))
    return found


MOMENT_NAMES = ("inertia.xx", "inertia.yy", "inertia.zz")


def _zero(vehicle: RationalVehicle) -> Numbers:
    return np.full(vehicle.coordinates.errors, Fraction(0), object)


def _mass_scale(vehicle: RationalVehicle) -> Symmetry:
    c, vector = vehicle.coordinates, _zero(vehicle)
    n = len(c.rotors)
    vector[c.index["mass"]] = vehicle.number(33)
    for i, name in enumerate(MOMENT_NAMES):
        vector[c.index[name]] = vehicle.number(34 + i)
    for rotor in range(n):
        index = c.rotor_number(rotor, "thrust_coefficient")
        vector[c.rotor_error(rotor, "thrust_coefficient")] = vehicle.number(index)

    def transform(z: Floats, step: float) -> Floats:
        result = z.copy()
        result[33:37] *= 1.0 + step
        result[BASE + 6 * n : BASE + 7 * n] *= 1.0 + step
        return result

    text = "mass, inertia and all thrust coefficients scale together: only their ratios show"
    return Symmetry("mass scale", text, vector, transform)


def _leverage_scale(vehicle: RationalVehicle) -> Symmetry:
    c, vector = vehicle.coordinates, _zero(vehicle)
    n = len(c.rotors)
    for i, name in enumerate(MOMENT_NAMES):
        vector[c.index[name]] = vehicle.number(34 + i)
    for rotor in range(n):
        first = c.rotor_error(rotor, "position")
        vector[first : first + 3] = vehicle.position(rotor)
        ratio = c.rotor_number(rotor, "torque_ratio")
        vector[c.rotor_error(rotor, "torque_ratio")] = vehicle.number(ratio)

    def transform(z: Floats, step: float) -> Floats:
        result = z.copy()
        result[34:37] *= 1.0 + step
        result[BASE : BASE + 3 * n] *= 1.0 + step
        result[BASE + 7 * n :] *= 1.0 + step
        return result

    text = "inertia, all rotor positions and all torque ratios scale together: levers against inertia"
    return Symmetry("leverage scale", text, vector, transform)


def _slide(vehicle: RationalVehicle, rotor: int) -> Symmetry:
    c, vector = vehicle.coordinates, _zero(vehicle)
    first = c.rotor_error(rotor, "position")
    vector[first : first + 3] = vehicle.axis(rotor)
    position, axis = (c.rotor_number(rotor, part) for part in ("position", "axis"))

    def transform(z: Floats, step: float) -> Floats:
        result = z.copy()
        result[position : position + 3] += step * z[axis : axis + 3]
        return result

    name = c.rotors[rotor]
    text = f"rotor {name} slides along its axis: where along its line of action it pushes does not show"
    return Symmetry("slide", text, vector, transform)


def _cross(a: Sequence[Fraction], b: Sequence[Fraction]) -> list[Fraction]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _rotation_vector(
    vehicle: RationalVehicle, z: Sequence[Fraction], axis: int, T: Numbers
) -> Numbers | None:
    """The direction of (4); None where the coordinates of an axis cannot follow."""
    c, vector = vehicle.coordinates, _zero(vehicle)
    unit = exact.identity(3)[axis]

    def follow(number: int, error: int) -> None:
        vector[error : error + 3] = _cross(z[number : number + 3], unit)

    vector[6:9] = unit
    for number, error in ((3, 3), (10, 9), (13, 12), (20, 18)):
        follow(number, error)
    for number, error in c.rotations[1:]:
        inverse = tuple(zip(*exact.rotation(z[number : number + 4]), strict=True))
        vector[error : error + 3] = [-x for x in exact.rotate(inverse, unit)]
    for rotor in range(len(c.rotors)):
        follow(c.rotor_number(rotor, "position"), c.rotor_error(rotor, "position"))
        number, error = c.rotor_number(rotor, "axis"), c.rotor_error(rotor, "axis")
        wanted = _cross(z[number : number + 3], unit)
        columns = T[number : number + 3, error : error + 2]
        along = [
            sum(a * b for a, b in zip(wanted, columns[:, k], strict=True)) / (columns[:, k] @ columns[:, k])
            if any(columns[:, k])
            else Fraction(0)
            for k in range(2)
        ]
        if any(x != y for x, y in zip(columns @ np.asarray(along, object), wanted, strict=True)):
            return None
        vector[error : error + 2] = along
    return vector


def _rotate_axes(axis: int, rotors: int) -> Callable[[Floats, float], Floats]:
    def transform(z: Floats, step: float) -> Floats:
        result = z.copy()
        q: Any = np.zeros(4)
        q[0], q[1 + axis] = np.cos(0.5 * step), np.sin(0.5 * step)
        back: Any = exact.conjugated(q)
        R = exact.floats(exact.rotation(back))
        for first in (3, 10, 13, 20, *range(BASE, BASE + 6 * rotors, 3)):
            result[first : first + 3] = R @ z[first : first + 3]
        result[6:10] = exact.multiplied(z[6:10].tolist(), q)
        for first in (16, 23):
            result[first : first + 4] = exact.multiplied(back, z[first : first + 4].tolist())
        return result

    return transform


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
    "rotation": "the rotation of the {0} sensor: nothing that depends on it is read",
    "position": "the position of the {0} sensor: nothing that depends on it is read",
    "accel_bias": "the accelerometer's bias: no accelerometer is read",
    "gyro_bias": "the gyroscope's bias: no gyroscope is read",
    "azimuth": "the azimuth of an upright axis: it has none",
}


def named_directions(
    vehicle: RationalVehicle,
    matrix: ObservabilityMatrix,
    axes: str,
    floating: FloatMatrix | None = None,
) -> list[Direction]:
    """As many independent directions as the null space has dimensions.

    Args:
        vehicle: the vehicle.
        matrix: of the sensors alone.
        axes: `sphere` or `spherical`.
        floating: the floating-point matrix, for directions without a name.
    """
    width = vehicle.coordinates.errors
    found: list[Direction] = []
    space = _Span(modular.largest_primes(1)[0], width)
    symmetries = candidates(vehicle, matrix.motion, error_jacobian(vehicle, matrix.motion, axes))
    symmetries = [symmetry for symmetry in symmetries if matrix.annihilates(symmetry.vector)]
    slid = {int(np.flatnonzero(s.vector)[0]) for s in symmetries if np.count_nonzero(s.vector) == 1}
    alone = matrix.blind()
    for i in (i for i in alone if i not in slid):
        unit = np.full(width, Fraction(0), object)
        unit[i] = Fraction(1)
        space.add(unit)
        found.append(_absent(vehicle, i, unit, axes))
    for symmetry in symmetries:
        vector = symmetry.vector.copy()
        if np.count_nonzero(vector) > 1:
            vector[alone] = Fraction(0)  # what nobody sees moves or not
        if space.add(vector):
            members = _members(vehicle, exact.floats(vector), axes)
            found.append(Direction(symmetry.kind, members, symmetry.explanation, vector, symmetry))
    nullity = width - matrix.rank
    if len(found) < nullity and floating is not None:
        found += _remaining(vehicle, floating, matrix.rank, found, axes)
    return found


def restrict_to_known(
    vehicle: RationalVehicle, directions: Sequence[Direction], known: Numbers, axes: str
) -> list[Direction]:
    """Those directions, and combinations of them, along which the known quantities (m, 37 + 7N) do not change.

    Slides and single entries give way first, so that a scale or a rotation keeps its name and says what moves with it.
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
        result.append(Direction(main.kind, _members(vehicle, exact.floats(vector), axes), text, vector))
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


def _absent(vehicle: RationalVehicle, index: int, unit: Numbers, axes: str) -> Direction:
    members = _members(vehicle, exact.floats(unit), axes)
    name = members[0][0] if members else f"{vehicle.coordinates.entries[index][:-2]}.azimuth"
    group = name.rsplit(".", 1)[0]
    key = group if group in _ABSENT else group.rsplit(".", 1)[-1]
    key = "azimuth" if name.endswith("azimuth") else key
    text = _ABSENT.get(key, f"{name}: nothing that is read depends on it").format(
        group.split(".", maxsplit=1)[0]
    )
    return Direction("absent", members or ((name, 1.0),), text, unit)


def _members(vehicle: RationalVehicle, vector: Numbers, axes: str) -> tuple[tuple[str, float], ...]:
    """Names and shares of all that moves, in the vehicle's own units."""
    c = vehicle.coordinates
    units = np.asarray(c.error_units(*vehicle.units()))
    changes: list[tuple[str, float]] = []
    for i, name in enumerate(c.entries):
        if ".axis." not in name:
            changes.append((name, float(vector[i]) / units[i]))
        elif name.endswith(".1"):
            rotor = (i - c.rotor_error(0, "axis")) // 7
            stem, two = name[:-2], vector[i : i + 2]
            if axes == "sphere":
                moves = exact.floats(exact.tangent(vehicle.axis(rotor))) @ two
                changes += [(f"{stem}.{axis}", float(x)) for axis, x in zip(XYZ, moves, strict=True)]
            else:
                changes += [(f"{stem}.azimuth", float(two[0])), (f"{stem}.inclination", float(two[1]))]
    largest = max((abs(x) for _, x in changes), default=0.0)
    if largest == 0.0:
        return ()
    return tuple((name, x / largest) for name, x in changes if abs(x) > _SHOWN * largest)


def _remaining(
    vehicle: RationalVehicle, floating: FloatMatrix, rank: int, known: Sequence[Direction], axes: str
) -> list[Direction]:
    """A sparse basis of what the null space has beyond the known directions, in floating-point numbers."""
    units = np.asarray(vehicle.coordinates.error_units(*vehicle.units()))
    space = floating.null_space(rank) / units[:, None]
    if known:
        named = np.stack([exact.floats(d.vector) / units for d in known], axis=1)
        basis = np.linalg.qr(named)[0]
        space = space - basis @ (basis.T @ space)
    left, values, _ = np.linalg.svd(space, full_matrices=False)
    count = space.shape[1] - len(known)
    directions = []
    for column in sparse_basis(left[:, np.argsort(-values)[:count]]).T:
        members = _members(vehicle, column * units, axes)
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
