"""An expression graph between the traced function and XLA, cut where computing something twice would cost.

XLA fuses elementwise operations into loops and copies a shared subexpression into every loop that needs it. With
hundreds of scalars that depend on each other most of the work is then done many times, and compiled many times.
So the graph chooses the nodes that are worth storing, and gives XLA one function per level of stored nodes that
it must not inline:

    (1)  cost(n)  = w(n) + sum of cost over its operands that are not stored, w = weight of the operation
    (2)  n is stored if (uses(n) - 1) cost(n) > `REPEAT_LIMIT`, or cost(n) > `SIZE_LIMIT`, or n is a result
    (3)  level(n) = 1 + largest level of a stored node below n

Each stored node is one loop over the batch; those of equal level are independent of each other.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax

from haltere.algebra.arithmetic import NUMBERS, Algebra

#: Operations that may be repeated in place of one stored array.
REPEAT_LIMIT = 20
#: Operations in one loop.
SIZE_LIMIT = 150

_WEIGHTS = {"neg": 0, "div": 6, "sqrt": 6, "sin": 20, "cos": 20, "tan": 25, "exp": 15, "log": 15, "pow": 30}


class Node:
    """An operation on other nodes and constants, or an input."""

    __slots__ = ("name", "operands")

    def __init__(self, name: str, operands: tuple[Any, ...] = ()) -> None:
        self.name = name
        self.operands = operands


def _maker(name: str) -> Callable[..., Node]:
    return lambda *operands: Node(name, operands)


def algebra(name: str, functions: Iterable[str]) -> Algebra:
    """Return the algebra that writes down arithmetic and the named functions as a graph."""
    arithmetic = {op: _maker(op) for op in ("add", "sub", "mul", "div", "neg")}
    return Algebra(name=name, functions={f: _maker(f) for f in functions}, **arithmetic)


def ordered(results: Sequence[Any], known: Iterable[Node]) -> list[Node]:
    """Return the operations that lead from known nodes to the results, operands before users."""
    order: list[Node] = []
    seen = set(known)
    stack: list[tuple[Any, bool]] = [(node, False) for node in reversed(results)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            order.append(node)
        elif isinstance(node, Node) and node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((operand, False) for operand in reversed(node.operands))
    return order


def _levels(order: Sequence[Node], results: Sequence[Any]) -> list[list[Node]]:
    """Return the stored nodes by level, eqs. (1) to (3)."""
    uses: dict[Node, int] = {}
    for node in order:
        for operand in {x for x in node.operands if isinstance(x, Node)}:
            uses[operand] = uses.get(operand, 0) + 1
    wanted = {node for node in results if isinstance(node, Node)}
    cost: dict[Node, int] = {}  # zero once stored
    level: dict[Node, int] = {}
    levels: list[list[Node]] = []
    for node in order:
        below = [x for x in node.operands if isinstance(x, Node)]
        size = _WEIGHTS.get(node.name, 1) + sum(cost.get(x, 0) for x in below)
        depth = max((level.get(x, 0) for x in below), default=0)
        repeated = (uses.get(node, 0) - 1) * size
        if node in wanted or repeated > REPEAT_LIMIT or size > SIZE_LIMIT:
            if depth == len(levels):
                levels.append([])
            levels[depth].append(node)
            size, depth = 0, depth + 1
        cost[node], level[node] = size, depth
    return levels


def _below(roots: Sequence[Node], saved: Mapping[Node, Any]) -> list[Node]:
    """Return the stored nodes from which the roots are computed."""
    found: dict[Node, None] = {}
    stack, seen = list(roots), set(roots)
    while stack:
        for operand in stack.pop().operands:
            if isinstance(operand, Node) and operand not in seen:
                seen.add(operand)
                if operand in saved:
                    found[operand] = None
                else:
                    stack.append(operand)
    return list(found)


def evaluate(
    results: Sequence[Any],
    inputs: Mapping[Node, Any],
    functions: Mapping[str, Callable[..., Any]],
    *,
    cut: bool,
) -> list[Any]:
    """Compute the results (nodes or constants) from the arrays of the input nodes.

    Args:
        results: what to compute; constants are returned as they are.
        inputs: an array for each input node.
        functions: by the nodes' names, functions of arrays and constants.
        cut: whether stored nodes are kept apart from each other; without it XLA decides alone.
    """
    values: dict[Node, Any] = dict(inputs)
    order = ordered(results, values)
    if not cut:
        _compute(order, values, functions)
    else:
        for roots in _levels(order, results):
            given = _below(roots, values)

            def level(arrays: list[Any], roots: list[Node] = roots, given: list[Node] = given) -> list[Any]:
                local = dict(zip(given, arrays, strict=True))
                _compute(ordered(roots, local), local, functions)
                return [local[root] for root in roots]

            with _not_inlined():
                arrays = jax.jit(level)([values[node] for node in given])
            values.update(zip(roots, arrays, strict=True))
    return [values[x] if isinstance(x, Node) else x for x in results]


def _compute(
    order: Sequence[Node], values: dict[Node, Any], functions: Mapping[str, Callable[..., Any]]
) -> None:
    for node in order:
        values[node] = functions[node.name](
            *(x if isinstance(x, NUMBERS) else values[x] for x in node.operands)
        )


def _not_inlined() -> AbstractContextManager[Any]:
    """Return the context in which XLA keeps a called function apart; without it the result is only slower."""
    try:
        from jax.experimental.xla_metadata import set_xla_metadata  # noqa: PLC0415
    except ImportError:
        return nullcontext()
    context: AbstractContextManager[Any] = set_xla_metadata(inlineable="false")
    return context
