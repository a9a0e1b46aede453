"""The look of every figure: colours, type, spacing.

Colours carry meaning and stay distinct for most colour-blind readers: the axes x, y, z; the two senses of rotation; the
four kinds of power.
"""

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


def apply(figure: go.Figure, height: int, **layout: Any) -> go.Figure:
    """Give `figure` the common look and a `height` in pixels; further layout settings as plotly knows them."""
    figure.update_layout(
        template="none",
        height=height,
        paper_bgcolor=PAPER,
        plot_bgcolor=PAPER,
        font={"family": FONT, "size": 12, "color": INK},
        margin={"l": 56, "r": 12, "t": 34, "b": 38},
        hovermode="x unified",
        hoverlabel={"font": {"family": FONT, "size": 12}, "bgcolor": PAPER, "bordercolor": HAIRLINE},
        legend={
            "orientation": "h",
            "x": 0.0,
            "xanchor": "left",
            "y": 1.0,
            "yanchor": "bottom",
            "bgcolor": "rgba(255,255,255,0)",
            "font": {"size": 12},
        },
        colorway=list(SERIES),
    )
    style = {
        "gridcolor": HAIRLINE,
        "zerolinecolor": "#c3cad0",
        "zerolinewidth": 1,
        "linecolor": HAIRLINE,
        "ticks": "",
        "tickfont": {"color": MUTED, "size": 11},
        "title": {"font": {"color": MUTED, "size": 12}, "standoff": 6},
        "automargin": True,
    }
    figure.update_xaxes(**style)
    figure.update_yaxes(**style)
    figure.update_layout(**layout)
    return figure
