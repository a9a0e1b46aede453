"""Array types, dataclasses as pytrees, typed compilation, and the check that JAX computes with 64 bits.

The library never changes its host's JAX settings; public functions call `require_x64` once and say how to set it.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar, cast, overload

import jax
import jax.dtypes
import jax.numpy as jnp
import jax.typing

from haltere.foundation.errors import PrecisionError

Array = jax.Array
ArrayLike = jax.typing.ArrayLike
Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)


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


@overload
def pytree(cls: Class) -> Class: ...
@overload
def pytree(*, static: tuple[str, ...]) -> Callable[[Class], Class]: ...
def pytree(cls: Class | None = None, *, static: tuple[str, ...] = ()) -> Class | Callable[[Class], Class]:
    """Class decorator: registers a dataclass as a JAX pytree whose leaves are its fields, in their order.

    The fields named in `static` are part of the tree's structure: a traced function is compiled anew for each of
    their values.
    """

    def register(cls: Class) -> Class:
        names = [field.name for field in fields(cls)]
        leaves = [name for name in names if name not in static]
        return jax.tree_util.register_dataclass(cls, data_fields=leaves, meta_fields=list(static))

    return register if cls is None else register(cls)
