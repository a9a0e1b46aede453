"""The filters against the clock: flights of the self-calibrating filter and ticks of the centre-of-gravity filter."""

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.compilation_cache.compilation_cache import reset_cache

from haltere.airframe import from_catalogue
from haltere.control import GeometricController, start_on_trajectory
from haltere.control.geometric import command
from haltere.control.trim import SelfTrim, Trimmed
from haltere.dynamics import Model, State
from haltere.estimation.cog.belief import CogEstimate, CogReading
from haltere.estimation.cog.core import CogCore
from haltere.estimation.vehicle.description import Description, describe_vehicle
from haltere.estimation.vehicle.prior import VehiclePrior, prior_at, ten_percent
from haltere.estimation.vehicle.smoother import smooth
from haltere.estimation.vehicle.steps import Frames, Steps, VehicleBelief, VehicleNoise, run
from haltere.foundation.arrays import Array
from haltere.foundation.flat_step import FlatStep
from haltere.papers.blaha.timings import best_call, timing_row
from haltere.papers.boehm.flights import ring
from haltere.papers.tables import Progress
from haltere.trajectory import hover

PAPER = 1.6
"""30 s of flight in 18.8 s, [Boehm2022] Section VI-C, MATLAB."""
DURATION = 30.0
RATE = 200.0
STEPS = 4
START = 100
"""Frames that are smoothed: 2 s."""
ITERATIONS = 5
BATCH = 30
ROTORS = (4, 6, 8, 12)


def filter_rows(progress: Progress) -> list[dict[str, Any]]:
    """Rows of `haltere bench`: one flight, a batch, compilation, memory, and the cost of a step for more rotors.

    Speed is in flight seconds per second of one core. The scheme is the consistent one, smoothed start included, in
    64 bits, on a flight of 30 s with the IMU at 200 Hz and the pose at 50 Hz. What the readings say does not matter
    for the time, so the vehicle hovers. The flights of a batch follow one another in one call.
    """
    progress("self-calibrating filter: one flight of 30 s")
    description = describe_vehicle(ring(4))
    one = partial(estimate_flight, description)
    frames = hover_frames(description, round(DURATION * RATE / STEPS))
    ready, first, again = compiled(one, frames)
    factor = DURATION / _seconds(ready, frames, 3)
    progress(f"the same, {BATCH} flights")
    many = jax.tree.map(lambda x: jnp.broadcast_to(x, (BATCH, *x.shape)), frames)
    together = DURATION * BATCH / _seconds(jax.jit(partial(jax.lax.map, one)), many, 1)
    rows = [
        _row("self-calibrating filter, 30 s flight", factor, "x real time", PAPER),
        _row("the same, compilation", first, "s", None),
        _row("the same, compilation of a later run", again, "s", None),
        _row("the same, memory", _megabytes(ready), "MB", None),
        _row(f"self-calibrating filter, {BATCH} flights, per flight", together, "x real time", PAPER),
    ]
    return rows + _growth(progress)


def _growth(progress: Progress) -> list[dict[str, Any]]:
    """The cost of a step for more and more rotors, and the power of the number of errors that it grows with."""
    sizes, costs, rows = [], [], []
    for rotors in ROTORS:
        progress(f"a step of the filter with {rotors} rotors")
        description = describe_vehicle(ring(rotors))
        sizes.append(description.coordinates.space.dimension)
        costs.append(_step(description))
        name = f"filter step, {rotors} rotors, {sizes[-1]} errors"
        rows.append(_row(name, 1e6 * costs[-1], "us", None))
    return [*rows, _row("filter step, grows with the errors to the power", power(sizes, costs), "", None)]


