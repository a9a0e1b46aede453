"""`identify`: a log in, parameters with verdicts out.

The doctor looks at the log first, and what is certain is mended. What is in the log chooses the method: a throw; pose
and a nominal airframe (filter or batch smoother); rotor speeds (effectiveness); commands alone.

The doctor turns back the readings of an IMU that is turned against the body. The vehicle filter finds the turn
itself, so it gets the readings as they were (`mounted`).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from haltere.airframe import Airframe, load_airframe
from haltere.airframe.rigid import nominal_of
from haltere.doctor.diagnosis import Diagnosis, diagnose
from haltere.flight import Channel, Flight
from haltere.flight.rotations import wxyz_from_matrix
from haltere.flight.window import Excerpt, IdentifyError, excerpt
from haltere.foundation import HaltereError
from haltere.foundation.errors import PrecisionError
from haltere.foundation.jsonable import to_jsonable
from haltere.foundation.numbers import Floats
from haltere.identification.known import Known, check_known, check_rotors
from haltere.identification.methods.airframe import told_airframe, with_numbers
from haltere.identification.methods.command import identify_commands
from haltere.identification.methods.effectiveness import Told, identify_rotors
from haltere.identification.methods.throw.method import identify_throw, throw_window
from haltere.identification.result import Identification, Parameter, Parameters

TURNED = "imu-rotated"
"""The doctor's finding that the IMU is turned against the attitude's body."""
SLIGHT = np.radians(25.0)
"""Up to which turn the vehicle filter finds it by itself."""


def turn_of(diagnosis: Diagnosis, apply: Iterable[str]) -> Floats | None:
    """(3, 3) by which the doctor turned the IMU's readings, if it did."""
    for finding in diagnosis.findings:
        if finding.kind == TURNED and finding.mend is not None and (finding.certain or TURNED in set(apply)):
            rows = Channel("imu.gyro", np.arange(3, dtype=np.int64), np.eye(3), "rad/s", "imu")
            return np.asarray(finding.mend(Flight.of(rows))["imu.gyro"].values.T)
    return None


def mounted(flight: Flight, airframe: Airframe, turn: Floats) -> tuple[Flight, Airframe]:
    """The flight as it was before the IMU was turned, and the airframe with the IMU mounted so, if it is by much.

    The vehicle filter estimates how the IMU is mounted, and a small turn may as well be the pose sensor's.
    """
    for name in ("imu.gyro", "imu.accel"):
        flight = flight.with_channel(replace(flight[name], values=flight[name].values @ turn))
    if np.trace(turn) > 1.0 + 2.0 * np.cos(SLIGHT) or not airframe.imu:
        return flight, airframe
    R = nominal_of(airframe).imu_rotation @ turn
    imu = (airframe.imu[0].model_copy(update={"wxyz": wxyz_from_matrix(R)}), *airframe.imu[1:])
    return flight, airframe.model_copy(update={"imu": imu})


Method = Literal["auto", "filter", "batch", "effectiveness", "command", "throw"]
METHODS: tuple[Method, ...] = get_args(Method)
SLOWEST = 90.0
"""Hz, of an IMU for the vehicle filter."""
ORDER = ("mass", "payload", "com", "inertia", "thrust_to_weight", "imu", "pose", "gravity")


