"""How a worker of a campaign is set before its first batch: one XLA thread, 64 bits, shared compiled functions.

JAX is imported inside the functions, because the variables must be set before.
"""

import os
import threading
from dataclasses import dataclass
from pathlib import Path

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
class Setting:
    """How a worker sets JAX: one thread, 64 bits, compiled functions kept in `cache` (its own place if None)."""

    cache: str | None = None


_lock = threading.Lock()
_prepared: list[Setting] = []


def prepare_worker(setting: Setting) -> None:
    """Give this process one XLA thread, 64 bits and a shared place for compiled functions; once."""
    with _lock:
        if _prepared:
            return
        os.environ.update(ONE_THREAD)
        flags = os.environ.get("XLA_FLAGS", "")
        if XLA_FLAG not in flags:
            os.environ["XLA_FLAGS"] = f"{flags} {XLA_FLAG}".strip()
        import jax  # noqa: PLC0415  (only now, with the variables set)

        jax.config.update("jax_enable_x64", True)
        cache = setting.cache or jax.config.values["jax_compilation_cache_dir"] or default_cache()
        jax.config.update("jax_compilation_cache_dir", cache)
        # Many workers start often: small functions are worth sharing too.
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        _prepared.append(setting)


def default_cache() -> str:
    """Where compiled functions are kept unless somebody has chosen another folder."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return str(Path(home) / "haltere" / "jax")
