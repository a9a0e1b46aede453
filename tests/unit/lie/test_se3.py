import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from haltere.lie import se3

ANGLES = [0.0, 1e-200, 1e-9, 1e-5, 1e-2, 0.5, 1.0, 2 - 1e-9, 2.0, 2 + 1e-9, 3.0, np.pi - 1e-9]
BEYOND_PI = [3.5, 4 - 1e-9, 4 + 1e-9, 5.0, 6.0]
SHIFTS = [0.0, 1e-9, 1e-3, 1.0, 1e3]
SLOPE = jax.jit(jax.jacfwd(se3.exp))


def draw(rng, shift, angle):
    """Translation and angle of chosen sizes, directions drawn independently."""
    r, f = rng.normal(size=(2, 3))
    return np.concatenate([shift * r / np.linalg.norm(r), angle * f / np.linalg.norm(f)])


@pytest.mark.parametrize("angle", ANGLES + BEYOND_PI)
@pytest.mark.parametrize("shift", SHIFTS)
def test_exp_and_jacobians_agree_with_exact_series(angle, shift, reference, relative_error, compiled_se3):
    rng = np.random.default_rng(5)
    for _ in range(3):
        x = draw(rng, shift, angle)
        exact = reference.exp_se3(x)
        R, p = compiled_se3.exp(x)
        assert relative_error(R, exact[:3, :3]) < 1e-14
        assert relative_error(p, exact[:3, 3]) < 1e-12
        jacobian = reference.left_jacobian_se3(x)
        flipped = reference.left_jacobian_se3(-x)
        for got, expected in (
            (compiled_se3.left_jacobian(x), jacobian),
            (compiled_se3.right_jacobian(x), flipped),
        ):
            assert relative_error(got[:3, :3], expected[:3, :3]) < 1e-13
            assert relative_error(got[:3, 3:], expected[:3, 3:]) < 1e-12
            assert np.array_equal(got[3:, :3], np.zeros((3, 3)))
            assert np.array_equal(got[3:, 3:], got[:3, :3])
        turn = np.linalg.inv(jacobian[:3, :3])
        corner = -turn @ jacobian[:3, 3:] @ turn
        assert relative_error(compiled_se3.left_jacobian_inverse(x)[:3, 3:], corner) < 2e-12
        assert relative_error(compiled_se3.left_jacobian_inverse(x)[:3, :3], turn) < 1e-12
        assert relative_error(
            compiled_se3.left_jacobian(x) @ compiled_se3.left_jacobian_inverse(x), np.eye(6)
        ) < 1e-12 * (1 + shift)
        assert np.array_equal(compiled_se3.right_jacobian_inverse(x), compiled_se3.left_jacobian_inverse(-x))


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("shift", SHIFTS)
def test_log_inverts_the_exact_exponential(angle, shift, reference, relative_error, compiled_se3):
    x = draw(np.random.default_rng(6), shift, angle)
    exact = reference.exp_se3(x)
    got = compiled_se3.log(exact[:3, :3], exact[:3, 3])
    assert relative_error(got[:3], x[:3]) < 1e-12
    assert relative_error(got[3:], x[3:]) < 1e-12


@pytest.mark.parametrize("angle", [1e-3, 0.9, 2.5, 5.0])
def test_left_jacobian_is_the_integral_of_the_adjoint(angle):
    nodes, weights = np.polynomial.legendre.leggauss(30)
    x = draw(np.random.default_rng(7), 1.3, angle)
    ad = np.asarray(se3.ad(x))
    integral = sum(0.5 * w * expm(0.5 * (1 + s) * ad) for s, w in zip(nodes, weights, strict=True))
    assert np.allclose(se3.left_jacobian(x), integral, rtol=0, atol=2e-14)


