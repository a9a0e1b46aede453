from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from haltere.algebra import Algebra, UnsupportedPrimitiveError, interpret, primitives_of, trace
from haltere.foundation import HaltereError


class Number:
    """A floating-point number that counts the operations done on numbers like it."""

    count = 0

    def __init__(self, value):
        self.value = float(value)


def counted(function):
    def call(*operands):
        Number.count += 1
        return Number(function(*(x.value if isinstance(x, Number) else x for x in operands)))

    return call


COUNTING = Algebra(
    "counted numbers",
    {"sqrt": counted(np.sqrt), "sin": counted(np.sin), "cos": counted(np.cos)},
    add=counted(lambda a, b: a + b),
    sub=counted(lambda a, b: a - b),
    mul=counted(lambda a, b: a * b),
    div=counted(lambda a, b: a / b),
    neg=counted(lambda a: -a),
)


def elements(array):
    flat = np.empty(np.size(array), dtype=object)
    for i, x in enumerate(np.ravel(array)):
        flat[i] = Number(x)
    return flat.reshape(np.shape(array))


def plain(value):
    flat = [x.value if isinstance(x, Number) else x for x in np.asarray(value).reshape(-1).tolist()]
    return np.asarray(flat, float).reshape(np.shape(value))


def run(fn, *args):
    """Evaluate fn over counted numbers: the values of its result, and how many operations it took."""
    traced = trace(fn, *args)
    Number.count = 0
    result = traced(COUNTING, *jax.tree_util.tree_map(elements, args))
    return jax.tree_util.tree_map(plain, result), Number.count


def check(fn, *args):
    got, count = run(fn, *args)
    expected = jax.jit(fn)(*args)
    assert jax.tree_util.tree_structure(got) == jax.tree_util.tree_structure(expected)
    for x, y in zip(jax.tree_util.tree_leaves(got), jax.tree_util.tree_leaves(expected), strict=True):
        assert x.shape == y.shape
        assert np.allclose(x, y, rtol=1e-14, atol=1e-14)
    return count


RNG = np.random.default_rng(4)
V, W, M, T = (jnp.asarray(RNG.uniform(0.5, 2.0, size=s)) for s in ((3,), (3,), (3, 3), (2, 3, 4)))
HAT = np.zeros((3, 3, 3))
HAT[[2, 0, 1], [1, 2, 0], [0, 1, 2]] = 1.0
HAT[[1, 2, 0], [2, 0, 1], [0, 1, 2]] = -1.0

