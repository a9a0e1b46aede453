"""Truncated power series in time: a program evaluated coefficient by coefficient, over residues or real numbers.

For series a = sum a_k t^k, with one element per slot and point ([Griewank2008] chapter 13):

    (1)  (a b)_k = sum_{i <= k} a_i b_{k-i}
    (2)  (a / b)_k = (a_k - sum_{i < k} (a / b)_i b_{k-i}) / b_0

Coefficient k of every slot needs coefficients 0..k of the inputs only, so a differential equation x' = f(x, u) is
solved on the way: x_{k+1} = f_k / (k + 1).
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from haltere.algebra import modular
from haltere.algebra.program import Program
from haltere.foundation import HaltereError
from haltere.foundation.numbers import Numbers


class SingularPointError(HaltereError):
    """A division by zero at one of the points; another draw will not have it."""


class Field(Protocol):
    """The numbers to compute with."""

    @property
    def dtype(self) -> Any:
        """Type of the arrays."""

    def number(self, value: float | Fraction) -> Any:
        """A rational number as one of these."""

    def reduced(self, values: Numbers) -> Numbers:
        """Sums of products in normal form."""

    def inverses(self, values: Numbers) -> Numbers:
        """One over each entry."""

    def product(self, a: Numbers, b: Numbers) -> Numbers:
        """Matrix product."""


@dataclass(frozen=True)
class Residues:
    """Whole numbers modulo a prime below 2^29."""

    prime: int
    dtype: Any = np.int64

    def number(self, value: float | Fraction) -> int:
        """The residue of a rational number."""
        return modular.residue(value, self.prime)

    def reduced(self, values: Numbers) -> Numbers:
        """Between 0 and the prime."""
        return values % self.prime

    def inverses(self, values: Numbers) -> Numbers:
        """Inverses modulo the prime."""
        return modular.inverses(values, self.prime)

    def product(self, a: Numbers, b: Numbers) -> Numbers:
        """Matrix product modulo the prime."""
        return modular.product(a, b, self.prime)


@dataclass(frozen=True)
class Reals:
    """Floating-point numbers of 64 bits."""

    dtype: Any = np.float64

    def number(self, value: float | Fraction) -> float:
        """The nearest float."""
        return float(value)

    def reduced(self, values: Numbers) -> Numbers:
        """Unchanged."""
        return values

    def inverses(self, values: Numbers) -> Numbers:
        """One over each entry."""
        return np.asarray(1.0 / values)

    def product(self, a: Numbers, b: Numbers) -> Numbers:
        """Matrix product."""
        return np.asarray(np.matmul(a, b))


class Tape:
    """The coefficients of every slot of a program, filled one order after the other.

    Attributes:
        values: (order + 1, slots, points).
    """

    def __init__(self, program: Program, field: Field, points: int, order: int) -> None:
        self.program, self.field = program, field
        self.values: Numbers = np.zeros((order + 1, program.slots, points), field.dtype)
        numbers = [field.number(x) for x in program.constants]
        self.values[0, program.inputs : program.inputs + len(numbers)] = np.asarray(numbers, field.dtype)[
            :, None
        ]
        self._inverse: dict[int, Numbers] = {}

    def advance(self, k: int, inputs: Numbers) -> None:
        """Fill in coefficient k of all slots from coefficient k of the inputs, (inputs, points)."""
        values, field = self.values, self.field
        values[k, : self.program.inputs] = inputs
        for step in self.program.steps:
            a, b = step.left, step.right
            if step.kind == "mul":
                result = np.einsum(
                    "kns,kns->ns", values[: k + 1, a], values[k::-1, b] if k else values[:1, b]
                )
            elif step.kind == "add":
                result = values[k, a] + values[k, b]
            elif step.kind == "sub":
                result = values[k, a] - values[k, b]
            elif step.kind == "neg":
                result = -values[k, a]
            else:
                result = self._quotient(k, step.start, a, b)
            values[k, step.start : step.start + len(a)] = field.reduced(result)

    def _quotient(self, k: int, start: int, a: Any, b: Any) -> Numbers:
        values, field = self.values, self.field
        if k == 0:
            if not np.all(values[0, b]):
                raise SingularPointError("a division by zero at a drawn point; draw again with another seed")
            self._inverse[start] = field.inverses(values[0, b])
        rest = values[k, a]
        if k:
            done = values[:k, start : start + len(a)]
            rest = field.reduced(rest - np.einsum("kns,kns->ns", done, values[k:0:-1, b]))
        return np.asarray(rest * self._inverse[start])

    def outputs(self, k: int) -> Numbers:
        """(results, points) coefficient k of the function."""
        return self.values[k, list(self.program.outputs)]

    def jacobian(self, k: int, rows: range, columns: int) -> Numbers:
        """(points, rows, columns) coefficient k of the derivatives of results by the first `columns` inputs."""
        matrix = np.zeros((self.values.shape[2], len(rows), columns), self.field.dtype)
        i, j, s = self.program.derivatives(rows, columns)
        matrix[:, i, j] = self.values[k, s].T
        return matrix
