"""From the hand to hover: one thrown vehicle that knows nothing of itself but what two tumbles told it.

It gets gyro, accelerometer, rotor speeds (2 kHz) and positions (100 Hz), never its attitude. Two parts, each one scan
over the positions with a scan over the samples of the IMU inside:

    launch   hand, release noticed, motors excited in turn, effectiveness and heading learnt
    hover    thrust axis, attitude by incremental inversion, position; thrust is allocated at 500 Hz

The plant is equation (1) of `haltere.dynamics.compact`, by the midpoint rule at 2 kHz; motors follow (3) of
`haltere.simulation.motors`. In the hand the vehicle is carried upwards with constant acceleration and growing spin, its
motors still. All functions take one vehicle; `haltere.studies.throw` maps them over many.
"""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from haltere.control.indi import HoverController
from haltere.dynamics import Environment, Motion, State
from haltere.dynamics.model import Model, leaves
from haltere.dynamics.sensing import lever_force, specific_force_at
from haltere.dynamics.solve import gravity_in_body
from haltere.estimation.biquad import LowPass
from haltere.estimation.effectiveness import Effectiveness, Learner, Learning, solve
from haltere.estimation.excitation import LIMIT, Throw
from haltere.estimation.thrust_axis import ThrustAxis, thrust_axis
from haltere.estimation.track import Heading, Track, about_up, level, turned
from haltere.foundation.arrays import Array, ArrayLike
from haltere.foundation.gravity import GRAVITY
from haltere.lie import so3
from haltere.simulation.step import rate_of_change
from haltere.studies.throw_vehicle import Thrown

RATE, SAMPLES = 2000.0, 20
DT = 1.0 / RATE
TICK = SAMPLES * DT
CONTROL = 4
"""Samples of the IMU for each allocation."""
HAND = 0.15
"""s of acceleration in the hand."""
RELEASE = 1.0
"""m above the ground."""
REST = 0.5
"""s at rest in the hand, for the first attitude."""
NOTICE = LowPass(60.0, RATE)
CONTROL_FILTER = LowPass(20.0, RATE)
GYRO_RANGE, ACCEL_RANGE = 34.9, 156.9
DOUBT = 0.15
"""Share of the largest squared speed by which a hover may seem out of reach and still be tried: noise does that."""


@leaves("gyro", "accel", "bias", "speed", "position")
@dataclass(frozen=True)
class Noise:
    """Of one sample, white; and what is left of the accelerometer's bias."""

    gyro: ArrayLike
    """rad/s."""
    accel: ArrayLike
    """m/s2."""
    bias: ArrayLike = 0.02
    speed: ArrayLike = 2.0
    """Of the rotor speeds, rad/s."""
    position: ArrayLike = 1e-3


NOISES = {
    "none": Noise(0.0, 0.0, 0.0, 0.0, 1e-3),
    "mems": Noise(4.89e-5 * RATE**0.5, 6.86e-4 * RATE**0.5),
    "strong": Noise(0.08, 0.8),
}
"""mems: data sheet of the ICM-42688-P, which [Blaha2024] flies; strong: that of the authors' simulation."""


@leaves("vehicle", "state", "place", "shape", "goal", "velocity", "spin", "bias", "key")
@dataclass(frozen=True)
class Case:
    """One throw: the vehicle, how it leaves the hand, and what two tumbles said of it."""

    vehicle: Thrown
    state: State
    """At the beginning of the hand's acceleration."""
    place: Array
    """(3,) of the IMU, IMU axes, as the tumbles gave it, m."""
    shape: Array
    """(3, 3) inertia up to scale, IMU axes, as the tumbles gave it."""
    goal: Array
    """(3,) m."""
    velocity: Array
    """(3,) at release, world, m/s."""
    spin: Array
    """(3,) at release, body, rad/s."""
    bias: Array
    """(3,) of the accelerometer, m/s2."""
    key: Array

    @property
    def rotors(self) -> int:
        """Number of rotors."""
        return int(self.vehicle.motors.curve.shape[-1])


