"""The flight of the demonstration against closed forms and conservation laws."""

import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import loads
from haltere.dynamics import Environment, Model, State
from haltere.report.manoeuvre import WORKS, Course, fly, sources

TEXT = """
name = "arm"
[body]
mass = 1.0
com = [0.02, 0, 0]
inertia = [0.01, 0.012, 0.02, 0, 0, 0]
[[links]]
name = "arm"
joint = { origin = [0.1, 0, 0], axis = [0, 1, 0] }
mass = 0.4
com = [0.1, 0.02, 0]
inertia = [1e-3, 2e-3, 2e-3, 0, 0, 0]
[[rotors]]
name = "r"
link = "arm"
position = [0.2, 0, 0]
axis = [0, 0, 1]
spin = "ccw"
thrust_coefficient = 1e-5
torque_ratio = 0.02
mass = 0.01
inertia = [1e-5, 1e-5, 2e-5, 0, 0, 0]
"""
FIRST, LAST, START, END = 0.2, 1.1, 0.04, 0.36  # the kinks of the course fall on steps


@pytest.fixture(scope="module")
def model():
    return Model.from_airframe(loads(TEXT))


@pytest.fixture(scope="module")
def course():
    return Course(*(jnp.asarray(x) for x in ([FIRST], [LAST], START, END)))


def beginning(model, rotor_rate=0.0):
    rest = State.rest(model)
    twist = jnp.asarray([1.0, -0.5, 2.0, 0.3, 0.2, -0.4])
    rotor = jnp.asarray([rotor_rate])
    return State(
        rest.position, rest.wxyz, twist, jnp.asarray([FIRST]), rest.joint_rates, rest.rotor_angles, rotor
    )


@pytest.fixture(scope="module")
def in_space(model, course):
    space = Environment(gravity=(0, 0, 0))
    return [fly(model, beginning(model), course, space, 0.4, 20, steps) for steps in (1, 2)]


@pytest.fixture(scope="module")
def in_air(model, course):
    return fly(model, beginning(model, 300.0), course, Environment(), 0.4, 20, 4)


def test_the_joint_follows_its_course(in_air):
    angles = np.asarray(in_air.moments.state.joint_angles)[:, 0]
    times = np.asarray(in_air.times)
    assert np.asarray(in_air.times)[[0, -1]] == pytest.approx([0.0, 0.4])
    assert angles[times < START] == pytest.approx(FIRST)
    assert angles[times > END] == pytest.approx(LAST, abs=1e-6)
    assert angles[times == pytest.approx(0.2)] == pytest.approx(0.5 * (FIRST + LAST), abs=1e-6)


def test_momentum_is_conserved_in_empty_space_to_fourth_order(in_space):
    errors = [float(jnp.abs(r.moments.momentum - r.moments.momentum[0]).max()) for r in in_space]
    assert errors[1] < 1e-5
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.4)


def test_the_centre_of_mass_falls_freely_without_thrust(model, course):
    flight = fly(model, beginning(model), course, Environment(), 0.4, 20, 4)
    # Linear momentum changes by weight times time, whatever the arm does.
    change = np.asarray(flight.moments.momentum[:, :3] - flight.moments.momentum[0, :3])
    weight = np.array([0.0, 0.0, -9.81 * 1.41])
    assert change == pytest.approx(np.asarray(flight.times)[:, None] * weight, abs=1e-7)


def test_energy_and_power_balance(in_air):
    assert float(jnp.abs(in_air.power_error).max()) < 1e-10
    assert float(jnp.abs(in_air.energy_error).max()) < 1e-6
    assert float(jnp.abs(in_air.moments.kinetic_energy - in_air.moments.kinetic_energy[0]).max()) > 0.1


def test_rotors_keep_their_speed_and_their_drives_pay_for_the_drag(model, in_air):
    assert np.asarray(in_air.moments.state.rotor_rates) == pytest.approx(300.0)
    power = dict(zip(WORKS, np.asarray(sources(model, in_air.moments.power))[0], strict=True))
    drag_torque = 1e-5 * 0.02 * 300.0**2
    assert power["rotor drives"] == pytest.approx(300.0 * drag_torque, rel=0.05)
    assert power["joint drives"] == 0.0
