"""Speed beside the peers that are installed: all in one run, so that the ratios hold on any machine.

Times are CPU time of the process, so what several cores do is added up: "per vehicle" is per vehicle and core.
Simulators are measured in processes of their own, see `haltere.bench.simulation`.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, from_catalogue, loads
from haltere.algebra import batched
from haltere.bench.blackbox import blackbox_rows
from haltere.bench.filter import cog_rows, filter_rows
from haltere.bench.identify import identify_rows
from haltere.bench.simulation import simulation_rows
from haltere.dynamics import Drive, Model, State, acceleration_derivatives, forward_dynamics
from haltere.foundation.arrays import Array
from haltere.papers.blaha.timings import throw_rows, timing_row
from haltere.papers.hong.pinocchio import Peer, PeerError
from haltere.papers.tables import Progress, silent

BATCH = 1000


def run_bench(progress: Progress | None = None) -> list[dict[str, Any]]:
    """Every benchmark; a row has `name, value, unit, peer, peer_value, ratio`, ratio = how many times faster we are."""
    progress = progress or silent
    airframe = from_catalogue("hong-quadrotor")
    rows = []
    progress("acceleration of a quadrotor with four spinning rotors")
    rows.append(
        _beside(
            f"acceleration, batch {BATCH}", _acceleration(airframe), "pin.aba", _peer_time(airframe, "aba")
        )
    )
    progress("derivatives of the same")
    peer = _peer_time(airframe, "computeABADerivatives")
    rows.append(
        _beside(f"derivatives, batch {BATCH}", _derivatives(airframe), "pin.computeABADerivatives", peer)
    )
    progress("compilation for 8 rotors and 4 tilting links")
    rows.append(
        timing_row("compile forward dynamics, 8 rotors and 4 links", _compile_time(), "s", "bound", 5.0)
    )
    progress("one tick of centre-of-gravity filter and allocation")
    rows += cog_rows()
    progress("decoder of Blackbox logs")
    rows += blackbox_rows()
    rows += filter_rows(progress)
    rows += identify_rows(progress)
    progress("thrust axis and recursive least squares")
    rows += throw_rows()
    return rows + simulation_rows(progress)


def _beside(name: str, seconds: float, peer: str, peer_seconds: float | None) -> dict[str, Any]:
    note = peer if peer_seconds is not None else f"{peer} (not installed)"
    return timing_row(
        name, 1e6 * seconds, "us per vehicle", note, None if peer_seconds is None else 1e6 * peer_seconds
    )


def best_time(call: Callable[[], Any], calls: int, repeats: int = 5) -> float:
    """CPU seconds of one call, the best of several rounds of `calls` calls each; the first call is not counted."""
    jax.block_until_ready(call())
    rounds = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(calls):
            result = call()
        jax.block_until_ready(result)
        rounds.append((time.process_time() - start) / calls)
    return min(rounds)


def random_flight(model: Model, batch: int, seed: int = 0) -> tuple[Array, ...]:
    """Attitudes (batch, 4), twists (batch, 6), rotor angles, speeds and torques (batch, R) of order one."""
    rng = np.random.default_rng(seed)
    wxyz = rng.normal(size=(batch, 4))
    rotors = model.topology.rotors
    return (
        jnp.asarray(wxyz / np.linalg.norm(wxyz, axis=1, keepdims=True)),
        jnp.asarray(rng.normal(size=(batch, 6))),
        jnp.asarray(rng.normal(size=(batch, rotors))),
        jnp.asarray(300.0 + rng.normal(size=(batch, rotors))),
        jnp.asarray(0.01 * rng.normal(size=(batch, rotors))),
    )


def _situation(
    model: Model, wxyz: Array, twist: Array, angles: Array, rates: Array, torques: Array
) -> tuple[State, Drive]:
    none = jnp.zeros(0)
    drive = Drive(none, torques, (), (True,) * model.topology.rotors)
    return State(jnp.zeros(3), wxyz, twist, none, none, angles, rates), drive


def _acceleration(airframe: Airframe) -> float:
    model = Model.from_airframe(airframe)

    def one(*numbers: Array) -> tuple[Array, Array]:
        motion = forward_dynamics(model, *_situation(model, *numbers))
        return motion.acceleration, motion.rotor_accelerations

    return best_time(partial(batched(one), *random_flight(model, BATCH)), 50) / BATCH


def _derivatives(airframe: Airframe) -> float:
    model = Model.from_airframe(airframe)

    def one(*numbers: Array) -> tuple[Array, Array, Array]:
        result = acceleration_derivatives(model, *_situation(model, *numbers))
        return result.d_configuration, result.d_velocity, result.d_drive

    return best_time(partial(batched(one), *random_flight(model, BATCH)), 10) / BATCH


def _peer_time(airframe: Airframe, function: str) -> float | None:
    try:
        peer = Peer(airframe)
    except PeerError:
        return None
    pin, rng = peer.pin, np.random.default_rng(0)
    q, v, tau = (
        pin.randomConfiguration(peer.model),
        rng.normal(size=peer.model.nv),
        rng.normal(size=peer.model.nv),
    )
    return best_time(partial(getattr(pin, function), peer.model, peer.data, q, v, tau), 2000)


def _compile_time() -> float:
    """Seconds of wall time to trace and compile the forward dynamics; a new constant keeps it out of any cache."""
    model = Model.from_airframe(loads(MANY_LINKS))
    state, drive, new = State.rest(model), Drive.torques(model), float(time.time_ns())
    start = time.perf_counter()
    jax.jit(lambda m, s, d: (forward_dynamics(m, s, d), new)).lower(model, state, drive).compile()
    return time.perf_counter() - start


def _many_links() -> str:
    inertia = "[1e-3, 1e-3, 1e-3, 0, 0, 0]"
    text = 'name = "many"\n[body]\nmass = 1.0\ninertia = [0.01, 0.01, 0.02, 0, 0, 0]\n'
    for i in range(4):
        text += f'[[links]]\nname = "tilt{i}"\nmass = 0.1\ninertia = {inertia}\n'
        text += f"joint = {{ origin = [0.1, {0.1 * i}, 0], axis = [0, 1, 0] }}\n"
    for i in range(8):
        link = f"tilt{i}" if i < 4 else "body"
        text += (
            f'[[rotors]]\nname = "r{i}"\nlink = "{link}"\nposition = [0.1, {0.1 * i}, 0]\naxis = [0, 0, 1]\n'
        )
        text += (
            f'spin = "cw"\nthrust_coefficient = 1e-5\ntorque_ratio = 0.02\nmass = 0.01\ninertia = {inertia}\n'
        )
    return text


MANY_LINKS = _many_links()
"""Eight rotors, four of them on tilting links."""
