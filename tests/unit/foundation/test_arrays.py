"""64-bit numbers within a scope, whatever the host's setting is."""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.dynamics import Model
from haltere.foundation import HaltereError
from haltere.foundation.arrays import double_precision, has_double_precision, to_float64, to_numpy
from haltere.foundation.errors import PrecisionError
from haltere.foundation.programs import CachedProgram


@pytest.fixture
def host32():
    """A host that computes with 32 bits, in this thread."""
    with jax.enable_x64(False):
        yield


@double_precision()
def third(x):
    """A third, computed by JAX."""
    return np.asarray(jnp.asarray(x) / 3.0)


def test_a_function_computes_with_64_bits_and_leaves_the_host_alone(host32):
    assert not has_double_precision()
    assert third(1.0) == 1.0 / 3.0
    assert not has_double_precision()
    assert jnp.ones(1).dtype == jnp.float32
    with double_precision(), double_precision():
        assert has_double_precision()
    assert not has_double_precision()


def test_an_error_inside_ends_the_scope(host32):
    with pytest.raises(ValueError, match="no"), double_precision():
        raise ValueError("no")
    assert not has_double_precision()


def test_a_thread_enters_the_scope_itself(host32):
    def narrow(function):
        with jax.enable_x64(False):
            return function(1.0)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(narrow, third).result() == 1.0 / 3.0
        plain = pool.submit(narrow, lambda x: jnp.asarray(x) / 3.0).result()
        assert plain.dtype == jnp.float32


def test_inside_a_traced_function_of_32_bits_the_scope_is_refused(host32):
    def caller(x):
        return x + third(1.0)

    with pytest.raises(
        PrecisionError, match=r"jax\.jit traces with 32 bits, 64 are expected; call it outside"
    ):
        jax.jit(caller)(1.0)
    with jax.enable_x64(True):
        with pytest.raises(jax.errors.TracerArrayConversionError):
            jax.jit(third)(1.0)
        assert jax.jit(double_precision()(lambda x: x / 3.0))(1.0) == 1.0 / 3.0


def test_what_leaves_the_scope_is_numpy(host32):
    class Pair(NamedTuple):
        one: object
        two: object

    with double_precision():
        pair = to_numpy(Pair(jnp.ones(2) / 3.0, {"name": "x", "count": 3}))
        key = to_numpy(jax.random.key(1))
    assert isinstance(pair.one, np.ndarray)
    assert pair.one.dtype == np.float64
    assert pair.two == {"name": "x", "count": 3}
    assert isinstance(key, jax.Array)


def test_readings_become_float64_or_are_refused(host32):
    assert to_float64([1, 2]).dtype == np.float64
    assert to_float64(np.float32(0.5)) == 0.5
    with pytest.raises(PrecisionError, match="traced array of float32, float64 is expected"):
        jax.vmap(to_float64)(jnp.ones(2))
    with jax.enable_x64(True):
        np.testing.assert_array_equal(jax.vmap(to_float64)(jnp.ones(2)), [1.0, 1.0])


def test_a_kept_program_knows_its_precision():
    program = CachedProgram(lambda x: x / 3.0, "third", 0)
    with jax.enable_x64(False):
        narrow = program(np.float64(1.0))
        with double_precision():
            assert program(np.float64(1.0)) == 1.0 / 3.0
        assert program(np.float64(1.0)).dtype == narrow.dtype == jnp.float32


def test_a_model_is_never_narrowed_silently(host32):
    airframe = from_catalogue("hummingbird")
    with pytest.raises(HaltereError, match="32 bits, 64 are expected for a model"):
        Model.from_airframe(airframe)
    assert Model.from_airframe(airframe, jnp.float32).dtype == jnp.float32
    with double_precision():
        assert Model.from_airframe(airframe).dtype == jnp.float64
