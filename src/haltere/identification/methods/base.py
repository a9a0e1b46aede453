"""What an identification method is: a name, what it needs of a log, how it runs, and the result that it gives.

A method is one `Method` object in a module of its own, named by one line of `haltere.identification.methods.registry`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.rigid import RigidAirframe
from haltere.doctor.diagnosis import Diagnosis
from haltere.doctor.finding import Finding
from haltere.flight import Flight
from haltere.flight.filters import low_pass
from haltere.flight.window import FlightWindow
from haltere.foundation.numbers import Bools, Floats
from haltere.identification.known import Known
from haltere.identification.parameters import Parameter
from haltere.identification.result import Covariance, Prediction

AXES = ("roll", "pitch", "yaw")
EXCITE_AXIS = "fly livelier about {}: sharp sticks or a chirp of 1 to 8 Hz for 20 s"
IMU_ROTATED = "imu-rotated"
"""The doctor's finding that the IMU is rotated against the attitude's body."""
IdentifiedModel = Literal["full", "paper"]
"""What is identified with pose: all that acts on a vehicle, or the smaller state vector of [Boehm2022]."""
MODELS: tuple[IdentifiedModel, ...] = ("full", "paper")
SLOW = 1.0
"""Hz, below which angular accelerations are not compared: slow torques are the air's, and the rotors answer them."""


@dataclass(frozen=True)
class MethodInput:
    """What a method may use.

    Attributes:
        flight: The record, mended by the doctor.
        window: Its flying part on one clock, readings in IMU axes.
        airframe: The nominal vehicle, if one was given.
        known: Numbers measured otherwise, by name.
        diagnosis: What the doctor found.
        applied: Kinds of findings that were mended on request, beside those that are certain.
        model: What is identified.
    """

    flight: Flight
    window: FlightWindow
    airframe: Airframe | None
    known: Mapping[str, Known]
    diagnosis: Diagnosis
    applied: tuple[str, ...] = ()
    model: IdentifiedModel = "full"

    @property
    def source(self) -> str:
        """Name of the log."""
        return self.flight.source or "flight"

    @property
    def speeds_missing(self) -> str:
        """Why no rotor speeds can be used, where that is so: the log has none, or a rotor's are at fault."""
        faults = [f"{f.evidence} ({f.kind})" for f in self.diagnosis.findings if f.rotors]
        return (
            f"rotor speeds cannot be used: {'; '.join(faults)}" if faults else "the log has no rotor speeds"
        )

    def body_window(self) -> FlightWindow:
        """The window with readings in body axes, as the nominal airframe mounts the IMU."""
        if self.airframe is None or not self.airframe.imu:
            return self.window
        return self.window.rotated(RigidAirframe.from_airframe(self.airframe).imu_rotation)


@dataclass
class MethodResult:
    """What a method identified.

    Attributes:
        parameters: One entry for each number.
        predictions: On the held-out end of the flight.
        fit: Further figures of the fit, plain data.
        notes: Sentences on what was odd or assumed.
        airframe: The vehicle as identified, or None if a whole one cannot be described.
        curves: Kind of the curve of commands by rotor, where it is not "kappa" for all.
        covariance: Of the numbers whose errors are known together.
        findings: Errors of the data that only their result shows.
    """

    parameters: list[Parameter] = field(default_factory=list)
    predictions: list[Prediction] = field(default_factory=list)
    fit: dict[str, object] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    airframe: Airframe | None = None
    curves: dict[str, str] = field(default_factory=dict)
    covariance: Covariance | None = None
    findings: list[Finding] = field(default_factory=list)


def _always(_: MethodInput) -> bool:
    return True


@dataclass(frozen=True)
class Method:
    """One way to identify a vehicle from a log.

    Attributes:
        name: As `identify(method=...)` takes it.
        title: As a note names it.
        needs: What the log lacks for this method, as one line with a remedy; "" if it has everything.
        run: From what the log holds to the result. An `IdentifyError` says that this log does not suit the method.
        suits: Whether `auto` takes the method for a log that has what it needs, if no method before it in the registry
            was taken.
        gives_way: Whether `auto` goes on with the next method, and a note, if `run` raises an `IdentifyError`.
        models: What it can identify.
    """

    name: str
    title: str
    needs: Callable[[MethodInput], str]
    run: Callable[[MethodInput], MethodResult]
    suits: Callable[[MethodInput], bool] = _always
    gives_way: bool = False
    models: tuple[IdentifiedModel, ...] = ("full",)


@dataclass(frozen=True)
class HeldOut:
    """Signals of the held-out end, measured and predicted: (N, 3), at (N,) times in s, where `valid` (N,)."""

    time: Floats
    valid: Bools
    rate: float


def predict_accelerations(
    held_out: HeldOut,
    force: tuple[Floats, Floats],
    angular: tuple[Floats, Floats],
    force_axes: Sequence[int] = (0, 1, 2),
    angular_axes: Sequence[int] = (0, 1, 2),
) -> list[Prediction]:
    """Measured and predicted signals of the held-out end.

    Args:
        held_out: When they were measured.
        force: Specific force at the IMU, measured and predicted, (N, 3) each, m/s2.
        angular: Angular acceleration, measured and predicted, (N, 3) each, rad/s2; compared above `SLOW`.
        force_axes: Axes of the force that the fit speaks of.
        angular_axes: Axes of the angular acceleration that the fit speaks of.
    """
    time, valid = held_out.time[held_out.valid], held_out.valid
    predictions = []
    for k in force_axes:
        measured, predicted = (x[valid, k] for x in force)
        predictions.append(Prediction(f"imu.accel.{'xyz'[k]}", "m/s2", time, measured, predicted))
    for k in angular_axes:
        measured, predicted = (_above_slow(x[:, k], held_out.rate)[valid] for x in angular)
        predictions.append(
            Prediction(f"angular_acceleration.{'xyz'[k]}", "rad/s2", time, measured, predicted)
        )
    return predictions


def _above_slow(values: Floats, rate: float) -> Floats:
    return np.asarray(values - low_pass(values, rate, SLOW))