FUNCTIONS = {
    "arithmetic": lambda v, m, t: (v + 2 * v - v / 3, -v, 1 / v, v - v),
    "powers": lambda v, m, t: (v**2, v**3, v**-2, v**0.5, v**1.5, jnp.square(v), lax.rsqrt(v)),
    "functions": lambda v, m, t: (jnp.sqrt(v), jnp.sin(v) * jnp.cos(v)),
    "products": lambda v, m, t: (m @ v, v @ m @ v, m @ m.T, jnp.outer(v, v), jnp.cross(v, m[0])),
    "batched products": lambda v, m, t: (
        jnp.einsum("bij,bkj->bik", t, t),
        jnp.einsum("bij,jk->kbi", jnp.swapaxes(t, 1, 2), m),
    ),
    "sums": lambda v, m, t: (jnp.sum(t), jnp.sum(t, axis=1), jnp.sum(t, axis=(0, 2)), jnp.trace(m)),
    "shapes": lambda v, m, t: (
        t.reshape(6, 4),
        jnp.transpose(t, (2, 0, 1)),
        t[None, :, 0],
        jnp.squeeze(t[:, :1], 1),
        jnp.broadcast_to(v[:, None], (3, 5)),
        jnp.tile(v, 2),
        jnp.repeat(v, 2),
    ),
    "indexing": lambda v, m, t: (
        v[0],
        v[-1],
        v[::-1],
        v[::2],
        t[1, :, 2:0:-1],
        v[jnp.array([2, 0, 2])],
        m[np.array([0, 1]), np.array([2, 2])],
        jnp.diagonal(m),
        lax.dynamic_slice(v, (1,), (2,)),
    ),
    "joining": lambda v, m, t: (
        jnp.concatenate([v, np.ones(2), v]),
        jnp.stack([v, 2 * v], axis=1),
        jnp.split(t, 2, axis=2),
        jnp.pad(m, ((1, 0), (0, 2)), constant_values=3.0),
        lax.pad(v, 0.5, [(-1, 2, 1)]),
        list(m),
    ),
    "writing": lambda v, m, t: (
        m.at[1].set(v),
        m.at[0, 2].add(v[0]),
        m.at[jnp.array([0, 0, 1])].add(m),
        lax.dynamic_update_slice(m, m[:1, :2], (1, 1)),
    ),
    "choices": lambda v, m, t: (
        jnp.where(jnp.arange(3) > 0, v, 2.0),
        jnp.triu(m),
        jnp.where(np.array([True, False, True]), v, m),
        lax.select_n(np.array([0, 1, 0]), v, 2 * v),
    ),
    "constants": lambda v, m, t: (
        v * jnp.exp(1.0),
        jnp.eye(3) @ v,
        jnp.linspace(0.0, 1.0, 3) * v,
        jnp.tanh(jnp.asarray(0.3)) + v,
        jnp.arange(3),
        jnp.zeros(2),
        jnp.asarray(3) * v,
    ),
    "calls": lambda v, m, t: (
        jax.jit(lambda x: x * x)(v),
        jax.checkpoint(lambda x: jnp.sin(x) * x)(v),
        jax.vmap(lambda r: r @ v)(m),
        lax.stop_gradient(v),
        jax.jit(jax.jit(lambda x: {"a": x, "b": (x, 2 * x)}))(v),
        custom(v),
        custom_backward(v),
    ),
}


@jax.custom_jvp
def custom(x):
    return x * x + 1


custom.defjvp(lambda primals, tangents: (custom(*primals), 2 * primals[0] * tangents[0]))


@jax.custom_vjp
def custom_backward(x):
    return x * x + 2


custom_backward.defvjp(lambda x: (custom_backward(x), x), lambda x, g: (2 * x * g,))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_agrees_with_jax(name):
    check(FUNCTIONS[name], V, M, T)


def rational(v, m):
    a = jnp.concatenate([m @ v / (1 + v @ v), jnp.sin(v[:2]) * v[jnp.array([1, 2])]])
    return a * jnp.sqrt(v @ m @ v) + jnp.stack([v[0] * v[1], v[2] ** 3, v[-1], v[0], jnp.sum(m[1])])


@pytest.mark.parametrize(
    "transform",
    [jax.jacfwd, jax.jacrev, lambda f: jax.jacfwd(jax.jacrev(f)), lambda f: jax.jacfwd(f, argnums=1)],
    ids=["forward", "reverse", "second", "matrix"],
)
def test_derivatives_agree_with_jax(transform):
    check(transform(rational), V, M)


def test_forward_and_reverse_products_agree_with_jax():
    check(lambda v, w: jax.jvp(lambda x: rational(x, M), (v,), (w,)), V, W)
    check(lambda v: jax.vjp(lambda x: rational(x, M), v)[1](jnp.arange(5.0)), V)


def test_vmap_inside_agrees_with_jax():
    check(lambda m: jax.vmap(lambda row: rational(row, m))(m), M)


