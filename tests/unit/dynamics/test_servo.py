"""The servo model: friction edges by hand, no creep at rest, and torques against a hand-derived planar arm."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.dynamics.arm import Arm, joint_torques
from haltere.dynamics.servo import Servos, ServoState, duty, reported, servo_step
from haltere.estimation.payload.signals import arm_rows

DT = 1e-3


@pytest.fixture(scope="module")
def servos():
    plain = Servos.from_airframe(from_catalogue("quad-arm"))
    return plain.changed(ripple=0.0)


def settled(servos, goal, load, start, time=2.0):
    """The state after `time` s under a constant load (J,)."""
    inertia = jnp.diag(jnp.asarray([0.01, 0.004]))

    def one(state, _):
        return servo_step(servos, state, goal, inertia, load, DT), None

    zero = jnp.zeros(2)
    state = ServoState(start, zero, zero, zero)
    return jax.jit(lambda s: jax.lax.scan(one, s, None, length=round(time / DT))[0])(state)


def test_a_load_that_sinks_in_rests_at_the_lower_edge_of_the_friction(servos):
    load = jnp.asarray([0.5, 0.3])
    goal = jnp.zeros(2)
    state = settled(servos, goal, load, goal)
    torque = np.asarray(duty(servos, state.angle, goal) * servos.stall_torque)
    edge = np.asarray(load * (1.0 - servos.loss_down) - servos.coulomb)
    step = np.asarray(servos.stiffness * servos.resolution)
    assert np.all(torque > edge - step)
    assert np.all(torque < edge + 0.15 * np.asarray(load) + step)
    assert np.all(np.asarray(state.angle) < 0.0)


def test_a_load_that_is_lifted_rests_at_the_upper_edge(servos):
    load = jnp.asarray([0.5, 0.3])
    goal = jnp.asarray([0.3, 0.3])
    state = settled(servos, goal, load, jnp.zeros(2))
    torque = np.asarray(duty(servos, state.angle, goal) * servos.stall_torque)
    edge = np.asarray(load * (1.0 + servos.loss_up) + servos.coulomb)
    step = np.asarray(servos.stiffness * servos.resolution)
    assert np.all(torque < 1.05 * edge + step)
    assert np.all(torque > 0.8 * edge - step)


def test_a_joint_at_rest_does_not_creep(servos):
    load = jnp.asarray([0.5, 0.3])
    goal = jnp.zeros(2)
    soon, late = (settled(servos, goal, load, goal, time) for time in (2.0, 10.0))
    assert np.abs(np.asarray(soon.angle - late.angle)).max() < 1.1 * float(servos.presliding.max())
    assert np.abs(np.asarray(late.rate)).max() < 0.05


def test_what_is_accelerated_is_carried_by_the_gears_and_costs_friction(servos):
    """By hand, one joint alone: lifting with the goal far ahead, (1 + loss) (t + M q'') + c + J q'' + emf = T d."""
    load, mass, goal = np.asarray([0.3, 0.2]), np.asarray([0.01, 0.004]), jnp.asarray([0.1, 0.1])
    start = ServoState(jnp.zeros(2), jnp.asarray([0.5, 0.5]), jnp.ones(2), jnp.zeros(2))
    after = servo_step(servos, start, goal, jnp.diag(jnp.asarray(mass)), jnp.asarray(load), DT)
    found = (np.asarray(after.rate) - 0.5) / DT
    up, dry, own = (np.asarray(x) for x in (servos.loss_up, servos.coulomb, servos.inertia))
    drive = np.asarray(duty(servos, start.angle, goal) * servos.stall_torque)
    emf = np.asarray(servos.stall_torque / servos.no_load_speed)
    by_hand = (drive - (1.0 + up) * load - dry - 0.5 * emf) / ((1.0 + up) * mass + own + DT * emf)
    assert np.allclose(found, by_hand, rtol=0.03)


def test_reports_come_in_steps(servos):
    angle, load = reported(servos, ServoState(jnp.asarray([0.1, 0.1]), *(jnp.asarray([0.1, 0.2]),) * 3))
    assert np.allclose(np.asarray(angle / servos.resolution) % 1.0 % 1.0, 0.0, atol=1e-9)
    assert np.allclose(np.asarray(load) * 1023.0, np.round(np.asarray(load) * 1023.0))


@cache
def arm_of():
    return Arm.from_airframe(from_catalogue("quad-arm"))


def torques(arm, *motion):
    return jax.jit(partial(joint_torques, arm.model))(arm.bodies, *motion)


def planar(a, b, a2, b2, l1, c1, c2, m1, m2, i1, i2, g):
    """Torques of a planar double pendulum with angles from straight down, at rest but for accelerations a2, b2.

    By Lagrange's equations, links with centres at c1 and c2 along them, second angle relative.
    """
    m11 = m1 * c1**2 + i1 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * np.cos(b)) + i2
    m12 = m2 * (c2**2 + l1 * c2 * np.cos(b)) + i2
    m22 = m2 * c2**2 + i2
    g1 = (m1 * c1 + m2 * l1) * g * np.sin(a) + m2 * c2 * g * np.sin(a + b)
    g2 = m2 * c2 * g * np.sin(a + b)
    return np.asarray([m11 * a2 + m12 * b2 + g1, m12 * a2 + m22 * b2 + g2])


@pytest.mark.parametrize(("a", "b"), [(0.0, 1.5), (0.7, 0.7), (1.5, -0.4), (-0.3, 2.0)])
def test_torques_are_those_of_a_double_pendulum(a, b):
    arm = arm_of()
    still, base = jnp.zeros(2), jnp.zeros(3)
    motion = (
        jnp.asarray([a, b]),
        still,
        jnp.asarray([0.8, -1.3]),
        jnp.asarray([0.0, 0.0, 9.81]),
        base,
        base,
    )
    ours = torques(arm, *motion)
    inertia = 1.76e-5
    theirs = planar(a, b, 0.8, -1.3, 0.0733, 0.06597, 0.05275, 0.06, 0.06, inertia, inertia, 9.81)
    assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    rows = arm_rows(arm, tuple(np.asarray(x) for x in motion))
    assert np.allclose(np.einsum("jlk,lk->j", rows, arm.bodies), ours, rtol=1e-10)


def test_a_tilted_base_at_rest_shifts_the_angle():
    """Specific force turned by an angle is the same as both levers turned by it: it enters once."""
    arm = arm_of()
    zero, tilt = jnp.zeros(3), 0.3
    straight = torques(
        arm,
        jnp.asarray([0.5 + tilt, 0.4]),
        jnp.zeros(2),
        jnp.zeros(2),
        jnp.asarray([0.0, 0.0, 9.81]),
        zero,
        zero,
    )
    leaning = jnp.asarray([np.sin(tilt), 0.0, np.cos(tilt)]) * 9.81
    turned = torques(arm, jnp.asarray([0.5, 0.4]), jnp.zeros(2), jnp.zeros(2), leaning, zero, zero)
    other = torques(
        arm,
        jnp.asarray([0.5, 0.4]),
        jnp.zeros(2),
        jnp.zeros(2),
        leaning * jnp.asarray([-1.0, 1.0, 1.0]),
        zero,
        zero,
    )
    same = [np.allclose(x, straight, rtol=1e-9) for x in (turned, other)]
    assert sum(same) == 1
