"""Figures 1 and 3 to 6 of [Boehm2022] from our flights: mean, spread, and what the filter states of itself."""

from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from haltere.papers.boehm.figures import Courses
from haltere.papers.boehm.tables import DEGREES, REVOLUTION
from haltere.report import theme
from haltere.report.page import Page, Picture, Section, Table

#: Title, block of the printed numbers, unit, factor from SI, every how many numbers from which one, names.
GROUPS: dict[str, tuple[str, str, str, float, slice]] = {
    "rotor_x": ("Rotor place, x", "rotor_position", "mm", 1e3, slice(0, None, 3)),
    "rotor_y": ("Rotor place, y", "rotor_position", "mm", 1e3, slice(1, None, 3)),
    "rotor_z": ("Rotor place, z", "rotor_position", "mm", 1e3, slice(2, None, 3)),
    "psi": ("Rotor inclination", "rotor_tilt", "deg", DEGREES, slice(0, None, 2)),
    "theta": ("Rotor azimuth", "rotor_tilt", "deg", DEGREES, slice(1, None, 2)),
    "k_f": ("Thrust coefficient", "thrust_coefficient", "N/(rev/s)^2", REVOLUTION, slice(None)),
    "k_m": ("Torque over thrust", "torque_ratio", "mm", 1e3, slice(None)),
    "mass": ("Mass", "mass", "kg", 1.0, slice(None)),
    "inertia": ("Moments of inertia", "inertia", "g m^2", 1e3, slice(None)),
    "r_MP": ("Place of the pose sensor", "pose_position", "mm", 1e3, slice(None)),
    "q_MP": ("Turn of the pose sensor", "pose_rotation", "deg", DEGREES, slice(None)),
    "r_MI": ("Place of the IMU", "imu_position", "mm", 1e3, slice(None)),
    "q_MI": ("Turn of the IMU", "imu_rotation", "deg", DEGREES, slice(None)),
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
    "4": "Without the mass, mass and thrust coefficients are known only together: their spread stays what it was.",
    "5": "Without heights and distance, inertia, arms and torque ratio are known only together.",
    "6": "With tilted rotors the azimuth of the thrust axes is seen, and is not measured by hand.",
}


def banded(found: Courses, group: str) -> go.Figure:
    """Mean over the flights, their spread (shaded), truth (dashed) and truth with the filter's own sigma (dotted)."""
    _, block, unit, factor, rows = GROUPS[group]
    places = np.arange(found.values.shape[2])[found.chart.printed.places[block]][rows]
    figure = go.Figure()
    for i, place in enumerate(places):
        colour = theme.SERIES[i % len(theme.SERIES)]
        values = factor * found.values[:, :, place]
        mean, spread = values.mean(axis=0), values.std(axis=0)
        stated = factor * np.sqrt(np.mean(found.sigma[:, :, place] ** 2, axis=0))
        truth = factor * found.truth[place]
        name = found.chart.names[place].removeprefix("rotors.")
        both = np.concatenate([found.time, found.time[::-1]])
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
                x=found.time, y=mean.astype(np.float32), name=name, legendgroup=name,
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
                go.Scatter(x=found.time, y=line.astype(np.float32), line=style, showlegend=False, **common)
            )
    theme.apply(figure, 300)
    figure.update_xaxes(title_text="time, s", hoverformat=".1f")
    figure.update_yaxes(title_text=unit, hoverformat=".4~g")
    return figure


def write(found: dict[str, Courses], result: dict[str, Any], path: Path) -> Path:
    """Write the page: the figures by number, and all tables of the study."""
    sections = []
    for number, courses in found.items():
        runs = courses.values.shape[0]
        said = (
            f"Mean of {runs} flights, shaded their spread; dashed the truth, dotted the filter's own sigma."
        )
        pictures = [Picture(GROUPS[group][0], banded(courses, group), said) for group in SHOWN[number]]
        sections.append(Section(f"Figure {number}", SENTENCES[number], pictures))
    columns = ("quantity", "unit", "paper", "ours", "bound", "cramer_rao")
    tables = [
        Table(
            table["name"],
            columns,
            [[_cell(row.get(c)) for c in columns] for row in table["rows"]],
            "The paper beside ours.",
            wide=True,
        )
        for table in result["tables"]
    ]
    page = Page(
        "The self-calibrating filter",
        "The experiments of Böhm et al. (2022), simulated, beside what the paper prints.",
        sections=(*sections, Section("Numbers", "All of the study.", tables)),
    )
    return page.write(path)


def _cell(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:.3g}"
