from fractions import Fraction

import numpy as np
import pytest

from haltere.algebra import modular

PRIME = modular.largest_primes(1)[0]


def sieve(limit):
    return [n for n in range(2, limit) if all(n % k for k in range(2, int(n**0.5) + 1))]


def exact_rank(matrix):
    """Elimination in rational numbers: nothing is shared with the residues."""
    rows = [[Fraction(int(x)) for x in row] for row in matrix]
    rank = 0
    for column in range(matrix.shape[1]):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for i in range(rank + 1, len(rows)):
            factor = rows[i][column] / rows[rank][column]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


def test_primes_are_those_of_a_sieve():
    assert [n for n in range(3000) if modular.is_prime(n)] == sieve(3000)


@pytest.mark.parametrize("prime", modular.largest_primes(3))
def test_largest_primes_have_no_divisor(prime):
    assert prime < 2**29
    assert all(prime % k for k in range(2, int(prime**0.5) + 1))


def test_a_fraction_times_its_denominator_is_its_numerator():
    for number in (Fraction(3, 7), 0.375, -2, Fraction(-10, 9)):
        fraction = Fraction(number)
        assert modular.residue(number, PRIME) * fraction.denominator % PRIME == fraction.numerator % PRIME


def test_inverses():
    values = np.random.default_rng(0).integers(1, PRIME, 50)
    assert np.all(values * modular.inverses(values, PRIME) % PRIME == 1)


def test_long_products_do_not_overflow():
    rng = np.random.default_rng(1)
    a, b = rng.integers(PRIME - 10, PRIME, (3, 100)), rng.integers(PRIME - 10, PRIME, (100, 2))
    expected = [
        [sum(int(x) * int(y) for x, y in zip(row, column, strict=True)) % PRIME for column in b.T]
        for row in a
    ]
    assert modular.product(a, b, PRIME).tolist() == expected


@pytest.mark.parametrize("seed", range(5))
def test_rank_and_null_space_of_integer_matrices(seed):
    rng = np.random.default_rng(seed)
    inner = int(rng.integers(1, 8))
    matrix = rng.integers(-9, 9, (12, inner)) @ rng.integers(-9, 9, (inner, 10))
    reduced, pivots = modular.echelon(matrix, PRIME)
    assert len(pivots) == exact_rank(matrix)
    basis = modular.null_space(reduced, pivots, PRIME)
    assert basis.shape == (10, 10 - len(pivots))
    assert not np.any(modular.product(matrix % PRIME, basis, PRIME))
    assert modular.rank(basis, PRIME) == basis.shape[1]
