"""Steps per second of the simulator beside other simulators, on one core.

    python -m haltere.bench.simulation

measures ours and prints one JSON object, steps per second by batch size; `simulation_rows` starts that, and the
script `peers.py` for the peers, as processes of their own with the same settings: one thread, the same number
type, CPU time of all threads. Peers are looked for in `.venv-peers` of the current folder (`make bench-peers` builds
it), or by the Python that HALTERE_PEERS names; those that are not found are named in the rows.

Our vehicle is the catalogue's `crazyflie` as one rigid body, its motors with first-order lag, by
`haltere.simulation.rollouts`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import from_catalogue
from haltere.bench import peers
from haltere.bench.peers import DT, PEERS, STEPS, best_rate
from haltere.dynamics import Model, State
from haltere.dynamics.model import locked_rotors
from haltere.dynamics.motors import Motors
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array
from haltere.papers.blaha.timings import timing_row
from haltere.papers.tables import Progress, silent
from haltere.simulation import Rollout, TiltServos, Vehicle, rollout

Rates = Mapping[str, float | str]

MODULE = "haltere.bench.simulation"
VEHICLE = "crazyflie"
PEERS_VARIABLE = "HALTERE_PEERS"
PEERS_FOLDER = ".venv-peers"
ONE_THREAD = {
    "JAX_PLATFORMS": "cpu",
    "NPROC": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
"""Settings of every process that measures."""
WAIT = 900.0
"""s, after which a process that measures is given up."""


def simulation_rows(progress: Progress | None = None) -> list[dict[str, Any]]:
    """A row for each batch size, number type and peer; `value` and `peer_value` in steps/s, ratio = ours / theirs.

    Rows of one batch size and number type share our value. rotorpy has 64 bits only and stands beside our 64 bits.
    """
    progress = progress or silent
    python = peer_python()
    rows = []
    for bits in (32, 64):
        progress(f"simulation with {bits} bits")
        ours = _run([sys.executable, "-m", MODULE], bits)
        for peer in PEERS:
            if (peer, bits) == ("rotorpy", 32):
                continue
            progress(f"{peer} with {bits} bits")
            script = [str(python), "-I", peers.__file__, peer]
            theirs = _run(script, bits) if python else _nothing("not installed")
            rows += [_row(batch, bits, ours, peer, theirs) for batch in STEPS]
    return rows


def peer_python() -> Path | None:
    """The Python of the environment with the peers, None if there is none."""
    named = os.environ.get(PEERS_VARIABLE)
    if named and not Path(named).is_file():
        msg = (
            f"{PEERS_VARIABLE} is {named}, a Python interpreter is expected; unset it or run make bench-peers"
        )
        raise HaltereError(msg)
    found = Path(named) if named else Path(PEERS_FOLDER) / "bin" / "python"
    return found.absolute() if found.is_file() else None


def our_rates() -> dict[str, float]:
    """Steps per second of ours by batch size, with the number type that JAX is set to."""
    vehicle = rigid_vehicle(jnp.zeros(()).dtype)
    rates = {}
    for batch, steps in STEPS.items():
        fly, start = rollout(vehicle, DT, steps), flights(vehicle, batch)
        rates[str(batch)] = best_rate(partial(_finish, fly, start), steps * batch)
    return rates


def _finish(fly: Rollout, start: tuple[State, Array, Array]) -> None:
    jax.block_until_ready(fly(*start))


def rigid_vehicle(dtype: Any) -> Vehicle:
    """The vehicle of the benchmark: one rigid body with lagging motors."""
    airframe = from_catalogue(VEHICLE)
    body = locked_rotors(Model.from_airframe(airframe, dtype))
    return Vehicle(body, Motors.from_airframe(airframe), TiltServos.from_airframe(airframe))


def flights(vehicle: Vehicle, batch: int, seed: int = 0) -> tuple[State, Array, Array]:
    """States and targets that differ from vehicle to vehicle; without batch axis if there is one vehicle."""
    rng, topology = np.random.default_rng(seed), vehicle.model.topology
    rotors, joints = topology.rotors, topology.joints
    wxyz = rng.normal(size=(batch, 4))

    def near(mean: float, size: int) -> Array:
        return jnp.asarray(mean + rng.normal(size=(batch, size)))

    unit = jnp.asarray(wxyz / np.linalg.norm(wxyz, axis=1, keepdims=True))
    still, angles = jnp.zeros((batch, joints)), jnp.zeros((batch, rotors))
    state = State(near(0.0, 3), unit, near(0.0, 6), still, still, angles, near(1500.0, rotors))
    start = (state, near(1600.0, rotors), still)
    alone: tuple[State, Array, Array] = jax.tree.map(lambda x: x[0], start)
    return alone if batch == 1 else start


def _run(command: list[str], bits: int) -> Rates:
    """The JSON object that a process prints; the reason by batch size if there is none."""
    settings = {**os.environ, **ONE_THREAD, "JAX_ENABLE_X64": str(int(bits == 64))}
    try:
        done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=WAIT, check=True)
        rates: Rates = json.loads(done.stdout.splitlines()[-1])
    except subprocess.CalledProcessError as error:
        last = error.stderr.strip().splitlines()[-1:] or ["no message"]
        return _nothing(f"failed: {last[0]}")
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
        return _nothing(f"failed: {error}")
    return rates


def _nothing(reason: str) -> Rates:
    return {str(batch): reason for batch in STEPS}


def _row(batch: int, bits: int, ours: Rates, peer: str, theirs: Rates) -> dict[str, Any]:
    value, peer_value = ours[str(batch)], theirs[str(batch)]
    if isinstance(value, str):
        msg = f"our simulator could not be measured at batch {batch}: {value}; run python -m {MODULE} to see more"
        raise HaltereError(msg)
    return timing_row(
        f"simulation, batch {batch:,}, {bits} bits",
        value,
        "steps/s",
        f"{peer} ({peer_value})" if isinstance(peer_value, str) else peer,
        None if isinstance(peer_value, str) else peer_value,
        larger_is_faster=True,
    )


if __name__ == "__main__":
    sys.stdout.write(json.dumps(our_rates()) + "\n")
