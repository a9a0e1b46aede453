"""The result of a recorded throw: rows and motors with deviations that cover the truth.

Deviations are those of `haltere.identification.methods.throw.jackknife`, together with floors of the method, as
shares of the largest number of a row, from simulated throws with exact truth and from throws of one vehicle after the
other. Of the forces along z the sum is known best: what the vehicle hovers with. It is reported beside the rows with
their covariance.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from haltere.airframe import Airframe
from haltere.flight import Flight
from haltere.flight.filters import fill_gaps
from haltere.flight.window import HELD_OUT, FlightWindow
from haltere.foundation.numbers import Floats
from haltere.identification.known import Known
from haltere.identification.methods.absolute import absolute_parameters
from haltere.identification.methods.base import MethodResult
from haltere.identification.methods.effectiveness import (
    effectiveness_covariance,
    effectiveness_parameters,
    imu_position_parameters,
)
from haltere.identification.methods.effectiveness_fit import EffectivenessFit
from haltere.identification.methods.throw.motors import ThrowMotor, fit_throw_motors
from haltere.identification.methods.throw.rows import (
    ThrowRows,
    fit_throw,
    predicted_acceleration,
)
from haltere.identification.methods.throw.signals import ThrowSettings
from haltere.identification.parameters import Parameter
from haltere.identification.regression import force_law
from haltere.identification.result import Prediction

SETTINGS = ThrowSettings()


def identify_throw(
    flight: Flight,
    window: FlightWindow,
    throw_span: tuple[float, float],
    airframe: Airframe | None,
    known: Mapping[str, Known],
    rotated: bool,
) -> MethodResult:
    """Identify a vehicle from a throw; `rotated` if the IMU is rotated against the body."""
    result = MethodResult()
    start, end = throw_span
    fit = fit_throw(flight, start, end, rotated=rotated)
    motors = fit_throw_motors(flight, start, min(start + SETTINGS.spin_up, end))
    end = min(end, fit.end)
    rows = as_rows(window, fit, start, end)
    total = float(np.sum(fit.force[2])), float(np.sqrt(np.sum(rows.force_cov)))
    result.parameters += effectiveness_parameters(window, rows)
    result.parameters += _motors(window.rotor_names, motors)
    result.parameters += imu_position_parameters(rows)
    absolute_parameters(result, window, rows, airframe, known, exact_force=False)
    result.covariance = effectiveness_covariance(window, rows, result.parameters)
    split = end - HELD_OUT * (end - start)
    if end - split > 1.0:
        early = fit_throw(flight, start, split, rotated=rotated)
        result.predictions += _predictions(flight, early, split, end)
    result.curves = {n: motor.kind for n, motor in zip(window.rotor_names, motors, strict=True)}
    result.fit.update(
        start=start,
        end=end,
        rotor_speed_delay=fit.delay,
        accelerometer_lag=fit.lag,
        force_sum=total[0],
        force_sum_sigma=total[1],
        motors=[{"name": n, "rms": m.residual} for n, m in zip(window.rotor_names, motors, strict=True)],
    )
    return result


def as_rows(window: FlightWindow, fit: ThrowRows, start: float, end: float) -> EffectivenessFit:
    """The rows of a throw with deviations, as those of a flight."""
    assert window.rotor_speeds is not None
    inside = (window.time >= start) & (window.time <= end)
    finite = np.isfinite(window.gyro).all(axis=1) & np.isfinite(window.rotor_speeds).all(axis=1)
    whole = force_law.low_passed(
        replace(window, valid=inside & finite),
        fill_gaps(window.rotor_speeds),
        None,
        SETTINGS.cutoff,
        fit.delay,
        fit.lag,
    )
    flown = force_law.low_passed(
        window, fill_gaps(window.rotor_speeds), None, SETTINGS.cutoff, fit.delay, fit.lag
    )
    m = window.rotor_count
    table = np.concatenate([fit.force, fit.torque, fit.reaction])
    size = np.max(np.abs(table), axis=1)
    size[[0, 1]], size[[6, 7]] = size[2], np.maximum(size[8], size[[6, 7]])
    assert fit.force_cov is not None
    assert fit.torque_cov is not None
    scatter = np.concatenate(
        [
            np.diagonal(fit.force_cov, axis1=1, axis2=2),
            *np.split(np.diagonal(fit.torque_cov, axis1=1, axis2=2), [m], axis=1),
        ]
    )
    floors = np.array(SETTINGS.floors) * size
    sigma = np.sqrt(scatter + floors[:, None] ** 2)
    # Rotors that hover are driven alike: their sum is known far better than each of them.
    apart = np.eye(m) - 1.0 / m
    force_cov = fit.force_cov[2] + floors[2] ** 2 * apart + (SETTINGS.sum_floor * np.mean(fit.force[2])) ** 2
    sigma[2] = np.sqrt(np.diagonal(force_cov))
    torque_cov = np.stack(
        [cov[:m, :m] + floor**2 * np.eye(m) for cov, floor in zip(fit.torque_cov, floors[3:6], strict=True)]
    )
    deviation = np.std(np.concatenate([whole.force, whole.angular_acceleration], axis=1)[whole.valid], axis=0)
    share = 1.0 - (fit.residual / np.maximum(deviation, 1e-12)) ** 2
    share[3:] = np.maximum(share[3:], 0.5)  # a throw drives every axis; residuals are of differences
    return EffectivenessFit(
        fit.force,
        fit.torque,
        fit.reaction,
        sigma,
        force_cov,
        torque_cov,
        share,
        fit.imu_position,
        np.full(3, SETTINGS.imu_position_sigma),
        np.zeros(2),
        (fit.delay, 5e-4),
        fit.lag,
        np.zeros(6),
        (np.zeros(3), np.zeros(3)),
        SETTINGS.cutoff,
        flown if flown.valid.sum() > 50 * m else whole,
        (),
    )


def _motors(names: tuple[str, ...], motors: list[ThrowMotor]) -> list[Parameter]:
    fit = []
    for rotor, motor in zip(names, motors, strict=True):
        path, top = f"rotors.{rotor}", motor.max_speed
        rough = min(motor.residual / max(top, 1.0), 0.1)
        tau = float(
            np.sqrt((0.04 * motor.time_constant) ** 2 + 0.8e-3**2 + (rough * motor.time_constant) ** 2)
        )
        idle = float(
            np.hypot(0.02 * motor.idle_speed, 0.5 * motor.residual / np.sqrt(SETTINGS.spin_up / tau))
        )
        fit += [
            Parameter.measured(
                f"{path}.max_speed", top, (0.015 + rough) * top, "rad/s", "use more throttle", True
            ),
            Parameter.measured(f"{path}.idle_speed", motor.idle_speed, idle, "rad/s", "", True),
            Parameter.measured(
                f"{path}.curve", motor.curve, 0.035 + rough, "1", "use the whole range of the throttle"
            ),
            Parameter.measured(f"{path}.time_constant", motor.time_constant, tau, "s", "log faster", True),
            Parameter.measured(f"{path}.delay", motor.delay, 6e-4, "s", "log faster", True),
        ]
    return fit


def _predictions(flight: Flight, rows: ThrowRows, start: float, end: float) -> list[Prediction]:
    measured, made = predicted_acceleration(rows, flight, start, end)
    time = np.linspace(start, end, len(measured))
    fit = []
    for k, axis in enumerate("xyz"):
        a, b = _level(measured[:, k]), _level(made[:, k])
        fit.append(Prediction(f"angular_acceleration.{axis}", "rad/s2", time, a, b))
    return fit


def _level(values: Floats) -> Floats:
    """Slow torques are the air's: the mean is taken off."""
    return np.asarray(values - np.mean(values))
