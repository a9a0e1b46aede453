"""A series of flights put through the self-calibrating filter, each beside its own posterior Cramer-Rao bound.

The start error of each run is drawn from the prior that the filter is given, and hand measurements are drawn about the
truth. No run is dropped.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.estimation.core.consistency import nees
from haltere.estimation.core.space import Mean
from haltere.estimation.vehicle.coordinates import Axes, Effect, VehicleCoordinates
from haltere.estimation.vehicle.description import describe_vehicle
from haltere.estimation.vehicle.model import linear_step
from haltere.estimation.vehicle.prior import DEGREE, HandMeasurement, VehiclePrior, prior_at, ten_percent
from haltere.estimation.vehicle.smoother import SmoothedTrajectory, bound, smooth
from haltere.estimation.vehicle.steps import Frames, Steps, VehicleBelief, VehicleNoise, run
from haltere.foundation.arrays import Array
from haltere.papers.boehm.flights import SPEED_SIGMA, Conditions, Recording, fly, gusts_of
from haltere.papers.boehm.paper_filter import run_printed
from haltere.papers.tables import Progress, silent

START = 2.0
"""Seconds that the consistent scheme smooths before it filters."""
ITERATIONS = 5
"""Of Gauss-Newton in the start."""


@dataclass(frozen=True)
class SeriesSettings:
    """How a series is estimated."""

    axes: Axes = "sphere"
    hand_measurements: tuple[HandMeasurement, ...] = ()
    factor: float = 1.0
    """Initial error in units of "10 %"."""
    start: float = START
    """Seconds smoothed at the beginning; zero for the plain filter, the whole flight for the smoother."""
    iterations: int = ITERATIONS
    printed: bool = False
    """Whether errors are counted in physical numbers, as in the paper, instead of in the filter's coordinates."""
    updates: int = 3
    """Iterations of each update, if so."""
    attitude: bool = True
    """Whether the pose sensor gives attitude too; a position sensor does not."""
    effects: tuple[Effect, ...] = ()
    """What else the filter estimates."""
    gate: float = np.inf
    """Largest normalised innovation squared of a pose that is believed."""


class Outcome(NamedTuple):
    """The end of one run."""

    nees: Array
    """() of all error states, filter coordinates."""
    worst: Array
    """() largest error of a constant in sigmas, physical numbers."""
    error: Array
    """(19 + 7 N,) truth minus estimate, physical numbers."""
    sigma: Array
    """(19 + 7 N,) as the filter states it."""
    bound: Array
    """(19 + 7 N,) posterior Cramer-Rao bound of the same."""
    bias_error: Array
    """(6,) of the IMU's biases."""
    bias_bound: Array
    """(6,)."""
    information: Array
    """(2 + N,) growth of the information along mass scale, inertia scale and each rotor's slide: diagonal of the
    inverse covariance over that of prior and hand measurements, linearised where the filter did; 1 is none."""
    pose_nis: Array
    """(K,) normalised innovation squared of every pose after the smoothed start."""
    imu_nis: Array
    """(K, n) of every IMU reading after it."""


class Series(NamedTuple):
    """All runs; leaves of `outcome` have a leading axis."""

    coordinates: VehicleCoordinates
    outcome: Outcome
    seconds: float
    """CPU time of a run, its bound included, compilation not; median."""

    @property
    def ratio(self) -> float:
        """Error over bound: sqrt of the mean over runs and parameters of error^2 / bound variance."""
        o = self.outcome
        return float(np.sqrt(np.mean(np.square(np.asarray(o.error / o.bound)))))

    @property
    def group_ratios(self) -> dict[str, float]:
        """The same for each block of the physical numbers, and for the biases."""
        o, places = self.outcome, self.coordinates.physical.slices
        squares = np.square(np.asarray(o.error / o.bound))
        found = {name: float(np.sqrt(np.mean(squares[:, place]))) for name, place in places.items()}
        return found | {"bias": float(np.sqrt(np.mean(np.square(o.bias_error / o.bias_bound))))}


def paper_hand_measurements(coordinates: VehicleCoordinates) -> tuple[HandMeasurement, ...]:
    """The hand measurements of [Boehm2022] Section VI-A; the azimuth only where the axes are angles."""
    rotors = coordinates.rotors
    azimuth = [
        HandMeasurement(f"rotors.{r}.axis.azimuth", 0.2 * DEGREE)
        for r in rotors
        if coordinates.axes == "spherical"
    ]
    return (
        HandMeasurement("mass", 1e-3),
        *azimuth,
        *(HandMeasurement(f"rotors.{r}.position.z", 1e-3) for r in rotors),
        HandMeasurement(f"distance.{rotors[0]}.{rotors[1]}", 1e-3),
        HandMeasurement("pose.rotation.z", 0.2 * DEGREE),
    )


