"""Exact linear algebra on whole numbers modulo a prime p: rank, null space and products without a tolerance.

A rational number a/b stands for the residue a b^-1 mod p, so every computation with + - * / has an image modulo p:

    (1)  rank(M mod p) <= rank(M), with equality unless p divides one of finitely many minors

A random point and a prime near 2^29 hit such a minor with a probability of about (degree / 2^29), and never raise the
rank: the largest rank over independent primes and points is the rank. Residues are below 2^29, so that 32 products
fit into an `int64` before they must be reduced.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from haltere.foundation.numbers import Ints

BITS = 29
_TERMS = 32
_BASES = (2, 3, 5, 7)


def is_prime(n: int) -> bool:
    """Whether n is prime; exact below 3.2e9 (Miller-Rabin with four bases)."""
    if n < 2 or any(n % b == 0 for b in _BASES):
        return n in _BASES
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in _BASES:
        x = pow(base, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def largest_primes(count: int) -> tuple[int, ...]:
    """The largest `count` primes below 2^29."""
    found: list[int] = []
    candidate = 2**BITS - 1
    while len(found) < count:
        if is_prime(candidate):
            found.append(candidate)
        candidate -= 2
    return tuple(found)


def residue(number: float | Fraction, prime: int) -> int:
    """The residue of a rational number; a float counts as the dyadic number that it is."""
    exact = Fraction(number)
    return exact.numerator * pow(exact.denominator, -1, prime) % prime


def residues(numbers: Any, prime: int) -> Ints:
    """`residue` of every entry of an array of rational numbers."""
    array = np.asarray(numbers, dtype=object)
    flat = [residue(x, prime) for x in array.reshape(-1).tolist()]
    return np.asarray(flat, np.int64).reshape(array.shape)


def inverses(values: Ints, prime: int) -> Ints:
    """The inverse of every entry, by Fermat's theorem; none may be zero."""
    result = np.ones_like(values)
    square, exponent = values % prime, prime - 2
    while exponent:
        if exponent & 1:
            result = result * square % prime
        square = square * square % prime
        exponent >>= 1
    return result


def product(a: Ints, b: Ints, prime: int) -> Ints:
    """The matrix product of residues (..., n, m) and (..., m, k), modulo the prime."""
    total = np.matmul(a[..., :_TERMS], b[..., :_TERMS, :]) % prime
    for i in range(_TERMS, a.shape[-1], _TERMS):
        total = (total + np.matmul(a[..., i : i + _TERMS], b[..., i : i + _TERMS, :])) % prime
    return np.asarray(total, np.int64)


def echelon(matrix: Ints, prime: int) -> tuple[Ints, tuple[int, ...]]:
    """The reduced row echelon form (rank, n) of a matrix (m, n) modulo the prime, and its pivot columns."""
    rows = np.array(matrix, np.int64) % prime
    pivots: list[int] = []
    for column in range(rows.shape[1]):
        top = len(pivots)
        nonzero = np.flatnonzero(rows[top:, column])
        if nonzero.size == 0:
            continue
        first = top + int(nonzero[0])
        if first != top:
            rows[[top, first]] = rows[[first, top]]
        rows[top, column:] = rows[top, column:] * pow(int(rows[top, column]), -1, prime) % prime
        others = np.flatnonzero(rows[:, column])
        others = others[others != top]
        factors = rows[others, column, None]
        rows[others, column:] = (rows[others, column:] - factors * rows[top, column:]) % prime
        pivots.append(column)
        if len(pivots) == rows.shape[0]:
            break
    return rows[: len(pivots)], tuple(pivots)


def rank(matrix: Ints, prime: int) -> int:
    """The rank of a matrix of residues."""
    return len(echelon(matrix, prime)[1])


def null_space(reduced: Ints, pivots: tuple[int, ...], prime: int) -> Ints:
    """A basis (n, n - rank) of all x with reduced x = 0, from what `echelon` returns."""
    n = reduced.shape[1]
    free = [i for i in range(n) if i not in set(pivots)]
    basis = np.zeros((n, len(free)), np.int64)
    basis[free, np.arange(len(free))] = 1
    if pivots:
        basis[list(pivots)] = (-reduced[:, free]) % prime
    return basis
