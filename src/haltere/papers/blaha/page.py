"""Figures 5, 6 and 7 of [Blaha2024] drawn from our throws, with what the paper prints of its own beside them.

`trace_throw` records the one throw that Figures 5 and 6 show: commands, rotor speeds, accelerometer, and what is
learnt when. `write_page` makes the page.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import plotly.graph_objects as go

from haltere.airframe import Airframe, from_catalogue
from haltere.control.throw_loop import POSITION_SIGMA, SensorNoise
from haltere.estimation.throw.excitation import WAIT, excitation_time, order, pace
from haltere.estimation.throw.thrust_axis import thrust_axis
from haltere.foundation.arrays import Array, double_precision
from haltere.foundation.constants import GRAVITY
from haltere.foundation.numbers import Floats
from haltere.papers.blaha.tables import COUNTS
from haltere.papers.blaha.timings import axis_cost
from haltere.papers.page import paper_page
from haltere.papers.tables import Progress, Reproduction, silent
from haltere.report import theme
from haltere.report.page import Page, Picture, Section, Table
from haltere.scenarios.throw.case import NOISES, RATE, TICK, Launch
from haltere.scenarios.throw.chain import HAND_SECONDS, launch
from haltere.scenarios.throw.throws import LaunchSettings, case_of, tumble_knowledge
from haltere.scenarios.throw.vehicles import ThrownVehicle, same_vehicles, template


@dataclass(frozen=True)
class ThrowTrace:
    """Over N positions, for m rotors; IMU axes.

    Attributes:
        time: (N,) s since release was noticed.
        starts: (m,) s, when each motor is first driven.
        command: (N, m) 0..1.
        speed: (N, m) rad/s.
        accel: (N, 3) m/s2.
        force: (N, 3, m) what was learnt, m/s2 per (rad/s)^2.
        truth: (3, m) of it.
        axis_error: (N,) rad, of the thrust axis.
    """

    time: Floats
    starts: Floats
    command: Floats
    speed: Floats
    accel: Floats
    force: Floats
    truth: Floats
    axis_error: Floats


@double_precision()
def trace_throw(airframe: Airframe, seed: int = 0, settings: LaunchSettings | None = None) -> ThrowTrace:
    """Throw the vehicle of a file once and watch it learn.

    At every position (100 Hz) the sums are solved anew, as if the excitation ended there.
    """
    chosen = settings or LaunchSettings(noise="mems")
    rotors = len(airframe.rotors)
    key = jax.random.key(seed)
    vehicles = same_vehicles(airframe, 1)
    imu_position, shape = tumble_knowledge(vehicles, 1, chosen, jax.random.fold_in(key, 1))
    vehicle: ThrownVehicle = jax.tree.map(lambda x: x[0], vehicles)
    numbers = (chosen.height, chosen.spin, chosen.goal, NOISES[chosen.noise])
    height, spin, goal, noise = jax.tree.map(lambda x: jnp.asarray(x, float), numbers)
    seen = _compiled_launch(rotors)(
        vehicle, (imu_position[0], shape[0]), key, height, spin, jnp.stack(goal), noise
    )
    found: dict[str, Floats] = {name: np.asarray(values) for name, values in seen.items()}
    after = found["time"] > 0.0
    starts = WAIT + pace(rotors) * np.asarray(order(rotors), float)
    truth = np.asarray(vehicle.force)
    cosine = np.clip(found["axis"] @ np.asarray(vehicle.axis), -1.0, 1.0)
    return ThrowTrace(
        found["time"][after],
        starts,
        found["command"][after],
        found["speed"][after],
        found["accel"][after],
        found["force"][after],
        truth,
        np.arccos(cosine)[after],
    )


@cache
def _compiled_launch(rotors: int) -> Any:
    """The launch with everything that `ThrowTrace` needs, compiled."""
    model, _ = template(rotors)
    ticks = int(np.ceil((HAND_SECONDS + 0.035 + excitation_time(rotors)) / TICK))

    def fly(
        vehicle: ThrownVehicle,
        known: tuple[Array, Array],
        key: Array,
        height: Array,
        spin: Array,
        goal: Array,
        noise: SensorNoise,
    ) -> dict[str, Array]:
        def watch(now: Launch) -> dict[str, Array]:
            solved, _ = now.ascent.sums.solve(RATE, noise=noise.accel, position_sigma=POSITION_SIGMA)
            thrust = thrust_axis(solved.force, solved.torque, squarings=10, gravity=GRAVITY)
            return {
                "time": now.ascent.throw.clock,
                "command": jnp.maximum(now.ascent.command, 0.0),
                "speed": now.state.rotor_rates,
                "accel": now.ascent.sums.past[0, 3:6],
                "force": solved.force,
                "axis": thrust.axis,
            }

        case = case_of(vehicle, known, key, height, spin, goal, noise)
        seen: dict[str, Array] = launch(model, case, noise, ticks, watch=watch)[2]
        return seen

    return jax.jit(fly)


AXES = "xyz"
PAPER_AXIS = {"quadrotor": 2.75, "hexarotor": 3.4}
"""Degrees between the thrust axis that the paper found and the true one, from its Tables 1 and 2."""
PAPER_COST = 20.0
"""us of one thrust-axis step on the paper's flight controller (480 MHz), for four motors."""


