"""Flights for the self-calibrating filter, many at once, with sensors and noise of [Boehm2022], and vehicles to fly.

A flight follows a random figure of [Boehm2022] eq. (20) under geometric control at the IMU's rate, with the sensors
and the noise of its Section VI; the record begins when the vehicle has caught up with it. Without motor lag the rotor
speeds are held between two calls of the controller, as in the paper; with it they follow as `haltere.simulation` says
and the telemetry reports their mean over the step. In both cases

    true speed = reported speed + w_i,   w_i ~ N(0, sigma_i^2) once in each step,   sigma_i = 0.5 rev/s       (1)

as in [Boehm2022] eq. (8): the noise is in what the rotors do, not in what is said of them. The other way round a
filter without states for the rotor speeds finds them too weak, because a noisy regressor attenuates.

The vehicles are relatives of the Hummingbird: with rotors `tilted` as in [Boehm2022] Fig. 6, with more of them
(`ring`), in air (`dragged`), and with their inertia (`spinning`). The numbers that the paper leaves out are those of
RotorS.
"""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, from_catalogue
from haltere.airframe.airframe import Drag
from haltere.airframe.rotor import Inflow
from haltere.control import GeometricController, Integral, control_step
from haltere.dynamics import Environment, State
from haltere.dynamics.sensors.imu import specific_force_and_rate
from haltere.dynamics.sensors.noise import walk, white
from haltere.foundation.arrays import Array, pytree
from haltere.foundation.constants import GRAVITY
from haltere.lie import so3
from haltere.simulation import Gusts, Vehicle, along_wind, step_vehicle
from haltere.simulation.plant import accelerations
from haltere.trajectory import Paced, Trajectory, bounded, random_lissajous

ACCEL_BIAS = (-0.22, -0.21, 0.14)
"""m/s2, [Boehm2022] Table II."""
SPEED_SIGMA = 0.5 * 2.0 * np.pi
"""rad/s, [Boehm2022] Table III: 0.5 rev/s."""

LEAD = 2.0
"""Flown before the record begins, s."""


@dataclass(frozen=True)
class Conditions:
    """What a series of flights has in common."""

    duration: float = 30.0
    rate: float = 200.0
    """Of controller, IMU and rotor speed, Hz."""
    pose_every: int = 4
    """IMU samples for each pose."""
    lag: bool = False
    """Motors follow with the time constants of the airframe file, instead of at once."""
    substeps: int = 1
    """Plant steps for each IMU sample."""
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Mean, m/s, world axes."""
    gusts: bool = False
    amplitude: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    """Of the figure: m, m, m, rad."""
    outliers: float = 0.0
    """Share of poses that are wrong by half a metre and half a radian."""
    outage: tuple[float, float] | None = None
    """From when to when there is no pose, s."""
    pose_delay: int = 0
    """By how many poses a pose arrives late."""
    change: tuple[float, float, tuple[float, float, float]] | None = None
    """When something is picked up, s; the factor on the mass; by how much the centre of mass moves, m."""
    gentle: bool = False
    """Whether a figure beyond the vehicle's limits is flown slower, instead of as well as it can be."""


@pytree
@dataclass(frozen=True)
class Recording:
    """Truth and readings of B flights; leading axes (B, T), or (B, T / pose_every) for the pose."""

    state: State
    """True, at the beginning of each step."""
    speeds: Array
    """True mean over the step, rad/s."""
    imu: Array
    """(B, T, 6) specific force and rate as read."""
    bias: Array
    """(B, T, 6) true."""
    pose_position: Array
    """As they arrive, at the beginning of every `pose_every`-th step."""
    pose_wxyz: Array
    pose_valid: Array
    """Whether a pose arrived."""
    reported: Array
    """(B, T, R) rotor speeds as read, rad/s."""
    wind: Array
    """(B, T, 3) true, m/s."""


def fly(airframe: Airframe, seeds: Any, conditions: Conditions | None = None) -> Recording:
    """Fly `airframe` once for each seed."""
    wanted = conditions or Conditions()
    if not wanted.lag:
        rotors = tuple(rotor.model_copy(update={"time_constant": None}) for rotor in airframe.rotors)
        airframe = airframe.model_copy(update={"rotors": rotors})
    controller = GeometricController.from_airframe(airframe)
    keys = jnp.stack([jax.random.split(jax.random.key(int(seed)), 8) for seed in seeds])
    paths = [_path(controller, key[0], wanted) for key in keys]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *paths)
    batch = jax.jit(jax.vmap(partial(_one, airframe, controller, wanted)))
    recording: Recording = batch(stacked, keys)
    return recording


