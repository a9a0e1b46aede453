"""The physical numbers of a smoothed flight by their names, with their covariance before and after."""

from dataclasses import dataclass
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from haltere.estimation.vehicle.parameters import (
    CoordinateLayout,
    NominalVehicle,
    VehicleNumbers,
    vehicle_of,
)
from haltere.estimation.vehicle.smoother import SmoothedFlight
from haltere.foundation.arrays import Array, double_precision
from haltere.foundation.numbers import Floats
from haltere.foundation.programs import CachedProgram
from haltere.foundation.verdict import LEARNT, Source
from haltere.lie import so3

COMPONENTS = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
NOT_IN_PAPER = ("spin_inertia", "_dot", "delay")
"""Endings of the numbers that the paper's state vector does not have."""
ROWS = ("fx", "fy", "fz", "p", "q", "r", "p_dot", "q_dot", "r_dot")


@dataclass(frozen=True)
class Numbers:
    """Physical numbers.

    Attributes:
        names: (N,).
        values: (N,) SI.
        slopes: (N, n) in the whitened coordinates; their lengths are the prior deviations.
        cov: (N, N).
    """

    names: tuple[str, ...]
    values: Floats
    slopes: Floats
    cov: Floats

    @property
    def sigma(self) -> Floats:
        """(N,) deviations."""
        return np.sqrt(np.diagonal(self.cov))

    @property
    def prior_sigma(self) -> Floats:
        """(N,) deviations before the flight."""
        return np.asarray(np.linalg.norm(self.slopes, axis=1))

    def __getitem__(self, name: str) -> tuple[float, float]:
        i = self.names.index(name)
        return float(self.values[i]), float(self.sigma[i])


@double_precision()
def physical_numbers(
    flight: SmoothedFlight, rotor_names: tuple[str, ...], cov: Floats | None = None
) -> Numbers:
    """All numbers of a smoothed flight; `cov` (n, n) of the coordinates instead of its own."""
    return numbers_at(flight.nominal, flight.z, flight.cov if cov is None else cov, rotor_names)


@double_precision()
def numbers_at(nominal: NominalVehicle, z: Floats, cov: Floats, rotor_names: tuple[str, ...]) -> Numbers:
    """All numbers at coordinates z (n,) with covariance (n, n)."""
    values, slopes = _program(nominal.layout)(nominal, z)
    names = number_names(rotor_names)
    kept = [i for i, name in enumerate(names) if nominal.model == "full" or not name.endswith(NOT_IN_PAPER)]
    slopes = np.asarray(slopes)[kept]
    return Numbers(tuple(names[i] for i in kept), np.asarray(values)[kept], slopes, slopes @ cov @ slopes.T)


def number_names(rotor_names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, in order."""
    names = ["mass", *(f"com.{axis}" for axis in "xyz"), *(f"inertia.{c}" for c in COMPONENTS)]
    for sensor in ("imu", "pose"):
        names += [f"{sensor}.{kind}.{axis}" for kind in ("position", "rotation") for axis in "xyz"]
    names += [f"gravity.{axis}" for axis in "xyz"]
    for rotor in rotor_names:
        head = f"rotors.{rotor}"
        names += [f"{head}.{kind}" for kind in ("thrust_coefficient", "torque_ratio", "spin_inertia")]
        names += [f"{head}.{kind}.{axis}" for kind in ("position", "axis") for axis in "xyz"]
        names += [f"{head}.effectiveness.{row}" for row in ROWS]
    return (*names, "pose.delay", "telemetry.delay", "imu.accel_delay")


def _vector(vehicle: VehicleNumbers) -> Array:
    """(N,) numbers in the order of `number_names`."""
    parts = [
        vehicle.mass[None],
        vehicle.com,
        jnp.stack([vehicle.inertia[place] for place in COMPONENTS.values()]),
    ]
    parts += [vehicle.imu_position, so3.log(vehicle.R_BI)]
    parts += [vehicle.pose_position, so3.log_wxyz(vehicle.pose_wxyz), vehicle.gravity]
    force, turn, reaction = effectiveness(vehicle)
    for i in range(len(vehicle.thrust)):
        own = jnp.stack([vehicle.thrust[i], vehicle.torque_ratio[i], vehicle.spin_inertia[i]])
        parts += [own, vehicle.position[i], vehicle.axis[i], force[i], turn[i], reaction[i]]
    parts += [jnp.stack([vehicle.pose_delay, vehicle.rotor_delay, vehicle.accel_delay])]
    return jnp.concatenate(parts)


def effectiveness(vehicle: VehicleNumbers) -> tuple[Array, Array, Array]:
    """(R, 3) specific force and angular acceleration per squared speed, angular acceleration per rotor acceleration."""
    inverse = jnp.linalg.inv(vehicle.inertia)
    thrust = vehicle.thrust[:, None] * vehicle.axis
    arms = vehicle.position - vehicle.com
    torque = jnp.cross(arms, thrust) - (vehicle.spin * vehicle.torque_ratio)[:, None] * thrust
    momentum = (vehicle.spin * vehicle.spin_inertia)[:, None] * vehicle.axis
    return thrust / vehicle.mass, torque @ inverse.T, -momentum @ inverse.T


@lru_cache(maxsize=4)
def _program(layout: CoordinateLayout) -> CachedProgram:
    def values_and_slopes(nominal: NominalVehicle, z: Array) -> tuple[Array, Array]:
        def f(z: Array) -> Array:
            return _vector(vehicle_of(layout, nominal, z))

        return f(z), jax.jacfwd(f)(z)

    return CachedProgram(values_and_slopes, layout, (0, 0), fast_compile=True)


def source_of(sigma: float, prior: float, measured: float | None) -> Source:
    """Where a number comes from: the flight, if it has narrowed what was known before.

    Args:
        sigma: its deviation.
        prior: that before the flight.
        measured: that of a measurement by hand, if there is one.
    """
    if measured is not None and sigma >= LEARNT * measured:
        return "user"
    return "prior" if sigma >= LEARNT * prior else "data"
