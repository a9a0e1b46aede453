"""Known integers and booleans are folded by NumPy as JAX would."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.algebra.rules import NUMPY_RULES, by_jax

A, B = np.array([[3, -2, 7], [0, 5, 5]]), np.array([[3, 4, -7], [1, 5, 2]])


def only(function, *arguments):
    """The one equation of a function."""
    (eqn,) = jax.make_jaxpr(function)(*arguments).jaxpr.eqns
    return eqn


@pytest.mark.parametrize("name", [n for n in NUMPY_RULES if n != "convert_element_type"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_arithmetic_and_comparisons(name, dtype):
    a, b = (np.abs(x).astype(dtype) if dtype == np.uint8 else x.astype(dtype) for x in (A, B))
    function = getattr(jax.lax, f"{name}_p").bind
    (found,) = by_jax(only(function, a, b), [a, b])
    wanted = np.asarray(function(jnp.asarray(a), jnp.asarray(b)))
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("axis", [0, 1])
def test_counting(axis):
    eqn = only(lambda: jax.lax.broadcasted_iota(jnp.int32, (2, 3), axis))
    (found,) = by_jax(eqn, [])
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, np.asarray(jax.lax.broadcasted_iota(jnp.int32, (2, 3), axis)))


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.bool_])
def test_other_types(dtype):
    (found,) = by_jax(only(lambda x: jax.lax.convert_element_type(x, dtype), A), [A])
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, A.astype(dtype))
