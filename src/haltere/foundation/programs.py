"""Functions whose traced program is kept on disk: a later process neither traces nor lowers them again.

JAX keeps compiled code (`jax_compilation_cache_dir`), but to find it a function has to be traced first, which for a
filter of many thousand operations takes longer than running it over a flight. Beside the compiled code, in the folder
`programs`, a `CachedProgram` keeps its StableHLO module, the portable form that `jax.export` makes. A file is found
by a hash over

    name, static key, tree, shapes and types of the arguments, 64 bits or 32, JAX's version, processor,
    haltere's sources                                                                                           (1)

so no change of the code is ever missed. A file that cannot be used, or a JAX that cannot do this, costs time only.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from functools import lru_cache, partial, update_wrapper, wraps
from pathlib import Path
from typing import Any

import jax
import jax.dtypes
import jax.export
import numpy as np

from haltere.foundation.arrays import has_double_precision
from haltere.foundation.errors import HaltereError
from haltere.foundation.files import whole_file
from haltere.foundation.memory import register

FOLDER = "programs"
MOST = 200
"""Files kept; the oldest go first."""
KINDS = 16
"""Programs of one function kept in memory, for as many kinds."""
CPU_OPTIONS: dict[str, str | bool] = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_multi_thread_eigen": False,
}
"""XLA's older code for fused loops: programs of many small operations compile in half the time and run as fast. Small
matrices are multiplied on one thread: more threads take a third more processor time and save none of the user's."""
UNOPTIMISED: dict[str, str | bool] = {"xla_backend_optimization_level": "0"}


class CachedProgram:
    """A function of pytrees of arrays, compiled, whose program is kept on disk.

    Args:
        function: what is computed.
        key: everything that the function depends on beside its arguments; its `repr` must tell all of it.
        result_tree: a pytree of the structure of the result; its leaves do not matter.
        fast_compile: compile fast rather than well, for a function that seldom runs.
    """

    def __init__(
        self, function: Callable[..., Any], key: Any, result_tree: Any, *, fast_compile: bool = False
    ) -> None:
        self.function = function
        self.name = getattr(function, "__name__", "function")
        self.key = key
        self.tree = jax.tree.structure(result_tree)
        self.fast_compile = fast_compile
        self._ready: dict[Any, Any] = {}
        self._lock = threading.Lock()
        register(self)

    def release(self) -> None:
        """Forget what was compiled; the next call compiles it again, or loads it."""
        self._ready = {}

    def __call__(self, *args: Any) -> Any:
        """The result; inside of another traced function, simply that of the function."""
        leaves, tree = jax.tree.flatten(args)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return self.function(*args)
        arrays = [leaf if isinstance(leaf, jax.Array) else np.asarray(leaf) for leaf in leaves]
        found = self._compiled(arrays, tree)(*arrays)
        return jax.tree.unflatten(self.tree, found)

    def bound(self, *args: Any) -> Callable[..., Any]:
        """The program for arguments of the trees, shapes and types of these, which it does not check again."""
        leaves, tree = jax.tree.flatten(args)
        run = self._compiled([leaf if hasattr(leaf, "shape") else np.asarray(leaf) for leaf in leaves], tree)

        def call(*same: Any) -> Any:
            return jax.tree.unflatten(self.tree, run(*jax.tree.leaves(same)))

        return call

    def prepare(self, *args: Any) -> None:
        """Compile, or load what was compiled, for arguments of which only shapes and types are looked at."""
        leaves, tree = jax.tree.flatten(args)
        self._compiled([x if hasattr(x, "shape") else np.asarray(x) for x in leaves], tree)

    def _compiled(self, arrays: list[Any], tree: Any) -> Any:
        shapes = tuple((tuple(x.shape), jax.dtypes.canonicalize_dtype(x.dtype).name) for x in arrays)
        with self._lock:
            kind = (tree, shapes, has_double_precision())
            ready = self._ready.get(kind)
            if ready is None:
                ready = self._ready[kind] = self._build(shapes, tree)
            return ready

    def _build(self, shapes: Any, tree: Any) -> Any:
        structs = [jax.ShapeDtypeStruct(*shape) for shape in shapes]

        def flat(*leaves: Any) -> list[Any]:
            result = self.function(*jax.tree.unflatten(tree, leaves))
            found: Any = jax.tree.structure(result)
            if found != self.tree:
                raise HaltereError(f"{self.name}: gave {found}, {self.tree} is expected; mend `result_tree`")
            return jax.tree.leaves(result)

        flat.__name__ = self.name
        file = self._file(shapes, tree)
        if file is None:
            return self._compile(flat, structs)
        exported = _read(file, structs)
        if exported is None:
            exported = _export(flat, structs)
            if exported is not None:
                _write(file, exported)
                exported = (
                    _read(file, structs) or exported
                )  # as it will be read: then what is compiled is found again
        run: Callable[..., Any] = flat if exported is None else exported.call
        return self._compile(_named(run, self.name), structs)

    def _compile(self, function: Callable[..., Any], structs: list[Any]) -> Any:
        options = _options(self.fast_compile) if jax.default_backend() == "cpu" else {}
        return jax.jit(function).lower(*structs).compile(compiler_options=options or None)

    def _file(self, shapes: Any, tree: Any) -> Path | None:
        """Where the program is kept; None if JAX keeps nothing, or computes on something else than a CPU."""
        folder = jax.config.values["jax_compilation_cache_dir"]
        if not folder or not jax.config.values["jax_enable_compilation_cache"] or "://" in str(folder):
            return None
        if jax.default_backend() != "cpu":
            return None
        kind = (str(tree), shapes, str(self.tree), has_double_precision())
        identity = repr((self.name, self.key, *kind, jax.__version__, "cpu", _sources()))
        return Path(folder) / FOLDER / f"{self.name}-{hashlib.sha256(identity.encode()).hexdigest()[:40]}"


