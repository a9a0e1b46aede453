"""The doctor on simulated flights of catalogue vehicles: each fault found, and no alarm without one."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.unit.doctor.faults import FAULTS

from haltere.doctor.diagnosis import diagnose
from haltere.flight.mcap import read_mcap
from haltere.scenarios.flights import simulate_many
from haltere.simulation.scenario import scenario_from_text

RUNS = 10
TEXT = """
airframe = "{}"
duration = 12.0
[trajectory]
kind = "lissajous"
[controller]
parameter_error = 0.1
[noise]
gyro_bias = 0.01
accel_bias = 0.1
rotor_resolution = 0.5
"""


@pytest.fixture(scope="module")
def flights(tmp_path_factory):
    """Ten flights each of two quadrotors and a hexarotor, with noise, bias and a controller that is wrong."""
    found = []
    for airframe in ("hummingbird", "x500", "neo"):
        folder = tmp_path_factory.mktemp(airframe)
        text = TEXT.format(airframe)
        simulate_many(
            scenario_from_text(text), RUNS, folder, seed=1, keep=True, executor=lambda: ThreadPoolExecutor(1)
        )
        found += [read_mcap(path) for path in sorted(folder.glob("flight-*.mcap"))]
    return found


@pytest.mark.slow
def test_no_alarm_in_simulated_flights(flights):
    assert len(flights) == 3 * RUNS
    for number, flight in enumerate(flights):
        assert diagnose(flight).kinds() == (), number


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_each_fault_is_found_in_simulated_flights(fault, flights):
    kind, needs = FAULTS[fault]
    usable = [flight for flight in flights if needs == "any" or "pose.wxyz" in flight]
    found = [kind in diagnose(fault(f, np.random.default_rng(k))).kinds() for k, f in enumerate(usable)]
    assert np.mean(found) >= 0.95
