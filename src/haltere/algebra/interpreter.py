"""Evaluate a JAX function over any algebra: trace it once, then walk through its equations.

The physics is written once in JAX; batches, C code and exact ranks come from evaluating the same traced
function (a jaxpr) over other elements than floating-point numbers. Each equation is evaluated once, or not at
all if the results do not need it; constants are folded (see `haltere.algebra.arithmetic`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal

from haltere.algebra.arithmetic import Algebra, Arithmetic, MissingFunctionError
from haltere.algebra.rules import (
    REARRANGING,
    RULES,
    UnknownValueError,
    Value,
    by_function,
    by_jax,
    filled,
    is_known,
    symbolic,
)
from haltere.foundation import HaltereError

#: Primitives that only call another jaxpr; their names differ between versions of JAX.
CALLS = frozenset(
    {
        "jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call",
        "custom_vjp_call_jaxpr", "checkpoint", "remat", "remat2",
    }
)  # fmt: skip


class UnsupportedPrimitiveError(HaltereError):
    """The traced function uses an operation that the algebra cannot do."""


@dataclass(frozen=True)
class Traced:
    """A function of pytrees of arrays, traced for given shapes: `traced(algebra, *args)` evaluates it.

    Attributes:
        jaxpr: the closed jaxpr.
        in_tree: structure of the positional arguments.
        out_shapes: shape and dtype of each result, in the results' structure.
    """

    jaxpr: ClosedJaxpr
    in_tree: Any
    out_shapes: Any

    def __call__(self, algebra: Algebra, *args: Any) -> Any:
        """Return the function's value; leaves are object arrays of elements, or plain numbers and arrays."""
        leaves, tree = jax.tree_util.tree_flatten(args)
        if tree != self.in_tree:
            msg = (
                f"arguments have structure {tree}, the function was traced for {self.in_tree}; trace it anew"
            )
            raise HaltereError(msg)
        outputs = interpret(self.jaxpr, algebra, *leaves)
        return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(self.out_shapes), outputs)


def trace(fn: Callable[..., Any], *example_args: Any) -> Traced:
    """Trace fn for arguments of the shapes and dtypes of `example_args`: arrays or `jax.ShapeDtypeStruct`."""
    jaxpr, out_shapes = jax.make_jaxpr(fn, return_shape=True)(*example_args)
    return Traced(jaxpr, jax.tree_util.tree_structure(example_args), out_shapes)


def interpret(closed: ClosedJaxpr, algebra: Algebra, *inputs: Any) -> list[Value]:
    """Evaluate a closed jaxpr over an algebra.

    Args:
        closed: from `jax.make_jaxpr` or `trace`.
        algebra: the operations of the elements.
        inputs: one per input of the jaxpr and of its shape: an object array of elements, or a plain array or
            number, which counts as constant.

    Returns:
        One array per output: an object array of elements and constants, or a plain array if it is of integers
        or booleans and known.
    """
    arguments = []
    for variable, element in zip(closed.jaxpr.invars, inputs, strict=True):
        value = element if isinstance(element, np.ndarray) else _array(element)
        if value.shape != variable.aval.shape:
            msg = (
                f"an input has shape {value.shape}, {variable.aval.shape} is expected; trace for these shapes"
            )
            raise HaltereError(msg)
        arguments.append(value)
    return _evaluate(closed.jaxpr, closed.consts, Arithmetic(algebra), arguments)


def primitives_of(fn: Callable[..., Any], *example_args: Any) -> set[str]:
    """Return the names of all primitives that fn uses, also inside other functions that it calls."""
    return {e.primitive.name for e in _equations(trace(fn, *example_args).jaxpr.jaxpr)} - CALLS


def _array(value: Any) -> Value:
    """Return a plain array of a number, list or concrete JAX array, or a scalar array of an element."""
    try:
        plain = np.asarray(value)
    except (TypeError, ValueError, jax.errors.TracerArrayConversionError):
        return filled((), [value])
    return filled((), [value]) if plain.dtype == object else plain


def _constant(value: Any, arithmetic: Arithmetic) -> Value:
    """Return a value to compute with: floating-point numbers become constants of the algebra."""
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    if array.dtype == object or not np.issubdtype(array.dtype, np.inexact):
        return array
    return symbolic(array, arithmetic.algebra.number)


