"""What is known before a flight: a Gaussian in the numbers people use, and hand measurements, each applied once.

A prior says mean and standard deviation of every physical number; a sigma of zero makes it known. It enters the
filter's coordinates through the Jacobian J of the coordinates at whatever state is linearised about, x:

    mean error = J (physical mean - physical(x)),   covariance = J (diag(sigma^2) + B B^T) J^T              (1)

with B = `covariance_root` where numbers are doubtful together, as after a grip (`vehicle_payload`).

A hand measurement z of a quantity q is a further reading of the constants:

    z = q(physical(x)) + N(0, sigma^2)                                                                    (2)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe.errors import closest
from haltere.estimation.core.kalman import update
from haltere.estimation.core.space import Mean, Space
from haltere.estimation.vehicle.coordinates import VehicleCoordinates
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array
from haltere.foundation.programs import CachedProgram, program_by_kind
from haltere.lie import so3


class PriorError(HaltereError):
    """A prior or hand measurement that cannot be used."""


class VehiclePrior(NamedTuple):
    """A Gaussian before the flight."""

    moving: Mean
    """The moving blocks at the first sample."""
    moving_sigma: Array
    """(18,)."""
    physical: Mean
    """The constants, in physical numbers."""
    sigma: Array
    """(19 + 7 N,) of their errors; zero where a number is known."""
    covariance_root: Array | None = None
    """(19 + 7 N, k) B of equation (1); none where the errors have nothing to do with each other."""

    @property
    def cov(self) -> Array:
        """(19 + 7 N, 19 + 7 N) of the errors of the constants."""
        alone = jnp.diag(self.sigma**2)
        return (
            alone if self.covariance_root is None else alone + self.covariance_root @ self.covariance_root.T
        )


@dataclass(frozen=True)
class HandMeasurement:
    """A number of the vehicle that was measured by hand, with a scale, a ruler or a caliper.

        HandMeasurement("mass", sigma=1e-3, value=0.716)
        HandMeasurement("distance.front.rear", sigma=1e-3, value=0.340)

    The filter applies each of them once, before the first reading. Names are those of the parameters
    (`VehicleFilter.names`), and `distance.<rotor>.<rotor>` between two rotors; rotations count from no rotation.
    """

    name: str
    sigma: float
    """Standard deviation, in the unit of the value: kg, m, kg m2, rad, N/(rad/s)^2."""
    value: float | None = None
    """What was read; None where readings are given apart, as in simulated series."""

    def quantity(self, coordinates: VehicleCoordinates) -> Callable[[Mean], Array]:
        """The measured quantity as a function of physical numbers."""
        parts = self.name.split(".")
        if parts[0] == "distance" and len(parts) == 3:
            a, b = (_rotor(coordinates, name, self.name) for name in parts[1:])

            def distance(physical: Mean) -> Array:
                apart = physical["rotor_position"][a] - physical["rotor_position"][b]
                return jnp.sqrt(apart @ apart)

            return distance
        if self.name not in coordinates.names:
            raise PriorError(
                f"'{self.name}' is not a parameter of this vehicle; {closest(self.name, coordinates.names)}"
            )
        place = coordinates.names.index(self.name)

        def component(physical: Mean) -> Array:
            return flat(coordinates.physical, physical)[place]

        return component


def _rotor(coordinates: VehicleCoordinates, name: str, full_name: str) -> int:
    if name not in coordinates.rotors:
        raise PriorError(f"'{full_name}': there is no rotor '{name}'; {closest(name, coordinates.rotors)}")
    return coordinates.rotors.index(name)


def flat(space: Space, physical: Mean) -> Array:
    """Physical numbers as one vector, rotations as rotation vectors."""
    parts = []
    for block in space.blocks:
        value = physical[block.name]
        parts.append(so3.log_wxyz(value) if block.kind == "rotation" else value.reshape(-1))
    return jnp.concatenate(parts)


def prior_at(
    coordinates: VehicleCoordinates,
    prior: VehiclePrior,
    hand_measurements: Sequence[HandMeasurement],
    readings: Array,
    state: Mean,
) -> tuple[Array, Array]:
    """Mean error (n,) and covariance (n, n) of prior and hand measurements, linearised at `state`: (1) and (2).

    Args:
        coordinates: those of the filter.
        prior: the Gaussian.
        hand_measurements: what was measured by hand.
        readings: (len(hand_measurements),) what the hand measurements read.
        state: where to linearise.
    """
    offset = coordinates.moving.minus(prior.moving, state)
    moving = coordinates.moving.recentred(state, offset, jnp.diag(prior.moving_sigma**2))
    here = coordinates.to_physical(coordinates.constants(state))
    away = coordinates.physical.minus(prior.physical, here)
    physical = coordinates.physical.recentred(here, away, prior.cov)
    J = coordinates.jacobian(here)
    mean = jnp.concatenate([offset, J @ away])
    cov = jax.scipy.linalg.block_diag(moving, J @ physical @ J.T)
    cov = 0.5 * (cov + cov.T)
    if not hand_measurements:
        return mean, cov
    quantities = [hand.quantity(coordinates) for hand in hand_measurements]

    def measured(error: Array) -> Array:
        physical = coordinates.to_physical(coordinates.constant.plus(coordinates.constants(state), error))
        return jnp.stack([quantity(physical) for quantity in quantities])

    still = jnp.zeros(coordinates.constant.dimension)
    H = jnp.concatenate(
        [jnp.zeros((len(hand_measurements), coordinates.moving.dimension)), jax.jacfwd(measured)(still)],
        axis=1,
    )
    innovation = readings - measured(still) - H @ mean
    variances = jnp.asarray([hand.sigma**2 for hand in hand_measurements])
    cov, gain = update(cov, H, variances, innovation, jnp.asarray(True))
    return mean + gain.gain @ innovation, cov


def prior_program(
    coordinates: VehicleCoordinates, hand_measurements: Sequence[HandMeasurement]
) -> CachedProgram:
    """Mean error, covariance, and the state moved by the mean error: see `prior_at`.

    Arguments: numbers of the coordinates, prior, readings and deviations (H,) of the H hand measurements, state.
    """
    named = replace(coordinates.kind, rotors=coordinates.rotors) if hand_measurements else coordinates.kind
    return believed((named, tuple(hand.name for hand in hand_measurements)))


@program_by_kind(lambda kind: (0, 0, {block.name: 0 for block in kind[0].space.blocks}), fast_compile=True)
def believed(
    kind: tuple[VehicleCoordinates, tuple[str, ...]],
    numbers: tuple[Array, Array],
    prior: VehiclePrior,
    readings: Array,
    sigmas: Array,
    state: Mean,
) -> tuple[Array, Array, Mean]:
    """`prior_program` for coordinates of one kind and hand measurements of these names."""
    coordinates, names = kind[0].of_numbers(numbers), kind[1]
    hand_measurements = (
        [HandMeasurement(name, sigma) for name, sigma in zip(names, sigmas, strict=True)] if names else []
    )
    mean, cov = prior_at(coordinates, prior, hand_measurements, readings, state)
    return mean, cov, coordinates.space.plus(state, mean)


@program_by_kind(lambda kind: (0, 0, {block.name: 0 for block in kind.constant.blocks}), fast_compile=True)
def guessed(
    kind: VehicleCoordinates, numbers: tuple[Array, Array], physical: Mean, factor: float
) -> tuple[Array, Array, Mean]:
    """`ten_percent` and the filter's coordinates of the physical numbers."""
    coordinates = kind.of_numbers(numbers)
    return (*ten_percent(coordinates, physical, factor), coordinates.to_coordinates(physical))


