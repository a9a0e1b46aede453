"""BLAS on one thread."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from haltere.foundation.numbers import one_blas_thread


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_it_holds_within_the_scope_and_no_longer():
    assert np.ones((2, 2)).sum() == 4.0
    before = blas_threads()
    with one_blas_thread():
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_a_function_that_it_decorates_has_one_thread_even_if_it_fails():
    @one_blas_thread()
    def fail():
        raise ValueError(f"{blas_threads()}")

    before = blas_threads()
    with pytest.raises(ValueError, match=r"^\[1(, 1)*\]$"):
        fail()
    assert blas_threads() == before
