"""The laws of a Lie group, written once and tested over all groups and batch shapes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haltere.lie import s2, se3, so3


@dataclass(frozen=True)
class Group:
    """Exponential coordinates of dimension `size` and elements as one array each."""

    name: str
    size: int
    exp: Callable
    log: Callable
    multiply: Callable
    inverse: Callable
    adjoint: Callable
    left_jacobian: Callable
    right_jacobian: Callable
    box_plus: Callable
    box_minus: Callable

    def __str__(self):
        return self.name


def packed(R, p):
    return jnp.concatenate([R, p[:, None]], axis=1)


def parts(X):
    return X[:, :3], X[:, 3]


GROUPS = [
    Group(
        "SO3",
        3,
        so3.exp,
        so3.log,
        lambda a, b: a @ b,
        lambda a: a.T,
        lambda a: a,
        so3.left_jacobian,
        so3.right_jacobian,
        so3.box_plus,
        so3.box_minus,
    ),
    Group(
        "quaternions",
        3,
        so3.exp_wxyz,
        so3.log_wxyz,
        so3.multiply_wxyz,
        so3.conjugate_wxyz,
        so3.from_wxyz,
        so3.left_jacobian,
        so3.right_jacobian,
        so3.box_plus_wxyz,
        so3.box_minus_wxyz,
    ),
    Group(
        "SE3",
        6,
        lambda x: packed(*se3.exp(x)),
        lambda X: se3.log(*parts(X)),
        lambda a, b: packed(*se3.multiply(*parts(a), *parts(b))),
        lambda a: packed(*se3.inverse(*parts(a))),
        lambda a: se3.Ad(*parts(a)),
        se3.left_jacobian,
        se3.right_jacobian,
        lambda a, d: packed(*se3.box_plus(*parts(a), d)),
        lambda a, b: se3.box_minus(*parts(a), *parts(b)),
    ),
]


def defects(group, x, y, z):
    """What each law leaves over, for coordinates x, y, z; y turns by less than pi."""
    a, b, c = group.exp(x), group.exp(y), group.exp(z)
    multiply, inverse = group.multiply, group.inverse
    adjoint = group.adjoint(a)
    one = group.exp(jnp.zeros(group.size))
    return {
        "associative": multiply(multiply(a, b), c) - multiply(a, multiply(b, c)),
        "inverse": multiply(a, inverse(a)) - one,
        "identity": multiply(one, a) - a,
        "exp of minus": group.exp(-x) - inverse(a),
        "log of exp": group.log(b) - y,
        "adjoint of a product": group.adjoint(multiply(a, b)) - adjoint @ group.adjoint(b),
        "adjoint": multiply(a, multiply(b, inverse(a))) - group.exp(adjoint @ y),
        "left and right Jacobian": group.left_jacobian(x) - adjoint @ group.right_jacobian(x),
        "Jacobian keeps x": group.left_jacobian(x) @ x - x,
        "minus of plus": group.box_minus(group.box_plus(a, y), a) - y,
        "plus of minus": group.adjoint(group.box_plus(a, group.box_minus(b, a))) - group.adjoint(b),
        "minus of self": group.box_minus(a, a),
    }


BATCHES = [(), (4,), (2, 3)]


def compiled(group, batch):
    function = partial(defects, group)
    for _ in batch:
        function = jax.vmap(function)
    return jax.jit(function)


COMPILED = {(str(group), batch): compiled(group, batch) for group in GROUPS for batch in BATCHES}

#: Sizes of turns and shifts; those of turns stand on both sides of every switch.
TURNS = st.one_of(
    st.floats(0.0, 3.1),
    st.floats(-12.0, 0.0).map(lambda e: 10.0**e),
    st.floats(-1e-6, 1e-6).map(lambda e: 2.0 + e),
    st.floats(-1e-6, 1e-6).map(lambda e: 2.0 * np.arctan(0.25) + e),
    st.floats(1e-9, 1e-3).map(lambda e: np.pi - e),
)
SHIFTS = st.one_of(st.just(0.0), st.floats(-12.0, 1.0).map(lambda e: 10.0**e))


def coordinates(rng, size, batch, turn, shift):
    """Directions drawn independently, sizes as given."""

    def direction():
        v = rng.normal(size=(*batch, 3))
        return v / np.linalg.norm(v, axis=-1, keepdims=True)

    return turn * direction() if size == 3 else np.concatenate([shift * direction(), turn * direction()], -1)


@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("group", GROUPS, ids=str)
@given(
    seed=st.integers(0, 2**32 - 1),
    turns=st.tuples(TURNS, TURNS, TURNS),
    shifts=st.tuples(SHIFTS, SHIFTS, SHIFTS),
)
def test_laws(group, batch, seed, turns, shifts):
    rng = np.random.default_rng(seed)
    x, y, z = (coordinates(rng, group.size, batch, *sizes) for sizes in zip(turns, shifts, strict=True))
    scale = 1.0 + sum(shifts) if group.size == 6 else 1.0
    left = COMPILED[str(group), batch](x, y, z)
    for name, value in left.items():
        assert value.shape[: len(batch)] == batch
        assert np.max(np.abs(value)) <= 2e-13 * scale**2, name


@given(seed=st.integers(0, 2**32 - 1), turn=TURNS, z=st.floats(-1.0, 1.0))
def test_box_operators_of_the_sphere_are_inverse(seed, turn, z):
    azimuth, heading = np.random.default_rng(seed).uniform(-np.pi, np.pi, size=2)
    r = np.sqrt(1 - z * z)
    n = np.array([r * np.cos(azimuth), r * np.sin(azimuth), z])
    d = turn * np.array([np.cos(heading), np.sin(heading)])
    m = PLUS(n, d)
    assert abs(np.linalg.norm(m) - 1) < 1e-15 * 4
    sine = max(np.sin(turn), 1e-300)
    assert np.allclose(MINUS(m, n), d, rtol=0, atol=2e-15 * max(1.0, turn / sine))
    assert np.allclose(PLUS(n, MINUS(m, n)), m, rtol=0, atol=2e-15)


PLUS, MINUS = jax.jit(s2.box_plus), jax.jit(s2.box_minus)
