"""Mass, thrust coefficients and inertia from effectiveness and something known, and ratios that need only the log.

No flight alone identifies absolute numbers: force and torque over mass and inertia are all that moves a vehicle. With
thrust coefficients k_i, rotors at (x_i, y_i) from the centre of mass (x_c, y_c) and thrust along z,

    m = sum k_i u_i / f_z,       p_i = k_i (y_i - y_c) / Ixx,      q_i = -k_i (x_i - x_c) / Iyy              (1)
    r_i = -s_i d_i k_i / Izz,    s_i = +1 for a rotor that spins ccw, d_i = torque ratio                     (2)

Rotors with another nominal thrust axis n_i have the force n_z k_i along z and the torque k_i (r_i x n_i - s_i d_i n_i).

Two ratios need nothing but the log: inertia against inertia (`inertia_ratios`), and thrust against weight
(`thrust_to_weight`).
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from scipy import optimize

from haltere.airframe import Airframe
from haltere.airframe.rigid import RigidAirframe
from haltere.flight.window import FlightWindow
from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.foundation.numbers import Floats
from haltere.identification.known import Known, of_rotors
from haltere.identification.methods.base import MethodResult
from haltere.identification.methods.effectiveness_fit import EffectivenessFit, EffectivenessSettings
from haltere.identification.parameters import Parameter
from haltere.identification.regression import force_law

SETTINGS = EffectivenessSettings()
EXCITE = "fly roll, pitch and yaw livelier: a chirp of 1 to 8 Hz on each stick"
CONTRADICTION = (
    "check the rotor speeds (unit, poles, one rotor's telemetry), the thrust coefficients and the mass that were "
    "given: they contradict each other"
)
K_UNIT = "N/(rad/s)2"
I_UNIT = "kg m2"


def absolute_parameters(
    result: MethodResult,
    window: FlightWindow,
    rows: EffectivenessFit,
    airframe: Airframe | None,
    known: Mapping[str, Known],
    exact_force: bool,
) -> None:
    """Add mass, thrust coefficients and inertia to the result, with what they need, notes and findings.

    A vehicle in flight that is lighter than the empty one weighed is an error of the data: neither mass nor payload nor
    inertia follow from it then.
    """
    parameters, notes = result.parameters, result.notes
    names = window.rotor_names
    coefficients = of_rotors(known, names, "thrust_coefficient")
    mass = known.get("mass")
    floor = SETTINGS.mass_floor_from_pose if exact_force else _mass_floor(rows)
    k: Floats | None = None
    scale = 0.0
    weight = None if mass is None else mass.value
    upright = _upright(names, airframe)
    paths = tuple(f"rotors.{r}.thrust_coefficient" for r in names)
    if coefficients is not None:
        k = np.array([c.value for c in coefficients])
        gain, scatter, misfit = force_law.thrust_gain(rows.signals, k * np.nan_to_num(upright))
        given = max(c.sigma / c.value for c in coefficients)
        relative = float(
            np.sqrt(scatter**2 + (SETTINGS.one_sided_misfit * misfit) ** 2 + floor**2 + given**2)
        )
        value = weight = 1.0 / gain
        scale = float(np.hypot(given, floor))
        flown = Parameter.measured("mass", value, relative * value, "kg", "", True)
        for path, c in zip(paths, coefficients, strict=True):
            parameters.append(Parameter.given(path, *c, K_UNIT))
        if mass is not None:
            from haltere.doctor.payload import check_payload  # noqa: PLC0415 - few logs come with both numbers

            extra, sigma = value - mass.value, float(np.hypot(relative * value, mass.sigma))
            carried = Parameter.measured(
                "payload.mass", extra, sigma, "kg", "weigh the vehicle without payload"
            )
            if extra > 2.5 * sigma:
                notes.append(
                    f"the vehicle carries {1e3 * extra:.2g} g (sigma {1e3 * sigma:.2g} g) more than its mass"
                )
            if (
                finding := check_payload(extra, sigma, CONTRADICTION, ("rotors.speed", "imu.accel"))
            ) is not None:
                result.findings.append(finding)
                flown, carried = (
                    Parameter.unobservable(p.name, p.unit, CONTRADICTION) for p in (flown, carried)
                )
            parameters.append(carried)
        parameters.append(flown)
    elif mass is not None:
        gain = force_law.thrust_gain(rows.signals, np.nan_to_num(upright))[0]
        relative = float(np.sqrt((mass.sigma / mass.value) ** 2 + floor**2))
        parameters.append(Parameter.given("mass", *mass, "kg"))
        k = np.asarray(mass.value * rows.force[2] / upright)
        single = rows.sigma[2] / np.maximum(np.abs(rows.force[2]), 1e-300)
        if float(np.max(single)) > 0.5:
            k = np.full(len(names), mass.value * gain)
            single = np.full(len(names), 0.2)
            notes.append("the rotors are taken for alike, because they were always driven alike")
        for path, x, s in zip(paths, k, single, strict=True):
            parameters.append(
                Parameter.measured(
                    path, float(x), float(np.hypot(relative, s) * abs(x)), K_UNIT, EXCITE, True
                )
            )
        scale = relative
    else:
        fix = "measure mass or any thrust coefficient (a kitchen scale will do): --known mass=..."
        parameters.append(Parameter.combination("mass", "kg", paths, fix))
        parameters += [Parameter.combination(path, K_UNIT, ("mass",), fix) for path in paths]
    moment = None if k is None else partial(_moment, rows, k, scale)
    if weight is not None and rows.joined and not any(name.startswith("rotors.") for name in known):
        moment = partial(_joined_moment, rows, weight, scale)
    fixes = tuple(EXCITE if x < SETTINGS.smallest_r_squared else "" for x in rows.r_squared[3:6])
    if result.findings:
        fixes = (CONTRADICTION,) * 3
    parameters += inertia_parameters(
        names, airframe, known, notes, np.sign(rows.torque), fixes, moment, EXCITE
    )


def inertia_parameters(
    names: tuple[str, ...],
    airframe: Airframe | None,
    known: Mapping[str, Known],
    notes: list[str],
    signs: Floats,
    excitation_fixes: tuple[str, ...],
    moment: Callable[[int, Floats], tuple[float, float]] | None,
    fix: str,
) -> list[Parameter]:
    """Moments of inertia: known, from the row of an axis and the rotors' arms, or what they need.

    Args:
        names: Of the rotors.
        airframe: The nominal vehicle, if one is given.
        known: Numbers measured otherwise.
        notes: Sentences are added here.
        signs: (3, m) of the torque rows.
        excitation_fixes: What to fly for each axis that the log does not excite; "" for those that it does.
        moment: Value and deviation from axis and arms (m,), kg m2; None where no thrust is known.
        fix: What would make a weak one better.
    """
    parameters: list[Parameter] = []
    moments: dict[str, tuple[float, float]] = {}
    for axis, last in enumerate(("xx", "yy", "zz")):
        name = f"inertia.{last}"
        arms = rotor_arms(names, axis, airframe, known, signs)
        if name in known:
            parameters.append(Parameter.given(name, *known[name], I_UNIT))
        elif excitation_fixes[axis]:
            parameters.append(Parameter.unobservable(name, I_UNIT, excitation_fixes[axis]))
        elif arms is None or moment is None:
            parameters.append(_lacking(name, names, axis, needs_mass=moment is None))
        else:
            value, sigma = moment(axis, arms)
            if sigma < SETTINGS.largest_inertia_sigma * value:
                moments[name] = value, sigma
            else:
                parameters.append(Parameter.unobservable(name, I_UNIT, fix))
    for name, (value, sigma) in enforce_triangle(moments, notes).items():
        parameters.append(Parameter.measured(name, value, sigma, I_UNIT, fix, True))
    return parameters


def _lacking(name: str, names: tuple[str, ...], axis: int, needs_mass: bool) -> Parameter:
    """A moment of inertia that is known in combination with the rotors' arms, and with the mass if none is known."""
    last = ("position.y", "position.x", "torque_ratio")[axis]
    partners = tuple(f"rotors.{rotor}.{last}" for rotor in names) + (("mass",) if needs_mass else ())
    mass = " and measure mass (a kitchen scale will do): --known mass=..." if needs_mass else ""
    fix = f"give --airframe, or measure {last} of the rotors: --known rotors.*.{last}=...{mass}"
    return Parameter.combination(name, I_UNIT, partners, fix)


