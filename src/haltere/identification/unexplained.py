"""Numbers that are withdrawn because the fit explains nothing: rotors and sensors that do not belong together.

A fit that is worse than the mean on time that it has not seen,

    rms(m - p - mean(m - p)) > LIMIT std(m),   m measured, p predicted,                                      (1)

tells nothing of what it fits, whatever its sigmas say: rotors of another flight, a vehicle at rest, noise. A constant
difference is left out, because a hover shows hardly more than that.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from haltere.doctor.finding import Finding
from haltere.identification.methods.base import MethodResult
from haltere.identification.parameters import Parameter
from haltere.identification.result import Prediction

LIMIT = 1.05
"""Of (1): beyond one by what chance makes of a prediction that is nearly constant."""
SHORTEST = 50
"""Samples of a prediction that are compared, at least."""
KIND = "unexplained"
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


def withdraw_unexplained(result: MethodResult) -> MethodResult:
    """Return a result without the numbers that its own predictions contradict, and with a finding that says so."""
    worse = {p.name: ratio for p in result.predictions if (ratio := unexplained(p)) > LIMIT}
    parameters = [_withdrawn(p, worse) for p in result.parameters]
    lost = [old.name for old, new in zip(result.parameters, parameters, strict=True) if old is not new]
    if not lost:
        return result
    said = ", ".join(f"{name} ({ratio:.1f} times its deviation off)" for name, ratio in worse.items())
    finding = Finding(KIND, f"the rotors do not explain {said}", REMEDY, certain=True, channels=tuple(worse))
    airframe = None if "imu.accel.z" in worse else result.airframe
    return replace(result, parameters=parameters, airframe=airframe, findings=[*result.findings, finding])


def unexplained(prediction: Prediction) -> float:
    """The left side of (1) over the deviation of the measured signal; zero where it does not move."""
    residual = prediction.measured - prediction.predicted
    deviation = float(np.std(prediction.measured))
    if len(residual) < SHORTEST or not deviation > 0.0:
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
