"""The estimators against the clock: identification with pose, the online estimator, and ticks of the CoG filter.

Times are CPU time. Beside each stands how many times a reference workload of fixed size it takes, which was timed in
the same run, so that figures of two machines, or of one machine on a good and on a bad day, can be compared.
"""

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import from_catalogue
from haltere.bench.identify import DURATION, VEHICLE, recorded, timed
from haltere.control import GeometricController, start_on_trajectory
from haltere.control.geometric import command
from haltere.control.trim import SelfTrim, Trimmed
from haltere.dynamics import Model, State
from haltere.estimation.cog.belief import CogEstimate, CogReading
from haltere.estimation.cog.core import CogCore
from haltere.estimation.cog.settings import CogSettings
from haltere.estimation.vehicle.online import OnlineVehicle, replay
from haltere.estimation.vehicle.stream import samples_of
from haltere.flight import Flight
from haltere.flight.mcap import write_mcap
from haltere.foundation.arrays import Array
from haltere.foundation.flat_step import FlatStep
from haltere.papers.blaha.timings import timing_row
from haltere.papers.tables import Progress
from haltere.trajectory import hover

RATE = 200.0
"""Hz, of IMU and rotor speeds."""
FIRST = 40.0
LATER = 10.0
"""CPU seconds that `haltere identify` may take with an empty and with a filled store of compiled functions."""
REAL_TIME = 30.0
"""Flight seconds per CPU second that the online estimator must do."""
BEGINNING = 5.0
"""s of flight that are smoothed before the filter is timed."""
BEHIND = 0.1
"""s that its result may be behind the last reading."""
REFERENCE = (300, 200)
"""Size of the matrices of the reference workload, and how many."""


def filter_rows(progress: Progress) -> list[dict[str, Any]]:
    """Rows of `haltere bench`: a flight of 30 s with pose at 200 Hz, identified as a whole and online."""
    progress("reference workload")
    reference = reference_seconds()
    size, count = REFERENCE
    rows = [timing_row(f"reference: {count} Cholesky factorisations of {size} x {size}", reference, "s")]
    with TemporaryDirectory() as name:
        folder = Path(name)
        flight = recorded(folder, DURATION, RATE)
        log = folder / "flight.mcap"
        write_mcap(flight, log)
        for which, bound in (("first run", FIRST), ("later run", LATER)):
            progress(f"haltere identify of 30 s at 200 Hz, {which}")
            _, cpu = timed(log, folder / "store")
            what = f"identify 30 s at 200 Hz with pose, CPU time of a {which}"
            rows += _beside_reference(what, cpu, bound, reference)
    progress("the same flight online")
    alone, whole, behind = online_speeds(flight)
    for name, speed in (("the filter alone", alone), ("smoothing of 5, 10 and 20 s included", whole)):
        what = f"online estimator at 200 Hz, {name}"
        rows.append(timing_row(what, speed, "x real time", "bound", REAL_TIME, larger_is_faster=True))
        rows.append(_over_reference(DURATION / speed, reference))
    rows.append(timing_row("online estimator, behind the last reading", behind, "s", "bound", BEHIND))
    return rows


def reference_seconds() -> float:
    """CPU seconds of a workload of fixed size, best of three: NumPy and LAPACK, no compiler."""
    size, count = REFERENCE
    root = np.random.default_rng(0).normal(size=(size, size))
    matrix = root @ root.T + size * np.eye(size)
    found = []
    for _ in range(3):
        begin = time.process_time()
        for _ in range(count):
            np.linalg.cholesky(matrix)
        found.append(time.process_time() - begin)
    return min(found)


def online_speeds(flight: Flight) -> tuple[float, float, float]:
    """Flight seconds per CPU second of the online estimator, and s that it is behind the last reading at the end.

    The first figure is that of the filter which follows the smoothed beginning; the second counts the smoothing too,
    which flies along in another process where an executor is given. Compilation does not count.
    """
    replay(flight, VEHICLE)
    begin = time.process_time()
    online = replay(flight, VEHICLE)
    whole = time.process_time() - begin
    behind = online.estimate().behind
    online = OnlineVehicle(VEHICLE, smoothed_after=(BEGINNING,))
    readings = list(samples_of(flight, online.rotor_names))
    split = sum(reading.time < readings[0].time + BEGINNING + 1.0 for reading in readings)
    for reading in readings[:split]:
        online.step(reading)
    begin = time.process_time()
    for reading in readings[split:]:
        online.step(reading)
    alone = time.process_time() - begin
    return (readings[-1].time - readings[split].time) / alone, flight.duration / whole, behind


def _beside_reference(name: str, cpu: float, bound: float, reference: float) -> list[dict[str, Any]]:
    return [timing_row(name, cpu, "s", "bound", bound), _over_reference(cpu, reference)]


def _over_reference(cpu: float, reference: float) -> dict[str, Any]:
    return timing_row("the same, over the reference", cpu / reference, "x")


MEAN_BOUND, CLOSING_BOUND = 150.0, 500.0
"""us of a tick, in the mean and where a window of readings closes."""
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

    A tick is centre-of-gravity filter, compensation and the controller's allocation, on the Neo. Every half window one
    tick does more than the others.
    """
    tick, reference = flat_tick(), reference_seconds()
    single = _tick_times(tick, tick.begin, tick.inputs)
    mean, closing = 1e6 * float(single.mean()), 1e6 * float(np.median(single.max(axis=1)))
    many = jax.jit(jax.vmap(tick.function), donate_argnums=0)
    memory, inputs = (np.tile(each, (COG_BATCH, 1)) for each in (tick.begin, tick.inputs))
    together = 1e6 * float(_tick_times(many, memory, inputs, rounds=5).mean()) / COG_BATCH
    name = "CoG filter and allocation"
    return [
        timing_row(f"{name}, mean of single ticks from Python", mean, "us per tick", "bound", MEAN_BOUND),
        _over_reference(1e-6 * mean, reference),
        timing_row(f"{name}, a tick that closes a window", closing, "us per tick", "bound", CLOSING_BOUND),
        _over_reference(1e-6 * closing, reference),
        timing_row(f"{name}, batch {COG_BATCH}, per vehicle", together, "us per tick", "bound", MEAN_BOUND),
    ]


def _tick_times(
    function: Callable[[Any, np.ndarray], tuple[Array, Array]],
    memory: Any,
    inputs: np.ndarray,
    rounds: int = 40,
) -> np.ndarray:
    """(rounds, ticks in half a window) s of CPU time of ticks whose answers are read before the next begins."""
    settings = CogSettings()
    ticks = round(0.5 * settings.window / settings.period)
    times = np.zeros((rounds + 2, ticks))
    for k in range(times.size):
        begin = time.process_time()
        memory, said = function(memory, inputs)
        np.asarray(said)
        times.flat[k] = time.process_time() - begin
    return times[2:]
