"""One kernel of a whole function, for XLA on CPUs.

XLA for CPUs walks through a list of kernels, and takes longer to start one than to run it where arrays are small. A
function that is called as one kernel, loops included, is started once. Matrix products do not belong in it: XLA gives
them to a library that cannot be called from a kernel. Small ones are written out, by `product` or by `soa`.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax

from haltere.foundation.arrays import Array


def as_one_kernel(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function so that XLA for CPUs makes a single kernel of it."""
    with _single_kernel():
        return jax.jit(function)(*args)


def _single_kernel() -> AbstractContextManager[Any]:
    """The context for that; where XLA does not know it the result is only slower."""
    if jax.default_backend() != "cpu":
        return nullcontext()
    try:
        from jax.experimental.xla_metadata import set_xla_metadata  # noqa: PLC0415
    except ImportError:
        return nullcontext()
    context: AbstractContextManager[Any] = set_xla_metadata(inlineable="false", xla_cpu_small_call="true")
    return context


def product(a: Array, b: Array) -> Array:
    """The product of a (..., m) and b (m, ...), written out as a sum over m: for kernels, and small m."""
    inner = (..., *(None,) * (b.ndim - 1))
    total = a[..., 0][inner] * b[0]
    for i in range(1, b.shape[0]):
        total = total + a[..., i][inner] * b[i]
    return total
