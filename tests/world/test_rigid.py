"""The rigid body: MuJoCo, and the laws of momentum and energy."""

import numpy as np
import pytest
from tests.world.draws import generator
from tests.world.rigid import (
    GRAVITY,
    MassProperties,
    Motion,
    Wrench,
    accelerations,
    energy,
    momentum,
    step_rk4,
)
from tests.world.vectors import apply_transposed, cross, normalize, rotation_matrix

mujoco = pytest.importorskip("mujoco")


def random_body(rng, count):
    """Mass properties of `count` bodies that a rigid body can have."""
    factor = rng.normal(size=(3, 3, count)) * 0.05
    second = np.einsum("ikn,jkn->ijn", factor, factor) + 1e-3 * np.eye(3)[:, :, None]
    inertia = np.trace(second) * np.eye(3)[:, :, None] - second
    return MassProperties.of(rng.uniform(0.3, 3, count), 0.05 * rng.normal(size=(3, count)), inertia)


def random_motion(rng, count):
    return Motion(
        rng.normal(size=(3, count)),
        normalize(rng.normal(size=(4, count))),
        2 * rng.normal(size=(3, count)),
        5 * rng.normal(size=(3, count)),
    )


def numbers(values):
    return " ".join(f"{v:.17g}" for v in np.ravel(values))


