"""One batch of a campaign as a worker runs it: cases with keys of their own in, columns and failures out.

The function of a campaign travels by name and is one of two kinds:

    def hover(case: Case) -> Mapping[str, ...]                           one case at a time
    @whole_batch
    def hovers(cases: Sequence[Case]) -> Sequence[Mapping | Exception]   all cases of a batch at once, for `jax.vmap`

It gives, for each case, numbers, short texts and small arrays by name. With K = key(seed), the key of case n is

    key_n = fold_in(K, n)                                                                                 (1)

so it depends on nothing but seed and number. A batch is filled up to its full size with repeats of its last case
before a function of the second kind sees it: one shape, one compilation, the same bits wherever a case stands.

Before its first batch a worker is set to one XLA thread and shared compiled functions (`prepare_worker`). JAX is
imported inside the functions, because the variables for this must be set before. Every batch computes with 64 bits, in
a scope of its own.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from haltere.foundation import HaltereError
from haltere.foundation.numbers import Numbers

if TYPE_CHECKING:
    from haltere.foundation.arrays import Array
import os
import threading

ONE_THREAD = {
    "NPROC": "1",
    "PJRT_NPROC": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
"""Variables that leave a worker one thread; XLA's own flag comes beside them."""
XLA_FLAG = "--xla_cpu_multi_thread_eigen=false"


@dataclass(frozen=True)
class WorkerSettings:
    """How a worker sets JAX: one thread, compiled functions kept in `cache` (its own folder if None)."""

    cache: str | None = None


_lock = threading.Lock()
_prepared: list[WorkerSettings] = []


def prepare_worker(settings: WorkerSettings) -> None:
    """Give this process one XLA thread and a shared folder for compiled functions; once."""
    with _lock:
        if _prepared:
            return
        os.environ.update(ONE_THREAD)
        flags = os.environ.get("XLA_FLAGS", "")
        if XLA_FLAG not in flags:
            os.environ["XLA_FLAGS"] = f"{flags} {XLA_FLAG}".strip()
        import jax  # noqa: PLC0415  (only now, with the variables set)

        cache = settings.cache or jax.config.values["jax_compilation_cache_dir"] or default_cache()
        jax.config.update("jax_compilation_cache_dir", cache)
        # Many workers start often: small functions are worth sharing too.
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        _prepared.append(settings)