def power(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The exponent p of cost = c size^p, fitted to the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def compiled(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float, float]:
    """The compiled function, and the seconds that takes in a first run and in a later one, which finds it stored."""
    kept = jax.config.values["jax_compilation_cache_dir"]
    with TemporaryDirectory() as folder:
        _store_in(folder)
        try:
            times = []
            for _ in range(2):
                jax.clear_caches()
                begin = time.perf_counter()
                ready = jax.jit(function).lower(*arguments).compile()
                times.append(time.perf_counter() - begin)
        finally:
            _store_in(kept)
    return ready, times[0], times[1]


def _store_in(folder: str | None) -> None:
    """Store compiled functions in another folder."""
    reset_cache()
    jax.config.update("jax_compilation_cache_dir", folder)


def _megabytes(ready: Any) -> float:
    """What a compiled function needs for arguments, results and everything between."""
    found = ready.memory_analysis()
    needed = found.argument_size_in_bytes + found.output_size_in_bytes + found.temp_size_in_bytes
    return float(needed) / 1e6


def _row(name: str, value: float, unit: str, peer: float | None) -> dict[str, Any]:
    who = None if peer is None else "paper's MATLAB"
    return timing_row(name, value, unit, who, peer, larger_is_faster=True)


def hover_frames(description: Description, frames: int) -> Frames:
    """A flight in which nothing happens."""
    rotors = description.coordinates.count
    thrust = float(description.physical["mass"][0]) * 9.81 / rotors
    speed = math.sqrt(thrust / float(description.physical["thrust_coefficient"][0]))
    shape = (frames, STEPS)
    imu = jnp.broadcast_to(jnp.asarray([0.0, 0.0, 9.81, 0.0, 0.0, 0.0]), (*shape, 6))
    speeds = jnp.full((*shape, rotors), speed)
    steps = Steps(jnp.full(shape, 1.0 / RATE), speeds, imu, jnp.ones(shape, bool), jnp.zeros_like(speeds))
    place = jnp.broadcast_to(description.physical["pose_position"], (frames, 3))
    wxyz = jnp.broadcast_to(jnp.asarray([1.0, 0.0, 0.0, 0.0]), (frames, 4))
    return Frames(place, wxyz, jnp.ones((frames, 6), bool), steps)


def estimate_flight(description: Description, frames: Frames, start: int = START) -> VehicleBelief:
    """The consistent scheme on a whole flight; the plain filter if nothing is smoothed."""
    coordinates, physical = description.coordinates, description.physical
    noise = VehicleNoise.from_airframe(from_catalogue("hummingbird"), math.pi)
    still = {name: jnp.zeros(3) for name in ("position", "velocity", "rates", "accel_bias", "gyro_bias")}
    moving = {**still, "attitude": jnp.asarray([1.0, 0.0, 0.0, 0.0])}
    moving_sigma, sigma = ten_percent(coordinates, physical)
    prior = VehiclePrior(moving, moving_sigma, physical, sigma)
    at = partial(prior_at, coordinates, prior, (), jnp.zeros(0))
    begin = {**moving, **coordinates.to_coordinates(physical)}
    if start:
        belief, _, _ = smooth(
            coordinates, noise, begin, at, jax.tree.map(lambda x: x[:start], frames), ITERATIONS
        )
    else:
        belief = VehicleBelief(begin, at(begin)[1])
    return run(coordinates, noise, belief, jax.tree.map(lambda x: x[start:], frames))[0]


def _seconds(function: Any, frames: Any, calls: int) -> float:
    """Seconds of CPU time of one call, best of several."""
    jax.block_until_ready(function(frames))
    found = []
    for _ in range(calls):
        begin = time.process_time()
        jax.block_until_ready(function(frames))
        found.append(time.process_time() - begin)
    return min(found)


def _step(description: Description) -> float:
    """Seconds of CPU time of an IMU step with a quarter of a pose update, plain filter."""
    frames = hover_frames(description, 250)
    plain = jax.jit(partial(estimate_flight, description, start=0))
    return _seconds(plain, frames, 3) / (250 * STEPS)


BOUND = 1000.0
"""us: a tick must fit 1 kHz."""
COG_BATCH = 100

TickOutput = tuple[Array, CogEstimate]


def flat_tick(name: str = "neo") -> FlatStep:
    """Reading and state in; squared rotor speeds and the estimate out."""
    airframe = from_catalogue(name)
    filter_, controller = CogCore.from_airframe(airframe), GeometricController.from_airframe(airframe)
    path = hover((0.0, 0.0, 2.0), 0.0, 1.0)
    state = start_on_trajectory(Model.from_airframe(airframe), controller, path)
    beside, reference = SelfTrim(filter_, controller.vehicle), path.at(0.0)

    def tick(last: Trimmed, given: tuple[CogReading, State]) -> tuple[Trimmed, TickOutput]:
        reading, state = given
        trimmed, said = beside.step(last, reading)
        return trimmed, (command(trimmed.controller, state, reference), said)

    speeds = filter_.numbers.hover_speeds()
    reading = CogReading(jnp.zeros(3), jnp.asarray([0.0, 0.0, 9.81]), speeds, speeds)
    return FlatStep(tick, beside.begin(controller), (reading, state))


def cog_rows() -> list[dict[str, Any]]:
    """Rows of `haltere bench`: one vehicle, from Python to NumPy, and per vehicle of a batch; CPU time.

    A tick is centre-of-gravity filter, compensation and the controller's allocation, on the Neo.
    """
    tick = flat_tick()
    many = jax.jit(jax.vmap(tick.function), donate_argnums=0)
    rows = []
    for name, function, memory, given, count, calls in (
        ("single, from Python", tick, tick.begin, tick.inputs, 1, 300),
        (
            f"batch {COG_BATCH}, per vehicle",
            many,
            np.tile(tick.begin, (COG_BATCH, 1)),
            np.tile(tick.inputs, (COG_BATCH, 1)),
            COG_BATCH,
            30,
        ),
    ):
        value = 1e6 * _best(function, memory, given, calls) / count
        rows.append(timing_row(f"CoG filter and allocation, {name}", value, "us per tick", "bound", BOUND))
    return rows


def _best(
    function: Callable[[Any, np.ndarray], tuple[Array, Array]],
    memory: Any,
    inputs: np.ndarray,
    calls: int,
) -> float:
    """Seconds of CPU time of one tick whose answer is read before the next begins, best of several rounds."""

    def tick() -> np.ndarray:
        nonlocal memory
        memory, said = function(memory, inputs)
        return np.asarray(said)

    return best_call(tick, (), calls)
