import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.algebra import UnsupportedPrimitiveError, c_source, casadi_function
from haltere.foundation import HaltereError

casadi = pytest.importorskip("casadi")

RNG = np.random.default_rng(8)
STATE = {"q": jnp.asarray(RNG.normal(size=4)), "v": jnp.asarray(RNG.normal(size=(2, 3)))}
MODEL = (jnp.asarray(RNG.normal(size=(3, 3))), jnp.asarray(0.7))


def fn(model, state):
    matrix, mass = model
    q, v = state["q"], state["v"]
    unit = q / jnp.sqrt(q @ q)
    force = jnp.tensordot(v, matrix, 1) / mass + jnp.sin(unit[:3]) * jnp.cos(unit[3])
    return {"force": force, "power": jnp.sum(force * v), "zeros": jnp.zeros(2), "copy": q}


def evaluate(function, *args):
    return [
        np.asarray(x).ravel()
        for x in function.call([np.ravel(leaf) for leaf in jax.tree_util.tree_leaves(args)])
    ]


@pytest.mark.parametrize(
    "transform", [lambda f: f, lambda f: jax.jacfwd(f, argnums=1)], ids=["value", "jacobian"]
)
def test_casadi_agrees_with_jax(transform):
    function = transform(fn)
    got = evaluate(casadi_function(function, (MODEL, STATE), "fn"), MODEL, STATE)
    expected = jax.tree_util.tree_leaves(jax.jit(function)(MODEL, STATE))
    assert len(got) == len(expected)
    for x, y in zip(got, expected, strict=True):
        assert np.allclose(x, np.ravel(y), rtol=1e-14, atol=1e-14)


def test_shapes_alone_are_enough_and_names_tell_the_place():
    shapes = jax.eval_shape(lambda *args: args, MODEL, STATE)
    function = casadi_function(fn, shapes, "fn")
    assert function.name() == "fn"
    assert function.name_in() == ["x_0_0", "x_0_1", "x_1_q", "x_1_v"]
    assert function.name_out() == ["y_copy", "y_force", "y_power", "y_zeros"]
    assert [function.size1_in(i) for i in range(4)] == [9, 1, 4, 6]
    assert all(function.sparsity_out(i).is_dense() for i in range(4))


def test_common_subexpressions_are_shared():
    def twice(x):
        return jnp.sin(x[0] * x[1]) + jnp.sin(x[1] * x[0])

    function = casadi_function(twice, (jnp.ones(2),), "twice")
    assert function.n_instructions() <= 6  # two inputs, product, sine, sum, output


@pytest.mark.parametrize("real", ["double", "float"])
def test_c_source_compiles_to_the_same_numbers(real, tmp_path):
    source = c_source(fn, (MODEL, STATE), "fn", real=real)
    assert "int fn(" in source
    assert f"casadi_real {real}" in source
    compiler = next((c for c in ("cc", "gcc", "clang") if _exists(c)), None)
    if compiler is None or real == "float":
        return
    (tmp_path / "fn.c").write_text(source)
    library = tmp_path / "fn.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "fn.c", "-o", library, "-lm"], check=True, cwd=tmp_path
    )
    got = evaluate(casadi.external("fn", str(library)), MODEL, STATE)
    for x, y in zip(got, jax.tree_util.tree_leaves(fn(MODEL, STATE)), strict=True):
        assert np.allclose(x, np.ravel(y), rtol=1e-14, atol=1e-14)


def _exists(command):
    import shutil

    return shutil.which(command) is not None


def test_faults_are_told():
    with pytest.raises(UnsupportedPrimitiveError, match=r"'sort'.*CasADi symbols"):
        casadi_function(jnp.sort, (jnp.ones(3),), "fn")
    with pytest.raises(HaltereError, match=r"'half'.*'double' or 'float'"):
        c_source(fn, (MODEL, STATE), "fn", real="half")


def test_without_casadi_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(HaltereError, match=r"haltere\[embed\]"):
        casadi_function(fn, (MODEL, STATE), "fn")


def test_casadi_is_not_imported_by_the_package():
    code = "import sys, haltere.algebra; sys.exit('casadi' in sys.modules)"
    source = str(Path(sys.modules["haltere.algebra"].__file__).parents[2])
    assert (
        subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": source}, check=False).returncode == 0
    )
