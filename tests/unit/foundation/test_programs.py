"""Functions whose traced program is kept: same numbers, found again, and never in the way."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.compilation_cache.compilation_cache import reset_cache

from haltere.foundation import HaltereError
from haltere.foundation import programs as stored
from haltere.foundation.programs import CachedProgram, program_by_kind


@pytest.fixture
def folder(tmp_path):
    """A store of its own."""
    kept = jax.config.values["jax_compilation_cache_dir"]
    reset_cache()
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    yield tmp_path / stored.FOLDER
    reset_cache()
    jax.config.update("jax_compilation_cache_dir", kept)


def counted(calls, key="a"):
    """A function of a dictionary that counts how often it is traced."""

    def turned(pair, unused):
        calls.append(1)
        return {"sum": pair["x"] + pair["y"], "most": jnp.max(pair["x"])}, (pair["y"] > 0.0,)

    return CachedProgram(turned, key, ({"sum": 0, "most": 0}, (0,)))


PAIR = {"x": np.arange(3.0), "y": np.float64(2.0)}


def test_a_program_is_found_again_without_tracing(folder):
    calls = []
    first = counted(calls)(PAIR, 1.0)
    assert len(list(folder.iterdir())) == len(calls) == 1
    again = counted(calls)
    for _ in range(2):
        found = again(PAIR, 1.0)
        np.testing.assert_array_equal(found[0]["sum"], [2.0, 3.0, 4.0])
        assert jax.tree.structure(found) == jax.tree.structure(first)
        assert bool(found[1][0])
    assert len(calls) == 1


def test_other_keys_shapes_and_trees_are_other_programs(folder):
    calls = []
    counted(calls)(PAIR, 1.0)
    counted(calls, "b")(PAIR, 1.0)
    counted(calls)({**PAIR, "x": np.arange(4.0)}, 1.0)
    counted(calls)(PAIR, (1.0, 2.0))
    assert len(list(folder.iterdir())) == len(calls) == 4


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"no json\nabc", None])
def test_a_damaged_file_costs_time_only(folder, damage):
    calls = []
    counted(calls)(PAIR, 1.0)
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:-1] if damage is None else damage)
    np.testing.assert_array_equal(counted(calls)(PAIR, 1.0)[0]["sum"], [2.0, 3.0, 4.0])
    counted(calls)(PAIR, 1.0)
    assert len(calls) == 2


def test_without_a_store_it_is_a_compiled_function(folder):
    jax.config.update("jax_compilation_cache_dir", None)
    calls = []
    np.testing.assert_array_equal(counted(calls)(PAIR, 1.0)[0]["most"], 2.0)
    assert len(calls) == 1
    assert not folder.exists()


def test_inside_of_another_function_it_is_traced_with_it(folder):
    double = CachedProgram(lambda x: {"y": 2.0 * x**2}, None, {"y": 0})
    assert jax.grad(lambda x: double(x)["y"])(3.0) == 12.0
    assert not folder.exists()


def test_prepared_is_not_traced_again(folder):
    calls = []
    function = counted(calls)
    function.prepare({"x": jax.ShapeDtypeStruct((3,), float), "y": jax.ShapeDtypeStruct((), float)}, 1.0)
    function(PAIR, 1.0)
    assert len(calls) == 1


def test_old_programs_go(folder, monkeypatch):
    monkeypatch.setattr(stored, "MOST", 2)
    for key in range(4):
        counted([], key)(PAIR, 1.0)
    assert len(list(folder.iterdir())) == 2


def test_a_result_of_another_structure_is_an_error(folder):
    with pytest.raises(HaltereError, match="mend `result_tree`"):
        CachedProgram(lambda x: [x, x], None, 0)(1.0)


def test_code_at_any_depth_counts_when_programs_are_found_again(tmp_path):
    nested = tmp_path / "estimation" / "vehicle" / "steps.py"
    nested.parent.mkdir(parents=True)
    nested.write_text("a = 1\n")
    first = stored.hash_code([tmp_path / "estimation"])
    assert stored.hash_code([tmp_path / "estimation"]) == first
    nested.write_text("a = 2\n")
    changed = stored.hash_code([tmp_path / "estimation"])
    nested.rename(nested.with_name("other.py"))
    assert len({first, changed, stored.hash_code([tmp_path / "estimation"])}) == 3


def test_a_function_has_a_program_for_each_kind():
    @program_by_kind(lambda kind: dict.fromkeys(kind, 0))
    def filled(kind, x):
        """Each name with the number."""
        return {name: x * len(name) for name in kind}

    assert filled.__doc__ == "Each name with the number."
    assert filled(("a", "bcd")) is filled(("a", "bcd"))
    assert filled(("a", "bcd")).name == "filled"
    found = filled(("a", "bcd"))(2.0)
    assert {name: float(x) for name, x in found.items()} == {"a": 2.0, "bcd": 6.0}
    assert set(filled(("e",))(1.0)) == {"e"}


def test_a_compiler_that_lacks_an_option_does_without_it(monkeypatch):
    stored._options.cache_clear()
    monkeypatch.setattr(stored, "CPU_OPTIONS", {"xla_no_such_option": False})
    assert stored._options(False) == {}
    assert stored._options(True) == stored.UNOPTIMISED
    stored._options.cache_clear()
