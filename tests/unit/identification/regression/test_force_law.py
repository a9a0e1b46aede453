"""Regression with errors on both sides, outliers and slow disturbances; motors by output error."""

import numpy as np
import pytest
from scipy import signal
from tests.unit.identification.made_vehicle import draw, record

from haltere.flight.window import FlightWindow, IdentifyError
from haltere.identification.methods.effectiveness import LEAST_SHAPE, TOP_SIGMA
from haltere.identification.regression.force_law import MEAN_SIGMA, Regression, low_passed, regress, with_mean
from haltere.identification.regression.motors import fit_motors
from haltere.identification.regression.torque_law import torque_rows


def test_instruments_take_away_attenuation():
    rng = np.random.default_rng(0)
    clean = np.cumsum(rng.normal(size=(4000, 1)), axis=0)
    clean = clean - signal.savgol_filter(clean, 201, 2, axis=0)
    y = 3.0 * clean[:, 0] + 0.3 * rng.normal(size=4000)
    noisy = clean + 0.7 * np.std(clean) * rng.normal(size=clean.shape)
    other = clean + 0.7 * np.std(clean) * rng.normal(size=clean.shape)
    plain, told = regress(noisy, y), regress(noisy, y, other)
    assert plain.value[0] < 2.3, "errors in the regressor shrink the slope"
    assert told.value[0] == pytest.approx(3.0, abs=4 * told.sigma[0])
    assert told.sigma[0] < 0.3


def test_both_directions_agree_with_instruments():
    rng = np.random.default_rng(1)
    clean = np.sin(np.arange(3000) * 0.01 * rng.uniform(0.5, 2.0))
    x, y, z = (a * clean + 0.3 * rng.normal(size=3000) for a in (1.0, 2.0, 1.0))
    forward, backward = regress(x[:, None], y, z[:, None]), regress(y[:, None], x, z[:, None])
    assert forward.value[0] * backward.value[0] == pytest.approx(1.0, abs=3 * forward.sigma[0])


def test_outliers_do_not_matter():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 2))
    y = X @ [1.0, -2.0] + 0.1 * rng.normal(size=2000)
    y[rng.integers(0, 2000, 100)] += 50.0
    found = regress(X, y)
    np.testing.assert_allclose(found.value, [1.0, -2.0], atol=0.03)


def test_blocks_know_of_correlated_residuals():
    """Formulas for white noise cover less than half of the truths here."""
    errors, told = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        slow, x = (signal.lfilter([1.0], [1.0, -0.98], rng.normal(size=5000)) for _ in range(2))
        found = regress(x[:, None], x + slow)
        errors.append(found.value[0] - 1.0)
        told.append(found.sigma[0])
    assert 0.85 < np.mean(np.abs(errors) < 1.96 * np.array(told)) <= 1.0
    assert np.median(told) < 3.0 * np.std(errors)


@pytest.mark.parametrize("seed", [3, 4])
def test_motors(seed):
    rng = np.random.default_rng(seed)
    truth = draw(rng)
    window = FlightWindow.from_flight(record(rng, truth, 6.0))
    for fit in fit_motors(window, window.rotor_speeds):
        assert fit.time_constant == pytest.approx(truth.tau, abs=1.5e-3)
        assert fit.delay == pytest.approx(truth.dead, abs=1.5e-3)
        assert fit.top == pytest.approx(truth.top, rel=0.03)
        assert fit.explained > 0.98


def test_the_shape_of_a_curve_is_as_sure_as_its_law_fits():
    """A motor by the law that is fitted, and one of another law: narrow, and wide enough for how the shape is read."""
    rng = np.random.default_rng(7)
    truth = draw(rng)
    window = FlightWindow.from_flight(record(rng, truth, 6.0))
    command = np.clip(window.commands, 0.0, 1.0)
    bent = truth.top * (0.1 + 0.9 * command**1.7)
    straight = truth.top * (0.1 + 0.9 * (0.4 * command + 0.6 * np.sqrt(command)))
    keep = np.exp(-1.0 / (window.rate * 0.02))
    found = {}
    for name, target in (("bent", bent), ("straight", straight)):
        held = np.concatenate([target[:1], target[:-1]])
        speed = signal.lfilter([1.0 - keep], [1.0, -keep], held, axis=0, zi=keep * target[:1])[0]
        found[name] = fit_motors(window, speed + rng.normal(0.0, 1.0, speed.shape))
    for fit in found["straight"]:
        assert abs(fit.curve_shape - 0.4) < 3.0 * np.hypot(fit.sigma[2], LEAST_SHAPE)
        assert fit.sigma[2] < 0.1
    assert np.median([fit.sigma[2] for fit in found["bent"]]) > 3.0 * np.median(
        [fit.sigma[2] for fit in found["straight"]]
    )


