"""What is exported: the numbers of an airframe or of a result, what each is known to, and what the log left open.

Numbers carry the names of the command line's JSON. Positions stand in the body frame (x forward, y left, z up, m),
the inertia about the centre of mass; mass, centre of mass and inertia are those of the whole vehicle at joint angle
zero. `rotors.<r>.spin` is +1 for ccw. A rotor has its `curve` and the kind of it, `rotors.<r>.spin_inertia` is the
moment of what spins about the thrust axis.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.inertia import tensor
from haltere.dynamics import Model
from haltere.dynamics.rest import at_rest
from haltere.foundation.arrays import require_x64
from haltere.identification.result import Identification, Parameter, ResultError

SIX = ("xx", "yy", "zz", "xy", "xz", "yz")
XYZ = ("x", "y", "z")
OPEN = ("combination", "unobservable")


@dataclass(frozen=True)
class Left:
    """Numbers that the log left open: one alone, or some that are known together only."""

    names: tuple[str, ...]
    fix: str

    @property
    def together(self) -> bool:
        """Whether the log tells a combination of them."""
        return len(self.names) > 1


@dataclass(frozen=True)
class Subject:
    """A vehicle to be exported."""

    name: str
    rotors: tuple[str, ...]
    numbers: Mapping[str, float]
    curves: Mapping[str, str]
    """Kind of the motor curve by rotor, where there is one."""
    sigma: Mapping[str, float]
    """Standard deviation by name; what is given has none."""
    open: tuple[Left, ...]
    airframe: Airframe | None
    result: Identification | None = None

    @classmethod
    def from_airframe(cls, airframe: Airframe) -> Self:
        """All that the file says, taken as given."""
        if not airframe.rotors:
            raise ResultError(f"{airframe.name}: it has no rotor; add a [[rotors]] table")
        names = tuple(rotor.name for rotor in airframe.rotors)
        return cls(airframe.name, names, _numbers(airframe), _curves(airframe), {}, (), airframe)

    @classmethod
    def from_result(cls, result: Identification) -> Self:
        """What a log told; numbers of its airframe that the log does not speak of count as given.

        Where there is a whole airframe its numbers are taken: it is the vehicle as identified, in its own frame.
        """
        airframe = result.airframe
        numbers = {} if airframe is None else _numbers(airframe)
        curves = {} if airframe is None else _curves(airframe)
        rotors = () if airframe is None else tuple(r.name for r in airframe.rotors)
        told = [p.name.split(".")[1] for p in result.parameters if p.name.startswith("rotors.")]
        rotors = rotors or tuple(dict.fromkeys(told))
        if not rotors:
            raise ResultError(
                f"{result.source}: the result speaks of no rotor; identify a log with motor commands or speeds"
            )
        for p in result.parameters:
            if p.value is not None and p.verdict not in OPEN and not _placed(p.name, airframe):
                numbers.setdefault(p.name, p.value)
        kinds = result.fit.get("curves", {})
        bent = [r for r in rotors if f"rotors.{r}.curve" in numbers]
        curves = {r: str(kinds.get(r, "kappa")) for r in bent} | curves
        sigma = {p.name: p.sigma for p in result.parameters if p.sigma is not None}
        name = result.source if airframe is None else airframe.name
        return cls(name, rotors, numbers, curves, sigma, _left(result.parameters), airframe, result)


def _placed(name: str, airframe: Airframe | None) -> bool:
    """Whether a whole airframe says where this is; results may count places from the centre of mass instead."""
    return airframe is not None and (".position." in name or name.startswith(("com.", "inertia.")))


def _left(parameters: tuple[Parameter, ...]) -> tuple[Left, ...]:
    """Each group of numbers that is open, once."""
    groups: dict[frozenset[str], Left] = {}
    for p in parameters:
        if p.verdict in OPEN:
            names = dict.fromkeys((p.name, *(p.partners if p.verdict == "combination" else ())))
            groups.setdefault(frozenset(names), Left(tuple(names), p.fix))
    return tuple(groups.values())


def _curves(airframe: Airframe) -> dict[str, str]:
    return {rotor.name: rotor.curve.kind for rotor in airframe.rotors if rotor.curve is not None}


def _numbers(airframe: Airframe) -> dict[str, float]:
    """Every number of the airframe by name."""
    require_x64()
    model = Model.from_airframe(airframe)
    mass, com, inertia, places, _ = (np.asarray(x) for x in at_rest(model, np.zeros(model.topology.joints)))
    numbers = {"mass": float(mass)}
    numbers |= _vector("com", com)
    numbers |= {f"inertia.{n}": float(inertia["xyz".index(n[0]), "xyz".index(n[1])]) for n in SIX}
    links = model.topology.link_names
    for rotor, place in zip(airframe.rotors, places[len(links) :], strict=True):
        head = f"rotors.{rotor.name}"
        numbers |= _vector(f"{head}.position", place)
        numbers |= _vector(f"{head}.axis", np.asarray(rotor.axis))
        optional = {
            "spin": 1.0 if rotor.spin == "ccw" else -1.0,
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
        place = places[links.index(imu.link)] + np.asarray(imu.position)
        numbers |= _vector("imu.position", place)
    return numbers


def _vector(name: str, values: np.ndarray | jnp.ndarray) -> dict[str, float]:
    return {f"{name}.{axis}": float(value) for axis, value in zip(XYZ, values, strict=True)}
