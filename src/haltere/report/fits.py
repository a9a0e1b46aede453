"""Charts of a fit: measured against predicted, residuals, how much each axis moved, errors of the numbers.

With residuals e of N samples about their mean, the correlation over lag k is

    rho_k = sum_i e_i e_i+k / sum_i e_i^2,   within +-1.96 / sqrt(N) for 95 % of lags if they are white     (1)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from haltere.foundation.numbers import Floats
from haltere.foundation.text import figure_label
from haltere.identification.result import Prediction
from haltere.report import theme

MOST = 1500
"""Samples drawn of a signal: more than a screen has columns."""
LONGEST = 1.0
"""Lag up to which residuals are correlated, s."""
MEASURED, PREDICTED = "#8d979f", "#2f6db5"
VERDICTS = {
    "identified": "#2e8b57",
    "given": "#6b7780",
    "weak": "#d9a02b",
    "combination": "#2f6db5",
    "unobservable": "#b23a48",
}


def prediction_chart(prediction: Prediction, height: int = 250) -> go.Figure:
    """Measured and predicted values over time; gaps between stretches stay gaps."""
    time, measured, predicted = _thinned(prediction)
    traces = []
    for name, values, colour, width in (
        ("measured", measured, MEASURED, 1.2),
        ("predicted", predicted, PREDICTED, 1.6),
    ):
        line = {"color": colour, "width": width}
        traces.append(go.Scatter(x=time, y=values, name=name, mode="lines", line=line, connectgaps=False))
    return theme.figure(
        traces,
        height,
        xaxis={"title": {"text": "time, s"}, "hoverformat": ".2f"},
        yaxis={"title": {"text": figure_label(prediction.unit)}, "hoverformat": ".3~g"},
    )


def _thinned(prediction: Prediction) -> tuple[NDArray[np.float32], ...]:
    time = np.asarray(prediction.time, float)
    every = max(1, len(time) // MOST)
    chosen = slice(None, None, every)
    columns = [np.asarray(x, float)[chosen] for x in (time, prediction.measured, prediction.predicted)]
    steps = np.diff(columns[0])
    usual = float(np.median(steps)) if len(steps) else 0.0
    gaps = np.flatnonzero(steps > 10.0 * usual) + 1
    blank: tuple[Any, ...] = (columns[0][gaps - 1], np.nan, np.nan)
    return tuple(np.insert(x, gaps, b).astype(np.float32) for x, b in zip(columns, blank, strict=True))


def correlation(prediction: Prediction) -> tuple[Floats, Floats]:
    """Lags in s and rho of equation (1)."""
    left = np.asarray(prediction.measured - prediction.predicted, float)
    left = left - np.mean(left)
    step = float(np.median(np.diff(prediction.time))) if len(left) > 1 else 1.0
    lags = np.arange(1, max(2, min(int(LONGEST / step), len(left) // 4)))
    power = float(left @ left) or 1.0
    every = max(1, len(lags) // 200)
    lags = lags[::every]
    return np.asarray(lags * step, float), np.array([float(left[k:] @ left[:-k]) / power for k in lags])


def whiteness_chart(predictions: Sequence[Prediction], height: int = 270) -> go.Figure:
    """Correlation of the residuals over the lag, with the band of white residuals."""
    bound = 1.96 / np.sqrt(max(1, min(len(p.time) for p in predictions)))
    band = {"type": "rect", "xref": "x domain", "x0": 0, "x1": 1, "yref": "y", "y0": -bound, "y1": bound}
    drawn = []
    for i, prediction in enumerate(predictions):
        lags, rho = correlation(prediction)
        line = {"color": theme.SERIES[i % len(theme.SERIES)], "width": 1.6}
        drawn.append(
            go.Scatter(
                x=lags.astype(np.float32),
                y=rho.astype(np.float32),
                name=figure_label(prediction.name),
                mode="lines",
                line=line,
                showlegend=True,
            )
        )
    return theme.figure(
        drawn,
        height + 22 * (len(predictions) // 3),
        shapes=[band | {"fillcolor": "#e9eef2", "line": {"width": 0}, "layer": "below"}],
        xaxis={"title": {"text": "lag, s"}, "hoverformat": ".3f", "rangemode": "tozero"},
        yaxis={"title": {"text": "correlation"}, "hoverformat": ".2f", "range": [-0.5, 1.0]},
    )


def bars(values: Mapping[str, float], unit: str, sigmas: Mapping[str, float] | None = None) -> go.Figure:
    """Horizontal bars, one for each name, from top to bottom."""
    names = list(values)
    errors = None
    if sigmas is not None:
        errors = {"type": "data", "array": [1.96 * sigmas.get(n, 0.0) for n in names], "color": theme.MUTED}
    drawn = go.Bar(
        x=[float(values[n]) for n in names],
        y=[figure_label(name) for name in names],
        orientation="h",
        marker={"color": PREDICTED},
        error_x=errors,
        hovertemplate="%{y}: %{x:.3~g} " + figure_label(unit) + "<extra></extra>",
    )
    return theme.figure(
        [drawn],
        86 + 30 * len(names),
        hovermode="closest",
        bargap=0.35,
        xaxis={"title": {"text": figure_label(unit)}},
        yaxis={"autorange": "reversed", "showgrid": False, "ticklabelstandoff": 6},
    )


def verdict_chart(counts: Mapping[str, int], height: int = 96) -> go.Figure:
    """One bar in the colours of the verdicts."""
    drawn = []
    for verdict, colour in VERDICTS.items():
        count = counts.get(verdict, 0)
        if count:
            drawn.append(
                go.Bar(
                    x=[count],
                    y=[""],
                    orientation="h",
                    name=verdict,
                    marker={"color": colour},
                    text=[str(count)],
                    textposition="inside",
                    insidetextanchor="middle",
                    textfont={"color": "#ffffff", "size": 13},
                    hovertemplate=f"{count} {verdict}<extra></extra>",
                    showlegend=True,
                )
            )
    return theme.figure(
        drawn,
        height,
        barmode="stack",
        hovermode="closest",
        margin={"l": 0, "r": 0, "t": 34, "b": 4},
        legend={"traceorder": "normal"},
        xaxis={"visible": False, "range": [0, max(1, sum(counts.values()))]},
        yaxis={"visible": False},
    )


def interval_chart(
    names: Sequence[str],
    centres: Sequence[float],
    halves: Sequence[float],
    colours: Sequence[str],
    title: str,
) -> go.Figure:
    """Dots with 95 % intervals about zero, one for each name, from top to bottom."""
    drawn = go.Scatter(
        x=[float(c) for c in centres],
        y=[figure_label(name) for name in names],
        mode="markers",
        marker={"size": 8, "color": list(colours)},
        error_x={"type": "data", "array": [float(h) for h in halves], "color": "#9aa5ae", "thickness": 1.4},
        hovertemplate="%{y}: %{x:.3~g}<extra></extra>",
    )
    return theme.figure(
        [drawn],
        70 + 16 * len(names),
        hovermode="closest",
        xaxis={"title": {"text": figure_label(title)}, "zeroline": True},
        yaxis={"autorange": "reversed", "showgrid": True, "ticklabelstandoff": 6, "tickfont": {"size": 10}},
    )
