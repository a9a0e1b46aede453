"""Accelerations, torques and free flights of random vehicles against MuJoCo."""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from haltere.airframe import Airframe
from haltere.dynamics import Model, State, forward_dynamics

from .comparison import assert_within, solution_errors
from .loads import rotation_matrix
from .mujoco_oracle import MujocoVehicle
from .random_state import Draw
from .random_vehicle import INERTIAL, Features, Vector
from .subject import (
    Batch,
    Order,
    compiled,
    evaluate,
    evaluated,
    random_batch,
    subject_drive,
    subject_environment,
)

TOLERANCE = 1e-9
FLIGHT_TOLERANCE = 1e-6
DURATION = 1.0
AIRBORNE = Features(rotor_kinds=("disc", "blade"), wing_tables=False, largest_wing=0.01, max_rotors=4)
"""Wings whose random coefficients may feed energy into the motion, too small to do so within the flight."""


@pytest.mark.parametrize("seed", range(10))
def test_random_vehicles(seed: int) -> None:
    batch, outcome = evaluated(seed)
    _compare(batch, outcome.forward)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300, 350))
def test_many_random_vehicles(seed: int) -> None:
    batch = random_batch(seed)
    _compare(batch, evaluate(batch).forward)


def _compare(batch: Batch, solutions: Any) -> None:
    errors = []
    for airframe, draw, ours in zip(batch.airframes, batch.draws, solutions, strict=True):
        errors.append(solution_errors(ours, MujocoVehicle(airframe).forward(draw), batch.joints))
    assert_within(errors, TOLERANCE)


def _calm(batch: Batch, *, rotor_speed: float = 40.0) -> Draw:
    """Return a state whose motion stays below some hundred rad/s for a second, so that fixed steps resolve
    it.
    """
    draw, joints = batch.draws[0], batch.joints
    is_joint = np.arange(len(draw.rates)) < joints
    return replace(
        draw,
        twist=draw.twist * 0.6,
        rates=np.where(is_joint, 0.3 * draw.rates, rotor_speed / 800.0 * draw.rates),
        drive=np.where(is_joint, 0.05, 0.01) * draw.drive,
    )


def _fly(airframe: Airframe, draw: Draw, force: Vector, moment: Vector) -> Draw:
    """Integrate our accelerations with DOP853; the force acts at the com of the body, in world axes.

    Joints and rotors are in the order of the model inside, of the file outside.
    """
    model = Model.from_airframe(airframe)
    order = Order(airframe, model)
    drive, environment = subject_drive(order, draw), subject_environment(draw)
    count, joints = len(draw.angles), len(order.joints)
    com = jnp.array(airframe.body.com)

    def rotate_back(wxyz: Any, vector: Any) -> Any:
        return vector - 2.0 * jnp.cross(wxyz[1:], wxyz[0] * vector - jnp.cross(wxyz[1:], vector))

    def rate(y: Any) -> Any:
        position, twist, angles, rates = y[:3], y[7:13], y[13 : 13 + count], y[13 + count :]
        wxyz = y[3:7] / jnp.linalg.norm(y[3:7])
        state = State(
            position=position,
            wxyz=wxyz,
            twist=twist,
            joint_angles=angles[:joints],
            joint_rates=rates[:joints],
            rotor_angles=angles[joints:],
            rotor_rates=rates[joints:],
        )
        force_B, moment_B = rotate_back(wxyz, jnp.array(force)), rotate_back(wxyz, jnp.array(moment))
        wrenches = jnp.array(draw.wrenches[order.links])
        on_body = jnp.concatenate([force_B, moment_B + jnp.cross(com, force_B)])
        wrenches = wrenches.at[0].add(on_body)
        motion = forward_dynamics(model, state, drive, environment, wrenches)
        velocity = rotate_back(wxyz * jnp.array([1.0, -1.0, -1.0, -1.0]), twist[:3])
        w, n, omega = wxyz[0], wxyz[1:], twist[3:]
        wxyz_rate = 0.5 * jnp.concatenate([-(n @ omega)[None], w * omega + jnp.cross(n, omega)])
        accelerations = (motion.acceleration, rates, motion.joint_accelerations, motion.rotor_accelerations)
        return jnp.concatenate([velocity, wxyz_rate, *accelerations])

    angles, rates = np.concatenate(order.split(draw.angles)), np.concatenate(order.split(draw.rates))
    start = np.concatenate([draw.position, draw.wxyz, draw.twist, angles, rates])
    quick = compiled(rate, start)
    end = solve_ivp(
        lambda _, y: np.asarray(quick(y)), (0.0, DURATION), start, method="DOP853", rtol=1e-10, atol=1e-10
    )
    assert end.success, end.message
    y = end.y[:, -1]
    wxyz = y[3:7] / np.linalg.norm(y[3:7])
    angles, rates = order.to_file(y[13 : 13 + count]), order.to_file(y[13 + count :])
    return replace(draw, position=y[:3], wxyz=wxyz, twist=y[7:13], angles=angles, rates=rates)


def _assert_same_end(ours: Draw, oracle: Draw) -> None:
    """Every component within 1e-6 of MuJoCo's, relative to the norm of its group where that exceeds one."""
    errors = {"rotation": float(np.abs(rotation_matrix(ours.wxyz) - rotation_matrix(oracle.wxyz)).max())}
    for name in ("position", "twist", "angles", "rates"):
        mine, other = getattr(ours, name), getattr(oracle, name)
        errors[name] = float(np.linalg.norm(mine - other) / max(1.0, np.linalg.norm(other)))
    assert max(errors.values()) < FLIGHT_TOLERANCE, errors


def _compare_flight(seed: int) -> None:
    batch = random_batch(seed, INERTIAL, draws=1, all_torque=True, wrenches=False)
    rng = np.random.default_rng([seed, 6])
    force, moment = rng.normal(0.0, 2.0, 3), rng.normal(0.0, 0.1, 3)
    draw, airframe = _calm(batch), batch.airframes[0]
    _assert_same_end(
        _fly(airframe, draw, force, moment), MujocoVehicle(airframe).fly(draw, DURATION, force, moment)
    )


def _compare_flight_in_air(seed: int, step: float) -> None:
    batch = random_batch(seed, AIRBORNE, draws=1, all_torque=True)
    draw, airframe = _calm(batch, rotor_speed=60.0), batch.airframes[0]
    draw = replace(draw, wrenches=0.1 * draw.wrenches)
    oracle = MujocoVehicle(airframe, step).fly_in_air(draw, DURATION)
    _assert_same_end(_fly(airframe, draw, np.zeros(3), np.zeros(3)), oracle)


@pytest.mark.parametrize("seed", [1, 7])
def test_free_flight(seed: int) -> None:
    _compare_flight(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 40))
def test_many_free_flights(seed: int) -> None:
    _compare_flight(seed)


@pytest.mark.parametrize("seed", [0])
def test_flight_in_air(seed: int) -> None:
    _compare_flight_in_air(seed, step=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40, 50))
def test_many_flights_in_air(seed: int) -> None:
    _compare_flight_in_air(seed, step=2.5e-4)
