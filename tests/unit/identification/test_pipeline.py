"""Parts of `identify`: verdicts, ratios, whole vehicles, and where a throw begins."""

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.identification.made_flight import made
from tests.unit.identification.made_vehicle import draw, record

from haltere.airframe import from_catalogue
from haltere.flight import Channel, Flight, nanoseconds
from haltere.flight.window import IdentifyError
from haltere.identification.methods.absolute import enforce_triangle, inertia_coupling, moments_of
from haltere.identification.methods.airframe import with_identified_numbers
from haltere.identification.methods.throw.signals import find_throw
from haltere.identification.parameters import Parameter
from haltere.identification.pipeline import identify


def test_verdicts_are_those_of_the_contract():
    assert Parameter.measured("mass", 1.0, 0.1, "kg").verdict == "identified"
    assert Parameter.measured("mass", 1.0, 0.13, "kg", "weigh it").verdict == "weak"
    assert Parameter.measured("mass", 1.0, 0.9, "kg", positive=True).interval[0] == 0.0
    assert Parameter.measured("mass", np.nan, 0.1, "kg").verdict == "unobservable"
    assert Parameter.unobservable("mass", "kg", "weigh it").value is None
    assert Parameter.combination("mass", "kg", ("a",), "weigh it").partners == ("a",)


def test_moments_always_belong_to_a_body():
    notes = []
    moved = enforce_triangle({"xx": (1.0, 0.1), "yy": (1.0, 0.2), "zz": (2.4, 0.1)}, notes)
    values = np.array([v for v, _ in moved.values()])
    assert 2.0 * values.max() <= values.sum()
    assert abs(values[1] - 1.0) > abs(values[0] - 1.0), "what is known less moves more"
    assert notes
    rng = np.random.default_rng(0)
    for x in rng.normal(size=(20, 2)) * 2.0:
        a, b, c = moments_of(x)
        assert 2.0 * max(a, b, c) <= a + b + c + 1e-12
        assert np.allclose(inertia_coupling(x), [(b - c) / a, (c - a) / b, (a - b) / c])


def test_numbers_are_put_into_an_airframe():
    nominal = from_catalogue("crazyflie")
    told = [
        Parameter.measured("mass", 0.03, 0.001, "kg"),
        Parameter.measured("inertia.xx", 2e-5, 1e-6, "kg m2"),
        Parameter.measured("rotors.m1.thrust_coefficient", 3e-8, 1e-9, "N/(rad/s)2"),
        Parameter.measured("rotors.m2.max_speed", 2500.0, 50.0, "rad/s"),
        Parameter.unobservable("inertia.zz", "kg m2", "fly"),
    ]
    found = with_identified_numbers(nominal, told, {}, [])
    assert found.body.mass == 0.03
    assert found.body.inertia[0] == pytest.approx(2e-5)
    assert found.body.inertia[2] == pytest.approx(nominal.body.inertia[2])
    assert found.rotors[0].thrust_coefficient == 3e-8
    assert found.rotors[1].speed_limits == (0.0, 2500.0)
    notes = []
    kept = with_identified_numbers(
        nominal, [*told, Parameter.measured("inertia.yy", 1e-3, 1e-5, "kg m2")], {}, notes
    )
    assert kept.body.inertia == nominal.body.inertia, "no body has that inertia"
    assert notes


def test_a_throw_begins_in_free_fall():
    t = np.arange(0.0, 6.0, 0.002)
    driven = t > 2.0
    force = np.where(t[:, None] < 1.5, [0, 0, 9.81], [0, 0, 0.1]) + np.where(
        driven[:, None], [0, 0, 9.0], 0.0
    )
    command = np.where(driven[:, None], 0.5, 0.0) * np.ones(4)
    for i in range(4):  # one motor after the other
        command[(t > 2.0) & (t < 2.2), i] = 0.0
        command[(t > 2.0 + 0.05 * i) & (t < 2.05 + 0.05 * i), i] = 0.5

    def flight(acceleration):
        return Flight.of(
            Channel("imu.accel", nanoseconds(t), acceleration, "m/s2", "imu"),
            Channel("imu.gyro", nanoseconds(t), np.ones((len(t), 3)), "rad/s", "imu"),
            Channel("rotors.command", nanoseconds(t), command, "1", ""),
            Channel("rotors.speed", nanoseconds(t), 1000 * command, "rad/s", ""),
        )

    start, end = find_throw(flight(force))
    assert start == pytest.approx(1.95, abs=0.01)
    assert 5.0 < end < 6.0
    assert find_throw(flight(np.tile([0, 0, 9.81], (len(t), 1)))) is None


def test_damaged_logs_are_refused_or_judged():
    rng = np.random.default_rng(1)
    flight = record(rng, draw(rng), 4.0)
    still = flight.with_channel(replace(flight["imu.accel"], values=0.0 * flight["imu.accel"].values))
    with pytest.raises(IdentifyError, match="in every sample"):
        identify(still)
    broken = flight["rotors.speed"].values.copy()
    broken[300:340] = np.nan
    result = identify(flight.with_channel(replace(flight["rotors.speed"], values=broken)))
    assert result.parameters["rotors.m1.effectiveness.p"].verdict in ("identified", "weak")
    with pytest.raises(IdentifyError, match="give one of"):
        identify(flight, method="magic")


def test_a_dead_accelerometer_is_refused_in_a_line():
    flight = made(0).without("rotors.speed")
    dead = replace(flight["imu.accel"], values=np.zeros_like(flight["imu.accel"].values))
    with pytest.raises(IdentifyError, match="reads 0, 0, 0 in every sample"):
        identify(flight.with_channel(dead), method="command")


def test_airframe_by_name_known_as_pairs_and_progress():
    flight = replace(made(0), source="made.mcap")
    sentences = []
    result = identify(flight, known={"mass": (0.5, 0.005)}, method="effectiveness", progress=sentences.append)
    mass = result.parameters.get("mass")
    assert (result.source, mass.value, mass.sigma) == ("made.mcap", 0.5, 0.005)
    assert sentences == ["checking made.mcap", "identifying made.mcap: method effectiveness"]
    assert identify(flight, "x500", known={"mass": 0.5}, method="effectiveness").nominal.name == "x500"
    for known, message in (
        ({"mass": "heavy"}, "value or"),
        ({"mas": 1.0}, "did you mean"),
        ({"mass": -1.0}, "above zero"),
    ):
        with pytest.raises(IdentifyError, match=message):
            identify(flight, known=known)
