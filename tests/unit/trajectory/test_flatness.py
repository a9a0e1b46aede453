"""Attitude, turning and wrench of a reference: against differences in time and against Newton and Euler."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.dynamics.rigid import RigidVehicle
from haltere.lie import so3
from haltere.trajectory import Holding, attitude, flat_motion, flat_wrench, hover_point, lissajous

PATH = lissajous((3.0, 4.0, 5.0, 6.0), 30.0)
MOMENTS = (0.0, 1.7, 5.3, 11.1)
H = 1e-4


@cache
def believed(name):
    vehicle = RigidVehicle.from_airframe(from_catalogue(name))
    if name == "hummingbird":  # a thrust axis and a centre of mass of its own
        turn = so3.exp(jnp.asarray([0.2, -0.3, 0.0]))
        allocation = jnp.kron(jnp.eye(2), turn) @ vehicle.allocation
        vehicle = replace(vehicle, allocation=allocation, com=jnp.asarray([0.0, 0.0, 0.0]))
    return vehicle, hover_point(vehicle)


@cache
def motions():
    return jax.jit(lambda v, h, t: flat_motion(v, h, PATH.at(t)))


@pytest.mark.parametrize("name", ["hummingbird", "quad-arm", "hexa-tilted"])
def test_turning_is_the_change_of_attitude(name):
    vehicle, hover = believed(name)
    for t in MOMENTS:
        here, after, before = (motions()(vehicle, hover, t + shift) for shift in (0.0, H, -H))
        rate = so3.box_minus(after.R_WH, before.R_WH) / (2.0 * H)
        np.testing.assert_allclose(here.rate, here.R_WH.T @ before.R_WH @ rate, atol=1e-5)
        np.testing.assert_allclose(here.acceleration, (after.rate - before.rate) / (2.0 * H), atol=1e-4)
        np.testing.assert_allclose(here.R_WH.T @ here.R_WH, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(np.linalg.det(here.R_WH), 1.0)


def test_the_centre_of_mass_moves_beside_the_body_origin():
    vehicle, hover = believed("quad-arm")
    assert abs(float(vehicle.com[2])) > 1e-3
    for t in MOMENTS:
        here, after, before = (motions()(vehicle, hover, t + shift) for shift in (0.0, H, -H))
        velocity = (after.com_position - before.com_position) / (2.0 * H)
        acceleration = (after.com_velocity - before.com_velocity) / (2.0 * H)
        np.testing.assert_allclose(here.com_velocity, velocity, atol=1e-6)
        np.testing.assert_allclose(here.com_acceleration, acceleration, atol=1e-6)


@pytest.mark.parametrize("name", ["hummingbird", "hexa-tilted"])
def test_the_wrench_is_that_of_newton_and_euler(name):
    vehicle, hover = believed(name)
    for t in MOMENTS:
        here, after, before = (motions()(vehicle, hover, t + shift) for shift in (0.0, H, -H))
        wrench = np.asarray(flat_wrench(vehicle, hover, here))
        force = here.R_WH @ wrench[:3]
        gravity = jnp.asarray([0.0, 0.0, -9.81])
        np.testing.assert_allclose(force / vehicle.mass + gravity, PATH.at(t).acceleration, atol=1e-9)

        def momentum(motion):
            inertia = hover.frame.T @ vehicle.inertia @ hover.frame
            return motion.R_WH @ inertia @ motion.rate

        torque = (momentum(after) - momentum(before)) / (2.0 * H)
        np.testing.assert_allclose(here.R_WH @ wrench[3:], torque, atol=1e-5)
        if name == "hummingbird":
            np.testing.assert_allclose(wrench[:2], 0.0, atol=1e-9)


def test_yaw_is_the_heading_of_x():
    vehicle, hover = believed("quad-arm")
    for t in MOMENTS:
        R = np.asarray(motions()(vehicle, hover, t).R_WH)
        np.testing.assert_allclose(np.arctan2(R[1, 0], R[0, 0]), PATH.at(t).yaw, atol=1e-9)


@pytest.mark.parametrize("push", [0.0, 1e-9, 0.3, 0.99, 1.01, 2.0, 5.0])
def test_a_sideways_force_is_pushed_as_far_as_it_goes_and_tilted_for_beyond(push):
    level, weight, lateral = jnp.eye(3), jnp.asarray(10.0), jnp.asarray(1.0)
    force = jnp.asarray([push, 0.0, 10.0])
    R = attitude(force, jnp.asarray(0.0), level, lateral, weight)
    in_body = np.asarray(R.T @ force)
    if push <= 1.0:
        np.testing.assert_allclose(R, np.eye(3), atol=1e-12)
    else:
        np.testing.assert_allclose(np.hypot(in_body[0], in_body[1]), 1.0)
        assert in_body[0] > 0.0
    tilting = attitude(force, jnp.asarray(0.0), level, jnp.asarray(0.0), weight)
    np.testing.assert_allclose(tilting.T @ force, [0.0, 0.0, np.linalg.norm(force)], atol=1e-9)


def test_a_given_attitude_is_held_where_the_vehicle_can():
    vehicle, hover = believed("hexa-tilted")
    tilt = so3.exp_wxyz(jnp.asarray([0.05, 0.0, 0.0]))
    reference = Holding(lissajous((1.0, 1.0, 0.0, 1.0), 60.0, amplitude=(0.1, 0.1, 0.0, 0.5)), tilt).at(3.0)
    motion = flat_motion(vehicle, hover, reference)
    np.testing.assert_allclose(motion.R_WH @ hover.frame.T, so3.from_wxyz(reference.wxyz), atol=1e-9)
    np.testing.assert_allclose(motion.R_WH @ motion.rate, [0.0, 0.0, reference.yaw_rate], atol=1e-9)


def test_free_fall_asks_for_no_attitude_and_breaks_nothing():
    vehicle, hover = believed("quad-arm")
    still = lissajous((0.0,) * 4).at(0.0)
    falling = replace(still, acceleration=jnp.asarray([0.0, 0.0, -9.81]))
    motion = flat_motion(vehicle, hover, falling)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(motion))
