"""Who runs the batches of a campaign: a pool of processes, a dask.distributed cluster, or any other executor.

Workers of the pool are spawned, have one XLA thread each, leave interrupts to the process that started them and end
when it ends. On a cluster the package must be installed on the workers, and they prepare themselves likewise.
"""

import importlib
import multiprocessing
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from typing import Any

from haltere.campaign.case import CampaignError, WorkerSettings, default_cache, prepare_worker

DEATHS = 3
"""A batch is given up when it has ended its worker this many times while it ran alone."""
CONNECT_SECONDS = 15.0
WORKER_SECONDS = 60.0
"""How long a cluster may take to answer, and to have a worker."""


class Workers(ABC):
    """An executor that can be started again after it broke."""

    settings: WorkerSettings | None = None
    """What a worker prepares before its first batch; None leaves it as it is."""

    def __init__(self) -> None:
        self._executor: Executor | None = None

    @property
    def executor(self) -> Executor:
        """The executor, started if there is none."""
        if self._executor is None:
            self._executor = self._start()
        return self._executor

    @property
    @abstractmethod
    def width(self) -> int:
        """Batches to hand out at once."""

    @abstractmethod
    def _start(self) -> Executor: ...

    def deaths(self, error: BaseException) -> int:
        """How many workers have died for certain if a batch ended with `error`."""
        return int(isinstance(error, BrokenExecutor))

    def renew(self) -> None:
        """Give up the executor after a worker died; the next batch gets a new one."""
        if self._executor is not None:
            self._executor.shutdown(wait=False)
            self._executor = None

    def stop(self, at_once: bool) -> None:
        """End the work, at once or after the batches that run."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=not at_once, cancel_futures=True)


class ExecutorWorkers(Workers):
    """An executor of the caller, which stays open, or executors as a function of the caller makes them.

    Their workers keep the settings of the host.
    """

    def __init__(self, executor: Executor | Callable[[], Executor], workers: int | None = None) -> None:
        super().__init__()
        self._given, self._workers = executor, workers

    @property
    def width(self) -> int:
        """Batches to hand out at once: twice the workers, so that none waits."""
        own = getattr(self._given, "_max_workers", None)
        return self._workers or (2 * int(own) if own else available_cores())

    def _start(self) -> Executor:
        return self._given if isinstance(self._given, Executor) else self._given()

    def renew(self) -> None:
        """A function makes a new executor; one that was given cannot be started again."""
        if isinstance(self._given, Executor):
            raise CampaignError(
                "a worker of the executor has died, so it is broken; run the same again with a new one, "
                "or with smaller batches"
            )
        super().renew()

    def stop(self, at_once: bool) -> None:
        """End executors that were made here; one that was given stays open."""
        if not isinstance(self._given, Executor):
            super().stop(at_once)


class ProcessWorkers(Workers):
    """A pool of spawned processes on this machine."""

    def __init__(self, workers: int) -> None:
        super().__init__()
        self.workers = workers
        self.settings: WorkerSettings = WorkerSettings(_host_cache())

    @property
    def width(self) -> int:
        """Twice the workers, so that none waits."""
        return 2 * self.workers

    def _start(self) -> Executor:
        pool = ProcessPoolExecutor(
            self.workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin,
            initargs=(self.settings,),
        )
        try:
            pool.submit(os.getpid).result()
        except BrokenExecutor:
            msg = (
                "the worker processes end as soon as they start; a script that calls this must do so "
                "under `if __name__ == '__main__':`"
            )
            raise CampaignError(msg) from None
        return pool

    def stop(self, at_once: bool) -> None:
        """End the pool; at once means that running batches are given up."""
        processes = list((getattr(self._executor, "_processes", None) or {}).values())
        if at_once:
            for process in processes:
                process.terminate()
        super().stop(at_once)


class ClusterWorkers(Workers):
    """The workers of a dask.distributed client, which stays open if it is the caller's."""

    def __init__(self, client: Any, own: bool) -> None:
        super().__init__()
        self._client, self._own = client, own
        self._killed: type[Exception] = _distributed().KilledWorker
        self.settings = WorkerSettings() if own else None

    @classmethod
    def at(cls, address: str) -> "ClusterWorkers":
        """A client of its own for the scheduler at `address`."""
        distributed = _distributed()
        try:
            client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            msg = f"cluster {address}: cannot be reached ({error}); give a scheduler such as tcp://host:8786"
            raise CampaignError(msg) from None
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError:
            client.close()
            msg = f"cluster {address}: it has no worker after {WORKER_SECONDS:g} s; start some with `dask worker`"
            raise CampaignError(msg) from None
        return cls(client, own=True)

    @property
    def width(self) -> int:
        """Twice the threads of all workers, and enough for a cluster that grows with its load."""
        threads: dict[str, int] = self._client.nthreads()
        return max(2 * sum(threads.values()), 16)

    def _start(self) -> Executor:
        executor: Executor = self._client.get_executor(pure=False)
        return executor

    def deaths(self, error: BaseException) -> int:
        """The scheduler itself tries again several times before it gives up."""
        return DEATHS if isinstance(error, self._killed) else 0

    def renew(self) -> None:
        """Nothing to do: the cluster replaces its workers itself."""

    def stop(self, at_once: bool) -> None:
        """Cancel what has not run if `at_once`, and leave the cluster."""
        if self._executor is not None:
            self._executor.shutdown(wait=not at_once)
            self._executor = None
        if self._own:
            self._client.close()


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")  # an extra
    except ImportError:
        msg = "a cluster needs dask.distributed, which is not installed; pip install 'haltere[cluster]'"
        raise CampaignError(msg) from None


def workers_of(executor: Any, workers: int | None = None) -> Workers:
    """The workers behind an executor, a dask client, or a function that makes an executor."""
    if hasattr(executor, "get_executor"):
        return ClusterWorkers(executor, own=False)
    if isinstance(executor, Executor) or callable(executor):
        return ExecutorWorkers(executor, workers)
    raise CampaignError(
        f"executor: got {type(executor).__name__}; give a concurrent.futures.Executor or a dask client"
    )


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _host_cache() -> str:
    """Where this process keeps compiled functions, so that its workers share them."""
    import jax  # noqa: PLC0415

    return str(jax.config.values["jax_compilation_cache_dir"] or default_cache())


def _begin(settings: WorkerSettings) -> None:
    """First thing in a new process of the pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    prepare_worker(settings)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
