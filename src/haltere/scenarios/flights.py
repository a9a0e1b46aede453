"""Many flights of one scenario, each with a seed of its own: the campaign behind `haltere simulate --runs`.

The seed of a flight is drawn from the key of its case and stands among its results, so that any of them can be flown
again alone. All flights of a batch are flown at once by `vmap`, compiled once in a worker; only what a seed decides
(figure, errors of the controller, gusts) differs. With p the body origin and p_ref its reference, over the samples
before the ground was touched:

    rms_error = sqrt(mean |p - p_ref|^2),   max_error = max |p - p_ref|                                   (1)
"""

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, dumps, loads
from haltere.campaign.runner import CampaignCase, CampaignResult, run_campaign, summarise, whole_batch
from haltere.control import GeometricController
from haltere.control.pilot import stay_at_rest, track
from haltere.dynamics import Environment
from haltere.dynamics.model import locked_rotors
from haltere.flight.mcap import write_mcap
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array, double_precision
from haltere.foundation.memory import bound_programs
from haltere.foundation.tables import TextTable
from haltere.scenarios.scenario_flight import (
    describe_airframe,
    first_state,
    joint_angles,
    make_gusts,
    make_sensing,
    make_trajectory,
    plan_flight,
)
from haltere.simulation import Timing, Trace, Vehicle, fly
from haltere.simulation.recording import record
from haltere.simulation.scenario import Scenario, ScenarioError, make_scenario
from haltere.trajectory import Paced, Trajectory, bounded

FUNCTION = "haltere.scenarios.flights:fly_cases"
BATCH = 50
"""Flights at once in a worker."""
KEEPING_BATCH = 5
"""The same where whole flights are kept, which takes much more memory."""

QUANTITIES = {
    "rms_error": "m",
    "max_error": "m",
    "max_speed": "m/s",
    "max_tilt": "rad",
    "duration": "s",
    "crash_time": "s",
}
"""Columns that are summarised, with their units."""

Paths = tuple[Trajectory | None, list[tuple[str, ...]]]


class UselessFlightError(HaltereError):
    """A flight whose numbers are not finite."""


@dataclass(frozen=True, repr=False)
class SimulatedFlights(CampaignResult):
    """What came of many flights; columns as `simulate_many` says."""

    runs: int
    seed: int
    folder: Path
    noun: ClassVar[str] = "flight"

    @property
    def crashed(self) -> int:
        """How many flights touched the ground."""
        return int(np.isfinite(self.columns.get("crash_time", np.empty(0))).sum())

    @property
    def statistics(self) -> dict[str, dict[str, float | None]]:
        """Median, 95th percentile and maximum of each of `QUANTITIES`; None where no flight has it."""
        return {name: summarise(self.columns.get(name, np.empty(0))) for name in QUANTITIES}

    def to_dict(self) -> dict[str, Any]:
        """The summary as `haltere simulate --runs --json` prints it."""
        asked = {"runs": self.runs, "seed": self.seed, "folder": str(self.folder)}
        return asked | super().to_dict() | {"crashed": self.crashed}

    @property
    def heading(self) -> str:
        """How many flights there were, in one line."""
        return f"{self.succeeded} of {self.runs} flights, {self.crashed} of them touched the ground"

    @property
    def table(self) -> TextTable:
        """The statistics of every quantity, with its unit."""
        rows = [(name, QUANTITIES[name], *values.values()) for name, values in self.statistics.items()]
        return TextTable(self.heading, ("quantity", "unit", "median", "p95", "max"), rows)


