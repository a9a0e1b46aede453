"""Simulated flights with pose through files and the batch smoother, from nominal airframes that are off."""

import numpy as np
import pytest
from tests.recovery.catalogue_flights import rigid
from tests.recovery.test_batch import body_truth
from tests.unit.logs import writers

from haltere.airframe import from_catalogue
from haltere.flight import Channel
from haltere.flight.mcap import write_mcap
from haltere.identification.known import Known
from haltere.identification.pipeline import identify
from haltere.logs import read
from haltere.scenarios.scenario_flight import simulate
from haltere.simulation.scenario import Scenario


def nominal(airframe):
    """Every rotor 2 to 5 % too strong and 4 % too far out, the body 6 % too light to turn."""
    rotors = tuple(
        rotor.model_copy(
            update={
                "thrust_coefficient": rotor.thrust_coefficient * (1.05 - 0.03 * (i % 2)),
                "position": tuple(1.04 * x for x in rotor.position),
            }
        )
        for i, rotor in enumerate(airframe.rotors)
    )
    body = airframe.body.model_copy(update={"inertia": tuple(0.94 * x for x in airframe.body.inertia)})
    return airframe.model_copy(update={"rotors": rotors, "body": body})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ending"), [("hummingbird", "mcap"), ("neo", "ulg"), ("hummingbird", "usd")]
)
def test_catalogue_vehicles(name, ending, tmp_path):
    airframe = from_catalogue(name)
    scenario = Scenario.model_validate(
        {
            "airframe": name,
            "duration": 12.0,
            "seed": 3,
            "trajectory": {"kind": "lissajous", "centre": [0, 0, 5.0], "cycles": [3, 4, 5, 3]},
        }
    )
    flight = simulate(scenario)
    slow = flight["pose.position"].time
    flight = flight.with_channel(Channel("battery.voltage", slow, np.full(len(slow), 15.0), "V", ""))
    path = tmp_path / f"flight.{ending}"
    {"mcap": write_mcap, "ulg": writers.ulog, "usd": writers.usd}[ending](flight, path)
    known = {"mass": Known(airframe.total_mass, 1e-3 * airframe.total_mass)}
    result = identify(read(path), nominal(airframe), known=known)
    assert result.method == "batch"
    truth = body_truth(rigid(airframe))
    errors = [
        (p.value - truth[p.name]) / p.sigma
        for p in result.parameters
        if p.name in truth and p.verdict == "identified"
    ]
    assert len(errors) > 30
    assert np.max(np.abs(errors)) < 3.0
    assert result.airframe is not None
    assert result.airframe.total_mass == pytest.approx(airframe.total_mass, rel=0.01)
    assert {p.name for p in result.predictions} >= {"imu.accel.z", "angular_acceleration.x"}
