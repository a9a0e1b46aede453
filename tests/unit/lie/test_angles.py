from decimal import Decimal, localcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.lie.angles import ARC_SWITCH, STUMPFF_SWITCH, arc, stumpff

SQUARED_ANGLES = [
    0.0,
    1e-300,
    1e-16,
    1e-6,
    0.3,
    1.0,
    *(STUMPFF_SWITCH + step for step in (-1e-3, -1e-12, 0.0, 1e-12, 1e-3)),
    np.nextafter(STUMPFF_SWITCH, 0.0),
    6.0,
    9.0,
    12.0,
    30.0,
]


def exact_stumpff(k, t, derivative=0):
    """Sum the defining series, or that of a derivative, with 60 digits."""
    with localcontext() as context:
        context.prec = 60
        total, sign = Decimal(0), Decimal(1)
        for j in range(60):
            factorial = Decimal(1)
            for m in range(2, 2 * j + k + 1):
                factorial *= m
            falling = 1
            for m in range(derivative):
                falling *= j - m
            if falling:
                power = Decimal(float(t)) ** (j - derivative) if j > derivative else Decimal(1)
                total += sign * falling * power / factorial
            sign = -sign
        return float(total)


@pytest.mark.parametrize("derivative", [0, 1, 2])
def test_stumpff_functions_and_derivatives_agree_with_their_series(derivative):
    function = stumpff
    for _ in range(derivative):
        function = jax.jacfwd(function)
    values = jax.jit(jax.vmap(function))(jnp.asarray(SQUARED_ANGLES))
    for k in range(6):
        for t, value in zip(SQUARED_ANGLES, values[k], strict=True):
            expected = exact_stumpff(k, t, derivative)
            # c_0, c_1, c_2 pass through zero: there the size at zero counts.
            scale = abs(expected) if k > 2 else max(abs(expected), abs(exact_stumpff(k, 0.0, derivative)))
            assert abs(float(value) - expected) <= 1e-12 * scale, (k, t)


def test_stumpff_keeps_shape_and_dtype():
    values = stumpff(jnp.ones((2, 3), jnp.float32))
    assert all(value.shape == (2, 3) and value.dtype == jnp.float32 for value in values)


@pytest.mark.parametrize("ratio2", [0.0, 1e-300, 1e-9, 0.9, 1 - 1e-9, 1.0, 1 + 1e-9, 2.0, 1e3, 1e20])
@pytest.mark.parametrize("c", [1.0, 0.3, 7.0])
def test_arc_agrees_with_numpy_on_both_sides_of_the_switch(ratio2, c):
    s2 = ratio2 * ARC_SWITCH * c * c
    expected = np.arctan2(np.sqrt(s2), c) / np.sqrt(s2) if s2 > 1e-30 else 1 / c
    assert float(arc(jnp.asarray(s2), jnp.asarray(c))) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("c", [0.0, -0.5, -1.0])
def test_arc_holds_beyond_a_right_angle(c):
    assert float(arc(jnp.asarray(0.25), jnp.asarray(c))) == pytest.approx(2 * np.arctan2(0.5, c), rel=1e-14)


@pytest.mark.parametrize("s2", [0.0, 1e-12, ARC_SWITCH * (1 - 1e-9), ARC_SWITCH * (1 + 1e-9), 0.5])
def test_derivative_of_arc_is_exact_on_both_sides_of_the_switch(s2):
    slope = jax.grad(arc)(jnp.asarray(s2), jnp.asarray(1.0))
    terms = [(-1.0) ** j * j / (2 * j + 1) * s2 ** (j - 1) for j in range(1, 80)]
    assert float(slope) == pytest.approx(np.sum(terms), rel=1e-12)
