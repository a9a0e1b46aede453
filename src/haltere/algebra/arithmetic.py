"""Numbers of an algebra, and arithmetic on them that never does what is known beforehand.

An element is anything with the operations of its `Algebra`; a constant is a Python number (int, float or
Fraction). `Arithmetic` folds constants, prunes exact zeros and ones, and does no operation a second time:

    (1)  0 x = 0,  1 x = x,  -1 x = -x,  x + 0 = x,  x - x = 0,  0 / x = 0,  x / c = x (1 / c) for c = 2^k
    (2)  sum_k a_k b_k without the terms that are zero, and without products by one

so that structural zeros of a matrix cost nothing and every subexpression is computed once.
"""

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

#: The types that count as constants.
NUMBERS = (int, float, Fraction)

_FOLDED: dict[str, Callable[..., Any]] = {
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "exp": math.exp,
    "log": math.log,
    "tanh": math.tanh,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "atan2": math.atan2,
    "abs": abs,
    "max": max,
    "min": min,
    "pow": operator.pow,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}


@dataclass(frozen=True)
class Algebra:
    """The operations of one kind of element.

    Attributes:
        name: what the elements are, for messages.
        functions: further functions by the name of their JAX primitive, such as `sqrt`, `sin`, `select_n`.
        number: makes the constant to compute with from a float of the traced function.
    """

    name: str
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    number: Callable[[float], Any] = float
    add: Callable[[Any, Any], Any] = operator.add
    sub: Callable[[Any, Any], Any] = operator.sub
    mul: Callable[[Any, Any], Any] = operator.mul
    div: Callable[[Any, Any], Any] = operator.truediv
    neg: Callable[[Any], Any] = operator.neg


class MissingFunctionError(Exception):
    """The algebra has no such function; the interpreter turns it into an error that says where."""


class Arithmetic:
    """One computation over an algebra: constants folded, zeros pruned, nothing computed twice."""

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        # The operands are kept beside the result: their ids stay taken as long as the key lives.
        self._known: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def _once(self, name: str, function: Callable[..., Any], *operands: Any) -> Any:
        return self._memoized(
            (name, *((x,) if isinstance(x, NUMBERS) else id(x) for x in operands)), function, operands
        )

    def _either(self, name: str, function: Callable[..., Any], a: Any, b: Any) -> Any:
        """Return a function of two elements that may stand in any order; it is called in the order met first."""
        # Addresses choose the key only: if they chose the order, no two runs would trace the same program.
        return self._memoized((name, *sorted((id(a), id(b)))), function, (a, b))

    def _memoized(self, key: tuple[Any, ...], function: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = (function(*operands), operands)
        return known[0]

    def add(self, a: Any, b: Any) -> Any:
        """Return a + b."""
        if isinstance(a, NUMBERS):
            if isinstance(b, NUMBERS):
                return a + b
            a, b = b, a
        if isinstance(b, NUMBERS):
            return a if b == 0 else self._once("add", self.algebra.add, a, b)
        return self._either("add", self.algebra.add, a, b)

    def sub(self, a: Any, b: Any) -> Any:
        """Return a - b."""
        if isinstance(b, NUMBERS):
            return a - b if isinstance(a, NUMBERS) else self.add(a, -b)
        if isinstance(a, NUMBERS) and a == 0:
            return self.neg(b)
        return 0.0 if a is b else self._once("sub", self.algebra.sub, a, b)

    def neg(self, a: Any) -> Any:
        """Return -a."""
        return -a if isinstance(a, NUMBERS) else self._once("neg", self.algebra.neg, a)

    def mul(self, a: Any, b: Any) -> Any:
        """Return a b."""
        if isinstance(a, NUMBERS):
            if isinstance(b, NUMBERS):
                return a * b
            a, b = b, a
        if isinstance(b, NUMBERS):
            if b == 0:
                return 0.0
            if b == 1:
                return a
            return self.neg(a) if b == -1 else self._once("mul", self.algebra.mul, a, b)
        return self._either("mul", self.algebra.mul, a, b)

    def div(self, a: Any, b: Any) -> Any:
        """Return a / b; a constant divided by zero gives what floating-point numbers give."""
        if isinstance(b, NUMBERS):
            if isinstance(a, NUMBERS):
                with np.errstate(all="ignore"):
                    return a / b if b != 0 else float(np.divide(float(a), float(b)))
            exact = isinstance(b, Fraction) or (b != 0 and math.frexp(b)[0] in (0.5, -0.5))
            return self.mul(a, 1 / b) if exact else self._once("div", self.algebra.div, a, b)
        if isinstance(a, NUMBERS) and a == 0:
            return 0.0
        return self._once("div", self.algebra.div, a, b)

    def integer_pow(self, a: Any, n: int) -> Any:
        """Return a^n by repeated squaring."""
        if n < 0:
            return self.div(1.0, self.integer_pow(a, -n))
        result: Any = 1.0
        while n:
            result = self.mul(result, a) if n & 1 else result
            n >>= 1
            a = self.mul(a, a) if n else a
        return result

    def power(self, a: Any, exponent: Any) -> Any:
        """Return a^exponent: by products and a root if twice the exponent is a whole number."""
        if isinstance(exponent, NUMBERS) and not isinstance(a, NUMBERS):
            twice = 2 * exponent
            if twice == int(twice) and abs(twice) <= 32:
                whole = self.integer_pow(a, int(twice) // 2)
                return self.mul(whole, self.function("sqrt", a)) if int(twice) % 2 else whole
        return self.function("pow", a, exponent)

    def function(self, name: str, *operands: Any) -> Any:
        """Return the named function of elements or constants."""
        folded = _FOLDED.get(name)
        if folded is not None and all(isinstance(x, int | float) for x in operands):
            try:
                return folded(*operands)
            except (ValueError, ArithmeticError):
                return math.nan
        function = self.algebra.functions.get(name)
        if function is None:
            raise MissingFunctionError(name)
        return self._once(name, function, *operands)

    def dot(self, pairs: Iterable[tuple[Any, Any]]) -> Any:
        """Return the sum of products, eq. (2)."""
        total: Any = 0.0
        for a, b in pairs:
            if isinstance(a, NUMBERS) and a == -1:
                total = self.sub(total, b)
            elif isinstance(b, NUMBERS) and b == -1:
                total = self.sub(total, a)
            else:
                total = self.add(total, self.mul(a, b))
        return total
