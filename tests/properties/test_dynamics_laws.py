"""Laws that hold whatever the vehicle: momentum, energy, power, independence of frames and of the rotors' order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
from scipy.spatial.transform import Rotation

from haltere.airframe import Airframe, from_catalogue, loads
from haltere.dynamics import (
    Drive,
    Environment,
    Model,
    State,
    forward_dynamics,
    kinetic_energy,
    momentum,
    power_flow,
)

VEHICLES = ["hong-fixed-wing", "hong-tilt-wing", "quad-arm"]
_forward = forward_dynamics
_energy = kinetic_energy
_momentum = momentum
_power = power_flow


def random_state(
    model: Model, rng: np.random.Generator, speed: float = 1.0, rotor_speed: float = 100.0
) -> State:
    joints, rotors = model.topology.joints, model.topology.rotors
    quaternion = rng.normal(size=4)
    return State(
        jnp.asarray(rng.normal(size=3)),
        jnp.asarray(quaternion / np.linalg.norm(quaternion)),
        jnp.asarray(speed * rng.normal(size=6)),
        jnp.asarray(0.5 * rng.normal(size=joints)),
        jnp.asarray(speed * rng.normal(size=joints)),
        jnp.asarray(rng.normal(size=rotors)),
        jnp.asarray(rotor_speed * rng.normal(size=rotors)),
    )


def without_air(airframe: Airframe) -> Airframe:
    """The same masses in a vacuum."""
    still = {"thrust_coefficient": 0.0, "inflow": None}
    return airframe.model_copy(
        update={
            "body": airframe.body.model_copy(update={"wing": None, "drag": None}),
            "links": tuple(x.model_copy(update={"wing": None, "drag": None}) for x in airframe.links),
            "rotors": tuple(r.model_copy(update=still) for r in airframe.rotors),
        }
    )


def flat(state: State) -> np.ndarray:
    return np.concatenate([np.asarray(x) for x in jax.tree.leaves(state)])


def unflat(model: Model, x: np.ndarray) -> State:
    sizes = [3, 4, 6, *[model.topology.joints] * 2, *[model.topology.rotors] * 2]
    return State(*(jnp.asarray(part) for part in np.split(x, np.cumsum(sizes)[:-1])))


def rate(model: Model, x: np.ndarray, drive: Drive, environment: Environment) -> np.ndarray:
    """Time derivative of the flat state, the kinematics by scipy."""
    state = unflat(model, x)
    motion = _forward(model, state, drive, environment)
    turn = Rotation.from_quat(np.array(state.wxyz), scalar_first=True)
    w = np.asarray(state.twist[3:])
    q = np.asarray(state.wxyz)
    q_dot = 0.5 * np.concatenate([[-q[1:] @ w], q[0] * w + np.cross(q[1:], w)])
    return np.concatenate(
        [
            turn.apply(np.array(state.twist[:3])),
            q_dot,
            motion.acceleration,
            state.joint_rates,
            motion.joint_accelerations,
            state.rotor_rates,
            motion.rotor_accelerations,
        ]
    )


@pytest.mark.parametrize("name", ["hong-tilt-wing", "quad-arm"])
def test_free_vehicle_keeps_energy_and_momentum(name: str) -> None:
    """No air, no gravity, passive joints: a fine integration keeps energy and all of the momentum."""
    model = Model.from_airframe(without_air(from_catalogue(name)))
    massless = np.asarray(model.rotors.mass) == 0.0
    drive = Drive(
        jnp.zeros(model.topology.joints),
        jnp.zeros(model.topology.rotors),
        (True,) * model.topology.joints,
        tuple(bool(x) for x in ~massless),
    )
    environment = Environment(gravity=(0.0, 0.0, 0.0))
    start = random_state(model, np.random.default_rng(3), rotor_speed=20.0)
    solution = scipy.integrate.solve_ivp(
        lambda _, x: rate(model, x, drive, environment),
        (0.0, 0.3),
        flat(start),
        "DOP853",
        rtol=1e-11,
        atol=1e-11,
    )
    end = unflat(model, solution.y[:, -1])
    assert float(_energy(model, end)) == pytest.approx(float(_energy(model, start)), rel=1e-8)
    np.testing.assert_allclose(_momentum(model, end), _momentum(model, start), rtol=1e-8, atol=1e-9)
    assert not np.allclose(np.asarray(end.twist), np.asarray(start.twist), rtol=1e-2), "nothing moved"


def test_energy_error_falls_with_the_fourth_power_of_the_step() -> None:
    """RK4 on a free tilt-wing: halving the step divides the energy error by about sixteen."""
    model = Model.from_airframe(without_air(from_catalogue("hong-tilt-wing")))
    drive = Drive.torques(model)
    environment = Environment(gravity=(0.0, 0.0, 0.0))
    start = flat(random_state(model, np.random.default_rng(5), speed=2.0, rotor_speed=20.0))

    def energy_error(steps: int) -> float:
        x, h = start.copy(), 0.4 / steps
        for _ in range(steps):
            k1 = rate(model, x, drive, environment)
            k2 = rate(model, x + h / 2 * k1, drive, environment)
            k3 = rate(model, x + h / 2 * k2, drive, environment)
            k4 = rate(model, x + h * k3, drive, environment)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        reference = float(_energy(model, unflat(model, start)))
        return abs(float(_energy(model, unflat(model, x))) - reference) / reference

    orders = np.log2(np.array([energy_error(20) / energy_error(40), energy_error(40) / energy_error(80)]))
    assert np.all(orders > 3.5), orders
    assert energy_error(80) < 1e-6


@pytest.mark.parametrize("name", VEHICLES)
def test_power_balance(name: str) -> None:
    """Equation (13) for every body and (32) for every joint; the rate of energy by a numerical derivative."""
    model = Model.from_airframe(from_catalogue(name))
    rng = np.random.default_rng(11)
    environment = Environment(wind=(1.0, -2.0, 0.5))
    for _ in range(5):
        state = random_state(model, rng)
        drive = Drive.accelerations(
            model, rng.normal(size=model.topology.joints), 50.0 * rng.normal(size=model.topology.rotors)
        )
        wrenches = jnp.asarray(rng.normal(size=(model.topology.links, 6)))
        motion = _forward(model, state, drive, environment, wrenches)
        flow = _power(model, state, motion, environment, wrenches)
        scale = float(jnp.abs(flow.external).sum() + jnp.abs(flow.joint).sum() + jnp.abs(flow.gravity).sum())
        np.testing.assert_allclose(flow.received - flow.passed_on, flow.joint, atol=1e-10 * scale)
        parents = (-1, *model.topology.link_parents[1:], *model.topology.rotor_links)
        onward = np.array(
            [sum(flow.passed_on[c] for c, p in enumerate(parents) if p == i) for i in range(len(parents))]
        )
        np.testing.assert_allclose(
            flow.kinetic_rate, flow.gravity + flow.external + flow.received - onward, atol=1e-10 * scale
        )
        assert float(flow.received[0]) == pytest.approx(0.0, abs=1e-9 * scale)

        def energy_after(
            h: float, state: State = state, drive: Drive = drive, wrenches: jax.Array = wrenches
        ) -> float:
            motion = _forward(model, state, drive, environment, wrenches)
            velocity = jnp.concatenate([state.twist, state.joint_rates, state.rotor_rates])
            change = jnp.concatenate(
                [motion.acceleration, motion.joint_accelerations, motion.rotor_accelerations]
            )
            later = state.displaced(h * velocity, h * change)
            unit = later.wxyz / jnp.linalg.norm(later.wxyz)
            return float(_energy(model, State(later.position, unit, *jax.tree.leaves(later)[2:])))

        h = 1e-6
        slope = (energy_after(h) - energy_after(-h)) / (2 * h)
        assert slope == pytest.approx(float(flow.kinetic_rate.sum()), rel=1e-5, abs=1e-5 * scale)


def test_body_frame_may_sit_anywhere() -> None:
    """The same vehicle described from a turned and shifted body frame accelerates the same."""
    text = """
