"""References for the Lie groups: power series of matrices, summed with 60 decimal digits."""

from decimal import Decimal, localcontext
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from haltere.lie import s2, se3, so3


def _decimal(matrix):
    return np.vectorize(Decimal, otypes=[object])(np.asarray(matrix, float))


def _series(matrix, shift):
    """Return sum_n matrix^n / (n + shift)! as floats; shift 0 is the exponential, 1 the left Jacobian."""
    with localcontext() as context:
        context.prec = 60
        exact = _decimal(matrix)
        power, total = _decimal(np.eye(len(matrix))), _decimal(np.zeros_like(matrix))
        factorial = Decimal(1)
        for n in range(60):
            factorial *= (n + shift) if n + shift > 0 else 1
            total = total + power / factorial
            power = power @ exact
        return total.astype(float)


def _skew(x):
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


class Reference:
    """Exact exponentials and Jacobians from their definitions as series."""

    skew = staticmethod(_skew)

    @staticmethod
    def exp_so3(x):
        return _series(_skew(x), 0)

    @staticmethod
    def left_jacobian_so3(x):
        return _series(_skew(x), 1)

    @staticmethod
    def exp_se3(x):
        matrix = np.zeros((4, 4))
        matrix[:3, :3], matrix[:3, 3] = _skew(x[3:]), x[:3]
        return _series(matrix, 0)

    @staticmethod
    def ad(x):
        return np.block([[_skew(x[3:]), _skew(x[:3])], [np.zeros((3, 3)), _skew(x[3:])]])

    @classmethod
    def left_jacobian_se3(cls, x):
        return _series(cls.ad(x), 1)


@pytest.fixture(scope="session")
def reference():
    return Reference()


def error(got, expected):
    """Return the largest difference, relative to the largest element of the expected array."""
    scale = np.max(np.abs(expected))
    return float(np.max(np.abs(np.asarray(got) - expected)) / (scale or 1.0))


@pytest.fixture(scope="session")
def relative_error():
    return error


def compiled(module):
    names = [name for name in dir(module) if callable(getattr(module, name)) and name[0] != "_"]
    return SimpleNamespace(**{name: jax.jit(getattr(module, name)) for name in names if name[0].islower()})


@pytest.fixture(scope="session")
def compiled_so3():
    """The functions of `so3`, each compiled once for all tests."""
    return compiled(so3)


@pytest.fixture(scope="session")
def compiled_se3():
    return compiled(se3)


@pytest.fixture(scope="session")
def compiled_s2():
    return compiled(s2)
