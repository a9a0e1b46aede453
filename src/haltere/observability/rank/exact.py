"""Rational numbers for a vehicle's geometry: unit quaternions, directions and rotations that are exactly that.

Squares of quaternions and of complex numbers divided by their norms are of unit length and rational:

    q = p p / |p|^2,   p = (1 + w, x, y, z) of the wanted q;    (c, s) = (a^2 - b^2, 2 a b) / (a^2 + b^2)      (1)

so symmetric vehicles stay exactly symmetric, and rotating them to principal axes bends nothing.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

Vector = tuple[Fraction, ...]
Matrix = tuple[Vector, ...]

_DIGITS = 12


def decimal(number: float) -> Fraction:
    """The decimal number that is written for a float: 0.1 is one tenth."""
    return Fraction(repr(float(number)))


def rounded(number: float) -> Fraction:
    """A rational number of 12 decimals near a float of order one."""
    return Fraction(round(float(number), _DIGITS)).limit_denominator(10**_DIGITS)


def vector(numbers: Iterable[float]) -> Vector:
    """Decimal numbers."""
    return tuple(decimal(x) for x in numbers)


def multiplied(a: Sequence[Fraction], b: Sequence[Fraction]) -> Vector:
    """The Hamilton product of two quaternions wxyz."""
    w, x, y, z = a
    s, i, j, k = b
    return (
        w * s - x * i - y * j - z * k,
        w * i + x * s + y * k - z * j,
        w * j - x * k + y * s + z * i,
        w * k + x * j - y * i + z * s,
    )


def conjugated(q: Sequence[Fraction]) -> Vector:
    """The inverse of a unit quaternion."""
    return (q[0], -q[1], -q[2], -q[3])


def squared(p: Sequence[Fraction]) -> Vector:
    """P p / |p|^2, a rational quaternion of unit length, for any p other than zero."""
    norm = sum(x * x for x in p)
    return tuple(x / norm for x in multiplied(p, p))


def unit_quaternion(wxyz: Sequence[float]) -> Vector:
    """The rational unit quaternion near a given one: equation (1)."""
    q = np.asarray(wxyz, float)
    q = q if q[0] >= 0.0 else -q
    return squared([rounded(1.0 + q[0]), *(rounded(x) for x in q[1:])])


def rotation(q: Sequence[Fraction]) -> Matrix:
    """The rotation matrix of a unit quaternion."""
    columns = [multiplied(multiplied(q, (Fraction(0), *unit)), conjugated(q))[1:] for unit in identity(3)]
    return tuple(zip(*columns, strict=True))


def rotate(R: Matrix, v: Sequence[Fraction]) -> Vector:
    """R v."""
    return tuple(sum((a * b for a, b in zip(row, v, strict=True)), Fraction(0)) for row in R)


def identity(n: int) -> Matrix:
    """The unit matrix."""
    return tuple(tuple(Fraction(int(i == j)) for j in range(n)) for i in range(n))


def direction(axis: Sequence[float]) -> Vector:
    """The rational unit vector near a given one; vectors along the axes stay exactly there."""
    n = np.asarray(axis, float) / np.linalg.norm(axis)
    flat = float(np.hypot(n[0], n[1]))
    cos_incline, sin_incline = _on_circle(float(n[2]), flat)
    cos_azimuth, sin_azimuth = (
        _on_circle(float(n[0]), float(n[1])) if sin_incline else (Fraction(1), Fraction(0))
    )
    return (sin_incline * cos_azimuth, sin_incline * sin_azimuth, cos_incline)


def _on_circle(cos: float, sin: float) -> tuple[Fraction, Fraction]:
    """Rational cosine and sine near the given direction."""
    half = 0.5 * float(np.arctan2(sin, cos))
    a, b = rounded(np.cos(half)), rounded(np.sin(half))
    norm = a * a + b * b
    return (a * a - b * b) / norm, 2 * a * b / norm


def tangent(n: Sequence[Fraction]) -> Matrix:
    """(3, 2) two directions that span the tangent of the sphere at n: along growing azimuth, then growing inclination.

    Their lengths are sin(inclination) and its square, so that they are rational; at the poles they are y and x.
    """
    x, y, z = n
    if x == 0 and y == 0:
        zero, one = Fraction(0), Fraction(1)
        return ((zero, one), (one, zero), (zero, zero))
    return ((-y, z * x), (x, z * y), (Fraction(0), -(x * x) - y * y))


def random_rational(rng: np.random.Generator, low: float = 0.5, high: float = 2.0) -> Fraction:
    """A rational number with six decimals, uniformly between two bounds."""
    return Fraction(int(rng.integers(int(low * 10**6), int(high * 10**6))), 10**6)


def random_signed(rng: np.random.Generator) -> Fraction:
    """A rational number between 0.5 and 2 or between -2 and -0.5."""
    return random_rational(rng) * int(rng.choice([-1, 1]))


def floats(values: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Rational numbers as an array of floats."""
    return np.asarray(np.vectorize(float, otypes=[float])(np.asarray(values, object)))
