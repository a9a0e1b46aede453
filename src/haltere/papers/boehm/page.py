"""Figures 1 and 3 to 6 of [Boehm2022] from our flights: how the batch smoother's estimates go over time.

Each figure is a series of flights with other hand measurements or another vehicle; of every physical number it has the
mean over the flights, their spread, and the deviation that the smoother itself states. An estimate at time t is that
from the flight up to t. It takes noise levels and linearisation from the whole flight: with A and g of the parts up to
t (equation (2) of `haltere.estimation.vehicle.marginal`) it costs one small linear system.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from haltere.airframe import Airframe, from_catalogue
from haltere.lie import so3
from haltere.papers.boehm.flights import Conditions, Recording, fly, tilted
from haltere.papers.boehm.paper_vehicle import PaperVehicle, describe_paper_vehicle
from haltere.papers.boehm.prior import paper_hand_measurements
from haltere.papers.boehm.series import SmoothedRun, one_of, smooth_run
from haltere.papers.boehm.tables import DEGREES, REVOLUTION
from haltere.papers.page import paper_page
from haltere.papers.tables import Progress, Reproduction, silent
from haltere.report import theme
from haltere.report.page import Page, Picture, Section


class EstimateHistories(NamedTuple):
    """Estimates over time in R flights."""

    vehicle: PaperVehicle
    time: np.ndarray
    """(T,) s."""
    truth: np.ndarray
    """(19 + 7 N,) physical numbers, rotations as rotation vectors."""
    values: np.ndarray
    """(R, T, 19 + 7 N)."""
    sigma: np.ndarray
    """(R, T, 19 + 7 N) as the smoother states it."""


class Figure(NamedTuple):
    """One figure of the paper."""

    name: str
    airframe: Airframe
    without: tuple[str, ...]
    """Parts of the names of hand measurements that are left out."""


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
    figure: Figure,
    seeds: Sequence[int],
    recording: Recording | None = None,
    progress: Progress | None = None,
    conditions: Conditions | None = None,
) -> EstimateHistories:
    """The courses of one figure, over one flight for each seed."""
    conditions, progress = conditions or Conditions(), progress or silent
    vehicle, physical = describe_paper_vehicle(figure.airframe)
    by_hand = {
        name: sigma
        for name, sigma in paper_hand_measurements(vehicle.rotors).items()
        if not any(part in name for part in figure.without)
    }
    if recording is None:
        progress(f"flying {figure.airframe.name} {len(seeds)} times")
        recording = fly(figure.airframe, seeds, conditions)
    found = []
    for i, seed in enumerate(seeds):
        run = smooth_run(figure.airframe, one_of(recording, i), seed, by_hand, conditions)
        found.append(history_of(run))
        progress(f"{figure.name}: flight {i + 1} of {len(seeds)}")
    time, errors, sigma = (np.stack([one[k] for one in found]) for k in range(3))
    unit = azimuth_factors(vehicle, np.asarray(physical["rotor_tilt"]))
    truth = np.concatenate([_flat(name, np.asarray(physical[name])) for name in vehicle.physical.slices])
    return EstimateHistories(vehicle, time[0], truth, truth + unit * errors, unit * sigma)


def history_of(run: SmoothedRun) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times (T,), errors (T, 19 + 7 N) and deviations of the estimate before the flight and after each of its parts."""
    flight, parts = run.flight, run.flight.parts
    n, count = len(flight.z), len(parts.right)
    ends = np.cumsum([len(block) for block in np.array_split(flight.time, count)]) - 1
    errors, sigma = [], []
    for k in range(count + 1):
        z = flight.z - parts.step + parts.step_of(range(k))
        cov = np.linalg.inv(parts.information[:k].sum(axis=0) + parts.measured + np.eye(n))
        errors.append(run.prior.errors(z))
        sigma.append(run.prior.sigmas(z, cov))
    return np.concatenate([[0.0], flight.time[ends]]), np.array(errors), np.array(sigma)


def azimuth_factors(vehicle: PaperVehicle, tilt: np.ndarray) -> np.ndarray:
    """(19 + 7 N,) factors that make the tilt across the azimuth of inclined axes their azimuth; else one.

    Args:
        vehicle: its numbers.
        tilt: (N, 2) inclination and azimuth of the axes, rad.
    """
    factors, block = np.ones(len(vehicle.names)), vehicle.physical.slices["rotor_tilt"]
    sine = np.sin(tilt[:, 0])
    factors[block.start + 1 : block.stop : 2] = 1.0 / np.where(sine > 1e-6, sine, 1.0)
    return factors


def _flat(name: str, value: np.ndarray) -> np.ndarray:
    """A block of numbers as one vector, a quaternion as rotation vector."""
    return np.asarray(so3.log_wxyz(value)) if name.endswith("rotation") else value.ravel()


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
    """Mean over the flights, their spread (shaded), truth (dashed) and truth with the smoother's own sigma (dotted)."""
    _, block, unit, factor, rows = GROUPS[group]
    places = np.arange(histories.values.shape[2])[histories.vehicle.physical.slices[block]][rows]
    figure = go.Figure()
    for i, place in enumerate(places):
        colour = theme.SERIES[i % len(theme.SERIES)]
        values = factor * histories.values[:, :, place]
        mean, spread = values.mean(axis=0), values.std(axis=0)
        stated = factor * np.sqrt(np.mean(histories.sigma[:, :, place] ** 2, axis=0))
        truth = factor * histories.truth[place]
        name = histories.vehicle.names[place].removeprefix("rotors.")
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
    recordings: dict[str, Recording] = {}
    found = {}
    for number, figure in figures().items():
        name = figure.airframe.name
        if name not in recordings:
            (progress or silent)(f"flying {name} {len(seeds)} times")
            recordings[name] = fly(figure.airframe, seeds, Conditions())
        found[number] = estimate_histories(figure, seeds, recordings[name], progress)
    return page_of(found, result).write(path)


def page_of(histories: dict[str, EstimateHistories], result: Reproduction) -> Page:
    """The figures by number, and all tables."""
    sentence = f"Mean of {result.runs} flights, shaded their spread; dashed the truth, dotted the smoother's own sigma."
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
