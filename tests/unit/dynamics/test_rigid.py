"""The compact form equals the full dynamics where its assumptions hold, and differs by a known amount elsewhere."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.dynamics import Compact, Drive, Model, State, allocation_matrix, forward_dynamics

_forward = forward_dynamics


def flying(model: Model, seed: int) -> State:
    rng = np.random.default_rng(seed)
    q = rng.normal(size=4)
    rest = State.rest(model)
    return State(
        rest.position,
        jnp.asarray(q / np.linalg.norm(q)),
        jnp.asarray(rng.normal(size=6)),
        rest.joint_angles,
        rest.joint_rates,
        jnp.asarray(rng.normal(size=model.topology.rotors)),
        jnp.asarray(rng.uniform(-400.0, 800.0, model.topology.rotors)),
    )


@pytest.mark.parametrize("name", ["hong-quadrotor", "hummingbird", "hexa-tilted", "neo"])
def test_equals_full_dynamics(name: str) -> None:
    model = Model.from_airframe(from_catalogue(name))
    assert Compact.mismatch(model) < 1e-12
    compact = Compact.from_model(model)
    for seed in range(5):
        state = flying(model, seed)
        spin_up = jnp.linspace(-200.0, 300.0, model.topology.rotors)
        full = _forward(model, state, Drive.accelerations(model, rotors=spin_up))
        np.testing.assert_allclose(
            compact.acceleration(model, state, spin_up), full.acceleration, rtol=1e-10, atol=1e-9
        )


def test_two_blade_rotor_differs_by_a_ripple() -> None:
    """A two-blade rotor: off by percents at an instant, by next to nothing over a turn."""
    airframe = from_catalogue("hong-quadrotor")
    r = airframe.rotors[0]
    blades = tuple(x * 20.0 for x in (r.inertia[2] * 0.02, r.inertia[2] * 0.99, r.inertia[2], 0.0, 0.0, 0.0))
    bladed = airframe.model_copy(
        update={"rotors": tuple(x.model_copy(update={"inertia": blades}) for x in airframe.rotors)}
    )
    model = Model.from_airframe(bladed)
    assert Compact.mismatch(model) > 0.1
    state = flying(model, 1)
    drive = Drive.accelerations(model)
    turned = []
    for angle in np.linspace(0.0, np.pi, 16, endpoint=False):
        at = State(*jax.tree.leaves(state)[:5], jnp.full(4, angle), state.rotor_rates)
        turned.append(np.asarray(_forward(model, at, drive).acceleration[3:]))
    instant = np.asarray(Compact.from_model(model).acceleration(model, state, drive.rotors)[3:])
    spread = np.ptp(np.array(turned), axis=0).max() / np.abs(instant).max()
    assert spread > 0.01, "a two-blade rotor must show a ripple"
    assert spread < 5.0


def test_allocation_of_a_plus_quadrotor_by_hand() -> None:
    """Hong's quadrotor: eq. (70) by hand. Rotors at psi = pi, -pi/2, 0, pi/2, eps = -1, 1, -1, 1."""
    airframe = from_catalogue("hong-quadrotor")
    k_l = airframe.rotors[0].thrust_coefficient
    k_d = k_l * airframe.rotors[0].torque_ratio
    d = np.linalg.norm(airframe.rotors[0].position[:2])
    expected = np.array(
        [
            [0, 0, 0, 0],
            [0, 0, 0, 0],
            [k_l, k_l, k_l, k_l],
            [0, -d * k_l, 0, d * k_l],
            [d * k_l, 0, -d * k_l, 0],
            [k_d, -k_d, k_d, -k_d],
        ]
    )
    np.testing.assert_allclose(allocation_matrix(Model.from_airframe(airframe)), expected, atol=1e-20)


def test_allocation_follows_the_tilt() -> None:
    model = Model.from_airframe(from_catalogue("hong-tilt-rotor"))
    upright = np.asarray(allocation_matrix(model))
    tilted = np.asarray(allocation_matrix(model, jnp.full(model.topology.joints, np.pi / 2)))
    thrust = np.linalg.norm(upright[:3], axis=0)
    np.testing.assert_allclose(np.linalg.norm(tilted[:3], axis=0), thrust, rtol=1e-12)
    np.testing.assert_allclose(np.sum(upright[:3] * tilted[:3], axis=0), 0.0, atol=1e-12 * thrust.max() ** 2)
