"""Figures 1 and 3 to 6 of [Boehm2022] from our flights: how the self-calibrating filter's estimates go over time.

Each figure is a series of flights with other hand measurements or another vehicle; of every physical number it has the
mean over the flights, their spread, and the deviation that the filter itself states.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import plotly.graph_objects as go

from haltere.airframe import Airframe, from_catalogue
from haltere.estimation.core.space import Mean
from haltere.estimation.vehicle.coordinates import VehicleCoordinates
from haltere.estimation.vehicle.description import describe_vehicle
from haltere.estimation.vehicle.prior import flat
from haltere.estimation.vehicle.smoother import smooth
from haltere.estimation.vehicle.steps import Frames, VehicleBelief, VehicleNoise, run
from haltere.foundation.arrays import Array
from haltere.papers.boehm.flights import SPEED_SIGMA, Conditions, Recording, fly, tilted
from haltere.papers.boehm.series import (
    SeriesSettings,
    frames_of,
    paper_hand_measurements,
    sample_prior,
    truth_of,
)
from haltere.papers.boehm.tables import DEGREES, REVOLUTION
from haltere.papers.page import paper_page
from haltere.papers.tables import Progress, Reproduction, silent
from haltere.report import theme
from haltere.report.page import Page, Picture, Section

EVERY = 25
"""Poses between two points of a course: half a second."""


class EstimateHistories(NamedTuple):
    """Estimates over time in R flights."""

    coordinates: VehicleCoordinates
    time: np.ndarray
    """(T,) s."""
    truth: np.ndarray
    """(19 + 7 N,) physical numbers, rotations as rotation vectors."""
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


def estimate_histories(
    figure: Figure, seeds: Sequence[int], recording: Recording | None = None, progress: Progress | None = None
) -> EstimateHistories:
    """The courses of one figure, over one flight of 30 s for each seed."""
    conditions, progress = Conditions(), progress or silent
    description = describe_vehicle(figure.airframe, "spherical")
    coordinates = description.coordinates
    kept = (
        h for h in paper_hand_measurements(coordinates) if not any(part in h.name for part in figure.without)
    )
    setting = SeriesSettings("spherical", tuple(kept))
    if recording is None:
        progress(f"flying {figure.airframe.name} {len(seeds)} times")
        recording = fly(figure.airframe, seeds, conditions)
    noise = VehicleNoise.from_airframe(figure.airframe, SPEED_SIGMA)
    go = _compiled_history(coordinates, setting, conditions)
    found = []
    for i, seed in enumerate(seeds):
        one = jax.tree.map(lambda x, i=i: x[i], recording)
        found.append(go(jax.random.key(seed), one, description.physical, noise))
        progress(f"{figure.name}: flight {i + 1} of {len(seeds)}")
    values, sigma = (np.stack([np.asarray(pair[k]) for pair in found]) for k in (0, 1))
    period = EVERY * conditions.pose_every / conditions.rate
    time = setting.start + period * np.arange(values.shape[1])
    return EstimateHistories(
        coordinates, time, np.asarray(flat(coordinates.physical, description.physical)), values, sigma
    )


@lru_cache(maxsize=4)
def _compiled_history(
    coordinates: VehicleCoordinates, setting: SeriesSettings, conditions: Conditions
) -> Callable[..., tuple[Array, Array]]:
    head = round(setting.start * conditions.rate / conditions.pose_every)
    first = coordinates.moving.dimension

    def shown(belief: VehicleBelief) -> tuple[Array, Array]:
        physical = coordinates.to_physical(coordinates.constants(belief.mean))
        back = jnp.linalg.inv(coordinates.jacobian(physical))
        return flat(coordinates.physical, physical), jnp.sqrt(
            jnp.diagonal(back @ belief.cov[first:, first:] @ back.T)
        )

    def course(key: Array, one: Recording, physical: Mean, noise: VehicleNoise) -> tuple[Array, Array]:
        frames, truth = frames_of(one, conditions), truth_of(one, conditions, coordinates, physical)
        begin, at = sample_prior(coordinates, setting, key, truth, physical)
        belief, _, _ = smooth(
            coordinates, noise, begin, at, jax.tree.map(lambda x: x[:head], frames), setting.iterations
        )
        blocks = (frames.position.shape[0] - head) // EVERY
        rest = jax.tree.map(
            lambda x: x[head : head + blocks * EVERY].reshape(blocks, EVERY, *x.shape[1:]), frames
        )

        def block(belief: VehicleBelief, now: Frames) -> tuple[VehicleBelief, tuple[Array, Array]]:
            belief, _ = run(coordinates, noise, belief, now)
            return belief, shown(belief)

        points = jax.lax.scan(block, belief, rest)[1]
        start = shown(belief)
        values, sigma = (jnp.concatenate([a[None], b]) for a, b in zip(start, points, strict=True))
        return values, sigma

    return jax.jit(course)


#: Title, block of the physical numbers, unit, factor from SI, every how many numbers from which one, names.
GROUPS: dict[str, tuple[str, str, str, float, slice]] = {
    "rotor_x": ("Rotor position, x", "rotor_position", "mm", 1e3, slice(0, None, 3)),
    "rotor_y": ("Rotor position, y", "rotor_position", "mm", 1e3, slice(1, None, 3)),
    "rotor_z": ("Rotor position, z", "rotor_position", "mm", 1e3, slice(2, None, 3)),
    "psi": ("Rotor inclination", "rotor_tilt", "deg", DEGREES, slice(0, None, 2)),
    "theta": ("Rotor azimuth", "rotor_tilt", "deg", DEGREES, slice(1, None, 2)),
    "k_f": ("Thrust coefficient", "thrust_coefficient", "N/(rev/s)^2", REVOLUTION, slice(None)),
    "k_m": ("Torque over thrust", "torque_ratio", "mm", 1e3, slice(None)),
    "mass": ("Mass", "mass", "kg", 1.0, slice(None)),
    "inertia": ("Moments of inertia", "inertia", "g m^2", 1e3, slice(None)),
    "r_MP": ("Position of the pose sensor", "pose_position", "mm", 1e3, slice(None)),
    "q_MP": ("Rotation of the pose sensor", "pose_rotation", "deg", DEGREES, slice(None)),
    "r_MI": ("Position of the IMU", "imu_position", "mm", 1e3, slice(None)),
    "q_MI": ("Rotation of the IMU", "imu_rotation", "deg", DEGREES, slice(None)),
    "gravity": ("Gravity", "gravity", "m/s^2", 1.0, slice(None)),
}
SHOWN = {
    "1, 3": tuple(name for name in GROUPS if name not in ("theta", "mass")),
    "4": ("mass", "k_f", "inertia", "k_m"),
    "5": ("inertia", "rotor_x", "rotor_z", "k_m"),
    "6": ("theta", "psi", "k_f"),
}
SENTENCES = {
    "1, 3": "All hand measurements of the paper; everything is observable.",
    "4": "Without the mass, mass and thrust coefficients are known only in combination: their spread does not shrink.",
    "5": "Without heights and distance, inertia, arms and torque ratio are known only in combination.",
    "6": "With tilted rotors the azimuth of the thrust axes is observable and need not be measured by hand.",
}


def draw_bands(histories: EstimateHistories, group: str) -> go.Figure:
    """Mean over the flights, their spread (shaded), truth (dashed) and truth with the filter's own sigma (dotted)."""
    _, block, unit, factor, rows = GROUPS[group]
    places = np.arange(histories.values.shape[2])[histories.coordinates.physical.slices[block]][rows]
    figure = go.Figure()
    for i, place in enumerate(places):
        colour = theme.SERIES[i % len(theme.SERIES)]
        values = factor * histories.values[:, :, place]
        mean, spread = values.mean(axis=0), values.std(axis=0)
        stated = factor * np.sqrt(np.mean(histories.sigma[:, :, place] ** 2, axis=0))
        truth = factor * histories.truth[place]
        name = histories.coordinates.names[place].removeprefix("rotors.")
        both = np.concatenate([histories.time, histories.time[::-1]])
        edge = np.concatenate([mean + spread, (mean - spread)[::-1]])
        common: dict[str, Any] = {"legendgroup": name, "hoverinfo": "skip"}
        area = {
            "fill": "toself",
            "fillcolor": colour,
            "opacity": 0.18,
            "line": {"width": 0},
            "showlegend": False,
        }
        figure.add_trace(go.Scatter(x=both, y=edge.astype(np.float32), **area, **common))
        figure.add_trace(
            go.Scatter(
                x=histories.time, y=mean.astype(np.float32), name=name, legendgroup=name,
                line={"color": colour, "width": 1.8},
            )
        )  # fmt: skip
        for line, dash in (
            (np.full_like(mean, truth), "dash"),
            (truth + stated, "dot"),
            (truth - stated, "dot"),
        ):
            style = {"color": colour, "width": 1.0, "dash": dash}
            figure.add_trace(
                go.Scatter(
                    x=histories.time, y=line.astype(np.float32), line=style, showlegend=False, **common
                )
            )
    theme.apply(figure, 300)
    figure.update_xaxes(title_text="time, s", hoverformat=".1f")
    figure.update_yaxes(title_text=unit, hoverformat=".4~g")
    return figure


def write_page(result: Reproduction, path: Path, progress: Progress | None = None) -> Path:
    """Fly the figures and write them, and all tables, as one HTML file."""
    seeds = range(1000 * result.seed, 1000 * result.seed + result.runs)
    found = {
        number: estimate_histories(figure, seeds, progress=progress) for number, figure in figures().items()
    }
    return page_of(found, result).write(path)


def page_of(histories: dict[str, EstimateHistories], result: Reproduction) -> Page:
    """The figures by number, and all tables."""
    sentence = f"Mean of {result.runs} flights, shaded their spread; dashed the truth, dotted the filter's own sigma."
    sections = [
        Section(
            f"Figure {number}",
            SENTENCES[number],
            [Picture(GROUPS[group][0], draw_bands(one, group), sentence) for group in SHOWN[number]],
        )
        for number, one in histories.items()
    ]
    return paper_page(
        "The self-calibrating filter",
        "The experiments of Böhm et al. (2022), simulated, beside what the paper prints.",
        sections,
        result,
    )
