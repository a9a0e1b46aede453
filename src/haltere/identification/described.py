"""A described vehicle: its numbers by name, their sigmas, what the log left open, and what flight stacks ask.

Numbers carry the names of the command line's JSON. Positions stand in the body frame (x forward, y left, z up, m),
the inertia about the centre of mass; mass, centre of mass and inertia are those of the whole vehicle at joint angle
zero. `rotors.<r>.spin` is +1 for ccw. A rotor has its `curve` and the kind of it, `rotors.<r>.spin_inertia` is the
moment of what spins about the thrust axis.

What flight stacks ask follows from these numbers. With m, I and centre of mass c of the vehicle, and of a rotor the
position r, axis n, spin e, thrust coefficient k, torque ratio q, moment of inertia J about its axis, its effectiveness
per squared speed and per acceleration of the rotor is

    force   k n / m,   torque   I^-1 ((r - c) x k n - q k e n),   rate   -I^-1 J e n                       (1)

A curve from command d to thrust is brought to the one form that PX4, ArduPilot and INDIflight share,

    T(d) / T(1) = a d^2 + (1 - a) d                                                                       (2)

by least squares over 0..1; a curve of kind "quadratic" without idle speed has this form already.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Self

import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, load_airframe
from haltere.airframe.fields import tensor
from haltere.dynamics import Model
from haltere.dynamics.rigid import at_rest
from haltere.foundation.arrays import double_precision
from haltere.foundation.constants import GRAVITY
from haltere.foundation.numbers import Floats
from haltere.identification.parameters import Parameter, ResultError, check_parameters
from haltere.identification.result import Identification, read_result

SIX = ("xx", "yy", "zz", "xy", "xz", "yz")
XYZ = ("x", "y", "z")
OPEN = ("combination", "unobservable")


@dataclass(frozen=True)
class OpenDirection:
    """Numbers that the log left open: one alone, or some of which only a combination is known."""

    names: tuple[str, ...]
    fix: str

    @property
    def is_combination(self) -> bool:
        """Whether a combination of them is known."""
        return len(self.names) > 1


@dataclass(frozen=True)
class DescribedVehicle:
    """A vehicle to be exported or compared: of an airframe or of the result of an identification."""

    name: str
    rotors: tuple[str, ...]
    numbers: Mapping[str, float]
    curves: Mapping[str, str]
    """Kind of the motor curve by rotor, where there is one."""
    sigma: Mapping[str, float]
    """Standard deviation by name; numbers of an airframe file have none."""
    open: tuple[OpenDirection, ...]
    airframe: Airframe | None
    result: Identification | None = None

    @classmethod
    def from_airframe(cls, airframe: Airframe) -> Self:
        """All that the file says, taken as exact."""
        if not airframe.rotors:
            raise ResultError(f"{airframe.name}: it has no rotor; add a [[rotors]] table")
        names = tuple(rotor.name for rotor in airframe.rotors)
        return cls(airframe.name, names, _numbers(airframe), _curves(airframe), {}, (), airframe)

    @classmethod
    def from_result(cls, result: Identification) -> Self:
        """What was identified; numbers of its airframe that are no parameters count as exact.

        Where there is a whole airframe its numbers are taken: it is the vehicle as identified, in its own frame. Names
        and numbers are checked, because flight stacks and simulators read what is written of them.
        """
        check_parameters(result.parameters)
        airframe = result.airframe
        numbers = {} if airframe is None else _numbers(airframe)
        curves = {} if airframe is None else _curves(airframe)
        rotors = () if airframe is None else tuple(r.name for r in airframe.rotors)
        named = [p.name.split(".")[1] for p in result.parameters if p.name.startswith("rotors.")]
        rotors = rotors or tuple(dict.fromkeys(named))
        if not rotors:
            raise ResultError(
                f"{result.source}: the result has no rotor; identify a log with motor commands or rotor speeds"
            )
        for p in result.parameters:
            if p.value is not None and p.verdict not in OPEN and not _is_positioned(p.name, airframe):
                numbers.setdefault(p.name, p.value)
        kinds = result.fit.get("curves", {})
        bent = [r for r in rotors if f"rotors.{r}.curve" in numbers]
        curves = {r: str(kinds.get(r, "kappa")) for r in bent} | curves
        sigma = {p.name: p.sigma for p in result.parameters if p.sigma is not None}
        name = result.source if airframe is None else airframe.name
        return cls(
            name, rotors, numbers, curves, sigma, _open_directions(result.parameters), airframe, result
        )


def describe(vehicle: DescribedVehicle | Identification | Airframe | str | PathLike[str]) -> DescribedVehicle:
    """What is known of a vehicle.

    Args:
        vehicle: A result or its `result.json`; or an airframe, its file or its name in the catalogue.
    """
    if isinstance(vehicle, DescribedVehicle):
        return vehicle
    if isinstance(vehicle, str | PathLike) and Path(vehicle).suffix.lower() == ".json":
        vehicle = read_result(Path(vehicle))
    if isinstance(vehicle, Identification):
        return DescribedVehicle.from_result(vehicle)
    return DescribedVehicle.from_airframe(load_airframe(vehicle))


def _is_positioned(name: str, airframe: Airframe | None) -> bool:
    """Whether a whole airframe says where this is; results may count positions from the centre of mass instead."""
    return airframe is not None and (".position." in name or name.startswith(("com.", "inertia.")))


def _open_directions(parameters: Iterable[Parameter]) -> tuple[OpenDirection, ...]:
    """Each group of numbers that is open, once."""
    groups: dict[frozenset[str], OpenDirection] = {}
    for p in parameters:
        if p.verdict in OPEN:
            names = dict.fromkeys((p.name, *(p.partners if p.verdict == "combination" else ())))
            groups.setdefault(frozenset(names), OpenDirection(tuple(names), p.fix))
    return tuple(groups.values())


def _curves(airframe: Airframe) -> dict[str, str]:
    return {rotor.name: rotor.curve.kind for rotor in airframe.rotors if rotor.curve is not None}


@double_precision()
def _numbers(airframe: Airframe) -> dict[str, float]:
    """Every number of the airframe by name."""
    model = Model.from_airframe(airframe)
    mass, com, inertia, positions, _ = (
        np.asarray(x) for x in at_rest(model, np.zeros(model.topology.joints))
    )
    numbers = {"mass": float(mass)}
    numbers |= _vector("com", com)
    numbers |= {f"inertia.{n}": float(inertia["xyz".index(n[0]), "xyz".index(n[1])]) for n in SIX}
    links = model.topology.link_names
    for rotor, position in zip(airframe.rotors, positions[len(links) :], strict=True):
        head = f"rotors.{rotor.name}"
        numbers |= _vector(f"{head}.position", position)
        numbers |= _vector(f"{head}.axis", np.asarray(rotor.axis))
        optional = {
            "spin": rotor.spin_sign,
            "thrust_coefficient": rotor.thrust_coefficient,
            "torque_ratio": rotor.torque_ratio,
            "spin_inertia": float(np.asarray(rotor.axis) @ tensor(rotor.inertia) @ np.asarray(rotor.axis)),
            "time_constant": rotor.time_constant,
            "delay": rotor.delay,
            "idle_speed": rotor.idle_speed,
            "max_speed": rotor.speed_limits[1] if rotor.speed_limits else None,
            "curve": rotor.curve.value if rotor.curve else None,
        }
        numbers |= {f"{head}.{name}": float(value) for name, value in optional.items() if value is not None}
    for imu in airframe.imu[:1]:
        numbers |= _vector("imu.position", positions[links.index(imu.link)] + np.asarray(imu.position))
    return numbers


def _vector(name: str, values: np.ndarray | jnp.ndarray) -> dict[str, float]:
    return {f"{name}.{axis}": float(value) for axis, value in zip(XYZ, values, strict=True)}


Numbers = Mapping[str, float]
_D = np.linspace(0.0, 1.0, 101)


def vector_of(numbers: Numbers, name: str) -> Floats:
    """(3,) by the names of its components."""
    return np.array([numbers[f"{name}.{axis}"] for axis in XYZ])


def lever_of(numbers: Numbers, name: str) -> Floats:
    """(3,) the position of a rotor or sensor relative to the centre of mass, m."""
    at = vector_of(numbers, f"{name}.position")
    return at - vector_of(numbers, "com") if "com.x" in numbers else at


def inertia_of(numbers: Numbers) -> Floats:
    """(3, 3) kg m2."""
    xx, yy, zz, xy, xz, yz = (numbers[f"inertia.{n}"] for n in SIX)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def axis_of(numbers: Numbers, rotor: str) -> Floats:
    """(3,) unit thrust axis; from the force it causes where no axis is named."""
    name = f"rotors.{rotor}.axis"
    n = vector_of(numbers, name) if f"{name}.x" in numbers else force_of(numbers, rotor)
    length = float(np.linalg.norm(n))
    return np.asarray(n / length) if length > 0.0 else np.full(3, np.nan)


def force_of(numbers: Numbers, rotor: str) -> Floats:
    """(3,) specific force per squared speed, m/s2/(rad/s)^2: equation (1), or as identified (else nan)."""
    head = f"rotors.{rotor}.effectiveness"
    if f"{head}.fz" in numbers:
        return np.array([numbers.get(f"{head}.{n}", np.nan) for n in ("fx", "fy", "fz")])
    if f"rotors.{rotor}.axis.x" not in numbers:
        raise KeyError(f"{head}.fz")
    n = vector_of(numbers, f"rotors.{rotor}.axis")
    return numbers[f"rotors.{rotor}.thrust_coefficient"] / numbers["mass"] * n / np.linalg.norm(n)


def torque_of(numbers: Numbers, rotor: str) -> Floats:
    """(3,) angular acceleration per squared speed, rad/s2/(rad/s)^2; nan for a component that is not known."""
    head = f"rotors.{rotor}"
    if any(f"{head}.effectiveness.{n}" in numbers for n in "pqr"):
        return np.array([numbers.get(f"{head}.effectiveness.{n}", np.nan) for n in "pqr"])
    n = axis_of(numbers, rotor)
    k, spin = numbers[f"{head}.thrust_coefficient"], numbers[f"{head}.spin"]
    moment = np.cross(lever_of(numbers, head), k * n) - numbers[f"{head}.torque_ratio"] * k * spin * n
    return np.asarray(np.linalg.solve(inertia_of(numbers), moment), float)


def rotor_acceleration_of(numbers: Numbers, rotor: str) -> Floats:
    """(3,) angular acceleration per acceleration of the rotor; nan for a component that is not known."""
    head = f"rotors.{rotor}"
    if any(f"{head}.effectiveness.{n}_dot" in numbers for n in "pqr"):
        return np.array([numbers.get(f"{head}.effectiveness.{n}_dot", np.nan) for n in "pqr"])
    spun = numbers[f"{head}.spin_inertia"] * numbers[f"{head}.spin"] * axis_of(numbers, rotor)
    return -np.asarray(np.linalg.solve(inertia_of(numbers), spun), float)


def max_squared_speed(numbers: Numbers, rotor: str) -> float:
    """Largest squared speed, (rad/s)^2."""
    return numbers[f"rotors.{rotor}.max_speed"] ** 2


def curve_shape(numbers: Numbers, rotor: str, kind: str) -> float:
    """The constant a of equation (2)."""
    k, full = numbers[f"rotors.{rotor}.curve"], 1.0
    idle = numbers.get(f"rotors.{rotor}.idle_speed", 0.0) / numbers.get(f"rotors.{rotor}.max_speed", np.inf)
    part = k * _D + (1.0 - k) * np.sqrt(_D) if kind == "kappa" else np.sqrt(k * _D**2 + (1.0 - k) * _D)
    thrust = (idle + (full - idle) * part) ** 2
    bend = _D**2 - _D
    return float(np.clip((thrust - _D) @ bend / (bend @ bend), 0.0, 1.0))


def mean_curve_shape(rotors: tuple[str, ...], kinds: Mapping[str, str], numbers: Numbers) -> float:
    """The constant a of equation (2), in the mean of all rotors; `kinds` of their curves by name."""
    return float(np.mean([curve_shape(numbers, rotor, kinds.get(rotor, "quadratic")) for rotor in rotors]))


def hover_thrust_fraction(rotors: tuple[str, ...], kinds: Mapping[str, str], numbers: Numbers) -> float:
    """Weight over the largest thrust, both along the body's z; known only where the curve is, as stacks use both."""
    mean_curve_shape(rotors, kinds, numbers)
    return float(GRAVITY / sum(force_of(numbers, r)[2] * max_squared_speed(numbers, r) for r in rotors))


def to_frd(flu: Floats) -> Floats:
    """(3,) the same vector in axes x forward, y right, z down."""
    return np.asarray(flu * np.array([1.0, -1.0, -1.0]))
