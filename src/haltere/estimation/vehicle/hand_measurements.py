"""Numbers that were measured by hand, put into the prior of a nominal vehicle."""

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.equipment import equip
from haltere.estimation.vehicle.parameters import NominalVehicle, VehicleModel, Widths
from haltere.foundation import HaltereError
from haltere.foundation.numbers import Floats

Known = Mapping[str, float | tuple[float, float]]
"""Numbers measured by hand: value, or value and sigma, by name."""
EXACT = 1e-4
"""Relative deviation of a number that is given as exact."""
DIFFERENCES = {"com": "com", "imu.position": "imu_position", "pose.position": "pose_position"}


def measured_vehicle(
    airframe: Airframe, known: Known | None, joint_angles: Floats | None, model: VehicleModel = "full"
) -> tuple[NominalVehicle, dict[str, float]]:
    """An airframe with IMU and pose sensor and what was measured of it, and sigma of each number that was.

    Raises:
        HaltereError: a name of `known` is none of the vehicle's numbers.
    """
    complete, _ = equip(airframe, ("pose", "imu"))
    nominal = NominalVehicle.from_airframe(complete, joint_angles, Widths.from_airframe(airframe), model)
    pairs = {
        name: (float(x[0]), float(x[1])) if isinstance(x, tuple | list) else (float(x), 0.0)
        for name, x in (known or {}).items()
    }
    names = tuple(rotor.name for rotor in airframe.rotors)
    vehicle, taken, unused = with_measured(nominal, names, pairs)
    if unused:
        raise HaltereError(f"known {', '.join(unused)}: no number of this vehicle; see estimate() for names")
    return vehicle, taken


def with_measured(
    nominal: NominalVehicle, rotor_names: tuple[str, ...], measured: Mapping[str, tuple[float, float]]
) -> tuple[NominalVehicle, dict[str, float], list[str]]:
    """The vehicle with hand measurements in its prior, sigma of each number that was taken, and names that were not.

    Args:
        nominal: the vehicle.
        rotor_names: its rotors.
        measured: value and sigma by name; names may be patterns.
    """
    places = _coordinates(nominal, rotor_names)
    mean: Any = np.array(nominal.mean)
    sigma: Any = np.array(nominal.sigma)
    by_hand: Any = np.array(nominal.measured)
    taken: dict[str, float] = {}
    left: list[str] = []
    for pattern, (value, deviation) in measured.items():
        found = [name for name in places if fnmatchcase(name, pattern)]
        if not found:
            left.append(pattern)
        for name in found:
            place, before, is_factor = places[name]
            scale = abs(value) if is_factor else 1.0
            own = deviation or EXACT * max(abs(value), abs(before), 1e-3)
            mean[place] = np.log(value / before) if is_factor else value - before
            sigma[place] = own / scale
            by_hand[place] = 1.0
            taken[name] = own
    return replace(nominal, mean=mean, sigma=sigma, measured=by_hand), taken, left


def _coordinates(nominal: NominalVehicle, rotor_names: tuple[str, ...]) -> dict[str, tuple[int, float, bool]]:
    """Coordinate, nominal value and whether it is a factor, of every number that can be given."""
    slices = nominal.layout.slices
    moments = np.diagonal(np.asarray(nominal.inertia))
    found = {"mass": (slices["mass"].start, float(nominal.mass), True)}
    for k, name in enumerate(("inertia.xx", "inertia.yy", "inertia.zz")):
        found[name] = (slices["moment"].start + k, float(moments[k]), True)
    vectors = {
        "com": nominal.com,
        "imu.position": nominal.imu_position,
        "pose.position": nominal.pose_position,
    }
    for head, vector in vectors.items():
        for k, axis in enumerate("xyz"):
            found[f"{head}.{axis}"] = (slices[DIFFERENCES[head]].start + k, float(vector[k]), False)
    for i, rotor in enumerate(rotor_names):
        for last, block in (("thrust_coefficient", "thrust"), ("torque_ratio", "torque_ratio")):
            value = float(getattr(nominal, block)[i])
            found[f"rotors.{rotor}.{last}"] = (slices[block].start + i, value, True)
        for k, axis in enumerate("xyz"):
            place = slices["position"].start + 3 * i + k
            found[f"rotors.{rotor}.position.{axis}"] = (place, float(nominal.position[i, k]), False)
    return found