def nominal_mass(airframe: Airframe | None, known: Mapping[str, Known]) -> tuple[Known | None, bool]:
    """The mass that was weighed, or else the nominal one with its prior sigma; and whether it was weighed."""
    if "mass" in known:
        return known["mass"], True
    if airframe is None:
        return None, False
    return Known(airframe.total_mass, SETTINGS.nominal_mass_sigma * airframe.total_mass), False


def rotor_arms(
    names: tuple[str, ...], axis: int, airframe: Airframe | None, known: Mapping[str, Known], signs: Floats
) -> Floats | None:
    """(m,) what multiplies k_i in the torque about an axis, equations (1) and (2); None if it is not known.

    `signs` (3, m) are those of the rows: numbers given for all rotors with one pattern are distances.
    """
    last = ("position.y", "position.x", "torque_ratio")[axis]
    given = of_rotors(known, names, last)
    if given is not None:
        return np.asarray(np.abs([g.value for g in given]) * signs[axis])
    if airframe is None or len(airframe.rotors) != len(names):
        return None
    drawn = RigidAirframe.from_airframe(airframe)
    arms = drawn.torques[axis] / np.linalg.norm(drawn.forces, axis=0)
    stated = axis < 2 or all(r.torque_ratio > 0.0 for r in airframe.rotors)
    return (
        np.asarray(arms)
        if stated and np.isfinite(arms).all() and np.ptp(arms) > SETTINGS.rotor_position_sigma
        else None
    )


