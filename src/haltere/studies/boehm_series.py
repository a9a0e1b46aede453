"""A series of flights put through the self-calibrating filter, each beside its own posterior Cramer-Rao bound.

The start error of each run is drawn from the prior that the filter is given, and hand measurements are drawn about the
truth. No run is dropped.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.estimation.consistency import nees
from haltere.estimation.space import Mean
from haltere.estimation.vehicle_description import describe_vehicle
from haltere.estimation.vehicle_filter import Belief, Frames, Noise, Steps, run
from haltere.estimation.vehicle_model import linear_step, moved
from haltere.estimation.vehicle_prior import DEGREE, Hand, VehiclePrior, prior_at, ten_percent
from haltere.estimation.vehicle_smoother import Nominal, bound, smooth
from haltere.estimation.vehicle_space import MOVING, Axes, Chart
from haltere.foundation.arrays import Array
from haltere.studies.boehm_flights import SPEED_SIGMA, Conditions, Recording, fly

START = 2.0
"""Seconds that the consistent scheme smooths before it filters."""
ITERATIONS = 5
"""Of Gauss-Newton in the start."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Setting:
    """How a series is estimated."""

    axes: Axes = "sphere"
    hands: tuple[Hand, ...] = ()
    factor: float = 1.0
    """Initial error in units of "10 %"."""
    start: float = START
    """Seconds smoothed at the beginning; zero for the plain filter, the whole flight for the smoother."""
    iterations: int = ITERATIONS
    attitude: bool = True
    """Whether the outer sensor tells attitude too; a position sensor does not."""
    gate: float = np.inf
    """Largest normalised innovation squared of a pose that is believed."""


class Outcome(NamedTuple):
    """The end of one run."""

    nees: Array
    """() of all error states, filter coordinates."""
    worst: Array
    """() largest error of a constant in sigmas, printed numbers."""
    error: Array
    """(19 + 7 N,) truth minus estimate, printed numbers."""
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


class Series(NamedTuple):
    """All runs; leaves of `outcome` have a leading axis."""

    chart: Chart
    outcome: Outcome

    @property
    def ratio(self) -> float:
        """Error over bound: sqrt of the mean over runs and parameters of error^2 / bound variance."""
        o = self.outcome
        return float(np.sqrt(np.mean(np.square(np.asarray(o.error / o.bound)))))


def paper_hands(chart: Chart) -> tuple[Hand, ...]:
    """The hand measurements of [Boehm2022] Section VI-A; the azimuth only where the axes are angles."""
    rotors = chart.rotors
    azimuth = [Hand(f"rotors.{r}.axis.azimuth", 0.2 * DEGREE) for r in rotors if chart.axes == "spherical"]
    return (
        Hand("mass", 1e-3),
        *azimuth,
        *(Hand(f"rotors.{r}.position.z", 1e-3) for r in rotors),
        Hand(f"distance.{rotors[0]}.{rotors[1]}", 1e-3),
        Hand("pose.rotation.z", 0.2 * DEGREE),
    )


def estimate(
    airframe: Airframe,
    seeds: Sequence[int],
    setting: Setting | None = None,
    conditions: Conditions | None = None,
    recording: Recording | None = None,
    progress: Progress | None = None,
) -> Series:
    """Fly `airframe` once for each seed (unless a recording is given) and estimate it from each flight."""
    setting, conditions = setting or Setting(), conditions or Conditions()
    say = progress or (lambda _: None)
    if recording is None:
        say(f"flying {airframe.name} {len(seeds)} times")
        recording = fly(airframe, seeds, conditions)
    description = describe_vehicle(airframe, setting.axes)
    chart = description.chart
    noise = Noise.from_airframe(airframe, SPEED_SIGMA)
    judge = _judge(chart, setting, conditions)
    outcomes = []
    for i, seed in enumerate(seeds):
        one = jax.tree.map(lambda x, i=i: x[i], recording)
        outcomes.append(judge(jax.random.key(seed), one, description.printed, noise))
        say(f"estimated flight {i + 1} of {len(seeds)}")
    return Series(chart, jax.tree.map(lambda *x: np.stack([np.asarray(y) for y in x]), *outcomes))


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
    )
    place, wxyz, arrived = (
        jnp.roll(x, -late, axis=0) for x in (one.pose_position, one.pose_wxyz, one.pose_valid)
    )
    arrived = arrived & (jnp.arange(poses) < poses - late)
    told = jnp.asarray([True] * 3 + [attitude] * 3)
    return Frames(place, wxyz, arrived[:, None] & told, steps)


