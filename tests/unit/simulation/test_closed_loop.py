"""The flight loop: delays, ground, rates; and what sensors read on a vehicle whose parts move."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import Drag, Imu, from_catalogue
from haltere.dynamics import Environment, State
from haltere.dynamics.sensors.imu import ImuErrors, imu_readings, sensor_frame, specific_force_and_rate
from haltere.lie import so3
from haltere.simulation import Command, Timing, Trace, Vehicle, crash_time, fly

GRAVITY = jnp.asarray([0.0, 0.0, -9.81])


def flown(name: str, commands, timing: Timing, **options) -> tuple[Vehicle, Trace]:
    """A flight with the commands of a function of time, from rest at 5 m with rotors at 300 rad/s."""
    vehicle = options.pop("vehicle", None) or Vehicle.from_airframe(from_catalogue(name))
    rest = State.rest(vehicle.model)
    start = replace(
        rest,
        position=jnp.asarray([0.0, 0.0, 5.0]),
        twist=jnp.asarray([0.3, -0.2, 0.1, 0.4, -0.3, 0.2]),
        rotor_rates=jnp.full(vehicle.model.topology.rotors, 300.0),
    )

    def controller(state: None, time: jax.Array, _: State) -> tuple[None, Command]:
        return state, commands(time)

    run = jax.jit(lambda begin: fly(vehicle, begin, controller, None, timing, **options))
    return vehicle, run(start)


def test_imu_reads_the_second_derivative_of_its_own_place() -> None:
    """An IMU off the centre on a tilting link: R_WI^T (p'' - g), with p'' by numerical differences."""
    timing = Timing(0.25, step_rate=4000.0, control_rate=1000.0)

    def commands(time: jax.Array) -> Command:
        return Command(
            0.4 + 0.1 * jnp.sin(20.0 * time + jnp.arange(4.0)), 0.2 * jnp.sin(8.0 * time + jnp.arange(4.0))
        )

    vehicle, trace = flown("hong-tilt-rotor", commands, timing)
    model = vehicle.model
    place, turn = jnp.asarray([0.03, -0.02, 0.05]), so3.exp(jnp.asarray([0.3, -0.5, 0.8]))
    link = 1
    force, rate = jax.jit(
        lambda t: specific_force_and_rate(model, t.state, t.motion, GRAVITY, link, place, turn)
    )(trace)

    def frame(state: State) -> tuple[jax.Array, jax.Array]:
        R, p = sensor_frame(model, state, link, place, turn)
        return state.position + state.R_WB @ p, state.R_WB @ R

    position, R_WI = (np.asarray(x) for x in jax.jit(jax.vmap(frame))(trace.state))
    k = timing.substeps
    inside = np.arange(2 * k, timing.steps - 2 * k)
    inside = inside[(inside % k >= 2) & (inside % k <= k - 2)]
    h = timing.dt
    second = (
        -position[inside - 2]
        + 16 * position[inside - 1]
        - 30 * position[inside]
        + 16 * position[inside + 1]
        - position[inside + 2]
    ) / (12 * h * h)
    expected = np.einsum("tji,tj->ti", R_WI[inside], second - np.asarray(GRAVITY))
    scale = np.abs(expected).max()
    np.testing.assert_allclose(np.asarray(force)[inside] / scale, expected / scale, atol=1e-6)
    spin = np.einsum("tji,tjk->tik", R_WI[inside - 1], R_WI[inside + 1])
    numeric = np.stack(
        [spin[:, 2, 1] - spin[:, 1, 2], spin[:, 0, 2] - spin[:, 2, 0], spin[:, 1, 0] - spin[:, 0, 1]], 1
    )
    np.testing.assert_allclose(np.asarray(rate)[inside], numeric / (4 * h), atol=1e-4)


def test_range_and_errors_of_an_imu() -> None:
    timing = Timing(0.05)
    vehicle, trace = flown("hummingbird", lambda _: Command(jnp.full(4, 1.0), jnp.zeros(0)), timing)
    imu = Imu(position=(0.0, 0.0, 0.0), accel_range=10.0, gyro_range=0.3)
    read = jax.jit(
        lambda t: imu_readings(
            vehicle.model,
            t.state,
            t.motion,
            GRAVITY,
            imu,
            1000.0,
            jax.random.key(0),
            ImuErrors(accel_bias=0.5),
        )
    )(trace)
    assert float(jnp.abs(read["accel"]).max()) == 10.0, "full thrust must clip at the range"
    assert float(jnp.abs(read["gyro"]).max()) == pytest.approx(0.3)
    assert float(jnp.abs(read["accel_bias"]).max()) > 0.0


def test_commands_reach_the_motors_late() -> None:
    vehicle = Vehicle.from_airframe(from_catalogue("hummingbird"))
    late = replace(vehicle, motors=replace(vehicle.motors, delay=jnp.full(4, 0.02)))
    timing = Timing(0.08, 1000.0, 1000.0)

    def commands(time: jax.Array) -> Command:
        return Command(
            jnp.where(time < 0.0095, vehicle.motors.command(jnp.full(4, 300.0)), 1.0), jnp.zeros(0)
        )

    _, prompt = flown("", commands, timing, vehicle=vehicle, longest_delay=0.0)
    _, delayed = flown("", commands, timing, vehicle=late, longest_delay=0.02)
    first, second = (np.asarray(t.state.rotor_rates[:, 0]) for t in (prompt, delayed))
    np.testing.assert_allclose(second[20:], first[:-20], rtol=1e-9)
    assert first[40] > 400.0


def test_the_ground_ends_a_flight() -> None:
    _, trace = flown("hummingbird", lambda _: Command(jnp.zeros(4), jnp.zeros(0)), Timing(1.5), ground=0.0)
    touched = crash_time(trace)
    assert touched == pytest.approx(np.sqrt(2 * 5.0 / 9.81), abs=0.15)
    height = np.asarray(trace.state.position[:, 2])
    assert height.min() > -0.05
    assert np.all(np.diff(height[np.asarray(~trace.alive)]) == 0.0)


def test_wind_pushes_a_vehicle_with_drag() -> None:
    airframe = from_catalogue("hummingbird")
    body = airframe.body.model_copy(update={"drag": Drag(linear=(0.2, 0.2, 0.2))})
    vehicle = Vehicle.from_airframe(airframe.model_copy(update={"body": body}))
    timing = Timing(0.2)
    calm = jnp.zeros((timing.steps, 3))
    _, still = flown(
        "", lambda _: Command(jnp.full(4, 0.5), jnp.zeros(0)), timing, vehicle=vehicle, wind=calm
    )
    gust = calm.at[:, 0].set(5.0)
    _, blown = flown(
        "", lambda _: Command(jnp.full(4, 0.5), jnp.zeros(0)), timing, vehicle=vehicle, wind=gust
    )
    pushed = float(blown.state.position[-1, 0] - still.state.position[-1, 0])
    assert pushed == pytest.approx(0.5 * 0.2 * 5.0 / 0.716 * 0.2**2, rel=0.2)


def test_mapped_over_vehicles() -> None:
    """`vmap` over masses gives the same as one after the other."""
    vehicle = Vehicle.from_airframe(from_catalogue("hummingbird"))
    timing = Timing(0.02, 500.0, 500.0)
    start = replace(State.rest(vehicle.model), rotor_rates=jnp.full(4, 400.0))
    command = Command(jnp.full(4, 0.5), jnp.zeros(0))

    def end(mass: jax.Array) -> jax.Array:
        links = replace(vehicle.model.links, mass=vehicle.model.links.mass.at[0].set(mass))
        other = replace(vehicle, model=replace(vehicle.model, links=links))
        trace = fly(other, start, lambda c, _t, _s: (c, command), None, timing, Environment())
        return trace.state.position[-1]

    masses = jnp.asarray([0.5, 0.7, 0.9])
    together = jax.jit(jax.vmap(end))(masses)
    one = jax.jit(end)
    np.testing.assert_allclose(together, [one(m) for m in masses], rtol=1e-12)
