"""The series of [Schmitz] drawn from our arms: its estimator beside ours, with what it prints in tables."""

from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from haltere.foundation.numbers import Numbers
from haltere.papers.page import paper_page
from haltere.papers.schmitz.bench import POSES
from haltere.papers.schmitz.runs import MASSES, SHAKEN, SchmitzRuns
from haltere.papers.schmitz.series import STAGES
from haltere.papers.schmitz.trial import Trial, simulate_grip
from haltere.papers.tables import Progress, Reproduction, silent
from haltere.report import charts, theme
from haltere.report.page import Page, Picture, Section
from haltere.report.payload import arm_chart, mass_chart, reading_chart


def draw_errors(runs: SchmitzRuns, height: int = 320) -> go.Figure:
    """Relative error of every arm by weight, one colour for each pose."""
    figure = go.Figure()
    for place, pose in enumerate(POSES):
        error = [100.0 * (runs.with_motion[place, mass].last.mass / mass - 1.0) for mass in MASSES]
        labels = np.repeat([f"{1000.0 * mass:.0f} g" for mass in MASSES], len(error[0]))
        figure.add_trace(
            go.Box(
                x=labels,
                y=np.asarray(np.concatenate(error), np.float32),
                name=f"pose ({pose[0]:.0f}, {pose[1]:.0f})",
                boxpoints="outliers",
                marker={"color": theme.SERIES[place], "size": 4},
                line={"width": 1.4},
            )
        )
    theme.apply(figure, height, boxmode="group", hovermode="closest")
    figure.update_yaxes(title_text="error, %")
    return figure


def shaken_chart(runs: SchmitzRuns, vertical: bool, height: int = 300) -> go.Figure:
    """Series B: mean over all arms, ours with the band of 95 % of them, the paper's estimator, and the truth."""
    ours, time, running = runs.shaken[vertical]
    late = ours.time >= 3.0
    kept, mass = ours.time[late], 1000.0 * ours.mass[:, late]
    theirs = [np.interp(kept, time, one) for one in running]
    series = {
        "truth": np.full(len(kept), 1000.0 * SHAKEN),
        "ours": mass.mean(axis=0),
        "the paper's estimator": 1000.0 * np.mean(theirs, axis=0),
    }
    colours = (theme.MUTED, *theme.SERIES)
    figure = charts.time_chart(kept, series, "mass, g", colours, height)
    low, high = np.percentile(mass, [2.5, 97.5], axis=0)
    charts.band(figure, kept, low, high, "95 % of ours")
    for stage in ("slow", "fast"):
        charts.shade(figure, *STAGES[stage])
    return figure


def draw_positions(runs: SchmitzRuns, height: int = 320) -> go.Figure:
    """Where the weight acts along the arm: estimated over true, by how many poses were used."""
    figure = go.Figure()
    ends = [0.0, 60.0]
    line = {"color": theme.MUTED, "width": 1, "dash": "dot"}
    figure.add_trace(go.Scatter(x=ends, y=ends, mode="lines", line=line, name="truth", hoverinfo="skip"))
    for i, name in enumerate(("one pose", "two poses")):
        estimate, truth = runs.positions[name]
        marker = {"color": theme.SERIES[1 - i], "size": 6}
        true, seen = (_past_gripper(runs, place) for place in (truth, estimate.center_of_mass))
        figure.add_trace(go.Scatter(x=true, y=seen, name=name, mode="markers", marker=marker))
    theme.apply(figure, height, hovermode="closest")
    figure.update_xaxes(title_text="true offset, mm")
    figure.update_yaxes(title_text="estimated offset, mm")
    return figure


def _past_gripper(runs: SchmitzRuns, centre: Numbers) -> Numbers:
    """Mm beyond the gripper along the last link, of centres (N, 3)."""
    return np.asarray(-1000.0 * (centre - runs.gripper)[:, 2], np.float32)


def write_page(result: Reproduction, path: Path, progress: Progress | None = None) -> Path:
    """The figures, with one grip of which all is drawn, and all tables as one HTML file."""
    (progress or silent)("figures")
    return page_of(result, simulate_grip(SHAKEN, [(45.0, 45.0)], seed=result.seed)).write(path)


def page_of(result: Reproduction, one: Trial) -> Page:
    """The page; `one` is a grip of which all is drawn."""
    found: SchmitzRuns = result.flights
    content = one.page
    joints = content.filter.arm.arm.model.topology.joint_names
    grip = [
        Picture("Mass", mass_chart(content), "With its 95 % band.", wide=True),
        *(
            Picture(f"Joint {name}", reading_chart(content, j), "Orange: the model, while the joint slides.")
            for j, name in enumerate(joints)
        ),
        Picture("The arm from its side", arm_chart(content), "Where the weight acts."),
    ]
    shaken = [
        Picture(
            f"Shaken {'vertically' if vertical else 'horizontally'}",
            shaken_chart(found, vertical),
            "Shaded: 10 cm to and fro at 0.5 Hz, then at 2 Hz. Ours is held while it shakes hard.",
        )
        for vertical in (False, True)
    ]
    runs = result.runs
    return paper_page(
        "Payload from servo loads",
        f"The series of Schmitz and others on {runs} simulated arms, beside what the paper prints.",
        [
            Section("One grip", "273 g, with a measuring motion of both joints.", grip),
            Section(
                "Series A: three weights, three poses",
                f"Each box: {runs} arms.",
                [Picture("Error", draw_errors(found), "With motion and calibration.", wide=True)],
            ),
            Section("Series B: 273 g on a moving base", "The paper's estimate steps up and stays.", shaken),
            Section(
                "Where the weight acts",
                "273 g up to 60 mm beyond the gripper.",
                [
                    Picture(
                        "Offset", draw_positions(found), "Two poses distinguish mass and position.", wide=True
                    )
                ],
            ),
        ],
        result,
        {"m": (1e3, "mm"), "kg": (1e3, "g")},
    )
