"""One throw as Figures 5 and 6 of [Blaha2024] show it: commands, rotor speeds, accelerometer, and what is learnt when.

At every position (100 Hz) the sums are solved anew, as if the excitation ended there.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.estimation.throw.excitation import WAIT, excitation_time, order, pace
from haltere.estimation.throw.thrust_axis import thrust_axis
from haltere.foundation.arrays import Array, require_x64
from haltere.foundation.constants import GRAVITY
from haltere.foundation.numbers import Floats
from haltere.scenarios.throw.case import NOISES, RATE, TICK, Launch, Noise
from haltere.scenarios.throw.chain import HAND, PLACE, launch
from haltere.scenarios.throw.throws import Settings, case_of, told
from haltere.scenarios.throw.vehicles import Thrown, same_vehicles, template


@dataclass(frozen=True)
class Trace:
    """Over N positions, for m rotors; IMU axes.

    Attributes:
        time: (N,) s since release was noticed.
        starts: (m,) s, when each motor is first driven.
        command: (N, m) 0..1.
        speed: (N, m) rad/s.
        accel: (N, 3) m/s2.
        force: (N, 3, m) what was learnt, m/s2 per (rad/s)^2.
        truth: (3, m) of it.
        axis_error: (N,) rad, of the thrust axis.
    """

    time: Floats
    starts: Floats
    command: Floats
    speed: Floats
    accel: Floats
    force: Floats
    truth: Floats
    axis_error: Floats


def throw_trace(airframe: Airframe, seed: int = 0, settings: Settings | None = None) -> Trace:
    """Throw the vehicle of a file once and watch it learn."""
    require_x64()
    chosen = settings or Settings(noise="mems")
    rotors = len(airframe.rotors)
    key = jax.random.key(seed)
    vehicles = same_vehicles(airframe, 1)
    place, shape = told(vehicles, 1, chosen, jax.random.fold_in(key, 1))
    vehicle: Thrown = jax.tree.map(lambda x: x[0], vehicles)
    numbers = (chosen.height, chosen.spin, chosen.goal, NOISES[chosen.noise])
    height, spin, goal, noise = jax.tree.map(lambda x: jnp.asarray(x, float), numbers)
    seen = _watched(rotors)(vehicle, (place[0], shape[0]), key, height, spin, jnp.stack(goal), noise)
    found: dict[str, Floats] = {name: np.asarray(values) for name, values in seen.items()}
    after = found["time"] > 0.0
    starts = WAIT + pace(rotors) * np.asarray(order(rotors), float)
    truth = np.asarray(vehicle.force)
    cosine = np.clip(found["axis"] @ np.asarray(vehicle.axis), -1.0, 1.0)
    return Trace(
        found["time"][after],
        starts,
        found["command"][after],
        found["speed"][after],
        found["accel"][after],
        found["force"][after],
        truth,
        np.arccos(cosine)[after],
    )


@cache
def _watched(rotors: int) -> Any:
    """The launch with everything that `Trace` needs, compiled."""
    model, _ = template(rotors)
    ticks = int(np.ceil((HAND + 0.035 + excitation_time(rotors)) / TICK))

    def fly(
        vehicle: Thrown,
        known: tuple[Array, Array],
        key: Array,
        height: Array,
        spin: Array,
        goal: Array,
        noise: Noise,
    ) -> dict[str, Array]:
        def watch(now: Launch) -> dict[str, Array]:
            learnt, _ = now.learning.solve(RATE, noise=noise.accel, place=PLACE)
            thrust = thrust_axis(learnt.force, learnt.torque, squarings=10, gravity=GRAVITY)
            return {
                "time": now.throw.clock,
                "command": now.command,
                "speed": now.state.rotor_rates,
                "accel": now.learning.past[0, 3:6],
                "force": learnt.force,
                "axis": thrust.axis,
            }

        case = case_of(vehicle, known, key, height, spin, goal, noise)
        seen: dict[str, Array] = launch(model, case, noise, ticks, watch=watch)[2]
        return seen

    return jax.jit(fly)