def draw_lines(trace: ThrowTrace, values: Any, names: list[str], unit: str, height: int = 260) -> go.Figure:
    """Columns of `values` (N, k) over the time since release; a dotted line where each motor is first driven."""
    figure = go.Figure()
    for number, name in enumerate(names):
        style = {"color": theme.SERIES[number % len(theme.SERIES)], "width": 1.8}
        y = np.asarray(values[:, number], np.float32)
        figure.add_trace(
            go.Scatter(x=np.asarray(trace.time, np.float32), y=y, name=name, mode="lines", line=style)
        )
    theme.apply(figure, height)
    for start in trace.starts:
        figure.add_vline(x=float(start), line={"color": theme.MUTED, "width": 1, "dash": "dot"})
    figure.update_xaxes(title_text="time since release was noticed, s", hoverformat=".2f")
    figure.update_yaxes(title_text=unit, hoverformat=".3~g")
    return figure


def draw_force(trace: ThrowTrace, axis: int) -> go.Figure:
    """One force row while it is learnt; dashed: the truth."""
    rotors = trace.truth.shape[1]
    unit = "1e-6 m/s2 per (rad/s)^2"
    figure = draw_lines(trace, 1e6 * trace.force[:, axis], [f"motor {i + 1}" for i in range(rotors)], unit)
    for number, value in enumerate(1e6 * trace.truth[axis]):
        style = {"color": theme.SERIES[number % len(theme.SERIES)], "width": 1, "dash": "dash"}
        figure.add_hline(y=float(value), line=style)
    room = 1.5e6 * float(np.abs(trace.truth).max())
    figure.update_yaxes(range=[-room, room])
    return figure


def draw_axis_error(trace: ThrowTrace, kind: str) -> go.Figure:
    """Angle of the thrust axis against the true one, degrees; dashed: what the paper ends with."""
    figure = draw_lines(trace, np.degrees(trace.axis_error)[:, None], ["ours"], "deg")
    figure.add_hline(y=PAPER_AXIS[kind], line={"color": theme.SERIES[1], "width": 1.5, "dash": "dash"})
    figure.add_annotation(
        x=0.0,
        xref="paper",
        y=PAPER_AXIS[kind],
        text=f"the paper, at the end: {PAPER_AXIS[kind]:g} deg",
        showarrow=False,
        xanchor="left",
        yanchor="bottom",
    )
    figure.update_yaxes(range=[0.0, 30.0])
    return figure


def draw_cost(costs: dict[int, float]) -> go.Figure:
    """Time of a thrust-axis step over the number of motors, us."""
    figure = go.Figure()
    ours = {"color": theme.SERIES[0], "width": 1.8}
    figure.add_trace(
        go.Scatter(
            x=list(costs), y=list(costs.values()), name="ours, in a batch", mode="lines+markers", line=ours
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[4],
            y=[PAPER_COST],
            name="the paper, 480 MHz flight controller",
            mode="markers",
            marker={"color": theme.SERIES[1], "size": 10},
        )
    )
    theme.apply(figure, 300)
    figure.update_xaxes(title_text="motors", dtick=2)
    figure.update_yaxes(title_text="us per step", rangemode="tozero")
    return figure


VEHICLES = {"quadrotor": "indiflight-3inch", "hexarotor": "hexa-tilted"}
"""Of the catalogue, in Figures 5 and 6."""


def write_page(result: Reproduction, path: Path, progress: Progress | None = None) -> Path:
    """Throw the vehicles of the figures and write them, and all tables, as one HTML file."""
    (progress or silent)("figures")
    traces = {kind: trace_throw(from_catalogue(name), result.seed) for kind, name in VEHICLES.items()}
    return page_of(traces, {rotors: axis_cost(rotors) for rotors in COUNTS}, result).write(path)


def page_of(traces: dict[str, ThrowTrace], costs: dict[int, float], result: Reproduction) -> Page:
    """The page with traces of a "quadrotor" and a "hexarotor", and us of a step by number of rotors."""
    sections = [
        Section(title, text, _pictures(traces[kind], kind))
        for kind, title, text in (
            (
                "quadrotor",
                "Figure 5: a quadrotor",
                "The paper's 3-inch quadrotor, simulated here with the noise of its IMU; the paper flew it.",
            ),
            (
                "hexarotor",
                "Figure 6: a hexarotor",
                "Tilted rotors, rotated by 45 degrees against the IMU, as the paper simulates it.",
            ),
        )
    ]
    timing = [
        Picture(
            "Thrust axis",
            draw_cost(costs),
            "Time of this machine beside that of a flight controller: compare the slopes, not the levels.",
            wide=True,
        )
    ]
    last = Section("Figure 7: cost over the number of motors", "The step that finds the thrust axis.", timing)
    return paper_page(
        "Thrown into the air",
        "The experiments of Blaha, Smeur, Remes and de Visser (2024), simulated, beside what the paper prints.",
        [*sections, last],
        result,
    )


def _pictures(trace: ThrowTrace, kind: str) -> list[Picture | Table]:
    rotors = [f"motor {i + 1}" for i in range(trace.command.shape[1])]
    found: list[Picture | Table] = [
        Picture(
            "Commands", draw_lines(trace, trace.command, rotors, "of full command"), "One after the other."
        ),
        Picture("Rotor speeds", draw_lines(trace, trace.speed, rotors, "rad/s"), "True ones."),
        Picture(
            "Accelerometer", draw_lines(trace, trace.accel, list(AXES), "m/s2"), "As it is read, IMU axes."
        ),
        Picture("Thrust axis", draw_axis_error(trace, kind), "Solved anew at every position."),
    ]
    found += [
        Picture(f"Force along {name}", draw_force(trace, i), "Dashed: the truth.")
        for i, name in enumerate(AXES)
    ]
    return found
