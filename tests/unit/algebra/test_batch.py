from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from haltere.algebra import Elements, UnsupportedPrimitiveError, batched, join, soa, split, split_single
from haltere.foundation import HaltereError

RNG = np.random.default_rng(2)


def step(model, state, push):
    """A little dynamics: something of every kind, shapes with zero elements included."""
    x, q, none = state["x"], state["q"], state["none"]
    norm = jnp.sqrt(q @ q)
    force = model["gain"] @ x + push * jnp.sin(q[:2]) / (1 + norm)
    matrix = jnp.outer(q, q) / norm + np.eye(4)
    return {"x": x + 0.01 * force, "q": matrix[0] / norm, "none": 2 * none}


def inputs(batch, dtype=float):
    model = {"gain": jnp.asarray(RNG.normal(size=(2, 2)), dtype)}
    state = {
        "x": jnp.asarray(RNG.normal(size=(batch, 2)), dtype),
        "q": jnp.asarray(RNG.normal(size=(batch, 4)), dtype),
        "none": jnp.zeros((batch, 0), dtype),
    }
    return model, state, jnp.asarray(RNG.normal(size=batch), dtype)


def assert_close(got, expected, tolerance=1e-14):
    def one(a, b):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        assert np.allclose(a, b, rtol=tolerance, atol=tolerance)

    jax.tree_util.tree_map(one, got, expected)


@pytest.mark.parametrize("batch", [1, 5, 40])
@pytest.mark.parametrize("in_axes", [(None, 0, 0), (None, {"x": 0, "q": 0, "none": 0}, None), (0, 0, 0)])
def test_batched_is_vmap(batch, in_axes):
    model, state, push = inputs(batch)
    model = model if in_axes[0] is None else {"gain": jnp.repeat(model["gain"][None], batch, 0)}
    push = push if in_axes[2] == 0 else push[0]
    expected = jax.jit(jax.vmap(step, in_axes))(model, state, push)
    assert_close(batched(step, in_axes)(model, state, push), expected)


def test_what_the_function_closes_over_is_folded():
    model, state, push = inputs(40)
    model = {"gain": jnp.asarray([[0.0, 1.0], [0.0, 0.0]])}
    fast = batched(partial(step, model))
    assert_close(fast(state, push), jax.jit(jax.vmap(partial(step, model)))(state, push))
    text = fast.lower(state, push).as_text()
    general = batched(step, (None, 0, 0)).lower(model, state, push).as_text()
    assert text.count("stablehlo.multiply") < general.count("stablehlo.multiply")


def test_float32_stays_float32():
    args = inputs(20, jnp.float32)
    got = batched(step, (None, 0, 0))(*args)
    assert_close(got, jax.jit(jax.vmap(step, (None, 0, 0)))(*args), 1e-5)


@pytest.mark.parametrize("batch", [None, 3, 40])
def test_structure_of_arrays_in_a_scan(batch):
    model, state, push = inputs(batch or 1)
    if batch is None:
        state, push = jax.tree_util.tree_map(lambda a: a[0], (state, push))

    @jax.jit
    def run(model, state, push):
        carry, pushes = (split if batch else split_single)((state, push))
        one = soa(step)
        return join(lax.scan(lambda c, _: (one(model, c, pushes), None), carry, None, length=7)[0])

    def one(state, push):
        for _ in range(7):
            state = step(model, state, push)
        return state

    expected = jax.jit(jax.vmap(one) if batch else one)(state, push)
    assert_close(run(model, state, push), expected, 1e-13)


@pytest.mark.parametrize("batch", [4, 40])
def test_jacobians_are_batched(batch):
    model, state, push = inputs(batch)
    jacobian = jax.jacfwd(lambda x, s, p: step(model, {**s, "x": x}, p)["x"])
    args = state["x"], state, push
    assert_close(batched(jacobian)(*args), jax.jit(jax.vmap(jacobian))(*args))


def test_derivatives_through_the_batch():
    model, state, push = inputs(40)

    def total(gain, evaluate):
        return jnp.sum(evaluate({"gain": gain}, state, push)["x"] ** 2)

    got = jax.grad(total)(model["gain"], batched(step, (None, 0, 0)))
    expected = jax.grad(total)(model["gain"], jax.jit(jax.vmap(step, (None, 0, 0))))
    assert np.allclose(got, expected, rtol=1e-13)


@pytest.mark.parametrize("batch", [5, 50])
def test_saturations_and_choices_are_known_to_the_batch(batch):
    x = jnp.asarray(RNG.normal(size=(batch, 3)))

    def fn(x):
        return (
            jnp.clip(x, -0.5, 0.5),
            jnp.where(x > 0, x, 2 * x),
            jnp.abs(x) + jnp.sign(x),
            jnp.maximum(x[0], x[1]),
            jnp.arctan2(x[0], x[1]) + jnp.tanh(x[2]),
            (x > 0) * 1.5,
            jnp.where((x > 0) & (x < 1), 1.0, 0.0),
            jnp.exp(x) + jnp.abs(x) ** 0.3,
        )

    assert_close(batched(fn)(x), jax.jit(jax.vmap(fn))(x))


def test_results_that_are_constant_get_the_batch():
    x = jnp.ones((6, 2))
    assert_close(batched(lambda x: (np.ones(3), x * 0))(x), (jnp.ones((6, 3)), jnp.zeros((6, 2))))


def test_split_and_join_are_inverse():
    tree = {"a": jnp.asarray(RNG.normal(size=(5, 2, 3))), "b": jnp.arange(5.0), "c": jnp.zeros((5, 0, 2))}
    halves = split(tree)
    assert isinstance(halves["a"], Elements)
    assert halves["a"].shape == (2, 3)
    assert len(halves["a"].items) == 6
    assert_close(join(halves), tree)
    last = jax.tree_util.tree_map(lambda a: jnp.moveaxis(a, 0, -1), tree)
    assert_close(join(split(last, axis=-1), axis=-1), last)
    single = {"a": tree["a"][0], "b": tree["b"][0], "c": tree["c"][0]}
    assert_close(join(split_single(single)), single)


def test_faults_are_told():
    x = jnp.ones((4, 2))
    with pytest.raises(UnsupportedPrimitiveError, match=r"sort.*batch arrays"):
        batched(jnp.sort)(x)
    with pytest.raises(HaltereError, match="in_axes has 2 entries for 1 arguments"):
        batched(jnp.sin, (0, 0))(x)
    with pytest.raises(HaltereError, match="batch shapes"):
        soa(jnp.add)(split(x), split(x[:3]))
    with pytest.raises(HaltereError, match="no batch size"):
        join(split(jnp.zeros((4, 0))))