@double_precision()
def simulate_many(
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, Any],
    runs: int,
    folder: str | os.PathLike[str],
    *,
    seed: int | None = None,
    executor: Any = None,
    keep: bool = False,
    progress: Callable[[str], None] | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    batch: int | None = None,
    retry: bool = False,
) -> SimulatedFlights:
    """Simulate a scenario `runs` times, each with its own seed.

    Args:
        scenario: a scenario file, a `Scenario`, or a mapping with the contents of such a file.
        runs: how many flights.
        folder: where the results are kept; it is new or empty, or holds the same flights, which are then continued.
        seed: from which the seeds of all flights are made; that of the scenario if not given.
        executor: a `concurrent.futures.Executor` or a dask client; if not given, all cores of this machine are
            used.
        keep: whether each flight is kept in the folder too, as `flight-00000.mcap`.
        progress: called with a sentence after each batch.
        workers: number of processes if there is no executor; one for each core if not given.
        cluster: address of a dask scheduler to use instead of processes.
        batch: how many flights a worker simulates at once; 50 if not given, 5 with `keep`.
        retry: whether batches with failed flights are flown again.

    Returns:
        The flights; `columns` holds, with a number for each flight, `seed`, `duration` (s), `rms_error` and `max_error`
        (m, NaN without controller), `max_speed` (m/s), `max_tilt` (rad) and `crash_time` (s, NaN if there was none).

    Raises:
        HaltereError: scenario, folder or executor are at fault.
    """
    described, text = make_scenario(scenario)
    if described.payloads or described.sweeps or described.controller.compensation:
        msg = "payloads, sweeps and compensation are flown one flight at a time; leave them out, or fly once"
        raise ScenarioError(msg)
    chosen = described.seed if seed is None else seed
    parameters = {
        "scenario": json.loads(described.model_dump_json(exclude={"seed"})),
        "airframe": dumps(describe_airframe(described)),
        "text": text,
        "keep": keep,
    }
    prepare_flights(
        json.dumps(parameters, sort_keys=True)
    )  # what is wrong with the scenario appears here, and once
    result = run_campaign(
        FUNCTION,
        runs,
        chosen,
        folder,
        parameters,
        batch=batch or (KEEPING_BATCH if keep else BATCH),
        workers=workers,
        cluster=cluster,
        progress=progress,
        retry=retry,
        executor=executor,
    )
    return SimulatedFlights(result.columns, result.failures, runs, chosen, Path(folder))


@whole_batch
@double_precision()
def fly_cases(cases: Sequence[CampaignCase]) -> list[Mapping[str, Any] | Exception]:
    """The flights of one batch: a summary of each, and its file if it is to be kept."""
    bound_programs()
    parameters = dict(cases[0].parameters)
    setup = prepare_flights(json.dumps(parameters, sort_keys=True))
    seeds = [int(jax.random.bits(case.key, dtype=jnp.uint32)) for case in cases]
    keys = jnp.stack([jax.random.split(jax.random.key(seed), 4) for seed in seeds])
    paths, notes = setup.paths(keys)
    summary, traces = setup.fly(keys, paths, bool(parameters["keep"]))
    columns = {name: np.asarray(values) for name, values in summary.items()}
    results: list[Mapping[str, Any] | Exception] = []
    for i, (case, seed) in enumerate(zip(cases, seeds, strict=True)):
        row = {name: values[i] for name, values in columns.items()}
        if not row.pop("finite"):
            fault = f"seed {seed}: the flight is not finite; try a higher timing.step_rate"
            results.append(UselessFlightError(fault))
            continue
        if traces is not None:
            mine = jax.tree.map(lambda x, i=i: x[i], traces)
            setup.keep(mine, keys[i, 3], (*notes[i], f"flown with seed {seed}"), flight_file(case))
        results.append({"seed": seed, **row})
    return results


def flight_file(case: CampaignCase) -> Path:
    """Where the flight of a case is kept."""
    return case.folder / f"flight-{case.number:05d}.mcap"


@lru_cache(maxsize=2)
def prepare_flights(parameters: str) -> "Setup":
    """All that the flights of a campaign share, once in a process."""
    given = json.loads(parameters)
    scenario = Scenario.model_validate(given["scenario"])
    return Setup.of(scenario, loads(given["airframe"], "airframe"), given["text"])


