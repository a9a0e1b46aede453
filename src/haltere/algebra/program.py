"""A traced function as a straight-line program with exact derivatives, arranged in levels of like operations.

The function is evaluated over the graph algebra, which leaves a few hundred operations + - * / of the thousands that
the jaxpr has; its derivatives are written down on the same graph, with the rules of sum, product and quotient:

    (1)  d(a b) = a db + b da,    d(a / b) = (da - (a / b) db) / b

Operations of one kind whose operands are all known form one step, so that NumPy does each step at once for all
operations, points and coefficients (see `haltere.algebra.series`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import jax
import numpy as np

from haltere.algebra.arithmetic import NUMBERS, Arithmetic
from haltere.algebra.graph import Node, algebra, ordered
from haltere.algebra.interpreter import trace
from haltere.algebra.rules import filled
from haltere.foundation import HaltereError

_INPUT = "input"


class NotRationalError(HaltereError):
    """The function has an operation other than + - * /."""


@dataclass(frozen=True)
class ProgramStep:
    """Operations of one kind; `left` and `right` are the slots of their operands, results fill `start` and on."""

    kind: str
    start: int
    left: np.ndarray[Any, np.dtype[np.int64]]
    right: np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Program:
    """Slots hold inputs first, then constants, then results of the steps.

    Attributes:
        inputs: number of scalar inputs, in the order of the flattened arguments.
        constants: the numbers in the slots after the inputs.
        steps: what to compute, in order.
        slots: how many slots there are.
        outputs: slot of each scalar result.
        jacobian: for each result the slots of its non-zero derivatives, by input.
    """

    inputs: int
    constants: tuple[Any, ...]
    steps: tuple[ProgramStep, ...]
    slots: int
    outputs: tuple[int, ...]
    jacobian: tuple[Mapping[int, int], ...]

    def derivatives(self, rows: range, columns: int) -> tuple[list[int], list[int], list[int]]:
        """Row, column and slot of each derivative of the results `rows` by the first `columns` inputs."""
        entries = [
            (i, j, slot)
            for i, row in enumerate(rows)
            for j, slot in self.jacobian[row].items()
            if j < columns
        ]
        return [e[0] for e in entries], [e[1] for e in entries], [e[2] for e in entries]

    @classmethod
    def record(cls, fn: Callable[..., Any], *examples: Any, wanted: int | None = None) -> Self:
        """Write down fn for arguments of the shapes of `examples`.

        Args:
            fn: a function of pytrees of arrays made of + - * / and fixed indices.
            examples: arrays or `jax.ShapeDtypeStruct`.
            wanted: derivatives by the first `wanted` scalar inputs only; None for all.
        """
        leaves, tree = jax.tree_util.tree_flatten(examples)
        sizes = [int(np.prod(leaf.shape)) for leaf in leaves]
        nodes = [Node(_INPUT) for _ in range(sum(sizes))]
        ends = np.cumsum([0, *sizes])
        arrays = [filled(leaf.shape, nodes[ends[i] : ends[i + 1]]) for i, leaf in enumerate(leaves)]
        graph = algebra("rational functions", ())
        result = trace(fn, *examples)(graph, *jax.tree_util.tree_unflatten(tree, arrays))
        outputs = [x for leaf in jax.tree_util.tree_leaves(result) for x in np.asarray(leaf, object).flat]
        count = len(nodes) if wanted is None else wanted
        derivatives = _derivatives(outputs, nodes[:count], Arithmetic(graph))
        return cls._arranged(nodes, outputs, derivatives)

    @classmethod
    def _arranged(cls, inputs: list[Node], outputs: list[Any], derivatives: list[dict[int, Any]]) -> Self:
        results = [*outputs, *(x for row in derivatives for x in row.values())]
        order = ordered(results, inputs)
        constants = {
            float(x): i
            for i, x in enumerate(
                dict.fromkeys(
                    float(x)
                    for x in (*results, *(o for n in order for o in n.operands))
                    if isinstance(x, NUMBERS)
                )
            )
        }
        slot: dict[Any, int] = {node: i for i, node in enumerate(inputs)}

        def place(x: Any) -> int:
            return len(inputs) + constants[float(x)] if isinstance(x, NUMBERS) else slot[x]

        level: dict[Any, int] = dict.fromkeys(inputs, 0)
        groups: dict[tuple[int, str], list[Node]] = {}
        for node in order:
            depth = 1 + max(level[x] if isinstance(x, Node) else 0 for x in node.operands)
            level[node] = depth
            groups.setdefault((depth, node.name), []).append(node)
        steps: list[ProgramStep] = []
        start = len(inputs) + len(constants)
        for (_, kind), members in sorted(groups.items(), key=lambda item: item[0]):
            slot.update((node, start + i) for i, node in enumerate(members))
            left, right = (
                [place(node.operands[min(j, len(node.operands) - 1)]) for node in members] for j in (0, 1)
            )
            steps.append(ProgramStep(kind, start, np.asarray(left, np.int64), np.asarray(right, np.int64)))
            start += len(members)
        jacobian = tuple({i: place(x) for i, x in row.items()} for row in derivatives)
        return cls(
            len(inputs), tuple(constants), tuple(steps), start, tuple(place(x) for x in outputs), jacobian
        )


def _derivatives(outputs: Sequence[Any], inputs: list[Node], arithmetic: Arithmetic) -> list[dict[int, Any]]:
    """The non-zero derivatives of each output by each input, as nodes and constants: equation (1)."""
    known: dict[Any, dict[int, Any]] = {node: {i: 1.0} for i, node in enumerate(inputs)}
    for node in ordered(outputs, ()):
        if node in known or node.name == _INPUT:
            continue
        parts = [known.get(x, {}) for x in node.operands]
        places = sorted({i for part in parts for i in part})
        row = {i: _slope(node, [part.get(i, 0.0) for part in parts], arithmetic) for i in places}
        known[node] = {i: x for i, x in row.items() if not (isinstance(x, NUMBERS) and x == 0)}
    return [known.get(x, {}) if isinstance(x, Node) else {} for x in outputs]


def _slope(node: Node, slopes: list[Any], c: Arithmetic) -> Any:
    if node.name == "neg":
        return c.neg(slopes[0])
    a, b = node.operands
    da, db = slopes
    if node.name == "add":
        return c.add(da, db)
    if node.name == "sub":
        return c.sub(da, db)
    if node.name == "mul":
        return c.add(c.mul(a, db), c.mul(b, da))
    if node.name == "div":
        return c.div(c.sub(da, c.mul(node, db)), b)
    raise NotRationalError(f"operation {node.name!r} has no exact power series here; write it with + - * /")
