"""The arm: its dynamics against MuJoCo, its servos, and flights."""

from pathlib import Path

import numpy as np
import pytest
from tests.world.arm import draw_arm, read_arm, solve_arm, stack_arms
from tests.world.arm_flights import fly_with_arm
from tests.world.draws import generator
from tests.world.levels import IDEAL, REALISTIC
from tests.world.rigid import GRAVITY
from tests.world.servo import Servo, draw_servos
from tests.world.test_rigid import numbers, random_body, random_motion
from tests.world.vectors import rotation_matrix, six_of

TEXT = (
    Path(__file__).resolve().parents[2] / "src" / "haltere" / "airframe" / "catalogue" / "quad-arm.toml"
).read_text(encoding="utf-8")


@pytest.mark.parametrize("seed", range(5))
def test_accelerations_are_mujocos(seed):
    mujoco = pytest.importorskip("mujoco")
    rng = generator(seed, "arm test")
    _, links, _ = read_arm(TEXT)
    arm = stack_arms([draw_arm(rng, links)]).with_payload(np.array([0.2]))
    base, motion = random_body(rng, 1), random_motion(rng, 1)
    joints, rates, armature = (
        rng.normal(size=(2, 1)),
        3 * rng.normal(size=(2, 1)),
        np.array([[0.004], [0.002]]),
    )
    bodies = ""
    for i in (1, 0):
        bodies = (
            f'<body pos="{numbers(arm.origin[i])}"><joint type="hinge" axis="{numbers(arm.axis)}" '
            f'armature="{armature[i, 0]}"/><inertial pos="{numbers(arm.com[i])}" mass="{arm.mass[i, 0]:.17g}" '
            f'fullinertia="{numbers(six_of(arm.inertia[i]))}"/>{bodies}</body>'
        )
    xml = (
        f'<mujoco><compiler inertiafromgeom="false"/><option gravity="0 0 {-GRAVITY:.17g}"/>'
        "<worldbody><body><freejoint/>"
        f'<inertial pos="{numbers(base.com)}" mass="{base.mass[0]:.17g}" '
        f'fullinertia="{numbers(six_of(base.inertia))}"/>'
        f"{bodies}</body></worldbody></mujoco>"
    )
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.qpos[:] = np.concatenate([motion.position, motion.wxyz, joints])[:, 0]
    data.qvel[:] = np.concatenate([motion.velocity, motion.rate, rates])[:, 0]
    force, torque, joint_torque = (
        5 * rng.normal(size=(3, 1)),
        0.3 * rng.normal(size=(3, 1)),
        0.2 * rng.normal(size=(2, 1)),
    )
    attitude = rotation_matrix(motion.wxyz)[:, :, 0]
    data.qfrc_applied[:] = np.concatenate([attitude @ force, torque, joint_torque])[:, 0]
    mujoco.mj_forward(model, data)
    zero = np.zeros((3, 1))
    specific, angular, accelerations = solve_arm(
        base, arm, armature, motion.rate, joints, rates, force, torque, joint_torque, zero, zero
    )
    theirs = attitude.T @ (data.qacc[:3] + np.array([0, 0, GRAVITY]))
    size = np.abs(data.qacc).max()
    np.testing.assert_allclose(specific[:, 0], theirs, rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(angular[:, 0], data.qacc[3:6], rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(accelerations[:, 0], data.qacc[6:], rtol=0, atol=1e-9 * size)


def test_a_servo_at_rest_reports_what_its_past_says():
    """Held against a weight after moving up or down: the same angle, loads that differ by twice the friction."""
    _, _, joints = read_arm(TEXT)
    servo = draw_servos(generator(1, "servo test"), joints)
    servo = Servo(**{k: v[:, None] for k, v in vars(servo).items()})
    weight, step, duties = 0.2, 0.001, []
    for start in (-0.3, 0.3):
        angle, rate, bristles = np.full((2, 1), start), np.zeros((2, 1)), np.zeros((2, 1))
        for _ in range(3000):
            duty = servo.duty(np.zeros((2, 1)), angle)
            torque = servo.motor_torque(duty, rate) - servo.friction(bristles, rate)
            rate = rate + step * (torque - weight) / (servo.inertia + 0.001)
            angle = angle + step * rate
            bristles = servo.advance_bristles(bristles, rate, torque, step)
        assert np.abs(rate).max() < 1e-3
        duties.append(duty * servo.stall_torque)
    difference = np.abs(duties[0] - duties[1])
    friction = servo.coulomb + servo.load_loss * weight
    assert (difference > 0.2 * friction).all()
    assert (difference < 2.6 * (friction + servo.static_excess)).all()


@pytest.fixture(scope="module")
def flights():
    forward = np.tile([[1.0], [0.2]], 2)
    return fly_with_arm(
        TEXT, REALISTIC, "hover", (1, 2), 1.0, payload=0.1, gripped=0.5, settle=0.2,
        servo=lambda time, measured=None: forward, keep_record=True,
    )  # fmt: skip


def test_flights_with_an_arm_stay_in_the_air_and_report(flights):
    for flight in flights:
        assert not flight.crashed
        assert np.abs(flight.record.rate).max() < 4
        for name in ("angle", "rate", "goal", "load", "effort"):
            stream = flight.streams[f"joints.{name}"]
            assert stream.columns == ("upper_arm", "forearm")
            assert len(stream.time) > 40
            assert np.isfinite(stream.values).all()
        assert flight.truth["payload.mass"] == 0.1
        assert flight.truth["mass"] > flight.truth["body.mass"]
        base, links, _ = read_arm(flight.nominal)
        assert base.mass + sum(link["mass"] for link in links) == pytest.approx(
            flight.truth["mass"], rel=0.013
        )


def test_the_gripped_payload_loads_the_servos(flights):
    """By its weight times its lever, but for friction and motion."""
    for flight in flights:
        torque, time = flight.record.arm["torque"][:, 0], flight.record.time
        change = torque[time > 0.8].mean() - torque[(time > 0.3) & (time < 0.5)].mean()
        expected = 0.1 * GRAVITY * (0.0733 * np.sin(1.0) + 0.1055 * np.sin(1.2))
        assert 0.3 * expected < change < 1.5 * expected


@pytest.mark.slow
def test_arms_fly_long():
    for level in (IDEAL, REALISTIC):
        found = fly_with_arm(TEXT, level, "gentle", range(6), 24.0, payload=0.15, gripped=8.0, dropped=16.0)
        assert not any(flight.crashed for flight in found)
