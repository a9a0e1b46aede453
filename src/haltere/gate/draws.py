"""Vehicles as they may be: drawn from what is known of one.

Numbers are drawn from their covariance where the result has one, else each with its own sigma; then numbers that are
known only together move together, by one factor, because the flight has told their ratios. A log without pose tells
accelerations per squared rotor speed only: then a vehicle of 1 kg with these accelerations is made
(`haltere.identification.methods.airframe`). Where such a log came with an airframe, the controller believes in the
airframe and the plants are made of what the log told: a drawing that does not fit the log is noticed.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from haltere.airframe import Airframe, AirframeError
from haltere.airframe.fields import Six, principal_moments
from haltere.exporters import ExportError
from haltere.identification import described as physics
from haltere.identification.described import SIX, XYZ, Subject
from haltere.identification.methods.airframe import Ratios, airframe_from_ratios
from haltere.identification.result import PRINCIPAL

MASS, INERTIA = 1.0, 0.01
"""Of the vehicle that stands for ratios, kg and kg m2: any would do."""
SHARE = 0.2
"""A drawn number keeps at least this share of its value where it must be above zero."""
POSITIVE = ("mass", "xx", "yy", "zz", "thrust_coefficient", "torque_ratio", "time_constant", "max_speed")


def flyable(subject: Subject) -> Airframe:
    """The identified vehicle, or one of 1 kg with the accelerations that a log without pose tells."""
    if subject.airframe is not None:
        return subject.airframe
    return from_ratios(subject.numbers, subject.rotors, dict(subject.curves), subject.name)


def from_ratios(
    numbers: Mapping[str, float], rotors: tuple[str, ...], curves: Mapping[str, str], name: str
) -> Airframe:
    """A vehicle of `MASS` and `INERTIA`; turning that the log does not tell is taken as none."""
    ratios = []
    for rotor in rotors:
        try:
            force, torque = (np.nan_to_num(f(numbers, rotor)) for f in (physics.force, physics.torque))
        except KeyError as error:
            raise ExportError(
                f"{name}: it cannot be flown before export, because {error.args[0]} is not told; "
                "identify it with what is missing, or insist with --unchecked"
            ) from None
        head = f"rotors.{rotor}."
        own = {n.removeprefix(head): value for n, value in numbers.items() if n.startswith(head)}
        ratios.append(Ratios(rotor, force, torque, own, curves.get(rotor, "quadratic")))
    return airframe_from_ratios(name, MASS, (INERTIA, INERTIA, INERTIA, 0.0, 0.0, 0.0), ratios)


def tells_ratios(subject: Subject) -> bool:
    """Whether a log told force and turning of every rotor: then plants are made of that, not of a drawing."""
    names = [f"rotors.{r}.effectiveness.{n}" for r in subject.rotors for n in ("fz", "p", "q", "r")]
    return all(name in subject.numbers for name in names)


def drawn(subject: Subject, believed: Airframe, draws: int, generator: np.random.Generator) -> list[Airframe]:
    """Vehicles as they may be: `draws` of them, none but possible bodies."""
    return [_draw(subject, believed, generator) for _ in range(draws)]


def _draw(subject: Subject, believed: Airframe, generator: np.random.Generator) -> Airframe:
    for shrink in 0.5 ** np.arange(12):
        numbers = _numbers(subject, generator, float(shrink))
        try:
            if subject.airframe is None or tells_ratios(subject):
                return from_ratios(numbers, subject.rotors, dict(subject.curves), subject.name)
            return _with_numbers(believed, numbers, dict(subject.numbers))
        except (
            AirframeError,
            ValueError,
        ):  # no body has these numbers (the latter is pydantic's): draw nearer
            continue
    return believed


def _numbers(subject: Subject, generator: np.random.Generator, shrink: float) -> dict[str, float]:
    """Named numbers drawn from what is known of them."""
    numbers = dict(subject.numbers)
    groups = {name: i for i, left in enumerate(subject.open) if left.together for name in left.names}
    common = shrink * generator.standard_normal(len(subject.open))
    own = shrink * generator.standard_normal(len(subject.sigma))
    moved = _moved(subject, generator, shrink)
    for z, (name, sigma) in zip(own, subject.sigma.items(), strict=True):
        if name not in numbers or name in moved:
            continue
        if name in groups:
            relative = _relative(subject, groups[name]) * float(common[groups[name]])
            numbers[name] += relative * abs(numbers[name])
        else:
            numbers[name] += sigma * float(z)
    for name in moved.keys() & numbers.keys():
        numbers[name] += moved[name]
    for name, value in numbers.items():
        if name.rsplit(".", 1)[-1] in POSITIVE:
            numbers[name] = max(value, SHARE * abs(subject.numbers[name]))
    return numbers


def _moved(subject: Subject, generator: np.random.Generator, shrink: float) -> dict[str, float]:
    """One draw of the errors whose covariance the result tells, in body axes."""
    told = None if subject.result is None else subject.result.covariance
    if subject.result is None or told is None:
        return {}
    sigma = np.sqrt(np.maximum(np.diagonal(told.matrix), 1e-300))
    values, vectors = np.linalg.eigh(told.matrix / np.outer(sigma, sigma))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    draw = shrink * sigma * (root @ generator.standard_normal(len(sigma)))
    moved = {name: float(x) for name, x in zip(told.names, draw, strict=True)}
    axes = subject.result.fit.get(PRINCIPAL)
    return moved if axes is None else _turned(moved, np.asarray(axes, np.float64))


def _turned(moved: dict[str, float], R: np.ndarray) -> dict[str, float]:
    """Changes of places, axes and moments of inertia along principal axes, in body axes: R v, R J R^T."""
    turned = dict(moved)
    for head in {name[:-2] for name in moved if name.endswith((".position.x", ".axis.x"))}:
        names = [f"{head}.{x}" for x in XYZ]
        turned |= dict(zip(names, map(float, R @ [moved[name] for name in names]), strict=True))
    if "inertia.xx" in moved:
        J = R @ np.diag([moved[f"inertia.{x}{x}"] for x in XYZ]) @ R.T
        turned |= {f"inertia.{n}": float(J[XYZ.index(n[0]), XYZ.index(n[1])]) for n in SIX}
    return turned


def _relative(subject: Subject, group: int) -> float:
    """One relative deviation for all numbers of a group: the median of theirs."""
    names = [n for n in subject.open[group].names if subject.numbers.get(n) and n in subject.sigma]
    return float(np.median([subject.sigma[n] / abs(subject.numbers[n]) for n in names])) if names else 0.0


def _with_numbers(believed: Airframe, numbers: Mapping[str, float], before: Mapping[str, float]) -> Airframe:
    """The airframe with other numbers; mass, centre of mass and inertia change those of the body by as much."""
    body = believed.body
    mass = body.mass + numbers["mass"] - before["mass"]
    com = tuple(c + numbers[f"com.{x}"] - before[f"com.{x}"] for c, x in zip(body.com, "xyz", strict=True))
    xx, yy, zz, xy, xz, yz = (
        i + numbers[f"inertia.{x}"] - before[f"inertia.{x}"] for i, x in zip(body.inertia, SIX, strict=True)
    )
    inertia: Six = (xx, yy, zz, xy, xz, yz)
    smallest, middle, largest = principal_moments(inertia)
    if mass <= 0.0 or smallest <= 0.0 or smallest + middle < largest:
        raise AirframeError(f"{believed.name}: no body has these numbers")
    rotors = []
    for rotor in believed.rotors:
        head = f"rotors.{rotor.name}"

        def moved(name: str, value: tuple[float, ...], head: str = head) -> tuple[float, ...]:
            return tuple(
                v + numbers[f"{head}.{name}.{x}"] - before[f"{head}.{name}.{x}"]
                for v, x in zip(value, "xyz", strict=True)
            )

        plain: dict[str, Any] = {
            "thrust_coefficient": numbers[f"{head}.thrust_coefficient"],
            "torque_ratio": numbers[f"{head}.torque_ratio"],
            "time_constant": numbers.get(f"{head}.time_constant"),
        }
        axis = np.asarray(moved("axis", rotor.axis))
        plain |= {"position": moved("position", rotor.position), "axis": tuple(axis / np.linalg.norm(axis))}
        rotors.append(rotor.model_copy(update=plain))
    changed = body.model_copy(update={"mass": mass, "com": com, "inertia": inertia})
    return believed.model_copy(update={"body": changed, "rotors": tuple(rotors)})