def mujoco_model(mass, com, inertia, rotors, step=1e-3):
    """A free body with hinged axisymmetric rotors; `mass`, `com` and `inertia` are those of the whole."""
    rest, rest_com = mass - sum(r["mass"] for r in rotors), mass * com
    for rotor in rotors:
        rest_com = rest_com - rotor["mass"] * rotor["position"]
    rest_com = rest_com / rest

    def shifted(m, r):
        return m * (r @ r * np.eye(3) - np.outer(r, r))

    own = inertia + shifted(mass, com) - shifted(rest, rest_com)
    for rotor in rotors:
        own = own - rotor["inertia"] - shifted(rotor["mass"], rotor["position"])
    six = own[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    parts = []
    for rotor in rotors:
        mine = rotor["inertia"][[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        parts.append(
            f'<body pos="{numbers(rotor["position"])}"><joint type="hinge" axis="{numbers(rotor["axis"])}"/>'
            f'<inertial pos="0 0 0" mass="{rotor["mass"]:.17g}" fullinertia="{numbers(mine)}"/></body>'
        )
    xml = (
        f'<mujoco><compiler inertiafromgeom="false" balanceinertia="false" boundmass="0"/>'
        f'<option gravity="0 0 {-GRAVITY:.17g}" timestep="{step:.17g}" integrator="RK4"/>'
        f'<worldbody><body name="b"><freejoint/><inertial pos="{numbers(rest_com)}" mass="{rest:.17g}" '
        f'fullinertia="{numbers(six)}"/>{"".join(parts)}</body></worldbody></mujoco>'
    )
    return mujoco.MjModel.from_xml_string(xml)


def with_rotors(seed):
    """A body of three rotors, its model, and a random state put into both."""
    rng = generator(seed, "rigid test")
    body = random_body(rng, 1)
    spins = np.array([1.0, -1.0, 1.0])
    axes = normalize(rng.normal(size=(3, 3)) * 0.3 + np.array([[0.0], [0.0], [1.0]]))
    rotors = []
    for i in range(3):
        a, about, across = axes[:, i], 3e-5, 1.7e-5
        rotors.append(
            {
                "mass": 0.01,
                "position": 0.1 * rng.normal(size=3),
                "axis": a,
                "inertia": about * np.outer(a, a) + across * (np.eye(3) - np.outer(a, a)),
            }
        )
    heavy = body.inertia[:, :, 0] + 5e-3 * np.eye(3)  # so that the body alone stays one that can be
    body = MassProperties.of(body.mass, body.com, heavy[:, :, None])
    model = mujoco_model(float(body.mass[0]), body.com[:, 0], heavy, rotors)
    return rng, body, spins, axes, model


@pytest.mark.parametrize("seed", range(8))
def test_accelerations_are_mujocos(seed):
    rng, body, spins, axes, model = with_rotors(seed)
    data = mujoco.MjData(model)
    motion = random_motion(rng, 1)
    speed = rng.uniform(200, 900, 3)
    data.qpos[:7] = np.concatenate([motion.position[:, 0], motion.wxyz[:, 0]])
    data.qvel[:6] = np.concatenate([motion.velocity[:, 0], motion.rate[:, 0]])
    data.qvel[6:] = spins * speed
    force, torque = 5 * rng.normal(size=3), 0.3 * rng.normal(size=3)  # about the origin, body axes
    attitude = rotation_matrix(motion.wxyz)[:, :, 0]
    mujoco.mj_forward(model, data)
    data.qfrc_applied[:3] = attitude @ force
    data.qfrc_applied[3:6] = torque
    data.qfrc_applied[6:] = 0.01 * rng.normal(size=3)
    # What drives a hinge acts back on the body inside the model; the forces above are external.
    mujoco.mj_forward(model, data)
    spin_rate = spins * data.qacc[6:]
    about = 3e-5 * spins
    wrench = Wrench(
        force[:, None],
        torque[:, None],
        (about * speed * axes).sum(axis=1)[:, None],
        (about * spin_rate * axes).sum(axis=1)[:, None],
    )
    specific, angular = accelerations(body, motion.rate, wrench)
    theirs = attitude.T @ (data.qacc[:3] + np.array([0, 0, GRAVITY]))
    np.testing.assert_allclose(specific[:, 0], theirs, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        angular[:, 0], data.qacc[3:6], rtol=0, atol=1e-9 * max(1.0, np.abs(angular).max())
    )


@pytest.mark.parametrize("seed", range(3))
def test_trajectory_is_mujocos(seed):
    """A constant force and torque in body axes, 0.5 s, both by Runge-Kutta."""
    rng = generator(seed, "rigid trajectory")
    step = 2.5e-4
    body = random_body(rng, 1)
    inertia = body.inertia[:, :, 0]
    model = mujoco_model(float(body.mass[0]), body.com[:, 0], inertia, [], step)
    data = mujoco.MjData(model)
    motion = random_motion(rng, 1)
    force, torque = 5 * rng.normal(size=3), 0.02 * rng.normal(size=3)
    data.qpos[:7] = np.concatenate([motion.position[:, 0], motion.wxyz[:, 0]])
    data.qvel[:6] = np.concatenate([motion.velocity[:, 0], motion.rate[:, 0]])
    zero = np.zeros((3, 1))

    def push(_model, now):
        now.qfrc_passive[:3] = rotation_matrix(now.qpos[3:7]) @ force
        now.qfrc_passive[3:6] = torque

    mujoco.set_mjcb_passive(push)
    try:
        for _ in range(2000):
            mujoco.mj_step(model, data)
            motion = step_rk4(
                body, motion, lambda t, m: Wrench(force[:, None], torque[:, None], zero, zero), 0.0, step
            )
    finally:
        mujoco.set_mjcb_passive(None)
    np.testing.assert_allclose(motion.position[:, 0], data.qpos[:3], rtol=0, atol=1e-9)
    np.testing.assert_allclose(motion.wxyz[:, 0], data.qpos[3:7], rtol=0, atol=1e-9)
    np.testing.assert_allclose(motion.rate[:, 0], data.qvel[3:6], rtol=0, atol=1e-9 * np.abs(data.qvel).max())


def test_a_free_body_keeps_momentum_and_energy():
    rng = generator(0, "laws")
    body, motion = random_body(rng, 20), random_motion(rng, 20)
    zero = np.zeros((3, 20))
    kinetic, potential = energy(body, motion)
    linear, angular = momentum(body, motion, zero)
    now = motion
    for _ in range(1000):
        now = step_rk4(body, now, lambda t, m: Wrench(zero, zero, zero, zero), 0.0, 1e-3)
    later_kinetic, later_potential = energy(body, now)
    later_linear, later_angular = momentum(body, now, zero)
    np.testing.assert_allclose(later_kinetic + later_potential, kinetic + potential, rtol=1e-8)
    np.testing.assert_allclose(later_angular, angular, rtol=0, atol=1e-8)
    fallen = linear - np.stack([zero[0], zero[0], body.mass * GRAVITY * 1.0])
    np.testing.assert_allclose(later_linear, fallen, rtol=0, atol=1e-8)


def test_rotors_that_spin_up_keep_the_whole_angular_momentum():
    rng = generator(1, "laws")
    body, motion = random_body(rng, 10), random_motion(rng, 10)
    zero, axis = np.zeros((3, 10)), normalize(rng.normal(size=(3, 10)))

    def spin(time):
        return 0.02 * (1 + np.sin(9 * time)) * axis

    def wrench(time, _motion):
        return Wrench(zero, zero, spin(time), 0.02 * 9 * np.cos(9 * time) * axis)

    before, now = momentum(body, motion, spin(0.0))[1], motion
    for k in range(1000):
        now = step_rk4(body, now, wrench, k * 1e-3, 1e-3)
    np.testing.assert_allclose(momentum(body, now, spin(1.0))[1], before, rtol=0, atol=1e-8)


def test_power_of_a_force_is_the_change_of_energy():
    rng = generator(2, "laws")
    body, motion = random_body(rng, 5), random_motion(rng, 5)
    zero, force, torque = np.zeros((3, 5)), rng.normal(size=(3, 5)), 0.05 * rng.normal(size=(3, 5))
    step = 1e-5
    later = step_rk4(body, motion, lambda t, m: Wrench(force, torque, zero, zero), 0.0, step)
    change = (sum(energy(body, later)) - sum(energy(body, motion))) / step
    velocity = apply_transposed(rotation_matrix(motion.wxyz), motion.velocity)
    power = (force * velocity + torque * motion.rate).sum(axis=0)
    np.testing.assert_allclose(change, power, rtol=1e-3, atol=1e-3)
    assert np.abs(cross(force, torque)).max() > 0  # nothing is parallel by chance
