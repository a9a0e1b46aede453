"""Experiments of [Fresk2017] Section IV: a mass that drops from a lever arm, an arm that sweeps below the vehicle.

Step (Section IV-A), Table II: the Neo of 2.853 kg, a lever arm of 53 g and a mass of 36 g, each with its centre of
gravity; heights are not printed and taken as zero. While the mass hangs the centre of gravity stands at (22.1, -9.75)
mm, afterwards at (11.1, -5.09) mm: mass and inertia change with it, and the filters know nothing of either. Without
compensation the vehicle settles where the attitude error balances the torque and the position error the tilt, with
gains k per mass and per inertia:

    e_x = g^2 (m / I) dl / (k_x k_R)                                                                       (1)

Sweep (Section IV-B): a one-joint arm below the Neo rotates from -40 to -130 degrees and back in 20 s. The paper prints
no numbers of its arm. Here it has 0.25 kg at 0.247 m from a joint in the nominal centre, so that with theta from the
body's x axis (an angle of -90 degrees hangs straight down)

    p_CoG,x = alpha cos(theta) + beta,   alpha = 19.9 mm: 14 mm to either side                            (2)

which is [Fresk2017] eq. (21) with the cosine that its angle asks for. The plant is the whole multibody, so the arm
reacts on the body. The wash of the front rotors pushes the arm down while it is forward of -60 degrees, which both
estimators see as a shift to +x, as the paper describes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, Joint, Link, from_catalogue
from haltere.control import Bandwidths, GeometricController, start_on_trajectory
from haltere.control.dither import Dither
from haltere.dynamics import State
from haltere.estimation.cog.core import CogCore
from haltere.estimation.cog.vehicle import CogNumbers
from haltere.foundation.arrays import Array, ArrayLike
from haltere.papers.fresk.loop import RATE, SETTINGS, TORQUE_NOISE, CogCase, CogLog, CogLoop, CogSource
from haltere.papers.fresk.paper_filter import PaperCogFilter
from haltere.simulation import Vehicle
from haltere.simulation.payload import Payload
from haltere.trajectory import hover, lissajous

NEO = 2.853
ARM = (0.053, (0.610, -0.279, 0.0))
"""Mass in kg and position in m of the lever arm, [Fresk2017] Table II."""
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
def step_loop(measured_speeds: bool = True, dithered: bool = False) -> CogLoop:
    """The Neo with the lever arm; a case's `load` is the time of the drop, s, and the position of the mass (3,), m."""

    def payloads(load: Any) -> tuple[Payload, ...]:
        drop, arm, weight = load
        return Payload(arm[0], arm[1:]), Payload(weight[0], weight[1:], drop=drop)

    neo = from_catalogue("neo")
    return CogLoop.carrying(neo, DURATION, payloads, measured_speeds=measured_speeds, dithered=dithered)


@cache
def controller(product: float) -> GeometricController:
    """The geometric controller with one of the gain sets, without integral action as in the paper."""
    return GeometricController.from_airframe(from_catalogue("neo"), bandwidths=bandwidths(product))


def hanging_masses(arm: Any = ARM, weight: Any = WEIGHT, drop: float = DROP) -> tuple[Any, Any, Any]:
    """What hangs on the vehicle, as numbers."""
    return (
        jnp.asarray(drop, float),
        jnp.asarray([arm[0], *arm[1]], float),
        jnp.asarray([weight[0], *weight[1]], float),
    )