def _evaluate(
    jaxpr: Jaxpr, consts: list[Any], arithmetic: Arithmetic, arguments: list[Value], caller: str = ""
) -> list[Value]:
    values: dict[Any, Value] = {}
    for variable, value in (
        *zip(jaxpr.constvars, consts, strict=True),
        *zip(jaxpr.invars, arguments, strict=True),
    ):
        values[variable] = _constant(value, arithmetic)

    def read(atom: Any) -> Value:
        return _constant(atom.val, arithmetic) if isinstance(atom, Literal) else values[atom]

    for eqn in _needed(jaxpr):
        outputs = _apply(eqn, arithmetic, [read(atom) for atom in eqn.invars], caller)
        values.update(zip(eqn.outvars, outputs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _needed(jaxpr: Jaxpr) -> list[JaxprEqn]:
    """Return the equations on which the results depend."""
    wanted = {id(v) for v in jaxpr.outvars}
    equations = []
    for eqn in reversed(jaxpr.eqns):
        if any(id(v) in wanted for v in eqn.outvars):
            equations.append(eqn)
            wanted.update(id(v) for v in eqn.invars)
    return equations[::-1]


def _apply(eqn: JaxprEqn, arithmetic: Arithmetic, values: list[Value], caller: str) -> list[Value]:
    name = eqn.primitive.name
    if name in CALLS:
        inner, consts = _called(eqn)
        return _evaluate(inner, consts, arithmetic, values, _where(eqn) or caller)
    if name == "cond" and is_known(values[0]):
        branch = eqn.params["branches"][int(values[0])]
        return _evaluate(branch.jaxpr, branch.consts, arithmetic, values[1:], _where(eqn) or caller)
    if name not in REARRANGING and all(value.dtype != object for value in values):
        return [_constant(value, arithmetic) for value in by_jax(eqn, values)]
    try:
        result = RULES.get(name, by_function)(arithmetic, eqn, values)
    except MissingFunctionError as missing:
        folded = _fold(eqn, arithmetic, values)
        if folded is None:
            what = f"'{name}'" if str(missing) == name else f"'{name}' (it needs '{missing}')"
            whose = arithmetic.algebra.name
            msg = f"primitive {what} is not known to the algebra of {whose}{_where(eqn) or caller}; {_REMEDY}"
            raise UnsupportedPrimitiveError(msg) from None
        return folded
    except UnknownValueError:
        msg = f"primitive '{name}' has an index or a type that depends on the inputs{_where(eqn) or caller}; {_REMEDY}"
        raise UnsupportedPrimitiveError(msg) from None
    return result if isinstance(result, list) else [result]


_REMEDY = (
    "write the function with + - * /, sqrt, sin, cos and fixed indexing, or keep this part outside of it"
)


def _fold(eqn: JaxprEqn, arithmetic: Arithmetic, values: list[Value]) -> list[Value] | None:
    """Let JAX evaluate an equation whose arguments are all known floating-point numbers, if they are."""
    if arithmetic.algebra.number is not float or not all(is_known(value) for value in values):
        return None
    plain = [np.asarray(v.tolist(), dtype=_dtype(a)) for v, a in zip(values, eqn.invars, strict=True)]
    return [_constant(value, arithmetic) for value in by_jax(eqn, plain)]


def _dtype(atom: Any) -> Any:
    return atom.aval.dtype


def _called(eqn: JaxprEqn) -> tuple[Jaxpr, list[Any]]:
    for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        inner = eqn.params.get(key)
        if isinstance(inner, ClosedJaxpr):
            return inner.jaxpr, inner.consts
        if isinstance(inner, Jaxpr):
            return inner, []
    msg = f"primitive '{eqn.primitive.name}' calls nothing that can be read{_where(eqn)}; {_REMEDY}"
    raise UnsupportedPrimitiveError(msg)


def _equations(jaxpr: Jaxpr) -> Iterator[JaxprEqn]:
    for eqn in jaxpr.eqns:
        yield eqn
        for parameter in eqn.params.values():
            for inner in parameter if isinstance(parameter, tuple | list) else (parameter,):
                if isinstance(inner, ClosedJaxpr):
                    yield from _equations(inner.jaxpr)
                elif isinstance(inner, Jaxpr):
                    yield from _equations(inner)


def _where(eqn: JaxprEqn) -> str:
    """Return ' at file:line in function' of the caller of JAX, or nothing if that is not recorded."""
    frames = getattr(getattr(eqn.source_info, "traceback", None), "frames", None) or ()
    inside = (str(Path(jax.__file__).parent), str(Path(__file__).parent))
    for frame in frames:
        if not frame.file_name.startswith(inside):
            return f" at {Path(frame.file_name).name}:{frame.line_num} in {frame.function_name}"
    return ""
