"""What is known before a flight of [Boehm2022]: numbers that are "10 %" off, and the hand measurements of Section VI-A.

The numbers are those of `PaperVehicle.physical`, truth and start drawn about each other. The smoother estimates
coordinates u, factors exp(u) or differences, of the true vehicle; every number belongs to one of them,

    number - truth = c (exp(u) - 1)  or  c u,   c = `scale`                                               (1)

so a start error is a draw of the prior mean of u, and a hand measurement of one number makes a coordinate's prior
narrower. Thrust axes deviate along and across the direction of their azimuth. The azimuth of an axis whose inclination
psi is known to D is measured to s: across it, the axis is then known to

    s sqrt(sin^2 psi + D^2)                                                                               (2)
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.estimation.core.kalman import update
from haltere.estimation.core.space import Mean
from haltere.estimation.vehicle.parameters import NominalVehicle, VehicleModel
from haltere.estimation.vehicle.smoother import Measured
from haltere.foundation.arrays import Array
from haltere.foundation.constants import GRAVITY, STANDARD_GRAVITY
from haltere.foundation.numbers import Bools, Floats, Ints
from haltere.papers.boehm.paper_vehicle import PaperVehicle, describe_paper_vehicle, slopes

DEGREE = np.pi / 180.0
ANGLE = 3.0 * DEGREE
MOVING = {
    "position": 0.05, "velocity": 0.2, "attitude": ANGLE, "rates": 0.1, "accel_bias": 0.1, "gyro_bias": 0.01,
}  # fmt: skip
"""Deviations of the first state, SI."""
BLOCKS = {
    "pose_position": "pose_position", "pose_rotation": "pose_rotation", "imu_position": "imu_position",
    "imu_rotation": "imu_rotation", "mass": "mass", "inertia": "moment", "rotor_position": "position",
    "rotor_tilt": "tilt", "thrust_coefficient": "thrust", "torque_ratio": "torque_ratio",
}  # fmt: skip
"""Coordinates of the smoother for each block of numbers; gravity has two."""
FACTORS = ("mass", "inertia", "thrust_coefficient", "torque_ratio")


def paper_hand_measurements(rotors: tuple[str, ...]) -> dict[str, float]:
    """Deviations, SI, of the hand measurements of [Boehm2022] Section VI-A by name."""
    return {
        "mass": 1e-3,
        **{f"rotors.{r}.axis.azimuth": 0.2 * DEGREE for r in rotors},
        **{f"rotors.{r}.position.z": 1e-3 for r in rotors},
        f"distance.{rotors[0]}.{rotors[1]}": 1e-3,
        "pose.rotation.z": 0.2 * DEGREE,
    }


def ten_percent(physical: Mean) -> Floats:
    """(19 + 7 N,) deviations of "10 %" initial error of the numbers.

    Ten percent of a zero angle is nothing, so each kind has a floor: positions of the sensors 5 mm, rotations and tilts
    3 degrees; gravity 0.3, 0.3, 0.98 m/s2; a rotor's position 10 % of the largest arm sideways and 5 mm up.
    """
    numbers = {name: np.abs(np.asarray(value)) for name, value in physical.items()}
    N, arm = len(numbers["thrust_coefficient"]), 0.1 * float(np.max(numbers["rotor_position"]))
    return np.concatenate(
        [
            np.maximum(0.1 * numbers["pose_position"], 5e-3),
            np.full(3, ANGLE),
            np.full(3, 5e-3),
            np.full(3, ANGLE),
            0.1 * numbers["mass"],
            0.1 * numbers["inertia"],
            [0.3, 0.3, 0.98],
            np.tile([arm, arm, 5e-3], N),
            np.full(2 * N, ANGLE),
            0.1 * numbers["thrust_coefficient"],
            0.1 * numbers["torque_ratio"],
        ]
    )


@dataclass(frozen=True)
class SampledPrior:
    """The prior of one flight for the smoother.

    Attributes:
        nominal: the true vehicle with the drawn prior of the coordinates.
        measured: the hand measurements that no single coordinate tells, or None.
        truth: (n,) true coordinates, whitened.
        indices: (19 + 7 N,) coordinate of each number.
        scale: (19 + 7 N,) c of (1).
        is_factor: (19 + 7 N,).
    """

    nominal: NominalVehicle
    measured: Measured | None
    truth: Floats
    indices: Ints
    scale: Floats
    is_factor: Bools

    @classmethod
    def draw(
        cls,
        airframe: Airframe,
        hand_measurements: Mapping[str, float],
        rng: np.random.Generator,
        model: VehicleModel = "paper",
    ) -> Self:
        """Draw start error and hand measurements.

        In the paper's model numbers are "10 %" off, and centre of mass and axes are what they are. The full model has
        its own prior, that of a drawing (`Widths`), and knows that the rotors of the paper have no inertia.
        """
        vehicle, physical = describe_paper_vehicle(airframe)
        nominal = NominalVehicle.from_airframe(airframe, model=model)
        still: Any = np.zeros(len(vehicle.rotors))
        nominal = replace(nominal, tangents=_tangents(np.asarray(physical["rotor_tilt"])), spin_inertia=still)
        indices, scale, is_factor = _coordinates(nominal, vehicle, physical)
        sigma: Any = np.array(nominal.sigma)
        if model == "paper":
            sigma[indices] = ten_percent(physical) / np.abs(scale)
            sigma[nominal.layout.indices(["com", "product"])] = 0.0
        true: Any = np.array(nominal.mean)
        true[nominal.layout.slices["gravity"]] = np.log(GRAVITY / STANDARD_GRAVITY)
        mean = true + sigma * rng.normal(size=len(sigma))
        measured = None
        for name, deviation in hand_measurements.items():
            if name.startswith("distance."):
                pair = [vehicle.rotors.index(rotor) for rotor in name.split(".")[1:]]
                reading = _distance(nominal, pair, true)[0] + deviation * rng.normal()
                measured = partial(_measure_distance, pair, reading, deviation)
                continue
            i = vehicle.names.index(name)
            place, own = indices[i], deviation / abs(scale[i])
            if name.endswith("azimuth"):
                inclination = physical["rotor_tilt"][vehicle.rotors.index(name.split(".")[1]), 0]
                own = deviation * float(np.hypot(np.sin(inclination), ANGLE))
            reading = true[place] + own * rng.normal()
            weight = sigma[place] ** 2 / (sigma[place] ** 2 + own**2)
            mean[place] += weight * (reading - mean[place])
            sigma[place] *= np.sqrt(1.0 - weight)
        whitened = np.where(sigma > 0.0, (true - mean) / np.where(sigma > 0.0, sigma, 1.0), 0.0)
        return cls(replace(nominal, mean=mean, sigma=sigma), measured, whitened, indices, scale, is_factor)

    def errors(self, z: Floats) -> Floats:
        """(19 + 7 N,) estimate minus truth of the numbers at coordinates z (n,), by (1)."""
        away = (np.asarray(self.nominal.sigma) * (z - self.truth))[self.indices]
        return np.asarray(self.scale * np.where(self.is_factor, np.expm1(away), away))

    def sigmas(self, z: Floats, cov: Floats) -> Floats:
        """(19 + 7 N,) deviations of the numbers at z (n,) with covariance (n, n)."""
        sigma = np.asarray(self.nominal.sigma)[self.indices]
        away = sigma * (z - self.truth)[self.indices]
        gain = np.abs(self.scale) * sigma * np.where(self.is_factor, np.exp(away), 1.0)
        return np.asarray(gain * np.sqrt(np.diagonal(cov)[self.indices]))


def _coordinates(
    nominal: NominalVehicle, vehicle: PaperVehicle, physical: Mean
) -> tuple[Ints, Floats, Bools]:
    """Indices, scales and whether they are factors, of the numbers (1)."""
    slices = nominal.layout.slices
    indices, scale, is_factor = [], [], []
    for block in vehicle.physical.blocks:
        factor = block.name in FACTORS
        if block.name == "gravity":
            tilt, along = slices["gravity_tilt"].start, slices["gravity"].start
            indices += [tilt, tilt + 1, along]
            scale += [-GRAVITY] * 3
            is_factor += [False, False, True]
            continue
        start = slices[BLOCKS[block.name]].start
        indices += range(start, start + block.size)
        scale += np.asarray(physical[block.name]).tolist() if factor else [1.0] * block.size
        is_factor += [factor] * block.size
    return np.array(indices), np.array(scale), np.array(is_factor)


def _tangents(tilt: Floats) -> Any:
    """(N, 2, 3) across the thrust axes: along growing inclination and growing azimuth, from both (N, 2)."""
    psi, theta = tilt.T
    along = [np.cos(psi) * np.cos(theta), np.cos(psi) * np.sin(theta), -np.sin(psi)]
    across = [-np.sin(theta), np.cos(theta), np.zeros_like(theta)]
    return np.stack([np.stack(along, axis=1), np.stack(across, axis=1)], axis=1)


def _distance(nominal: NominalVehicle, pair: list[int], values: Floats) -> tuple[float, Floats]:
    """Distance of two rotors, m, at coordinates before whitening (n,), and its slopes (n,)."""
    block = nominal.layout.slices["position"]
    positions = np.asarray(nominal.position) + values[block].reshape(-1, 3)
    apart = positions[pair[0]] - positions[pair[1]]
    length = float(np.linalg.norm(apart))
    slope: Any = np.zeros(len(values))
    for rotor, sign in zip(pair, (1.0, -1.0), strict=True):
        slope[block.start + 3 * rotor : block.start + 3 * rotor + 3] = sign * apart / length
    return length, slope


def _measure_distance(
    pair: list[int], reading: float, deviation: float, nominal: NominalVehicle, z: Floats
) -> tuple[Floats, Floats]:
    """Residual (1,) and slopes (1, n) of a distance that was read."""
    sigma = np.asarray(nominal.sigma)
    length, slope = _distance(nominal, pair, np.asarray(nominal.mean) + sigma * z)
    return np.array([reading - length]) / deviation, (sigma * slope)[None] / deviation


def paper_filter_start(
    vehicle: PaperVehicle,
    truth: Mean,
    hand_measurements: Mapping[str, float],
    rng: np.random.Generator,
) -> tuple[Mean, Array]:
    """Mean and covariance that the filter of the paper begins with, drawn about the true first state."""
    names = tuple(hand_measurements)
    moving = np.concatenate([np.full(block.size, MOVING[block.name]) for block in vehicle.moving.blocks])
    sigma = np.concatenate([moving, ten_percent(vehicle.physical.select(truth))])
    draws = sigma * rng.normal(size=len(sigma)), rng.normal(size=len(names))
    deviations = np.fromiter(hand_measurements.values(), float)
    start: tuple[Mean, Array] = _start(vehicle, names)(truth, sigma, *draws, deviations)
    return start


@lru_cache(maxsize=8)
def _start(vehicle: PaperVehicle, names: tuple[str, ...]) -> Any:
    """Compiled: mean and covariance from the truth, deviations, errors, and draws and deviations of measurements."""
    space = vehicle.space

    def quantities(state: Mean) -> Array:
        return jnp.stack([_quantity(vehicle, name, state) for name in names])

    def go(truth: Mean, sigma: Array, error: Array, draws: Array, deviations: Array) -> tuple[Mean, Array]:
        mean, cov = space.plus(truth, error), jnp.diag(sigma**2)
        if not names:
            return mean, cov
        innovation = quantities(truth) + deviations * draws - quantities(mean)
        cov, gain = update(cov, slopes(space, quantities, mean), deviations**2, innovation, jnp.asarray(True))
        return space.plus(mean, gain.shift), space.transported(mean, gain.shift, cov)

    return jax.jit(go)


def _quantity(vehicle: PaperVehicle, name: str, state: Mean) -> Array:
    """() what a hand measurement of this name measures; rotations count from no rotation."""
    if name.startswith("distance."):
        a, b = (state["rotor_position"][vehicle.rotors.index(rotor)] for rotor in name.split(".")[1:])
        return jnp.sqrt((a - b) @ (a - b))
    still = {
        block.name: jnp.asarray([1.0, 0.0, 0.0, 0.0]) if block.kind == "rotation" else jnp.zeros(block.shape)
        for block in vehicle.physical.blocks
    }
    return vehicle.physical.minus(state, still)[vehicle.names.index(name)]
