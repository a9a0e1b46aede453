import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.lie import s2

HEIGHTS = [1.0, 0.9, 0.1, 0.0, -0.5, *(s2.BASIS_SWITCH + step for step in (1e-9, 0.0, -1e-9)), -0.99, -1.0]
FORWARD = jax.jit(jax.jacfwd(s2.box_plus, argnums=1))
ROUND_TRIP = jax.jit(jax.jacrev(lambda n, d: s2.box_minus(s2.box_plus(n, d), n), argnums=1))


def directions(z):
    for azimuth in (0.0, 1.0, 2.5, -2.0):
        r = np.sqrt(1 - z * z)
        yield np.array([r * np.cos(azimuth), r * np.sin(azimuth), z])


@pytest.mark.parametrize("z", HEIGHTS)
def test_basis_is_orthonormal_and_right_handed(z, compiled_s2):
    for n in directions(z):
        B = np.asarray(compiled_s2.basis(n))
        assert np.allclose(B.T @ B, np.eye(2), rtol=0, atol=2e-15)
        assert np.allclose(B.T @ n, 0, rtol=0, atol=2e-15)
        assert np.allclose(np.cross(B[:, 0], B[:, 1]), n, rtol=0, atol=2e-15)


def test_basis_at_the_pole_is_x_and_y(compiled_s2):
    assert np.array_equal(compiled_s2.basis([0, 0, 1]), [[1, 0], [0, 1], [0, 0]])


@pytest.mark.parametrize("z", HEIGHTS)
@pytest.mark.parametrize("length", [0.0, 1e-200, 1e-9, 0.2, 0.3, 1.5, 2 - 1e-9, 2 + 1e-9, 3.0, np.pi - 1e-3])
def test_box_minus_undoes_box_plus_along_a_great_circle(z, length, compiled_s2):
    for i, n in enumerate(directions(z)):
        d = length * np.array([np.cos(i + 0.3), np.sin(i + 0.3)])
        m = np.asarray(compiled_s2.box_plus(n, d))
        assert np.linalg.norm(m) == pytest.approx(1.0, rel=1e-15)
        angle = np.arctan2(np.linalg.norm(np.cross(n, m)), n @ m)
        assert angle == pytest.approx(length, rel=1e-12, abs=1e-15)
        # The direction of a step close to pi is known as well as its sine: 1e-3 costs three digits.
        assert np.allclose(compiled_s2.box_minus(m, n), d, rtol=0, atol=1e-13 * (100 if length > 3.1 else 1))


def test_opposite_directions_have_a_defined_answer(compiled_s2):
    n = np.array([0.0, 0.0, 1.0])
    assert np.allclose(compiled_s2.box_minus(-n, n), [np.pi, 0])
    assert np.array_equal(compiled_s2.box_minus(n, n), [0, 0])


@pytest.mark.parametrize("z", HEIGHTS)
def test_derivative_at_zero_is_the_basis(z):
    for n in directions(z):
        assert np.allclose(FORWARD(n, jnp.zeros(2)), s2.basis(n), rtol=0, atol=1e-15)
        assert np.allclose(ROUND_TRIP(n, jnp.zeros(2)), np.eye(2), rtol=0, atol=1e-14)


def test_batches_and_dtype():
    n = jnp.asarray(np.stack([*directions(0.3), *directions(-0.95)]), jnp.float32)
    d = jnp.full((8, 2), 0.1, jnp.float32)
    m = jax.jit(jax.vmap(s2.box_plus))(n, d)
    assert m.dtype == jnp.float32
    assert np.allclose(jax.jit(jax.vmap(s2.box_minus))(m, n), d, atol=1e-5)
