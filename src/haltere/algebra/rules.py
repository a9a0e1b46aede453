"""What each JAX primitive does to arrays of elements.

A value is a NumPy array: of dtype object, with elements of the algebra or constants, or of a plain integer or
boolean dtype, then all known. Rearranging primitives move elements, the others call `Arithmetic`.
A primitive with nothing but known integers as arguments is evaluated by JAX itself.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import JaxprEqn

from haltere.algebra.arithmetic import NUMBERS, Arithmetic

Value = np.ndarray[Any, np.dtype[Any]]
Rule = Callable[[Arithmetic, JaxprEqn, Sequence[Value]], Value | list[Value]]


class UnknownValueError(Exception):
    """An index or a predicate depends on the inputs; the interpreter makes of it an error that says where."""


def _shape(eqn: JaxprEqn) -> tuple[int, ...]:
    """Return the shape of the first result."""
    aval: Any = eqn.outvars[0].aval
    return tuple(aval.shape)


def filled(shape: tuple[int, ...], elements: Sequence[Any]) -> Value:
    """Return an object array with the given elements, in C order, whatever they are."""
    flat = np.empty(len(elements), dtype=object)
    for i, element in enumerate(elements):
        flat[i] = element
    return flat.reshape(shape)


def symbolic(value: Value, number: Callable[[float], Any] = float) -> Value:
    """Return the value as an object array; plain numbers become constants."""
    if value.dtype == object:
        return value
    return filled(value.shape, [number(x) for x in value.reshape(-1).tolist()])


def is_known(value: Value) -> bool:
    """Return whether no element depends on the inputs."""
    return value.dtype != object or all(isinstance(x, NUMBERS) for x in value.reshape(-1).tolist())


def known(value: Value) -> Value:
    """Return a plain array of an index or a predicate, which must not depend on the inputs."""
    if not is_known(value):
        raise UnknownValueError
    return np.asarray(value.tolist()) if value.dtype == object else value


def _iota(eqn: JaxprEqn) -> Value:
    shape, axis = eqn.params["shape"], eqn.params["dimension"]
    along = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return np.broadcast_to(along, shape)


#: Integers and booleans that NumPy computes as JAX would, which compiles a program for each shape.
NUMPY_RULES: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "eq": np.equal, "ne": np.not_equal, "lt": np.less,
    "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "convert_element_type": np.asarray,
}  # fmt: skip


def _is_plain(eqn: JaxprEqn) -> bool:
    """Whether an equation takes integers and booleans only, and NumPy can do it."""
    kinds = [np.dtype(getattr(v.aval, "dtype", object)).kind for v in eqn.invars]
    whole = all(kind in "iub" for kind in kinds)
    return whole and (eqn.primitive.name in NUMPY_RULES or eqn.primitive.name == "iota")


def by_jax(eqn: JaxprEqn, values: Sequence[Any]) -> list[Value]:
    """Evaluate a primitive of known arguments by JAX, now, even while a function is being traced."""
    if _is_plain(eqn):
        found = _iota(eqn) if eqn.primitive.name == "iota" else NUMPY_RULES[eqn.primitive.name](*values)
        aval: Any = eqn.outvars[0].aval
        return [np.asarray(found).astype(aval.dtype)]
    with jax.ensure_compile_time_eval():
        result = eqn.primitive.bind(*values, **eqn.params)
    results = result if eqn.primitive.multiple_results else [result]
    return [np.asarray(x) for x in results]


def elementwise(function: Callable[..., Any], *values: Value) -> Value:
    """Apply a function of elements to arrays of equal shape; scalars are repeated."""
    arrays = np.broadcast_arrays(*(symbolic(v) for v in values))
    columns = [a.reshape(-1).tolist() for a in arrays]
    return filled(arrays[0].shape, [function(*row) for row in zip(*columns, strict=True)])


def _function(arithmetic: Arithmetic, eqn: JaxprEqn, values: Sequence[Value]) -> Value:
    name = eqn.primitive.name
    return elementwise(lambda *row: arithmetic.function(name, *row), *values)


def _dot_general(arithmetic: Arithmetic, eqn: JaxprEqn, values: Sequence[Value]) -> Value:
    (contract_a, contract_b), (batch_a, batch_b) = eqn.params["dimension_numbers"]

    def rows(value: Value, batch: Sequence[int], contract: Sequence[int]) -> Value:
        """Return the operand as (batch, free, contracted)."""
        free = [i for i in range(value.ndim) if i not in (*batch, *contract)]
        sizes = [int(np.prod([value.shape[i] for i in axes])) for axes in (batch, free, contract)]
        return symbolic(value).transpose(*batch, *free, *contract).reshape(sizes)

    a, b = rows(values[0], batch_a, contract_a), rows(values[1], batch_b, contract_b)
    elements = []
    for rows_a, rows_b in zip(a, b, strict=True):
        terms = [
            [(k, x) for k, x in enumerate(row.tolist()) if not (isinstance(x, NUMBERS) and x == 0)]
            for row in rows_a
        ]
        columns = [row.tolist() for row in rows_b]
        elements += [arithmetic.dot((x, column[k]) for k, x in row) for row in terms for column in columns]
    return filled(_shape(eqn), elements)


def _reduce_sum(arithmetic: Arithmetic, eqn: JaxprEqn, values: Sequence[Value]) -> Value:
    axes = eqn.params["axes"]
    kept = [i for i in range(values[0].ndim) if i not in axes]
    shape = _shape(eqn)
    rows = symbolic(values[0]).transpose(*kept, *axes).reshape(int(np.prod(shape)), -1)
    return filled(shape, [arithmetic.dot((1.0, x) for x in row.tolist()) for row in rows])


def _broadcast_in_dim(_: Arithmetic, eqn: JaxprEqn, values: Sequence[Value]) -> Value:
    shape = _shape(eqn)
    sizes = [1] * len(shape)
    for axis, size in zip(eqn.params["broadcast_dimensions"], values[0].shape, strict=True):
        sizes[axis] = size
    return np.broadcast_to(values[0].reshape(sizes), shape)


def _slice(_: Arithmetic, eqn: JaxprEqn, values: Sequence[Value]) -> Value:
    start, limit = eqn.params["start_indices"], eqn.params["limit_indices"]
    strides = eqn.params["strides"] or (1,) * len(start)
    return values[0][tuple(slice(*s) for s in zip(start, limit, strides, strict=True))]


def _split(_: Arithmetic, eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    return np.split(values[0], np.cumsum(eqn.params["sizes"])[:-1], axis=eqn.params["axis"])


def _concatenate(_: Arithmetic, eqn: JaxprEqn, values: Sequence[Value]) -> Value:
    return np.concatenate([symbolic(v) for v in values], axis=eqn.params["dimension"])


def _stack(_: Arithmetic, eqn: JaxprEqn, values: Sequence[Value]) -> Value:
    return np.stack([symbolic(v) for v in values], axis=eqn.params["axis"])


def _rearrange(_: Arithmetic, eqn: JaxprEqn, values: Sequence[Value]) -> Value:
    """Let JAX move the positions of elements instead of the elements; one position is free for padding."""
    operand, *others = values
    padded = eqn.primitive.name == "pad"
    params = dict(eqn.params)
    elements = symbolic(operand).reshape(-1).tolist()
    positions = np.arange(len(elements), dtype=np.int32).reshape(operand.shape)
    fill = len(elements)
    if padded:
        elements.append(symbolic(others[0]).reshape(-1).tolist()[0])
        arguments: list[Any] = [positions, np.int32(fill)]
    else:
        outside = params.get("fill_value")
        elements.append(float("nan" if outside is None else outside))
        arguments = [positions, *(np.asarray(known(v), np.int32) for v in others)]
    if eqn.primitive.name == "gather":
        params["fill_value"] = fill
    with jax.ensure_compile_time_eval():
        moved = np.asarray(eqn.primitive.bind(*arguments, **params))
    return filled(moved.shape, [elements[i] for i in moved.reshape(-1).tolist()])


def _replaced(arithmetic: Arithmetic, eqn: JaxprEqn, values: Sequence[Value]) -> Value:
    """Write updates into an operand at known indices: where JAX puts the positions, the elements go."""
    if eqn.primitive.name == "dynamic_update_slice":
        operand, updates, *indices = values
    else:
        operand, indices, updates = values[0], [values[1]], values[2]
    elements = [*symbolic(operand).reshape(-1).tolist(), *symbolic(updates).reshape(-1).tolist()]
    old = np.arange(operand.size, dtype=np.int32).reshape(operand.shape)
    new = operand.size + np.arange(updates.size, dtype=np.int32).reshape(updates.shape)
    where = [np.asarray(known(v), np.int32) for v in indices]
    arguments = [old, new, *where] if eqn.primitive.name == "dynamic_update_slice" else [old, *where, new]
    with jax.ensure_compile_time_eval():
        moved = np.asarray(eqn.primitive.bind(*arguments, **eqn.params))
    return filled(moved.shape, [elements[i] for i in moved.reshape(-1).tolist()])


def _added(arithmetic: Arithmetic, eqn: JaxprEqn, values: Sequence[Value]) -> Value:
    """Add updates to an operand at known indices: each update is sent alone to see where it goes."""
    operand, indices, updates = values
    where, size = np.asarray(known(indices), np.int32), updates.size
    aval: Any = eqn.invars[0].aval
    zero = np.zeros(operand.shape, aval.dtype)

    def send(update: Any) -> Any:
        return eqn.primitive.bind(zero, where, update, **eqn.params)

    total = symbolic(operand).reshape(-1).tolist()
    with jax.ensure_compile_time_eval():
        units = np.eye(size, dtype=aval.dtype).reshape(size, *updates.shape)
        targets = np.asarray(jax.vmap(send)(units)).reshape(size, -1)
    for element, row in zip(symbolic(updates).reshape(-1).tolist(), targets, strict=True):
        for i in np.flatnonzero(row).tolist():
            total[i] = arithmetic.add(total[i], element)
    return filled(operand.shape, total)


def _select_n(arithmetic: Arithmetic, eqn: JaxprEqn, values: Sequence[Value]) -> Value:
    predicate, *cases = values

    def choose(which: Any, *row: Any) -> Any:
        return row[int(which)] if isinstance(which, NUMBERS) else arithmetic.function("select_n", which, *row)

    plain = predicate if predicate.dtype == object else symbolic(predicate, int)
    return elementwise(choose, plain, *cases)


def _clamp(arithmetic: Arithmetic, eqn: JaxprEqn, values: Sequence[Value]) -> Value:
    return elementwise(
        lambda low, x, high: arithmetic.function("min", arithmetic.function("max", x, low), high), *values
    )


def _unit(arithmetic: Arithmetic, predicate: Any) -> Any:
    return arithmetic.function("select_n", predicate, 0.0, 1.0)


def _convert(arithmetic: Arithmetic, eqn: JaxprEqn, values: Sequence[Value]) -> Value:
    target = np.dtype(eqn.params["new_dtype"])
    if np.issubdtype(target, np.floating):
        aval: Any = eqn.invars[0].aval
        if aval.dtype == np.bool_:
            return elementwise(
                lambda x: float(x) if isinstance(x, NUMBERS) else _unit(arithmetic, x), *values
            )
        return values[0]
    return known(values[0]).astype(target)


#: A rule for each primitive; those that only need a function of the algebra are looked up there.
RULES: dict[str, Rule] = {
    "add": lambda c, e, v: elementwise(c.add, *v),
    "add_any": lambda c, e, v: elementwise(c.add, *v),
    "sub": lambda c, e, v: elementwise(c.sub, *v),
    "mul": lambda c, e, v: elementwise(c.mul, *v),
    "div": lambda c, e, v: elementwise(c.div, *v),
    "neg": lambda c, e, v: elementwise(c.neg, *v),
    "square": lambda c, e, v: elementwise(lambda x: c.mul(x, x), *v),
    "integer_pow": lambda c, e, v: elementwise(lambda x: c.integer_pow(x, e.params["y"]), *v),
    "pow": lambda c, e, v: elementwise(c.power, *v),
    "rsqrt": lambda c, e, v: elementwise(lambda x: c.div(1.0, c.function("sqrt", x)), *v),
    "dot_general": _dot_general,
    "reduce_sum": _reduce_sum,
    "broadcast_in_dim": _broadcast_in_dim,
    "reshape": lambda c, e, v: v[0].reshape(_shape(e)),
    "squeeze": lambda c, e, v: v[0].reshape(_shape(e)),
    "expand_dims": lambda c, e, v: v[0].reshape(_shape(e)),
    "transpose": lambda c, e, v: v[0].transpose(e.params["permutation"]),
    "slice": _slice,
    "split": _split,
    "concatenate": _concatenate,
    "stack": _stack,
    "unstack": lambda c, e, v: [
        x.reshape(_shape(e)) for x in np.split(v[0], len(e.outvars), e.params["axis"])
    ],
    "tile": lambda c, e, v: np.tile(v[0], e.params["reps"]),
    "rev": lambda c, e, v: np.flip(v[0], e.params["dimensions"]),
    "pad": _rearrange,
    "dynamic_slice": _rearrange,
    "gather": _rearrange,
    "dynamic_update_slice": _replaced,
    "scatter": _replaced,
    "scatter-add": _added,
    "select_n": _select_n,
    "clamp": _clamp,
    "convert_element_type": _convert,
    "copy": lambda c, e, v: v[0],
    "copy_p": lambda c, e, v: v[0],
    "device_put": lambda c, e, v: list(v),
    "optimization_barrier": lambda c, e, v: list(v),
    "stop_gradient": lambda c, e, v: v[0],
}
#: Their rules also hold for plain arrays; other primitives with plain arguments are left to JAX.
REARRANGING = frozenset(
    {"broadcast_in_dim", "reshape", "squeeze", "transpose", "slice", "split", "rev", "copy"}
)
#: Used for a primitive that has no rule above.
by_function: Rule = _function
