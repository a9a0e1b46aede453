"""Figures 6 and 7 of [Fresk2017] drawn from our flights, with what the paper prints of its own beside them."""

from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from haltere.foundation.arrays import ArrayLike
from haltere.papers.fresk import experiments
from haltere.papers.fresk.experiments import AFTER, BEFORE, DROP
from haltere.papers.fresk.loop import RATE, CogLog
from haltere.papers.fresk.tables import FreskFlights
from haltere.papers.page import paper_page
from haltere.papers.tables import Progress, Reproduction
from haltere.report import theme
from haltere.report.page import Page, Picture, Section

EVERY = 4
"""Ticks of which one is drawn."""
SETTLING = 1.0
"""s at the beginning, while a filter converges, that do not count for the range of an axis."""


def draw_lines(series: dict[str, tuple[Any, Any, dict[str, Any]]], unit: str, height: int = 300) -> go.Figure:
    """Lines over time: name -> times (S,) s, values (S,), style of the line."""
    figure = go.Figure()
    for name, (time, values, style) in series.items():
        figure.add_trace(
            go.Scatter(
                x=np.asarray(time[::EVERY], np.float32),
                y=np.asarray(values[::EVERY], np.float32),
                name=name,
                mode="lines",
                line=style,
            )
        )
    theme.apply(figure, height)
    figure.update_xaxes(title_text="time, s", hoverformat=".2f")
    figure.update_yaxes(title_text=unit, hoverformat=".3~g", range=_range(series))
    return figure


def _range(series: dict[str, tuple[Any, Any, dict[str, Any]]]) -> list[float]:
    """Lowest and highest value once settled, with a little room."""
    late = np.concatenate([np.asarray(v)[np.asarray(t) > SETTLING] for t, v, _ in series.values()])
    low, high = float(late.min()), float(late.max())
    room = 0.08 * max(high - low, 1e-9)
    return [low - room, high + room]


def add_band(figure: go.Figure, time: np.ndarray, centre: ArrayLike, half: np.ndarray, name: str) -> None:
    """A band of `half` (S,) to either side of `centre` (S,), behind the lines."""
    middle = np.asarray(centre)
    around = np.concatenate([(middle + half)[::EVERY], (middle - half)[::EVERY][::-1]])
    along = np.concatenate([time[::EVERY], time[::EVERY][::-1]])
    band = go.Scatter(
        x=np.asarray(along, np.float32),
        y=np.asarray(around, np.float32),
        name=name,
        fill="toself",
        fillcolor="rgba(80, 130, 190, 0.18)",
        line={"width": 0},
        hoverinfo="skip",
    )
    figure.add_trace(band)
    figure.data = (figure.data[-1], *figure.data[:-1])
    low, high = figure.layout.yaxis.range
    edges = _range({"above": (time, middle + half, {}), "below": (time, middle - half, {})})
    figure.update_yaxes(range=[min(low, edges[0]), max(high, edges[1])])


TRUTH: dict[str, Any] = {"color": "#c3cad0", "width": 6}
OURS: dict[str, Any] = {"color": theme.SERIES[0], "width": 1.8}
THEIRS: dict[str, Any] = {"color": theme.SERIES[1], "width": 1.8}
DASHED: dict[str, Any] = {"color": theme.SERIES[4], "width": 1.6, "dash": "dash"}


def _time(log: CogLog) -> np.ndarray:
    return np.arange(log.offset.shape[1]) / RATE


def figure_6(flights: FreskFlights, axis: int) -> go.Figure:
    """The offset of one axis through the step, mm: truth, the paper's filter, ours, one flight with torque noise."""
    log = flights.step["noisy"]
    time = _time(log)
    true = np.where(time < DROP, BEFORE[axis], AFTER[axis])
    figure = draw_lines(
        {
            "true": (time, 1e3 * true, TRUTH),
            "the paper's filter": (time, 1e3 * log.paper[0, :, axis], THEIRS),
            "ours": (time, 1e3 * log.offset[0, :, axis], OURS),
        },
        "mm",
    )
    add_band(figure, time, 1e3 * log.offset[0, :, axis], 1.96e3 * log.sigma[0, :, axis], "ours, 95 %")
    figure.add_vline(x=DROP + 1.6, line={"color": theme.MUTED, "width": 1, "dash": "dot"})
    figure.add_annotation(
        x=DROP + 1.6,
        y=1.0,
        yref="paper",
        text="1.6 s, the paper's convergence",
        showarrow=False,
        xanchor="left",
    )
    return figure


