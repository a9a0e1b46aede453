"""A series of flights estimated by the batch smoother, each beside its Cramer-Rao bound.

The start error of each run is drawn from the prior that the estimator is given, and hand measurements are drawn about
the truth. No run is dropped. The bound is that of the smoother's model: the covariance of its pass linearised at the
true numbers and the true motion, with the true noise levels, the prior's information included.

The NEES is taken in coordinates that a flight shows as they are, so that what is known well does not bend along what is
known badly: with thrust axes a, arms r, thrust coefficients k_f, torque ratios k_m, spins e,

    ln m,  ln(Ixx/Izz),  ln(Iyy/Izz),  ln(Izz/m),  r_z m/Izz,  gravity, positions and rotations of the sensors     (1)
    (k_f/m) a,   k_f I^-1 (r x a - e k_m a)                 specific force and angular acceleration per squared speed

In the numbers themselves the torque about an axis, known to 1e-3 of what each of the tilts, arms and coefficients in it
is, is a product of them, and a linear error of them misses it.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.estimation.core.consistency import nees
from haltere.estimation.vehicle.levels import NAMES, NO_DISTURBANCE
from haltere.estimation.vehicle.marginal import CHUNK, programs
from haltere.estimation.vehicle.motion import BIAS, STATE
from haltere.estimation.vehicle.nodes import CUTOFF, FlightNodes
from haltere.estimation.vehicle.numbers import effectiveness
from haltere.estimation.vehicle.parameters import (
    CoordinateLayout,
    NominalVehicle,
    VehicleModel,
    vehicle_of,
)
from haltere.estimation.vehicle.smoother import FlightWork, SmoothedFlight, smooth
from haltere.flight import Channel, Flight
from haltere.flight.rotations import matrices_from_wxyz
from haltere.foundation.arrays import Array, double_precision
from haltere.foundation.numbers import Floats
from haltere.papers.boehm.flights import SPEED_SIGMA, Conditions, Recording, fly
from haltere.papers.boehm.paper_vehicle import PaperVehicle, describe_paper_vehicle
from haltere.papers.boehm.prior import SampledPrior
from haltere.papers.tables import Progress, silent

WHITE_LEFT = 3.0 * np.pi / (8.0 * np.sqrt(2.0))
"""Noise bandwidth of the nodes' low-pass over its cutoff: the integral of 1 / (1 + x^4)^2."""


class Outcome(NamedTuple):
    """The end of one run."""

    nees: Any
    """() of all errors that are estimated, in the coordinates (1)."""
    worst: Any
    """() largest error of a number in sigmas."""
    error: Any
    """(19 + 7 N,) estimate minus truth of the numbers; a thrust axis by its tilt along and across its azimuth."""
    sigma: Any
    """(19 + 7 N,) as the estimator states it."""
    bias_error: Any
    """(6,) of the IMU's biases at the end."""
    information: Any
    """(2 + N,) information that the flight gives along mass scale, leverage scale and each rotor's slide, over that of
    prior and hand measurements; no flight shows these directions."""


class Bound(NamedTuple):
    """Cramer-Rao bound, deviations."""

    numbers: Any
    """(19 + 7 N,)."""
    bias: Any
    """(6,) at the end."""


class Series(NamedTuple):
    """All runs; leaves of `outcome` and `bound` have a leading axis."""

    vehicle: PaperVehicle
    states: int
    """Errors that the NEES counts."""
    outcome: Outcome
    bound: Bound
    seconds: float
    """CPU time of a run, compilation not included; median."""

    @property
    def ratio(self) -> float:
        """Error over bound: sqrt of the mean over runs and numbers of error^2 / bound variance."""
        return float(np.sqrt(np.mean(np.square(self.outcome.error / self.bound.numbers))))

    @property
    def over_sigma(self) -> float:
        """Sqrt of the mean over runs and numbers of error^2 / stated variance."""
        return float(np.sqrt(np.mean(np.square(self.outcome.error / self.outcome.sigma))))

    @property
    def group_ratios(self) -> dict[str, float]:
        """Error over bound of each block of numbers, and of the biases."""
        squares = np.square(self.outcome.error / self.bound.numbers)
        places = self.vehicle.physical.slices
        found = {name: float(np.sqrt(np.mean(squares[:, place]))) for name, place in places.items()}
        return found | {"bias": float(np.sqrt(np.mean(np.square(self.outcome.bias_error / self.bound.bias))))}


