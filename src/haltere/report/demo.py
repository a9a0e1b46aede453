"""The demonstration: an unknown vehicle is made, flown and identified, and the report is held against the truth."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import from_catalogue
from haltere.flight import Flight
from haltere.foundation.arrays import double_precision
from haltere.lie import so3
from haltere.report import charts, theme
from haltere.report.drawing.scene import path_figure
from haltere.report.drawing.vehicle import draw
from haltere.report.identified import identification_page
from haltere.report.page import Page, Picture, Section, check_replaceable
from haltere.scenarios.demo import DURATION, VEHICLE, DemoFlight, run_demo

SHOWN = 5
"""Postures of the vehicle along its path."""
SHOWN_FRACTION = 0.36
"""Fraction of the flight that the picture shows: later the path crosses itself."""


@double_precision()
def write_demo(path: Path, progress: Callable[[str], None] | None = None, seed: int = 0) -> dict[str, Any]:
    """Write the report of the demonstration to `path`; give what `identify` gives, and the truth.

    A file that is there already is replaced if Haltere wrote it, otherwise left alone with a `HaltereError`.

    Args:
        path: the HTML file.
        progress: called with a sentence on what is being done.
        seed: of the vehicle, its flight and its sensors.
    """
    say = progress or (lambda _: None)
    check_replaceable(path)
    with ThreadPoolExecutor(1) as beside:  # most of the time goes into compilations; let drawing's overlap
        drawn = beside.submit(double_precision()(draw), from_catalogue(VEHICLE))
        met = run_demo(seed, say)
        drawn.result()
    say(f"writing {path}")
    demo_page(met).write(path)
    told = {p.name for p in met.result.parameters}
    truth = {name: value for name, value in met.truth.items() if name in told}
    return {**met.result.to_dict(), "truth": truth, "report": str(path)}


@double_precision()
def demo_page(met: DemoFlight) -> Page:
    """The report of the result, with the flight that it came from."""
    found = identification_page(met.result, met.truth)
    hidden = (
        f"A simulated vehicle, like the catalogue’s “{VEHICLE}” but with every number changed, flew "
        f"{DURATION:g} s under a controller that believed in the catalogue. It was identified from its IMU, "
        "rotor speeds and motor commands, a drawing and a kitchen scale; the truth was looked at only afterwards."
    )
    first, *rest = found.sections
    return replace(
        found, title="An unknown vehicle, identified", text=hidden, sections=(first, _flight(met), *rest)
    )


def _flight(met: DemoFlight) -> Section:
    position, turns = met.flight["truth.position"], met.flight["truth.wxyz"]
    time, places = position.seconds(), position.values
    at = _instants(time)
    R = jax.vmap(so3.from_wxyz)(jnp.asarray(turns.values[at]))
    drawing = draw(met.vehicle)
    scene = path_figure(
        [drawing] * len(at), R, places[at], places[: at[-1] + 1], [float(time[i]) for i in at], height=420
    )
    return Section(
        "The flight",
        "A lively figure, so that every parameter shows in the signals; each rotor's speed also varies a little on its "
        "own, which distinguishes the rotors.",
        (
            Picture("Along the path", scene, "The first part of the path.", wide=True, name="flight"),
            Picture("Gyroscope", _signal(met.flight, "imu.gyro"), "Angular velocity about the three axes."),
            Picture(
                "Rotor speeds",
                _signal(met.flight, "rotors.speed"),
                "As the telemetry reports them.",
            ),
        ),
    )


def _instants(time: np.ndarray) -> list[int]:
    return [int(i) for i in np.linspace(0, SHOWN_FRACTION * (len(time) - 1), SHOWN)]


def _signal(flight: Flight, name: str) -> Any:
    channel = flight[name]
    every = max(1, len(channel) // 1500)
    columns = channel.columns or ("x", "y", "z")
    values = {column: channel.values[::every, i] for i, column in enumerate(columns)}
    colours = theme.AXES if len(columns) == 3 else theme.SERIES
    return charts.time_chart(channel.seconds()[::every], values, channel.unit, colours)
