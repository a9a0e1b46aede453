"""The hover controller: its poles, its motor curve, and that it turns the thrust axis where it should."""

import jax.numpy as jnp
import numpy as np
import pytest

from haltere.control.indi import HoverController, motor_command
from haltere.estimation.throw.effectiveness import Effectiveness
from haltere.estimation.throw.thrust_axis import thrust_axis

K, MASS, LAG = 2.66e-7, 0.428, 0.02
PLACES = np.array([[-0.0455, -0.0635], [0.0455, -0.0635], [-0.0455, 0.0635], [0.0455, 0.0635]])
SPIN = np.array([-1.0, 1.0, 1.0, -1.0])
INERTIA = np.array([7.2e-4, 7.7e-4, 8.9e-4])


def learnt():
    torque = K * np.stack([PLACES[:, 1], -PLACES[:, 0], -0.01 * SPIN]) / INERTIA[:, None]
    spin = np.zeros((3, 4))
    spin[2] = -9e-7 * SPIN / INERTIA[2]
    force = np.zeros((3, 4))
    force[2] = K / MASS
    full = jnp.full(4, 4000.0)
    return Effectiveness(
        jnp.asarray(force), jnp.asarray(torque), jnp.asarray(spin), full, 0.46 * (full - 400.0), 0.54 * (full - 400.0),
        jnp.full(4, 400.0), jnp.full(4, LAG),
    )  # fmt: skip


@pytest.fixture(scope="module")
def controller():
    e = learnt()
    return HoverController.from_effectiveness(e, thrust_axis(e.force, e.torque, 0.0, e.max_speed**2))


def test_the_three_poles_fall_together(controller):
    t, kW, kt = float(controller.lag), float(controller.rate_gain), float(controller.attitude_gain)
    poles = np.roots([t, 1.0, kW, kW * kt])
    np.testing.assert_allclose(poles, -1.0 / (3.0 * t), rtol=1e-4)


def test_the_motor_curve_is_inverted():
    e = learnt()
    d = jnp.asarray([0.0, 0.2, 0.7, 1.0])
    speed = e.linear * d + e.root * jnp.sqrt(d) + e.idle_speed
    np.testing.assert_allclose(motor_command(e, speed), d, atol=1e-9)


def settled(controller, wxyz, wanted, speeds):
    return np.asarray(
        controller.command(
            jnp.asarray(wxyz),
            jnp.asarray(wanted),
            jnp.zeros(3),
            jnp.zeros(3),
            speeds**2,
            jnp.zeros(4),
            speeds,
        )
    )


def test_level_and_still_it_hovers(controller):
    speeds = jnp.sqrt(controller.hover)
    command = settled(controller, [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 9.80665], speeds)
    np.testing.assert_allclose(command, motor_command(controller.effectiveness, speeds), atol=1e-3)


def test_it_turns_the_thrust_axis_towards_the_wanted_force(controller):
    speeds = jnp.sqrt(controller.hover)
    command = settled(controller, [1.0, 0.0, 0.0, 0.0], [3.0, 0.0, 9.0], speeds)
    rear, front = command[[0, 2]], command[[1, 3]]
    assert rear.min() > front.max(), "a force ahead needs the nose down"


def test_upside_down_it_does_not_push_into_the_ground(controller):
    speeds = jnp.sqrt(controller.hover)
    command = settled(controller, [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 9.8], speeds)
    assert command.min() == 0.0
    assert np.isfinite(command).all()


def test_the_integral_stops_far_away(controller):
    _, near = controller.acceleration(jnp.zeros(3), jnp.zeros(3), jnp.asarray([0.5, 0.0, 0.0]), 9.81, 0.1)
    moved, _ = controller.acceleration(jnp.zeros(3), jnp.zeros(3), jnp.asarray([0.5, 0.0, 0.0]), 9.81, 0.1)
    far, limited = controller.acceleration(
        jnp.zeros(3), jnp.zeros(3), jnp.asarray([50.0, 0.0, 0.0]), 9.81, 0.1
    )
    assert float(moved.integral[0]) > 0.0
    assert float(far.integral[0]) == 0.0
    assert np.hypot(*np.asarray(limited)[:2]) <= 6.0 + 1e-9
    assert near[2] == pytest.approx(9.81)