def identify(
    flight: Flight,
    airframe: Airframe | str | Path | None = None,
    *,
    known: Mapping[str, float | tuple[float, float]] | None = None,
    method: Method = "auto",
    apply: Iterable[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Identification:
    """Identify the vehicle that flew a log.

    Args:
        flight: The record.
        airframe: The nominal vehicle, as an airframe, a name in the catalogue or a TOML file. The airframe that the
            record itself may carry is not used, it may be the truth.
        known: Numbers measured otherwise, by name: a value, or a pair of value and standard deviation, in SI units.
        method: `auto`, or the name of a method: `filter`, `batch`, `effectiveness`, `command`, `throw`.
        apply: Kinds of the doctor's findings to mend though they are not certain.
        progress: Called with a sentence on what is done now.
    """
    if method not in METHODS:
        raise IdentifyError(f"method {method!r}; give one of {', '.join(METHODS)}")
    numbers = check_known(known or {})
    nominal = None if airframe is None else load_airframe(airframe)
    try:
        with np.errstate(all="ignore"):  # a damaged log may hold any numbers
            return _identified(flight, nominal, numbers, method, tuple(apply), progress or _silent)
    except (np.linalg.LinAlgError, ZeroDivisionError, FloatingPointError) as error:
        raise IdentifyError(
            f"the numbers in this log fit no vehicle ({error}); look at it with haltere doctor and haltere plot"
        ) from None


def _silent(_: str) -> None:
    pass


def _identified(
    flight: Flight,
    airframe: Airframe | None,
    given: dict[str, Known],
    method: Method,
    apply: tuple[str, ...],
    progress: Callable[[str], None],
) -> Identification:
    source = flight.source or "flight"
    progress(f"checking {source}")
    diagnosis = diagnose(flight, airframe, apply=apply)
    mended = diagnosis.mended
    names = tuple(r.name for r in airframe.rotors) if airframe is not None else ()
    part = excerpt(mended, names)
    check_rotors(given, part.names)
    window = throw_window(mended)
    chosen = _chosen(method, part, window is not None, airframe is not None and _posed(mended))
    progress(f"identifying {source}: method {chosen}")
    if chosen == "throw":
        if window is None:
            raise IdentifyError(
                "the log holds no throw: no free fall before the motors start; use --method auto"
            )
        turned = TURNED in diagnosis.kinds()
        told = identify_throw(mended, part, window, airframe, given, turned)
    else:
        try:
            readings, meant = mended, airframe
            turn = turn_of(diagnosis, apply)
            if turn is not None and airframe is not None and chosen in ("filter", "batch"):
                readings, meant = mounted(mended, airframe, turn)
            told = _told(chosen, readings, part, meant, given)
        except HaltereError as error:
            if method != "auto" or chosen != "filter" or isinstance(error, PrecisionError):
                raise
            chosen = "effectiveness"
            told = _told(chosen, mended, part, airframe, given)
            told.notes.append(f"the vehicle filter could not be used: {error}")
    if told.airframe is None and chosen not in ("filter", "batch"):
        if airframe is None:
            told.airframe = told_airframe(source, told.parameters, told.curves)
        else:
            told.airframe = with_numbers(airframe, told.parameters, told.curves, told.notes)
    notes = [n for n in flight.notes if n.startswith("settings:")] + told.notes
    return Identification(
        source=source,
        duration=flight.duration,
        method=chosen,
        parameters=Parameters(sorted(told.parameters, key=_place)),
        airframe=told.airframe,
        covariance=told.covariance,
        nominal=airframe,
        predictions=tuple(told.predictions),
        fit=to_jsonable({**told.fit, "flown": part.flown, "curves": told.curves}),
        excitation={k: v for k, v in _excitation(part).items() if np.isfinite(v)},
        findings=tuple(f.to_dict() for f in diagnosis.findings),
        undecided=tuple(u.to_dict() for u in diagnosis.undecided),
        notes=tuple(notes),
        next_steps=_steps(told.parameters, notes),
    )


def _chosen(method: Method, part: Excerpt, thrown: bool, posed: bool) -> Method:
    if method != "auto":
        return method
    if thrown and part.speeds is not None:
        return "throw"
    if posed and part.speeds is not None:
        return "filter"
    return "effectiveness" if part.speeds is not None else "command"


def _told(
    method: Method, flight: Flight, part: Excerpt, airframe: Airframe | None, known: Mapping[str, Known]
) -> Told:
    if airframe is not None and airframe.imu and method in ("effectiveness", "command"):
        part = part.turned(nominal_of(airframe).imu_rotation)
    if method == "effectiveness":
        if part.speeds is None:
            raise IdentifyError("the log has no rotor speeds; use --method command")
        return identify_rotors(part, airframe, known, exact_force="pose.acceleration" in flight)
    if method == "command":
        return identify_commands(part, airframe, known)
    if part.speeds is None:
        raise IdentifyError(f"--method {method} needs rotor speeds and a pose; the log has no rotor speeds")
    if airframe is None:
        raise IdentifyError(f"--method {method} starts from a nominal vehicle; give --airframe")
    from haltere.identification.methods.vehicle import identify_vehicle  # noqa: PLC0415 - JAX takes a second to import

    return identify_vehicle(flight, part, airframe, known, method)


def _posed(flight: Flight) -> bool:
    """Whether a pose was measured beside an IMU that is fast enough, and not the one made of the other."""
    return (
        "pose.position" in flight
        and len(flight["pose.position"]) > 50
        and "pose.acceleration" not in flight
        and flight["imu.gyro"].rate > SLOWEST
    )


def _place(parameter: Parameter) -> tuple[int, str]:
    head = parameter.name.split(".", 1)[0].split("/")[0]
    return (ORDER.index(head), "") if head in ORDER else (len(ORDER), "")


def _excitation(part: Excerpt) -> dict[str, float]:
    found = {}
    rates, good = part.gyro, part.good
    slope = np.gradient(rates, 1.0 / part.rate, axis=0)
    for k, axis in enumerate(("roll", "pitch", "yaw")):
        found[f"{axis} rate, rad/s"] = float(np.nanstd(rates[good, k]))
        found[f"{axis} acceleration, rad/s2"] = float(np.nanstd(slope[good, k]))
    if part.accel is not None:
        found["thrust, m/s2"] = float(np.nanstd(part.accel[good, 2]))
    return found


def _steps(parameters: list[Parameter], notes: list[str]) -> tuple[str, ...]:
    """What to do next: the fixes that help most numbers first."""
    counts: dict[str, int] = {}
    for each in parameters:
        if each.fix:
            counts[each.fix] = counts.get(each.fix, 0) + 1
    lines = [fix for fix, _ in sorted(counts.items(), key=lambda item: -item[1])]
    lines += [note.removeprefix("settings: ") for note in notes if note.startswith("settings:")]
    return tuple(lines[:8])