def _upright(names: tuple[str, ...], airframe: Airframe | None) -> Floats:
    """(m,) share of each rotor's thrust that lifts, as drawn; NaN for one that hardly does."""
    if airframe is None or len(airframe.rotors) != len(names):
        return np.ones(len(names))
    lift = np.array([r.axis[2] / np.linalg.norm(r.axis) for r in airframe.rotors])
    return np.where(lift > SETTINGS.lifting, lift, np.nan)


def _moment(rows: EffectivenessFit, k: Floats, scale: float, axis: int, arms: Floats) -> tuple[float, float]:
    """Moment of inertia and its deviation from row and torques k_i arm_i, with a centre of mass off the middle.

    Rotors are weighed each by itself: a covariance from few blocks has no inverse to speak of. It says how far off
    the result is.
    """
    torque, arm = k * arms, float(np.max(np.abs(arms)))
    y, cov = rows.torque[axis], rows.torque_cov[axis]
    X = np.stack([torque, k], axis=1) if axis < 2 else torque[:, None]
    weight = 1.0 / np.maximum(np.diagonal(cov), 1e-300)
    gain = np.linalg.pinv((X.T * weight) @ X) @ (X.T * weight)
    theta = gain @ y
    left = y - X @ theta
    M = gain @ cov @ gain.T
    worse = max(float(weight @ left**2) / max(len(y) - X.shape[1], 1), 1.0)
    relative = float(np.sqrt(M[0, 0] * worse) / abs(theta[0]))
    drawing = SETTINGS.rotor_position_sigma / arm if axis < 2 else SETTINGS.torque_ratio_sigma
    attenuation = max(1.0 / max(float(rows.r_squared[3 + axis]), 0.1) - 1.0, 0.0) / np.sqrt(3.0)
    value = 1.0 / abs(float(theta[0]))
    return value, value * float(np.sqrt(relative**2 + scale**2 + drawing**2 + 0.03**2 + attenuation**2))


def _joined_moment(
    rows: EffectivenessFit, mass: float, scale: float, axis: int, _: Floats
) -> tuple[float, float]:
    """Moment of inertia and its deviation of the vehicle that agrees with log and drawing."""
    assert rows.agreement is not None
    value = mass * float(rows.agreement.moments[axis])
    return value, value * float(np.hypot(rows.agreement.moments_sigma[axis], scale))


def _mass_floor(rows: EffectivenessFit) -> float:
    """Relative deviation of a mass: sensors, and the thrust law in moving air."""
    return float(np.hypot(SETTINGS.sensor_floor, rows.air * SETTINGS.mass_floor))


def enforce_triangle(
    moments: dict[str, tuple[float, float]], notes: list[str]
) -> dict[str, tuple[float, float]]:
    """Moments that a body can have: each at most the sum of the others, moved as little as their sigmas ask."""
    if len(moments) < 3:
        return moments
    values = np.array([v for v, _ in moments.values()])
    sigma = np.array([s for _, s in moments.values()])
    for largest in range(3):
        signs = np.ones(3)
        signs[largest] = -1.0
        lacking = -float(signs @ values)
        if lacking > 0.0:
            values = values + lacking * 1.001 * signs * sigma**2 / np.sum(sigma**2)
            notes.append("moments of inertia were moved within their sigmas so that a body can have them")
    return {name: (float(v), float(s)) for name, v, s in zip(moments, values, sigma, strict=True)}


