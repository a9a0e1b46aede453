"""Array types, typed compilation, and the check that JAX computes with 64 bits.

The library never changes its host's JAX settings; public functions call `require_x64` once and say how to set it.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax
import jax.dtypes
import jax.numpy as jnp
import jax.typing

from haltere.foundation.errors import PrecisionError

Array = jax.Array
ArrayLike = jax.typing.ArrayLike
Function = TypeVar("Function", bound=Callable[..., Any])


def require_x64() -> None:
    """Raise a `PrecisionError` that names the remedy unless JAX is set to 64-bit numbers."""
    if jax.dtypes.canonicalize_dtype(float) != jnp.float64:
        msg = (
            "JAX computes with 32 bits, 64 are expected; "
            "call jax.config.update('jax_enable_x64', True) before the first array is made"
        )
        raise PrecisionError(msg)


def compiled(function: Function) -> Function:
    """`jax.jit`, with the type of the function kept."""
    return cast("Function", jax.jit(function))