def test_adjoints_agree_with_the_matrix_exponential_and_the_definition(compiled_so3, compiled_se3):
    rng = np.random.default_rng(8)
    for _ in range(10):
        x, y = rng.normal(size=(2, 6))
        R, p = compiled_se3.exp(x)
        assert np.allclose(se3.Ad(R, p), expm(np.asarray(compiled_se3.ad(x))), rtol=0, atol=1e-13)
        assert np.allclose(se3.Ad(R, p) @ se3.Ad_inverse(R, p), np.eye(6), rtol=0, atol=1e-14)

        def matrix(v):
            return np.block([[np.asarray(compiled_so3.hat(v[3:])), v[:3, None]], [np.zeros((1, 4))]])

        bracket = matrix(x) @ matrix(y) - matrix(y) @ matrix(x)
        assert np.allclose(matrix(np.asarray(compiled_se3.ad(x) @ y)), bracket, rtol=0, atol=1e-14)
        pose = np.block([[np.asarray(R), np.asarray(p)[:, None]], [np.array([[0, 0, 0, 1]])]])
        moved = pose @ matrix(y) @ np.linalg.inv(pose)
        assert np.allclose(matrix(np.asarray(se3.Ad(R, p) @ y)), moved, rtol=0, atol=1e-13)


@pytest.mark.parametrize("angle", [0.0, 1e-8, 0.5, 2 - 1e-9, 2 + 1e-9, 3.0])
def test_automatic_derivatives_of_exp_are_exact(angle, reference, relative_error):
    x = draw(np.random.default_rng(9), 0.7, angle)
    jacobian = reference.left_jacobian_se3(x)
    exact = reference.exp_se3(x)
    dR, dp = SLOPE(x)
    for i in range(6):
        v, w = jacobian[:3, i], jacobian[3:, i]
        assert np.allclose(dR[..., i], reference.skew(w) @ exact[:3, :3], rtol=0, atol=1e-13)
        assert np.allclose(dp[:, i], np.cross(w, exact[:3, 3]) + v, rtol=0, atol=1e-13)


def test_second_derivatives_of_the_jacobian_at_zero_turn_agree_with_the_series():
    """Near zero J_l = I + ad/2 + ad^2/6 + ad^3/24 ..., whose second derivative at r, f = 0 is known."""
    x = jnp.asarray([0.3, -0.2, 0.5, 0.0, 0.0, 0.0])

    def series(x):
        ad = se3.ad(x)
        powers = [jnp.eye(6), ad, ad @ ad, ad @ ad @ ad, ad @ ad @ ad @ ad]
        return powers[0] + powers[1] / 2 + powers[2] / 6 + powers[3] / 24 + powers[4] / 120

    got = jax.jit(jax.jacfwd(jax.jacfwd(se3.left_jacobian)))(x)
    assert np.allclose(got, jax.jit(jax.jacfwd(jax.jacfwd(series)))(x), rtol=0, atol=1e-15)


def test_agrees_with_jaxlie_where_that_is_right(compiled_so3, compiled_se3):
    jaxlie = pytest.importorskip("jaxlie")
    rng = np.random.default_rng(10)
    for angle in (0.3, 1.0, 1.9, 2.1, 3.0):
        x = draw(rng, 1.0, angle)
        pose = jax.jit(jaxlie.SE3.exp)(jnp.asarray(x))
        R, p = compiled_se3.exp(x)
        assert np.allclose(pose.as_matrix()[:3, :3], R, rtol=0, atol=1e-14)
        assert np.allclose(pose.translation(), p, rtol=0, atol=1e-14)
        assert np.allclose(pose.log(), compiled_se3.log(R, p), rtol=0, atol=1e-13)
        assert np.allclose(pose.adjoint(), se3.Ad(R, p), rtol=0, atol=1e-14)
        assert np.allclose(pose.rotation().wxyz, compiled_so3.exp_wxyz(x[3:]), atol=1e-14)


def test_float32_stays_float32():
    x = jnp.asarray([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], jnp.float32)

    def everything(x):
        R, p = se3.exp(x)
        return R, p, se3.log(R, p), se3.left_jacobian(x), se3.Ad(R, p), se3.ad(x), se3.box_plus(R, p, x)

    leaves = jax.tree.leaves(jax.eval_shape(everything, x))
    assert {leaf.dtype for leaf in leaves} == {jnp.dtype("float32")}
