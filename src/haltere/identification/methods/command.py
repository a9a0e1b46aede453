"""The result of a log with motor commands and no rotor speeds: authority, lag, ratios, and what to log next time."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from haltere.airframe import Airframe
from haltere.flight.window import FlightWindow, IdentifyError
from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.foundation.numbers import Floats
from haltere.identification.known import Known, of_rotors
from haltere.identification.methods.absolute import I_UNIT, K_UNIT, inertia_parameters, nominal_mass
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
from haltere.identification.methods.command_fit import (
    CommandResponse,
    CommandSettings,
    Form,
    LowPassedCommands,
    Node,
    command_responses,
    fit_forms,
    low_pass_commands,
    motion_terms,
    predicted_acceleration,
    predicted_force,
)
from haltere.identification.methods.effectiveness_fit import ROWS
from haltere.identification.parameters import Parameter
from haltere.identification.result import Prediction

SETTINGS = CommandSettings()
LOG = (
    "log rotor speeds: bidirectional DShot (PX4 DSHOT_BIDIR_EN, ArduPilot SERVO_BLH_BDMASK) or ESC telemetry"
)
Number = Callable[[Form], Any]
"""A number, or an array of numbers, of a form."""


def identify_commands(
    window: FlightWindow, airframe: Airframe | None, known: Mapping[str, Known]
) -> MethodResult:
    """Identify a vehicle from a log with commands and no rotor speeds."""
    result = MethodResult()
    signals = low_pass_commands(window)
    responses = command_responses(signals)
    forms = fit_forms(signals, responses)
    if not forms:
        raise IdentifyError(
            "no motor model explains what the accelerometer reads; see whether it moves in flight: haltere plot"
        )
    halves = _halves(signals, responses)
    result.parameters += _motors(window, forms, halves)
    result.parameters += _authority(window, signals, forms, halves, known)
    _absolute(result, window, forms, halves, airframe, known)
    result.predictions += _predictions(window, signals, responses)
    best = forms[0]
    result.fit.update(
        cutoff=signals.cutoff,
        forms=len(forms),
        best={"curve": best.curve, "time_constant": best.time_constant, "delay": best.delay, "sag": best.sag},
        explained={
            n: float(x)
            for n, x in zip(("fz", "p", "q", "r"), _mean(forms, lambda f: f.r_squared), strict=True)
        },
    )
    result.notes.append(
        "no rotor speeds are used: the form of the thrust curve is not known, and the intervals admit it"
    )
    return result


def _mean(forms: Sequence[Form], value: Number) -> Floats:
    return np.asarray(sum(f.weight * np.asarray(value(f), np.float64) for f in forms))


def _both(forms: Sequence[Form], halves: Sequence[Sequence[Form]], value: Number) -> tuple[Floats, Floats]:
    """Mean over the forms, and the deviation of the forms together with that between parts of the flight."""
    mean = _mean(forms, value)
    spread = np.sqrt(np.maximum(_mean(forms, lambda f: (np.asarray(value(f)) - mean) ** 2), 0.0))
    parts = np.array([_mean(half, value) for half in halves])
    scatter = np.std(parts, axis=0, ddof=1) / np.sqrt(len(parts)) if len(parts) > 1 else 0.0 * mean
    return mean, np.hypot(spread, scatter)


def _clear(forms: Sequence[Form]) -> Floats:
    """(4,) the largest share that a form without D explains, of those with weight."""
    plain = [form.r_squared for form in forms if not form.damped]
    return np.asarray(np.max(plain, axis=0)) if plain else np.asarray(forms[0].r_squared - 0.1)


def _halves(signals: LowPassedCommands, responses: dict[Node, CommandResponse]) -> list[list[Form]]:
    """The forms of the first and of the second half of the flight."""
    places = np.flatnonzero(signals.valid)
    forms = []
    for chosen in np.array_split(places, 2):
        if len(chosen) < 100:
            return []
        good = np.zeros(len(signals.valid), bool)
        good[chosen] = True
        forms.append(fit_forms(signals, responses, good))
    return forms if all(forms) else []


def _motors(window: FlightWindow, forms: list[Form], halves: list[list[Form]]) -> list[Parameter]:
    numbers, sigma = _both(forms, halves, lambda f: [f.curve, f.time_constant, f.delay])
    # Dead time and lag look alike where nothing but motion shows them; some of it is the sensors' filters.
    floor = np.array(
        [
            SETTINGS.curve_floor,
            np.hypot(SETTINGS.lag_floor * numbers[1], numbers[2]),
            0.003 + 0.5 * numbers[2],
        ]
    )
    sigma = np.hypot(sigma, floor)
    parameters = []
    for rotor in window.rotor_names:
        path = f"rotors.{rotor}"
        parameters += [
            Parameter.measured(f"{path}.curve", float(numbers[0]), float(sigma[0]), "1", LOG),
            Parameter.measured(f"{path}.time_constant", float(numbers[1]), float(sigma[1]), "s", LOG, True),
            Parameter.measured(f"{path}.delay", float(numbers[2]), float(sigma[2]), "s", LOG, True),
        ]
    return parameters


def _authority(
    window: FlightWindow,
    signals: LowPassedCommands,
    forms: list[Form],
    halves: list[list[Form]],
    known: Mapping[str, Known],
) -> list[Parameter]:
    parameters: list[Parameter] = []
    lift, lift_sigma = _both(forms, halves, lambda f: f.thrust_per_command)
    turns, turns_sigma = _both(forms, halves, lambda f: f.acceleration_per_command)
    r_squared = _clear(forms)
    curve = _curve_sigma(signals, forms)
    lift_sigma = np.hypot(lift_sigma, np.hypot(SETTINGS.thrust_floor, curve) * lift)
    unexplained = SETTINGS.left_over * np.clip(1.0 - r_squared[1:], 0.0, 1.0)
    relative = np.sqrt(SETTINGS.floor**2 + curve**2 + unexplained**2)[:, None]
    turns_sigma = np.hypot(turns_sigma, relative * np.max(np.abs(turns), axis=1, keepdims=True))
    turns_sigma = np.hypot(turns_sigma, _mean(forms, lambda f: f.noise))
    top = of_rotors(known, window.rotor_names, "max_speed")
    for i, rotor in enumerate(window.rotor_names):
        numbers = {"fz": (lift[i], lift_sigma[i], r_squared[0], "m/s2")}
        for k, row in enumerate("pqr"):
            numbers[row] = (turns[k, i], turns_sigma[k, i], r_squared[1 + k], "rad/s2")
        for row, (value, sigma, explained, unit) in numbers.items():
            name = f"rotors.{rotor}.authority.{row}"
            enough = row == "fz" or explained >= SETTINGS.smallest_r_squared
            axis = AXES["pqr".index(row)] if row != "fz" else "thrust"
            fix = EXCITE_AXIS.format(axis)
            parameters.append(
                Parameter.measured(name, float(value), float(sigma), unit, fix)
                if enough
                else Parameter.unobservable(name, unit, fix)
            )
        for row in (*ROWS, "p_dot", "q_dot", "r_dot"):
            name = f"rotors.{rotor}.effectiveness.{row}"
            unit = "1" if row.endswith("dot") else ("m/s2/(rad/s)2" if row[0] == "f" else "rad/s2/(rad/s)2")
            if (
                top is not None
                and row in numbers
                and (row == "fz" or numbers[row][2] >= SETTINGS.smallest_r_squared)
            ):
                value, sigma, _, _ = numbers[row]
                w = top[i].value
                relative = np.hypot(sigma / max(abs(value), 1e-300), 2.0 * top[i].sigma / w)
                parameters.append(
                    Parameter.measured(
                        name, float(value / w**2), float(relative * abs(value) / w**2), unit, LOG
                    )
                )
            elif row in numbers:
                parameters.append(Parameter.combination(name, unit, (f"rotors.{rotor}.max_speed",), LOG))
            else:
                parameters.append(Parameter.unobservable(name, unit, LOG))
        speed = f"rotors.{rotor}.max_speed"
        if top is not None:
            parameters.append(Parameter.given(speed, *top[i], "rad/s"))
        else:
            partners = tuple(f"rotors.{rotor}.effectiveness.{r}" for r in ("fz", "p", "q", "r"))
            parameters.append(Parameter.combination(speed, "rad/s", partners, LOG))
        parameters.append(Parameter.unobservable(f"rotors.{rotor}.idle_speed", "rad/s", LOG))
    total, sigma = _both(forms, halves, lambda f: np.sum(f.thrust_per_command) / STANDARD_GRAVITY)
    spread = float(np.hypot(sigma, np.hypot(SETTINGS.floor, curve) * total))
    parameters.append(
        Parameter.measured("thrust_to_weight", float(total), spread, "1", "fly with more throttle", True)
    )
    return parameters + [Parameter.unobservable(f"imu.position.{axis}", "m", LOG) for axis in "xyz"]


def _curve_sigma(signals: LowPassedCommands, forms: list[Form]) -> float:
    """Relative deviation of what rotors do at full command, from commands flown, for the deviation of the curve."""
    d = float(np.mean(signals.commands[signals.valid]))
    k = float(_mean(forms, lambda f: f.curve))
    speed = k * d + (1.0 - k) * np.sqrt(d)
    return float(2.0 * SETTINGS.curve_floor * (np.sqrt(d) - d) / max(speed, 1e-3))


def _absolute(
    result: MethodResult,
    window: FlightWindow,
    forms: list[Form],
    halves: list[list[Form]],
    airframe: Airframe | None,
    known: Mapping[str, Known],
) -> None:
    names = window.rotor_names
    mass, firm = nominal_mass(airframe, known)
    paths = tuple(f"rotors.{r}.thrust_coefficient" for r in names)
    fix = "measure mass (a kitchen scale will do): --known mass=..."
    if mass is None:
        result.parameters.append(Parameter.combination("mass", "kg", paths, fix))
    elif firm:
        result.parameters.append(Parameter.given("mass", *mass, "kg"))
    else:
        result.parameters.append(
            Parameter("mass", mass.value, mass.sigma, (None, None), "kg", "combination", paths, fix)
        )
    top = of_rotors(known, names, "max_speed")
    relative = 0.0 if mass is None else float(np.hypot(mass.sigma / mass.value, SETTINGS.mass_floor))
    for i, path in enumerate(paths):
        if mass is None or top is None:
            partners = tuple(n for n in ("mass", f"rotors.{names[i]}.max_speed") if n not in known)
            result.parameters.append(
                Parameter.combination(path, K_UNIT, partners, LOG if firm else f"{fix}, and {LOG}")
            )
            continue
        value, sigma = _both(forms, halves, partial(_thrust_per_command, i))
        relative_sigma = np.sqrt(
            (sigma / value) ** 2
            + relative**2
            + SETTINGS.thrust_floor**2
            + (2.0 * top[i].sigma / top[i].value) ** 2
        )
        k = mass.value * float(value) / top[i].value ** 2
        result.parameters.append(Parameter.measured(path, k, float(relative_sigma) * k, K_UNIT, LOG, True))
    r_squared = _clear(forms)[1:]
    moment = None if mass is None else partial(_moment, forms, halves, mass.value, r_squared, relative)
    fixes = tuple(
        EXCITE_AXIS.format(axis) if x < SETTINGS.smallest_r_squared else ""
        for axis, x in zip(AXES, r_squared, strict=True)
    )
    signs = np.sign(_mean(forms, lambda f: f.acceleration_per_command))
    better = f"{LOG}; the form of the thrust curve is not known"
    for entry in inertia_parameters(names, airframe, known, result.notes, signs, fixes, moment, better):
        if not firm and entry.verdict in ("identified", "weak"):
            entry = Parameter(  # noqa: PLW2901 - the same number, known together with the mass only
                entry.name, entry.value, entry.sigma, entry.interval, I_UNIT, "combination", ("mass",), fix
            )
        result.parameters.append(entry)


def _thrust_per_command(rotor: int, form: Form) -> float:
    return float(form.thrust_per_command[rotor])


def _moment(
    forms: list[Form],
    halves: list[list[Form]],
    mass: float,
    r_squared: Floats,
    relative: float,
    axis: int,
    arms: Floats,
) -> tuple[float, float]:
    """Moment of inertia: thrust of all rotors at full command times arm over authority, on a logarithmic scale."""

    def moment(form: Form) -> float:
        thrust = mass * np.mean(form.thrust_per_command)
        slope = float(np.sum(arms * form.acceleration_per_command[axis]) / np.sum(arms**2))
        return float(np.log(max(float(thrust) / abs(slope), 1e-300)))

    log_value, sigma = _both(forms, halves, moment)
    value = float(np.exp(log_value))
    direction = -0.5 * float(
        np.log(max(float(r_squared[axis]), 0.1))
    )  # forward and backward regression lie this far to both sides
    spread = float(
        np.sqrt(sigma**2 + relative**2 + (direction / np.sqrt(3.0)) ** 2 + SETTINGS.inertia_floor**2)
    )
    return value, value * spread


def _predictions(
    window: FlightWindow, signals: LowPassedCommands, responses: dict[Node, CommandResponse]
) -> list[Prediction]:
    """What the forms of the early part say of the late one."""
    early, late = (
        signals.valid & side for side in (signals.time < window.split, signals.time >= window.split)
    )
    if early.sum() < 2.0 * signals.rate or late.sum() < 0.3 * signals.rate:
        return []
    best = fit_forms(signals, responses, early, damped=True)
    force, turn = np.zeros((len(signals.time), 3)), np.zeros((len(signals.time), 3))
    more = motion_terms(signals)
    for form in best:
        u = responses[form.node].squared_speeds
        force[:, 2] += form.weight * predicted_force(form, signals, responses[form.node])
        turn += form.weight * np.stack(
            [predicted_acceleration(form, u, more[k], k) for k in range(3)], axis=1
        )
    r_squared = _clear(best)
    return predict_accelerations(
        HeldOut(signals.time, late, signals.rate),
        (signals.force, force),
        (signals.angular_acceleration, turn),
        force_axes=(2,),
        angular_axes=[k for k in range(3) if not r_squared[1 + k] < SETTINGS.smallest_r_squared],
    )


def _needs(data: MethodInput) -> str:
    if data.window.commands is None or data.window.accel is None:
        return "the log has no motor commands; log the motor outputs"
    return ""


def _run(data: MethodInput) -> MethodResult:
    return with_airframe(identify_commands(data.body_window(), data.airframe, data.known), data)


COMMAND = Method("command", "the model of motor commands", _needs, _run)
