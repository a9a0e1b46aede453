"""C code of a JAX function: evaluate it over CasADi symbols and let CasADi write C.

CasADi (extra `embed`) is imported in this file only, when it is needed. Each array among arguments and
results becomes a dense column vector with its elements in C order; names are made of the path in the pytree.
"""

import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import numpy as np

from haltere.algebra.arithmetic import Algebra
from haltere.algebra.interpreter import trace
from haltere.algebra.rules import Value, filled
from haltere.foundation import HaltereError


class MissingExtraError(HaltereError):
    """A package that an extra of Haltere brings is not installed."""


def casadi_function(fn: Callable[..., Any], example_args: tuple[Any, ...], name: str) -> Any:
    """Return fn as a `casadi.Function` of SX.

    Args:
        fn: a function of pytrees of arrays, made of primitives the interpreter knows.
        example_args: positional arguments, of which shapes and dtypes count.
        name: name of the CasADi function and of the C function made of it.

    Returns:
        The function: one column vector per array of the arguments and of the results, in pytree order.
    """
    casadi = _casadi()
    traced = trace(fn, *example_args)
    paths, tree = jax.tree_util.tree_flatten_with_path(example_args)
    names = _names([path for path, _ in paths], "x")
    symbols = [casadi.SX.sym(n, int(np.size(leaf))) for n, (_, leaf) in zip(names, paths, strict=True)]
    leaves = [
        filled(np.shape(leaf), [symbol[i] for i in range(symbol.numel())])
        for symbol, (_, leaf) in zip(symbols, paths, strict=True)
    ]
    result = traced(_algebra(casadi), *jax.tree_util.tree_unflatten(tree, leaves))
    outputs = jax.tree_util.tree_flatten_with_path(result)[0]
    vectors = [_vector(casadi, value) for _, value in outputs]
    return casadi.Function(name, symbols, vectors, names, _names([path for path, _ in outputs], "y"))


def c_source(
    fn: Callable[..., Any], example_args: tuple[Any, ...], name: str, *, real: str = "double"
) -> str:
    """Return C source of fn without dependencies, in CasADi's calling convention.

    Args:
        fn: as for `casadi_function`.
        example_args: as for `casadi_function`.
        name: name of the C function.
        real: the C type to compute with, `double` or `float`.
    """
    if real not in ("double", "float"):
        msg = f"real is {real!r}, 'double' or 'float' is expected; give one of them"
        raise HaltereError(msg)
    casadi = _casadi()
    generator = casadi.CodeGenerator(name, {"casadi_real": real, "with_header": False})
    generator.add(casadi_function(fn, example_args, name))
    return str(generator.dump())


def _casadi() -> ModuleType:
    try:
        import casadi  # noqa: PLC0415
    except ImportError:
        msg = "CasADi is not installed, C code needs it; install it with: pip install 'haltere[embed]'"
        raise MissingExtraError(msg) from None
    module: ModuleType = casadi
    return module


def _algebra(casadi: ModuleType) -> Algebra:
    same = ("sqrt", "sin", "cos", "tan", "exp", "log", "tanh", "asin", "acos", "atan", "atan2", "sign")
    functions = {name: getattr(casadi, name) for name in same}
    functions |= {"abs": casadi.fabs, "max": casadi.fmax, "min": casadi.fmin, "pow": casadi.power}
    return Algebra(name="CasADi symbols", functions=functions)


def _vector(casadi: ModuleType, value: Value) -> Any:
    elements = np.asarray(value).reshape(-1).tolist()
    return casadi.densify(casadi.vertcat(casadi.SX(0, 1), *elements))


def _names(paths: list[Any], prefix: str) -> list[str]:
    """Return a valid CasADi name for each path, all different."""
    names: list[str] = []
    for path in paths:
        words = re.sub(r"[^0-9A-Za-z]+", "_", jax.tree_util.keystr(path)).strip("_")
        base = f"{prefix}_{words}" if words else prefix
        names.append(base if base not in names else f"{base}_n{len(names)}")
    return names