@leaves(
    "state",
    "throw",
    "learning",
    "heading",
    "wxyz",
    "moved",
    "speeding",
    "command",
    "worst",
    "notice",
    "inverse",
)
@dataclass(frozen=True)
class Launch:
    """What the first part carries along."""

    state: State
    throw: Throw
    learning: Learning
    heading: Heading
    wxyz: Array
    """(4,) q_LI."""
    moved: Array
    """(3,) s of `haltere.estimation.track`, m."""
    speeding: Array
    """(3,) its derivative."""
    command: Array
    worst: Array
    """() largest rate that the gyro had to show on one axis, rad/s."""
    notice: Any
    inverse: Array


def _gravity() -> Environment:
    return Environment(gravity=(0.0, 0.0, -GRAVITY))


def _plant(model: Model, vehicle: Thrown, state: State, target: Array) -> tuple[State, Array, Array]:
    """The state one sample later; (6,) acceleration against free fall and (m,) rotor accelerations now."""

    def slope(now: State) -> tuple[State, Array, Array]:
        rises = vehicle.motors.acceleration(now.rotor_rates, target)
        acceleration = vehicle.compact.acceleration(model, now, rises, _gravity())
        none = jnp.zeros(0)
        return rate_of_change(now, Motion(acceleration, none, rises, none, none)), acceleration, rises

    first, acceleration, rises = slope(state)
    middle = jax.tree.map(lambda x, k: x + 0.5 * DT * k, state, first)
    second, _, _ = slope(middle)
    later = jax.tree.map(lambda x, k: x + DT * k, state, second)
    unit = later.wxyz / jnp.linalg.norm(later.wxyz)
    return replace(later, wxyz=unit), acceleration - gravity_in_body(model, state, _gravity()), rises


def _sensed(
    vehicle: Thrown, state: State, felt: Array, noise: Noise, bias: Array, draw: Array
) -> tuple[Array, Array, Array]:
    """Gyro, accelerometer (3,) and rotor speeds (m,) from white draws (6 + m,)."""
    force, rate = specific_force_at(felt, state.twist, vehicle.turn, vehicle.place)
    gyro = jnp.clip(rate + noise.gyro * draw[:3], -GYRO_RANGE, GYRO_RANGE)
    accel = jnp.clip(force + bias + noise.accel * draw[3:6], -ACCEL_RANGE, ACCEL_RANGE)
    return gyro, accel, state.rotor_rates + noise.speed * draw[6:]


