"""The result of a log with pose, rotor speeds and a nominal airframe: the batch estimate of the whole vehicle.

`haltere.estimation.vehicle` gives numbers in body axes from the airframe's origin. They are compared with what the
effectiveness method finds in the same log, which knows neither pose nor prior, and with parts of the flight; where they
disagree, intervals widen (`haltere.identification.methods.credibility`).
"""

from dataclasses import replace

import numpy as np

from haltere.estimation.vehicle.levels import NAMES
from haltere.estimation.vehicle.nodes import FlightNodes
from haltere.estimation.vehicle.numbers import Numbers, physical_numbers
from haltere.estimation.vehicle.parameters import NominalVehicle
from haltere.estimation.vehicle.smoother import SmoothedFlight, smooth
from haltere.flight.window import HELD_OUT, IdentifyError
from haltere.foundation.arrays import double_precision
from haltere.foundation.memory import bound_programs
from haltere.identification.methods.base import MethodResult
from haltere.identification.methods.credibility import STRAINED, check_credibility, has_settled, sensor_strain
from haltere.identification.methods.vehicle_input import VehicleInput
from haltere.identification.methods.vehicle_numbers import (
    identified_airframe,
    motor_parameters,
    predict_end,
    to_covariance,
    to_parameters,
)


@double_precision()
def identify_batch(data: VehicleInput) -> MethodResult:
    """What the batch estimate tells of a flight."""
    bound_programs()
    rotors = data.rotor_names
    found, left_out = _smoothed(FlightNodes.from_flight(data.flight, rotors), data.nominal)
    numbers = physical_numbers(found, rotors)
    credibility = check_credibility(found, numbers, data.motors.parameters)
    if credibility.refusal:
        raise IdentifyError(credibility.refusal)
    result = MethodResult(notes=[*data.notes, *left_out, *credibility.notes])
    result.parameters += to_parameters(numbers, credibility.sigma, data.measured, rotors)
    result.parameters += motor_parameters(data.motors)
    result.covariance = to_covariance(numbers, credibility.sigma)
    result.airframe = identified_airframe(data.airframe, numbers, data.motors, result.notes)
    result.predictions += predict_end(_early(found, rotors), data.window, rotors)
    result.fit.update(
        frame="airframe",
        model=data.nominal.model,
        levels={n: float(x) for n, x in zip(NAMES, np.exp(found.log_levels), strict=True)},
        iterations=found.iterations,
        **credibility.figures,
    )
    return result


def _smoothed(nodes: FlightNodes, nominal: NominalVehicle) -> tuple[SmoothedFlight, list[str]]:
    """The estimate, without the attitudes of the poses if these contradict positions and IMU, and a note on that."""
    found = smooth(nodes, nominal)
    if not nodes.has_attitude or (has_settled(found) and sensor_strain(found) < STRAINED):
        return found, []
    try:
        again = smooth(nodes.without_attitude(), nominal)
    except IdentifyError:
        return found, []
    if not has_settled(again) or sensor_strain(again) > sensor_strain(found):
        return found, []
    return again, [
        "the attitudes of the poses contradict positions and IMU and are left out: does the autopilot estimate them?"
    ]


def _early(smoothed: SmoothedFlight, rotors: tuple[str, ...]) -> Numbers:
    """The numbers by all but the held-out end of the flight."""
    count = len(smoothed.parts.right)
    step = smoothed.parts.step_of(range(int((1.0 - HELD_OUT) * count)))
    return physical_numbers(replace(smoothed, z=smoothed.z - smoothed.parts.step + step), rotors)
