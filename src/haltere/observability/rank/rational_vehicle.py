"""The vehicle under question as exact numbers, in its centre of mass on principal axes.

Links are held at angle zero, rotors weigh what they weigh but do not spin as bodies, their inertia averaged over a
turn. With the tree's bodies (m_j, c_j, J_j) and c the common centre of mass,

    m = sum m_j,   J = sum (J_j + m_j (|d|^2 - d d^T)),  d = c_j - c,   J = R_BM diag(i) R_BM^T                   (1)

What the model leaves out is listed in `notes`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.fields import principal_axes
from haltere.foundation import HaltereError
from haltere.lie import so3
from haltere.observability.rank import exact
from haltere.observability.rank.system import MOTION, Coordinates

_SMALL = 1e-9


class ObservabilityError(HaltereError):
    """A question about observability that has no answer as it stands."""


@dataclass(frozen=True)
class RationalVehicle:
    """All constant numbers of z as rationals.

    Attributes:
        name: of the vehicle.
        coordinates: names and indices.
        constants: (27 + 8N) the numbers of z after the moving state.
        spin: (N) +1 or -1.
        wxyz_BM: rotation of the principal axes in the body frame, and com_B their origin there.
        notes: what the model leaves out.
        airframe: the description, where there is one.
    """

    name: str
    coordinates: Coordinates
    constants: exact.Vector
    spin: tuple[int, ...]
    wxyz_BM: exact.Vector = exact.identity(4)[0]
    com_B: exact.Vector = (Fraction(0),) * 3
    notes: tuple[str, ...] = ()
    airframe: Airframe | None = None

    @classmethod
    def generic(cls, rotors: int, rng: np.random.Generator, sensor: str = "pose") -> Self:
        """A vehicle without any symmetry, all numbers of order one, as [Boehm2022] Section V-A analyses."""
        if rotors < 1:
            raise ObservabilityError(f"got {rotors} rotors, expected one or more; try 4")

        def signed(n: int) -> list[Fraction]:
            return [exact.random_signed(rng) for _ in range(n)]

        def positive(n: int) -> list[Fraction]:
            return [exact.random_rational(rng) for _ in range(n)]

        axes = [exact.rotation(exact.squared(signed(4)))[2] for _ in range(rotors)]
        names = tuple(f"r{i + 1}" for i in range(rotors))
        constants = (
            *signed(3), *exact.squared(signed(4)), *signed(3), *exact.squared(signed(4)), *signed(6),
            *positive(1), *_possible_moments(rng), *signed(3),
            *signed(3 * rotors), *(x for axis in axes for x in axis), *positive(2 * rotors),
        )  # fmt: skip
        spin = tuple(1 - 2 * (i % 2) for i in range(rotors))
        return cls("generic", Coordinates(names, sensor), constants, spin)

    @classmethod
    def from_airframe(cls, airframe: Airframe, sensor: str = "pose", gravity: float = -9.81) -> Self:
        """The vehicle of an airframe file, exactly; sensors that it does not have sit at the body's origin."""
        if not airframe.rotors:
            raise ObservabilityError(f"airframe {airframe.name!r} has no rotors; give it at least one")
        origins = _link_origins(airframe)
        mass, com, inertia = _mass_properties(airframe, origins)
        q_BM, moments = _principal(inertia)
        R_MB = tuple(zip(*exact.rotation(q_BM), strict=True))
        notes = _left_out(airframe)

        def placed(position: Sequence[float], link: str) -> exact.Vector:
            p = _plus(origins[link], exact.vector(position))
            return exact.rotate(R_MB, _minus(p, com))

        zero = (0.0, 0.0, 0.0)
        groups = {"pose": airframe.pose or airframe.position, "position": airframe.position or airframe.pose}
        sensors: list[Fraction] = []
        for kind, found in ((sensor, groups[sensor]), ("imu", airframe.imu)):
            if not found:
                notes = (*notes, f"the file has no {kind} sensor: one at the body's origin is assumed")
            one: Any = found[0] if found else None
            position, link = (one.position, one.link) if one else (zero, "body")
            wxyz = getattr(one, "wxyz", (1.0, 0.0, 0.0, 0.0))
            turned = exact.multiplied(exact.conjugated(q_BM), exact.unit_quaternion(wxyz))
            sensors += [*placed(position, link), *turned]
        rotors = airframe.rotors
        constants = (
            *sensors,
            *(Fraction(0),) * 6,
            mass,
            *moments,
            *exact.vector((0.0, 0.0, gravity)),
            *(x for r in rotors for x in placed(r.position, r.link)),
            *(x for r in rotors for x in exact.rotate(R_MB, exact.direction(r.axis))),
            *(exact.decimal(r.thrust_coefficient) for r in rotors),
            *(exact.decimal(r.torque_ratio) for r in rotors),
        )
        spin = tuple(int(r.spin_sign) for r in rotors)
        coordinates = Coordinates(tuple(r.name for r in rotors), sensor)
        return cls(airframe.name, coordinates, constants, spin, q_BM, com, notes, airframe)

    def number(self, index: int) -> Fraction:
        """The constant at an index of z."""
        return self.constants[index - MOTION]

    def axis(self, rotor: int) -> exact.Vector:
        """Unit thrust axis of a rotor in principal axes."""
        first = self.coordinates.rotor_number(rotor, "axis")
        return tuple(self.number(first + i) for i in range(3))

    def position(self, rotor: int) -> exact.Vector:
        """Position of a rotor against the centre of mass in principal axes, m."""
        first = self.coordinates.rotor_number(rotor, "position")
        return tuple(self.number(first + i) for i in range(3))

    def units(self) -> tuple[float, float, float, float]:
        """Mass, length, time and squared rotor speed in which this vehicle's numbers are of order one, SI.

        With the rotors' mean distance L and the mean moment J, the time is that in which the weight at L rotates the
        vehicle by about one radian, sqrt(J / (m g L)); the squared speed is that of hovering.
        """
        n = len(self.spin)
        mass = float(self.number(33))
        moment = float(np.mean(exact.floats([self.number(34 + i) for i in range(3)])))
        gravity = float(np.linalg.norm(exact.floats([self.number(37 + i) for i in range(3)]))) or 9.81
        arms = [float(np.linalg.norm(exact.floats(self.position(i)))) for i in range(n)]
        length = float(np.mean(arms)) or float(np.sqrt(moment / mass))
        first = self.coordinates.rotor_number(0, "thrust_coefficient")
        strength = float(np.mean(exact.floats([self.number(first + i) for i in range(n)]))) or 1.0
        return mass, length, float(np.sqrt(moment / (mass * gravity * length))), mass * gravity / n / strength

    def with_numbers(self, changes: dict[int, Fraction]) -> "RationalVehicle":
        """The same with other constants, by their indices in z."""
        constants = list(self.constants)
        for index, value in changes.items():
            constants[index - MOTION] = value
        return replace(self, constants=tuple(constants))


