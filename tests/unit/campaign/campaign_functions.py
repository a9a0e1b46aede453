"""Functions for campaigns under test; workers import them by name."""

import os
import signal
import time
from pathlib import Path

from haltere.campaign.runner import whole_batch

HERE = "tests.unit.campaign.campaign_functions"


def draw(case):
    import jax

    values = jax.random.normal(case.key, (3,))
    return {
        "sum": values.sum(),
        "values": values,
        "even": case.number % 2 == 0,
        "name": f"case {case.number}",
        "nothing": None,
        "scale": case.parameters.get("scale", 0.0),
    }


@whole_batch
def draw_together(cases):
    import jax
    import jax.numpy as jnp

    keys = jnp.stack([case.key for case in cases])
    values = jax.jit(jax.vmap(lambda key: jnp.cumsum(jnp.sin(jax.random.normal(key, (500,))))[-1]))(keys)
    return [{"value": value, "size": len(cases)} for value in values]


@whole_batch
def fail_together(cases):
    return [ValueError("odd") if case.number % 2 else {"x": 1.0} for case in cases]


@whole_batch
def answer_too_little(cases):
    return [{}]


def fail_some(case):
    if case.number % 3 == 1:
        raise ValueError("a number\nof two lines")
    if case.number == 5:
        raise SystemExit(3)
    if case.number == 6:
        return {"x": 1.0, "y": 2.0}
    if case.number == 8:
        return {"x": object()}
    return {"x": float(case.number)}


def halves(case):
    return {"x": case.number // 2 if case.number % 2 == 0 else 0.5 * case.number}


def settings(case):
    import jax
    import jax.numpy as jnp

    jnp.ones(10).sum().block_until_ready()
    return {
        "x64": bool(jax.config.values["jax_enable_x64"]),
        "cache": str(jax.config.values["jax_compilation_cache_dir"]),
        "flags": os.environ["XLA_FLAGS"],
        "start": __import__("multiprocessing").get_start_method(allow_none=True) or "",
        "pid": os.getpid(),
        "eigen": sum("XLAEigen" in (task / "comm").read_text() for task in Path("/proc/self/task").iterdir()),
    }


def die_once(case):
    mark = case.folder / "died"
    if case.number == case.parameters["victim"] and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return draw(case)


def die_always(case):
    if case.number == case.parameters["victim"]:
        os._exit(1)
    return draw(case)


def dawdle(case):
    """Slow until the file `go` is there."""
    go = case.folder / "go"
    time.sleep(0.05)
    while case.number >= 2 and not go.exists():
        time.sleep(0.05)
    return draw(case)
