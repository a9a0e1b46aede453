"""Every derivative that is written by hand, against the automatic one of what it differentiates.

Add an entry for each new one: `hand` and `automatic` are functions of the same argument, `draw` gives samples that
stand on both sides of every numerical branch.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.lie import se3, so3


@dataclass(frozen=True)
class Entry:
    name: str
    hand: Callable
    automatic: Callable
    draw: Callable
    tolerance: float = 1e-12


ANGLES = [
    0.0,
    1e-9,
    1e-4,
    0.3,
    2 * np.arctan(0.25) - 1e-9,
    2 * np.arctan(0.25) + 1e-9,
    1.0,
    1.9999999,
    2.0000001,
    3.0,
]


def turns(rng):
    for angle in ANGLES:
        v = rng.normal(size=3)
        yield angle * v / np.linalg.norm(v)


def motions(rng):
    for turn in turns(rng):
        for shift in (0.0, 1e-6, 1.0, 10.0):
            yield np.concatenate([shift * rng.normal(size=3), turn])


def se3_between(X, Y):
    """Log of X^-1 Y."""
    return se3.log(*se3.multiply(*se3.inverse(*X), *Y))


ZERO3, ZERO6 = jnp.zeros(3), jnp.zeros(6)

REGISTRY = [
    Entry(
        "so3.left_jacobian",
        so3.left_jacobian,
        lambda x: jax.jacfwd(lambda d: so3.log(so3.exp(x + d) @ so3.exp(x).T))(ZERO3),
        turns,
    ),
    Entry(
        "so3.right_jacobian",
        so3.right_jacobian,
        lambda x: jax.jacfwd(lambda d: so3.log(so3.exp(x).T @ so3.exp(x + d)))(ZERO3),
        turns,
    ),
    Entry(
        "so3.left_jacobian_inverse",
        so3.left_jacobian_inverse,
        lambda x: jax.jacfwd(lambda d: so3.log(so3.exp(d) @ so3.exp(x)))(ZERO3),
        turns,
    ),
    Entry(
        "so3.right_jacobian_inverse",
        so3.right_jacobian_inverse,
        lambda x: jax.jacfwd(lambda d: so3.log(so3.exp(x) @ so3.exp(d)))(ZERO3),
        turns,
    ),
    Entry(
        "se3.left_jacobian",
        se3.left_jacobian,
        lambda x: se3.Ad(*se3.exp(x)) @ jax.jacfwd(lambda d: se3_between(se3.exp(x), se3.exp(x + d)))(ZERO6),
        motions,
    ),
    Entry(
        "se3.right_jacobian",
        se3.right_jacobian,
        lambda x: jax.jacfwd(lambda d: se3_between(se3.exp(x), se3.exp(x + d)))(ZERO6),
        motions,
    ),
    Entry(
        "se3.left_jacobian_inverse",
        se3.left_jacobian_inverse,
        lambda x: jax.jacfwd(lambda d: se3.log(*se3.multiply(*se3.exp(d), *se3.exp(x))))(ZERO6),
        motions,
    ),
    Entry(
        "se3.right_jacobian_inverse",
        se3.right_jacobian_inverse,
        lambda x: jax.jacfwd(lambda d: se3.log(*se3.multiply(*se3.exp(x), *se3.exp(d))))(ZERO6),
        motions,
    ),
    Entry(
        "se3.ad",
        se3.ad,
        lambda x: jax.jacfwd(lambda s: se3.Ad(*se3.exp(s * x)))(0.0),
        motions,
    ),
]


@pytest.mark.parametrize("entry", REGISTRY, ids=lambda entry: entry.name)
def test_hand_written_derivative_is_the_automatic_one(entry):
    hand, automatic = jax.jit(entry.hand), jax.jit(entry.automatic)
    for x in entry.draw(np.random.default_rng(11)):
        expected = np.asarray(automatic(x))
        scale = max(1.0, np.max(np.abs(expected)))
        assert np.allclose(hand(x), expected, rtol=0, atol=entry.tolerance * scale), x