def _possible_moments(rng: np.random.Generator) -> list[Fraction]:
    a, b, c = (exact.random_rational(rng) for _ in range(3))
    return [b + c, a + c, a + b]


def _plus(a: Sequence[Fraction], b: Sequence[Fraction]) -> exact.Vector:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _minus(a: Sequence[Fraction], b: Sequence[Fraction]) -> exact.Vector:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def _link_origins(airframe: Airframe) -> dict[str, exact.Vector]:
    """Origin of each link in the body frame, all joints at angle zero."""
    origins: dict[str, exact.Vector] = {"body": (Fraction(0),) * 3}
    for i in airframe.link_order():
        link = airframe.links[i]
        origins[link.name] = _plus(origins[link.parent], exact.vector(link.joint.origin))
    return origins


def _mass_properties(
    airframe: Airframe, origins: dict[str, exact.Vector]
) -> tuple[Fraction, exact.Vector, np.ndarray[Any, np.dtype[Any]]]:
    """Mass, centre of mass in the body frame and inertia (3, 3) about it: equation (1)."""
    parts: list[tuple[Fraction, exact.Vector, np.ndarray[Any, np.dtype[Any]]]] = []
    carriers: list[tuple[Any, str]] = [
        (airframe.body, "body"),
        *((link, link.name) for link in airframe.links),
    ]
    for carrier, name in carriers:
        com = _plus(origins[name], exact.vector(carrier.com))
        parts.append((exact.decimal(carrier.mass), com, _tensor(carrier.inertia)))
    for rotor in airframe.rotors:
        n = np.asarray(exact.direction(rotor.axis), object)
        along = exact.vector(rotor.com) @ n
        com = _plus(_plus(origins[rotor.link], exact.vector(rotor.position)), tuple(along * n))
        spin = np.outer(n, n)
        J = _tensor(rotor.inertia)
        axial = n @ J @ n
        J = axial * spin + (np.trace(J) - axial) / 2 * (np.asarray(exact.identity(3), object) - spin)
        parts.append((exact.decimal(rotor.mass), com, J))
    mass = sum((m for m, _, _ in parts), Fraction(0))
    com = tuple(sum((m * c[i] for m, c, _ in parts), Fraction(0)) / mass for i in range(3))
    total = np.full((3, 3), Fraction(0), object)
    for m, c, J in parts:
        d = np.asarray(_minus(c, com), object)
        total = total + J + m * ((d @ d) * np.asarray(exact.identity(3), object) - np.outer(d, d))
    return mass, com, total


def _tensor(six: Sequence[float]) -> np.ndarray[Any, np.dtype[Any]]:
    xx, yy, zz, xy, xz, yz = exact.vector(six)
    return np.asarray([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], object)


def _principal(inertia: np.ndarray[Any, np.dtype[Any]]) -> tuple[exact.Vector, exact.Vector]:
    """Rotation of the principal axes, the one nearest to the body's axes, and the moments about them."""
    J = exact.floats(inertia)
    scale = float(np.trace(J))
    R, values = principal_axes(J)
    if np.array_equal(R, np.eye(3)):
        moments = [inertia[i, i] for i in range(3)]
        return exact.identity(4)[0], _equalised(moments, scale)
    wxyz = np.asarray(so3.to_wxyz(np.where(np.abs(R) < _SMALL, 0.0, R)))
    scaled = [exact.rounded(v / scale) * exact.decimal(scale) for v in values]
    return exact.unit_quaternion(np.where(np.abs(wxyz) < _SMALL, 0.0, wxyz).tolist()), _equalised(
        scaled, scale
    )


def _equalised(moments: list[Fraction], scale: float) -> exact.Vector:
    """Moments that agree within rounding of the file made equal."""
    result = list(moments)
    for i, j in ((0, 1), (1, 2), (0, 2)):
        if abs(float(result[i] - result[j])) <= _SMALL * scale:
            result[j] = result[i]
    return tuple(result)


def _left_out(airframe: Airframe) -> tuple[str, ...]:
    notes = []
    if any(not link.joint.fixed for link in airframe.links):
        notes.append("joints are held at angle zero")
    if any(rotor.mass for rotor in airframe.rotors):
        notes.append("rotors weigh but their spin has no gyroscopic torque")
    if any(rotor.inflow for rotor in airframe.rotors):
        notes.append("inflow of the rotors is left out")
    return tuple(notes)
