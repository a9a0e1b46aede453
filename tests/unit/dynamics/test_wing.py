"""Wings: direction of drag and lift, tables, still air, and the warning about fast turning."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import loads
from haltere.dynamics import Environment, Model, State, rate_warnings
from haltere.dynamics.wing import flow_angles, wing_coefficients, wing_wrench

TEXT = """
name = "glider"
[body]
mass = 1.0
inertia = [0.01, 0.01, 0.02, 0, 0, 0]
[[links]]
name = "wing"
joint = {{ fixed = true }}
mass = 0.1
inertia = [1e-3, 1e-4, 1e-3, 0, 0, 0]
wing = {{ area = 0.05, span = 0.4, chord = 0.12, coefficients = {{ {coefficients} }} }}
"""


def glider(coefficients: str) -> Model:
    return Model.from_airframe(loads(TEXT.format(coefficients=coefficients)))


def test_drag_opposes_motion_and_lift_does_no_work() -> None:
    wing = glider('kind = "wind", CD = 0.3, CC = 0.2, CL = 1.1').wings[0]
    rng = np.random.default_rng(0)
    for _ in range(20):
        v = jnp.asarray(rng.normal(size=3) * 10.0)
        speed = float(jnp.linalg.norm(v))
        full = wing_wrench(wing, "wind", v, jnp.asarray(1.2), wing_coefficients(wing, *flow_angles(v)))
        pressure_area = 0.5 * 1.2 * 0.05 * speed**2
        assert float(full[:3] @ v) == pytest.approx(-0.3 * pressure_area * speed, rel=1e-10)
        assert float(jnp.linalg.norm(full[:3])) == pytest.approx(
            np.sqrt(0.3**2 + 0.2**2 + 1.1**2) * pressure_area
        )


def test_positive_angle_of_attack_lifts_upward() -> None:
    """Forward and sinking: the angle of attack is positive, and lift points up and forward."""
    wing = glider('kind = "wind", CL = 1.0').wings[0]
    v = jnp.asarray([10.0, 0.0, -2.0])
    alpha, beta = flow_angles(v)
    assert float(alpha) == pytest.approx(np.arctan2(2.0, 10.0))
    assert float(beta) == 0.0
    wrench = wing_wrench(wing, "wind", v, jnp.asarray(1.2), wing_coefficients(wing, alpha, beta))
    assert wrench[2] > 0.0
    assert wrench[0] > 0.0


def test_body_coefficients_act_in_wing_axes() -> None:
    wing = glider('kind = "body", CA = 0.1, CY = 0.2, CN = 0.3, Cl = 0.4, Cm = 0.5, Cn = 0.6').wings[0]
    v = jnp.asarray([3.0, -1.0, 2.0])
    wrench = wing_wrench(wing, "body", v, jnp.asarray(2.0), wing_coefficients(wing, *flow_angles(v)))
    expected = 0.05 * 14.0 * np.array([-0.1, 0.2, 0.3, 0.4 * 0.4, 0.5 * 0.12, 0.6 * 0.4])
    np.testing.assert_allclose(wrench, expected, rtol=1e-12)


def test_no_flow_no_wrench_and_finite_derivative() -> None:
    wing = glider('kind = "wind", CD = 0.3, CL = 1.1').wings[0]

    def force(v: jax.Array) -> jax.Array:
        return wing_wrench(wing, "wind", v, jnp.asarray(1.2), wing_coefficients(wing, *flow_angles(v)))

    np.testing.assert_array_equal(force(jnp.zeros(3)), np.zeros(6))
    assert np.all(np.isfinite(np.asarray(jax.jacfwd(force)(jnp.zeros(3)))))
    assert np.all(np.isfinite(np.asarray(jax.jacrev(force)(jnp.zeros(3)))))


def test_tables_are_linear_between_points_and_flat_outside() -> None:
    wing = glider(
        'kind = "wind", alpha = [-0.1, 0.0, 0.2], beta = [0.0, 0.1], '
        "CL = [[1, 2], [3, 4], [7, 9]], CD = [0.1, 0.2, 0.3]"
    ).wings[0]
    at = [
        float(wing_coefficients(wing, jnp.asarray(a), jnp.asarray(b))[2])
        for a, b in ((0.1, 0.05), (1.0, 0.3), (-1.0, -1.0))
    ]
    assert at == pytest.approx([(3 + 4 + 7 + 9) / 4, 9.0, 1.0])
    assert float(wing_coefficients(wing, jnp.asarray(-0.05), jnp.asarray(0.07))[0]) == pytest.approx(0.15)


def test_fast_turning_is_warned_about() -> None:
    model = glider('kind = "wind", CL = 1.0')
    rest = State.rest(model)

    def at(speed: float, rate: float) -> list[str]:
        twist = jnp.asarray([speed, 0.0, 0.0, 0.0, rate, 0.0])
        return rate_warnings(
            model, State(rest.position, rest.wxyz, twist, *jax.tree.leaves(rest)[3:]), Environment()
        )

    assert at(10.0, 1.0) == []
    assert "reduced rate 0.12" in at(1.0, 2.0)[0]
    assert at(0.0, 0.0) == []
    assert "inf" in at(0.0, 1.0)[0]
