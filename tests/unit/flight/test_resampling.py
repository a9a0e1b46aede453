import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from haltere.flight import Channel, Flight, FlightError
from haltere.flight.resampling import common_clock, resample, resample_flight

MS = 1_000_000


def channel(time_ms, values, name="a"):
    return Channel(name, np.asarray(time_ms) * MS, np.asarray(values, float), "1", "world")


def at(made, time_ms, **options):
    return resample(made, np.asarray(time_ms) * MS, **options).values


def test_a_sine_is_met_within_the_bound_of_linear_interpolation():
    t = np.arange(0, 2000, 5)
    w = 2 * np.pi * 2.0
    new = np.arange(3, 1990, 7)
    found = at(channel(t, np.sin(w * t * 1e-3)), new)
    assert np.abs(found - np.sin(w * new * 1e-3)).max() < (w * 0.005) ** 2 / 8 * 1.001


def test_lines_are_met_exactly_and_samples_bit_by_bit():
    values = np.random.default_rng(0).normal(size=(50, 2, 3))
    made = channel(np.arange(50) * 10, values)
    assert resample(made, made.time) == made
    line = channel(np.arange(50) * 10, np.arange(50.0))
    assert np.allclose(at(line, [5, 123, 489]), [0.5, 12.3, 48.9], atol=1e-12)


def test_nothing_is_made_up_outside_or_inside_gaps():
    made = channel([0, 10, 20, 30, 100, 110], [0.0, 1.0, 2.0, 3.0, 10.0, 11.0])
    times = [-5, 0, 5, 30, 31, 99, 100, 105, 110, 111]
    expected = [np.nan, 0.0, 0.5, 3.0, np.nan, np.nan, 10.0, 10.5, 11.0, np.nan]
    assert np.allclose(at(made, times), expected, equal_nan=True)
    assert at(made, [65], max_gap=0.1)[0] == pytest.approx(6.5)
    assert np.isnan(at(made, [5], max_gap=0.009))[0]


def test_a_missing_sample_spoils_only_its_neighbourhood():
    made = channel([0, 10, 20, 30], [0.0, np.nan, 2.0, 3.0])
    assert np.allclose(at(made, [0, 5, 10, 15, 20, 25]), [0, np.nan, np.nan, np.nan, 2, 2.5], equal_nan=True)


def test_commands_are_held():
    made = channel([0, 10, 20, 100], [0.0, 1.0, 2.0, 3.0], "rotors.command")
    expected = [np.nan, 0.0, 0.0, 1.0, 2.0, np.nan, 3.0, 3.0]
    assert np.array_equal(at(made, [-1, 0, 9, 10, 69, 71, 100, 140]), expected, equal_nan=True)
    assert at(made, [99], max_gap=np.inf)[0] == 2.0
    assert at(made, [5], method="linear")[0] == 0.5


def test_rotations_are_interpolated_as_scipy_does():
    rng = np.random.default_rng(1)
    t = np.arange(20) * 10
    R = Rotation.random(20, rng=rng)
    wxyz = R.as_quat(scalar_first=True) * rng.choice([-1.0, 1.0], (20, 1))
    new = np.arange(1, 190, 3)
    found = Rotation.from_quat(at(channel(t, wxyz, "pose.wxyz"), new), scalar_first=True)
    assert (found.inv() * Slerp(t, R)(new)).magnitude().max() < 1e-7


def test_equal_rotations_stay():
    q = np.tile(Rotation.from_rotvec([0.1, 0.2, 0.3]).as_quat(scalar_first=True), (3, 1))
    assert np.allclose(at(channel([0, 10, 20], q, "pose.wxyz"), [5, 15]), q[:2], atol=1e-15)


def test_a_flight_gets_one_clock():
    fast = channel(np.arange(3, 1000, 5), np.arange(200.0), "fast")
    slow = channel(np.arange(0, 1000, 20), np.arange(50.0), "slow")
    found = resample_flight(Flight.of(fast, slow, airframe="x"), 100.0)
    assert np.array_equal(found["fast"].time, found["slow"].time)
    assert found["fast"].time[0] == 3 * MS
    assert found["fast"].time[-1] <= 980 * MS
    assert np.all(np.diff(found["fast"].time) == 10 * MS)
    assert np.isfinite(found["slow"].values).all()
    assert found.airframe == "x"
    assert resample_flight(Flight.of(fast, slow), 50.0, ["fast"]).names == ("fast",)


def test_a_clock_of_any_rate_does_not_drift():
    clock = common_clock([channel([0, 100_000], [0.0, 1.0])], 333.0)
    assert len(clock) == 33301
    assert clock[-1] == 100_000 * MS


def test_what_cannot_be_resampled_is_told():
    made = channel([0, 10], [0.0, 1.0])
    with pytest.raises(FlightError, match="method 'cubic'"):
        resample(made, made.time, method="cubic")
    with pytest.raises(FlightError, match=r"slerp needs quaternions \(T, 4\)"):
        resample(made, made.time, method="slerp")
    with pytest.raises(FlightError, match="max_gap 0"):
        resample(made, made.time, max_gap=0.0)
    with pytest.raises(FlightError, match="does not increase"):
        resample(made, np.array([3, 2]))
    with pytest.raises(FlightError, match="no time in common"):
        common_clock([made, channel([20, 30], [0.0, 1.0])], 10.0)
    with pytest.raises(FlightError, match="leave the empty ones out"):
        common_clock([made, channel([], [])], 10.0)
    with pytest.raises(FlightError, match="rate 0"):
        common_clock([made], 0.0)
    assert np.isnan(at(channel([], []), [1])).all()
    assert np.array_equal(at(channel([5], [2.0]), [4, 5, 6]), [np.nan, 2.0, np.nan], equal_nan=True)