def changed(airframe: Airframe, conditions: Conditions) -> Airframe:
    """The airframe after the change in flight, if there is one; its inertia about the centre of mass stays."""
    if conditions.change is None:
        return airframe
    body, (_, factor, shift) = airframe.body, conditions.change
    com = tuple(float(c + d) for c, d in zip(body.com, shift, strict=True))
    return airframe.model_copy(
        update={"body": body.model_copy(update={"mass": factor * body.mass, "com": com})}
    )


def gusts_of(conditions: Conditions) -> Gusts:
    """The gusts that belong to the mean wind, 2 m above the ground; they count from the wind's direction."""
    return Gusts.low_altitude(float(np.linalg.norm(conditions.wind)), altitude=2.0)


def _path(controller: GeometricController, key: Array, wanted: Conditions) -> Paced:
    figure = random_lissajous(key, wanted.duration, wanted.amplitude, (0.0, 0.0, 2.0))
    figure = replace(figure, duration=figure.duration + LEAD)
    path = bounded(controller.vehicle, figure)[0] if wanted.gentle else figure
    return path if isinstance(path, Paced) else Paced(path, jnp.ones(()), jnp.zeros(()))


def _one(
    airframe: Airframe, controller: GeometricController, wanted: Conditions, path: Trajectory, keys: Array
) -> Recording:
    vehicle = Vehicle.from_airframe(airframe)
    laden = Vehicle.from_airframe(changed(airframe, wanted))
    model, imu = vehicle.model, airframe.imu[0]
    lead = round(LEAD * wanted.rate)
    samples = lead + round(wanted.duration * wanted.rate)
    period = 1.0 / wanted.rate
    dt = period / wanted.substeps
    gravity = jnp.asarray([0.0, 0.0, -GRAVITY])
    mean = jnp.asarray(wanted.wind)
    air = jnp.broadcast_to(mean, (samples, 3))
    if wanted.gusts:
        series = gusts_of(wanted).series(keys[7], samples, period)
        air = air + along_wind(mean, series)
    still = jnp.zeros(model.topology.joints)
    pickup = jnp.inf if wanted.change is None else LEAD + wanted.change[0]

    rattle = SPEED_SIGMA * jax.random.normal(keys[6], (samples, model.topology.rotors))

    def tick(carry: tuple[State, Integral], now: tuple[Array, Array, Array]) -> Any:
        state, integral = carry
        time, wind, noise = now
        squares, integral = control_step(controller, integral, state, path.at(time), period)
        target = jnp.sqrt(squares)
        state = replace(state, rotor_rates=(state.rotor_rates if wanted.lag else target) + noise)
        target = target + noise
        environment = Environment(gravity, wind)
        now_flown = jax.tree.map(lambda a, b: jnp.where(time >= pickup, b, a), vehicle, laden)
        motion = accelerations(now_flown, state, target, still, environment)

        def substep(state: State, _: None) -> tuple[State, Array]:
            later = step_vehicle(now_flown, state, target, still, environment, dt)[0]
            return later, 0.5 * (state.rotor_rates + later.rotor_rates)

        later, speeds = jax.lax.scan(substep, state, None, length=wanted.substeps)
        after = replace(later, rotor_rates=later.rotor_rates - noise)
        return (after, integral), (state, motion, jnp.mean(speeds, axis=0))

    reference = path.at(0.0)
    start = State.rest(model)
    start = replace(
        start,
        position=reference.position,
        twist=jnp.concatenate([reference.velocity, jnp.zeros(3)]),
        rotor_rates=jnp.sqrt(controller.hover.command),
    )
    times = jnp.arange(samples) * period
    _, (states, motions, speeds) = jax.lax.scan(tick, (start, Integral.zero()), (times, air, rattle))

    sampled = (states, motions, speeds, times, air, rattle)
    states, motions, speeds, times, air, rattle = jax.tree.map(lambda x: x[lead:], sampled)
    samples = samples - lead
    rotation = so3.from_wxyz(jnp.asarray(imu.wxyz))
    force, rate = specific_force_and_rate(
        model, states, motions, gravity, 0, jnp.asarray(imu.position), rotation
    )
    walks = [
        walk(keys[1], samples, 3, imu.sigma_accel_walk or 0.0, wanted.rate, jnp.asarray(ACCEL_BIAS)),
        walk(keys[2], samples, 3, imu.sigma_gyro_walk or 0.0, wanted.rate, jnp.zeros(3)),
    ]
    bias = jnp.concatenate(walks, axis=1)
    sigma = jnp.repeat(jnp.asarray([imu.sigma_accel or 0.0, imu.sigma_gyro or 0.0]), 3)
    readings = jnp.concatenate([force, rate], axis=1) + bias
    readings = readings + sigma * jax.random.normal(keys[3], (samples, 6))
    place, attitude, arrived = _poses(airframe, wanted, states, keys)
    return Recording(states, speeds, readings, bias, place, attitude, arrived, speeds - rattle, air)


