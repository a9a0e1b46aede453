"""The filter's optional effects against the simulator, and its differentiated step against the structured one."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.airframe.airframe import Drag
from haltere.airframe.rotor import Inflow
from haltere.dynamics import Environment, State
from haltere.estimation.vehicle.description import describe_vehicle
from haltere.estimation.vehicle.effects import advance, imu_reading
from haltere.estimation.vehicle.model import linear_imu, linear_step
from haltere.lie import so3
from haltere.simulation import Vehicle, step_vehicle
from haltere.simulation.plant import accelerations

SPEEDS = jnp.asarray([430.0, 470.0, 455.0, 500.0])
RISE = jnp.asarray([900.0, -500.0, 0.0, 300.0])
MOVING = {
    "position": jnp.asarray([0.3, -1.0, 2.0]),
    "velocity": jnp.asarray([2.0, -1.5, 0.7]),
    "attitude": so3.exp_wxyz(jnp.asarray([0.3, -0.2, 1.0])),
    "rates": jnp.asarray([1.0, -2.0, 0.7]),
    "rotor_speed": SPEEDS,
    "accel_bias": jnp.asarray([0.1, 0.2, -0.1]),
    "gyro_bias": jnp.asarray([0.01, 0.0, -0.02]),
    "wind": jnp.asarray([3.0, -1.0, 0.5]),
}


def blown():
    """A Hummingbird with all that the effects are about."""
    bird = from_catalogue("hummingbird")
    inflow = Inflow(axial=3e-5, hub=8.1e-5)
    spinning = {"mass": 0.005, "inertia": (1e-6, 1e-6, 3e-5, 0.0, 0.0, 0.0), "inflow": inflow}
    rotors = tuple(rotor.model_copy(update=spinning) for rotor in bird.rotors)
    com = (0.0, 0.0, 4 * 0.005 * 0.011 / (bird.body.mass + 4 * 0.005))  # where the filter has the drag act
    drag = Drag(position=com, linear=(0.05, 0.06, 0.1), quadratic=(0.01, 0.012, 0.02))
    return bird.model_copy(update={"rotors": rotors, "body": bird.body.model_copy(update={"drag": drag})})


@pytest.fixture(scope="module")
def all_effects():
    description = describe_vehicle(blown(), effects=("drag", "wind", "spin", "lag", "delay"))
    coordinates = description.coordinates
    mean = {**coordinates.moving.select(MOVING), **coordinates.to_coordinates(description.physical)}
    return description, coordinates, mean


def test_printed_numbers_come_back(all_effects) -> None:
    description, coordinates, mean = all_effects
    back = coordinates.to_physical(coordinates.constants(mean))
    for name, value in description.physical.items():
        np.testing.assert_allclose(back[name], value, rtol=1e-12, atol=1e-15)
    assert len(coordinates.names) == coordinates.physical.dimension


def test_air_and_momentum_are_the_simulators(all_effects) -> None:
    """A short step and an IMU reading with drag, wind, spinning rotors that follow a command."""
    description, coordinates, mean = all_effects
    airframe = blown()
    vehicle = Vehicle.from_airframe(airframe)
    com = jnp.asarray(description.com)
    command, dt = SPEEDS + 40.0 * jnp.asarray([1.0, -1.0, 0.5, 0.0]), 2e-4
    at_com = jnp.concatenate([mean["velocity"], mean["rates"]])
    twist = at_com.at[:3].add(
        -jnp.cross(mean["rates"], com)
    )  # the simulator's reference is the body's origin
    place = mean["position"] - so3.from_wxyz(mean["attitude"]) @ com
    state = replace(
        State.rest(vehicle.model), position=place, wxyz=mean["attitude"], twist=twist, rotor_rates=SPEEDS
    )
    environment = Environment(jnp.asarray([0.0, 0.0, -9.81]), mean["wind"])
    end, _ = step_vehicle(vehicle, state, command, jnp.zeros(0), environment, dt)
    later = advance(coordinates, mean, command, jnp.zeros(4), jnp.asarray(dt))
    np.testing.assert_allclose(later["rates"], end.twist[3:], atol=3e-9)
    np.testing.assert_allclose(later["velocity"] - jnp.cross(later["rates"], com), end.twist[:3], atol=3e-9)
    np.testing.assert_allclose(later["rotor_speed"], end.rotor_rates, rtol=1e-9)

    motion = accelerations(vehicle, state, command, jnp.zeros(0), environment)
    body = motion.acceleration
    w, p = mean["rates"], jnp.asarray(airframe.imu[0].position)
    fall = so3.from_wxyz(mean["attitude"]).T @ jnp.asarray([0.0, 0.0, -9.81])
    a = body[:3] + jnp.cross(w, twist[:3]) - fall + jnp.cross(body[3:], p) + jnp.cross(w, jnp.cross(w, p))
    read = imu_reading(coordinates, mean, command, jnp.zeros(4))
    np.testing.assert_allclose(read[:3] - mean["accel_bias"], a, atol=1e-9)


@pytest.mark.parametrize("axes", ["sphere", "spherical"])
def test_without_effects_both_derivatives_are_the_same(axes) -> None:
    """The structured derivative and that of the whole step, with an effect that does nothing at rest."""
    plain = describe_vehicle(from_catalogue("hexa-tilted"), axes)
    wide = describe_vehicle(from_catalogue("hexa-tilted"), axes, ("delay",))
    speeds, rotor_accelerations, dt = (
        jnp.full(6, 500.0) + 10.0 * jnp.arange(6),
        jnp.zeros(6),
        jnp.asarray(0.005),
    )
    mean = {**plain.coordinates.moving.select(MOVING), **plain.coordinates.to_coordinates(plain.physical)}
    more = {**mean, "delay": jnp.zeros(1)}
    n = plain.coordinates.space.dimension
    both = np.r_[0:n, n + 1 : n + 7]
    structured, whole = (
        jax.jit(
            lambda m, c=c: (
                linear_step(m, speeds, dt, c, rotor_accelerations),
                linear_imu(m, speeds, c, rotor_accelerations),
            )
        )(m)
        for m, c in ((mean, plain.coordinates), (more, wide.coordinates))
    )
    for a, b in zip(structured, whole, strict=True):
        scale = np.max(np.abs(np.asarray(a[1])), axis=0) + 1e-12
        np.testing.assert_allclose(np.asarray(b[1])[:, both] / scale, a[1] / scale, atol=1e-9)
    np.testing.assert_allclose(structured[1][0], whole[1][0], atol=1e-11)


def test_delay_looks_back(all_effects) -> None:
    _, coordinates, mean = all_effects
    late = {**mean, "delay": jnp.asarray([0.01])}
    old = advance(coordinates, mean, SPEEDS - 0.01 * RISE, RISE, jnp.asarray(0.005))
    now = advance(coordinates, late, SPEEDS, RISE, jnp.asarray(0.005))
    for name, value in old.items():
        np.testing.assert_allclose(now[name], value, rtol=1e-12)


def test_momentum_in_the_structured_derivative() -> None:
    """With spinning rotors the derivative through force, torque and momentum is that of the whole step."""
    structured = describe_vehicle(blown(), effects=("spin",))
    whole = describe_vehicle(blown(), effects=("spin", "delay"))
    coordinates, dt = structured.coordinates, jnp.asarray(0.005)
    mean = {**coordinates.moving.select(MOVING), **coordinates.to_coordinates(structured.physical)}
    more = {**mean, "delay": jnp.zeros(1)}
    n = coordinates.space.dimension
    both = np.r_[0:n, n + 1 : n + 5]
    found = [
        jax.jit(lambda m, c=c: (linear_step(m, SPEEDS, dt, c, RISE), linear_imu(m, SPEEDS, c, RISE)))(m)
        for m, c in ((mean, coordinates), (more, whole.coordinates))
    ]
    for a, b in zip(*found, strict=True):
        scale = np.max(np.abs(np.asarray(a[1])), axis=0) + 1e-12
        np.testing.assert_allclose(np.asarray(b[1])[:, both] / scale, a[1] / scale, atol=1e-9)
    np.testing.assert_allclose(found[0][1][0], found[1][1][0], atol=1e-11)
    for name, value in found[1][0][0].items():
        np.testing.assert_allclose(found[0][0][0][name], value, atol=1e-12)