def launch(model: Model, case: Case, noise: Noise, ticks: int, limit: float = LIMIT) -> tuple[Launch, Array]:
    """The first part, `ticks` positions long: where it ends, and the true positions (T, 3)."""
    vehicle, m = case.vehicle, case.rotors
    rest_key, key = jax.random.split(case.key)
    # At rest the mean of many samples is as good as one with the noise of the mean.
    still = jnp.sqrt(1.0 / (REST * RATE)) * noise.accel * jax.random.normal(rest_key, (3,))
    up = (so3.from_wxyz(case.state.wxyz) @ vehicle.turn).T @ jnp.asarray([0.0, 0.0, GRAVITY])
    zero3 = jnp.zeros(3)
    begin = Launch(
        case.state,
        Throw.begin(m),
        Learning.begin(m),
        Heading.begin(),
        level(up + case.bias + still),
        zero3,
        zero3,
        jnp.zeros(m),
        jnp.zeros(()),
        (NOTICE.begin(zero3), NOTICE.begin(zero3), zero3, zero3),
        jnp.linalg.inv(case.shape),
    )
    learner = Learner(RATE)

    def sample(carry: tuple[Launch, Array], draw: Array) -> tuple[tuple[Launch, Array], None]:
        now, clock = carry
        held = clock < HAND
        target = jnp.where(now.throw.released, vehicle.motors.target(now.command), 0.0)
        share = clock / HAND
        R_WB = now.state.R_WB
        carried = replace(
            now.state, twist=jnp.concatenate([R_WB.T @ (share * case.velocity), share * case.spin])
        )
        state = jax.tree.map(lambda a, b: jnp.where(held, a, b), carried, now.state)
        later, felt, _ = _plant(model, vehicle, state, target)
        pulled = jnp.concatenate(
            [
                R_WB.T @ (case.velocity / HAND + jnp.asarray([0.0, 0.0, GRAVITY]))
                - jnp.cross(state.twist[3:], state.twist[:3]),
                case.spin / HAND,
            ]
        )
        gyro, accel, speeds = _sensed(vehicle, state, jnp.where(held, pulled, felt), noise, case.bias, draw)
        slow, quick, last, smoothed = now.notice
        quick, smooth = NOTICE.step(quick, gyro)
        lever = lever_force(gyro, (gyro - last) * RATE, case.place)
        slow, force = NOTICE.step(slow, accel - lever)
        throw = now.throw.noticed(force, DT)
        throw, command = throw.excited(smooth, (smooth - smoothed) * RATE, limit)
        learnt = learner.update(
            now.learning, gyro, accel, speeds, now.command, case.place, case.shape, now.inverse
        )
        learnt = jax.tree.map(lambda a, b: jnp.where(now.throw.released, a, b), learnt, now.learning)
        free = jnp.where(now.throw.released, 1.0, 0.0)
        push = so3.from_wxyz(now.wxyz) @ (accel - lever) - jnp.asarray([0.0, 0.0, GRAVITY])
        after = Launch(
            later,
            throw,
            learnt,
            now.heading,
            turned(now.wxyz, gyro, DT),
            now.moved + free * DT * (now.speeding + 0.5 * DT * push),
            now.speeding + free * DT * push,
            command,
            jnp.maximum(now.worst, jnp.where(held, 0.0, jnp.max(jnp.abs(vehicle.turn.T @ state.twist[3:])))),
            (slow, quick, gyro, smooth),
            now.inverse,
        )
        return (after, clock + DT), None

    def tick(carry: tuple[Launch, Array], key: Array) -> tuple[tuple[Launch, Array], Array]:
        draws = jax.random.normal(key, (SAMPLES + 1, 6 + m))
        (now, clock), _ = jax.lax.scan(sample, carry, draws[:-1])
        position = now.state.position + noise.position * draws[-1, :3]
        weight = jnp.where(now.throw.released, 1.0, 0.0)
        heading = now.heading.update(now.throw.clock, now.moved, position, weight)
        return (replace(now, heading=heading), clock), now.state.position

    (end, _), path = jax.lax.scan(tick, (begin, jnp.zeros(())), jax.random.split(key, ticks))
    return end, path


@leaves("effectiveness", "thrust", "controller", "track", "psi", "sigma")
@dataclass(frozen=True)
class Learnt:
    """What the vehicle believes of itself when the excitation is over."""

    effectiveness: Effectiveness
    thrust: ThrustAxis
    controller: HoverController
    track: Track
    psi: Array
    sigma: Array


def learn(end: Launch, noise: Noise, compass: Array | None = None) -> Learnt:
    """Everything that is computed once: parameters, thrust axis, heading, first track.

    Args:
        end: of the launch.
        noise: of the sensors, as their data sheets state it.
        compass: () heading from a sensor, rad; from the track if None.
    """
    learnt = solve(end.learning, noise.accel)
    top = jnp.maximum(learnt.max_speed, 1.0)
    thrust = thrust_axis(
        learnt.force, learnt.torque, -DOUBT * top**2, (1.0 + DOUBT) * top**2, squarings=10, gravity=GRAVITY
    )
    psi, sigma, p_0, v_0 = end.heading.solve(jnp.maximum(noise.position, 2e-3))
    if compass is not None:
        psi, sigma = compass, jnp.asarray(0.01)
    turn = about_up(psi)
    R = so3.from_wxyz(turn)
    position = p_0 + v_0 * end.throw.clock + R @ end.moved
    wxyz = so3.multiply_wxyz(turn, end.wxyz)
    track = Track.begin(position, v_0 + R @ end.speeding, wxyz, 0.02, jnp.clip(2.0 * sigma + 0.01, 0.01, 1.0))
    return Learnt(learnt, thrust, HoverController.from_effectiveness(learnt, thrust), track, psi, sigma)


