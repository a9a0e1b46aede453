"""The step experiment of [Fresk2017] Section IV-A: a lever arm, a mass that drops from it, and what becomes of both.

Table II: the Neo of 2.853 kg, a lever arm of 53 g and a mass of 36 g, each with its centre of gravity; heights are not
printed and taken as zero. While the mass hangs the centre of gravity stands at (22.1, -9.75) mm, afterwards at (11.1,
-5.09) mm: mass and inertia change with it, and the filters know nothing of either.

Without compensation the vehicle settles where the attitude error balances the torque and the position error the tilt,
with gains k per mass and per inertia:

    e_x = g^2 (m / I) dl / (k_x k_R)                                                                       (1)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import from_catalogue
from haltere.control import Bandwidths, GeometricController
from haltere.control import start as on_path
from haltere.control.dither import Dither
from haltere.foundation.arrays import Array, ArrayLike
from haltere.papers.fresk.case import Case, CogLog, Source
from haltere.papers.fresk.loop import RATE, TORQUE_NOISE, CogLoop
from haltere.simulation.payload import Payload
from haltere.trajectory import lissajous

NEO = 2.853
ARM = (0.053, (0.610, -0.279, 0.0))
"""Mass in kg and place in m of the lever arm, [Fresk2017] Table II."""
WEIGHT = (0.036, (0.905, -0.386, 0.0))
"""The same of the mass that drops."""
HOVER = (0.0, 0.0, 2.0)
"""Where it hovers, m."""
DURATION = 20.0
DROP = 5.0
"""s."""
SETTLED = 3.0
"""s after the step from which errors count."""
PRODUCTS = (67.0, 200.0, 600.0)
"""k_x k_R in s^-4 of the three gain sets; 67 gives the paper's 0.27 m."""


def centre(*parts: tuple[float, tuple[float, float, float]]) -> np.ndarray:
    """(3,) centre of gravity of the Neo with point masses, m."""
    mass = NEO + sum(m for m, _ in parts)
    return np.asarray(sum(m * np.asarray(p) for m, p in parts) / mass)


BEFORE, AFTER = centre(ARM, WEIGHT), centre(ARM)


def bandwidths(product: float) -> Bandwidths:
    """Bandwidths with k_x k_R = `product` in s^-4, the attitude six times as fast as the position, no integral."""
    position = (product**0.5 / 6.0) ** 0.5
    return Bandwidths(position=position, attitude=6.0 * position, yaw=3.0 * position, integral=0.0)


@cache
def step_loop(measured_speeds: bool = True) -> CogLoop:
    """The Neo with the lever arm; a case's `load` is the time of the drop in s and the place of the mass (3,) in m."""

    def payloads(load: Any) -> tuple[Payload, ...]:
        drop, arm, weight = load
        return Payload(arm[0], arm[1:]), Payload(weight[0], weight[1:], drop=drop)

    return CogLoop.carrying(from_catalogue("neo"), DURATION, payloads, measured_speeds=measured_speeds)


@cache
def controller(product: float) -> GeometricController:
    """The geometric controller with one of the gain sets, without integral action as in the paper."""
    return GeometricController.from_airframe(from_catalogue("neo"), bandwidths=bandwidths(product))


def load_of(arm: Any = ARM, weight: Any = WEIGHT, drop: float = DROP) -> tuple[Any, Any, Any]:
    """What hangs on the vehicle, as numbers."""
    return (
        jnp.asarray(drop, float),
        jnp.asarray([arm[0], *arm[1]], float),
        jnp.asarray([weight[0], *weight[1]], float),
    )


def step_case(
    key: Array,
    source: Source = Source.OURS,
    noise: float = TORQUE_NOISE,
    product: float = PRODUCTS[0],
    thrust: Sequence[float] | None = None,
    amplitude: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    cycles: Sequence[float] = (6.0, 8.0, 4.0, 2.0),
    load: tuple[Any, Any, Any] | None = None,
    offset: Sequence[float] | np.ndarray = tuple(BEFORE),
    faults: Sequence[float] = (np.inf, np.inf, np.inf),
    dither: float = 0.0,
) -> Case:
    """One flight: hovering, or along a figure of `amplitude`; the flight begins in balance with `offset`.

    `dither` is the share of the hover's squared speeds by which the rotors change one against the other.
    """
    flying, model = controller(product), step_loop().vehicle.model
    path = lissajous(cycles, DURATION, amplitude, HOVER)
    known = jnp.asarray(offset, float)
    balanced = flying.with_vehicle(replace(flying.vehicle, com=flying.vehicle.com + known))
    return Case(
        key,
        jnp.asarray(int(source)),
        flying,
        path,
        on_path(model, balanced, path),
        known,
        jnp.asarray(noise, float),
        jnp.zeros(()),
        jnp.zeros(6) if thrust is None else jnp.asarray(thrust, float),
        load or load_of(),
        jnp.asarray(faults, float),
        Dither(jnp.asarray(dither, float)),
    )


@dataclass(frozen=True)
class StepResult:
    """What a set of step flights gave, x and y."""

    rise: float
    """s after the drop at which the mean over the seeds, along the step, first passes 90 % of it."""
    rms: np.ndarray
    """(2,) m, of the error from 3 s after the drop, over time and seeds."""


def step_result(given: ArrayLike) -> StepResult:
    """From estimates (seeds, ticks, 3) in m."""
    estimates = np.asarray(given)
    k, step = round(DROP * RATE), (AFTER - BEFORE)[:2]
    passed = (estimates.mean(axis=0)[k:, :2] - BEFORE[:2]) @ step >= 0.9 * (step @ step)
    rise = float(passed.argmax() / RATE) if passed.any() else float("inf")
    error = estimates[:, k + round(SETTLED * RATE) :, :2] - AFTER[:2]
    return StepResult(rise, np.sqrt(np.mean(error**2, axis=(0, 1))))


def keys(seed: int, runs: int, group: int = 0) -> list[Array]:
    """One key for each run, different from group to group."""
    return list(jax.random.split(jax.random.fold_in(jax.random.key(seed), group), runs))


def drift(product: float) -> np.ndarray:
    """(2,) m: equation (1) for the step of the experiment, from before the drop to after it."""
    vehicle = controller(product).vehicle
    weight = float(vehicle.gravity) ** 2 * float(vehicle.mass) / np.diagonal(np.asarray(vehicle.inertia))
    return np.asarray(np.abs(AFTER - BEFORE)[:2] * weight[[1, 0]] / product)


def settled_drift(log: CogLog) -> np.ndarray:
    """(2,) m: how far the vehicles stand from where they were before the drop, mean of the last 2 s."""
    late = log.position[:, -round(2.0 * RATE) :, :2].mean(axis=(0, 1))
    early = log.position[:, round((DROP - 1.0) * RATE) : round(DROP * RATE), :2].mean(axis=(0, 1))
    return np.asarray(late - early)
