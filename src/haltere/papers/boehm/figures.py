"""How the estimates of the self-calibrating filter go over time: what [Boehm2022] Figs. 1 and 3 to 6 draw.

Each figure is a series of flights with other hand measurements or another vehicle; of every printed number it has the
mean over the flights, their spread, and the deviation that the filter itself states.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, from_catalogue
from haltere.estimation.core.space import Mean
from haltere.estimation.vehicle.coordinates import Chart
from haltere.estimation.vehicle.description import describe_vehicle
from haltere.estimation.vehicle.prior import flat
from haltere.estimation.vehicle.smoother import smooth
from haltere.estimation.vehicle.steps import Belief, Frames, Noise, run
from haltere.foundation.arrays import Array
from haltere.papers.boehm.flights import SPEED_SIGMA, Conditions, Recording, fly
from haltere.papers.boehm.series import Setting, drawn_prior, frames_of, paper_hands, truth_of
from haltere.papers.boehm.vehicles import tilted

EVERY = 25
"""Poses between two points of a course: half a second."""

Progress = Callable[[str], None]


class Courses(NamedTuple):
    """Estimates over time in R flights."""

    chart: Chart
    time: np.ndarray
    """(T,) s."""
    truth: np.ndarray
    """(19 + 7 N,) printed numbers, rotations as rotation vectors."""
    values: np.ndarray
    """(R, T, 19 + 7 N)."""
    sigma: np.ndarray
    """(R, T, 19 + 7 N) as the filter states it."""


class Figure(NamedTuple):
    """One figure of the paper."""

    name: str
    airframe: Airframe
    without: tuple[str, ...]
    """Endings of the hand measurements that are left out."""


def figures() -> dict[str, Figure]:
    """The paper's figures by number."""
    bird = from_catalogue("hummingbird")
    return {
        "1, 3": Figure("all hand measurements", bird, ()),
        "4": Figure("mass not measured", bird, ("mass",)),
        "5": Figure(
            "heights of the rotors and their distance not measured", bird, ("position.z", "distance")
        ),
        "6": Figure("rotors tilted by 20 degrees, azimuth not measured", tilted(), ("azimuth",)),
    }


def courses(
    figure: Figure, seeds: Sequence[int], recording: Recording | None = None, progress: Progress | None = None
) -> Courses:
    """The courses of one figure, over one flight of 30 s for each seed."""
    conditions, say = Conditions(), progress or (lambda _: None)
    description = describe_vehicle(figure.airframe, "spherical")
    chart = description.chart
    kept = (h for h in paper_hands(chart) if not any(part in h.name for part in figure.without))
    setting = Setting("spherical", tuple(kept))
    if recording is None:
        say(f"flying {figure.airframe.name} {len(seeds)} times")
        recording = fly(figure.airframe, seeds, conditions)
    noise = Noise.from_airframe(figure.airframe, SPEED_SIGMA)
    go = _course(chart, setting, conditions)
    found = []
    for i, seed in enumerate(seeds):
        one = jax.tree.map(lambda x, i=i: x[i], recording)
        found.append(go(jax.random.key(seed), one, description.printed, noise))
        say(f"{figure.name}: flight {i + 1} of {len(seeds)}")
    values, sigma = (np.stack([np.asarray(pair[k]) for pair in found]) for k in (0, 1))
    period = EVERY * conditions.pose_every / conditions.rate
    time = setting.start + period * np.arange(values.shape[1])
    return Courses(chart, time, np.asarray(flat(chart.printed, description.printed)), values, sigma)


@lru_cache(maxsize=4)
def _course(chart: Chart, setting: Setting, conditions: Conditions) -> Callable[..., tuple[Array, Array]]:
    head = round(setting.start * conditions.rate / conditions.pose_every)
    first = chart.moving.dimension

    def shown(belief: Belief) -> tuple[Array, Array]:
        printed = chart.to_printed(chart.constants(belief.mean))
        back = jnp.linalg.inv(chart.jacobian(printed))
        return flat(chart.printed, printed), jnp.sqrt(
            jnp.diagonal(back @ belief.cov[first:, first:] @ back.T)
        )

    def course(key: Array, one: Recording, printed: Mean, noise: Noise) -> tuple[Array, Array]:
        frames, truth = frames_of(one, conditions), truth_of(one, conditions, chart, printed)
        begin, at = drawn_prior(chart, setting, key, truth, printed)
        belief, _, _ = smooth(
            chart, noise, begin, at, jax.tree.map(lambda x: x[:head], frames), setting.iterations
        )
        blocks = (frames.place.shape[0] - head) // EVERY
        rest = jax.tree.map(
            lambda x: x[head : head + blocks * EVERY].reshape(blocks, EVERY, *x.shape[1:]), frames
        )

        def block(belief: Belief, now: Frames) -> tuple[Belief, tuple[Array, Array]]:
            belief, _ = run(chart, noise, belief, now)
            return belief, shown(belief)

        points = jax.lax.scan(block, belief, rest)[1]
        start = shown(belief)
        values, sigma = (jnp.concatenate([a[None], b]) for a, b in zip(start, points, strict=True))
        return values, sigma

    return jax.jit(course)
