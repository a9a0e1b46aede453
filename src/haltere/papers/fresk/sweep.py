"""The sweep of [Fresk2017] Section IV-B: a one-joint arm below the Neo turns from -40 to -130 degrees and back in 20 s.

The paper prints no numbers of its arm. Here it has 0.25 kg at 0.247 m from a joint in the nominal centre, so that with
theta from the body's x axis (an angle of -90 degrees hangs straight down)

    p_CoG,x = alpha cos(theta) + beta,   alpha = 19.9 mm: 14 mm to either side                            (1)

which is (21) of the paper with the cosine that its angle asks for. The plant is the whole multibody, so the arm reacts
on the body. The wash of the front rotors pushes the arm down while it is forward of -60 degrees, which both estimators
see as a shift to +x, as the paper describes.
"""

from dataclasses import replace
from functools import cache

import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, Joint, Link, from_catalogue
from haltere.control import GeometricController
from haltere.control import start as on_path
from haltere.control.dither import Dither
from haltere.dynamics import State
from haltere.estimation.cog.filter import CogFilter
from haltere.estimation.cog.settings import CogSettings
from haltere.estimation.cog.vehicle import CogNumbers
from haltere.foundation.arrays import Array, ArrayLike
from haltere.papers.fresk.case import Case, CogLog, Source
from haltere.papers.fresk.experiments import bandwidths
from haltere.papers.fresk.loop import RATE, TORQUE_NOISE, CogLoop
from haltere.papers.fresk.paper_filter import PaperCogFilter
from haltere.simulation import Vehicle
from haltere.trajectory import hover

ARM_MASS, ARM_LENGTH = 0.25, 0.247
MIDDLE, SWING = np.deg2rad(-85.0), np.deg2rad(45.0)
PERIOD, REST, DURATION = 20.0, 2.0, 22.0
"""s: of the sweep, before it, and of the flight."""
PRODUCT = 110.0
"""k_x k_R, s^-4: without compensation the sweep then moves the vehicle by about 150 mm rms."""
WASH = 0.5
"""N on the arm at -40 degrees."""
WRONG = 0.9
"""Arm mass that the filter with joint angle believes, over the true one."""


def armed(mass: float = ARM_MASS) -> Airframe:
    """The Neo with the arm; the joint turns about -y, so that a negative angle points down."""
    rod = mass * ARM_LENGTH**2 / 3.0
    arm = Link(
        name="arm",
        joint=Joint(origin=(0.0, 0.0, 0.0), axis=(0.0, -1.0, 0.0)),
        mass=mass,
        com=(ARM_LENGTH, 0.0, 0.0),
        inertia=(0.01 * rod, rod, rod, 0.0, 0.0, 0.0),
    )
    return from_catalogue("neo").model_copy(update={"links": (arm,)})


def angle(time: Array) -> Array:
    """() of the joint at a time in s, rad."""
    phase = 2.0 * jnp.pi * jnp.clip(time - REST, 0.0, PERIOD) / PERIOD
    return jnp.asarray(MIDDLE + SWING * jnp.cos(phase))


def wash(time: Array, state: State) -> Array:
    """(2, 6) wrench of the rotor wash on body and arm, each in its own axes about its origin, N and N m."""
    theta = state.joint_angles[0]
    share = jnp.clip((jnp.rad2deg(theta) + 60.0) / 20.0, 0.0, 1.0)
    down = -WASH * share * jnp.stack([jnp.sin(theta), 0.0 * theta, jnp.cos(theta)])
    turn = jnp.cross(jnp.asarray([ARM_LENGTH, 0.0, 0.0]), down)
    return jnp.stack([jnp.zeros(6), jnp.concatenate([down, turn])])


@cache
def sweep_loop(with_angle: bool = False) -> CogLoop:
    """The Neo with the arm; the filter knows the joint angle and a wrong arm mass, or no arm motion at all."""
    truth = armed()
    middle = jnp.asarray([MIDDLE])
    believed = armed(WRONG * ARM_MASS) if with_angle else truth
    settings = CogSettings().with_joints() if with_angle else CogSettings()
    ours = CogFilter.from_airframe(believed, settings, middle)
    return CogLoop(
        Vehicle.from_airframe(truth),
        ours,
        PaperCogFilter(CogNumbers.from_airframe(truth, middle)),
        DURATION,
        push=wash,
        joints=lambda time: angle(time)[None],
        measured_joints=with_angle,
    )


@cache
def controller(product: float = PRODUCT) -> GeometricController:
    """The controller for the arm in the middle of its sweep."""
    return GeometricController.from_airframe(armed(), jnp.asarray([MIDDLE]), bandwidths(product))


def true_com(angles: ArrayLike) -> np.ndarray:
    """(..., 3) centre of mass at joint angles (...), body axes, m."""
    total = from_catalogue("neo").total_mass + ARM_MASS
    theta = np.asarray(angles)
    x, z = np.cos(theta), np.sin(theta)
    return np.asarray(ARM_MASS * ARM_LENGTH / total * np.stack([x, 0.0 * x, z], axis=-1))


def sweep_case(
    key: Array,
    loop: CogLoop,
    source: Source = Source.OURS,
    noise: float = TORQUE_NOISE,
    strength: float = 0.0,
) -> Case:
    """One flight, in balance at the beginning; `strength` is that of the rotor wash."""
    flying, path = controller(), hover((0.0, 0.0, 2.0), 0.0, DURATION)
    first = angle(jnp.zeros(()))[None]
    com = jnp.asarray(true_com(first)[0])
    balanced = flying.with_vehicle(replace(flying.vehicle, com=com))
    nominal = loop.filter.numbers.posed(first if loop.measured_joints else None).vehicle.com
    return Case(
        key,
        jnp.asarray(int(source)),
        flying,
        path,
        on_path(loop.vehicle.model, balanced, path, joint_angles=first),
        0.0 * com if source is Source.NOTHING else com - nominal,
        jnp.asarray(noise, float),
        jnp.asarray(strength, float),
        jnp.zeros(6),
        None,
        jnp.full(3, jnp.inf),
        Dither(jnp.zeros(())),
    )


def tracked(log: CogLog, estimates: ArrayLike) -> tuple[float, float]:
    """Rms error of x in m from the beginning of the sweep, and the lag in s that explains most of the mean error."""
    k = round(REST * RATE)
    true = true_com(log.angles[..., 0])[:, k:, 0]
    got = np.asarray(estimates)[:, k:, 0]
    mean, wanted = got.mean(axis=0), true.mean(axis=0)
    late = range(round(0.6 * RATE))
    misfit = [np.mean((mean[n:] - wanted[: len(wanted) - n]) ** 2) for n in late]
    return float(np.sqrt(np.mean((got - true) ** 2))), int(np.argmin(misfit)) / RATE


def fit_21(angles: ArrayLike, places: ArrayLike) -> tuple[float, float]:
    """Alpha and beta of equation (1) in the least square sense, m, from x places (N,) at angles (N,)."""
    theta = np.asarray(angles)
    table = np.column_stack([np.cos(theta), np.ones_like(theta)])
    alpha, beta = np.linalg.lstsq(table, np.asarray(places), rcond=None)[0]
    return float(alpha), float(beta)
