"""What the controller asks for at one instant, and what it says when it cannot fly."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.control import (
    Bandwidths,
    ControlError,
    GeometricController,
    Integral,
    command,
    control_step,
    start_on_trajectory,
    wrench,
)
from haltere.dynamics import Model, State
from haltere.lie import so3
from haltere.trajectory import hover, lissajous

LIFT = 9.81 * 0.716


@cache
def made(name):
    airframe = from_catalogue(name)
    return Model.from_airframe(airframe), GeometricController.from_airframe(airframe)


@cache
def commanded():
    return jax.jit(command)


@pytest.mark.parametrize("name", ["hummingbird", "hexa-tilted", "quad-arm"])
def test_on_its_path_a_vehicle_asks_for_exactly_what_flies_it(name):
    model, controller = made(name)
    path = lissajous((3.0, 4.0, 5.0, 3.0), 40.0, amplitude=(0.5, 0.5, 0.5, 0.5))
    state = start_on_trajectory(model, controller, path, 1.3)
    u = commanded()(replace(controller, lead=jnp.ones(())), state, path.at(1.3))
    np.testing.assert_allclose(np.sqrt(u), state.rotor_rates, rtol=1e-3)


def test_at_rest_the_command_is_the_hover_command():
    model, controller = made("hummingbird")
    place = hover((1.0, 2.0, 3.0), 0.4)
    state = start_on_trajectory(model, controller, place)
    u = commanded()(controller, state, place.at(0.0))
    np.testing.assert_allclose(u, controller.hover.command, rtol=1e-9)
    np.testing.assert_allclose(np.sum(np.asarray(u) * 8.54858e-6), LIFT, rtol=1e-9)


def test_errors_pull_back():
    model, controller = made("hummingbird")
    place = hover((0.0, 0.0, 2.0))
    rest = start_on_trajectory(model, controller, place)

    def ask(**changes):
        return np.asarray(wrench(controller, replace(rest, **changes), place.at(0.0))[0])

    assert ask(position=jnp.asarray([0.0, 0.0, 1.9]))[2] > LIFT  # below: more thrust
    assert ask(position=jnp.asarray([0.1, 0.0, 2.0]))[4] < 0.0  # ahead: pitch up
    assert ask(position=jnp.asarray([0.0, 0.1, 2.0]))[3] > 0.0  # to the left: roll right
    assert ask(wxyz=so3.exp_wxyz(jnp.asarray([0.0, 0.0, 0.1])))[5] < 0.0
    assert ask(twist=jnp.asarray([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]))[3] < 0.0


def test_a_state_that_is_not_a_number_gives_the_hover_command():
    model, controller = made("hummingbird")
    place = hover()
    state = replace(State.rest(model), position=jnp.asarray([np.nan, 0.0, 0.0]))
    np.testing.assert_allclose(commanded()(controller, state, place.at(0.0)), controller.hover.command)
    u, integral = control_step(controller, Integral.zero(), state, place.at(0.0), 0.01)
    assert np.all(np.isfinite(u))
    assert np.all(np.isfinite(integral.force))


def test_the_same_vehicle_in_turned_axes_gets_the_same_command():
    """Its thrust axis is then no axis of the body; the heading stays as the turn is about y."""
    _, controller = made("quad-arm")
    turn = so3.exp(jnp.asarray([0.0, 0.4, 0.0]))  # R_BC: new axes C in the old ones B
    vehicle = controller.vehicle
    both = jnp.kron(jnp.eye(2), turn.T)
    moved = replace(
        vehicle,
        com=turn.T @ vehicle.com,
        inertia=turn.T @ vehicle.inertia @ turn,
        allocation=both @ vehicle.allocation,
    )
    other = controller.with_vehicle(moved)
    np.testing.assert_allclose(other.hover.axis, turn.T @ controller.hover.axis, atol=1e-9)
    path = lissajous((3.0, 4.0, 5.0, 3.0), 40.0)
    wxyz = so3.exp_wxyz(jnp.asarray([0.1, -0.2, 0.3]))
    twist = jnp.asarray([0.3, 0.1, -0.2, 0.4, -0.5, 0.6])
    n = vehicle.low.size
    rest = (jnp.zeros(2), jnp.zeros(2), jnp.zeros(n), jnp.full(n, 500.0))
    state = State(jnp.asarray([0.1, 0.2, 1.4]), wxyz, twist, *rest)
    turned = State(state.position, so3.multiply_wxyz(wxyz, so3.to_wxyz(turn)), both @ twist, *rest)
    reference = path.at(0.2)
    np.testing.assert_allclose(
        commanded()(other, turned, reference), commanded()(controller, state, reference), rtol=1e-6
    )


def test_numbers_can_be_replaced_and_mapped_over():
    _, controller = made("hexa-tilted")
    stronger = replace(controller.vehicle, allocation=2.0 * controller.vehicle.allocation)
    np.testing.assert_allclose(
        controller.with_vehicle(stronger).hover.command, 0.5 * controller.hover.command, rtol=1e-9
    )
    keys = jax.random.split(jax.random.key(0), 3)
    many = jax.jit(jax.vmap(lambda key: controller.perturbed(key, 0.1)))(keys)
    ratio = many.vehicle.mass / controller.vehicle.mass
    assert np.all(np.abs(ratio - 1.0) <= 0.1)
    assert np.ptp(ratio) > 0.0


def test_lead_drives_slow_motors_harder_and_stays_inside():
    model, controller = made("crazyflie")
    assert float(controller.lead) > 2.0
    place = hover((0.0, 0.0, 2.0))
    state = start_on_trajectory(model, controller, place)
    slow = replace(state, rotor_rates=0.9 * state.rotor_rates)
    u = commanded()(controller, slow, place.at(0.0))
    assert np.all(u > controller.hover.command)
    assert np.all(u <= controller.vehicle.high)


def test_gains_place_the_poles():
    controller = GeometricController.from_airframe(
        from_catalogue("hummingbird"), bandwidths=Bandwidths(2.0, 10.0, 4.0, damping=1.0, integral=0.0)
    )
    gains = controller.gains
    poles = np.roots([1.0, float(gains.velocity), float(gains.position)])
    np.testing.assert_allclose(poles, [-2.0, -2.0], atol=1e-6)
    np.testing.assert_allclose(gains.attitude, [100.0, 100.0, 16.0])
    assert float(gains.integral) == 0.0


def test_bigger_vehicles_are_slower():
    bandwidth = {
        name: float(made(name)[1].gains.attitude[0]) ** 0.5
        for name in ("crazyflie", "hummingbird", "quad-arm")
    }
    assert bandwidth["crazyflie"] > bandwidth["hummingbird"] > bandwidth["quad-arm"]


def heavy(factor):
    airframe = from_catalogue("hummingbird")
    return airframe.model_copy(update={"body": airframe.body.model_copy(update={"mass": factor * 0.716})})


def one_way(_):
    airframe = from_catalogue("hummingbird")
    rotors = tuple(rotor.model_copy(update={"spin": "cw"}) for rotor in airframe.rotors)
    return airframe.model_copy(update={"rotors": rotors})


@pytest.mark.parametrize(("airframe", "words"), [(heavy(4.0), "lift"), (one_way(0), "without torque")])
def test_a_vehicle_that_cannot_hover_is_told_so(airframe, words):
    with pytest.raises(ControlError, match="cannot hover") as error:
        GeometricController.from_airframe(airframe)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_vehicle_without_rotors_is_told_so():
    with pytest.raises(ControlError, match="no rotor"):
        GeometricController.from_airframe(heavy(1.0).model_copy(update={"rotors": ()}))


def test_bandwidths_must_be_above_zero():
    with pytest.raises(ControlError, match="attitude: got -1"):
        GeometricController.from_airframe(
            from_catalogue("hummingbird"), bandwidths=Bandwidths(1.0, -1.0, 1.0)
        )


def test_single_precision_stays_single():
    airframe = from_catalogue("hummingbird")
    model = Model.from_airframe(airframe, jnp.float32)
    controller = GeometricController.from_model(model, [rotor.speed_limits for rotor in airframe.rotors])
    u = commanded()(controller, State.rest(model), hover().at(0.0))
    assert u.dtype == jnp.float32
