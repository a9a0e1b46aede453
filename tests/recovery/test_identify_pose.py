"""Simulated flights with pose through files, batch smoother and filter, from nominal airframes that are off."""

from dataclasses import replace

import numpy as np
import pytest
from tests.recovery.body_truth import body_truth
from tests.recovery.catalogue_flights import rigid
from tests.unit.logs import writers

from haltere.airframe import from_catalogue
from haltere.flight import Channel
from haltere.flight.mcap import write_mcap
from haltere.flight.window import IdentifyError
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


def built(airframe):
    """Numbers about as far off as those of a drawing: thrust 3 %, rotors 1.5 mm, inertia 5 %."""
    rng = np.random.default_rng(2)
    rotors = tuple(
        rotor.model_copy(
            update={
                "thrust_coefficient": rotor.thrust_coefficient * (1.0 + 0.03 * rng.normal()),
                "position": tuple(x + 1.5e-3 * rng.normal() for x in rotor.position),
            }
        )
        for rotor in airframe.rotors
    )
    inertia = tuple(x * (1.0 + 0.05 * rng.normal()) for x in airframe.body.inertia)
    body = airframe.body.model_copy(update={"inertia": inertia})
    return airframe.model_copy(update={"rotors": rotors, "body": body})


@pytest.fixture(scope="module")
def hummingbird():
    """The airframe, one that is about as it, its mass, and 8 s of flight of which some poses are lost."""
    airframe = from_catalogue("hummingbird")
    scenario = Scenario.model_validate(
        {
            "airframe": "hummingbird",
            "duration": 8.0,
            "seed": 3,
            "trajectory": {"kind": "lissajous", "centre": [0, 0, 5.0], "cycles": [3, 4, 5, 3]},
        }
    )
    flight = simulate(scenario)
    position = flight["pose.position"]
    values = position.values.copy()
    values[100:105] = np.nan
    flight = flight.with_channel(replace(position, values=values))
    known = {"mass": (airframe.total_mass, 1e-3 * airframe.total_mass)}
    return airframe, built(airframe), known, flight


def errors(result, truth):
    """Over sigma, of what was identified; a rotor inertia that the file does not state is none to compare with."""
    return {
        p.name: (p.value - truth[p.name]) / p.sigma
        for p in result.parameters
        if p.name in truth and p.verdict == "identified" and not p.name.endswith("_dot")
    }


def test_the_filter_replays_the_log(hummingbird):
    airframe, near, known, flight = hummingbird
    result = identify(flight, near, known=known, method="filter")
    assert result.method == "filter"
    assert result.fit["frame"] == "airframe"
    assert result.fit["until"] > 6.5
    assert [text.split()[0] for _, text in result.fit["events"]] == ["smoothed"]
    assert "5 readings were skipped: a value is not finite" in result.notes
    assert result.fit["skipped"] == {"a value is not finite": 5}
    away = errors(result, body_truth(rigid(airframe)))
    assert len(away) > 20
    assert max(map(abs, away.values())) < 3.5, away
    assert result.parameters["mass"].source == "user"
    assert {p.name.rpartition(".")[2] for p in result.parameters} >= {"max_speed", "time_constant", "delay"}
    assert result.airframe.total_mass == pytest.approx(airframe.total_mass, rel=0.01)
    assert {p.name for p in result.predictions} >= {"imu.accel.z", "angular_acceleration.x"}
    rows = [p for p in result.predictions if p.name.startswith("angular_acceleration")][:2]
    for held_out in rows:
        assert np.std(held_out.measured - held_out.predicted) < 0.5 * np.std(held_out.measured)
    inside = result.covariance.matrix[0, 0]
    assert np.sqrt(inside) == pytest.approx(result.parameters["mass"].sigma, rel=1e-6)


def test_a_log_that_the_filter_cannot_take_is_refused_in_a_line(hummingbird):
    _, near, known, flight = hummingbird
    with pytest.raises(IdentifyError, match=r"begins after 5 s .* use --method batch") as short:
        identify(flight.between(0.0, 4.5), near, known=known, method="filter")
    with pytest.raises(IdentifyError, match="no attitude") as level:
        identify(flight.without("pose.wxyz"), near, known=known, method="filter")
    with pytest.raises(IdentifyError, match="has no pose") as blind:
        identify(flight.without("pose.position"), near, known=known, method="filter")
    assert all("\n" not in str(error.value) for error in (short, level, blind))


def test_the_model_of_the_paper(hummingbird):
    airframe, near, known, flight = hummingbird
    result = identify(flight, near, known=known, model="paper")
    assert (result.method, result.fit["model"]) == ("batch", "paper")
    names = {p.name for p in result.parameters}
    assert not names & {"pose.delay", "telemetry.delay", "imu.accel_delay", "rotors.front.spin_inertia"}
    assert names >= {"mass", "inertia.xz", "rotors.front.position.x", "imu.rotation.z", "gravity.x"}
    truth = body_truth(rigid(airframe))
    away = errors(result, truth)
    assert len(away) > 20
    assert max(map(abs, away.values())) < 4.0, away
    for name in ("inertia.xx", "inertia.yy", "rotors.front.thrust_coefficient"):
        assert result.parameters[name].value == pytest.approx(truth[name], rel=0.05), name
    with pytest.raises(IdentifyError, match="--method filter has no --model paper; use --method batch"):
        identify(flight, near, known=known, method="filter", model="paper")