def _effect_sigma(coordinates: VehicleCoordinates, physical: Mean) -> Mean:
    """Deviations of the physical numbers of the effects."""
    mass, inertia = physical["mass"][0], physical["inertia"]
    hover = jnp.sqrt(mass * jnp.linalg.norm(physical["gravity"]) / jnp.sum(physical["thrust_coefficient"]))
    share = RATE * mass / (hover * coordinates.count)
    likely = jnp.concatenate([jnp.full(2, share), jnp.full(3, RATE * mass), jnp.full(3, RATE * mass / PACE)])
    guesses = {"drag": likely, "spin_inertia": ROTOR_FRACTION * inertia[2]}

    def stated(name: str) -> Array:
        value = jnp.abs(physical[name])
        absent = jnp.where(jnp.any(value > 0.0), ABSENT, 1.0)
        return jnp.where(value > 0.0, STATED * value, absent * guesses[name])

    found = {name: stated(name) for name in guesses if name in physical}
    found |= {
        "time_constant": STATED * physical.get("time_constant", jnp.zeros(1)),
        "delay": jnp.full(1, TELEMETRY_DELAY),
    }
    return found


DEGREE = np.pi / 180.0
STATED = 0.2
"""Of a coefficient of drag, inertia of a rotor or time constant that a file states: how well it is known."""
ABSENT = 1e-3
"""Of what a vehicle may have: where a file states some drag, but none of this kind."""
RATE = 0.2
"""1/s, at which drag may slow a multirotor down."""
PACE = 5.0
"""m/s, at which quadratic drag is as strong as that."""
ROTOR_FRACTION = 1e-3
"""Of the vehicle's inertia that a rotor may have."""
TELEMETRY_DELAY = 0.01
"""s, by which telemetry may be late."""