name = "frame"
[body]
mass = 0.7
com = [{c[0]}, {c[1]}, {c[2]}]
inertia = [{i[0]}, {i[1]}, {i[2]}, {i[3]}, {i[4]}, {i[5]}]
[[rotors]]
name = "a"
position = [{p[0]}, {p[1]}, {p[2]}]
axis = [{n[0]}, {n[1]}, {n[2]}]
spin = "cw"
thrust_coefficient = 8e-6
torque_ratio = 0.016
mass = 0.01
inertia = [{r[0]}, {r[1]}, {r[2]}, {r[3]}, {r[4]}, {r[5]}]
"""
    rng = np.random.default_rng(2)
    turn = Rotation.from_rotvec([0.4, -0.7, 1.1])
    shift = np.array([0.3, -0.2, 0.15])
    com, place, axis = rng.normal(size=3) * 0.02, rng.normal(size=3) * 0.2, rng.normal(size=3)
    body, rotor = np.diag([7e-3, 8e-3, 1.2e-2]), np.diag([1e-5, 3e-5, 3.5e-5])

    def six(tensor: np.ndarray) -> list[float]:
        return [float(tensor[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]

    def described(R: np.ndarray, p: np.ndarray) -> Model:
        """From a frame that stands at (R, p) in the first one."""
        values = {
            "c": R.T @ (com - p),
            "i": six(R.T @ body @ R),
            "p": R.T @ (place - p),
            "n": R.T @ axis,
            "r": six(R.T @ rotor @ R),
        }
        return Model.from_airframe(loads(text.format(**values)))

    first = described(np.eye(3), np.zeros(3))
    other = described(turn.as_matrix(), shift)
    state = random_state(first, rng)
    R = turn.as_matrix()
    v, w = np.asarray(state.twist[:3]), np.asarray(state.twist[3:])
    attitude = Rotation.from_quat(np.array(state.wxyz), scalar_first=True)
    moved = State(
        jnp.asarray(np.asarray(state.position) + attitude.apply(shift)),
        jnp.asarray((attitude * turn).as_quat(scalar_first=True)),
        jnp.asarray(np.concatenate([R.T @ (v + np.cross(w, shift)), R.T @ w])),
        *jax.tree.leaves(state)[3:],
    )
    drive = Drive.accelerations(first, rotors=300.0)
    a, b = _forward(first, state, drive), _forward(other, moved, drive)
    linear, angular = np.asarray(a.acceleration[:3]), np.asarray(a.acceleration[3:])
    np.testing.assert_allclose(b.acceleration[:3], R.T @ (linear + np.cross(angular, shift)), rtol=1e-10)
    np.testing.assert_allclose(b.acceleration[3:], R.T @ angular, rtol=1e-10)
    np.testing.assert_allclose(b.rotor_torques, a.rotor_torques, rtol=1e-10)


def test_order_of_rotors_does_not_matter() -> None:
    airframe = from_catalogue("hexa-tilted")
    order = [3, 0, 5, 1, 4, 2]
    shuffled = airframe.model_copy(update={"rotors": tuple(airframe.rotors[i] for i in order)})
    model, other = Model.from_airframe(airframe), Model.from_airframe(shuffled)
    state = random_state(model, np.random.default_rng(1))
    pick = jnp.asarray(order)
    same = State(*jax.tree.leaves(state)[:5], state.rotor_angles[pick], state.rotor_rates[pick])
    a = _forward(model, state, Drive.accelerations(model, rotors=5.0))
    b = _forward(other, same, Drive.accelerations(other, rotors=5.0))
    np.testing.assert_allclose(a.acceleration, b.acceleration, rtol=1e-12)
    np.testing.assert_allclose(a.rotor_torques[pick], b.rotor_torques, rtol=1e-9, atol=1e-15)


def test_drag_torque_never_does_positive_work() -> None:
    """Rotor drag opposes the rotation for both signs of the speed."""
    model = Model.from_airframe(from_catalogue("hummingbird"))
    rest = State.rest(model)
    for sign in (1.0, -1.0):
        state = State(*jax.tree.leaves(rest)[:6], sign * jnp.full(model.topology.rotors, 300.0))
        motion = _forward(model, state, Drive.accelerations(model))
        assert np.all(np.asarray(motion.rotor_torques * state.rotor_rates) > 0.0), "the motor must give power"