def program_by_kind(
    result_tree: Callable[[Any], Any], *, fast_compile: bool = False
) -> Callable[[Callable[..., Any]], Callable[[Any], CachedProgram]]:
    """Decorator: `function(kind, *arrays)` becomes `function(kind)`, the cached program of the other arguments.

    There is one program for each `kind`, made when it is first asked for.

    Args:
        result_tree: of a kind, a pytree of the structure of the result.
        fast_compile: as that of `CachedProgram`.
    """

    def decorate(function: Callable[..., Any]) -> Callable[[Any], CachedProgram]:
        @lru_cache(maxsize=KINDS)
        @wraps(function)
        def program(kind: Any) -> CachedProgram:
            bound = partial(function, kind)
            update_wrapper(bound, function)
            return CachedProgram(bound, kind, result_tree(kind), fast_compile=fast_compile)

        return program

    return decorate


@lru_cache(maxsize=2)
def _options(fast_compile: bool) -> dict[str, str | bool]:
    """Options of the compiler, as far as it knows them."""
    found = dict(UNOPTIMISED) if fast_compile else {}
    try:
        jax.jit(lambda x: x).lower(0.0).compile(compiler_options=CPU_OPTIONS)
    except jax.errors.JaxRuntimeError:  # it has no such options any more
        return found
    return found | CPU_OPTIONS


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(*leaves: Any) -> Any:
        return function(*leaves)

    call.__name__ = name
    return call


@lru_cache(maxsize=1)
def _sources() -> str:
    """A hash over the package's code that may be traced."""
    package = Path(__file__).parents[1]
    return hash_code(
        package / name
        for name in ("foundation", "algebra", "lie", "airframe", "dynamics", "simulation", "estimation")
    )


def hash_code(folders: Iterable[Path]) -> str:
    """A hash over every Python file below the folders, at any depth: its path and its content."""
    digest = hashlib.sha256()
    for folder in folders:
        for file in sorted(folder.rglob("*.py")):
            digest.update(file.relative_to(folder).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _export(function: Callable[..., Any], structs: list[Any]) -> Any:
    """The program, or None of a function that `jax.export` refuses: it is then traced in every process.

    A fault of the function itself is not lost: it comes again where the function is compiled without this.
    """
    try:
        return jax.export.export(jax.jit(function), platforms=("cpu",))(*structs)
    except (ValueError, TypeError, NotImplementedError):
        return None


def _write(file: Path, exported: Any) -> None:
    """Keep a program, and no more than `MOST` of them; where the folder cannot be written nothing is kept."""
    code = bytes(exported.mlir_module_serialized)
    head = {
        "results": [[list(x.shape), np.dtype(x.dtype).name] for x in exported.out_avals],
        "convention": exported.calling_convention_version,
        "kept": list(exported.module_kept_var_idx),
        "sha256": hashlib.sha256(code).hexdigest(),
    }
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as stream:
            stream.write(json.dumps(head).encode() + b"\n" + code)
        there = sorted(file.parent.iterdir(), key=lambda f: f.stat().st_mtime, reverse=True)
        for old in there[MOST:]:
            old.unlink(missing_ok=True)
    except (OSError, HaltereError):
        return


def _read(file: Path, structs: list[Any]) -> Any:
    """The program as `jax.export` gave it; None if there is none that can be used."""
    try:
        first, _, code = file.read_bytes().partition(b"\n")
        head = json.loads(first)
        if hashlib.sha256(code).hexdigest() != head["sha256"]:
            return None
        results = tuple(_aval(shape, name) for shape, name in head["results"])
        changes = {
            "fun_name": file.name,
            "in_tree": jax.tree.structure((tuple(structs), {})),
            "in_avals": tuple(_aval(s.shape, s.dtype) for s in structs),
            "out_tree": jax.tree.structure(list(results)),
            "out_avals": results,
            "mlir_module_serialized": code,
            "calling_convention_version": head["convention"],
            "module_kept_var_idx": tuple(head["kept"]),
        }
        blank = _blank()
        for one in fields(blank):
            if "shardings" in one.name and isinstance(getattr(blank, one.name), tuple):
                changes[one.name] = (None,) * len(structs if "in_" in one.name else results)
        return replace(blank, **changes)
    except (OSError, ValueError, KeyError, TypeError):
        return None


@lru_cache(maxsize=1)
def _blank() -> Any:
    """A program that does nothing, to be replaced by another."""
    return jax.export.export(jax.jit(lambda x: [x]), platforms=("cpu",))(jax.ShapeDtypeStruct((), np.float64))


def _aval(shape: Any, dtype: Any) -> Any:
    return jax.core.ShapedArray(tuple(shape), np.dtype(dtype))