def ten_percent(coordinates: VehicleCoordinates, physical: Mean, factor: float = 1.0) -> tuple[Array, Array]:
    """Deviations of "10 %" initial error, for the moving blocks (18,) and the physical numbers (19 + 7 N,).

    Ten percent of a zero angle is nothing, so each kind has a floor: positions of the sensors 5 mm, rotations and tilts
    3 degrees, attitude 3 degrees, position 0.05 m, velocity 0.2 m/s, rates 0.1 rad/s, biases 0.1 m/s2 and 0.01 rad/s;
    gravity 0.3, 0.3, 0.98 m/s2; a rotor's position 10 % of the largest arm sideways and 5 mm up. `factor` 2: "20 %".
    Effects are known to 20 % of what the file states; if it states none of a kind, to what such a vehicle may have.
    """
    N, turn = coordinates.count, 3.0 * DEGREE
    first = {"position": 0.05, "velocity": 0.2, "attitude": turn, "rates": 0.1, "accel_bias": 0.1}
    first |= {"gyro_bias": 0.01, "wind": 3.0, "rotor_speed": 20.0}
    moving = np.concatenate([np.full(block.size, first[block.name]) for block in coordinates.moving.blocks])
    arm = 0.1 * jnp.max(jnp.abs(physical["rotor_position"]))
    place = jnp.stack([arm, arm, jnp.asarray(5e-3)])
    sigma = [
        jnp.maximum(0.1 * jnp.abs(physical["pose_position"]), 5e-3),
        jnp.full(3, turn),
        jnp.full(3, 5e-3),
        jnp.full(3, turn),
        0.1 * physical["mass"],
        0.1 * physical["inertia"],
        jnp.asarray([0.3, 0.3, 0.98]),
        jnp.tile(place, N),
        jnp.full(2 * N, turn),
        0.1 * physical["thrust_coefficient"],
        0.1 * physical["torque_ratio"],
    ]
    more = _effect_sigma(coordinates, physical)
    sigma += [more[block.name] for block in coordinates.physical.blocks if block.name in more]
    return jnp.asarray(factor * moving), factor * jnp.concatenate(sigma)
