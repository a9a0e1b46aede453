"""Drawings of vehicles as plotly scenes: alone on a ground, or several times along a path."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from haltere.airframe import Airframe
from haltere.foundation.numbers import Floats
from haltere.foundation.text import figure_label
from haltere.report import theme
from haltere.report.drawing.shapes import Mesh
from haltere.report.drawing.vehicle import Drawing, DrawingPart, Label, draw

_LIGHT = {"ambient": 0.72, "diffuse": 0.5, "specular": 0.08, "roughness": 0.7, "fresnel": 0.05}
_LIGHT_FROM = {"x": 2000, "y": -3000, "z": 6000}
_CASTS_SHADOW = ("hull", "arm", "wing", "rotor")
_GHOSTED = ("arm", "wing", "rotor")
_PALE = "#6b7680"
_IN_FLIGHT = ("hull", "arm", "wing", "rotor", "thrust")


def vehicle_figure(
    airframe: Airframe,
    joint_angles: ArrayLike | None = None,
    rotor_rates: ArrayLike | None = None,
    height: int = 520,
    ghost: Airframe | None = None,
    beside: Sequence[DrawingPart] = (),
) -> go.Figure:
    """The vehicle at `joint_angles` (J,) rad on a ground, with thrust and sense of rotation of its rotors.

    Args:
        airframe: what to draw.
        joint_angles: (J,) rad.
        rotor_rates: (R,) rad/s.
        height: of the figure, in pixels.
        ghost: another vehicle, drawn faintly in the same frame.
        beside: further parts in the body frame.
    """
    drawing = draw(airframe, joint_angles, rotor_rates)
    ground = drawing.lowest - 0.22 * drawing.size
    reach = 1.2 * drawing.size
    pale = [] if ghost is None else draw(ghost).of_kind(*_GHOSTED)
    solid = [DrawingPart("ghost", f"nominal {part.name}", part.mesh, _PALE, 0.28) for part in pale]
    solid += [*drawing.parts, *beside]
    foot = np.array([*drawing.com[:2], ground])
    traces = [
        _ground(drawing.com - reach, drawing.com + reach, ground),
        _shadow(drawing.of_kind(*_CASTS_SHADOW), ground),
        *(_solid([part], part.kind, part.name, part.opacity) for part in solid),
        _curve(np.stack([drawing.com, foot]), theme.INK, "plumb line", 1.5),
        _labels([*drawing.labels, Label("CoM", foot)]),
    ]
    return _look(traces, height, _camera(azimuth=-60.0, elevation=24.0, distance=1.36, lower=0.1), 1.25)


def path_figure(
    drawings: Sequence[Drawing],
    rotations: ArrayLike,
    positions: ArrayLike,
    path: ArrayLike,
    times: Sequence[float],
    height: int = 520,
) -> go.Figure:
    """Several postures of one vehicle along its path.

    Args:
        drawings: the vehicle at each instant shown, n of them.
        rotations: (n, 3, 3) R_WB at these instants.
        positions: (n, 3) p_WB, m.
        path: (k, 3) the whole path of the body origin in the world, m.
        times: the n instants, s.
        height: of the figure, in pixels.
    """
    R, p, line = (np.asarray(a, float) for a in (rotations, positions, path))
    size = drawings[0].size
    placed = [
        [
            DrawingPart(q.kind, q.name, q.mesh.transformed(R[i], p[i]), q.colour, q.opacity)
            for q in drawing.of_kind(*_IN_FLIGHT)
        ]
        for i, drawing in enumerate(drawings)
    ]
    lowest = min(
        float(q.mesh.vertices[:, 2].min()) for parts in placed for q in parts if len(q.mesh.vertices)
    )
    ground = lowest - 0.4 * size
    traces = [_ground(line.min(axis=0) - 1.1 * size, line.max(axis=0) + 1.1 * size, ground)]
    traces += [_shadow([q for q in parts if q.kind in _CASTS_SHADOW], ground) for parts in placed]
    traces.append(_curve(line, theme.INK, "path", 3))
    on_ground = line.copy()
    on_ground[:, 2] = ground
    traces.append(_curve(on_ground, "#b9c1c8", "path on the ground", 2))
    for i, parts in enumerate(placed):
        name = f"t = {times[i]:.2f} s"
        for kind in _IN_FLIGHT:
            chosen = [q for q in parts if q.kind == kind]
            if chosen:
                traces.append(_solid(chosen, kind, name, min(q.opacity for q in chosen)))
    tags = [
        Label(f"{t:.1f} s", at + np.array([0.0, 0.0, 0.75 * size])) for t, at in zip(times, p, strict=True)
    ]
    traces.append(_labels(tags))
    return _look(traces, height, _camera(azimuth=-76.0, elevation=22.0, distance=1.36, lower=0.02), 2.2)


def _solid(parts: Sequence[DrawingPart], kind: str, name: str, opacity: float) -> go.Mesh3d:
    mesh = Mesh.joined(part.mesh for part in parts)
    colours = [part.colour for part in parts for _ in range(len(part.mesh.faces))]
    plain = len(set(colours)) <= 1
    return go.Mesh3d(
        **_triangles(mesh),
        color=colours[0] if plain and colours else None,
        facecolor=None if plain else colours,
        opacity=opacity,
        flatshading=False,
        lighting=_LIGHT,
        lightposition=_LIGHT_FROM,
        name=figure_label(name),
        meta=kind,
        hoverinfo="name" if kind in {"rotor", "wing", "hull", "sensor", "com", "doubt", "ghost"} else "skip",
    )


def _triangles(mesh: Mesh) -> dict[str, Floats]:
    """Vertices and faces by plotly's names, in single precision: a picture needs no more."""
    columns = dict(zip("xyz", mesh.vertices.T.astype(np.float32), strict=True))
    return columns | dict(zip("ijk", mesh.faces.T.astype(np.int32), strict=True))


