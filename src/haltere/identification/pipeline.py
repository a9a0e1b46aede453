"""`identify`: a log in, parameters with verdicts out.

The doctor looks at the log first, and what is certain is mended. What is in the log chooses the method
(`haltere.identification.methods.registry`): a throw; pose and a nominal airframe (batch smoother); rotor speeds
(effectiveness); commands alone.

A fit that is worse than the mean on time that it has not seen,

    std(m - p) > WORSE_THAN_MEAN std(m),   m measured, p predicted,                                          (1)

tells nothing of what it fits, whatever its sigmas say: rotors of another flight, a vehicle at rest, noise. What only
it tells is withdrawn. A constant difference is left out, because a hover shows hardly more than that.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from haltere.airframe import Airframe, load_airframe
from haltere.airframe.rigid import RigidAirframe
from haltere.doctor.channels import DEAD
from haltere.doctor.diagnosis import diagnose
from haltere.doctor.finding import Finding, Undecided
from haltere.doctor.telemetry import FACTOR, TELEMETRY_KINDS
from haltere.flight import Flight
from haltere.flight.window import FlightWindow, IdentifyError
from haltere.foundation.jsonable import to_jsonable
from haltere.foundation.numbers import one_blas_thread
from haltere.foundation.text import renamed_note, safe_names
from haltere.foundation.verdict import arm_length
from haltere.identification.known import Known, check_known, check_rotors
from haltere.identification.methods.base import MODELS, IdentifiedModel, Method, MethodInput, MethodResult
from haltere.identification.methods.registry import AUTO, choose_methods, method_names
from haltere.identification.parameters import Parameter, Parameters, judge_parameters
from haltere.identification.result import Identification, Prediction

ORDER = ("mass", "payload", "com", "inertia", "thrust_to_weight", "imu", "pose", "gravity")
"""First words of parameter names, in the order of the result; all others come last."""
ABSOLUTE = ("mass", "payload", "inertia")
"""First words of parameters whose scale is that of the rotor speeds."""
NEEDED = ("imu.gyro", "imu.accel", "rotors.speed", "rotors.command")
"""Channels that tell what a vehicle does and what drives it."""
WORSE_THAN_MEAN = 1.05
"""Of (1), beyond one by what chance makes of a prediction that is nearly constant."""
COMPARED = 50
"""Samples of a prediction that are compared, at least."""
UNEXPLAINED = "unexplained"
DEPENDENT = {
    "imu.accel.z": (".fz", "thrust_to_weight", "thrust_coefficient", "mass", "payload"),
    "imu.accel.x": (".fx",),
    "imu.accel.y": (".fy",),
    "angular_acceleration.x": (".p", ".p_dot", "inertia"),
    "angular_acceleration.y": (".q", ".q_dot", "inertia"),
    "angular_acceleration.z": (".r", ".r_dot", "torque_ratio"),
}
"""Signals of the held-out end, and how names of parameters end or begin that only they tell."""
REMEDY = "see that rotors and IMU are of one flight and on one clock, and fly livelier"
LONGEST = 8
"""Next steps at most."""
Progress = Callable[[str], None]


@one_blas_thread()
def identify(
    flight: Flight,
    airframe: Airframe | str | Path | None = None,
    *,
    known: Mapping[str, float | tuple[float, float]] | None = None,
    method: str = AUTO,
    model: str = "full",
    apply: Iterable[str] = (),
    progress: Progress | None = None,
) -> Identification:
    """Estimate the parameters of the vehicle that flew a log.

    Args:
        flight: The record.
        airframe: The nominal vehicle, as an airframe, a name in the catalogue or a TOML file. An airframe in the
            record is not used, because in a simulated flight it is the truth.
        known: Numbers measured in another way, by name: a value, or a pair (value, sigma), in SI units.
        method: `auto` for the first that suits the log, or `filter`, `batch`, `effectiveness`, `command`, `throw`.
        model: `full`, or `paper` for the batch smoother with the smaller state vector of [Boehm2022]: no delays, drag,
            wind, disturbances, rotor inertia nor scale errors of the IMU.
        apply: Kinds of findings of `diagnose` to mend even if they are not certain.
        progress: Called with a sentence that says what is being done.

    Raises:
        IdentifyError: nothing can be identified from this log, or not by the method that was asked for.
    """
    check_method(method, model)
    numbers = check_known(known or {})
    nominal = None if airframe is None else load_airframe(airframe)
    try:
        with np.errstate(all="ignore"):  # a damaged log may hold any numbers
            return _identify(flight, nominal, numbers, (method, model), tuple(apply), progress or _silent)
    except (np.linalg.LinAlgError, ZeroDivisionError, FloatingPointError) as error:
        raise IdentifyError(
            f"the numbers in this log fit no vehicle ({error}); look at it with haltere doctor and haltere plot"
        ) from None


def check_method(method: str, model: str) -> None:
    """Whether there are a method and a model of these names.

    Raises:
        IdentifyError: there are none.
    """
    if method not in method_names():
        raise IdentifyError(f"method {method!r}; give one of {', '.join(method_names())}")
    if model not in MODELS:
        raise IdentifyError(f"model {model!r}; give one of {', '.join(MODELS)}")


def _silent(_: str) -> None:
    pass


def _identify(
    flight: Flight,
    airframe: Airframe | None,
    known: dict[str, Known],
    chosen: tuple[str, str],
    apply: tuple[str, ...],
    progress: Progress,
) -> Identification:
    source = flight.source or "flight"
    progress(f"checking {source}")
    flight, renamed = _with_rotor_names(flight)
    diagnosis = diagnose(flight, airframe, apply=(*apply, *TELEMETRY_KINDS))
    faulty = [finding for finding in diagnosis.findings if finding.rotors]
    _refuse_without_rotors(diagnosis.mended, faulty)
    _refuse_without_imu(diagnosis.mended, diagnosis.findings)
    rotor_names = tuple(r.name for r in airframe.rotors) if airframe is not None else ()
    window = _window(diagnosis.mended, rotor_names, diagnosis.findings)
    check_rotors(known, window.rotor_names)
    name, model = chosen
    data = MethodInput(
        diagnosis.mended, window, airframe, known, diagnosis, apply, cast("IdentifiedModel", model)
    )
    method, result = _run(choose_methods(name, data), data, progress)
    if not faulty and window.rotor_speeds is not None:
        _remove_scale(result, diagnosis.undecided)
    notes = [n for n in flight.notes if n.startswith("settings:")] + renamed + result.notes
    if faulty and window.rotor_speeds is None:
        notes.append(f"{data.speeds_missing}; all numbers come from the commands")
    return Identification(
        source=source,
        duration=flight.duration,
        method=method.name,
        parameters=Parameters(sorted(result.parameters, key=_rank)),
        airframe=result.airframe,
        covariance=result.covariance,
        nominal=airframe,
        predictions=tuple(result.predictions),
        fit=to_jsonable({**result.fit, "flown": window.airborne_seconds, "curves": result.curves}),
        excitation={k: v for k, v in _excitation(window).items() if np.isfinite(v)},
        findings=tuple(f.to_dict() for f in (*diagnosis.findings, *result.findings)),
        undecided=tuple(u.to_dict() for u in diagnosis.undecided),
        notes=tuple(notes),
        next_steps=_next_steps([finding.remedy for finding in faulty], result.parameters, notes),
    )


def _remove_scale(result: MethodResult, undecided: Iterable[Undecided]) -> None:
    """Remove mass, payload and inertia from a result, and the airframe, if a rotor may be read at half or double."""
    fixes = [each.remedy for each in undecided if each.kind == FACTOR]
    if not fixes:
        return
    result.airframe = None
    result.parameters = [
        Parameter.unobservable(p.name, p.unit, fixes[0])
        if p.name.split(".")[0] in ABSOLUTE and p.source == "data" and p.value is not None
        else p
        for p in result.parameters
    ]


def _refuse_without_rotors(flight: Flight, faulty: list[Finding]) -> None:
    """Raise an error if faults of single rotors leave neither speeds nor commands to go on with."""
    left = [n for n in ("rotors.speed", "rotors.command") if n in flight and int(flight[n].finite.sum()) > 20]
    if faulty and not left:
        raise IdentifyError(
            f"{'; '.join(finding.evidence for finding in faulty)}; {faulty[0].remedy}, or log the motor commands, too"
        )


def _refuse_without_imu(flight: Flight, findings: Iterable[Finding]) -> None:
    """Raise an error that says why if a sensor that every method needs was found dead."""
    for finding in findings:
        if finding.kind == DEAD and any(name not in flight for name in finding.channels):
            raise IdentifyError(f"{finding.evidence}; {finding.remedy}")


def _window(flight: Flight, rotor_names: tuple[str, ...], findings: Iterable[Finding]) -> FlightWindow:
    """The flying part; if there is none, the error says what the doctor found of sensors and rotors."""
    try:
        return FlightWindow.from_flight(flight, rotor_names)
    except IdentifyError as error:
        found = [f.evidence for f in findings if f.certain and set(f.channels) & set(NEEDED)]
        raise IdentifyError(f"{error} ({found[0]})" if found else str(error)) from None


def _with_rotor_names(flight: Flight) -> tuple[Flight, list[str]]:
    """The flight with names of rotors that parameters and airframe files can hold, and a note if they were changed."""
    channels = [
        c for name in ("rotors.speed", "rotors.command") if (c := flight.channels.get(name)) is not None
    ]
    names = safe_names((column for channel in channels for column in channel.columns), otherwise="rotor")
    note = renamed_note(names, "rotors of the log")
    for channel in channels if note else ():
        flight = flight.with_channel(replace(channel, columns=tuple(names[c] for c in channel.columns)))
    return flight, note


def _run(methods: list[Method], data: MethodInput, progress: Progress) -> tuple[Method, MethodResult]:
    """The result of the first method that the log suits.

    Only an `IdentifyError` lets the next method try: it says that the log does not suit the method. Any other error is
    a fault of the program or of its use, and nothing hides it.
    """
    notes: list[str] = []
    for method, is_last in zip(methods, [False] * (len(methods) - 1) + [True], strict=True):
        progress(f"identifying {data.source}: method {method.name}")
        try:
            result = method.run(data)
        except IdentifyError as error:
            if is_last:
                raise
            notes.append(f"{method.title} could not be used: {error}")
            continue
        if (
            method.name != "throw"
        ):  # fitted to a half second of excitation; what follows is another kind of flight
            result = _withdraw_unexplained(result)
        result.notes += notes
        result.parameters = judge_parameters(result.parameters, _arm(data.airframe))
        return method, result
    raise AssertionError("`auto` finds a method for every window, or the window was refused")


def _withdraw_unexplained(result: MethodResult) -> MethodResult:
    """Return a result without the numbers that its own predictions contradict, and with a finding that says so."""
    worse = {p.name: ratio for p in result.predictions if (ratio := _unexplained(p)) > WORSE_THAN_MEAN}
    explained = cast("Mapping[str, float]", result.fit.get("explained", {})).get("fz", 0.0)
    if explained < 0.0:  # over the whole flight
        worse.setdefault("imu.accel.z", float(np.sqrt(1.0 - explained)))
    parameters = [_withdrawn(p, worse) for p in result.parameters]
    lost = [old.name for old, new in zip(result.parameters, parameters, strict=True) if old is not new]
    if not lost:
        return result
    said = ", ".join(f"{name} ({ratio:.1f} times its deviation off)" for name, ratio in worse.items())
    finding = Finding(
        UNEXPLAINED, f"the rotors do not explain {said}", REMEDY, certain=True, channels=tuple(worse)
    )
    airframe = None if "imu.accel.z" in worse else result.airframe
    return replace(result, parameters=parameters, airframe=airframe, findings=[*result.findings, finding])


def _unexplained(prediction: Prediction) -> float:
    """The left side of (1) over the deviation of the measured signal; zero where it does not move."""
    residual = prediction.measured - prediction.predicted
    deviation = float(np.std(prediction.measured))
    if len(residual) < COMPARED or not deviation > 0.0:
        return 0.0
    return float(np.std(residual)) / deviation


def _withdrawn(parameter: Parameter, worse: Iterable[str]) -> Parameter:
    if parameter.value is None or parameter.source != "data":
        return parameter
    if not any(_depends(parameter.name, signal) for signal in worse):
        return parameter
    return Parameter.unobservable(parameter.name, parameter.unit, REMEDY)


def _depends(name: str, signal: str) -> bool:
    parts = DEPENDENT.get(signal, ())
    rows, heads = (tuple(p for p in parts if p.startswith(".") is row) for row in (True, False))
    return name.endswith((*rows, *(f".{head}" for head in heads))) or name.startswith(heads)


def _arm(airframe: Airframe | None) -> float | None:
    """Largest distance of a rotor of the nominal vehicle from the middle of all, m."""
    return None if airframe is None else arm_length(RigidAirframe.from_airframe(airframe).positions)


def _rank(parameter: Parameter) -> int:
    head = parameter.name.split(".", 1)[0].split("/")[0]
    return ORDER.index(head) if head in ORDER else len(ORDER)


def _excitation(window: FlightWindow) -> dict[str, float]:
    """Standard deviations of the motion in flight, by name and unit."""
    excitation = {}
    rates, valid = window.gyro, window.valid
    slope = np.gradient(rates, 1.0 / window.rate, axis=0)
    for k, axis in enumerate(("roll", "pitch", "yaw")):
        excitation[f"{axis} rate, rad/s"] = float(np.nanstd(rates[valid, k]))
        excitation[f"{axis} acceleration, rad/s2"] = float(np.nanstd(slope[valid, k]))
    if window.accel is not None:
        excitation["thrust, m/s2"] = float(np.nanstd(window.accel[valid, 2]))
    return excitation


def _next_steps(first: list[str], parameters: list[Parameter], notes: list[str]) -> tuple[str, ...]:
    """What to do next: what comes first, then the fixes that help most numbers first."""
    counts: dict[str, int] = {}
    for each in parameters:
        if each.fix:
            counts[each.fix] = counts.get(each.fix, 0) + 1
    lines = first + [fix for fix, _ in sorted(counts.items(), key=lambda item: -item[1])]
    lines += [note.removeprefix("settings: ") for note in notes if note.startswith("settings:")]
    return tuple(lines[:LONGEST])
