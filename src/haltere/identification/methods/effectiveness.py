"""The result of a log with rotor speeds: effectiveness, motors, what is absolute, and what was not identified."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from haltere.airframe import Airframe
from haltere.airframe.rigid import RigidAirframe
from haltere.flight.filters import fill_gaps
from haltere.flight.window import FlightWindow
from haltere.foundation.numbers import Floats
from haltere.foundation.verdict import arm_length
from haltere.identification.known import Known
from haltere.identification.methods.absolute import absolute_parameters, inertia_ratios, thrust_to_weight
from haltere.identification.methods.airframe import with_airframe
from haltere.identification.methods.base import (
    AXES,
    EXCITE_AXIS,
    HeldOut,
    Method,
    MethodInput,
    MethodResult,
    predict_accelerations,
)
from haltere.identification.methods.effectiveness_fit import (
    ROWS,
    EffectivenessFit,
    EffectivenessSettings,
    fit_effectiveness,
)
from haltere.identification.parameters import Parameter
from haltere.identification.regression import force_law
from haltere.identification.regression.motors import MotorFit
from haltere.identification.result import Covariance, Prediction

if TYPE_CHECKING:
    from haltere.identification.regression.nominal_rows import NominalRotors

SETTINGS = EffectivenessSettings()
LOGGED_AFTER = (0.4, 0.35)
"""Time since a command took effect when it is logged, mean and deviation, periods."""
LAG_SIGMA = 0.005
"""Relative deviation of a motor's time constant, at least."""
UNLOGGED = 0.3
"""Deviation of a time constant, samples: commands may change between two that are logged."""
BIASED = 0.75
"""Relative deviation of a time constant over the square of the share of the speed that is not explained."""
LIKE_DELAY = 1.5
"""How much of what a motor does otherwise than the model looks like another dead time."""
TOP_SIGMA = 0.0003
"""Relative deviation of a motor's top speed, at least."""
LEAST_SHAPE = 0.0005
"""Deviation of the shape of a motor's curve, at least."""
LARGEST = 1.0
"""Deviation of a rotor's effectiveness about an axis over what is usual in its row, from which only sums are known,
where another rotor's is correlated with it by `ALIKE`."""
ALIKE = 0.4
ONE_BY_ONE = "excite the rotors one against another: they were driven alike, only sums of them are known"
CONTRADICTS = (
    "the airframe file contradicts the log: its rotors are elsewhere, in another order, or they spin the other way; "
    "nothing of it is used for the rows of effectiveness"
)
UNITS = ("m/s2/(rad/s)2",) * 3 + ("rad/s2/(rad/s)2",) * 3


def identify_effectiveness(
    window: FlightWindow,
    airframe: Airframe | None,
    known: Mapping[str, Known],
    exact_force: bool,
    *,
    predict: bool = True,
    join: bool = False,
) -> MethodResult:
    """Identify a vehicle from a log with rotor speeds.

    Args:
        window: The flying part of the log.
        airframe: The nominal vehicle, if one is given.
        known: Numbers that were measured otherwise.
        exact_force: Whether the specific force was computed from gravity and a pose, so that its scale is right.
        predict: Whether the end of the flight is predicted from what comes before it, too.
        join: Whether rows are joined with those of the airframe.
    """
    result = MethodResult()
    drawn = RigidAirframe.from_airframe(airframe) if airframe is not None else None
    rows = fit_effectiveness(
        window,
        nominal_imu_position=drawn.lever
        if drawn is not None and airframe is not None and airframe.imu
        else None,
        arm=(arm_length(drawn.positions) or 0.0) if drawn is not None else 0.0,
        leaning=drawn is not None and _lean(drawn.forces),
        stated_law=_stated_law(airframe),
        nominal=_nominal_rotors(drawn, window)
        if join and airframe is not None and not airframe.links
        else None,
    )
    if rows.agreement is not None:
        result.fit["airframe_agreement"] = rows.agreement.probability
        result.notes += [] if rows.joined else [CONTRADICTS]
    result.parameters += effectiveness_parameters(window, rows)
    result.parameters += motor_parameters(window, rows.motors)
    result.curves = {n: fit.law.kind for n, fit in zip(window.rotor_names, rows.motors, strict=False)}
    result.parameters += imu_position_parameters(rows)
    result.parameters += [*inertia_ratios(rows), thrust_to_weight(rows)]
    absolute_parameters(result, window, rows, airframe, known, exact_force)
    result.covariance = effectiveness_covariance(window, rows, result.parameters)
    result.predictions += _predictions(window, rows) if predict else []
    result.fit.update(
        cutoff=rows.cutoff,
        rotor_speed_delay=rows.delay[0],
        rotor_speed_delay_sigma=rows.delay[1],
        accelerometer_lag=rows.lag,
        explained={name: float(np.clip(x, -9.0, 1.0)) for name, x in zip(ROWS, rows.r_squared, strict=True)},
        damping={name: float(x) for name, x in zip(("p", "q", "r"), rows.damping, strict=True)},
        both_ways_sigma={name: float(x) for name, x in zip(ROWS, rows.both_ways, strict=True)},
        motors=[
            {"name": n, "rms": f.residual, "explained": f.explained}
            for n, f in zip(window.rotor_names, rows.motors, strict=False)
        ],
    )
    return result