@dataclass(frozen=True)
class Setup:
    """A scenario made ready: what no seed changes, and the compiled flight of a batch."""

    scenario: Scenario
    airframe: Airframe
    text: str
    vehicle: Vehicle
    path: Trajectory | None
    controller: GeometricController | None
    notes: tuple[str, ...]
    environment: Environment
    fly: Callable[[Array, Trajectory | None, bool], tuple[dict[str, Array], Trace | None]]

    @classmethod
    def of(cls, scenario: Scenario, airframe: Airframe, text: str) -> "Setup":
        """The setup of a scenario with the airframe that it names."""
        wind = scenario.wind
        speed = math.hypot(*wind.mean) if wind.gust_speed is None else wind.gust_speed
        scenario = scenario.model_copy(update={"wind": wind.model_copy(update={"gust_speed": speed})})
        vehicle = Vehicle.from_airframe(airframe)
        if not scenario.physics.rotor_inertia:
            vehicle = replace(vehicle, model=locked_rotors(vehicle.model))
        angles = joint_angles(vehicle, {**scenario.start.joints, **scenario.controller.joints})
        exact = scenario.controller.model_copy(update={"parameter_error": 0.0})
        key = jax.random.key(0)
        path, controller, notes = plan_flight(
            scenario.model_copy(update={"controller": exact}), airframe, angles, key, key
        )
        environment = Environment((0.0, 0.0, -scenario.gravity), wind.mean, wind.air_density)
        fly_batch = _compiled(scenario, vehicle, angles, controller, environment)
        return cls(scenario, airframe, text, vehicle, path, controller, tuple(notes), environment, fly_batch)

    def paths(self, keys: Array) -> Paths:
        """What each flight (N, 4 keys) is to follow, stacked, and what is to be said of it."""
        wanted = self.scenario.trajectory
        paths, notes = [self.path] * len(keys), [self.notes] * len(keys)
        if self.controller is not None and wanted.kind == "lissajous" and wanted.cycles is None:
            for i in range(len(keys)):
                figure = make_trajectory(self.scenario, keys[i, 0])
                slowed, note = bounded(self.controller.vehicle, figure)  # type: ignore[arg-type]
                paths[i], notes[i] = slowed, (note,) if note else ()
        same_form = [p if p is None or isinstance(p, Paced) else _unhurried(p) for p in paths]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *same_form), notes

    def keep(self, trace: Trace, key: Array, notes: tuple[str, ...], file: Path) -> None:
        """Write the flight of one case."""
        sensing = make_sensing(self.scenario)
        model, air = self.vehicle.model, self.environment
        write_mcap(
            record(self.airframe, model, trace, air, sensing, key, self.text, notes), file, overwrite=True
        )


def _unhurried(path: Trajectory) -> Paced:
    """`path` at its own pace, in the form of one that was slowed."""
    return Paced(path, jnp.ones(()), jnp.zeros(()))


def _compiled(
    scenario: Scenario,
    vehicle: Vehicle,
    angles: Array,
    controller: GeometricController | None,
    environment: Environment,
) -> Callable[..., Any]:
    """The flight of a batch as one compiled function of keys (N, 4), paths and whether traces are wanted."""
    rates = scenario.timing
    timing = Timing(scenario.duration, rates.step_rate, rates.control_rate)
    error = scenario.controller.parameter_error
    longest = float(np.max(np.asarray(vehicle.motors.delay), initial=0.0))

    def one(keys: Array, path: Trajectory | None) -> tuple[dict[str, Array], Trace]:
        believed = controller
        if controller is not None and error > 0.0:
            believed = controller.perturbed(keys[1], error)

        if believed is None or path is None:
            pilot, first = stay_at_rest(vehicle.model.topology.rotors, angles)
        else:
            pilot, first = track(believed, path, vehicle.motors, angles, period=1.0 / timing.control_rate)
        start = first_state(scenario, vehicle, path, believed, angles)
        wind = make_gusts(scenario, timing, keys[2])
        ground = scenario.ground
        trace = fly(vehicle, start, pilot, first, timing, environment, wind, ground, longest)
        return _summary(trace, None if believed is None else path), trace

    def batch(keys: Array, paths: Trajectory | None, traced: bool) -> tuple[dict[str, Array], Trace | None]:
        summary, trace = jax.vmap(one)(keys, paths)
        return summary, trace if traced else None

    return jax.jit(batch, static_argnames="traced")


def _summary(trace: Trace, path: Trajectory | None) -> dict[str, Array]:
    """Equation (1) and the extremes of one flight."""
    state, alive = trace.state, trace.alive
    crash_time = jnp.where(jnp.all(alive), jnp.nan, trace.time[jnp.argmin(alive)])
    last = trace.time[-1] + (trace.time[1] - trace.time[0])

    def largest(values: Array) -> Array:
        return jnp.max(jnp.where(alive, values, 0.0))

    squares = jnp.full_like(trace.time, jnp.nan)
    if path is not None:
        wanted = jax.vmap(lambda t: path.at(t).position)(trace.time)
        squares = jnp.sum((state.position - wanted) ** 2, axis=1)
    upright = jax.vmap(lambda s: s.R_WB[2, 2])(state)
    numbers = (state.position, state.wxyz, state.twist)
    return {
        "duration": jnp.where(jnp.all(alive), last, crash_time),
        "rms_error": jnp.sqrt(jnp.sum(jnp.where(alive, squares, 0.0)) / jnp.maximum(jnp.sum(alive), 1)),
        "max_error": jnp.sqrt(largest(squares)),
        "max_speed": jnp.sqrt(largest(jnp.sum(state.twist[:, :3] ** 2, axis=1))),
        "max_tilt": largest(jnp.arccos(jnp.clip(upright, -1.0, 1.0))),
        "crash_time": crash_time,
        "finite": jnp.all(jnp.asarray([jnp.all(jnp.isfinite(x)) for x in numbers])),
    }
