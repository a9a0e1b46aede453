import numpy as np
import pytest
from scipy import signal

from haltere.flight import Channel, Flight, FlightError
from haltere.flight.filters import Butterworth

RATE = 200.0


def sampled(values, rate=RATE, name="imu.gyro"):
    values = np.asarray(values)
    return Channel(
        name, np.rint(np.arange(len(values)) * 1e9 / rate).astype(np.int64), values, "rad/s", "imu"
    )


def wave(frequency, count=4000, rate=RATE, delay=0.0):
    return np.sin(2 * np.pi * frequency * (np.arange(count) / rate - delay))


@pytest.mark.parametrize("order", [1, 2, 3, 8])
@pytest.mark.parametrize("cutoff", [0.5, 10.0, 90.0])
def test_the_cutoff_is_where_half_the_power_is_left(order, cutoff):
    for zero_phase in (True, False):
        low_pass = Butterworth(cutoff, order, zero_phase)
        assert low_pass.gain(cutoff, RATE)[0] == pytest.approx(0.5**0.5, rel=1e-6)
        assert low_pass.gain(0.0, RATE)[0] == pytest.approx(1.0, rel=1e-6)


def test_the_response_is_that_of_the_equation():
    frequency = np.linspace(0.1, 99.0, 50)
    ratio = np.tan(np.pi * frequency / RATE) / np.tan(np.pi * 15.0 / RATE)
    causal = 1.0 / np.sqrt(1.0 + ratio**6)
    assert np.allclose(Butterworth(15.0, 3, zero_phase=False).gain(frequency, RATE), causal, atol=1e-12)
    both_ways = 1.0 / (1.0 + (np.sqrt(2.0) - 1.0) * ratio**6)
    assert np.allclose(Butterworth(15.0, 3).gain(frequency, RATE), both_ways, atol=1e-12)


@pytest.mark.parametrize("frequency", [1.0, 7.0, 20.0])
def test_without_phase_a_sine_keeps_its_place(frequency):
    low_pass = Butterworth(10.0)
    found = low_pass.apply(sampled(wave(frequency))).values
    expected = low_pass.gain(frequency, RATE)[0] * wave(frequency)
    assert np.abs(found - expected)[400:-400].max() < 1e-6


@pytest.mark.parametrize("order", [1, 2, 5])
def test_a_causal_filter_delays_slow_signals_as_it_says(order):
    low_pass = Butterworth(20.0, order, zero_phase=False)
    delay = low_pass.delay(RATE)
    found = low_pass.apply(sampled(wave(0.5))).values
    assert np.abs(found - wave(0.5, delay=delay))[1000:].max() < 1e-3
    assert delay > 0.005
    assert Butterworth(20.0, order).delay(RATE) == 0.0


def test_the_group_delay_is_minus_the_slope_of_the_phase():
    low_pass = Butterworth(20.0, 4, zero_phase=False)
    frequency, step = np.array([0.0, 5.0, 25.0]), 1e-4
    _, response = signal.freqz_sos(
        low_pass.sections(RATE), np.concatenate([frequency + step, frequency - step]) % RATE, fs=RATE
    )
    phases = np.angle(response[:3] / response[3:])
    assert np.allclose(low_pass.group_delay(frequency, RATE), -phases / (4 * np.pi * step), rtol=1e-5)


def test_a_constant_stays_and_starts_without_a_jump():
    for low_pass in (Butterworth(5.0), Butterworth(5.0, zero_phase=False)):
        found = low_pass.apply(sampled(np.full((50, 2), 3.0)))
        assert np.allclose(found.values, 3.0, atol=1e-9)


def test_many_channels_are_filtered_alike():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 3))
    flight = Flight.of(sampled(x, name="a"), sampled(2.0 * x[:, 0], name="b"), sampled(x, name="c"))
    found = Butterworth(8.0, 3, zero_phase=False).apply_to(flight, ["a", "b"])
    assert np.allclose(found["b"].values, 2.0 * found["a"].values[:, 0], atol=1e-12)
    assert found["c"] == flight["c"]
    assert (found["a"].unit, found["a"].frame) == ("rad/s", "imu")


def test_gaps_and_missing_values_part_the_signal():
    x = np.concatenate([np.zeros(100), np.full(100, 5.0)])
    x[60] = np.nan
    whole = sampled(x)
    time = whole.time.copy()
    time[100:] += 1_000_000_000
    found = Butterworth(5.0).apply(Channel("a", time, x, "1", "")).values
    assert np.isnan(found[60])
    assert np.abs(np.delete(found[:100], 60)).max() < 1e-9, "nothing crosses the gap"
    assert np.allclose(found[100:], 5.0)


def test_a_single_sample_between_gaps_stays():
    x = np.array([1.0, 1.0, 1.0, np.nan, 4.0, np.nan, 1.0, 1.0, 1.0])
    for low_pass in (Butterworth(20.0), Butterworth(20.0, zero_phase=False)):
        assert low_pass.apply(sampled(x)).values[4] == pytest.approx(4.0)


def test_what_cannot_be_filtered_is_told():
    x = np.zeros(100)
    with pytest.raises(FlightError, match="less than half the sampling rate of 200 Hz"):
        Butterworth(100.0).apply(sampled(x))
    with pytest.raises(FlightError, match="cutoff -1"):
        Butterworth(-1.0)
    with pytest.raises(FlightError, match="order 9"):
        Butterworth(1.0, 9)
    with pytest.raises(FlightError, match="holds quaternions"):
        Butterworth(1.0).apply(sampled(np.ones((100, 4)), name="pose.wxyz"))
    with pytest.raises(FlightError, match="at least 3"):
        Butterworth(1.0).apply(sampled(x[:2]))
    time = np.cumsum(np.random.default_rng(0).integers(1_000_000, 9_000_000, 100))
    with pytest.raises(FlightError, match="sampled irregularly"):
        Butterworth(1.0).apply(Channel("a", time, x, "1", ""))
