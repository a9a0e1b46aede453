"""Simulators of others, measured in an environment of their own: a script, with nothing of Haltere in it.

    python peers.py crazyflow        (or rotorpy)

prints one JSON object: steps per second by batch size, or the reason why there are none. The task is the same for
all: a quadrotor as one rigid body with motor lag, held motor speeds, steps of 1 ms. crazyflow is run with its
first-principles dynamics and fixed-step RK4, with the number type that JAX_ENABLE_X64 says; rotorpy computes with
64 bits, by its default adaptive integrator for one vehicle, and by RK4 for a batch (which needs torch).
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

STEPS = {1: 50_000, 100: 5_000, 10_000: 100}
"""Steps of one call, by batch size."""
DT = 1e-3
"""One step, s."""


def best_rate(call: Callable[[], Any], steps: int, repeats: int = 9) -> float:
    """Steps per CPU second, all threads counted: the best of several calls that take `steps` steps each.

    The first call, which compiles, is not counted; `call` returns when all is computed.
    """
    call()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return steps / min(times)


def crazyflow(batch: int) -> float:
    """Steps per second of crazyflow, all its steps in one call."""
    from crazyflow.control import Control  # type: ignore[import-not-found]  # noqa: I001, PLC0415
    from crazyflow.dynamics import Dynamics  # type: ignore[import-not-found]  # noqa: PLC0415
    from crazyflow.sim import Sim  # type: ignore[import-not-found]  # noqa: PLC0415
    from crazyflow.sim.integration import Integrator  # type: ignore[import-not-found]  # noqa: PLC0415
    import jax  # noqa: PLC0415
    import jax.numpy as jnp  # noqa: PLC0415

    sim = Sim(
        n_worlds=batch,
        dynamics=Dynamics.first_principles,
        control=Control.rotor_vel,
        integrator=Integrator.rk4,
        freq=round(1.0 / DT),
    )
    sim.rotor_vel_control(jnp.full((batch, 1, 4), 15_000.0))
    steps = STEPS[batch]

    def fly() -> None:
        sim.step(steps)
        jax.block_until_ready(sim.data.states)

    return best_rate(fly, steps * batch)


def rotorpy(batch: int) -> float:
    """Steps per second of rotorpy, which is called for each step."""
    import numpy as np  # noqa: PLC0415
    from rotorpy.vehicles.crazyflie_params import quad_params  # type: ignore[import-not-found]  # noqa: PLC0415
    from rotorpy.vehicles.multirotor import Multirotor  # type: ignore[import-not-found]  # noqa: PLC0415

    start = {
        "x": np.zeros(3),
        "v": np.zeros(3),
        "q": np.array([0.0, 0.0, 0.0, 1.0]),
        "w": np.array([0.1, -0.2, 0.3]),
        "wind": np.zeros(3),
        "rotor_speeds": np.full(4, 1500.0),
    }
    if batch == 1:
        vehicle = Multirotor(quad_params, initial_state=start, aero=False)
        speeds = {"cmd_motor_speeds": np.full(4, 1600.0)}
        return _called_step_by_step(lambda state: vehicle.step(state, speeds, DT), start, 200)

    import torch  # type: ignore[import-not-found]  # noqa: PLC0415
    from rotorpy.vehicles.multirotor import (  # noqa: PLC0415
        BatchedMultirotor,
        BatchedMultirotorParams,
    )

    torch.set_num_threads(1)
    device = torch.device("cpu")
    starts = {key: torch.tensor(np.tile(value, (batch, 1))).double() for key, value in start.items()}
    numbers = BatchedMultirotorParams([quad_params] * batch, batch, device)
    many = BatchedMultirotor(numbers, batch, starts, device, aero=False, integrator="rk4")
    wanted = {"cmd_motor_speeds": torch.full((batch, 4), 1600.0).double()}
    every = torch.arange(batch)  # the default, a list of all numbers, is several times slower
    return batch * _called_step_by_step(lambda state: many.step(state, wanted, DT, every), starts, 20)


def _called_step_by_step(step: Callable[[Any], Any], start: Any, steps: int) -> float:
    def fly() -> None:
        state = start
        for _ in range(steps):
            state = step(state)

    return best_rate(fly, steps)


PEERS = {"crazyflow": crazyflow, "rotorpy": rotorpy}


def measured(peer: str) -> dict[str, float | str]:
    """Steps per second by batch size; where there are none, which package is missing."""
    rates: dict[str, float | str] = {}
    for batch in STEPS:
        try:
            rates[str(batch)] = PEERS[peer](batch)
        except ImportError as error:
            rates[str(batch)] = f"not installed: {error}"
    return rates


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measured(sys.argv[1])) + "\n")
