"""Which parameters show by themselves is read off the base parameters."""

import numpy as np
import pytest

from haltere.dynamics import BaseParameters
from haltere.report.evidence import ALONE, COMBINED, SILENT, parameter_verdicts
from haltere.report.story import power_of_ten


def test_verdicts_of_a_small_example():
    # Two independent columns, 2 and 0: the first row is parameter 2 alone, the second 0 together with 3.
    combinations = np.array([[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.5]])
    base = BaseParameters(2, ("a", "b", "c", "d"), (2, 0), combinations, 1e9)
    assert list(parameter_verdicts(base)) == [COMBINED, SILENT, ALONE, COMBINED]


@pytest.mark.parametrize(
    ("value", "text"), [(3.8e-11, "4×10⁻¹¹"), (9.7e-4, "1×10⁻³"), (0.0, "0"), (2.0, "2×10⁰")]
)
def test_small_numbers_are_readable(value, text):
    assert power_of_ten(value) == text