def _stated_law(airframe: Airframe | None) -> str:
    """The kind of curve that all rotors of an airframe have, or none."""
    kinds = (
        {rotor.curve.kind if rotor.curve is not None else "" for rotor in airframe.rotors}
        if airframe
        else {""}
    )
    return kinds.pop() if len(kinds) == 1 else ""


def _nominal_rotors(airframe: RigidAirframe | None, window: FlightWindow) -> "NominalRotors | None":
    """The rotors of the airframe in the order of the log; None if they are others."""
    if airframe is None or airframe.names != window.rotor_names:
        return None
    from haltere.identification.regression.nominal_rows import NominalRotors  # noqa: PLC0415 - as few logs need it

    return NominalRotors.of(airframe)


def _lean(forces: Floats) -> bool:
    """Whether some of the forces (3, m) are off the z axis by more than rotors of a flat vehicle are."""
    return bool(np.any(np.hypot(forces[0], forces[1]) > force_law.UPRIGHT * np.abs(forces[2])))


def effectiveness_parameters(window: FlightWindow, rows: EffectivenessFit) -> list[Parameter]:
    """The rows of every rotor as parameters."""
    found = []
    table = np.concatenate([rows.force, rows.torque])
    lift = tuple(f"rotors.{r}.effectiveness.fz" for r in window.rotor_names)
    sure = _total(rows)
    # A drawing tells rotors apart; what correlates them then is the scale that they have in common.
    alike = [_largest_correlation(cov) * (not rows.joined) for cov in rows.torque_cov]
    sizes = [_usual_size(*each) for each in zip(rows.torque, rows.torque_cov, strict=True)]
    for i, rotor in enumerate(window.rotor_names):
        for k, row in enumerate(ROWS):
            name = f"rotors.{rotor}.effectiveness.{row}"
            value, sigma = float(table[k, i]), float(rows.sigma[k, i])
            if row == "fz" and sigma > 0.5 * sure:
                found.append(
                    Parameter(
                        name, sure, max(sigma, 0.5 * sure), (None, None), UNITS[k], "combination",
                        tuple(x for x in lift if x != name),
                        ONE_BY_ONE,
                    )
                )  # fmt: skip
            elif k >= 3 and rows.r_squared[k] < SETTINGS.smallest_r_squared:
                found.append(Parameter.unobservable(name, UNITS[k], EXCITE_AXIS.format(AXES[k - 3])))
            elif k >= 3 and sigma > LARGEST * sizes[k - 3] and alike[k - 3][i] > ALIKE:
                others = tuple(
                    f"rotors.{r}.effectiveness.{row}" for j, r in enumerate(window.rotor_names) if j != i
                )
                found.append(Parameter.combination(name, UNITS[k], others, ONE_BY_ONE))
            else:
                axis = AXES[k - 3] if k >= 3 else "all axes"
                found.append(Parameter.measured(name, value, sigma, UNITS[k], EXCITE_AXIS.format(axis)))
        for k, row in enumerate(("p", "q", "r")):
            name = f"rotors.{rotor}.effectiveness.{row}_dot"
            value, sigma = float(rows.reaction[k, i]), float(rows.sigma[6 + k, i])
            if rows.r_squared[3 + k] < SETTINGS.smallest_r_squared or not np.isfinite(value):
                found.append(
                    Parameter.unobservable(
                        name, "1", "log at 200 Hz or more and " + EXCITE_AXIS.format(AXES[k])
                    )
                )
            else:
                found.append(Parameter.measured(name, value, sigma, "1", EXCITE_AXIS.format(AXES[k])))
    return found