def step_case(
    key: Array,
    source: CogSource = CogSource.OURS,
    noise: float = TORQUE_NOISE,
    product: float = PRODUCTS[0],
    thrust: Sequence[float] | None = None,
    amplitude: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    cycles: Sequence[float] = (6.0, 8.0, 4.0, 2.0),
    load: tuple[Any, Any, Any] | None = None,
    offset: Sequence[float] | np.ndarray = tuple(BEFORE),
    faults: Sequence[float] = (np.inf, np.inf, np.inf),
    dither: float = 0.0,
) -> CogCase:
    """One flight: hovering, or along a figure of `amplitude`; the flight begins in balance with `offset`.

    `dither` is the share of the hover's squared speeds by which the rotors change one against the other.
    """
    flying, model = controller(product), step_loop().vehicle.model
    path = lissajous(cycles, DURATION, amplitude, HOVER)
    known = jnp.asarray(offset, float)
    balanced = flying.with_vehicle(replace(flying.vehicle, com=flying.vehicle.com + known))
    return CogCase(
        key,
        jnp.asarray(int(source)),
        flying,
        path,
        start_on_trajectory(model, balanced, path),
        known,
        jnp.asarray(noise, float),
        jnp.zeros(()),
        jnp.zeros(6) if thrust is None else jnp.asarray(thrust, float),
        load or hanging_masses(),
        jnp.asarray(faults, float),
        Dither(jnp.asarray(dither, float)),
    )


@dataclass(frozen=True)
class StepResult:
    """What a set of step flights gave, x and y."""

    rise_time: float
    """s after the drop at which the mean over the seeds, along the step, first passes 90 % of it."""
    rms: np.ndarray
    """(2,) m, of the error from 3 s after the drop, over time and seeds."""


def evaluate_step(values: ArrayLike) -> StepResult:
    """From estimates (seeds, ticks, 3) in m."""
    estimates = np.asarray(values)
    k, step = round(DROP * RATE), (AFTER - BEFORE)[:2]
    passed = (estimates.mean(axis=0)[k:, :2] - BEFORE[:2]) @ step >= 0.9 * (step @ step)
    rise_time = float(passed.argmax() / RATE) if passed.any() else float("inf")
    error = estimates[:, k + round(SETTLED * RATE) :, :2] - AFTER[:2]
    return StepResult(rise_time, np.sqrt(np.mean(error**2, axis=(0, 1))))


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


ARM_MASS, ARM_LENGTH = 0.25, 0.247
MIDDLE, SWING = np.deg2rad(-85.0), np.deg2rad(45.0)
PERIOD, REST = 20.0, 2.0
SWEEP_DURATION = 22.0
"""s: of the sweep, before it, and of the flight."""
PRODUCT = 110.0
"""k_x k_R, s^-4: without compensation the sweep then moves the vehicle by about 150 mm rms."""
WASH = 0.5
"""N on the arm at -40 degrees."""
WRONG = 0.9
"""Arm mass that the filter with joint angle believes, over the true one."""


def airframe_with_arm(mass: float = ARM_MASS) -> Airframe:
    """The Neo with the arm; the joint rotates about -y, so that a negative angle points down."""
    rod = mass * ARM_LENGTH**2 / 3.0
    arm = Link(
        name="arm",
        joint=Joint(origin=(0.0, 0.0, 0.0), axis=(0.0, -1.0, 0.0)),
        mass=mass,
        com=(ARM_LENGTH, 0.0, 0.0),
        inertia=(0.01 * rod, rod, rod, 0.0, 0.0, 0.0),
    )
    return from_catalogue("neo").model_copy(update={"links": (arm,)})


def joint_angle(time: Array) -> Array:
    """() of the joint at a time in s, rad."""
    phase = 2.0 * jnp.pi * jnp.clip(time - REST, 0.0, PERIOD) / PERIOD
    return jnp.asarray(MIDDLE + SWING * jnp.cos(phase))


def rotor_wash(time: Array, state: State) -> Array:
    """(2, 6) wrench of the rotor wash on body and arm, each in its own axes about its origin, N and N m."""
    theta = state.joint_angles[0]
    share = jnp.clip((jnp.rad2deg(theta) + 60.0) / 20.0, 0.0, 1.0)
    down = -WASH * share * jnp.stack([jnp.sin(theta), 0.0 * theta, jnp.cos(theta)])
    turn = jnp.cross(jnp.asarray([ARM_LENGTH, 0.0, 0.0]), down)
    return jnp.stack([jnp.zeros(6), jnp.concatenate([down, turn])])


