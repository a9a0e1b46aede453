"""Types of NumPy arrays, and linear algebra on one thread, for code that imports no JAX.

Matrices of a few hundred rows gain nothing from more threads of BLAS: they wait for each other by spinning, which on a
busy machine takes ten times the processor time of the work itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Times = NDArray[np.int64]
"""Stamps in nanoseconds."""
Numbers = np.ndarray[Any, np.dtype[Any]]
"""Numbers of any kind: floats of any width, integers, or objects such as fractions."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A scope in which BLAS uses one thread: of a `with` statement, or of a function that it decorates."""
    with _thread_pools().limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _thread_pools() -> ThreadpoolController:
    """The libraries with threads that are loaded, those of NumPy and SciPy at least; to look for them takes 10 ms."""
    import scipy.linalg  # noqa: F401, PLC0415 - loads the second BLAS

    return ThreadpoolController()
