"""What a thrown vehicle computes at every tick, timed beside NumPy: thrust axis, recursive least squares."""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import qr

from haltere.estimation.core.rls import Recursive, update_single
from haltere.estimation.throw.thrust_axis import thrust_axis
from haltere.foundation.arrays import Array

BATCH = 1000
ROTORS = 6
POWERS = 16


def timing_row(
    name: str,
    value: float,
    unit: str,
    peer: str | None = None,
    peer_value: float | None = None,
    *,
    larger_is_faster: bool = False,
) -> dict[str, Any]:
    """A row of `haltere bench`; `ratio` is how many times faster we are than the peer, or than a bound asks."""
    ratio = None
    if peer_value is not None:
        ratio = value / peer_value if larger_is_faster else peer_value / value
    return {
        "name": name,
        "value": value,
        "unit": unit,
        "peer": peer,
        "peer_value": peer_value,
        "ratio": ratio,
    }


def throw_rows() -> list[dict[str, Any]]:
    """Rows of `haltere bench`; us of CPU time per call and vehicle."""
    rng = np.random.default_rng(0)
    F, T = rng.normal(size=(3, ROTORS)) * 1e-6 + 1e-6, rng.normal(size=(3, ROTORS)) * 1e-5
    phi, y = rng.normal(size=2 * ROTORS), rng.normal(size=3)
    begun = Recursive.prior(2 * ROTORS, 3)
    known = (np.zeros((2 * ROTORS, 3)), 100.0 * np.eye(2 * ROTORS))

    def axis(f: Array, t: Array) -> Array:
        return thrust_axis(f, t).axis

    def learn(state: Recursive, x: Array, z: Array) -> Recursive:
        return state.update(x, z, 0.9975)

    given = (begun, jnp.asarray(phi), jnp.asarray(y))
    rows = _both(
        "thrust-axis step, 6 rotors", axis, (jnp.asarray(F), jnp.asarray(T)), lambda: numpy_axis(F, T)
    )
    name = "recursive least squares, 12 regressors, 3 outputs"
    both = _both(name, learn, given, lambda: numpy_update(*known, phi, y))
    theta, P = known
    single = 1e6 * best_call(lambda: update_single(theta, P, 0.01 * np.eye(len(P)), phi, y, 0.9975), (), 300)
    beside = both[0]["peer_value"]
    label = f"{name}, single, in NumPy (update_single)"
    return [*rows, *both, timing_row(label, single, "us per call", "NumPy, single", beside)]


def axis_cost(rotors: int) -> float:
    """Us of CPU time per vehicle of one thrust-axis step in a batch, for a number of rotors."""
    rng = np.random.default_rng(rotors)
    given = (
        jnp.asarray(rng.normal(size=(BATCH, 3, rotors))),
        jnp.asarray(rng.normal(size=(BATCH, 3, rotors))),
    )
    return 1e6 * best_call(jax.jit(jax.vmap(lambda f, t: thrust_axis(f, t).axis)), given, 20) / BATCH


def _both(
    name: str, function: Callable[..., Any], single: tuple[Any, ...], peer: Callable[[], Any]
) -> list[dict[str, Any]]:
    many = jax.tree.map(lambda x: jnp.broadcast_to(x, (BATCH, *jnp.shape(x))), single)
    beside = 1e6 * best_call(peer, (), 300)
    rows = []
    for label, call, given, count, calls in (
        ("single, from Python", jax.jit(function), single, 1, 300),
        (f"batch {BATCH}, per vehicle", jax.jit(jax.vmap(function)), many, BATCH, 20),
    ):
        value = 1e6 * best_call(call, given, calls) / count
        rows.append(timing_row(f"{name}, {label}", value, "us per call", "NumPy, single", beside))
    return rows


def numpy_axis(F: np.ndarray, T: np.ndarray) -> np.ndarray:
    """The steps of [Blaha2024] Section 3.3 with LAPACK's pivoted QR and plain power iteration."""
    N = qr(T.T, pivoting=True)[0][:, 3:]
    B = F @ N
    A = B.T @ B
    v = np.ones(len(A))
    for _ in range(POWERS):
        v = A @ v
        v /= np.linalg.norm(v)
    u = N @ v
    d = F @ (u if u.sum() > 0.0 else -u)
    return np.asarray(d / np.linalg.norm(d))


def numpy_update(
    theta: np.ndarray, P: np.ndarray, phi: np.ndarray, y: np.ndarray, forgetting: float = 0.9975
) -> tuple[np.ndarray, np.ndarray]:
    """One step of least squares with exponential forgetting, as flight controllers have it."""
    spread = P @ phi
    gain = spread / (forgetting + phi @ spread)
    return theta + np.outer(gain, y - phi @ theta), (P - np.outer(gain, spread)) / forgetting


def best_call(function: Any, arguments: Any, calls: int, rounds: int = 5) -> float:
    """Seconds of CPU time of one call that waits for its result, best of several rounds."""
    jax.block_until_ready(function(*arguments))
    found = []
    for _ in range(rounds):
        begin = time.process_time()
        for _ in range(calls):
            jax.block_until_ready(function(*arguments))
        found.append((time.process_time() - begin) / calls)
    return min(found)