def _shadow(parts: Sequence[DrawingPart], ground: float) -> go.Mesh3d:
    mesh = Mesh.joined(part.mesh for part in parts).flattened(ground)
    flat = {"ambient": 1.0, "diffuse": 0.0, "specular": 0.0}
    return go.Mesh3d(
        **_triangles(mesh),
        color="#8d979f",
        opacity=0.16,
        lighting=flat,
        name="shadow",
        meta="shadow",
        hoverinfo="skip",
    )


def _ground(low: Floats, high: Floats, height: float) -> go.Scatter3d:
    """A grid over the rectangle between two corners, with a round spacing, which the trace's name tells."""
    step = grid_step(0.5 * float(np.min((high - low)[:2])))
    x, y = (np.arange(math.floor(low[i] / step), math.ceil(high[i] / step) + 1) * step for i in range(2))
    gap = (np.nan, np.nan, np.nan)
    lengthwise = [(p, gap) for v in y for p in ((x[0], v, height), (x[-1], v, height))]
    across = [(p, gap) for u in x for p in ((u, y[0], height), (u, y[-1], height))]
    points = [
        row for i, (p, end) in enumerate(lengthwise + across) for row in ((p,) if i % 2 == 0 else (p, end))
    ]
    columns = dict(zip("xyz", np.asarray(points).T, strict=True))
    line = {"color": "#dde2e6", "width": 1.5}
    return go.Scatter3d(
        **columns, mode="lines", line=line, name=f"grid {step:g} m", meta="ground", hoverinfo="skip"
    )


def grid_step(reach: float) -> float:
    """A spacing of 1, 2 or 5 times a power of ten at which two to five cells fit into `reach` (m) to each side."""
    power = 10.0 ** math.floor(math.log10(reach / 2.0))
    return max(factor * power for factor in (1.0, 2.0, 5.0) if factor * power <= reach / 2.0 * (1.0 + 1e-9))


def _curve(points: Floats, colour: str, name: str, width: float) -> go.Scatter3d:
    x, y, z = points.T
    line = {"color": colour, "width": width}
    return go.Scatter3d(x=x, y=y, z=z, mode="lines", line=line, name=name, meta="path", hoverinfo="skip")


def _labels(labels: Sequence[Label]) -> go.Scatter3d:
    x, y, z = np.asarray([label.point for label in labels]).reshape(-1, 3).T
    return go.Scatter3d(
        x=x,
        y=y,
        z=z,
        mode="text",
        text=[figure_label(label.text) for label in labels],
        textfont={"family": theme.FONT, "size": 12, "color": [label.colour for label in labels]},
        name="labels",
        meta="labels",
        hoverinfo="skip",
    )


def _camera(azimuth: float, elevation: float, distance: float, lower: float) -> dict[str, dict[str, float]]:
    """A camera: angles in degrees (azimuth from x to y), `lower` moves the picture up."""
    a, e = math.radians(azimuth), math.radians(elevation)
    eye = {"x": math.cos(a) * math.cos(e), "y": math.sin(a) * math.cos(e), "z": math.sin(e)}
    return {"eye": {k: distance * v for k, v in eye.items()}, "center": {"x": 0.0, "y": 0.0, "z": -lower}}


def _look(
    traces: Sequence[Any], height: int, camera: dict[str, dict[str, float]], aspect: float
) -> go.Figure:
    """A figure with hidden axes; `aspect` is the width over height that it needs, for the page to step back by."""
    hidden = {"visible": False, "showspikes": False}
    return theme.figure(
        traces,
        height,
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        showlegend=False,
        hovermode="closest",
        meta={"aspect": aspect},
        scene={
            "xaxis": hidden,
            "yaxis": hidden,
            "zaxis": hidden,
            "aspectmode": "data",
            "dragmode": "turntable",
            "camera": camera,
        },
    )
