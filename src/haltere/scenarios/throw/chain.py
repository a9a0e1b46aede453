"""From the hand to hover: one thrown vehicle that knows nothing of itself but what two tumbles gave.

It gets gyro, accelerometer, rotor speeds (2 kHz, late by up to 2 ms) and positions (100 Hz), never its attitude. Two
parts, each one scan over the positions with a scan over the samples of the IMU inside:

    launch   hand, release noticed, motors excited one after the other, effectiveness and heading learnt
    hover    thrust axis, attitude by incremental inversion, position; thrust is allocated at 500 Hz

The plant is equation (1) of `haltere.dynamics.rigid`, by the midpoint rule at 2 kHz; motors follow (3) of
`haltere.dynamics.motors`. In the hand the vehicle is carried upwards with constant acceleration and growing spin, its
motors still. All functions take one vehicle; `haltere.scenarios.throw.throws` maps them over many.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from haltere.control.indi import HoverController
from haltere.dynamics import Environment, Motion, State
from haltere.dynamics.integrator import rate_of_change
from haltere.dynamics.model import Model
from haltere.dynamics.sensors.imu import lever_force, specific_force_at
from haltere.dynamics.solve import gravity_in_body
from haltere.estimation.core.low_pass import LowPass
from haltere.estimation.core.rls import forgetting_of
from haltere.estimation.throw.effectiveness import LATENCIES, Effectiveness, LatencySums, Learner
from haltere.estimation.throw.excitation import ThrowDetector
from haltere.estimation.throw.navigation import Track, about_up, level, rotate_by_gyro
from haltere.estimation.throw.thrust_axis import ThrustAxis, thrust_axis
from haltere.foundation.arrays import Array, pytree
from haltere.foundation.constants import GRAVITY
from haltere.lie import so3
from haltere.scenarios.throw.case import DT, RATE, SAMPLES, TICK, Fixes, Launch, SensorNoise, ThrowCase
from haltere.scenarios.throw.vehicles import ThrownVehicle

CONTROL = 4
"""Samples of the IMU for each allocation."""
HAND_SECONDS = 0.15
"""s of acceleration in the hand."""
RELEASE = 1.0
"""m above the ground."""
REST_SECONDS = 0.5
"""s at rest in the hand, for the first attitude."""
NOTICE = LowPass(60.0, RATE)
CONTROL_FILTER = LowPass(20.0, RATE)
GYRO_RANGE, ACCEL_RANGE = 34.9, 156.9
MEMORY = 2.0
"""s after which a sample counts 1/e: parameters may drift; sums of information cannot wind up."""
POSITION_SIGMA = 4e-4
"""Deviation per axis of an IMU position that tumbles gave, m."""
UNKNOWN_POSITION_SIGMA = 0.02
"""Deviation of an IMU position that nobody knows, m."""
DOUBT = 0.15
"""Share of the largest squared speed by which a hover may seem out of reach and still be tried: noise does that."""


def true_position(now: Launch) -> Array:
    """(3,) m, world."""
    return now.state.position


def _gravity() -> Environment:
    return Environment(gravity=(0.0, 0.0, -GRAVITY))


def _plant(model: Model, vehicle: ThrownVehicle, state: State, target: Array) -> tuple[State, Array, Array]:
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
    case: ThrowCase,
    state: State,
    past_rotor_speeds: Array,
    proper_acceleration: Array,
    noise: SensorNoise,
    draw: Array,
) -> tuple[Array, Array, Array]:
    """Gyro, accelerometer (3,) and late rotor speeds (m,) from white draws (6 + m,); true past ones (L, m)."""
    vehicle, bias = case.vehicle, case.bias
    force, rate = specific_force_at(
        proper_acceleration, state.twist, vehicle.imu_rotation, vehicle.imu_position
    )
    gyro = jnp.clip(rate + noise.gyro * draw[:3], -GYRO_RANGE, GYRO_RANGE)
    accel = jnp.clip(force + bias + noise.accel * draw[3:6], -ACCEL_RANGE, ACCEL_RANGE)
    between = jnp.maximum(1.0 - jnp.abs(jnp.arange(past_rotor_speeds.shape[0]) - case.latency), 0.0)
    return gyro, accel, between @ past_rotor_speeds + noise.speed * draw[6:]


def launch(
    model: Model,
    case: ThrowCase,
    noise: SensorNoise,
    ticks: int,
    known: bool = True,
    watch: Callable[[Launch], Any] = true_position,
) -> tuple[Launch, Fixes, Any]:
    """The first part: where it ends, what was seen, and what `watch` saw of it, stacked over the positions.

    Args:
        model: of the plant.
        case: the throw.
        noise: of the sensors.
        ticks: how many positions long.
        known: whether tumbles gave `imu_position` and `shape`; if not they are a guess and a ball.
        watch: what to keep at each position.
    """
    vehicle, m = case.vehicle, case.rotors
    rest_key, key = jax.random.split(case.key)
    # At rest the mean of many samples is as good as one with the noise of the mean.
    still = jnp.sqrt(1.0 / (REST_SECONDS * RATE)) * noise.accel * jax.random.normal(rest_key, (3,))
    up = (so3.from_wxyz(case.state.wxyz) @ vehicle.imu_rotation).T @ jnp.asarray([0.0, 0.0, GRAVITY])
    zero3 = jnp.zeros(3)
    begin = Launch(
        case.state,
        ThrowDetector.begin(m),
        LatencySums.begin(m, not known),
        level(up + case.bias + still),
        zero3,
        zero3,
        jnp.zeros(m),
        jnp.zeros(()),
        (NOTICE.begin(zero3), NOTICE.begin(zero3), zero3, zero3),
        jnp.linalg.inv(case.shape),
        jnp.zeros((LATENCIES[-1] + 1, m)),
        jnp.zeros((3, 3)),
        jnp.zeros((3, 3)),
    )
    learner = Learner(RATE, forgetting=forgetting_of(DT, MEMORY), products=not known)

    def sample(carry: tuple[Launch, Array], draw: Array) -> tuple[tuple[Launch, Array], None]:
        now, clock = carry
        held = clock < HAND_SECONDS
        target = jnp.where(now.throw.released, vehicle.motors.target(now.command), 0.0)
        share = clock / HAND_SECONDS
        R_WB = now.state.R_WB
        carried = replace(
            now.state, twist=jnp.concatenate([R_WB.T @ (share * case.velocity), share * case.spin])
        )
        state = jax.tree.map(lambda a, b: jnp.where(held, a, b), carried, now.state)
        later, proper_acceleration, _ = _plant(model, vehicle, state, target)
        pulled = jnp.concatenate(
            [
                R_WB.T @ (case.velocity / HAND_SECONDS + jnp.asarray([0.0, 0.0, GRAVITY]))
                - jnp.cross(state.twist[3:], state.twist[:3]),
                case.spin / HAND_SECONDS,
            ]
        )
        past_rotor_speeds = jnp.concatenate([state.rotor_rates[None], now.past_rotor_speeds[:-1]])
        gyro, accel, speeds = _sensed(
            case, state, past_rotor_speeds, jnp.where(held, pulled, proper_acceleration), noise, draw
        )
        slow, quick, last, smoothed = now.notice
        quick, smooth = NOTICE.step(quick, gyro)
        slope = (gyro - last) * RATE
        lever = lever_force(gyro, slope, case.imu_position)
        slow, force = NOTICE.step(slow, accel - lever)
        throw = now.throw.noticed(force, DT)
        throw, command = throw.excited(smooth, (smooth - smoothed) * RATE)
        waiting = now.sums.hold_back(gyro, accel, now.command)
        learned = waiting.update(learner, speeds, case.imu_position, case.shape, now.inverse)
        learned = jax.tree.map(lambda a, b: jnp.where(now.throw.released, a, b), learned, waiting)
        free = jnp.where(now.throw.released, 1.0, 0.0)
        R_LI = so3.from_wxyz(now.wxyz)
        push = R_LI @ (accel - lever) - jnp.asarray([0.0, 0.0, GRAVITY])
        swing = R_LI @ (so3.hat(slope) + so3.hat(gyro) @ so3.hat(gyro))
        after = Launch(
            later,
            throw,
            learned,
            rotate_by_gyro(now.wxyz, gyro, DT),
            now.displacement + free * DT * (now.displacement_rate + 0.5 * DT * push),
            now.displacement_rate + free * DT * push,
            command,
            jnp.maximum(
                now.worst, jnp.where(held, 0.0, jnp.max(jnp.abs(vehicle.imu_rotation.T @ state.twist[3:])))
            ),
            (slow, quick, gyro, smooth),
            now.inverse,
            past_rotor_speeds,
            now.lever_displacement + free * DT * (now.lever_rate + 0.5 * DT * swing),
            now.lever_rate + free * DT * swing,
        )
        return (after, clock + DT), None

    def tick(carry: tuple[Launch, Array], key: Array) -> tuple[tuple[Launch, Array], tuple[Fixes, Any]]:
        draws = jax.random.normal(key, (SAMPLES + 1, 6 + m))
        (now, clock), _ = jax.lax.scan(sample, carry, draws[:-1])
        position = now.state.position + noise.position * draws[-1, :3]
        weight = jnp.where(now.throw.released, 1.0, 0.0)
        fix = Fixes(now.throw.clock, now.displacement, now.lever_displacement, position, weight)
        return (now, clock), (fix, watch(now))

    (end, _), (fixes, path) = jax.lax.scan(tick, (begin, jnp.zeros(())), jax.random.split(key, ticks))
    return end, fixes, path


@pytree
@dataclass(frozen=True)
class LearnedVehicle:
    """What the vehicle believes of itself when the excitation is over."""

    effectiveness: Effectiveness
    thrust: ThrustAxis
    controller: HoverController
    track: Track
    psi: Array
    sigma: Array
    latency: Array
    """() of the rotor speeds, s."""


def learn(
    end: Launch, fixes: Fixes, noise: SensorNoise, compass: Array | None = None, known: bool = True
) -> LearnedVehicle:
    """Everything that is computed once: parameters, thrust axis, heading, first track.

    Args:
        end: of the launch.
        fixes: what was seen on the way.
        noise: of the sensors, as their data sheets state it.
        compass: () heading from a sensor, rad; from the track if None.
        known: whether tumbles gave the position of the IMU.
    """
    learned, latency = end.sums.solve(
        RATE, noise=noise.accel, position_sigma=POSITION_SIGMA if known else UNKNOWN_POSITION_SIGMA
    )
    shift = jnp.asarray(learned.shift)
    displacement, displacement_rate = (
        end.displacement - end.lever_displacement @ shift,
        end.displacement_rate - end.lever_rate @ shift,
    )
    top = jnp.maximum(learned.max_speed, 1.0)
    thrust = thrust_axis(
        learned.force, learned.torque, -DOUBT * top**2, (1.0 + DOUBT) * top**2, squarings=10, gravity=GRAVITY
    )
    psi, sigma, p_0, v_0 = fixes.heading(shift).solve(jnp.maximum(noise.position, 2e-3))
    if compass is not None:
        psi, sigma = compass, jnp.asarray(0.01)
    turn = about_up(psi)
    R = so3.from_wxyz(turn)
    position = p_0 + v_0 * end.throw.clock + R @ displacement
    wxyz = so3.multiply_wxyz(turn, end.wxyz)
    track = Track.begin(
        position, v_0 + R @ displacement_rate, wxyz, 0.02, jnp.clip(2.0 * sigma + 0.01, 0.01, 1.0)
    )
    controller = HoverController.from_effectiveness(learned, thrust)
    return LearnedVehicle(learned, thrust, controller, track, psi, sigma, latency)


def hover(
    model: Model, case: ThrowCase, end: Launch, learned: LearnedVehicle, noise: SensorNoise, ticks: int
) -> dict[str, Array]:
    """The second part: position (T, 3), velocity (T, 3), tilt (T,) of the true thrust axis, at every position."""
    vehicle, m = case.vehicle, case.rotors
    walk = (jnp.asarray(noise.accel) * DT**0.5 + 0.05, jnp.asarray(noise.gyro) * DT**0.5 + 2e-3)
    imu_position = case.imu_position + learned.effectiveness.shift
    last = jnp.concatenate([end.notice[2], end.state.rotor_rates])
    late = jnp.concatenate([jnp.zeros(3), jnp.full(m, learned.latency)])
    key = jax.random.fold_in(case.key, 7)

    def sample(carry: Any, draws: Array) -> tuple[Any, None]:
        """Four samples of the IMU and one allocation."""
        state, past_rotor_speeds, track, controller, filters, last, command = carry
        target = vehicle.motors.target(command)

        def one(inner: Any, draw: Array) -> tuple[Any, None]:
            state, past_rotor_speeds, track, filters, last, _ = inner
            later, proper_acceleration, _ = _plant(model, vehicle, state, target)
            past_rotor_speeds = jnp.concatenate([state.rotor_rates[None], past_rotor_speeds[:-1]])
            gyro, accel, speeds = _sensed(case, state, past_rotor_speeds, proper_acceleration, noise, draw)
            seen = jnp.concatenate([gyro, speeds])
            slopes = (seen - last) * RATE
            lever = lever_force(gyro, slopes[:3], imu_position)
            # Late speeds are carried on along their slope; the low-pass takes the noise of that.
            raw = jnp.concatenate([slopes[:3], (seen + late * slopes)[3:] ** 2, slopes[3:]])
            filters, smooth = CONTROL_FILTER.step(filters, raw)
            return (
                later,
                past_rotor_speeds,
                track.propagate(gyro, accel - lever, GRAVITY, DT),
                filters,
                seen,
                smooth,
            ), None

        inner = (state, past_rotor_speeds, track, filters, last, jnp.zeros(3 + 2 * m))
        (state, past_rotor_speeds, track, filters, last, smooth), _ = jax.lax.scan(one, inner, draws)
        gyro, speeds = last[:3], last[3:]
        controller, wanted = controller.acceleration(
            track.position, track.velocity, case.goal, GRAVITY, CONTROL * DT
        )
        command = controller.command(
            track.wxyz, wanted, gyro, smooth[:3], smooth[3 : 3 + m], smooth[3 + m :], speeds
        )
        return (state, past_rotor_speeds, track, controller, filters, last, command), None

    def tick(carry: Any, key: Array) -> tuple[Any, dict[str, Array]]:
        draws = jax.random.normal(key, (SAMPLES + 1, 6 + m))
        carry, _ = jax.lax.scan(sample, carry, draws[:-1].reshape(-1, CONTROL, 6 + m))
        state, track = carry[0], carry[2]
        seen = state.position + noise.position * draws[-1, :3]
        track = track.correct(seen, jnp.maximum(noise.position, 1e-3), TICK, walk)
        R = state.R_WB @ vehicle.imu_rotation
        up = (R @ vehicle.axis)[2]
        off = jnp.linalg.norm(so3.log(so3.from_wxyz(track.wxyz) @ R.T))
        log = {
            "position": state.position,
            "velocity": state.R_WB @ state.twist[:3],
            "tilt": jnp.arccos(jnp.clip(up, -1.0, 1.0)),
            "attitude_error": off,
            "rate": jnp.max(jnp.abs(state.twist[3:])),
        }
        return (state, carry[1], track, *carry[3:]), log

    settled = jnp.concatenate([jnp.zeros(3), end.state.rotor_rates**2, jnp.zeros(m)])
    b, _, a2 = CONTROL_FILTER.coefficients
    filters = ((1.0 - b) * settled, (b - a2) * settled)
    begin = (end.state, end.past_rotor_speeds, learned.track, learned.controller, filters, last, jnp.zeros(m))
    _, log = jax.lax.scan(tick, begin, jax.random.split(key, ticks))
    return log
