import numpy as np
import pytest
from scipy import stats

from haltere.flight import Channel, FlightError, nanoseconds
from haltere.flight.delay import estimate_delay


def motion(rng, count=40, highest=8.0, columns=1):
    """Return a smooth random function of time (T,) with values (T, columns)."""
    f, phase = rng.uniform(0.2, highest, (count, columns)), rng.uniform(0.0, 7.0, (count, columns))
    size = rng.normal(size=(count, columns)) / np.sqrt(count) if count > 1 else np.ones((1, columns))
    return lambda t: (size * np.sin(2 * np.pi * f * t[:, None, None] + phase)).sum(axis=1)


def channel(name, t, values, noise, rng):
    return Channel(name, nanoseconds(t), values + noise * rng.normal(size=values.shape), "1", "")


def pair(seed, noise=0.1, rates=(200.0, 200.0), duration=10.0, gain=1.0, count=40, columns=1, highest=8.0):
    rng = np.random.default_rng(seed)
    x, delay = motion(rng, count, highest, columns), rng.uniform(-0.1, 0.1)
    ta, tb = np.arange(0.0, duration, 1 / rates[0]), np.arange(0.0013, duration, 1 / rates[1])
    a = channel("a", ta, x(ta), noise, rng)
    b = channel("b", tb, gain * x(tb - delay) + 3.0, abs(gain) * noise, rng)
    return a, b, delay


@pytest.mark.parametrize(
    "case",
    [
        {"noise": 0.02},
        {"noise": 0.3},
        {"noise": 0.3, "rates": (200.0, 50.0)},
        {"noise": 1.0, "duration": 30.0},
        {"noise": 0.1, "count": 1, "highest": 1.0},
        {"noise": 0.3, "columns": 3},
    ],
    ids=str,
)
def test_delays_are_found_within_their_sigma(case):
    errors, seconds = [], []
    for seed in range(24):
        a, b, delay = pair(seed, **case)
        found = estimate_delay(a, b, max_delay=0.2)
        errors.append((found.seconds - delay) / found.sigma)
        seconds.append(found.sigma)
    low, high = stats.chi2.ppf([1e-4, 1.0 - 1e-4], len(errors))
    assert 0.2 * low < np.sum(np.square(errors)) < 1.3 * high
    assert np.median(seconds) < 0.4 / 200.0, "finer than one sampling interval"


def test_without_noise_next_to_nothing_is_left():
    for seed in range(3):
        a, b, delay = pair(seed, noise=0.0)
        found = estimate_delay(a, b, max_delay=0.2)
        assert found.seconds == pytest.approx(delay, abs=3e-6)
        assert found.correlation == pytest.approx(1.0, abs=1e-6)


def test_the_sign_of_the_delay_and_of_the_gain():
    a, b, delay = pair(5, gain=-2.0)
    found = estimate_delay(a, b, max_delay=0.2, either_sign=True)
    assert abs(found.seconds - delay) < 4 * found.sigma
    assert found.correlation < -0.9
    back = estimate_delay(b, a, max_delay=0.2, either_sign=True)
    assert back.seconds == pytest.approx(-found.seconds, abs=found.sigma)


def test_a_lag_that_is_no_delay_has_a_larger_sigma():
    a, b, _ = pair(6, noise=0.01)
    straight = estimate_delay(a, b, max_delay=0.2)
    lagged = np.empty_like(b.values)
    lagged[0] = b.values[0]
    for k in range(1, len(lagged)):
        lagged[k] = 0.9 * lagged[k - 1] + 0.1 * b.values[k]
    bent = estimate_delay(a, Channel("b", b.time, lagged, "1", ""), max_delay=0.3)
    assert bent.seconds - straight.seconds > 0.01
    assert bent.sigma > 3 * straight.sigma


def test_the_longest_common_stretch_is_used():
    a, b, delay = pair(7, duration=20.0)
    values = b.values.copy()
    values[500] = np.nan
    found = estimate_delay(a, Channel("b", b.time, values, "1", ""), max_delay=0.2)
    assert abs(found.seconds - delay) < 5 * found.sigma


def test_what_cannot_be_compared_is_told():
    a, b, _ = pair(8)
    rng = np.random.default_rng(9)
    noise = Channel("n", a.time, rng.normal(size=a.values.shape), "1", "")
    with pytest.raises(FlightError, match="nothing in common"):
        estimate_delay(noise, Channel("m", b.time, rng.normal(size=b.values.shape), "1", ""))
    with pytest.raises(FlightError, match=r"at least .* s are needed"):
        estimate_delay(a, b, max_delay=9.0)
    with pytest.raises(FlightError, match="choose columns that belong together"):
        estimate_delay(a, Channel("b", b.time, np.ones((len(b), 2)), "1", ""))
    with pytest.raises(FlightError, match="max_delay 0"):
        estimate_delay(a, b, max_delay=0.0)
    with pytest.raises(FlightError, match="holds quaternions"):
        estimate_delay(Channel("p.wxyz", a.time, np.ones((len(a), 4)), "1", ""), b)
