import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from haltere.flight import Channel, FlightError
from haltere.flight.derivatives import angular_velocity, derivative

RATE = 200.0
T = np.arange(2000) / RATE


def sampled(values, name="truth.position", unit="m"):
    return Channel(name, np.rint(T[: len(values)] * 1e9).astype(np.int64), values, unit, "world")


def test_polynomials_are_differentiated_exactly_up_to_the_ends():
    x = np.column_stack([T**3 - T, 2.0 * T**2])
    once, twice = derivative(sampled(x), 5.0), derivative(sampled(x), 5.0, order=2)
    assert np.allclose(once.channel.values, np.column_stack([3 * T**2 - 1, 4 * T]), atol=1e-7)
    assert np.allclose(twice.channel.values, np.column_stack([6 * T, 4 + 0 * T]), atol=1e-5)
    assert (once.channel.unit, twice.channel.unit) == ("m/s", "m/s2")
    assert (once.channel.name, twice.channel.name) == ("truth.position_dot", "truth.position_ddot")
    assert derivative(sampled(x, unit="furlong"), 5.0, order=2).channel.unit == "(furlong)/s2"


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("asked", [1.0, 5.0, 20.0])
def test_the_bandwidth_told_is_where_half_the_power_is_left(order, asked):
    bandwidth = derivative(sampled(T), asked, order).bandwidth
    assert asked <= bandwidth < 1.35 * asked
    w = 2 * np.pi * bandwidth
    found = derivative(sampled(np.sin(w * T)), asked, order).channel.values
    ideal = w * np.cos(w * T) if order == 1 else -(w**2) * np.sin(w * T)
    middle = slice(len(T) // 4, -len(T) // 4)
    assert np.allclose(found[middle], 0.5**0.5 * ideal[middle], atol=2e-3 * w**order)


@pytest.mark.parametrize("order", [1, 2])
def test_the_noise_told_is_what_comes_out(order):
    noise = np.random.default_rng(0).normal(size=(2000, 20))
    found = derivative(sampled(noise), 10.0, order)
    assert found.channel.values[100:-100].std() == pytest.approx(found.noise_gain, rel=0.03)


def test_angular_velocity_of_a_tumbling_body():
    rng = np.random.default_rng(3)
    w0 = np.array([3.0, -2.0, 5.0])
    R = Rotation.from_rotvec(rng.normal(size=3)) * Rotation.from_rotvec(T[:, None] * w0)
    wxyz = R.as_quat(scalar_first=True) * rng.choice([-1.0, 1.0], (len(T), 1))
    found = angular_velocity(sampled(wxyz, "truth.wxyz", "1"), 20.0, "w", frame="body")
    assert np.abs(found.channel.values - w0).max() < 1e-3
    assert (found.channel.unit, found.channel.frame) == ("rad/s", "body")


def test_angular_velocity_is_in_the_axes_of_the_body():
    angles = np.column_stack([0.5 * np.sin(3 * T), 0.4 * np.cos(2 * T), 2 * T])
    R = Rotation.from_euler("xyz", angles)
    steps = (R[:-1].inv() * R[1:]).as_rotvec() * RATE  # in body axes, at half intervals
    wxyz = R.as_quat(scalar_first=True)
    found = angular_velocity(sampled(wxyz, "truth.wxyz", "1"), 25.0, "w").channel.values
    assert np.abs(0.5 * (found[1:] + found[:-1]) - steps)[20:-20].max() < 5e-3


def test_short_stretches_have_no_derivative():
    x = T[:200].copy()
    x[100] = x[110] = np.nan
    found = derivative(sampled(x), 5.0).channel.values
    assert np.isnan(found[100:111]).all()
    assert np.allclose(np.delete(found, range(100, 111)), 1.0)


def test_what_cannot_be_differentiated_is_told():
    with pytest.raises(FlightError, match="at most"):
        derivative(sampled(T), 99.0)
    with pytest.raises(FlightError, match="bandwidth -1"):
        derivative(sampled(T), -1.0)
    with pytest.raises(FlightError, match="order 3"):
        derivative(sampled(T), 5.0, order=3)
    with pytest.raises(FlightError, match="use angular_velocity"):
        derivative(sampled(np.ones((2000, 4)), "pose.wxyz"), 5.0)
    with pytest.raises(FlightError, match="ask for more bandwidth"):
        derivative(sampled(T[:20]), 0.5)
    with pytest.raises(FlightError, match=r"give quaternions \(T, 4\)"):
        angular_velocity(sampled(T), 5.0, "w")
