import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.algebra import batched, graph
from haltere.algebra.arithmetic import Arithmetic


def chain(length):
    """Each variable of a stage is the sum of two of the stage before: repeated, the work doubles every time."""

    def fn(x):
        for _ in range(length):
            x = x * x[jnp.array([1, 2, 3, 0])] + 0.1 * x
        return x

    return fn


@pytest.mark.parametrize("cut", [False, True])
def test_the_graph_computes_the_same_whether_cut_or_not(cut):
    arithmetic = Arithmetic(graph.algebra("test", ["sin"]))
    a, b = graph.Node("input"), graph.Node("input")
    shared = arithmetic.function("sin", arithmetic.add(a, b))
    results = [arithmetic.mul(shared, a), arithmetic.sub(shared, b), 3.0, a, shared, shared]
    functions = {"sin": jnp.sin, "add": jnp.add, "mul": jnp.multiply, "sub": jnp.subtract}
    x, y = jnp.arange(4.0), jnp.ones(4)
    got = graph.evaluate(results, {a: x, b: y}, functions, cut=cut)
    expected = [jnp.sin(x + y) * x, jnp.sin(x + y) - y, 3.0, x, jnp.sin(x + y), jnp.sin(x + y)]
    for one, other in zip(got, expected, strict=True):
        assert np.allclose(one, other, rtol=1e-15)


def test_stored_nodes_stand_in_levels():
    arithmetic = Arithmetic(graph.algebra("test", ["sin"]))
    a = graph.Node("input")
    first = arithmetic.mul(a, 3.0)
    left, right = arithmetic.mul(first, 2.0), arithmetic.add(first, 1.0)  # so cheap that it may be repeated
    again = arithmetic.function("sin", arithmetic.mul(left, right))
    results = [arithmetic.add(again, 1.0), arithmetic.mul(again, again), arithmetic.sub(again, left)]
    order = graph.ordered([*results], [a])
    assert order.index(first) < order.index(left) < order.index(again)
    levels = graph._levels(order, results)
    assert levels[0] == [again]
    assert set(levels[1]) == set(results)


def test_shared_work_is_not_repeated_in_the_compiled_code():
    """Cut, the compiled program does about as many products as the function has; left alone XLA repeats them."""
    fn = chain(24)
    x = jnp.ones((64, 4))
    text = batched(fn).lower(x).compile().as_text()
    assert text.count(" multiply(") < 3 * 24 * 8
    assert np.allclose(batched(fn)(0.3 * x), jax.vmap(fn)(0.3 * x), rtol=1e-13)


def test_a_long_chain_is_split():
    arithmetic = Arithmetic(graph.algebra("test", []))
    a = node = graph.Node("input")
    for i in range(4 * graph.SIZE_LIMIT):
        node = arithmetic.add(arithmetic.mul(node, 2.0 + i), a)
    assert len(graph._levels(graph.ordered([node], [a]), [node])) >= 8
