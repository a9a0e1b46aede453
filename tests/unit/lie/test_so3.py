import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from haltere.lie import so3

ANGLES = [0.0, 1e-200, 1e-12, 1e-8, 1e-4, 0.1, 0.48, 0.5, 1.0, 2 - 1e-9, 2.0, 2 + 1e-9, 2.5, 3.1]
TO_PI = [np.pi - 1e-3, np.pi - 1e-7, np.pi - 1e-12]
BEYOND_PI = [np.pi, 3.5, 4 - 1e-9, 4 + 1e-9, 5.0, 6.0]
DIRECTIONS = [
    *np.eye(3),
    *-np.eye(3),
    *(v / np.linalg.norm(v) for v in np.random.default_rng(1).normal(size=(4, 3))),
]

FORWARD = jax.jit(jax.jacfwd(so3.exp))
REVERSE = jax.jit(jax.jacrev(so3.exp))
LOG_SLOPE = jax.jit(jax.jacfwd(lambda d, x: so3.log(so3.exp(x) @ so3.exp(d))))
ROUND_TRIP = jax.jit(jax.jacfwd(lambda x: so3.log_wxyz(so3.exp_wxyz(x))))


@pytest.mark.parametrize("angle", ANGLES + TO_PI + BEYOND_PI)
def test_exp_and_jacobians_agree_with_exact_series(angle, reference, relative_error, compiled_so3):
    for direction in DIRECTIONS:
        x = angle * direction
        exact = reference.left_jacobian_so3(x)
        assert relative_error(compiled_so3.exp(x), reference.exp_so3(x)) < 1e-14
        assert relative_error(compiled_so3.left_jacobian(x), exact) < 1e-13
        assert relative_error(compiled_so3.right_jacobian(x), exact.T) < 1e-13
        assert relative_error(compiled_so3.left_jacobian_inverse(x), np.linalg.inv(exact)) < 1e-12
        assert relative_error(compiled_so3.right_jacobian_inverse(x), np.linalg.inv(exact.T)) < 1e-12
        # The part beyond the identity is right relative to itself, however small the angle is.
        odd = 0.5 * (exact - exact.T)
        assert relative_error(compiled_so3.vee(compiled_so3.left_jacobian(x)), compiled_so3.vee(odd)) < 1e-12


@pytest.mark.parametrize("angle", ANGLES + TO_PI)
def test_log_is_exact_up_to_pi(angle, reference, compiled_so3):
    for direction in DIRECTIONS:
        x = angle * direction
        R = reference.exp_so3(x)
        assert np.allclose(
            compiled_so3.log(R), x, rtol=0, atol=1e-13 * max(angle, 1e-300) + 5e-16 * (angle > 1)
        )
        wxyz = Rotation.from_rotvec(x).as_quat(scalar_first=True)
        for scale in (1.0, -1.0, 3.0):
            assert np.allclose(compiled_so3.log_wxyz(scale * wxyz), x, rtol=0, atol=1e-13 * angle)


def test_log_at_half_a_turn_gives_one_of_the_two_answers(compiled_so3):
    for direction in DIRECTIONS:
        R = 2 * np.outer(direction, direction) - np.eye(3)
        x = np.asarray(compiled_so3.log(R))
        assert np.linalg.norm(x) == pytest.approx(np.pi, rel=1e-15)
        assert abs(x @ direction) == pytest.approx(np.pi, rel=1e-14)


def test_beyond_half_a_turn_log_takes_the_shorter_way(compiled_so3):
    for direction in DIRECTIONS:
        assert np.allclose(
            compiled_so3.log(compiled_so3.exp(4.0 * direction)), (4.0 - 2 * np.pi) * direction, atol=1e-14
        )


@pytest.mark.parametrize("angle", ANGLES + TO_PI + BEYOND_PI)
def test_quaternions_agree_with_scipy(angle, compiled_so3):
    for direction in DIRECTIONS:
        rotation = Rotation.from_rotvec(angle * direction)
        wxyz = rotation.as_quat(scalar_first=True)
        got = np.asarray(compiled_so3.exp_wxyz(angle * direction))
        assert np.allclose(got * np.sign(got @ wxyz), wxyz, rtol=0, atol=4e-16)
        assert np.allclose(compiled_so3.from_wxyz(wxyz), rotation.as_matrix(), rtol=0, atol=1e-15)
        back = np.asarray(compiled_so3.to_wxyz(rotation.as_matrix()))
        assert np.allclose(back * np.sign(back @ wxyz), wxyz, rtol=0, atol=1e-15)
        assert back[0] >= 0


