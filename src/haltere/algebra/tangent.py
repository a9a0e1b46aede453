"""A function of an error, and its derivative by it, as one kernel of plain arithmetic.

At e = 0 all k columns of df/de are carried through f beside its value: the value is scalars, a tangent is an array (k,)
that a loop of vector instructions runs along. No small matrices, no structural zeros, nothing computed twice:

    f' = (Df) e'   with e' = the k unit vectors, the batch of `haltere.algebra.batch`                         (1)
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from haltere.algebra.batch import join, soa, split, split_single
from haltere.algebra.kernel import as_one_kernel
from haltere.foundation.arrays import Array


def with_derivative(function: Callable[..., Any], size: int, *arguments: Any) -> tuple[Any, Any]:
    """The value of function(e, *arguments) at e = 0 (size,), and its derivative, a last axis (size) longer.

    Args:
        function: of arrays, made of primitives that the interpreter knows; it returns a pytree of arrays.
        size: length of e.
        arguments: pytrees of arrays.
    """

    def along(unit: Array, arguments: Any) -> Any:
        return jax.jvp(lambda e: function(e, *arguments), (jnp.zeros(size),), (unit,))

    def kernel(*arguments: Any) -> tuple[Any, Any]:
        values, slopes = soa(along)(split(jnp.eye(size)), split_single(arguments))
        return jax.tree.map(lambda x: x[0], join(values)), join(slopes, axis=-1)

    found: tuple[Any, Any] = as_one_kernel(kernel, *arguments)
    return found
