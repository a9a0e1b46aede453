"""Pilots: what they command, and the memory that they keep."""

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import from_catalogue
from haltere.control import GeometricController, Integral, control_step, start_on_trajectory, track
from haltere.control.pilot import stay_at_rest
from haltere.dynamics import Model
from haltere.dynamics.motors import Motors
from haltere.trajectory import hover


def test_a_tracking_pilot_commands_what_the_controller_wants():
    airframe = from_catalogue("hummingbird")
    controller, motors = GeometricController.from_airframe(airframe), Motors.from_airframe(airframe)
    path = hover((0.0, 0.0, 2.0))
    state = start_on_trajectory(Model.from_airframe(airframe), controller, path)
    pilot, memory = track(controller, path, motors, lambda time: time * jnp.ones(1), period=0.01)
    later, command = jax.jit(pilot)(memory, jnp.asarray(0.5), state)
    wanted, expected = jax.jit(control_step)(controller, Integral.zero(), state, path.at(0.5), 0.01)
    np.testing.assert_allclose(command.rotors, motors.command(jnp.sqrt(wanted)), rtol=1e-12)
    np.testing.assert_allclose(later.force, expected.force, atol=1e-15)
    np.testing.assert_array_equal(command.joints, [0.5])


def test_a_pilot_at_rest_commands_nothing():
    pilot, memory = stay_at_rest(3, jnp.asarray([0.1]))
    later, command = pilot(memory, jnp.asarray(0.0), None)
    np.testing.assert_array_equal(command.rotors, np.zeros(3))
    np.testing.assert_array_equal(command.joints, [0.1])
    assert later is memory
