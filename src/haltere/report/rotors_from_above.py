"""Rotors from above, for results without a whole airframe: as they act.

With angular acceleration p about x and q about y, a rotor pulls at (-q, p), in units of the largest of each.
"""

import numpy as np
import plotly.graph_objects as go

from haltere.foundation.text import figure_label
from haltere.identification.result import Identification
from haltere.report import theme
from haltere.report.page import Picture


def from_above(result: Identification) -> Picture | None:
    """Rotors from above, as they act; None if the result tells nothing of them."""
    rotors = effectiveness(result)
    if not rotors:
        return None
    table = np.array([[r.get(n, 0.0) for n in ("q", "p", "r", "fz")] for r in rotors.values()])
    scale = np.max(np.abs(table), axis=0)
    share = table / np.where(scale > 0.0, scale, 1.0)
    figure = go.Figure()
    reach = 1.45
    for name, (q, p, r, fz) in zip(map(figure_label, rotors), share, strict=True):
        colour = theme.SPIN["ccw" if r < 0.0 else "cw"]  # a ccw rotor turns the body clockwise
        figure.add_trace(
            go.Scatter(
                x=[-p],
                y=[-q],
                mode="markers+text",
                text=[f"<b>{name}</b>"],
                textposition="middle center",
                textfont={"color": "#ffffff", "size": 13},
                marker={"size": 30 + 30 * abs(fz), "color": colour, "opacity": 0.85},
                hovertemplate=f"{name}: roll {p:+.2f}, pitch {q:+.2f}, yaw {r:+.2f}, up {fz:+.2f}<extra></extra>",
                showlegend=False,
            )
        )
        figure.add_shape(
            type="line", x0=0, y0=0, x1=-p, y1=-q, line={"color": theme.HAIRLINE, "width": 5}, layer="below"
        )
    figure.add_annotation(x=0, y=1.38, text="front", showarrow=False, font={"color": theme.MUTED, "size": 13})
    theme.apply(figure, 400, hovermode="closest", margin={"l": 8, "r": 8, "t": 8, "b": 8})
    figure.update_xaxes(range=[-reach, reach], visible=False)
    figure.update_yaxes(range=[-reach, reach], visible=False, scaleanchor="x")
    return Picture(
        "Rotors from above, as they act",
        figure,
        "How strongly each rotor rolls (sideways) and pitches (lengthwise) the vehicle, each against the strongest; "
        "larger discs lift more. Blue rotors rotate counter-clockwise, orange ones clockwise. Lengths need a mass and "
        "an airframe.",
        name="vehicle",
    )


def effectiveness(result: Identification) -> dict[str, dict[str, float]]:
    """By rotor: `fx` ... `r`, as far as the log shows them."""
    found: dict[str, dict[str, float]] = {}
    for p in result.parameters:
        parts = p.name.split(".")
        if len(parts) == 4 and parts[0] == "rotors" and parts[2] == "effectiveness" and p.value is not None:
            found.setdefault(parts[1], {})[parts[3]] = p.value
    return found
