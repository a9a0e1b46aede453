"""Vehicles sampled from what is known of one.

Numbers are sampled from their covariance where the result has one, else each with its own sigma; then numbers of which
only a combination is known change by one common factor, because their ratios are known. A log without pose gives
accelerations per squared rotor speed only: then a vehicle of 1 kg with these accelerations is made
(`haltere.identification.methods.airframe`). Where such a log came with an airframe, the controller is made for the
airframe and the plants from what the log identifies, so that an airframe that does not fit the log is noticed.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from haltere.airframe import Airframe, AirframeError
from haltere.airframe.fields import Six, principal_moments
from haltere.exporters import ExportError
from haltere.foundation.text import safe_name
from haltere.identification.described import SIX, DescribedVehicle, force_of, torque_of
from haltere.identification.methods.airframe import Ratios, airframe_from_ratios

MASS, INERTIA = 1.0, 0.01
"""Of the vehicle that stands for ratios, kg and kg m2: any would do."""
LEAST_FRACTION = 0.2
"""A sampled number keeps at least this fraction of its value where it must be above zero."""
POSITIVE = ("mass", "xx", "yy", "zz", "thrust_coefficient", "torque_ratio", "time_constant", "max_speed")


def make_flyable(vehicle: DescribedVehicle) -> Airframe:
    """The identified vehicle, or one of 1 kg with the accelerations that a log without pose gives."""
    if vehicle.airframe is not None:
        return vehicle.airframe
    return from_ratios(vehicle.numbers, vehicle.rotors, dict(vehicle.curves), vehicle.name)


def from_ratios(
    numbers: Mapping[str, float], rotors: tuple[str, ...], curves: Mapping[str, str], name: str
) -> Airframe:
    """A vehicle of `MASS` and `INERTIA`; an angular acceleration that is not known is taken as none."""
    ratios = []
    for rotor in rotors:
        try:
            force, torque = (np.nan_to_num(f(numbers, rotor)) for f in (force_of, torque_of))
        except KeyError as error:
            raise ExportError(
                f"{name}: it cannot be flown before export, because {error.args[0]} is not identified; "
                "identify it with what is missing, or insist with --unchecked"
            ) from None
        head = f"rotors.{rotor}."
        own = {n.removeprefix(head): value for n, value in numbers.items() if n.startswith(head)}
        ratios.append(Ratios(rotor, force, torque, own, curves.get(rotor, "quadratic")))
    return airframe_from_ratios(safe_name(name), MASS, (INERTIA, INERTIA, INERTIA, 0.0, 0.0, 0.0), ratios)


def has_ratios(vehicle: DescribedVehicle) -> bool:
    """Whether force and torque of every rotor are identified: then plants are made of them, not of the airframe."""
    names = [f"rotors.{r}.effectiveness.{n}" for r in vehicle.rotors for n in ("fz", "p", "q", "r")]
    return all(name in vehicle.numbers for name in names)


def sample_airframes(
    vehicle: DescribedVehicle, estimate: Airframe, draws: int, generator: np.random.Generator
) -> list[Airframe]:
    """`draws` vehicles that agree with what is known; all are possible bodies."""
    return [_sample(vehicle, estimate, generator) for _ in range(draws)]


def _sample(vehicle: DescribedVehicle, estimate: Airframe, generator: np.random.Generator) -> Airframe:
    for shrink in 0.5 ** np.arange(12):
        numbers = _numbers(vehicle, generator, float(shrink))
        try:
            if vehicle.airframe is None or has_ratios(vehicle):
                return from_ratios(numbers, vehicle.rotors, dict(vehicle.curves), vehicle.name)
            return _with_numbers(estimate, numbers, dict(vehicle.numbers))
        except (
            AirframeError,
            ValueError,
        ):  # no body has these numbers (the latter is pydantic's): sample nearer
            continue
    return estimate


def _numbers(vehicle: DescribedVehicle, generator: np.random.Generator, shrink: float) -> dict[str, float]:
    """Named numbers sampled from what is known of them."""
    numbers = dict(vehicle.numbers)
    groups = {name: i for i, group in enumerate(vehicle.open) if group.is_combination for name in group.names}
    common = shrink * generator.standard_normal(len(vehicle.open))
    own = shrink * generator.standard_normal(len(vehicle.sigma))
    changes = _changes(vehicle, generator, shrink)
    for z, (name, sigma) in zip(own, vehicle.sigma.items(), strict=True):
        if name not in numbers or name in changes:
            continue
        if name in groups:
            relative = _relative(vehicle, groups[name]) * float(common[groups[name]])
            numbers[name] += relative * abs(numbers[name])
        else:
            numbers[name] += sigma * float(z)
    for name in changes.keys() & numbers.keys():
        numbers[name] += changes[name]
    for name, value in numbers.items():
        if name.rsplit(".", 1)[-1] in POSITIVE:
            numbers[name] = max(value, LEAST_FRACTION * abs(vehicle.numbers[name]))
    return numbers


def _changes(vehicle: DescribedVehicle, generator: np.random.Generator, shrink: float) -> dict[str, float]:
    """One sample of the errors whose covariance the result has, in body axes."""
    covariance = None if vehicle.result is None else vehicle.result.covariance
    if vehicle.result is None or covariance is None:
        return {}
    sigma = np.sqrt(np.maximum(np.diagonal(covariance.matrix), 1e-300))
    values, vectors = np.linalg.eigh(covariance.matrix / np.outer(sigma, sigma))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    draw = shrink * sigma * (root @ generator.standard_normal(len(sigma)))
    return {name: float(x) for name, x in zip(covariance.names, draw, strict=True)}


def _relative(vehicle: DescribedVehicle, group: int) -> float:
    """One relative deviation for all numbers of a group: the median of theirs."""
    names = [n for n in vehicle.open[group].names if vehicle.numbers.get(n) and n in vehicle.sigma]
    return float(np.median([vehicle.sigma[n] / abs(vehicle.numbers[n]) for n in names])) if names else 0.0


def _with_numbers(estimate: Airframe, numbers: Mapping[str, float], before: Mapping[str, float]) -> Airframe:
    """The airframe with other numbers; mass, centre of mass and inertia change those of the body by as much."""
    body = estimate.body
    mass = body.mass + numbers["mass"] - before["mass"]
    com = tuple(c + numbers[f"com.{x}"] - before[f"com.{x}"] for c, x in zip(body.com, "xyz", strict=True))
    xx, yy, zz, xy, xz, yz = (
        i + numbers[f"inertia.{x}"] - before[f"inertia.{x}"] for i, x in zip(body.inertia, SIX, strict=True)
    )
    inertia: Six = (xx, yy, zz, xy, xz, yz)
    smallest, middle, largest = principal_moments(inertia)
    if mass <= 0.0 or smallest <= 0.0 or smallest + middle < largest:
        raise AirframeError(f"{estimate.name}: no body has these numbers")
    rotors = []
    for rotor in estimate.rotors:
        head = f"rotors.{rotor.name}"

        def shifted(name: str, value: tuple[float, ...], head: str = head) -> tuple[float, ...]:
            return tuple(
                v + numbers[f"{head}.{name}.{x}"] - before[f"{head}.{name}.{x}"]
                for v, x in zip(value, "xyz", strict=True)
            )

        updates: dict[str, Any] = {
            "thrust_coefficient": numbers[f"{head}.thrust_coefficient"],
            "torque_ratio": numbers[f"{head}.torque_ratio"],
            "time_constant": numbers.get(f"{head}.time_constant"),
        }
        axis = np.asarray(shifted("axis", rotor.axis))
        updates |= {
            "position": shifted("position", rotor.position),
            "axis": tuple(axis / np.linalg.norm(axis)),
        }
        rotors.append(rotor.model_copy(update=updates))
    changed = body.model_copy(update={"mass": mass, "com": com, "inertia": inertia})
    return estimate.model_copy(update={"body": changed, "rotors": tuple(rotors)})