@dataclass(frozen=True)
class SmoothedRun:
    """One flight with its prior and what the smoother found."""

    airframe: Airframe
    prior: SampledPrior
    nodes: FlightNodes
    flight: SmoothedFlight
    seconds: float


def one_of(recording: Recording, i: int) -> Recording:
    """Flight `i` of a recording."""
    one: Recording = jax.tree.map(lambda x: np.asarray(x[i]), recording)
    return one


def flight_of(one: Recording, conditions: Conditions, rotors: tuple[str, ...]) -> Flight:
    """The readings of one flight as a log has them, each pose at the time when it was taken.

    Rotor speeds are means over a step and are stamped in its middle. Without motor lag the specific force holds
    through a step with them, and so is its reading. The first pose is left out: then the first node of the smoother
    stands at a pose, and every node at a sample of the truth.
    """
    period, late = 1.0 / conditions.rate, conditions.pose_delay
    step = period * np.arange(len(one.imu))
    middle = step + 0.5 * period
    poses = period * conditions.pose_every * np.arange(len(one.pose_position) - late)
    valid = np.asarray(one.pose_valid)[late:] & (poses > 0.0)

    def channel(name: str, at: Any, values: Any, unit: str, frame: str, columns: tuple[str, ...]) -> Channel:
        return Channel(name, np.round(1e9 * at).astype(np.int64), np.asarray(values), unit, frame, columns)

    xyz = ("x", "y", "z")
    return Flight.of(
        channel("imu.accel", step if conditions.lag else middle, one.imu[:, :3], "m/s2", "imu", xyz),
        channel("imu.gyro", step, one.imu[:, 3:], "rad/s", "imu", xyz),
        channel("rotors.speed", middle, one.reported, "rad/s", "", rotors),
        channel("pose.position", poses[valid], one.pose_position[late:][valid], "m", "world", xyz),
        channel("pose.wxyz", poses[valid], one.pose_wxyz[late:][valid], "1", "world", ("w", *xyz)),
    )


@double_precision()
def smooth_run(
    airframe: Airframe,
    one: Recording,
    seed: int,
    hand_measurements: Mapping[str, float],
    conditions: Conditions,
    model: VehicleModel = "paper",
) -> SmoothedRun:
    """Draw prior and hand measurements of one flight, and smooth it."""
    rotors = tuple(rotor.name for rotor in airframe.rotors)
    prior = SampledPrior.draw(airframe, hand_measurements, np.random.default_rng(seed), model)
    begin = time.process_time()
    nodes = FlightNodes.from_flight(flight_of(one, conditions, rotors), rotors)
    found = smooth(nodes, prior.nominal, measured=prior.measured)
    return SmoothedRun(airframe, prior, nodes, found, time.process_time() - begin)


def estimate(
    airframe: Airframe,
    seeds: Sequence[int],
    hand_measurements: Mapping[str, float],
    conditions: Conditions | None = None,
    recording: Recording | None = None,
    progress: Progress | None = None,
    model: VehicleModel = "paper",
) -> Series:
    """Fly `airframe` once for each seed (unless a recording is given) and smooth each flight."""
    conditions, progress = conditions or Conditions(), progress or silent
    if recording is None:
        progress(f"flying {airframe.name} {len(seeds)} times")
        recording = fly(airframe, seeds, conditions)
    outcomes, bounds, seconds = [], [], []
    for i, seed in enumerate(seeds):
        one = one_of(recording, i)
        run = smooth_run(airframe, one, seed, hand_measurements, conditions, model)
        outcomes.append(outcome_of(run, one, conditions))
        seconds.append(run.seconds)
        bounds.append(bound_of(run, one, conditions))
        progress(f"smoothed flight {i + 1} of {len(seeds)}")
    states = len(run.prior.indices) + (6 if model == "full" else 0)
    vehicle = describe_paper_vehicle(airframe)[0]
    return Series(vehicle, states, stacked(outcomes), stacked(bounds), float(np.median(seconds)))