@pytest.mark.parametrize("kind", ["kappa", "quadratic"])
def test_motors_follow_the_law_that_leaves_less(kind):
    """Of either law, with little noise: the law is found, and top speed and shape are within their deviations."""
    ratios = []
    for seed in (1, 2, 3):
        rng = np.random.default_rng(seed)
        truth = draw(rng)
        window = FlightWindow.from_flight(record(rng, truth, 8.0))
        command = np.clip(window.commands, 0.0, 1.0)
        shape = rng.uniform(0.3, 0.7)
        squared = np.sqrt(shape * command**2 + (1.0 - shape) * command)
        fraction = shape * command + (1.0 - shape) * np.sqrt(command) if kind == "kappa" else squared
        target = truth.idle + (truth.top - truth.idle) * fraction
        keep = np.exp(-1.0 / (window.rate * 0.02))
        held = np.concatenate([target[:1], target[:-1]])
        speed = signal.lfilter([1.0 - keep], [1.0, -keep], held, axis=0, zi=keep * target[:1])[0]
        for fit in fit_motors(window, speed + rng.normal(0.0, 1.0, speed.shape)):
            assert fit.law.kind == kind
            ratios.append((fit.top - truth.top) / np.hypot(fit.sigma[0], TOP_SIGMA * truth.top))
            ratios.append((fit.curve_shape - shape) / np.hypot(fit.sigma[2], LEAST_SHAPE))
            assert fit.sigma[0] < 0.02 * truth.top
    assert np.max(np.abs(ratios)) < 4.0
    assert np.mean(np.abs(ratios) < 2.0) > 0.8


def test_damping_is_no_part_of_the_rows():
    """A gyro integrated from W' = T u - D W with D of half a second each: rows within 2 %, D within 10 %."""
    rng = np.random.default_rng(6)
    truth = draw(rng)
    window = FlightWindow.from_flight(record(rng, truth, 12.0))
    step = 1.0 / window.rate
    drive = (window.rotor_speeds**2 - np.mean(window.rotor_speeds**2, axis=0)) @ truth.torque.T
    keep = np.exp(-2.0 * step)
    rates = signal.lfilter([0.25 * (1.0 - keep)] * 2, [1.0, -keep], drive, axis=0)
    made = FlightWindow(**{**vars(window), "gyro": rates + rng.normal(0.0, 0.002, rates.shape)})
    signals = low_passed(made, made.rotor_speeds, None, 25.0, 0.0, 0.0)
    for axis, row in enumerate(torque_rows(signals, with_rotor_acceleration=True)):
        size = np.max(np.abs(truth.torque[axis]))
        np.testing.assert_allclose(row.value[:4], truth.torque[axis], atol=0.02 * size)
        assert -row.value[8] == pytest.approx(2.0, rel=0.1)


def test_a_law_that_a_log_cannot_tell_from_another_is_not_sure():
    """Commands that hardly change: top speeds by both laws are in the interval, and shapes at a bound are not sure."""
    rng = np.random.default_rng(4)
    truth = draw(rng)
    window = FlightWindow.from_flight(record(rng, truth, 8.0))
    quiet = FlightWindow(**{**vars(window), "commands": 0.4 + 0.1 * (window.commands - 0.4)})
    for fit in fit_motors(quiet, window.rotor_speeds + rng.normal(0.0, 20.0, window.rotor_speeds.shape)):
        tops = [law.top for law in fit.laws]
        assert np.ptp(tops) < 2.0 * 1.96 * fit.sigma[0]
        assert fit.sigma[2] > 0.2


def test_what_is_too_short_is_refused():
    rng = np.random.default_rng(5)
    flight = record(rng, draw(rng), 1.0)
    with pytest.raises(IdentifyError, match="of flight"):
        FlightWindow.from_flight(flight)
    with pytest.raises(IdentifyError, match=r"no imu\.accel"):
        FlightWindow.from_flight(flight.without("imu.accel"))
    with pytest.raises(IdentifyError, match="neither rotor speeds nor motor commands"):
        FlightWindow.from_flight(flight.without("rotors.command").without("rotors.speed"))


def test_motors_that_slow_down_slower_than_they_speed_up():
    """Lags of 20 and 30 ms behind 4 ms of dead time, commands logged up to a sample after they took effect."""
    rng = np.random.default_rng(11)
    truth = draw(rng)
    window = FlightWindow.from_flight(record(rng, truth, 12.0))
    command = np.clip(window.commands, 0.0, 1.0)
    target = truth.top * (0.1 + 0.9 * (0.4 * command + 0.6 * np.sqrt(command)))
    fine = 10
    late = np.repeat(target, fine, axis=0)
    shift = round(0.004 * window.rate * fine)
    late = np.concatenate([np.repeat(late[:1], shift, axis=0), late[:-shift]])
    speed = np.empty_like(late)
    now = late[0]
    for k, goal in enumerate(late):
        speed[k] = now
        now = now + (goal - now) / (np.where(goal > now, 0.02, 0.03) * window.rate * fine)
    for fit in fit_motors(window, speed[::fine] + rng.normal(0.0, 1.0, target.shape)):
        assert 0.022 < fit.time_constant < 0.027
        assert abs(fit.delay - 0.004) < 5e-4


def test_a_mean_beside_is_one_sample_more():
    """As least squares with the mean as another row has it."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(3, 3))
    row = Regression(rng.normal(size=3), root @ root.T, 0.9, 1.0)
    x, y = np.array([1.0, 2.0, 0.5]), 4.0
    found = with_mean(row, x, y)
    information = np.linalg.inv(row.cov) + np.outer(x, x) / (MEAN_SIGMA * y) ** 2
    cov = np.linalg.inv(information)
    value = cov @ (np.linalg.solve(row.cov, row.value) + x * y / (MEAN_SIGMA * y) ** 2)
    np.testing.assert_allclose(found.cov, cov, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.value, value, rtol=1e-6)
