"""Types of NumPy arrays, for code that imports no JAX."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Times = NDArray[np.int64]
"""Stamps in nanoseconds."""
Numbers = np.ndarray[Any, np.dtype[Any]]
"""Numbers of any kind: floats of any width, integers, or objects such as fractions."""