def estimate(
    airframe: Airframe,
    seeds: Sequence[int],
    setting: SeriesSettings | None = None,
    conditions: Conditions | None = None,
    recording: Recording | None = None,
    progress: Progress | None = None,
) -> Series:
    """Fly `airframe` once for each seed (unless a recording is given) and estimate it from each flight."""
    setting, conditions = setting or SeriesSettings(), conditions or Conditions()
    progress = progress or silent
    if recording is None:
        progress(f"flying {airframe.name} {len(seeds)} times")
        recording = fly(airframe, seeds, conditions)
    description = describe_vehicle(airframe, setting.axes, setting.effects)
    coordinates = description.coordinates
    noise = VehicleNoise.from_airframe(airframe, SPEED_SIGMA)
    if conditions.gusts:
        noise = noise._replace(wind=jnp.asarray(gusts_of(conditions).diffusion))
    judge = _compiled_run(coordinates, setting, conditions)
    outcomes, seconds = [], []
    for i, seed in enumerate(seeds):
        one = jax.tree.map(lambda x, i=i: x[i], recording)
        begin = time.process_time()
        outcomes.append(jax.block_until_ready(judge(jax.random.key(seed), one, description.physical, noise)))
        seconds.append(time.process_time() - begin)
        progress(f"estimated flight {i + 1} of {len(seeds)}")
    stacked = jax.tree.map(lambda *x: np.stack([np.asarray(y) for y in x]), *outcomes)
    return Series(coordinates, stacked, float(np.median(seconds)))


def frames_of(one: Recording, conditions: Conditions, attitude: bool = True) -> Frames:
    """The readings of one flight as the filter takes them: a pose stands where it was taken, not where it arrived."""
    poses, every, late = one.pose_position.shape[0], conditions.pose_every, conditions.pose_delay

    def framed(x: Array) -> Array:
        return x.reshape(poses, every, *x.shape[1:])

    steps = Steps(
        jnp.full((poses, every), 1.0 / conditions.rate),
        framed(one.reported),
        framed(one.imu),
        jnp.ones((poses, every), bool),
        framed(_rotor_accelerations(one, conditions)),
    )
    place, wxyz, arrived = (
        jnp.roll(x, -late, axis=0) for x in (one.pose_position, one.pose_wxyz, one.pose_valid)
    )
    arrived = arrived & (jnp.arange(poses) < poses - late)
    told = jnp.asarray([True] * 3 + [attitude] * 3)
    return Frames(place, wxyz, arrived[:, None] & told, steps)


def _rotor_accelerations(one: Recording, conditions: Conditions) -> Array:
    """(T, N) rotor accelerations from the speeds that telemetry reports at both ends of each step, rad/s2."""
    sampled = one.state.rotor_rates - (one.speeds - one.reported)
    last = 2.0 * one.reported[-1:] - sampled[-1:]
    return jnp.diff(sampled, axis=0, append=last) * conditions.rate


def truth_of(
    one: Recording, conditions: Conditions, coordinates: VehicleCoordinates, physical: Mean
) -> SmoothedTrajectory:
    """The true trajectory of one flight in the filter's coordinates."""
    poses, every = one.pose_position.shape[0], conditions.pose_every

    def framed(x: Array) -> Array:
        return x.reshape(poses, every, *x.shape[1:])

    s, constants = one.state, coordinates.to_coordinates(physical)
    sampled = {
        "position": s.position,
        "velocity": s.twist[:, :3],
        "attitude": s.wxyz,
        "rates": s.twist[:, 3:],
    }
    sampled |= {"accel_bias": one.bias[:, :3], "gyro_bias": one.bias[:, 3:], "wind": one.wind}
    moving = {name: framed(x) for name, x in coordinates.moving.select(sampled).items()}
    last = {name: x[-1, -1] for name, x in moving.items()}
    dt = jnp.asarray(1.0 / conditions.rate)
    later, _ = linear_step(
        {**constants, **last}, one.speeds[-1], dt, coordinates, _rotor_accelerations(one, conditions)[-1]
    )
    return SmoothedTrajectory(moving, framed(one.speeds - one.reported), {**last, **later}, constants)


