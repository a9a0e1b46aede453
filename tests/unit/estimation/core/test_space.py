"""Box-plus and box-minus of product states."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.estimation.core.space import Block, Space
from haltere.foundation import HaltereError
from haltere.lie import so3

SPACE = Space(
    (Block("place"), Block("turn", "rotation"), Block("axis", "direction"), Block("mass", "positive", (2,)))
)


def a_state(key: jax.Array) -> dict[str, jax.Array]:
    keys = jax.random.split(key, 4)
    axis = jax.random.normal(keys[2], (3,))
    return {
        "place": jax.random.normal(keys[0], (3,)),
        "turn": so3.exp_wxyz(jax.random.normal(keys[1], (3,))),
        "axis": axis / jnp.linalg.norm(axis),
        "mass": jnp.exp(jax.random.normal(keys[3], (2,))),
    }


def test_minus_undoes_plus() -> None:
    for seed in range(20):
        keys = jax.random.split(jax.random.key(seed))
        state, error = a_state(keys[0]), 0.7 * jax.random.normal(keys[1], (SPACE.dimension,))
        np.testing.assert_allclose(SPACE.minus(SPACE.plus(state, error), state), error, atol=1e-9)


def test_minus_leads_from_one_state_to_another() -> None:
    a, b = a_state(jax.random.key(1)), a_state(jax.random.key(2))
    there = SPACE.plus(b, SPACE.minus(a, b))
    for name in a:
        sign = jnp.sign(there[name] @ a[name]) if name == "turn" else 1.0
        np.testing.assert_allclose(sign * there[name], a[name], atol=1e-12)


def test_positive_stays_positive() -> None:
    state = SPACE.plus(a_state(jax.random.key(0)), -50.0 * jnp.ones(SPACE.dimension))
    assert float(state["mass"].min()) > 0.0


def test_transport_is_the_derivative_of_the_new_error() -> None:
    state = a_state(jax.random.key(3))
    shift = 0.3 * jax.random.normal(jax.random.key(4), (SPACE.dimension,))
    new = SPACE.plus(state, shift)
    step = 1e-6
    T = np.stack(
        [
            (SPACE.minus(SPACE.plus(state, shift + d), new) - SPACE.minus(SPACE.plus(state, shift - d), new))
            / (2 * step)
            for d in step * np.eye(SPACE.dimension)
        ],
        axis=1,
    )
    root = jax.random.normal(jax.random.key(5), (SPACE.dimension, SPACE.dimension))
    cov = root @ root.T
    np.testing.assert_allclose(SPACE.transported(state, shift, cov), T @ cov @ T.T, atol=1e-6)


def test_names_must_differ() -> None:
    with pytest.raises(HaltereError, match="name of its own"):
        Space((Block("a"), Block("a")))
