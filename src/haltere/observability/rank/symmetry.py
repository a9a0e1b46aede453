"""The transformations of a vehicle that no flight can reveal, as directions and as finite steps.

With factor s, distance d and angle e, m, i, k_f, k_m, r, n as in `haltere.observability.rank.coordinates`:

    scale of mass       m, i and all k_f grow by the factor s: forces and torques grow with what they move        (1)
    scale of leverage   i, all r and all k_m grow by s: torques grow with the inertia                             (2)
    slide of rotor j    r_j moves by d n_j: force and torque of a line of action stay the same                    (3)
    turn of the axes    if the two moments across a principal axis are equal, M may turn by e about it, and
                        with it all that is expressed in M                                                        (4)

Each is a candidate: whether it is unobservable for given sensors is decided by the exact observability matrix.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from haltere.foundation.numbers import Floats, Numbers
from haltere.observability.rank import exact
from haltere.observability.rank.coordinates import BASE, XYZ
from haltere.observability.rank.subject import Subject


@dataclass(frozen=True)
class Symmetry:
    """One transformation.

    Attributes:
        kind: `mass scale`, `leverage scale`, `slide` or `turn`.
        explanation: a sentence for the user.
        vector: (37 + 7N,) rational direction in the error state.
        moved: from z (40 + 8N,) as floats and a finite step, the transformed z.
    """

    kind: str
    explanation: str
    vector: Numbers
    moved: Callable[[Floats, float], Floats]


def candidates(subject: Subject, motion: Sequence[Fraction], T: Numbers) -> list[Symmetry]:
    """All transformations (1) to (4) that the coordinates of the chart T can express."""
    c = subject.coordinates
    n = len(c.rotors)
    z = (*motion, *subject.constants)
    found = [_mass_scale(subject), _leverage_scale(subject), *(_slide(subject, rotor) for rotor in range(n))]
    moments = z[34:37]
    for axis in (2, 1, 0):
        one, two = (i for i in range(3) if i != axis)
        vector = _turn_vector(subject, z, axis, T) if moments[one] == moments[two] else None
        if vector is not None:
            names = f"{MOMENT_NAMES[one]} and {MOMENT_NAMES[two]}"
            what = {"z": "yaw", "y": "pitch", "x": "roll"}[XYZ[axis]]
            text = (
                f"{what} of the principal axes: {names} are equal, so nothing says how the axes lie about "
                f"{XYZ[axis]}; velocities, sensors and rotors turn together"
            )
            found.append(Symmetry("turn", text, vector, _turned(axis, n)))
    return found


MOMENT_NAMES = ("inertia.xx", "inertia.yy", "inertia.zz")


def _zero(subject: Subject) -> Numbers:
    return np.full(subject.coordinates.errors, Fraction(0), object)


def _mass_scale(subject: Subject) -> Symmetry:
    c, vector = subject.coordinates, _zero(subject)
    n = len(c.rotors)
    vector[c.place["mass"]] = subject.number(33)
    for i, name in enumerate(MOMENT_NAMES):
        vector[c.place[name]] = subject.number(34 + i)
    for rotor in range(n):
        place = c.rotor_number(rotor, "thrust_coefficient")
        vector[c.rotor_error(rotor, "thrust_coefficient")] = subject.number(place)

    def moved(z: Floats, step: float) -> Floats:
        result = z.copy()
        result[33:37] *= 1.0 + step
        result[BASE + 6 * n : BASE + 7 * n] *= 1.0 + step
        return result

    text = "mass, inertia and all thrust coefficients scale together: only their ratios show"
    return Symmetry("mass scale", text, vector, moved)


def _leverage_scale(subject: Subject) -> Symmetry:
    c, vector = subject.coordinates, _zero(subject)
    n = len(c.rotors)
    for i, name in enumerate(MOMENT_NAMES):
        vector[c.place[name]] = subject.number(34 + i)
    for rotor in range(n):
        first = c.rotor_error(rotor, "position")
        vector[first : first + 3] = subject.position(rotor)
        ratio = c.rotor_number(rotor, "torque_ratio")
        vector[c.rotor_error(rotor, "torque_ratio")] = subject.number(ratio)

    def moved(z: Floats, step: float) -> Floats:
        result = z.copy()
        result[34:37] *= 1.0 + step
        result[BASE : BASE + 3 * n] *= 1.0 + step
        result[BASE + 7 * n :] *= 1.0 + step
        return result

    text = "inertia, all rotor positions and all torque ratios scale together: levers against inertia"
    return Symmetry("leverage scale", text, vector, moved)


def _slide(subject: Subject, rotor: int) -> Symmetry:
    c, vector = subject.coordinates, _zero(subject)
    first = c.rotor_error(rotor, "position")
    vector[first : first + 3] = subject.axis(rotor)
    position, axis = (c.rotor_number(rotor, part) for part in ("position", "axis"))

    def moved(z: Floats, step: float) -> Floats:
        result = z.copy()
        result[position : position + 3] += step * z[axis : axis + 3]
        return result

    name = c.rotors[rotor]
    text = f"rotor {name} slides along its axis: where along its line of action it pushes does not show"
    return Symmetry("slide", text, vector, moved)


def _cross(a: Sequence[Fraction], b: Sequence[Fraction]) -> list[Fraction]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _turn_vector(subject: Subject, z: Sequence[Fraction], axis: int, T: Numbers) -> Numbers | None:
    """The direction of (4); None where the chart of an axis cannot follow."""
    c, vector = subject.coordinates, _zero(subject)
    unit = exact.identity(3)[axis]

    def follow(number: int, error: int) -> None:
        vector[error : error + 3] = _cross(z[number : number + 3], unit)

    vector[6:9] = unit
    for number, error in ((3, 3), (10, 9), (13, 12), (20, 18)):
        follow(number, error)
    for number, error in c.rotations[1:]:
        inverse = tuple(zip(*exact.rotation(z[number : number + 4]), strict=True))
        vector[error : error + 3] = [-x for x in exact.turned(inverse, unit)]
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


def _turned(axis: int, rotors: int) -> Callable[[Floats, float], Floats]:
    def moved(z: Floats, step: float) -> Floats:
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

    return moved