FIX = "rotate fast about two axes at once: rolls while yawing, or tumbles by hand"


def inertia_ratios(rows: EffectivenessFit) -> list[Parameter]:
    """Iyy/Ixx and Izz/Ixx by equation (3).

    What the products of the rates do to the angular acceleration, Q of
    `haltere.identification.regression.force_law`, is inertia alone:

        Q_x = (Iyy - Izz) / Ixx,    Q_y = (Izz - Ixx) / Iyy,    Q_z = (Ixx - Iyy) / Izz                      (3)

    With A, B, C > 0 the second moments of mass and Ixx = B + C, Iyy = A + C, Izz = A + B every solution is one that a
    body can have. Scale drops out: A + B + C = 1.
    """
    Q, sigma = rows.inertia_coupling[0], np.hypot(rows.inertia_coupling[1], SETTINGS.inertia_coupling_floor)
    sigma[:2] = np.hypot(sigma[:2], _rotor_momentum_fraction(rows))
    names = ("inertia.yy/inertia.xx", "inertia.zz/inertia.xx")
    if not (np.isfinite(Q).all() and np.isfinite(sigma).all()):
        return [Parameter.unobservable(name, "1", FIX) for name in names]

    def left(x: Floats) -> Floats:
        return np.concatenate([(inertia_coupling(x) - Q) / sigma, x / SETTINGS.log_ratio_sigma])

    answer = optimize.least_squares(left, np.array([0.0, -1.0]))
    cov = np.linalg.inv(answer.jac.T @ answer.jac)
    worse = max(2.0 * float(answer.cost), 1.0)
    values = ratios_of(answer.x)
    slope = np.stack(
        [(ratios_of(answer.x + h) - ratios_of(answer.x - h)) / 2e-5 for h in 1e-5 * np.eye(2)], axis=1
    )
    spread = np.sqrt(np.diagonal(slope @ cov @ slope.T) * worse)
    return [
        Parameter.measured(name, float(v), float(s), "1", FIX, True)
        if s < SETTINGS.largest_ratio_sigma * v
        else Parameter.unobservable(name, "1", FIX)
        for name, v, s in zip(names, values, spread, strict=True)
    ]


def _rotor_momentum_fraction(rows: EffectivenessFit) -> float:
    """Share of the yaw rate that is momentum taken from the rotors: as a product of rates it looks like inertia."""
    parameters = rows.signals
    speeds = np.sqrt(np.maximum(parameters.squared_speeds[parameters.valid], 0.0))
    taken = (speeds - speeds.mean(axis=0)) @ np.nan_to_num(rows.reaction[2])
    return float(min(np.std(taken) / max(np.std(parameters.rates[parameters.valid, 2]), 1e-12), 1.0))


def moments_of(x: Floats) -> Floats:
    """(3,) moments of inertia, up to scale, from the logarithms of B/A and C/A."""
    A, B, C = 1.0, *np.exp(np.clip(x, -8.0, 8.0))
    return np.array([B + C, A + C, A + B])


def ratios_of(x: Floats) -> Floats:
    """(2,) Iyy/Ixx and Izz/Ixx."""
    moments = moments_of(x)
    return np.asarray(moments[1:] / moments[0])


def inertia_coupling(x: Floats) -> Floats:
    """(3,) Q of equation (3)."""
    a, b, c = moments_of(x)
    return np.array([(b - c) / a, (c - a) / b, (a - b) / c])


def thrust_to_weight(rows: EffectivenessFit) -> Parameter:
    """Thrust of all rotors at full command over weight."""
    name, fix = "thrust_to_weight", "log the motor commands and fly with more throttle"
    if not rows.motors or min(fit.explained for fit in rows.motors) < SETTINGS.follows:
        return Parameter.unobservable(name, "1", fix)
    tops = np.array([fit.top for fit in rows.motors])
    gain, scatter, misfit = force_law.thrust_gain(rows.signals, np.ones(len(tops)))
    top = float(np.mean([fit.sigma[0] / max(fit.top, 1.0) for fit in rows.motors]))
    air = (SETTINGS.one_sided_misfit * misfit) ** 2 + _mass_floor(rows) ** 2
    relative = float(np.sqrt(scatter**2 + air + 4.0 * top**2))
    value = float(gain * np.sum(tops**2) / STANDARD_GRAVITY)
    return Parameter.measured(name, value, relative * value, "1", fix, True)
