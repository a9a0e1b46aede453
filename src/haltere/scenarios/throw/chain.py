"""From the hand to hover: one thrown vehicle that knows nothing of itself but what two tumbles gave.

It gets gyro, accelerometer, rotor speeds (2 kHz, late by up to 2 ms) and positions (100 Hz), never its attitude.
`haltere.control.throw_loop` flies it, here around the plant in two parts, `launch` and `hover`, each one scan over the
positions with a scan over the samples of the IMU inside; thrust is allocated at 500 Hz.

The plant is equation (1) of `haltere.dynamics.rigid`, by the midpoint rule at 2 kHz; motors follow (3) of
`haltere.dynamics.motors`. In the hand the vehicle is carried upwards with constant acceleration and growing spin, its
motors still. All functions take one vehicle; `haltere.scenarios.throw.throws` maps them over many.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from haltere.control.throw_loop import LearnedVehicle, SensorNoise, ThrowLoop, TumbleKnowledge
from haltere.dynamics import Environment, Motion, State
from haltere.dynamics.integrator import rate_of_change
from haltere.dynamics.model import Model
from haltere.dynamics.sensors.imu import specific_force_at
from haltere.dynamics.solve import gravity_in_body
from haltere.estimation.throw.alignment import Fixes
from haltere.estimation.throw.effectiveness import LATENCIES
from haltere.estimation.throw.refinement import RetainedRows
from haltere.foundation.arrays import Array
from haltere.foundation.constants import GRAVITY
from haltere.lie import so3
from haltere.scenarios.throw.case import DT, RATE, SAMPLES, TICK, Launch, ThrowCase
from haltere.scenarios.throw.vehicles import ThrownVehicle

CONTROL = 4
"""Samples of the IMU for each allocation."""
HAND_SECONDS = 0.15
"""s of acceleration in the hand."""
RELEASE = 1.0
"""m above the ground."""
REST_SECONDS = 0.5
"""s at rest in the hand, for the first attitude."""
GYRO_RANGE, ACCEL_RANGE = 34.9, 156.9
LOOP = {
    known: ThrowLoop(
        RATE, known, gyro_late=(0.0, 0.0), latency_doubt=(2e-4, 2e-4), walk=(0.05, 2e-3), air=False
    )
    for known in (True, False)
}
"""With and without two tumbles before; the IMU is not late, and the air does nothing."""


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
) -> tuple[Launch, tuple[Fixes, RetainedRows], Any]:
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
    loop, none = LOOP[known], jnp.zeros(())
    before = TumbleKnowledge.of(case.imu_position, case.shape)
    ascent = loop.begin(up + case.bias + still, before, m)
    begin = Launch(case.state, ascent, none, jnp.zeros((LATENCIES[-1] + 1, m)))

    def sample(carry: tuple[Launch, Array], draw: Array) -> tuple[tuple[Launch, Array], None]:
        now, clock = carry
        held = clock < HAND_SECONDS
        command = now.ascent.command
        target = jnp.where(command >= 0.0, vehicle.motors.target(command), 0.0)
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
        rate = jnp.max(jnp.abs(vehicle.imu_rotation.T @ state.twist[3:]))
        after = Launch(
            later,
            loop.ascend(now.ascent, gyro, accel, speeds, command),
            jnp.maximum(now.worst, jnp.where(held, 0.0, rate)),
            past_rotor_speeds,
        )
        return (after, clock + DT), None

    def tick(carry: Any, key: Array) -> tuple[Any, Any]:
        draws = jax.random.normal(key, (SAMPLES + 1, 6 + m))
        now, clock, fixes, rows = carry
        (now, clock), _ = jax.lax.scan(sample, (now, clock), draws[:-1])
        position = now.state.position + noise.position * draws[-1, :3]
        after = (now, clock, loop.locate(now.ascent, fixes, position), loop.keep(now.ascent, rows))
        return after, watch(now)

    start = (begin, none, Fixes.none(ticks), loop.begin_rows(m))
    (end, _, fixes, rows), path = jax.lax.scan(tick, start, jax.random.split(key, ticks))
    return end, (fixes, rows), path


def hover(
    model: Model,
    case: ThrowCase,
    end: Launch,
    learned: LearnedVehicle,
    noise: SensorNoise,
    ticks: int,
    known: bool = True,
) -> dict[str, Array]:
    """The second part: position (T, 3), velocity (T, 3), tilt (T,) of the true thrust axis, at every position."""
    vehicle, m, loop = case.vehicle, case.rotors, LOOP[known]
    key = jax.random.fold_in(case.key, 7)

    def sample(carry: Any, draws: Array) -> tuple[Any, None]:
        """Four samples of the IMU and one allocation."""
        state, past_rotor_speeds, flying, command = carry
        target = vehicle.motors.target(command)

        def one(inner: Any, draw: Array) -> tuple[Any, None]:
            state, past_rotor_speeds, flying = inner
            later, proper_acceleration, _ = _plant(model, vehicle, state, target)
            past_rotor_speeds = jnp.concatenate([state.rotor_rates[None], past_rotor_speeds[:-1]])
            seen = _sensed(case, state, past_rotor_speeds, proper_acceleration, noise, draw)
            return (later, past_rotor_speeds, loop.sense(flying, *seen)), None

        (state, past_rotor_speeds, flying), _ = jax.lax.scan(one, (state, past_rotor_speeds, flying), draws)
        flying, command = loop.steer(flying, case.goal, CONTROL * DT)
        return (state, past_rotor_speeds, flying, command), None

    def tick(carry: Any, key: Array) -> tuple[Any, dict[str, Array]]:
        draws = jax.random.normal(key, (SAMPLES + 1, 6 + m))
        carry, _ = jax.lax.scan(sample, carry, draws[:-1].reshape(-1, CONTROL, 6 + m))
        state, past_rotor_speeds, flying, command = carry
        seen = state.position + noise.position * draws[-1, :3]
        flying = loop.correct(flying, seen, TICK, noise)
        R = state.R_WB @ vehicle.imu_rotation
        up = (R @ vehicle.axis)[2]
        off = jnp.linalg.norm(so3.log(so3.from_wxyz(flying.track.wxyz) @ R.T))
        log = {
            "position": state.position,
            "velocity": state.R_WB @ state.twist[:3],
            "tilt": jnp.arccos(jnp.clip(up, -1.0, 1.0)),
            "attitude_error": off,
            "rate": jnp.max(jnp.abs(state.twist[3:])),
        }
        return (state, past_rotor_speeds, flying, command), log

    flying = loop.hover(end.ascent, learned, end.state.rotor_rates)
    begin = (end.state, end.past_rotor_speeds, flying, jnp.zeros(m))
    _, log = jax.lax.scan(tick, begin, jax.random.split(key, ticks))
    return log