def stacked(items: Sequence[Any]) -> Any:
    """Pytrees of equal structure as one whose leaves have a leading axis."""
    return jax.tree.map(lambda *x: np.stack(x), *items)


def shown_coordinates(layout: CoordinateLayout, nominal: NominalVehicle, z: Array) -> Array:
    """The coordinates (1) at z (n,); in the full model those of centre of mass and products of inertia besides."""
    vehicle = vehicle_of(layout, nominal, z)
    u = layout.split(nominal.mean + nominal.sigma * z)
    inertia, m, vertical = vehicle.inertia, vehicle.mass, vehicle.inertia[2, 2]
    force, turn, _ = effectiveness(vehicle)
    names = ["pose_position", "pose_rotation", "imu_position", "imu_rotation"]
    names += ["com", "product"] if layout.model == "full" else []
    scales = jnp.log(jnp.stack([m, inertia[0, 0] / vertical, inertia[1, 1] / vertical, vertical / m]))
    slide = (vehicle.position - vehicle.com)[:, 2] * m / vertical
    parts = [*(u[name] for name in names), scales, vehicle.gravity, force.ravel(), turn.ravel(), slide]
    return jnp.concatenate(parts)


@lru_cache(maxsize=4)
def _shown(layout: CoordinateLayout) -> Any:
    def both(nominal: NominalVehicle, z: Array) -> tuple[Array, Array]:
        def f(z: Array) -> Array:
            return shown_coordinates(layout, nominal, z)

        return f(z), jax.jacfwd(f)(z)

    return jax.jit(both)


@double_precision()
def nees_of(nominal: NominalVehicle, z: Floats, cov: Floats, truth: Floats) -> float:
    """NEES of an estimate z (n,) with covariance (n, n), in the coordinates (1)."""
    program = _shown(nominal.layout)
    here, slope = (np.asarray(x) for x in program(nominal, z))
    return float(nees(jnp.asarray(here - program(nominal, truth)[0]), jnp.asarray(slope @ cov @ slope.T)))


def outcome_of(run: SmoothedRun, one: Recording, conditions: Conditions) -> Outcome:
    """The errors of a smoothed flight."""
    prior, flight = run.prior, run.flight
    # The prior of the full model is scaled along with the flight; the same vehicle has other coordinates then.
    found = np.asarray(flight.nominal.mean) + np.asarray(flight.nominal.sigma) * flight.z
    sigma = np.asarray(prior.nominal.sigma)
    ratio = np.where(sigma > 0.0, np.asarray(flight.nominal.sigma) / np.where(sigma > 0.0, sigma, 1.0), 1.0)
    z = np.where(sigma > 0.0, (found - prior.nominal.mean) / np.where(sigma > 0.0, sigma, 1.0), 0.0)
    cov = flight.cov * ratio[:, None] * ratio[None, :]
    error, stated = prior.errors(z), prior.sigmas(z, cov)
    last = round(float(run.nodes.time[-1]) * conditions.rate)
    return Outcome(
        nees_of(prior.nominal, z, cov, prior.truth),
        float(np.max(np.abs(error / stated))),
        error,
        stated,
        flight.states[-1, STATE - 6 :] - one.bias[last],
        information_along_null_directions(flight),
    )