def _poses(airframe: Airframe, wanted: Conditions, states: State, keys: Array) -> tuple[Array, Array, Array]:
    """Positions (K, 3), attitudes (K, 4) and whether they arrive (K,)."""
    pose = airframe.pose[0]
    seen = jax.tree.map(lambda x: x[:: wanted.pose_every], states)
    place = seen.position + jax.vmap(so3.from_wxyz)(seen.wxyz) @ jnp.asarray(pose.position)
    count = len(place)
    wrong = jax.random.uniform(jax.random.fold_in(keys[4], 1), (count, 1)) < wanted.outliers
    far = 0.5 * wrong * jax.random.normal(jax.random.fold_in(keys[4], 2), (count, 6))
    place = place + white(keys[4], count, 3, pose.sigma_position or 0.0) + far[:, :3]
    turn = white(keys[5], count, 3, pose.sigma_rotation or 0.0) + far[:, 3:]
    attitude = jax.vmap(lambda q, d: so3.box_plus_wxyz(so3.multiply_wxyz(q, jnp.asarray(pose.wxyz)), d))(
        seen.wxyz, turn
    )
    index, late = jnp.arange(count), wanted.pose_delay
    arrived = index >= late
    if wanted.outage is not None:
        time = index * wanted.pose_every / wanted.rate
        arrived = arrived & ~((time >= wanted.outage[0]) & (time < wanted.outage[1]))
    return jnp.roll(place, late, axis=0), jnp.roll(attitude, late, axis=0), arrived


HUB = 8.06428e-5
"""N/(rad/s)/(m/s), RotorS hummingbird.xacro: `rotor_drag_coefficient`."""
SPIN_INERTIA = 3.0e-5
"""kg m2, about its axis: a bar of 9 g and 0.2 m, as RotorS hummingbird.xacro has it."""


def tilted(degrees: float = 20.0) -> Airframe:
    """The Hummingbird with every thrust axis leaning outwards along its arm."""
    airframe, rotors = from_catalogue("hummingbird"), []
    lean, up = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    for rotor in airframe.rotors:
        x, y, _ = rotor.position
        arm = math.hypot(x, y)
        rotors.append(rotor.model_copy(update={"axis": (lean * x / arm, lean * y / arm, up)}))
    return airframe.model_copy(update={"name": f"hummingbird-tilted-{degrees:g}", "rotors": tuple(rotors)})


def ring(count: int) -> Airframe:
    """The Hummingbird with its rotors replaced by a ring of `count` equal ones."""
    airframe = from_catalogue("hummingbird")
    first, rotors = airframe.rotors[0], []
    for i in range(count):
        angle = 2.0 * math.pi * i / count
        place = (0.17 * math.cos(angle), 0.17 * math.sin(angle), 0.011)
        spin = "cw" if i % 2 == 0 else "ccw"
        rotors.append(first.model_copy(update={"name": f"r{i}", "position": place, "spin": spin}))
    return airframe.model_copy(update={"name": f"hummingbird-ring-{count}", "rotors": tuple(rotors)})


def dragged() -> Airframe:
    """The Hummingbird with hub forces at its rotors and the drag of a body of 0.01 m2 (0.02 m2 from above)."""
    airframe = from_catalogue("hummingbird")
    rotors = tuple(rotor.model_copy(update={"inflow": Inflow(hub=HUB)}) for rotor in airframe.rotors)
    body = airframe.body.model_copy(update={"drag": Drag(quadratic=(6e-3, 6e-3, 12e-3))})
    return airframe.model_copy(update={"name": "hummingbird-dragged", "rotors": rotors, "body": body})


def spinning() -> Airframe:
    """The Hummingbird whose rotors have the inertia that they have in RotorS; the vehicle as a whole stays the same."""
    airframe = from_catalogue("hummingbird")
    turning = {"mass": 1e-9, "inertia": (0.5 * SPIN_INERTIA, 0.5 * SPIN_INERTIA, SPIN_INERTIA, 0.0, 0.0, 0.0)}
    rotors = tuple(rotor.model_copy(update=turning) for rotor in airframe.rotors)
    xx, yy, zz, *rest = airframe.body.inertia
    half = 0.5 * SPIN_INERTIA * len(rotors)
    body = airframe.body.model_copy(update={"inertia": (xx - half, yy - half, zz - 2.0 * half, *rest)})
    return airframe.model_copy(update={"name": "hummingbird-spinning", "rotors": rotors, "body": body})
