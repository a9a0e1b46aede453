"""A step of pytrees as one compiled function of flat arrays: what a loop written in Python wants to call.

Handing an array to a compiled function and taking one back costs some microseconds each, so a step that keeps forty
small arrays spends more time there than in its arithmetic. Here the state travels in one array of floats, the inputs
in another, the outputs in a third. Whole numbers and truth values become floats on the way and are themselves again
inside.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from haltere.foundation.arrays import Array

Step = Callable[[Any, Any], tuple[Any, Any]]


class FlatStep:
    """`step(state, inputs) -> (state, outputs)` with every pytree in one array.

    memory, outputs = flat(memory, inputs)
    """

    begin: np.ndarray
    """(n,) the first state, flat."""
    inputs: np.ndarray
    """(m,) the inputs that the step was made with, flat: leaves in order, each in row order."""

    def __init__(self, step: Step, state: Any, inputs: Any) -> None:
        """Trace nothing yet; `state` and `inputs` are examples whose shapes stay."""
        first, unpack_state = ravel_pytree(state)
        self.begin = np.asarray(first)
        flat, unpack_inputs = ravel_pytree(inputs)
        self.inputs = np.asarray(flat)
        shapes = jax.eval_shape(lambda k, g: step(k, g)[1], state, inputs)
        self._shapes, self._tree = jax.tree.flatten(shapes)

        def both(memory: Array, inputs: Array) -> tuple[Array, Array]:
            later, outputs = step(unpack_state(memory), unpack_inputs(inputs))
            return ravel_pytree(later)[0], jnp.concatenate(
                [jnp.ravel(x).astype(memory.dtype) for x in jax.tree.leaves(outputs)]
            )

        self.function = both
        """The step of flat arrays, not compiled: to be mapped over a batch."""
        self._call = jax.jit(both, donate_argnums=0)

    def __call__(self, memory: Any, inputs: Any) -> tuple[Array, Array]:
        """The memory after `inputs` (m,), and the outputs, flat; a JAX array `memory` (n,) is used up."""
        later, outputs = self._call(memory, inputs)
        return later, outputs

    def unpacked(self, outputs: Any) -> Any:
        """The outputs of a step as the pytree they are, in NumPy arrays with an axis more for a batch."""
        flat = np.asarray(outputs)
        leaves, first = [], 0
        for shape in self._shapes:
            last = first + int(np.prod(shape.shape, dtype=int))
            piece = flat[..., first:last].reshape((*flat.shape[:-1], *shape.shape))
            leaves.append(piece.astype(shape.dtype))
            first = last
        return jax.tree.unflatten(self._tree, leaves)