def effectiveness_covariance(
    window: FlightWindow, rows: EffectivenessFit, result: list[Parameter]
) -> Covariance | None:
    """Of the rows fz, p, q and r that the log tells; errors of different rows are taken for independent."""
    sure = {p.name for p in result if p.known}
    names: list[str] = []
    blocks = []
    for row, cov in zip(("fz", "p", "q", "r"), (rows.force_cov, *rows.torque_cov), strict=True):
        each = [f"rotors.{rotor}.effectiveness.{row}" for rotor in window.rotor_names]
        if sure.issuperset(each):
            names += each
            blocks.append(cov)
    return Covariance(tuple(names), linalg.block_diag(*blocks)) if names else None


def _largest_correlation(cov: Floats) -> Floats:
    """(m,) largest correlation of each number with another, by a covariance (m, m)."""
    sigma = np.sqrt(np.maximum(np.diagonal(cov), 1e-300))
    return np.asarray(np.max(np.abs(cov / np.outer(sigma, sigma)) - np.eye(len(cov)), axis=1))


def _usual_size(row: Floats, cov: Floats) -> float:
    """Root mean square of the numbers of a row (m,) that makes it likeliest, given its covariance (m, m)."""
    values, vectors = np.linalg.eigh(cov)
    along = (vectors.T @ row) ** 2
    values = np.maximum(values, 1e-6 * float(row @ row) / len(row))
    sizes = np.sqrt(float(row @ row) / len(row)) * np.geomspace(1e-3, 1.0, 60)
    var = values + sizes[:, None] ** 2
    return float(sizes[np.argmin(np.sum(along / var + np.log(var), axis=1))])


def _total(rows: EffectivenessFit) -> float:
    """Mean force along z per squared speed, m/s2/(rad/s)^2: known even where single rotors are not."""
    m = rows.force.shape[1]
    return force_law.thrust_gain(rows.signals, np.full(m, 1.0))[0]


def motor_parameters(window: FlightWindow, motors: tuple[MotorFit, ...]) -> list[Parameter]:
    """Curve, lag and dead time of every motor.

    A command took effect between its own stamp and that of the one before it, depending on when it was logged.
    """
    names, found = window.rotor_names, []
    since = window.command_age + LOGGED_AFTER[0] * window.command_period
    unknown = LOGGED_AFTER[1] * window.command_period
    if not motors:
        fix = "log the motor commands beside the rotor speeds"
        for rotor in names:
            for last, unit in (
                ("max_speed", "rad/s"), ("idle_speed", "rad/s"), ("curve", "1"), ("time_constant", "s"), ("delay", "s")
            ):  # fmt: skip
                found.append(Parameter.unobservable(f"rotors.{rotor}.{last}", unit, fix))
        return found
    # Motors of one vehicle follow the model as well as each other: each alone may seem to follow it by chance.
    shape = float(np.hypot(LEAST_SHAPE, np.sqrt(np.mean([fit.sigma[2] ** 2 for fit in motors]))))
    like_lag = float(np.sqrt(np.mean([fit.like_lag**2 for fit in motors])))
    for rotor, fit in zip(names, motors, strict=True):
        path = f"rotors.{rotor}"
        reach = f"commands went from {fit.reach[0]:.2f} to {fit.reach[1]:.2f} only; "
        if fit.explained < SETTINGS.follows:
            for last, unit in (("max_speed", "rad/s"), ("idle_speed", "rad/s"), ("curve", "1"), ("time_constant", "s"),
                               ("delay", "s")):  # fmt: skip
                found.append(
                    Parameter.unobservable(
                        f"{path}.{last}",
                        unit,
                        "check the order of the motors: the speeds do not follow the commands",
                    )
                )
            continue
        top = float(np.hypot(fit.sigma[0], TOP_SIGMA * fit.top))
        idle = float(np.hypot(fit.sigma[1], (0.02 + 0.3 * fit.reach[0]) * fit.top))
        # What is not explained biases a lag as noise does a slope: by the square of its share.
        lag = float(np.hypot(LAG_SIGMA * fit.time_constant, BIASED * like_lag**2 / fit.time_constant))
        tau = float(np.sqrt(fit.sigma[3] ** 2 + lag**2 + (UNLOGGED / window.rate) ** 2))
        # Commands that change faster than they are logged are noise, which a longer lag with less dead time follows.
        aliased = LIKE_DELAY * fit.like_delay
        dead = float(np.sqrt(fit.sigma[4] ** 2 + unknown**2 + aliased**2 + 5e-4**2))
        delay = max(fit.delay + since, 0.0)
        found += [
            Parameter.measured(
                f"{path}.max_speed", fit.top, top, "rad/s", reach + "fly with more throttle", True
            ),
            Parameter.measured(
                f"{path}.idle_speed", fit.idle, idle, "rad/s", reach + "fly with less throttle", True
            ),
            Parameter.measured(
                f"{path}.curve", fit.curve_shape, shape, "1", reach + "use the whole range of the throttle"
            ),
            Parameter.measured(
                f"{path}.time_constant", fit.time_constant, tau, "s", "log faster, excite with steps", True
            ),
            Parameter.measured(f"{path}.delay", delay, dead, "s", "log commands and speeds faster", True),
        ]
    return found


