"""Many vehicles at once: the elements are JAX arrays of shape (batch,), a structure of arrays.

`jax.vmap` of a small-matrix function gives XLA thousands of tiny matrix products; here each scalar of the
function becomes one array over the batch and XLA fuses plain arithmetic on them.

`soa(fn)` works on pytrees whose leaves are `Elements` for loops that keep this layout:

    carry = split(state)                                     # leading batch axis -> structure of arrays
    carry, _ = lax.scan(lambda c, _: (soa(step)(c), None), carry, None, length=n)
    state = join(carry)

`batched(fn)` does the three in one and is used like `jax.jit(jax.vmap(fn))`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from haltere.algebra import graph
from haltere.algebra.arithmetic import NUMBERS
from haltere.algebra.graph import Node
from haltere.algebra.interpreter import trace
from haltere.algebra.rules import Value, filled
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array


@partial(jax.tree_util.register_dataclass, data_fields=["items"], meta_fields=["shape", "dtype"])
@dataclass(frozen=True)
class Elements:
    """One array of shape `shape` per vehicle: its scalars, in C order, each an array over the batch.

    Attributes:
        items: the scalars, all of one batch shape: (batch,), or () for a single vehicle.
        shape: the shape of the array for one vehicle.
        dtype: the array's dtype; an array without elements could not tell it otherwise.
    """

    items: tuple[Array, ...]
    shape: tuple[int, ...]
    dtype: Any


def split(tree: Any, axis: int = 0) -> Any:
    """Return the pytree with each array, batch along `axis`, as `Elements`."""

    def one(leaf: Any) -> Elements:
        array = jnp.moveaxis(jnp.asarray(leaf), axis, -1)
        shape = array.shape[:-1]
        flat = array.reshape(math.prod(shape), array.shape[-1])
        return Elements(tuple(flat[i] for i in range(flat.shape[0])), shape, array.dtype)

    return jax.tree_util.tree_map(one, tree)


def split_single(tree: Any) -> Any:
    """Return the pytree of one vehicle's arrays as `Elements` of batch shape ()."""

    def one(leaf: Any) -> Elements:
        array = jnp.asarray(leaf)
        return Elements(tuple(array.reshape(-1)[i] for i in range(array.size)), array.shape, array.dtype)

    return jax.tree_util.tree_map(one, tree)


def join(tree: Any, axis: int = 0) -> Any:
    """Return the pytree with each `Elements` as an array, batch along `axis`; the inverse of `split`.

    Elements of batch shape () give the array of the one vehicle.
    """
    items = jax.tree_util.tree_leaves(tree)
    if not items:
        msg = "there is no element and so no batch size; give a pytree with at least one array that has elements"
        raise HaltereError(msg)
    batch = items[0].shape

    def one(leaf: Elements) -> Array:
        flat = jnp.stack(leaf.items) if leaf.items else jnp.zeros((0, *batch), leaf.dtype)
        stacked = flat.reshape(*leaf.shape, *batch)
        return jnp.moveaxis(stacked, -1, axis) if batch else stacked

    return jax.tree_util.tree_map(one, tree, is_leaf=_is_elements)


def join_single(tree: Any) -> Any:
    """Return the pytree of one vehicle with each `Elements` as an array; the inverse of `split_single`."""

    def one(leaf: Elements) -> Array:
        return jnp.stack(leaf.items).reshape(leaf.shape) if leaf.items else jnp.zeros(leaf.shape, leaf.dtype)

    return jax.tree_util.tree_map(one, tree, is_leaf=_is_elements)


