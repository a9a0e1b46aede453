"""Array types, dataclasses as pytrees, typed compilation, and 64-bit numbers within a scope.

The library never changes its host's JAX settings. Every public function that computes with JAX enters the scope
`double_precision` and gives NumPy arrays back: a 64-bit JAX array would be narrowed by the host's next operation.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, TypeVar, cast, overload

import jax
import jax.dtypes
import jax.numpy as jnp
import jax.typing
import numpy as np

from haltere.foundation.errors import PrecisionError

Array = jax.Array
ArrayLike = jax.typing.ArrayLike
Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)
Tree = TypeVar("Tree")


def has_double_precision() -> bool:
    """Whether JAX computes with 64 bits here: in this thread, in this scope."""
    return bool(jax.dtypes.canonicalize_dtype(float) == jnp.float64)


@contextmanager
def double_precision() -> Iterator[None]:
    """A scope in which JAX computes with 64 bits: of a `with` statement, or of a function that it decorates.

        with double_precision():
            model = Model.from_airframe(airframe)

        @double_precision()
        def observe(airframe): ...

    The setting holds for the thread that enters the scope, so a thread started inside has to enter it again; where
    JAX computes with 64 bits already nothing changes.

    Raises:
        PrecisionError: the scope is entered while a function of the caller is traced with 32 bits, whose numbers have
            been narrowed already.
    """
    if has_double_precision():
        yield
        return
    if isinstance(_probe(), jax.core.Tracer):
        msg = (
            "called inside a function that jax.jit traces with 32 bits, 64 are expected; call it outside, "
            "or enter `with jax.enable_x64(True):` around the traced function"
        )
        raise PrecisionError(msg)
    with jax.enable_x64(True):
        yield


@jax.jit
def _probe() -> bool:
    """A tracer while another function is traced, an array otherwise."""
    return True


def to_numpy(tree: Tree) -> Tree:
    """The pytree with NumPy arrays for its JAX arrays, 64 bits kept; what is being traced passes unchanged."""
    return cast("Tree", jax.tree.map(lambda x: np.asarray(x) if _is_concrete(x) else x, tree))


def _is_concrete(x: Any) -> bool:
    return isinstance(x, jax.Array) and not isinstance(x, jax.core.Tracer) and not _is_key(x)


def _is_key(x: jax.Array) -> bool:
    return bool(jnp.issubdtype(x.dtype, jax.dtypes.prng_key))


def to_float64(value: ArrayLike) -> Any:
    """The array as NumPy float64; a traced one passes unchanged.

    Raises:
        PrecisionError: the array is traced with fewer than 64 bits.
    """
    if not isinstance(value, jax.core.Tracer):
        return np.asarray(value, np.float64)
    if value.dtype == jnp.float32:
        raise PrecisionError(
            f"got a traced array of {value.dtype}, float64 is expected; "
            "enter `with jax.enable_x64(True):` around the traced function"
        )
    return value


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
