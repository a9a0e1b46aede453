"""The result of a log by the estimate in flight: its readings one by one, in the order of their stamps.

`haltere.estimation.vehicle.online` gives what the vehicle would have known of itself at the end of the flight, in body
axes from the airframe's origin.
"""

import numpy as np

from haltere.estimation.vehicle.online import SMOOTHED, OnlineVehicle
from haltere.estimation.vehicle.online_estimate import OnlineEstimate
from haltere.estimation.vehicle.stream import samples_of
from haltere.flight.window import IdentifyError
from haltere.foundation.arrays import double_precision
from haltere.foundation.memory import bound_programs
from haltere.identification.methods.base import MethodResult
from haltere.identification.methods.vehicle_input import VehicleInput
from haltere.identification.methods.vehicle_numbers import (
    identified_airframe,
    motor_parameters,
    predict_end,
    to_covariance,
    to_parameters,
)

ROUTINE = "smoothed "
"""Beginning of the events that are no news."""
LISTED = 8
"""Events that become notes, at most."""


@double_precision()
def identify_online(data: VehicleInput) -> MethodResult:
    """What the estimate in flight tells at the end of a flight.

    Raises:
        IdentifyError: it has never begun, or has begun anew too late.
    """
    bound_programs()
    if "pose.wxyz" not in data.flight:
        raise IdentifyError(
            "the poses have no attitude (pose.wxyz), which this method needs; use --method effectiveness"
        )
    online = OnlineVehicle(data.near, known=data.known, joint_angles=data.joint_angles)
    split = data.window.split - float(data.window.time[data.window.valid][0])
    early: OnlineEstimate | None = None
    for reading in samples_of(data.flight, data.rotor_names):
        if early is None and reading.time >= split:
            early = online.estimate()
        online.step(reading)
    last = online.estimate()
    if not _has_begun(last):
        raise IdentifyError(_reason(last, data.flight.duration))
    numbers = last.numbers
    sigma = np.minimum(numbers.sigma, numbers.prior_sigma)
    result = MethodResult(notes=[*data.notes, *_notes(online)])
    result.parameters += to_parameters(numbers, sigma, data.measured, data.rotor_names)
    result.parameters += motor_parameters(data.motors)
    result.covariance = to_covariance(numbers, sigma)
    result.airframe = identified_airframe(data.airframe, numbers, data.motors, result.notes)
    if early is not None and _has_begun(early):
        result.predictions += predict_end(early.numbers, data.window, data.rotor_names)
    result.fit.update(
        frame="airframe",
        until=last.time,
        events=[[event.time, event.text] for event in online.events],
        skipped={str(reason): count for reason, count in online.skipped.counts.items()},
    )
    return result


def _has_begun(estimate: OnlineEstimate) -> bool:
    """Whether the flight has narrowed anything."""
    return any(p.source == "data" for p in estimate)


def _reason(estimate: OnlineEstimate, duration: float) -> str:
    """Why there is no estimate, and what to do."""
    remedy = "use --method batch or effectiveness, or fly longer"
    if not estimate.events:
        return (
            f"the estimate in flight begins after {SMOOTHED[0]:g} s in which the rotors carry the vehicle and pose, "
            f"IMU and rotor speeds are logged together, and this flight has {duration:.1f} s; {remedy}"
        )
    return f"the estimate in flight has not begun at the end of the log: {estimate.events[-1].text}; {remedy}"


def _notes(online: OnlineVehicle) -> list[str]:
    """What happened to the estimate, and how many readings were not used."""
    news = [event for event in online.events if not event.text.startswith(ROUTINE)]
    notes = [f"at {event.time:.1f} s: {event.text}" for event in news[-LISTED:]]
    if len(news) > LISTED:
        notes.insert(0, f"{len(news) - LISTED} earlier events of the estimate are not listed")
    return notes + [f"{count} readings were skipped: {why}" for why, count in online.skipped.counts.items()]
