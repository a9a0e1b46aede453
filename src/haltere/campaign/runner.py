"""A campaign: one function over many numbered cases, on all cores or a cluster, resumable, with no case lost.

Cases are grouped in batches; a batch is the unit of work, of storage and of resuming. The results depend on function,
seed, parameters and batch size alone, not on workers, their number or the order in which they finish. What happens when

    a case fails             its reason stands in `CampaignResult.failures`; the others go on
    a worker dies            all batches that were under way are run again, each alone; one that ends its worker three
                             times while alone is reported as failed
    the run is interrupted   finished batches stay; the same call goes on from there
"""

import os
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from haltere.campaign.case import (
    BatchResult,
    CampaignCase,
    CampaignError,
    Task,
    function_name,
    run_batch,
    whole_batch,
)
from haltere.campaign.executors import (
    DEATHS,
    ClusterWorkers,
    ProcessWorkers,
    Workers,
    available_cores,
    workers_of,
)
from haltere.campaign.store import CampaignPlan, Store, as_json
from haltere.foundation.numbers import Numbers
from haltere.foundation.tables import TextTable, html_lines, make_dataframe, text_lines

__all__ = [
    "CampaignCase",
    "CampaignError",
    "CampaignInterrupted",
    "CampaignResult",
    "run_campaign",
    "whole_batch",
]

Progress = Callable[[str], None]
SHOWN = 5
"""Failures that are named one by one where a result is shown."""


class CampaignInterrupted(KeyboardInterrupt):
    """The user stopped a campaign; the message says what is kept and how to go on."""


@dataclass(frozen=True, repr=False)
class CampaignResult:
    """What came out of a campaign."""

    columns: dict[str, Numbers]
    """Results of the cases that succeeded, in the order of their numbers; `columns["case"]` holds the numbers."""
    failures: dict[int, str]
    """Why each other case failed, by its number."""
    noun: ClassVar[str] = "case"
    """What one case is called where a result is shown."""

    @property
    def succeeded(self) -> int:
        """How many cases succeeded."""
        return len(self.columns.get("case", ()))

    @property
    def statistics(self) -> dict[str, dict[str, float | None]]:
        """Median, 95th percentile and maximum of every column of numbers; None where all are NaN."""
        return {
            name: summarise(values)
            for name, values in self.columns.items()
            if name != "case" and values.ndim == 1 and values.dtype.kind in "fiub"
        }

    def to_dict(self) -> dict[str, Any]:
        """Counts, statistics and failures as JSON knows them."""
        return {
            "succeeded": self.succeeded,
            "failed": len(self.failures),
            **self.statistics,
            "failures": {str(number): reason for number, reason in self.failures.items()},
        }

    def to_dataframe(self) -> Any:
        """The results as a pandas data frame, one row for each case."""
        flat = {name: values for name, values in self.columns.items() if values.ndim == 1}
        return make_dataframe(tuple(flat), list(zip(*flat.values(), strict=True)), "case")

    @property
    def heading(self) -> str:
        """How many cases there were, in one line."""
        return f"{self.succeeded} of {self.succeeded + len(self.failures)} cases"

    @property
    def table(self) -> TextTable:
        """The statistics of every quantity."""
        rows = [(name, *values.values()) for name, values in self.statistics.items()]
        return TextTable(self.heading, ("quantity", "median", "p95", "max"), rows)

    @property
    def remarks(self) -> list[str]:
        """The first failures, in sentences."""
        shown = [
            f"{self.noun} {number} failed: {reason}" for number, reason in list(self.failures.items())[:SHOWN]
        ]
        more = len(self.failures) - SHOWN
        return [*shown, *([f"and {more} more; `failures` (--json) lists all"] if more > 0 else [])]

    def __repr__(self) -> str:
        return text_lines([self.table, *self.remarks])

    def _repr_html_(self) -> str:
        return self.table.html() + html_lines(self.remarks)


def summarise(values: Numbers) -> dict[str, float | None]:
    """Median, 95th percentile and maximum of the finite values; None where there are none."""
    numbers = np.asarray(values, float)
    finite = numbers[np.isfinite(numbers)]
    if not len(finite):
        return {"median": None, "p95": None, "max": None}
    return {
        "median": float(np.median(finite)),
        "p95": float(np.quantile(finite, 0.95)),
        "max": float(np.max(finite)),
    }


