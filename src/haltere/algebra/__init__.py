"""The interpreter of jaxprs: a JAX function evaluated over batches of arrays, symbols or exact numbers."""

from haltere.algebra.arithmetic import Algebra
from haltere.algebra.batch import Elements, batched, join, join_single, soa, split, split_single
from haltere.algebra.interpreter import Traced, UnsupportedPrimitiveError, interpret, primitives_of, trace
from haltere.algebra.kernel import as_one_kernel, product
from haltere.algebra.symbolic import c_source, casadi_function

__all__ = [
    "Algebra",
    "Elements",
    "Traced",
    "UnsupportedPrimitiveError",
    "as_one_kernel",
    "batched",
    "c_source",
    "casadi_function",
    "interpret",
    "join",
    "join_single",
    "primitives_of",
    "product",
    "soa",
    "split",
    "split_single",
    "trace",
]
