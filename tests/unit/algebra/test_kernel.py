"""Small products in one kernel against NumPy."""

import jax.numpy as jnp
import numpy as np
import pytest

from haltere.algebra import as_one_kernel, product

RNG = np.random.default_rng(11)


@pytest.mark.parametrize(
    ("left", "right"), [((3,), (3,)), ((5, 3), (3, 4)), ((3,), (3, 2)), ((4, 2), (2, 3, 5))]
)
def test_products_are_written_out(left, right) -> None:
    a, b = RNG.normal(size=left), RNG.normal(size=right)
    found = as_one_kernel(product, jnp.asarray(a), jnp.asarray(b))
    np.testing.assert_allclose(found, np.tensordot(a, b, axes=1), rtol=1e-13)