@double_precision()
def information_along_null_directions(flight: SmoothedFlight) -> Floats:
    """(2 + N,) see `Outcome`; where the smoother linearised last."""
    layout, parts = flight.layout, flight.parts
    at = _vehicle_at(layout)(flight.nominal, flight.z - parts.step)
    arms, axes = np.asarray(at.position) - np.asarray(at.com), np.asarray(at.axis)
    slices, sigma = layout.slices, np.asarray(flight.nominal.sigma)
    directions: Any = np.zeros((2 + len(arms), layout.size))
    for row, names in enumerate((("mass", "moment", "thrust"), ("moment", "torque_ratio"))):
        directions[row, layout.indices(names)] = 1.0
    directions[1, slices["position"]] = arms.ravel()
    for i, axis in enumerate(axes):
        start = slices["position"].start + 3 * i
        directions[2 + i, start : start + 3] = axis
    whitened = directions / np.where(sigma > 0.0, sigma, np.inf)
    told = np.einsum("di,ij,dj->d", whitened, parts.information.sum(axis=0), whitened)
    before = np.einsum("di,ij,dj->d", whitened, np.eye(layout.size) + parts.measured, whitened)
    return np.asarray(told / before)


@lru_cache(maxsize=4)
def _vehicle_at(layout: Any) -> Any:
    return jax.jit(lambda nominal, z: vehicle_of(layout, nominal, z))


def true_states(nodes: FlightNodes, one: Recording, conditions: Conditions) -> Floats:
    """(K, 31) states of the smoother at the nodes, from the recording."""
    at = np.round(nodes.time * conditions.rate).astype(int)
    states: Any = np.zeros((len(at), STATE))
    wxyz, twist = np.asarray(one.state.wxyz)[at], np.asarray(one.state.twist)[at]
    velocity = np.einsum("kij,kj->ki", matrices_from_wxyz(wxyz), twist[:, :3])
    states[:, :13] = np.concatenate([one.state.position[at], velocity, wxyz, twist[:, 3:]], axis=1)
    states[:, STATE - 6 :] = one.bias[at]
    return np.asarray(states)


def true_levels(run: SmoothedRun, conditions: Conditions) -> Floats:
    """(19,) logarithms of the noise levels at the nodes that the simulated noise has; no disturbances."""
    imu, pose = run.airframe.imu[0], run.airframe.pose[0]
    left = np.sqrt(WHITE_LEFT * CUTOFF / (0.5 * conditions.rate))
    averaged = 1.0 / np.sqrt(conditions.pose_every)
    known = {
        "gyro": left * (imu.sigma_gyro or 0.0), "accel": left * (imu.sigma_accel or 0.0),
        "position": pose.sigma_position, "rotation": pose.sigma_rotation, "rotor": averaged * SPEED_SIGMA,
        "accel_walk": imu.sigma_accel_walk, "gyro_walk": imu.sigma_gyro_walk,
    }  # fmt: skip
    found: Any = np.full(len(NAMES), np.log(NO_DISTURBANCE))
    for name, level in known.items():
        found[NAMES.index(name)] = np.log(level or 1e-6)
    return np.asarray(found)


@double_precision()
def bound_of(run: SmoothedRun, one: Recording, conditions: Conditions) -> Bound:
    """The bound of one flight for the model that was used."""
    prior, nodes = run.prior, run.nodes
    work = FlightWork(nodes, prior.nominal, programs(prior.nominal.layout))
    states, levels, z = true_states(nodes, one, conditions), true_levels(run, conditions), prior.truth
    linear, weights, _ = work.linearise(z, states, levels, 0)
    kept = work.filtered(linear, work.weighted(weights, states), levels, states)
    rows = np.concatenate([np.asarray(each[1]) for each in kept])[: work.count].reshape(-1, len(z))
    by_hand = prior.measured(prior.nominal, z)[1] if prior.measured else np.zeros((0, len(z)))
    cov = np.linalg.inv(rows.T @ rows + by_hand.T @ by_hand + np.eye(len(z)))
    last = work.count - 1 - CHUNK * (len(kept) - 1)
    slope, spread = (np.asarray(kept[-1][k][last]) for k in (4, 5))
    of_bias = np.diagonal(spread + slope @ cov @ slope.T)[BIAS]
    return Bound(prior.sigmas(z, cov), np.sqrt(of_bias))