def figure_6_position(flights: FreskFlights, axis: int) -> go.Figure:
    """The position of one axis, m, with compensation and without."""
    with_, without = flights.step["noisy"], flights.step["drift"]
    time = _time(with_)
    figure = draw_lines(
        {
            "reference": (time, 0.0 * time, TRUTH),
            "compensated": (time, with_.position[0, :, axis], OURS),
            "not compensated": (time, without.position[0, :, axis], DASHED),
        },
        "m",
    )
    level = -0.27 if axis == 0 else 0.1
    figure.add_hline(y=level, line={"color": theme.MUTED, "width": 1, "dash": "dot"})
    figure.add_annotation(
        x=0.0,
        xref="paper",
        y=level,
        text="size of the paper's drift",
        showarrow=False,
        xanchor="left",
        yanchor="bottom",
    )
    return figure


def figure_7(flights: FreskFlights) -> go.Figure:
    """The offset in x through the sweep, mm."""
    log, washed = flights.sweep["noisy"], flights.sweep["washed"]
    time, nominal = _time(log), np.asarray(experiments.sweep_controller().vehicle.com)
    return draw_lines(
        {
            "by the joint angle, (21)": (time, 1e3 * experiments.true_com(log.angles[0, :, 0])[:, 0], TRUTH),
            "the paper's filter": (time, 1e3 * (log.paper[0, :, 0] + nominal[0]), THEIRS),
            "ours": (time, 1e3 * log.com[0, :, 0], OURS),
            "ours, in the rotor wash": (time, 1e3 * washed.com[0, :, 0], {**OURS, "dash": "dot"}),
        },
        "mm",
    )


def figure_7_position(flights: FreskFlights) -> go.Figure:
    """The position in x through the sweep, m."""
    sweep = flights.sweep
    time = _time(sweep["noisy"])
    return draw_lines(
        {
            "reference": (time, 0.0 * time, TRUTH),
            "compensated, torque noise": (time, sweep["noisy"].position[0, :, 0], OURS),
            "compensated": (time, sweep["quiet"].position[0, :, 0], {**OURS, "dash": "dot"}),
            "not compensated": (time, sweep["uncompensated"].position[0, :, 0], DASHED),
        },
        "m",
    )


def write_page(result: Reproduction, path: Path, progress: Progress | None = None) -> Path:
    """Figures and tables as one HTML file."""
    return page_of(result).write(path)


def page_of(result: Reproduction) -> Page:
    """The page with figures and tables."""
    found: FreskFlights = result.flights
    step = [
        Picture(
            "Offset in x", figure_6(found, 0), "The mass drops at 5 s; one flight with torque noise of Q."
        ),
        Picture("Offset in y", figure_6(found, 1), "The same flight."),
        Picture(
            "Position in x",
            figure_6_position(found, 0),
            "Gains k_x k_R = 67 per s^4, as the paper's drift implies.",
        ),
        Picture(
            "Position in y", figure_6_position(found, 1), "Without compensation the mixer keeps what it knew."
        ),
    ]
    sweep = [
        Picture(
            "Offset in x", figure_7(found), "The arm rotates from -40 to -130 degrees and back.", wide=True
        ),
        Picture(
            "Position in x",
            figure_7_position(found),
            "The wash is seen as a shift and is compensated too.",
            wide=True,
        ),
    ]
    return paper_page(
        "Centre of gravity in flight",
        "The two experiments of Fresk, Wuthier and Nikolakopoulos (2017), simulated, beside what the paper prints.",
        [
            Section("Figure 6: a step", "The paper's filter with the paper's tuning, and ours.", step),
            Section("Figure 7: a sweep", "A one-joint arm below the vehicle.", sweep),
        ],
        result,
        {"m": (1e3, "mm")},
    )