@cache
def sweep_loop(with_angle: bool = False) -> CogLoop:
    """The Neo with the arm; the filter knows the joint angle and a wrong arm mass, or no arm motion at all."""
    truth = airframe_with_arm()
    middle = jnp.asarray([MIDDLE])
    believed = airframe_with_arm(WRONG * ARM_MASS) if with_angle else truth
    ours = CogCore.from_airframe(believed, SETTINGS, middle)
    return CogLoop(
        Vehicle.from_airframe(truth),
        ours,
        PaperCogFilter(CogNumbers.from_airframe(truth, middle)),
        SWEEP_DURATION,
        push=rotor_wash,
        joints=lambda time: joint_angle(time)[None],
        measured_joints=with_angle,
    )


@cache
def sweep_controller(product: float = PRODUCT) -> GeometricController:
    """The controller for the arm in the middle of its sweep."""
    return GeometricController.from_airframe(airframe_with_arm(), jnp.asarray([MIDDLE]), bandwidths(product))


def true_com(angles: ArrayLike) -> np.ndarray:
    """(..., 3) centre of mass at joint angles (...), body axes, m."""
    total = from_catalogue("neo").total_mass + ARM_MASS
    theta = np.asarray(angles)
    x, z = np.cos(theta), np.sin(theta)
    return np.asarray(ARM_MASS * ARM_LENGTH / total * np.stack([x, 0.0 * x, z], axis=-1))


def sweep_case(
    key: Array,
    loop: CogLoop,
    source: CogSource = CogSource.OURS,
    noise: float = TORQUE_NOISE,
    strength: float = 0.0,
) -> CogCase:
    """One flight, in balance at the beginning; `strength` is that of the rotor wash."""
    flying, path = sweep_controller(), hover((0.0, 0.0, 2.0), 0.0, SWEEP_DURATION)
    first = joint_angle(jnp.zeros(()))[None]
    com = jnp.asarray(true_com(first)[0])
    balanced = flying.with_vehicle(replace(flying.vehicle, com=com))
    nominal = loop.filter.numbers.at_joint_angles(first if loop.measured_joints else None).vehicle.com
    return CogCase(
        key,
        jnp.asarray(int(source)),
        flying,
        path,
        start_on_trajectory(loop.vehicle.model, balanced, path, joint_angles=first),
        0.0 * com if source is CogSource.NOTHING else com - nominal,
        jnp.asarray(noise, float),
        jnp.asarray(strength, float),
        jnp.zeros(6),
        None,
        jnp.full(3, jnp.inf),
        Dither(jnp.zeros(())),
    )


def tracking_error(log: CogLog, estimates: ArrayLike) -> tuple[float, float]:
    """Rms error of x in m from the beginning of the sweep, and the lag in s that explains most of the mean error."""
    k = round(REST * RATE)
    true = true_com(log.angles[..., 0])[:, k:, 0]
    got = np.asarray(estimates)[:, k:, 0]
    mean, wanted = got.mean(axis=0), true.mean(axis=0)
    late = range(round(0.6 * RATE))
    misfit = [np.mean((mean[n:] - wanted[: len(wanted) - n]) ** 2) for n in late]
    return float(np.sqrt(np.mean((got - true) ** 2))), int(np.argmin(misfit)) / RATE


def fit_21(angles: ArrayLike, positions: ArrayLike) -> tuple[float, float]:
    """Alpha and beta of equation (2) in the least square sense, m, from x positions (N,) at angles (N,)."""
    theta = np.asarray(angles)
    table = np.column_stack([np.cos(theta), np.ones_like(theta)])
    alpha, beta = np.linalg.lstsq(table, np.asarray(positions), rcond=None)[0]
    return float(alpha), float(beta)