def test_products_and_rodrigues_agree_with_scipy(compiled_so3):
    rng = np.random.default_rng(3)
    for a, b in zip(Rotation.random(20, rng=rng), Rotation.random(20, rng=rng), strict=True):
        qa, qb = (r.as_quat(scalar_first=True) for r in (a, b))
        product = compiled_so3.multiply_wxyz(qa, qb)
        assert np.allclose(compiled_so3.from_wxyz(product), (a * b).as_matrix(), rtol=0, atol=1e-15)
        assert np.allclose(
            compiled_so3.multiply_wxyz(qa, compiled_so3.conjugate_wxyz(qa)), [1, 0, 0, 0], atol=1e-15
        )
        axis, angle = a.as_rotvec() / a.magnitude(), a.magnitude()
        assert np.allclose(
            compiled_so3.rodrigues(axis, np.sin(angle), np.cos(angle)), a.as_matrix(), atol=1e-15
        )
        x, y = rng.normal(size=(2, 3))
        assert np.allclose(compiled_so3.hat(x) @ y, np.cross(x, y), rtol=0, atol=1e-15)
        assert np.array_equal(compiled_so3.vee(compiled_so3.hat(x)), x)
        assert np.allclose(
            compiled_so3.box_minus(b.as_matrix(), a.as_matrix()), (a.inv() * b).as_rotvec(), atol=1e-14
        )
        assert np.allclose(compiled_so3.box_minus_wxyz(qb, qa), (a.inv() * b).as_rotvec(), atol=1e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.4, 0.5, 1.0, 2 - 1e-9, 2 + 1e-9, 3.0])
def test_automatic_derivatives_of_exp_are_exact(angle, reference, relative_error):
    """The derivative of Exp along e_i is hat(J_l e_i) Exp."""
    for direction in DIRECTIONS[-2:]:
        x = angle * direction
        jacobian = reference.left_jacobian_so3(x)
        expected = np.stack(
            [reference.skew(jacobian[:, i]) @ reference.exp_so3(x) for i in range(3)], axis=-1
        )
        assert relative_error(FORWARD(x), expected) < 1e-13
        assert relative_error(REVERSE(x), expected) < 1e-13
        assert relative_error(LOG_SLOPE(jnp.zeros(3), x), np.linalg.inv(jacobian.T)) < 1e-12
        assert relative_error(ROUND_TRIP(x), np.eye(3)) < 1e-12


def test_second_derivatives_at_zero_are_finite_and_right():
    second = jax.jit(jax.jacfwd(jax.jacrev(so3.exp)))(jnp.zeros(3))
    basis = [np.asarray(so3.hat(e)) for e in np.eye(3)]
    for i in range(3):
        for j in range(3):
            expected = 0.5 * (basis[i] @ basis[j] + basis[j] @ basis[i])
            assert np.allclose(second[:, :, i, j], expected, atol=1e-15)
    inverse = jax.jit(jax.jacfwd(jax.jacfwd(so3.left_jacobian_inverse)))(jnp.zeros(3))
    assert np.allclose(inverse, second / 6, atol=1e-15)  # W^2 / 12 against W^2 / 2


@pytest.mark.parametrize("angle", [np.pi - 1e-6, np.pi - 1e-3, 2.2])
def test_derivative_of_log_near_pi(angle, reference, relative_error):
    x = angle * DIRECTIONS[-1]
    assert relative_error(LOG_SLOPE(jnp.zeros(3), x), np.linalg.inv(reference.left_jacobian_so3(x).T)) < 1e-12


def test_float32_stays_float32_and_batches_by_vmap():
    x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 3)), jnp.float32)
    for function in (so3.exp, so3.exp_wxyz, so3.left_jacobian, so3.left_jacobian_inverse, so3.hat):
        batch = jax.jit(jax.vmap(function))(x)
        assert batch.dtype == jnp.float32
        assert np.allclose(function(x[1]), batch[1], atol=1e-6)
    assert jax.eval_shape(so3.log, jnp.eye(3, dtype=jnp.float32)).dtype == jnp.float32
    assert so3.hat([0, 0, 1]).dtype == jnp.float64