def sample_prior(
    coordinates: VehicleCoordinates,
    setting: SeriesSettings,
    key: Array | None,
    truth: SmoothedTrajectory,
    physical: Mean,
) -> tuple[Mean, Callable[[Mean], tuple[Array, Array]]]:
    """The state that a run begins with and its prior with hand measurements, both drawn about the truth.

    Without a key all of it stands at the truth.
    """
    first = {name: x[0, 0] for name, x in truth.moving.items()}
    moving_sigma, sigma = ten_percent(coordinates, physical, setting.factor)
    exact = jnp.asarray([hand.quantity(coordinates)(physical) for hand in setting.hand_measurements])
    spread = jnp.asarray([hand.sigma for hand in setting.hand_measurements])
    draws = [jnp.zeros(x.shape) for x in (moving_sigma, sigma, spread)]
    if key is not None:
        keys = jax.random.split(key, 3)
        draws = [jax.random.normal(k, x.shape) for k, x in zip(keys, draws, strict=True)]
    start_moving = coordinates.moving.plus(first, moving_sigma * draws[0])
    start_physical = coordinates.physical.plus(physical, sigma * draws[1])
    prior = VehiclePrior(start_moving, moving_sigma, start_physical, sigma)
    begin = {**start_moving, **coordinates.to_coordinates(start_physical)}
    return begin, partial(prior_at, coordinates, prior, setting.hand_measurements, exact + spread * draws[2])


@lru_cache(maxsize=8)
def _compiled_run(
    coordinates: VehicleCoordinates, setting: SeriesSettings, conditions: Conditions
) -> Callable[..., Outcome]:
    """One run from recording to outcome, compiled."""
    head = round(setting.start * conditions.rate / conditions.pose_every)

    def judge(key: Array, one: Recording, physical: Mean, noise: VehicleNoise) -> Outcome:
        frames, truth = (
            frames_of(one, conditions, setting.attitude),
            truth_of(one, conditions, coordinates, physical),
        )
        begin, at = sample_prior(coordinates, setting, key, truth, physical)
        belief, before, nis = _run_filter(coordinates, noise, begin, at, frames, head, setting)
        # the prior of the bound stands at the truth
        _, fair = sample_prior(coordinates, setting, None, truth, physical)
        return _outcome(
            coordinates, belief, before, truth, bound(coordinates, noise, fair, truth, frames), nis
        )

    return jax.jit(judge)


def _run_filter(
    coordinates: VehicleCoordinates,
    noise: VehicleNoise,
    begin: Mean,
    at: Callable[[Mean], tuple[Array, Array]],
    frames: Frames,
    head: int,
    setting: SeriesSettings,
) -> tuple[VehicleBelief, Array, tuple[Array, Array]]:
    """Smoothed for `head` frames, then filtered; the covariance before any of it, linearised where it was used; NIS."""
    if head == 0:
        m, before = at(begin)
        belief = VehicleBelief(coordinates.space.plus(begin, m), before)
    else:
        first = jax.tree.map(lambda x: x[:head], frames)
        belief, nominal, _ = smooth(coordinates, noise, begin, at, first, setting.iterations, setting.gate)
        _, before = at({**nominal.constants, **{name: x[0, 0] for name, x in nominal.moving.items()}})
    rest = jax.tree.map(lambda x: x[head:], frames)
    if setting.printed:
        belief, nis = run_printed(coordinates, noise, belief, rest, setting.updates, setting.gate)
        return belief, before, nis
    belief, trail = run(coordinates, noise, belief, rest, setting.gate)
    return belief, before, (trail.pose_nis, trail.imu_nis)


def _information(cov: Array) -> Array:
    """(n,) diagonal of the inverse covariance."""
    scale = 1.0 / jnp.sqrt(jnp.diagonal(cov))
    information: Array = scale**2 * jnp.diagonal(jnp.linalg.inv(cov * scale[:, None] * scale[None, :]))
    return information


def _outcome(
    coordinates: VehicleCoordinates,
    belief: VehicleBelief,
    before: Array,
    truth: SmoothedTrajectory,
    lower_bound: Array,
    nis: tuple[Array, Array],
) -> Outcome:
    mean, cov = belief
    error = coordinates.space.minus({**truth.constants, **truth.end}, mean)
    here, there = (
        coordinates.to_physical(coordinates.constants(mean)),
        coordinates.to_physical(truth.constants),
    )
    first = coordinates.moving.dimension

    def printed_sigma(cov: Array, at: Mean) -> Array:
        back = jnp.linalg.inv(coordinates.jacobian(at))
        return jnp.sqrt(jnp.diagonal(back @ cov[first:, first:] @ back.T))

    physical_error = coordinates.physical.minus(there, here)
    sigma = printed_sigma(cov, here)
    places = coordinates.space.slices
    null = np.r_[places["log_mass"], places["log_scale"], places["slide"]]
    biases = slice(places["accel_bias"].start, places["gyro_bias"].stop)
    return Outcome(
        nees(error, cov),
        jnp.max(jnp.abs(physical_error / sigma)),
        physical_error,
        sigma,
        printed_sigma(lower_bound, there),
        error[biases],
        jnp.sqrt(jnp.diagonal(lower_bound)[biases]),
        (_information(cov) / _information(before))[null],
        *nis,
    )