def run_campaign(
    function: str | Callable[..., Any],
    cases: int | Sequence[Mapping[str, Any]],
    seed: int,
    folder: str | os.PathLike[str],
    parameters: Mapping[str, Any] | None = None,
    batch: int = 16,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
    retry: bool = False,
    executor: Any = None,
) -> CampaignResult:
    """Run a function over cases, or go on with a campaign that was begun.

    Args:
        function: as "package.module:function", or itself if its module can be imported; see `haltere.campaign.case`.
        cases: how many, or the own parameters of each case, as JSON knows them.
        seed: from which the key of each case is folded.
        folder: where the results are kept; new, empty, or that of the same campaign.
        parameters: for all cases, as JSON knows them.
        batch: cases in a batch; another size may change the last bits of functions that take whole batches.
        workers: processes of the pool; one for each core if not given.
        cluster: address of a dask.distributed scheduler to use instead of the pool.
        progress: called with a sentence after each batch.
        retry: whether batches with failed cases are run again.
        executor: runs the batches instead of the pool: a `concurrent.futures.Executor` or a dask client, which stay
            open, or a function that makes an executor. Its workers keep their own settings of JAX.

    Raises:
        CampaignError: arguments, folder or cluster are at fault.
        CampaignInterrupted: at an interrupt; what was finished is kept.
    """
    plan = _plan(function, cases, seed, parameters, batch)
    if workers is not None and workers < 1:
        raise CampaignError(f"workers: got {workers}; give one or more")
    if cluster is not None and executor is not None:
        raise CampaignError("cluster and executor: got both; give one of them")
    given = None if executor is None else workers_of(executor, workers)
    store = Store(folder, plan)
    say = progress or (lambda _: None)
    done = store.done(failures_too=not retry)
    todo = deque(sorted(set(range(plan.batches)) - set(done)))
    if done:
        say(f"{len(done)} of {plan.batches} batches were there already")
    if todo:
        count = min(workers or available_cores(), len(todo))
        if given is None:
            given = ClusterWorkers.at(cluster) if cluster is not None else ProcessWorkers(count)
        _Run(store, given, say, todo, len(done)).to_the_end()
    columns, failures = store.collect()
    return CampaignResult(columns, dict(sorted(failures.items())))


def _plan(
    function: str | Callable[..., Any],
    cases: int | Sequence[Mapping[str, Any]],
    seed: int,
    parameters: Mapping[str, Any] | None,
    batch: int,
) -> CampaignPlan:
    count = cases if isinstance(cases, int) else len(cases)
    if count < 1:
        raise CampaignError(f"cases: got {count}; give one or more")
    if batch < 1:
        raise CampaignError(f"batch: got {batch}; give one case or more")
    if seed < 0:
        raise CampaignError(f"seed: got {seed}; give zero or a number above")
    sweep = [] if isinstance(cases, int) else as_json([dict(own) for own in cases])
    shared = as_json(dict(parameters or {}))
    return CampaignPlan(function_name(function), seed, count, min(batch, count), shared, sweep)


class _Run:
    """The batches that are still to do, and what has happened to them."""

    def __init__(
        self, store: Store, workers: Workers, progress: Progress, todo: deque[int], done: int
    ) -> None:
        self.store, self.workers, self.progress, self.todo = store, workers, progress, todo
        self.suspects: deque[int] = deque()
        self.deaths: Counter[int] = Counter()
        self.done, self.failed = done, 0

    def to_the_end(self) -> None:
        """Run all; the workers are gone afterwards, whatever happens."""
        finished = False
        try:
            while self.todo or self.suspects:
                if self.suspects:
                    self._alone(self.suspects.popleft())
                else:
                    self.suspects.extend(self._run_batches(self.todo, self.workers.width))
            finished = True
        except KeyboardInterrupt:
            raise CampaignInterrupted(f"interrupted; {self._retained()}") from None
        except CancelledError:
            raise CampaignError(f"the workers are gone; {self._retained()}") from None
        finally:
            self.workers.stop(at_once=not finished)

    def _retained(self) -> str:
        plan, folder = self.store.plan, self.store.folder
        return f"{len(self.store.done())} of {plan.batches} batches are kept in {folder}: run the same again to go on"

    def _alone(self, index: int) -> None:
        """Run a batch that was under way when a worker died: if one dies now, it is this batch's doing."""
        if not self._run_batches(deque([index]), 1):
            return
        if self.deaths[index] < DEATHS:
            self.suspects.appendleft(index)
            return
        text = f"the worker died each of {DEATHS} times that this batch ran alone; try smaller batches or less memory"
        self._keep(index, BatchResult({}, dict.fromkeys(self.store.plan.numbers(index), text)))

    def _run_batches(self, queue: deque[int], width: int) -> list[int]:
        """Run the batches of `queue` until it is empty or a worker has died; the batches that were lost with it."""
        flying: dict[Future[BatchResult], int] = {}
        lost: list[int] = []
        alone = width == 1
        try:
            while flying or (queue and not lost):
                while queue and not lost and len(flying) < width:
                    index = queue.popleft()
                    try:
                        flying[self.workers.executor.submit(run_batch, self._task(index))] = index
                    except BrokenExecutor:
                        lost.append(index)
                for future in wait(flying, return_when=FIRST_COMPLETED).done:
                    index = flying.pop(future)
                    error = future.exception()
                    if error is None:
                        self._keep(index, future.result())
                        continue
                    died = self.workers.deaths(error)
                    if not died:
                        raise error
                    lost.append(index)
                    self.deaths[index] += died if alone else 0
        finally:
            for future in flying:  # after an interrupt: an executor that was given goes on otherwise
                future.cancel()
        if lost:
            self.progress(
                f"a worker died; {len(lost)} {'batch is' if len(lost) == 1 else 'batches are'} run again"
            )
            self.workers.renew()
        return lost

    def _task(self, index: int) -> Task:
        plan = self.store.plan
        numbers = plan.numbers(index)
        own = tuple(plan.sweep[n] for n in numbers) if plan.sweep else ()
        folder = str(Path(self.store.folder).absolute())
        return Task(
            plan.function, plan.seed, numbers, plan.batch, plan.parameters, own, folder, self.workers.settings
        )

    def _keep(self, index: int, result: BatchResult) -> None:
        self.store.write(index, result)
        self.failed += len(result.failures)
        self.done += 1
        said = f"{self.done} of {self.store.plan.batches} batches done"
        self.progress(f"{said}, {self.failed} cases failed" if self.failed else said)
