"""A step of pytrees as one compiled function of flat arrays: what a loop written in Python wants to call.

Handing an array to a compiled function and taking one back costs some microseconds each, so a step that keeps forty
small arrays spends more time there than in its arithmetic. Here everything that is kept travels in one array of floats,
everything that is given in another, everything that is said in a third. Whole numbers and truth values become floats on
the way and are themselves again inside.
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
    """`step(kept, given) -> (kept, said)` with every pytree in one array: `memory, said = flat(memory, given)`."""

    begin: np.ndarray
    """(n,) the first `kept`, flat."""
    given: np.ndarray
    """(m,) the `given` that the step was made with, flat: leaves in order, each in row order."""

    def __init__(self, step: Step, kept: Any, given: Any) -> None:
        """Trace nothing yet; `kept` and `given` are examples whose shapes stay."""
        first, unpack_kept = ravel_pytree(kept)
        self.begin = np.asarray(first)
        flat, unpack_given = ravel_pytree(given)
        self.given = np.asarray(flat)
        shapes = jax.eval_shape(lambda k, g: step(k, g)[1], kept, given)
        self._said, self._tree = jax.tree.flatten(shapes)

        def both(memory: Array, given: Array) -> tuple[Array, Array]:
            later, said = step(unpack_kept(memory), unpack_given(given))
            return ravel_pytree(later)[0], jnp.concatenate(
                [jnp.ravel(x).astype(memory.dtype) for x in jax.tree.leaves(said)]
            )

        self.function = both
        """The step of flat arrays, not compiled: to be mapped over a batch."""
        self._call = jax.jit(both, donate_argnums=0)

    def __call__(self, memory: Any, given: Any) -> tuple[Array, Array]:
        """The memory after `given` (m,) and what is said, flat; a JAX array `memory` (n,) is used up."""
        later, said = self._call(memory, given)
        return later, said

    def unpacked(self, said: Any) -> Any:
        """What a step said, as the pytree it is, in NumPy arrays with an axis more for a batch."""
        flat = np.asarray(said)
        leaves, first = [], 0
        for shape in self._said:
            last = first + int(np.prod(shape.shape, dtype=int))
            piece = flat[..., first:last].reshape((*flat.shape[:-1], *shape.shape))
            leaves.append(piece.astype(shape.dtype))
            first = last
        return jax.tree.unflatten(self._tree, leaves)