def imu_position_parameters(rows: EffectivenessFit) -> list[Parameter]:
    """Where the IMU is, as parameters."""
    found = []
    fix = "rotate faster: rolls and flips, or tumble the vehicle by hand (haltere throw)"
    for k, axis in enumerate("xyz"):
        value, sigma = float(rows.imu_position[k]), float(rows.imu_position_sigma[k])
        name = f"imu.position.{axis}"
        found.append(
            Parameter.unobservable(name, "m", fix)
            if sigma > SETTINGS.largest_position_sigma
            else Parameter.measured(name, value, sigma, "m", fix)
        )
    return found


def _predictions(window: FlightWindow, full_fit: EffectivenessFit) -> list[Prediction]:
    """What the rows of the early part say of the late one."""
    early = window.early()
    late = window.late()
    if early.flight_seconds < 1.0 or late.flight_seconds < 0.3 or window.rotor_speeds is None:
        return []
    rows = fit_effectiveness(early, full_fit)
    found = force_law.low_passed(
        late, fill_gaps(window.rotor_speeds), None, rows.cutoff, rows.delay[0], rows.lag
    )
    if found.valid.sum() < 20:
        return []
    force = (
        found.squared_speeds @ rows.force.T
        + found.lever_matrices @ rows.imu_position
        + np.append(rows.bias, 0.0)
    )
    rotors = found.torque_signals
    turn = rotors.squared_speeds @ rows.torque.T + rotors.rotor_accelerations @ np.nan_to_num(rows.reaction).T
    turn = turn + _rate_products(found.rates) * rows.inertia_coupling[0] - found.rates * rows.damping
    turn[:, :2] += found.rates[:, 1::-1] * rows.across
    return predict_accelerations(
        HeldOut(found.time, found.valid, found.rate),
        (found.force, force),
        (found.angular_acceleration, turn),
        [k for k in range(3) if k == 2 or not full_fit.r_squared[k] < SETTINGS.smallest_r_squared],
        [k for k in range(3) if not full_fit.r_squared[3 + k] < SETTINGS.smallest_r_squared],
    )


def _rate_products(rates: Floats) -> Floats:
    return np.stack([rates[:, 1] * rates[:, 2], rates[:, 0] * rates[:, 2], rates[:, 0] * rates[:, 1]], axis=1)


def _needs(data: MethodInput) -> str:
    return "" if data.window.rotor_speeds is not None else f"{data.speeds_missing}; use --method command"


def _run(data: MethodInput) -> MethodResult:
    exact_force = "pose.acceleration" in data.flight
    result = identify_effectiveness(data.body_window(), data.airframe, data.known, exact_force, join=True)
    return with_airframe(result, data)


EFFECTIVENESS = Method("effectiveness", "the effectiveness of the rotors", _needs, _run)