def hover(
    model: Model, case: Case, end: Launch, learnt: Learnt, noise: Noise, ticks: int
) -> dict[str, Array]:
    """The second part: position (T, 3), velocity (T, 3), tilt (T,) of the true thrust axis, at every position."""
    vehicle, m = case.vehicle, case.rotors
    walk = (jnp.asarray(noise.accel) * DT**0.5 + 0.05, jnp.asarray(noise.gyro) * DT**0.5 + 2e-3)
    place = case.place + learnt.effectiveness.shift
    last = jnp.concatenate([end.notice[2], end.state.rotor_rates])
    key = jax.random.fold_in(case.key, 7)

    def sample(carry: Any, draws: Array) -> tuple[Any, None]:
        """Four samples of the IMU and one allocation."""
        state, track, controller, filters, last, command = carry
        target = vehicle.motors.target(command)

        def one(inner: Any, draw: Array) -> tuple[Any, None]:
            state, track, filters, last, _ = inner
            later, felt, _ = _plant(model, vehicle, state, target)
            gyro, accel, speeds = _sensed(vehicle, state, felt, noise, case.bias, draw)
            seen = jnp.concatenate([gyro, speeds])
            slopes = (seen - last) * RATE
            lever = lever_force(gyro, slopes[:3], place)
            raw = jnp.concatenate([slopes[:3], speeds**2, slopes[3:]])
            filters, smooth = CONTROL_FILTER.step(filters, raw)
            return (later, track.propagate(gyro, accel - lever, GRAVITY, DT), filters, seen, smooth), None

        inner = (state, track, filters, last, jnp.zeros(3 + 2 * m))
        (state, track, filters, last, smooth), _ = jax.lax.scan(one, inner, draws)
        gyro, speeds = last[:3], last[3:]
        controller, wanted = controller.acceleration(
            track.position, track.velocity, case.goal, GRAVITY, CONTROL * DT
        )
        command = controller.command(
            track.wxyz, wanted, gyro, smooth[:3], smooth[3 : 3 + m], smooth[3 + m :], speeds
        )
        return (state, track, controller, filters, last, command), None

    def tick(carry: Any, key: Array) -> tuple[Any, dict[str, Array]]:
        draws = jax.random.normal(key, (SAMPLES + 1, 6 + m))
        carry, _ = jax.lax.scan(sample, carry, draws[:-1].reshape(-1, CONTROL, 6 + m))
        state, track = carry[0], carry[1]
        seen = state.position + noise.position * draws[-1, :3]
        track = track.correct(seen, jnp.maximum(noise.position, 1e-3), TICK, walk)
        R = state.R_WB @ vehicle.turn
        up = (R @ vehicle.axis)[2]
        off = jnp.linalg.norm(so3.log(so3.from_wxyz(track.wxyz) @ R.T))
        log = {
            "position": state.position,
            "velocity": state.R_WB @ state.twist[:3],
            "tilt": jnp.arccos(jnp.clip(up, -1.0, 1.0)),
            "attitude_error": off,
            "rate": jnp.max(jnp.abs(state.twist[3:])),
        }
        return (state, track, *carry[2:]), log

    settled = jnp.concatenate([jnp.zeros(3), end.state.rotor_rates**2, jnp.zeros(m)])
    b, _, a2 = CONTROL_FILTER.coefficients
    filters = ((1.0 - b) * settled, (b - a2) * settled)
    begin = (end.state, learnt.track, learnt.controller, filters, last, jnp.zeros(m))
    _, log = jax.lax.scan(tick, begin, jax.random.split(key, ticks))
    return log
