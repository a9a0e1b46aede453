"""Charts of numbers over time, of matrices and of errors, all in the common look."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from haltere.foundation.text import figure_label
from haltere.report import theme

_DIVERGING = [(0.0, "#d9822b"), (0.25, "#efc391"), (0.5, "#f7f8f9"), (0.75, "#9cbbe0"), (1.0, "#2f6db5")]


def time_chart(
    times: ArrayLike,
    series: Mapping[str, ArrayLike],
    unit: str,
    colours: Sequence[str] = theme.SERIES,
    height: int = 270,
) -> go.Figure:
    """Lines over time (S,) in s; each series (S,) in the same `unit`."""
    figure = go.Figure()
    styles = ("solid", "dash", "dot", "dashdot")
    for i, (name, values) in enumerate(series.items()):
        line = {
            "color": colours[i % len(colours)],
            "width": 1.8,
            "dash": styles[i // len(colours) % len(styles)],
        }
        figure.add_trace(
            go.Scatter(
                x=_single(times),
                y=_single(values),
                name=figure_label(name),
                mode="lines",
                line=line,
                showlegend=True,
            )
        )
    theme.apply(figure, height)
    figure.update_xaxes(title_text="time, s", hoverformat=".2f")
    figure.update_yaxes(title_text=figure_label(unit), hoverformat=".3~g")
    return figure


def shade(figure: go.Figure, start: float, end: float) -> go.Figure:
    """Shade the time from `start` to `end`, s."""
    figure.add_vrect(x0=start, x1=end, fillcolor="#eef2f5", line_width=0, layer="below")
    return figure


def band(figure: go.Figure, times: ArrayLike, low: ArrayLike, high: ArrayLike, name: str) -> go.Figure:
    """Fill between two lines over time (S,), behind the rest; gaps where a value is missing."""
    start = len(figure.data)
    for values, fill in ((low, None), (high, "tonexty")):
        figure.add_trace(
            go.Scatter(
                x=_single(times),
                y=_single(values),
                name=name,
                mode="lines",
                line={"width": 0},
                fill=fill,
                fillcolor="rgba(47, 109, 181, 0.16)",
                hoverinfo="skip",
                showlegend=fill is not None,
            )
        )
    figure.data = (*figure.data[start:], *figure.data[:start])
    return figure


def error_chart(times: ArrayLike, series: Mapping[str, ArrayLike], unit: str, height: int = 270) -> go.Figure:
    """Magnitudes over time on a logarithmic axis; exact zeros are left out."""
    magnitudes = {name: np.abs(np.asarray(values, float)) for name, values in series.items()}
    shown = {name: np.where(values > 0.0, values, np.nan) for name, values in magnitudes.items()}
    figure = time_chart(times, shown, unit, height=height)
    figure.update_yaxes(type="log", exponentformat="power", showexponent="all", dtick=2, hoverformat=".1e")
    return figure


def order_chart(
    steps: ArrayLike, errors: Mapping[str, ArrayLike], order: int, unit: str, height: int = 270
) -> go.Figure:
    """Errors over the step (ms) on logarithmic axes, with a line that falls with the given `order`."""
    h = np.asarray(steps, float)
    figure = go.Figure()
    for i, (name, values) in enumerate(errors.items()):
        figure.add_trace(
            go.Scatter(
                x=h,
                y=np.asarray(values, float),
                name=name,
                mode="markers+lines",
                marker={"size": 8, "color": theme.SERIES[i]},
                line={"color": theme.SERIES[i], "width": 1.5},
            )
        )
    largest = max(float(np.asarray(values, float)[np.argmax(h)]) for values in errors.values())
    guide = {"color": theme.MUTED, "width": 1.2, "dash": "dot"}
    slope = 2.5 * largest * (h / h.max()) ** order
    figure.add_trace(
        go.Scatter(x=h, y=slope, name=f"order {order}", mode="lines", line=guide, hoverinfo="skip")
    )
    theme.apply(figure, height, hovermode="closest")
    ticks = {"tickvals": list(h), "ticktext": [f"{value:g}" for value in h]}
    figure.update_xaxes(type="log", title_text="step, ms", **ticks)
    figure.update_yaxes(
        type="log", title_text=unit, exponentformat="power", showexponent="all", dtick=2, hoverformat=".1e"
    )
    return figure


def matrix_chart(
    values: ArrayLike, rows: Sequence[str], columns: Sequence[str], largest: float, height: int = 270
) -> go.Figure:
    """A matrix (r, c) of signed numbers as coloured cells with the numbers in them."""
    matrix = np.asarray(values, float)
    figure = go.Figure(
        go.Heatmap(
            z=_single(matrix),
            x=list(columns),
            y=list(rows),
            text=[[_short(value, largest) for value in row] for row in matrix],
            texttemplate="%{text}",
            textfont={"size": 12, "color": theme.INK},
            colorscale=_DIVERGING,
            zmin=-1.25 * largest,
            zmax=1.25 * largest,
            showscale=False,
            xgap=2,
            ygap=2,
            hovertemplate="%{y} of %{x}: %{text}<extra></extra>",
        )
    )
    theme.apply(figure, height, hovermode="closest", margin={"l": 44, "r": 8, "t": 30, "b": 8})
    figure.update_xaxes(side="top", showgrid=False, zeroline=False)
    figure.update_yaxes(autorange="reversed", showgrid=False, zeroline=False)
    return figure


def class_chart(
    classes: ArrayLike,
    names: Sequence[str],
    colours: Sequence[str],
    rows: Sequence[str],
    columns: Sequence[str],
    height: int,
) -> go.Figure:
    """A matrix (r, c) of class numbers as coloured cells, with a legend of the classes' `names`."""
    matrix = np.asarray(classes, int)
    count = len(names)
    scale = [(edge / count, colours[i]) for i in range(count) for edge in (i, i + 1)]
    hover = [[names[value] for value in row] for row in matrix]
    figure = go.Figure(
        go.Heatmap(
            z=matrix + 0.5,
            x=list(columns),
            y=list(rows),
            zmin=0,
            zmax=count,
            colorscale=scale,
            showscale=False,
            xgap=2,
            ygap=2,
            customdata=hover,
            hovertemplate="%{y} %{x}: %{customdata}<extra></extra>",
        )
    )
    for name, colour in zip(names, colours, strict=True):
        marker = {"symbol": "square", "size": 11, "color": colour, "line": {"width": 1, "color": "#b9c1c8"}}
        figure.add_trace(
            go.Scatter(x=[None], y=[None], mode="markers", marker=marker, name=name, showlegend=True)
        )
    theme.apply(figure, height, hovermode="closest", margin={"l": 64, "r": 8, "t": 62, "b": 8})
    figure.update_layout(legend={"yref": "container", "y": 1.0, "yanchor": "top"})
    figure.update_xaxes(side="top", showgrid=False, zeroline=False)
    figure.update_yaxes(autorange="reversed", showgrid=False, zeroline=False)
    return figure


def _single(values: ArrayLike) -> NDArray[np.float32]:
    """Single precision: a figure shows no more, and the file is half as long."""
    return np.asarray(values, np.float32)


def _short(value: float, largest: float) -> str:
    return "0" if abs(value) < 5e-4 * largest else f"{value:.2f}".replace("-", "−")
