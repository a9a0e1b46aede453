"""One tick of the centre-of-gravity filter, the compensation and the controller's allocation, timed on the Neo."""

import time
from typing import Any

import jax
import jax.numpy as jnp

from haltere.airframe import from_catalogue
from haltere.control import GeometricController
from haltere.control import start as on_path
from haltere.control.compensation import Compensation, renewed
from haltere.control.geometric import command
from haltere.dynamics import Model, State
from haltere.estimation.cog import CogFilter
from haltere.estimation.cog_belief import CogBelief, CogReading
from haltere.foundation.arrays import Array
from haltere.trajectory import hover

BOUND = 1000.0
"""us: a tick must fit 1 kHz."""
BATCH = 100


def cog_rows() -> list[dict[str, Any]]:
    """Rows of `haltere bench`: one vehicle, from Python, and per vehicle of a batch; CPU time."""
    airframe = from_catalogue("neo")
    filter_, controller = CogFilter.from_airframe(airframe), GeometricController.from_airframe(airframe)
    path = hover((0.0, 0.0, 2.0), 0.0, 1.0)
    state = on_path(Model.from_airframe(airframe), controller, path)
    nominal, reference = controller.vehicle, path.at(0.0)

    def tick(
        belief: CogBelief, used: Compensation, state: State, reading: CogReading
    ) -> tuple[CogBelief, Compensation, Array]:
        belief = filter_.tick(belief, reading)
        said = filter_.estimate(belief)
        sigma = jnp.sqrt(jnp.maximum(jnp.max(jnp.diagonal(said.cov)[:2]), 0.0))
        used = renewed(used, nominal, said.com, sigma, said.mass, filter_.settings.period)
        return belief, used, command(used.controller, state, reference)

    speeds = filter_.numbers.hover_speeds()
    reading = CogReading(jnp.zeros(3), jnp.asarray([0.0, 0.0, 9.81]), speeds, speeds)
    single = (filter_.begin(), Compensation.of(controller), state, reading)
    many = jax.tree.map(lambda x: jnp.broadcast_to(x, (BATCH, *jnp.shape(x))), single)
    rows = []
    for name, function, given, count, calls in (
        ("single, from Python", jax.jit(tick), single, 1, 300),
        (f"batch {BATCH}, per vehicle", jax.jit(jax.vmap(tick)), many, BATCH, 30),
    ):
        value = 1e6 * best_call(function, given, calls) / count
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


def best_call(function: Any, given: Any, calls: int, rounds: int = 5) -> float:
    """Seconds of CPU time of one call that waits for its result, best of several rounds."""
    jax.block_until_ready(function(*given))
    found = []
    for _ in range(rounds):
        begin = time.process_time()
        for _ in range(calls):
            jax.block_until_ready(function(*given))
        found.append((time.process_time() - begin) / calls)
    return min(found)
