"""The flow of power through a vehicle at one instant, as a diagram of streams.

Per node c ([Hong2021] eqs. (12), (32) and its Figure 10), with the quantities of `haltere.dynamics.PowerFlow`:

    kinetic_rate = gravity + external + received - sum over children of given,   received - given = joint     (1)

Bodies of one kind (body, links, rotors) are taken together. A stream is drawn in the direction in which power
runs, so what enters a kind equals what leaves it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from haltere.dynamics import PowerFlow, Topology
from haltere.report import theme

_COLOURS = {
    "rotor drives": "#d9822b",
    "joint drives": "#8e5ea2",
    "rotors": "#2f6db5",
    "links": "#4aa3a2",
    "body": "#5b6771",
    "air": "#7fb3d5",
    "gravity": "#8a6d3b",
    "kinetic energy": "#2e8b57",
}


@dataclass(frozen=True)
class Stream:
    """Power, W, that runs from one place to another; never negative."""

    source: str
    target: str
    power: float


def streams(topology: Topology, power: PowerFlow) -> list[Stream]:
    """All streams at one instant; `power` holds one number per node, (N,)."""
    total = {
        name: np.asarray(getattr(power, name), float) for name in ("kinetic_rate", "gravity", "external")
    }
    joint, given = np.asarray(power.joint, float), np.asarray(power.given, float)
    kinds = _kinds(topology)
    parents = (-1, *topology.link_parents[1:], *topology.rotor_links)
    found: list[Stream] = []
    for kind, members in kinds.items():
        found += [
            *_stream("air", kind, float(total["external"][members].sum())),
            *_stream("gravity", kind, float(total["gravity"][members].sum())),
            *_stream(kind, "kinetic energy", float(total["kinetic_rate"][members].sum())),
        ]
        if kind != "body":
            drives = "rotor drives" if kind == "rotors" else "joint drives"
            found += _stream(drives, kind, float(joint[members].sum()))
            for other, carriers in kinds.items():
                across = [c for c in members if parents[c] in carriers]
                if other != kind and across:
                    found += _stream(other, kind, float(given[across].sum()))
    return found


def power_chart(flow: Sequence[Stream], height: int = 330) -> go.Figure:
    """The streams from left to right; those below one in two hundred of the largest are left out."""
    least = 0.005 * max((stream.power for stream in flow), default=0.0)
    shown = [stream for stream in flow if stream.power > least]
    inner = {"rotors", "links", "body"}
    places: dict[tuple[str, str], int] = {}

    def place(name: str, side: str) -> int:
        return places.setdefault((name, "" if name in inner else side), len(places))

    sources = [place(stream.source, "from") for stream in shown]
    targets = [place(stream.target, "to") for stream in shown]
    names = [name for name, _ in places]
    powers = [stream.power for stream in shown]
    through = np.maximum(*(np.bincount(ends, powers, len(places)) for ends in (sources, targets)))
    labels = [
        f"{name}<br>{power:.{0 if power >= 10 else 1}f} W" for name, power in zip(names, through, strict=True)
    ]
    figure = go.Figure(
        go.Sankey(
            arrangement="snap",
            node={
                "label": labels,
                "color": [_COLOURS[name] for name in names],
                "pad": 22,
                "thickness": 12,
                "line": {"width": 0},
                "hovertemplate": "%{customdata}: %{value:.1f} W<extra></extra>",
                "customdata": names,
            },
            link={
                "source": sources,
                "target": targets,
                "value": powers,
                "color": [_faint(_COLOURS[stream.source]) for stream in shown],
                "hovertemplate": "%{source.customdata} to %{target.customdata}: %{value:.2f} W<extra></extra>",
            },
            textfont={"size": 11},
        )
    )
    return theme.apply(figure, height, margin={"l": 8, "r": 8, "t": 14, "b": 14}, hovermode="closest")


def _kinds(topology: Topology) -> dict[str, list[int]]:
    kinds = {
        "body": [0],
        "links": list(range(1, topology.links)),
        "rotors": list(range(topology.links, topology.nodes)),
    }
    return {kind: members for kind, members in kinds.items() if members}


def _stream(source: str, target: str, power: float) -> list[Stream]:
    return [Stream(source, target, power)] if power >= 0.0 else [Stream(target, source, -power)]


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.35)"
