"""Flies batches of the world, hands every flight to estimators, stores what they say as it comes, and scores it.

A run that was stopped goes on where it was (`tests.world.store`). Progress goes to stderr. `python -m tests.world` is
the command.
"""

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import Any

from tests.world.attempts import Attempt
from tests.world.plan import Batch
from tests.world.scoring import Score, score
from tests.world.store import Store

WORKERS = 2
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Door:
    """How to fly a batch, and how to hand one flight to an estimator; functions that another process can import.

    Attributes:
        fly: a batch to its flights, one for each seed.
        attempt: name of an estimator, batch, seed and flight to what the estimator says of it.
    """

    fly: Callable[[Batch], Sequence[Any]]
    attempt: Callable[[str, Batch, int, Any], Attempt]


@dataclass(frozen=True)
class Task:
    """A batch of flights and the estimators that have still to see some of them."""

    batch: Batch
    estimators: tuple[str, ...]


def tasks(batches: Sequence[Batch], estimators: Sequence[str], store: Store) -> Iterator[Task]:
    """What is not yet stored."""
    for batch in batches:
        missing = {
            name: {seed for seed in batch.seeds if _stored(store, name, batch, seed) is None}
            for name in estimators
        }
        seeds = tuple(seed for seed in batch.seeds if any(seed in own for own in missing.values()))
        if seeds:
            names = tuple(name for name, own in missing.items() if own)
            yield Task(replace(batch, seeds=seeds), names)


def carry_out(task: Task, store: Store, door: Door) -> None:
    """Fly a batch and store what each estimator says of each flight."""
    batch = task.batch
    for seed, flight in zip(batch.seeds, door.fly(batch), strict=True):
        for name in task.estimators:
            if _stored(store, name, batch, seed) is None:
                store.save(door.attempt(name, batch, seed, flight))


def collect(batches: Sequence[Batch], estimators: Sequence[str], store: Store) -> list[Attempt]:
    """All attempts of the batches that are stored."""
    found = (
        _stored(store, name, batch, seed) for name in estimators for batch in batches for seed in batch.seeds
    )
    return [attempt for attempt in found if attempt is not None]


def run(
    batches: Sequence[Batch], estimators: Sequence[str], store: Store, door: Door, workers: int = WORKERS
) -> Score:
    """Make all attempts that are not stored yet, and score them all; without workers in this process."""
    waiting = list(tasks(batches, estimators, store))
    total = sum(len(task.batch.seeds) for task in waiting)
    _say(f"{total} flights to do, {sum(len(b.seeds) for b in batches) - total} stored in {store.root}")
    if workers == 0:
        for task in waiting:
            carry_out(task, store, door)
    elif waiting:
        _run_processes(waiting, store, door, workers, total)
    return score(collect(batches, estimators, store))


def _run_processes(waiting: list[Task], store: Store, door: Door, workers: int, total: int) -> None:
    os.environ.update(ONE_THREAD)
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(store.root / "programs"))
    began, done = time.monotonic(), 0
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(carry_out, task, store, door): task for task in waiting}
        for future in as_completed(futures):
            future.result()
            batch = futures[future].batch
            done += len(batch.seeds)
            minutes = (time.monotonic() - began) / 60.0
            kind = " ".join(word for word in (batch.level, batch.vehicle, batch.effect) if word)
            _say(f"{done} of {total} flights, {minutes:.1f} min ({kind})")


def _stored(store: Store, estimator: str, batch: Batch, seed: int) -> Attempt | None:
    return store.load(estimator, batch.level, batch.vehicle, batch.effect, str(seed))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
