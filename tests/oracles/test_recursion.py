"""Recursive filters against those of SciPy, which shares no code with ours."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import signal

from haltere.flight import Butterworth, FlightError
from haltere.flight.recursion import both_ways, butterworth, middle_of_three, one_way, recursed


def walk(count, *columns):
    return np.random.default_rng(7).normal(size=(count, *columns)).cumsum(axis=0)


@pytest.mark.parametrize("order", range(1, 9))
@pytest.mark.parametrize("kind", ["low", "high"])
def test_sections_are_those_of_scipy(order, kind):
    for cutoff in (0.3, 37.0, 240.0):
        theirs = signal.butter(order, cutoff, f"{kind}pass", output="sos", fs=500.0)
        ours = butterworth(order, cutoff, 500.0, kind)
        w = np.linspace(0.0, 249.0, 200)
        a, b = (signal.freqz_sos(sections, w, fs=500.0)[1] for sections in (ours, theirs))
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2)])
def test_both_ways_is_what_scipy_does(order, shape):
    x = walk(400, *shape)
    sections = signal.butter(order, 20.0, output="sos", fs=500.0)
    for pad in (None, 0, 5, 399):
        theirs = signal.sosfiltfilt(sections, x, axis=0, padlen=pad)
        np.testing.assert_allclose(both_ways(sections, x, pad), theirs, rtol=0, atol=1e-10)


def test_one_way_begins_at_rest():
    x = walk(300, 2)
    sections = signal.butter(4, 30.0, output="sos", fs=500.0)
    begin = signal.sosfilt_zi(sections)[:, :, None] * x[0]
    theirs = signal.sosfilt(sections, x, axis=0, zi=begin)[0]
    np.testing.assert_allclose(one_way(sections, x), theirs, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("top", "bottom"), [([0.1], [1.0, -0.9]), ([0.2, 0.3], [1.0, -0.5]), ([0.5], [1.0, 0.0])]
)
def test_a_recursion_is_that_of_scipy(top, bottom):
    x, state = walk(250, 3), np.array([[1.0, -2.0, 3.0]])
    np.testing.assert_allclose(
        recursed(top, bottom, x, state),
        signal.lfilter(top, bottom, x, axis=0, zi=state)[0],
        rtol=0,
        atol=1e-12,
    )
    np.testing.assert_allclose(
        recursed(top, bottom, x), signal.lfilter(top, bottom, x, axis=0), rtol=0, atol=1e-12
    )
    assert recursed(top, bottom, x[:1]).shape == (1, 3)
    assert recursed(top, bottom, x[:0]).shape == (0, 3)


def test_middle_of_three_is_the_median():
    x = walk(101, 2)
    for count in (3, 4, 101):
        np.testing.assert_array_equal(middle_of_three(x[:count]), signal.medfilt(x[:count], (3, 1)))
    assert middle_of_three(x[:1]).shape == (1, 2)


def test_gain_and_delay_are_those_of_scipy():
    f = np.array([0.0, 3.0, 20.0, 90.0])
    for order in (1, 2, 5):
        low_pass = Butterworth(20.0, order, zero_phase=False)
        sections = low_pass.sections(200.0)
        np.testing.assert_allclose(
            low_pass.gain(f, 200.0), np.abs(signal.freqz_sos(sections, f, fs=200.0)[1]), atol=1e-12
        )
        delays = sum(signal.group_delay((s[:3], s[3:]), f, fs=200.0)[1] for s in sections)
        np.testing.assert_allclose(low_pass.group_delay(f, 200.0), delays / 200.0, rtol=1e-9)


def test_too_few_samples_are_refused():
    with pytest.raises(FlightError, match="9 samples; more than 9"):
        both_ways(butterworth(2, 20.0, 500.0), np.zeros((9, 1)))
    with pytest.raises(FlightError, match="half the rate"):
        butterworth(2, 250.0, 500.0)


def test_identify_does_without_packages_that_are_slow_to_import():
    slow = ("scipy.signal", "scipy.stats", "plotly", "matplotlib", "pandas", "mujoco", "casadi")
    code = f"import sys, haltere.identification.identify; print([m for m in {slow} if m in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert found.stdout.strip() == "[]"