def soa(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return fn for arguments in structure-of-arrays layout; the results are `Elements`.

    Leaves of the arguments are `Elements`, or arrays without batch: known ones (numbers, NumPy and concrete
    JAX arrays) are folded into the computation, traced ones become scalars. `Elements` of batch shape () beside
    others are shared by the batch, and what depends on them alone is computed once.
    """

    def evaluate(*args: Any) -> Any:
        leaves, tree = jax.tree_util.tree_flatten(args, is_leaf=_is_elements)
        examples = jax.tree_util.tree_unflatten(tree, [_example(leaf) for leaf in leaves])
        inputs: dict[Node, Any] = {}
        values = jax.tree_util.tree_unflatten(tree, [_value(leaf, inputs) for leaf in leaves])
        shapes = {x.shape for leaf in leaves if isinstance(leaf, Elements) for x in leaf.items} - {()}
        if len(shapes) > 1:
            msg = f"elements have the batch shapes {sorted(shapes)}, one is expected; give all the same batch"
            raise HaltereError(msg)
        batch = shapes.pop() if shapes else ()
        traced = trace(fn, *examples)
        outputs = traced(ALGEBRA, *values)
        nodes = [x for value in jax.tree_util.tree_leaves(outputs) for x in value.reshape(-1).tolist()]
        arrays = iter(graph.evaluate(nodes, inputs, _FUNCTIONS, cut=jax.default_backend() == "cpu"))

        def one(value: Value, like: Any) -> Elements:
            items = tuple(_broadcast(next(arrays), batch, like.dtype) for _ in range(value.size))
            return Elements(items, tuple(value.shape), like.dtype)

        return jax.tree_util.tree_map(one, outputs, traced.out_shapes)

    return evaluate


def batched(
    fn: Callable[..., Any],
    in_axes: int | Sequence[Any] | None = 0,
    compiler_options: Mapping[str, Any] | None = None,
) -> Any:
    """Return a compiled function that evaluates fn for many vehicles, like `jax.jit(jax.vmap(fn, in_axes))`.

    Args:
        fn: a function of pytrees of arrays, made of primitives the interpreter knows.
        in_axes: 0 or None for all arguments, or a sequence with 0, None or a pytree prefix of these for each:
            0 means a leading batch axis, None that the batch shares the argument. What fn closes over is
            known and folded: `batched(partial(fn, model))` is faster than `batched(fn, (None, 0))`, and is
            compiled anew for another model.
        compiler_options: handed to `jax.jit`.

    Returns:
        The function, as `jax.jit` returns it; its results have a leading batch axis.
    """

    def evaluate(*args: Any) -> Any:
        axes = tuple(in_axes) if isinstance(in_axes, Sequence) else (in_axes,) * len(args)
        if len(axes) != len(args):
            msg = f"in_axes has {len(axes)} entries for {len(args)} arguments; give one for each"
            raise HaltereError(msg)

        def laid_out(axis: Any, arg: Any) -> Any:
            return arg if axis is None else split(arg, axis)

        prepared = jax.tree_util.tree_map(laid_out, axes, args, is_leaf=lambda axis: axis is None)
        return join(soa(fn)(*prepared))

    return jax.jit(evaluate, compiler_options=None if compiler_options is None else dict(compiler_options))


def _is_elements(leaf: Any) -> bool:
    return isinstance(leaf, Elements)


def _example(leaf: Any) -> Any:
    if isinstance(leaf, Elements):
        return jax.ShapeDtypeStruct(leaf.shape, leaf.items[0].dtype if leaf.items else leaf.dtype)
    return leaf


def _value(leaf: Any, inputs: dict[Node, Any]) -> Value:
    """Return the leaf as an array of nodes, whose arrays are put into `inputs`, or of known numbers."""
    if isinstance(leaf, Elements):
        items: Sequence[Any] = leaf.items
    elif isinstance(leaf, jax.core.Tracer):
        items = [leaf.reshape(-1)[i] for i in range(leaf.size)]
    else:
        return np.asarray(leaf)
    nodes = [Node("input") for _ in items]
    inputs.update(zip(nodes, items, strict=True))
    return filled(leaf.shape, nodes)


def _broadcast(x: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    if isinstance(x, NUMBERS):
        return jnp.full(shape, float(x), dtype)
    return x.astype(dtype) if x.shape == shape else jnp.broadcast_to(x.astype(dtype), shape)


def _aligned(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of `lax` take constants, and scalars beside arrays."""

    def call(*operands: Any) -> Any:
        arrays = [x for x in operands if not isinstance(x, NUMBERS)]
        shape = max((x.shape for x in arrays), key=len)
        numeric = [x.dtype for x in arrays if x.dtype != bool]
        dtype = numeric[-1] if numeric else jnp.zeros(()).dtype
        return function(
            *(
                lax.full(shape, float(x), dtype)
                if isinstance(x, NUMBERS)
                else (x if x.shape == shape else lax.broadcast(x, shape))
                for x in operands
            )
        )

    return call


_LAX: dict[str, Callable[..., Any]] = {
    "add": lax.add, "sub": lax.sub, "mul": lax.mul, "div": lax.div, "neg": lax.neg,
    "sqrt": lax.sqrt, "sin": lax.sin, "cos": lax.cos, "tan": lax.tan, "exp": lax.exp, "log": lax.log,
    "tanh": lax.tanh, "asin": lax.asin, "acos": lax.acos, "atan": lax.atan, "atan2": lax.atan2,
    "abs": lax.abs, "sign": lax.sign, "max": lax.max, "min": lax.min, "pow": lax.pow,
    "lt": lax.lt, "le": lax.le, "gt": lax.gt, "ge": lax.ge, "eq": lax.eq, "ne": lax.ne,
    "and": lax.bitwise_and, "or": lax.bitwise_or, "not": lax.bitwise_not, "select_n": lax.select_n,
}  # fmt: skip

_FUNCTIONS = {name: _aligned(function) for name, function in _LAX.items()}

#: The algebra of arrays over a batch, as a graph; it also knows what the physics core must do without.
ALGEBRA = graph.algebra("batch arrays", _LAX)
