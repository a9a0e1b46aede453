import math
from fractions import Fraction

import pytest

from haltere.algebra.arithmetic import Algebra, Arithmetic, MissingFunctionError


class Symbol:
    """An element that writes down what is done to it."""

    def __init__(self, text):
        self.text = text


def text(x):
    return x.text if isinstance(x, Symbol) else str(x)


def written(operator):
    return lambda *operands: Symbol("(" + operator.join(text(x) for x in operands) + ")")


@pytest.fixture
def arithmetic():
    return Arithmetic(
        Algebra(
            "symbols",
            {"sqrt": lambda a: Symbol(f"sqrt{text(a)}")},
            add=written("+"),
            sub=written("-"),
            mul=written("*"),
            div=written("/"),
            neg=lambda a: Symbol(f"-{text(a)}"),
        )
    )


X, Y = Symbol("x"), Symbol("y")


def test_zeros_and_ones_cost_nothing(arithmetic):
    a = arithmetic
    assert a.mul(0.0, X) == 0
    assert a.mul(X, 0.0) == 0
    assert a.mul(1.0, X) is X
    assert a.mul(X, 1) is X
    assert a.mul(-1.0, X).text == "-x"
    assert a.add(X, 0.0) is X
    assert a.add(0, X) is X
    assert a.sub(X, 0.0) is X
    assert a.sub(0.0, X).text == "-x"
    assert a.sub(X, X) == 0
    assert a.div(0.0, X) == 0
    assert a.div(X, 1.0) is X
    assert a.integer_pow(X, 0) == 1
    assert a.integer_pow(X, 1) is X


def test_constants_are_folded(arithmetic):
    a = arithmetic
    assert a.add(2.0, 3.0) == 5
    assert a.mul(2.0, 3.0) == 6
    assert a.sub(2.0, 3.0) == -1
    assert a.div(1.0, 4.0) == 0.25
    assert a.neg(2.0) == -2
    assert a.integer_pow(2.0, -2) == 0.25
    assert a.function("sqrt", 4.0) == 2
    assert a.function("sin", 0.0) == 0
    assert math.isnan(a.function("sqrt", -1.0))
    assert a.div(1.0, 0.0) == math.inf
    assert a.div(-1.0, 0.0) == -math.inf
    assert math.isnan(a.div(0.0, 0.0))
    assert a.add(Fraction(1, 3), Fraction(1, 6)) == Fraction(1, 2)


def test_an_operation_is_done_once(arithmetic):
    a = arithmetic
    assert a.mul(X, Y) is a.mul(Y, X)
    assert a.add(X, Y) is a.add(Y, X)
    assert a.add(X, 2.0) is a.add(2.0, X)
    assert a.sub(X, Y) is a.sub(X, Y)
    assert a.sub(X, Y) is not a.sub(Y, X)
    assert a.function("sqrt", X) is a.function("sqrt", X)


def test_powers_are_products_and_roots(arithmetic):
    a = arithmetic
    assert a.integer_pow(X, 2).text == "(x*x)"
    assert a.integer_pow(X, 5).text in ("(x*((x*x)*(x*x)))", "(((x*x)*(x*x))*x)")
    assert a.integer_pow(X, -1).text == "(1.0/x)"
    assert a.power(X, 0.5).text == "sqrtx"
    assert a.power(X, 2.0).text == "(x*x)"
    assert sorted(a.power(X, 1.5).text) == sorted("(x*sqrtx)")
    assert sorted(a.power(X, -0.5).text) == sorted("((1.0/x)*sqrtx)")


def test_division_by_a_power_of_two_is_a_product(arithmetic):
    assert arithmetic.div(X, 4.0).text == "(x*0.25)"
    assert arithmetic.div(X, 3.0).text == "(x/3.0)"


def test_sums_of_products_skip_zeros_and_subtract(arithmetic):
    a = arithmetic
    assert a.dot([(0.0, X), (1.0, Y)]) is Y
    assert a.dot([(1.0, X), (-1.0, Y)]).text == "(x-y)"
    assert a.dot([]) == 0


def test_a_function_that_the_algebra_lacks_is_named(arithmetic):
    with pytest.raises(MissingFunctionError, match="tanh"):
        arithmetic.function("tanh", X)


def test_the_order_of_operands_is_the_one_met_first(arithmetic):
    """Not that of addresses: a compiled program is found again only if every run writes the same one."""
    symbols = [Symbol(str(i)) for i in range(20)]
    for a, b in zip(symbols, reversed(symbols), strict=True):
        wanted = sorted((a, b), key=symbols.index)
        assert arithmetic.add(*wanted).text == f"({wanted[0].text}+{wanted[1].text})"
        assert arithmetic.add(*reversed(wanted)) is arithmetic.add(*wanted)
        assert arithmetic.mul(*reversed(wanted)) is arithmetic.mul(*wanted)
