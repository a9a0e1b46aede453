"""One tick of the centre-of-gravity filter, the compensation and the controller's allocation, timed on the Neo."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import from_catalogue
from haltere.control import GeometricController
from haltere.control import start as on_path
from haltere.control.geometric import command
from haltere.control.selftrim import SelfTrim, Trimmed
from haltere.dynamics import Model, State
from haltere.estimation.cog.belief import CogEstimate, CogReading
from haltere.estimation.cog.filter import CogFilter
from haltere.foundation.arrays import Array
from haltere.foundation.flat_step import FlatStep
from haltere.papers.blaha.timings import best_call
from haltere.trajectory import hover

BOUND = 1000.0
"""us: a tick must fit 1 kHz."""
BATCH = 100

Said = tuple[Array, CogEstimate]


def flat_tick(name: str = "neo") -> FlatStep:
    """Reading and state in; squared rotor speeds and the estimate out."""
    airframe = from_catalogue(name)
    filter_, controller = CogFilter.from_airframe(airframe), GeometricController.from_airframe(airframe)
    path = hover((0.0, 0.0, 2.0), 0.0, 1.0)
    state = on_path(Model.from_airframe(airframe), controller, path)
    beside, reference = SelfTrim(filter_, controller.vehicle), path.at(0.0)

    def tick(last: Trimmed, given: tuple[CogReading, State]) -> tuple[Trimmed, Said]:
        reading, state = given
        trimmed, said = beside.step(last, reading)
        return trimmed, (command(trimmed.controller, state, reference), said)

    speeds = filter_.numbers.hover_speeds()
    reading = CogReading(jnp.zeros(3), jnp.asarray([0.0, 0.0, 9.81]), speeds, speeds)
    return FlatStep(tick, beside.begin(controller), (reading, state))


def cog_rows() -> list[dict[str, Any]]:
    """Rows of `haltere bench`: one vehicle, from Python to NumPy, and per vehicle of a batch; CPU time."""
    tick = flat_tick()
    many = jax.jit(jax.vmap(tick.function), donate_argnums=0)
    rows = []
    for name, function, memory, given, count, calls in (
        ("single, from Python", tick, tick.begin, tick.given, 1, 300),
        (
            f"batch {BATCH}, per vehicle",
            many,
            np.tile(tick.begin, (BATCH, 1)),
            np.tile(tick.given, (BATCH, 1)),
            BATCH,
            30,
        ),
    ):
        value = 1e6 * _best(function, memory, given, calls) / count
        rows.append(
            {
                "name": f"CoG filter and allocation, {name}",
                "value": value,
                "unit": "us per tick",
                "peer": "bound",
                "peer_value": BOUND,
                "ratio": BOUND / value,
            }
        )
    return rows


def _best(
    function: Callable[[Any, np.ndarray], tuple[Array, Array]],
    memory: Any,
    given: np.ndarray,
    calls: int,
) -> float:
    """Seconds of CPU time of one tick whose answer is read before the next begins, best of several rounds."""

    def tick() -> np.ndarray:
        nonlocal memory
        memory, said = function(memory, given)
        return np.asarray(said)

    return best_call(tick, (), calls)
