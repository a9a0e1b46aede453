"""The look of every figure: colours, type, spacing.

Colours carry meaning and stay distinct for most colour-blind readers: the axes x, y, z; the two senses of rotation; the
four kinds of power.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import plotly.graph_objects as go

INK = "#1f272e"
MUTED = "#66727c"
HAIRLINE = "#e4e7ea"
PAPER = "#ffffff"

AXES = ("#b23a48", "#2e8b57", "#2f6db5")
"""x, y, z."""
SPIN = {"ccw": "#2f6db5", "cw": "#d9822b"}
SERIES = ("#2f6db5", "#d9822b", "#2e8b57", "#8e5ea2", "#b23a48", "#4aa3a2", "#8a6d3b", "#66727c")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


LOOK: dict[str, Any] = {
    "template": "none",
    "paper_bgcolor": PAPER,
    "plot_bgcolor": PAPER,
    "font": {"family": FONT, "size": 12, "color": INK},
    "margin": {"l": 56, "r": 12, "t": 34, "b": 38},
    "hovermode": "x unified",
    "hoverlabel": {"font": {"family": FONT, "size": 12}, "bgcolor": PAPER, "bordercolor": HAIRLINE},
    "legend": {
        "orientation": "h",
        "x": 0.0,
        "xanchor": "left",
        "y": 1.0,
        "yanchor": "bottom",
        "bgcolor": "rgba(255,255,255,0)",
        "font": {"size": 12},
    },
    "colorway": list(SERIES),
}
AXIS: dict[str, Any] = {
    "gridcolor": HAIRLINE,
    "zerolinecolor": "#c3cad0",
    "zerolinewidth": 1,
    "linecolor": HAIRLINE,
    "ticks": "",
    "tickfont": {"color": MUTED, "size": 11},
    "title": {"font": {"color": MUTED, "size": 12}, "standoff": 6},
    "automargin": True,
}


def figure(traces: Sequence[Any], height: int, **layout: Any) -> go.Figure:
    """A figure of `traces` with the common look and a `height` in pixels; further layout as plotly knows it.

    All of it is set at once: a plotly figure goes through the whole of itself whenever it is changed.
    """
    return go.Figure(list(traces), _merged(LOOK, {"height": height, "xaxis": AXIS, "yaxis": AXIS}, layout))


def apply(figure: go.Figure, height: int, **layout: Any) -> go.Figure:
    """Give an existing figure the look of `figure`."""
    given = figure.to_plotly_json()["layout"]
    given.pop("template", None)
    axes = {name: AXIS for name in ("xaxis", "yaxis", *given) if name.startswith(("xaxis", "yaxis"))}
    figure.layout = _merged(given, LOOK, {"height": height}, axes, layout)
    return figure


def _merged(*settings: Mapping[str, Any]) -> dict[str, Any]:
    """Nested settings as one; of equal names the last holds."""
    merged: dict[str, Any] = {}
    for each in settings:
        for name, value in each.items():
            nested = isinstance(value, Mapping) and isinstance(merged.get(name), dict)
            merged[name] = _merged(merged[name], value) if nested else deepcopy(value)
    return merged