def random_function(seed):
    """A chain of random matrix operations."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 7, size=6)
    constants = rng.normal(size=(6, 3, 3)) * (rng.random((6, 3, 3)) < 0.6)

    def fn(v, m):
        for step, constant in zip(steps, constants, strict=True):
            match int(step):
                case 0:
                    v = constant @ v
                case 1:
                    v = m @ v / (2.0 + v @ v)
                case 2:
                    m = m.T @ constant + m
                case 3:
                    v = jnp.sin(v) * constant[0] + v[::-1]
                case 4:
                    m = m * v[:, None] - jnp.outer(v, constant[1])
                case 5:
                    v = jnp.concatenate([v[1:], v[:1] ** 2])
                case 6:
                    m = jnp.einsum("ijk,k->ij", HAT, v) @ m
        return v, m

    return fn


@pytest.mark.parametrize("seed", range(12))
def test_random_functions_and_their_jacobians_agree_with_jax(seed):
    fn = random_function(seed)
    check(fn, V / 2, M / 3)
    check(jax.jacfwd(lambda v: fn(v, M / 3)), V / 2)


def test_structural_zeros_cost_nothing():
    """A cross product by the structure tensor takes 6 products and 3 differences, not 27 and 18."""
    assert (
        check(lambda v, w: jnp.tensordot(HAT, v, 1) @ w, V, W) == 9 + 3
    )  # three elements of hat are negated
    assert check(lambda v: np.eye(3) @ v + np.zeros(3), V) == 0
    assert (
        check(lambda m: jnp.block([[m, np.zeros((3, 3))], [np.zeros((3, 3)), m]])[:3] @ jnp.ones(6), M) == 6
    )


def test_an_equation_is_evaluated_once():
    def fn(v):
        a = v[0] * v[1]
        b = v[1] * v[0]
        return a + b, a, b

    assert check(fn, V) == 2  # one product, one sum


def test_what_the_result_does_not_need_is_left_out():
    assert check(lambda v: (jnp.sin(v) * v, v)[1], V) == 0


def test_plain_inputs_count_as_constants():
    traced = trace(lambda m, v: m @ v, M, V)
    Number.count = 0
    result = traced(COUNTING, np.diag([2.0, 1.0, 0.0]), elements(V))
    assert Number.count == 1
    assert np.allclose(plain(result), np.diag([2.0, 1.0, 0.0]) @ V)


def test_exact_numbers_stay_exact():
    exact = Algebra("fractions", number=lambda x: Fraction(x).limit_denominator(1000))
    third = np.empty((), dtype=object)
    third[()] = Fraction(1, 3)
    jaxpr = jax.make_jaxpr(lambda x: x * 3.0 + 0.1)(1.0)
    assert interpret(jaxpr, exact, third)[0].tolist() == Fraction(11, 10)


def test_unknown_primitives_are_named_with_their_place():
    def root(v):
        return 2 * jnp.cbrt(v)

    with pytest.raises(UnsupportedPrimitiveError, match=r"'cbrt'.*counted numbers.*test_interpreter\.py:\d+"):
        run(root, V)
    with pytest.raises(UnsupportedPrimitiveError, match="'sort'"):
        run(jnp.sort, V)
    with pytest.raises(UnsupportedPrimitiveError, match="'scan'"):
        run(lambda v: lax.scan(lambda c, x: (c + x, c), 0.0, v)[0], V)
    with pytest.raises(UnsupportedPrimitiveError, match=r"'rsqrt'|'sqrt'"):
        trace(lax.rsqrt, V)(Algebra("nothing"), elements(V))


def test_choices_that_depend_on_the_input_are_refused():
    with pytest.raises(UnsupportedPrimitiveError, match="'gt'"):
        run(lambda v: jnp.where(v > 1, v, 0.0), V)
    with pytest.raises(UnsupportedPrimitiveError, match="depends on the inputs"):
        run(lambda v, w: v[w.astype(int)], V, W)


def test_wrong_arguments_are_told():
    traced = trace(lambda v: v, V)
    with pytest.raises(HaltereError, match=r"shape \(2,\).*\(3,\)"):
        traced(COUNTING, np.zeros(2))
    with pytest.raises(HaltereError, match="structure"):
        traced(COUNTING, {"a": np.zeros(3)})


def test_primitives_are_listed_also_inside_calls():
    names = primitives_of(lambda v: jax.jit(lambda x: jnp.sin(x) / 2)(v) @ v, V)
    assert names == {"sin", "div", "dot_general"}
    assert "cos" in primitives_of(lambda v: lax.scan(lambda c, x: (c + jnp.cos(x), c), 0.0, v), V)