def default_cache() -> str:
    """Where compiled functions are kept unless somebody has chosen another folder."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return str(Path(home) / "haltere" / "jax")


Batched = TypeVar("Batched", bound=Callable[..., Any])
LONGEST_REASON = 500
_TAKES_BATCH = "takes_whole_batch"
_KINDS: dict[str, type] = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64, "U": np.str_}
_KIND_NAMES = {"b": "true or false", "f": "numbers", "U": "text"}


class CampaignError(HaltereError):
    """A campaign that cannot be run or resumed as it was asked for."""


@dataclass(frozen=True)
class CampaignCase:
    """One case: its number, its key by equation (1), its parameters, and the folder where it may leave files."""

    number: int
    key: "Array"
    parameters: Mapping[str, Any]
    folder: Path


@dataclass(frozen=True)
class Task:
    """What a worker gets of a batch; `own` holds the parameters of single cases, or nothing."""

    function: str
    seed: int
    numbers: tuple[int, ...]
    size: int
    parameters: Mapping[str, Any]
    own: tuple[Mapping[str, Any], ...] = ()
    folder: str = "."
    settings: WorkerSettings | None = None


@dataclass(frozen=True)
class BatchResult:
    """Columns of the cases that succeeded, `case` with their numbers among them, and why the others failed."""

    columns: Mapping[str, Numbers] = field(default_factory=dict)
    failures: Mapping[int, str] = field(default_factory=dict)


def whole_batch(function: Batched) -> Batched:
    """Mark a function that takes all cases of a batch at once."""
    setattr(function, _TAKES_BATCH, True)
    return function


def function_name(function: str | Callable[..., Any]) -> str:
    """`package.module:function` of a function that can be found again under it."""
    name = function if isinstance(function, str) else f"{function.__module__}:{function.__qualname__}"
    if "__main__" in name or "<" in name:
        raise CampaignError(f"{name}: workers cannot find it; put the function in a module and name it there")
    found = find_function(name)
    if not isinstance(function, str) and found is not function:
        raise CampaignError(f"{name}: names another function than the one given; give it by its import path")
    return name


def find_function(name: str) -> Callable[..., Any]:
    """The function of this import path."""
    module, colon, path = name.partition(":")
    if not (module and colon and path):
        raise CampaignError(f"{name!r}: is no import path; give one such as 'package.module:function'")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise CampaignError(f"{name}: cannot be found ({error}); give 'package.module:function'") from None
    if not callable(found):
        raise CampaignError(f"{name}: is no function but {type(found).__name__}; name a function")
    return found  # type: ignore[no-any-return]


def run_batch(task: Task) -> BatchResult:
    """Run one batch here; whatever goes wrong in a case becomes the text of its failure."""
    if task.settings is not None:
        prepare_worker(task.settings)
    from haltere.foundation.arrays import double_precision  # noqa: PLC0415  (imports JAX; see the module)

    with double_precision():
        return _run_batch(task)


def _run_batch(task: Task) -> BatchResult:
    import jax  # noqa: PLC0415

    function = find_function(task.function)
    root = jax.random.key(task.seed)
    own = task.own or ({},) * len(task.numbers)
    cases = [
        CampaignCase(number, jax.random.fold_in(root, number), {**task.parameters, **mine}, Path(task.folder))
        for number, mine in zip(task.numbers, own, strict=True)
    ]
    if getattr(function, _TAKES_BATCH, False):
        outcomes = _all_at_once(function, cases, task.size)
    else:
        outcomes = [_attempt(function, case) for case in cases]
    return tabulate(task.numbers, outcomes)


def _attempt(function: Callable[..., Any], argument: Any) -> Any:
    try:
        return function(argument)
    except (Exception, SystemExit) as error:
        return error


def _all_at_once(function: Callable[..., Any], cases: list[CampaignCase], size: int) -> list[Any]:
    answer = _attempt(function, cases + [cases[-1]] * (size - len(cases)))
    if isinstance(answer, BaseException):
        return [answer] * len(cases)
    if not isinstance(answer, Sequence) or len(answer) != size:
        got = f"{len(answer)} results" if isinstance(answer, Sequence) else type(answer).__name__
        return [
            CampaignError(f"got {got} for a batch of {size} cases; give a list of one result each")
        ] * len(cases)
    return list(answer[: len(cases)])


def tabulate(numbers: Sequence[int], outcomes: Sequence[Any]) -> BatchResult:
    """Columns of all outcomes that agree in form with the first good one, and the reasons of the rest."""
    rows: dict[int, dict[str, Numbers]] = {}
    failures: dict[int, str] = {}
    first: dict[str, Numbers] = {}
    for number, outcome in zip(numbers, outcomes, strict=True):
        try:
            if isinstance(outcome, BaseException):
                raise outcome
            row = _row(outcome)
            first = first or row
            if form(row) != form(first):
                raise CampaignError(odd_form(row, first))
            rows[number] = row
        except (Exception, SystemExit) as error:
            failures[number] = reason(error)
    columns = {name: np.stack([row[name] for row in rows.values()]) for name in first}
    return BatchResult({"case": np.asarray(list(rows), np.int64), **columns} if rows else {}, failures)


def form(row: Mapping[str, Numbers]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Names, kinds and shapes of one case's results; whole numbers and fractions are of one kind."""
    kinds = {name: value.dtype.kind.replace("i", "f") for name, value in row.items()}
    return {name: (kinds[name], row[name].shape) for name in sorted(row)}


def odd_form(row: Mapping[str, Numbers], first: Mapping[str, Numbers]) -> str:
    """What is different in a case's results."""
    mine, others = form(row), form(first)
    name = next(name for name in sorted({*mine, *others}) if mine.get(name) != others.get(name))
    got, expected = (
        f"{_KIND_NAMES[found[name][0]]} of shape {found[name][1]}" if name in found else "nothing"
        for found in (mine, others)
    )
    return f"column {name!r}: got {got}, other cases gave {expected}; give all cases the same columns"


def _row(outcome: Any) -> dict[str, Numbers]:
    if not isinstance(outcome, Mapping):
        raise CampaignError(
            f"got {type(outcome).__name__}; give a mapping from name to number, text or array"
        )
    return {_column_name(name): _value(name, value) for name, value in outcome.items()}


def _column_name(name: Any) -> str:
    if not isinstance(name, str) or not name or name == "case":
        raise CampaignError(f"column {name!r}: give a name that is a text, and not 'case'")
    return name


def _value(name: str, value: Any) -> Numbers:
    array = np.asarray(np.nan if value is None else value)
    kind = _KINDS.get(array.dtype.kind)
    if kind is None or (array.dtype == np.uint64 and np.any(array > np.iinfo(np.int64).max)):
        raise CampaignError(f"column {name!r}: got {array.dtype}; give numbers of at most 64 bits, or text")
    return array.astype(kind)


def reason(error: BaseException) -> str:
    """One line for a failure, not too long; the kind of an error that is not ours comes first."""
    text = " ".join(str(error).split())
    if not isinstance(error, HaltereError):
        text = f"{type(error).__name__}: {text or 'no message'}"
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 3] + "..."
