from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.algebra.modular import largest_primes, residue
from haltere.algebra.program import NotRationalError, Program
from haltere.algebra.series import Reals, Residues, SingularPointError, Tape

PRIME = largest_primes(1)[0]


def rational(x, y):
    """Something of every operation, with a vector and a scalar."""
    return jnp.stack([x[0] * y / (1 + x[1] * x[1]), x @ x - y, -(x[0] - 2 * y) * 0.5, 3.0 / y])


EXAMPLES = (jax.ShapeDtypeStruct((2,), float), jax.ShapeDtypeStruct((), float))


def test_values_and_derivatives_are_those_of_jax():
    program = Program.record(rational, *EXAMPLES)
    tape = Tape(program, Reals(), 1, 0)
    x, y = np.array([0.3, -1.2]), 0.7
    tape.advance(0, np.array([[0.3], [-1.2], [0.7]]))
    assert np.allclose(tape.outputs(0)[:, 0], rational(x, y), atol=1e-15)
    dx, dy = jax.jacfwd(rational, (0, 1))(x, y)
    assert np.allclose(tape.jacobian(0, range(4), 3)[0], np.column_stack([dx, dy]), atol=1e-15)


def test_series_of_a_quotient():
    program = Program.record(lambda x: 1.0 / (1.0 - x), jax.ShapeDtypeStruct((), float))
    tape = Tape(program, Reals(), 1, 6)
    for k in range(7):
        tape.advance(k, np.array([[1.0 if k == 1 else 0.0]]))
    assert np.allclose(tape.values[:, list(program.outputs), 0], 1.0)


@pytest.mark.parametrize("field", [Reals(), Residues(PRIME)], ids=["reals", "residues"])
def test_a_differential_equation_is_solved_on_the_way(field):
    """x' = x^2 from 1/2: x = 1 / (2 - t), coefficients 2^-(k+1)."""
    program = Program.record(lambda x: x * x, jax.ShapeDtypeStruct((), float))
    tape = Tape(program, field, 1, 8)
    x = np.array([[field.number(Fraction(1, 2))]], field.dtype)
    for k in range(9):
        tape.advance(k, x)
        assert tape.values[k, 0, 0] == field.number(Fraction(1, 2 ** (k + 1)))
        x = field.reduced(tape.outputs(k) * field.number(Fraction(1, k + 1)))


def test_residues_are_the_image_of_rational_numbers():
    program = Program.record(rational, *EXAMPLES)
    tape = Tape(program, Residues(PRIME), 1, 0)
    x, y = [Fraction(1, 3), Fraction(-5, 7)], Fraction(2, 9)
    tape.advance(0, np.array([[residue(v, PRIME)] for v in (*x, y)]))
    exact = [x[0] * y / (1 + x[1] ** 2), x[0] ** 2 + x[1] ** 2 - y, -(x[0] - 2 * y) / 2, 3 / y]
    assert tape.outputs(0)[:, 0].tolist() == [residue(v, PRIME) for v in exact]


def test_a_division_by_zero_is_told():
    tape = Tape(Program.record(lambda x: 1.0 / x, jax.ShapeDtypeStruct((), float)), Reals(), 1, 0)
    with pytest.raises(SingularPointError, match="draw again"):
        tape.advance(0, np.zeros((1, 1)))


def test_functions_that_are_not_rational_are_refused():
    from haltere.algebra import UnsupportedPrimitiveError

    with pytest.raises((NotRationalError, UnsupportedPrimitiveError)):
        Program.record(jnp.sin, jax.ShapeDtypeStruct((), float))
