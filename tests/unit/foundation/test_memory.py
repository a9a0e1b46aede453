"""Compiled programs can be let go, and what is computed afterwards is the same."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.foundation import memory
from haltere.foundation.memory import bound_programs, count_maps, count_programs, release_programs
from haltere.foundation.programs import CachedProgram

on_linux = pytest.mark.skipif(not count_maps(), reason="the system does not tell its memory maps")


def compile_many(count):
    functions = [jax.jit(lambda x, k=k: jnp.sin(x) * k + jnp.cumsum(x)) for k in range(count)]
    return functions, [np.asarray(f(np.arange(5.0))) for f in functions]


def test_programs_are_counted_and_released_though_their_functions_live_on():
    release_programs()
    before = count_programs()
    functions, values = compile_many(12)
    assert count_programs() >= before + 12
    release_programs()
    assert count_programs() <= before
    for function, value in zip(functions, values, strict=True):
        np.testing.assert_array_equal(function(np.arange(5.0)), value)


@on_linux
def test_released_programs_give_their_maps_back():
    release_programs()
    before = count_maps()
    functions, _ = compile_many(12)
    assert len(functions) == 12
    grown = count_maps() - before
    assert grown >= 24
    release_programs()
    assert count_maps() - before < 0.2 * grown


def test_a_stored_function_forgets_its_programs_and_compiles_them_again():
    doubled = CachedProgram(lambda x: 2.0 * x, "doubled", 0)
    assert doubled(np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
    kept = doubled._ready
    assert len(kept) == 1
    release_programs()
    assert len(doubled._ready) == 0
    assert doubled(np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]


def test_nothing_is_released_within_bounds(monkeypatch):
    released = []
    monkeypatch.setattr(memory, "_others", [0])
    monkeypatch.setattr(memory, "release_programs", lambda: released.append(True))
    monkeypatch.setattr(memory, "count_programs", lambda: 10)
    monkeypatch.setattr(memory, "count_maps", lambda: 100)
    assert not bound_programs(most_programs=10, most_maps=100)
    assert not released
    assert bound_programs(most_programs=9, most_maps=100)
    assert bound_programs(most_programs=10, most_maps=99)
    assert len(released) == 2


def test_maps_that_are_not_of_programs_do_not_make_it_release_again_and_again(monkeypatch):
    monkeypatch.setattr(memory, "_others", [0])
    monkeypatch.setattr(memory, "count_programs", lambda: 10)
    monkeypatch.setattr(memory, "count_maps", lambda: 8_000)
    monkeypatch.setattr(memory, "MOST_MAPS", 9_000)
    assert [bound_programs(most_maps=7_000) for _ in range(3)] == [True, False, False]
    monkeypatch.setattr(memory, "count_maps", lambda: 16_000)
    assert bound_programs(most_maps=7_000)
    assert memory._others == [9_000]  # however many there are, not all of what Linux allows is used up


def test_without_jax_nothing_is_counted_and_jax_is_not_imported():
    code = (
        "import sys; from haltere.foundation.memory import bound_programs, count_programs, release_programs;"
        "release_programs(); assert count_programs() == 0 and not bound_programs(); assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_process_that_goes_on_compiling_stays_within_bounds():
    seen = []
    for k in range(5):
        bound_programs(most_programs=10)
        for n in range(3):
            (jnp.ones(20 * k + n + 300) * 2.0).block_until_ready()
        seen.append(count_programs())
    assert max(seen) <= 10 + 15  # what one round adds
    assert min(np.diff(seen)) < 0
