"""A value and its derivative in one kernel, against `jax.jacfwd`; small products against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.algebra import as_one_kernel, product, with_derivative

RNG = np.random.default_rng(11)


def curve(e, given):
    """A matrix and a vector that depend on e (3,) and on what is given."""
    matrix = jnp.outer(given["a"] + e[:2], jnp.sin(given["b"] * e[2] + 1.0))
    return {"matrix": matrix, "vector": matrix @ given["b"] / (1.0 + e @ e)}


def test_value_and_derivative_are_those_of_jax() -> None:
    given = {"a": jnp.asarray(RNG.normal(size=2)), "b": jnp.asarray(RNG.normal(size=4))}
    value, slopes = jax.jit(lambda g: with_derivative(curve, 3, g))(given)
    expected, wanted = curve(jnp.zeros(3), given), jax.jacfwd(curve)(jnp.zeros(3), given)
    for name in ("matrix", "vector"):
        assert slopes[name].shape == (*value[name].shape, 3)
        np.testing.assert_allclose(value[name], expected[name], rtol=1e-14)
        np.testing.assert_allclose(slopes[name], wanted[name], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    ("left", "right"), [((3,), (3,)), ((5, 3), (3, 4)), ((3,), (3, 2)), ((4, 2), (2, 3, 5))]
)
def test_products_are_written_out(left, right) -> None:
    a, b = RNG.normal(size=left), RNG.normal(size=right)
    found = as_one_kernel(product, jnp.asarray(a), jnp.asarray(b))
    np.testing.assert_allclose(found, np.tensordot(a, b, axes=1), rtol=1e-13)
