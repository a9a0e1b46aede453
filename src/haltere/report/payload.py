"""The page of a payload: its mass over time, what the joints read beside what the model says, and where it hangs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import plotly.graph_objects as go

from haltere.doctor.finding import Finding
from haltere.dynamics.state import State
from haltere.dynamics.tree import kinematics
from haltere.estimation.payload.core import PayloadCore
from haltere.estimation.payload.events import PayloadEvent
from haltere.estimation.payload.signals import ArmSignals
from haltere.estimation.payload.state import PayloadEstimate
from haltere.flight.resampling import runs_of_true
from haltere.foundation.arrays import double_precision
from haltere.foundation.numbers import Numbers
from haltere.foundation.text import figure_label
from haltere.identification.payload.reading import PayloadReading
from haltere.report import charts, theme
from haltere.report.page import Fact, Page, Picture, Section, Table

WIDE = 1.96
"""Deviations to either side of a 95 % interval."""
MANY = 1500
"""Reports drawn at most."""


@dataclass(frozen=True, eq=False)
class PayloadPage:
    """What the page shows: time, mass and sigma are (K,); x (X,) is the posterior; `truth` where it is known."""

    filter: PayloadCore
    signals: ArmSignals
    x: Numbers
    time: Numbers
    mass: Numbers
    sigma: Numbers
    stale: Numbers
    estimate: PayloadEstimate
    events: Sequence[PayloadEvent]
    findings: Sequence[Finding]
    truth: dict[str, Any] | None

    @classmethod
    def of_log(cls, reading: PayloadReading) -> "PayloadPage":
        """Of a log."""
        course = reading.history
        x = course.filter.posterior(course.belief)[0]
        values = (course.time, course.mass, course.sigma, course.stale)
        return cls(
            course.filter,
            reading.signals,
            x,
            *values,
            reading.estimate,
            course.events,
            reading.findings,
            None,
        )


@double_precision()
def render_payload(content: PayloadPage, title: str) -> Page:
    """The page of one log or one simulated grip."""
    items: list[Picture | Table] = [
        Picture(
            "Mass",
            mass_chart(content),
            "With its 95 % band; grey: held from earlier readings, not measured. Dotted: a grip or a release.",
            wide=True,
            name="mass",
        ),
        *(
            Picture(
                f"Joint {name}",
                reading_chart(content, j),
                "Orange: what it must read by the model while it slides. In between it sticks and shows nothing.",
            )
            for j, name in enumerate(content.filter.arm.arm.model.topology.joint_names)
        ),
        Picture(
            "The arm from its side",
            arm_chart(content),
            "Where the weight acts, with its 95 % region: a cross if it is measured, a ring if it is taken to be near "
            "the gripper.",
            name="arm",
        ),
    ]
    if content.events:
        items.append(_events(content.events))
    if content.findings:
        rows = [(f.kind, f.evidence, f.remedy) for f in content.findings]
        items.append(
            Table("What is wrong", ("finding", "evidence", "remedy"), rows, "", wide=True, prose=True)
        )
    text = "From the loads that the servos of an arm report: mass, and where its weight acts."
    return Page(title, text, _facts(content), (Section("Payload", "", items),))


def mass_chart(content: PayloadPage, height: int = 320) -> go.Figure:
    """Mass over time with its band, events and the truth."""
    series = {"estimate": 1000.0 * content.mass}
    if content.truth is not None:
        series["truth"] = np.full(len(content.time), 1000.0 * content.truth["mass"])
    figure = charts.time_chart(content.time, series, "mass, g", (theme.SERIES[0], theme.MUTED), height)
    half = WIDE * content.sigma
    low, high = 1000.0 * (content.mass - half), 1000.0 * (content.mass + half)
    charts.band(figure, content.time, low, high, "95 %")
    for start, end in _spans(content.time, content.stale & np.isfinite(content.mass)):
        charts.shade(figure, start, end)
    for event in content.events:
        line = {"color": theme.MUTED, "width": 1, "dash": "dot"}
        figure.add_vline(x=event.time, line=line, annotation_text=event.kind, annotation_position="top right")
    settled = np.isfinite(content.mass) & (half < 0.1)
    if settled.any():
        bottom, top = low[settled].min(), high[settled].max()
        room = 0.1 * (top - bottom)
        figure.update_yaxes(range=[bottom - room, top + room])
    return figure


def reading_chart(content: PayloadPage, joint: int, height: int = 270) -> go.Figure:
    """Filtered reading of a joint and what the model says where it slides."""
    signals = content.signals
    every = max(1, len(signals.torque) // MANY)
    time = np.arange(len(signals.torque)) / signals.rate
    model = content.filter.expected(content.x, signals)
    shown = {"reading": signals.torque[::every, joint], "model": model[::every, joint]}
    return charts.time_chart(time[::every], shown, "N m", height=height)


def arm_chart(content: PayloadPage, height: int = 320) -> go.Figure:
    """The arm at its last pose in the x-z plane of the body, the gripper and the centre of mass."""
    arm, estimate = content.filter.arm.arm, content.estimate
    joints, turn = _chain(content)
    tip = joints[-1] + turn @ content.filter.arm.gripper
    line = np.vstack([joints, tip])
    figure = go.Figure(
        go.Scatter(
            x=1000.0 * line[:, 0],
            y=1000.0 * line[:, 2],
            name="arm",
            mode="lines+markers",
            line={"color": theme.MUTED, "width": 5},
            marker={"size": [12] * (len(line) - 1) + [7], "color": theme.INK},
            hovertext=[figure_label(name) for name in (*arm.model.topology.joint_names, "gripper")],
        )
    )
    if estimate.observable:
        centre = joints[-1] + turn @ np.asarray(estimate.center_of_mass)
        spread = turn @ np.asarray(estimate.center_cov) @ turn.T
        ring = 1000.0 * (centre[[0, 2]] + _ellipse(spread[np.ix_([0, 2], [0, 2])]))
        style = {"color": theme.SERIES[0], "width": 1.5}
        figure.add_trace(go.Scatter(x=ring[:, 0], y=ring[:, 1], name="95 %", mode="lines", line=style))
        marker = {"size": 11, "symbol": "x" if estimate.position_observable else "circle-open"}
        figure.add_trace(_point(centre, "centre of mass", {**marker, "color": theme.SERIES[0]}))
    if content.truth is not None:
        true = joints[-1] + turn @ np.asarray(content.truth["center_of_mass"])
        marker = {"size": 9, "symbol": "diamond-open", "color": theme.SERIES[1]}
        figure.add_trace(_point(true, "truth", marker))
    theme.apply(figure, height, hovermode="closest")
    figure.update_xaxes(title_text="forward, mm", constrain="domain")
    figure.update_yaxes(title_text="up, mm", scaleanchor="x", scaleratio=1.0)
    return figure


def _point(position: Numbers, name: str, marker: dict[str, Any]) -> go.Scatter:
    return go.Scatter(
        x=[1000.0 * position[0]], y=[1000.0 * position[2]], name=name, mode="markers", marker=marker
    )


def _chain(content: PayloadPage) -> tuple[Numbers, Numbers]:
    """Origins (J, 3) of joints at the last pose, m, body axes, and the rotation of the link that holds the payload."""
    arm = content.filter.arm.arm
    state = replace(State.rest(arm.model), joint_angles=jnp.asarray(content.signals.angle[-1]))
    nodes = kinematics(arm.model, state)
    places = np.asarray(nodes.positions)
    return places[list(arm.model.topology.moving_links)], np.asarray(nodes.rotations)[arm.link]


def _ellipse(cov: Numbers) -> Numbers:
    """(60, 2) outline of the region of a (2, 2) covariance that holds 95 %."""
    values, vectors = np.linalg.eigh(cov)
    angle = np.linspace(0.0, 2.0 * np.pi, 60)
    round_ = np.stack([np.cos(angle), np.sin(angle)]) * np.sqrt(5.991 * np.maximum(values, 0.0))[:, None]
    return np.asarray((vectors @ round_).T)


def _spans(time: Numbers, flag: Numbers) -> list[tuple[float, float]]:
    """Begin and end of each stretch in which a flag (K,) is set."""
    return [(float(time[a]), float(time[min(b, len(time) - 1)])) for a, b in runs_of_true(flag)]


def _facts(content: PayloadPage) -> list[Fact]:
    e = content.estimate
    if not e.observable:
        return [Fact("not observable", "", "mass")]
    facts = [
        Fact(f"{1000.0 * float(e.mass):.1f} ± {1000.0 * float(e.sigma):.1f}", "g", "mass"),
        Fact("held" if e.stale else "measured", "", "the last value is"),
        Fact(f"{float(e.strain):.1f}", "", "strain (about 1 if the servos are as budgeted)"),
    ]
    if e.position_observable:
        shift = float(np.linalg.norm(np.asarray(e.center_of_mass) - content.filter.arm.gripper))
        facts.append(Fact(f"{1000.0 * shift:.1f}", "mm", "from the gripper to where the weight acts"))
    if e.inertia_observable:
        inertia = f"{1e6 * float(e.inertia):.0f} ± {1e6 * float(e.inertia_sigma):.0f}"
        facts.append(Fact(inertia, "kg mm²", "its own inertia"))
    return facts


def _events(events: Sequence[PayloadEvent]) -> Table:
    rows = [
        (
            f"{event.time:.2f} s",
            event.kind,
            f"{event.confidence:.4f}",
            f"{1000.0 * event.before:.1f} g",
            "not measured" if event.after is None else f"{1000.0 * event.after:.1f} g",
        )
        for event in events
    ]
    return Table("Grips and releases", ("time", "what", "confidence", "before", "after"), rows, "", wide=True)