def truth_of(one: Recording, conditions: Conditions, chart: Chart, printed: Mean) -> Nominal:
    """The true trajectory of one flight in the filter's coordinates."""
    poses, every = one.pose_position.shape[0], conditions.pose_every

    def framed(x: Array) -> Array:
        return x.reshape(poses, every, *x.shape[1:])

    s, constants = one.state, chart.to_coordinates(printed)
    parts = (s.position, s.twist[:, :3], s.wxyz, s.twist[:, 3:], one.bias[:, :3], one.bias[:, 3:])
    moving = {name: framed(x) for name, x in zip(MOVING, parts, strict=True)}
    last = {name: x[-1, -1] for name, x in moving.items()}
    later, _ = linear_step({**constants, **last}, one.speeds[-1], jnp.asarray(1.0 / conditions.rate), chart)
    return Nominal(moving, framed(one.speeds - one.reported), moved(last, later), constants)


@lru_cache(maxsize=8)
def _judge(chart: Chart, setting: Setting, conditions: Conditions) -> Callable[..., Outcome]:
    """One run from recording to outcome, compiled."""
    head = round(setting.start * conditions.rate / conditions.pose_every)

    def judge(key: Array, one: Recording, printed: Mean, noise: Noise) -> Outcome:
        frames, truth = (
            frames_of(one, conditions, setting.attitude),
            truth_of(one, conditions, chart, printed),
        )
        first = {name: x[0, 0] for name, x in truth.moving.items()}
        keys = jax.random.split(key, 3)
        moving_sigma, sigma = ten_percent(chart, printed, setting.factor)
        start_moving = chart.moving.plus(first, moving_sigma * jax.random.normal(keys[0], moving_sigma.shape))
        start_printed = chart.printed.plus(printed, sigma * jax.random.normal(keys[1], sigma.shape))
        prior = VehiclePrior(start_moving, moving_sigma, start_printed, sigma)
        exact = jnp.asarray([hand.quantity(chart)(printed) for hand in setting.hands])
        spread = jnp.asarray([hand.sigma for hand in setting.hands])
        readings = exact + spread * jax.random.normal(keys[2], spread.shape)
        at = partial(prior_at, chart, prior, setting.hands, readings)
        begin = {**start_moving, **chart.to_coordinates(start_printed)}
        belief, before = _estimated(chart, noise, begin, at, frames, head, setting)
        # the prior of the bound stands at the truth
        fair = partial(prior_at, chart, prior._replace(moving=first, printed=printed), setting.hands, exact)
        return _outcome(chart, belief, before, truth, bound(chart, noise, fair, truth, frames))

    return jax.jit(judge)


def _estimated(
    chart: Chart,
    noise: Noise,
    begin: Mean,
    at: Callable[[Mean], tuple[Array, Array]],
    frames: Frames,
    head: int,
    setting: Setting,
) -> tuple[Belief, Array]:
    """Smoothed for `head` frames, then filtered; and the covariance before any of it, linearised where it was used."""
    if head == 0:
        m, before = at(begin)
        belief = Belief(chart.space.plus(begin, m), before)
    else:
        first = jax.tree.map(lambda x: x[:head], frames)
        belief, nominal, _ = smooth(chart, noise, begin, at, first, setting.iterations, setting.gate)
        _, before = at({**nominal.constants, **{name: x[0, 0] for name, x in nominal.moving.items()}})
    if head < frames.place.shape[0]:
        belief, _ = run(chart, noise, belief, jax.tree.map(lambda x: x[head:], frames), setting.gate)
    return belief, before


def _information(cov: Array) -> Array:
    """(n,) diagonal of the inverse covariance."""
    scale = 1.0 / jnp.sqrt(jnp.diagonal(cov))
    information: Array = scale**2 * jnp.diagonal(jnp.linalg.inv(cov * scale[:, None] * scale[None, :]))
    return information


def _outcome(chart: Chart, belief: Belief, before: Array, truth: Nominal, least: Array) -> Outcome:
    mean, cov = belief
    error = chart.space.minus({**truth.constants, **truth.end}, mean)
    here, there = chart.to_printed(chart.constants(mean)), chart.to_printed(truth.constants)
    first = chart.moving.dimension

    def printed_sigma(cov: Array, at: Mean) -> Array:
        back = jnp.linalg.inv(chart.jacobian(at))
        return jnp.sqrt(jnp.diagonal(back @ cov[first:, first:] @ back.T))

    printed_error = chart.printed.minus(there, here)
    sigma = printed_sigma(cov, here)
    places = chart.space.places
    null = np.r_[places["log_mass"], places["log_scale"], places["slide"]]
    biases = slice(12, 18)
    return Outcome(
        nees(error, cov),
        jnp.max(jnp.abs(printed_error / sigma)),
        printed_error,
        sigma,
        printed_sigma(least, there),
        error[biases],
        jnp.sqrt(jnp.diagonal(least)[biases]),
        (_information(cov) / _information(before))[null],
    )
