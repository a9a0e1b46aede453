"""Recorded flights through `identify`: against weighed mass, thrust stands, stated truth, and held-out time."""

import json
import time
from functools import cache

import numpy as np
import pytest

from haltere import logs
from haltere.airframe import load_airframe
from haltere.identification.known import parse_known
from haltere.identification.pipeline import identify

TABLE = "px4/gazebo_x500_mass_vertical.csv"
STAND = "rotors.*.thrust_coefficient=3.77e-8"


read = cache(logs.read)


@cache
def found(path, known="", airframe=None, method="auto"):
    nominal = load_airframe(airframe) if airframe else None
    return identify(read(path), nominal, known=parse_known([known]), method=method)


@pytest.mark.parametrize(
    ("name", "mass"),
    [("crazyflie_rpm/brushless_eckart36", 0.0370), ("crazyflie_rpm/payload_eckart32", 0.0444)],
)
def test_mass_by_a_thrust_stand(recorded, name, mass):
    result = found(recorded(name, "mass from a thrust-stand coefficient"), STAND)
    told = result.parameters.get("mass")
    assert told.value == pytest.approx(mass, rel=0.025)
    assert told.sigma >= 0.02 * told.value
    assert told.interval[0] < mass < told.interval[1]
    assert told.verdict == "identified"


@pytest.mark.parametrize(("name", "carried"), [("brushless_eckart36", False), ("payload_eckart32", True)])
def test_a_payload_is_found(recorded, name, carried):
    file = recorded(f"crazyflie_rpm/{name}", "presence of a payload")
    result = found(file, f"{STAND},mass=0.037+-0.0005")
    assert any("carries" in note for note in result.notes) is carried
    extra = result.parameters.get("payload.mass")
    assert extra.interval[0] < (0.0074 if carried else 0.0) < extra.interval[1]


def test_gazebo_mass_with_its_coefficient(recorded):
    result = found(recorded(TABLE, "mass against exact truth"), "rotors.*.thrust_coefficient=4e-6")
    mass = result.parameters.get("mass")
    assert mass.value == pytest.approx(0.8643, rel=0.003)
    assert mass.sigma >= 0.002 * mass.value
    for moment in ("xx", "yy"):
        assert result.parameters[f"inertia.{moment}"].verdict == "unobservable"
        assert result.parameters[f"inertia.{moment}"].fix
    yaw = result.parameters.get("inertia.zz")
    assert yaw.verdict == "unobservable" or None not in yaw.interval


def test_gazebo_mass_alone_is_a_combination(recorded):
    mass = found(recorded(TABLE, "that mass alone cannot be told")).parameters.get("mass")
    assert mass.verdict == "combination"
    assert mass.value is None
    assert "rotors.m1.thrust_coefficient" in mass.partners


def test_an_airframe_does_not_make_inertia_of_nothing(recorded):
    result = found(
        recorded(TABLE, "inertia from weak motion"),
        "rotors.*.thrust_coefficient=4e-6",
        "x500",
        "effectiveness",
    )
    for moment in ("xx", "yy"):
        assert result.parameters[f"inertia.{moment}"].verdict == "unobservable"


@pytest.mark.parametrize("name", ["log10", "log15", "log16"])
def test_commands_alone(recorded, name):
    file = recorded(f"crazyflie_command/{name}", "thrust and rotation from commands alone")
    flight = read(file)
    begin = time.process_time()
    result = identify(flight, load_airframe("crazyflie"), known=parse_known(["mass=0.027"]))
    assert time.process_time() - begin < 5.0
    assert result.method == "command"
    rms = {p.name: p.rms for p in result.predictions}
    assert rms["imu.accel.z"] < 0.55
    low, high = result.parameters["rotors.m1.time_constant"].interval
    assert low < 0.070 < high
    assert high - low > 0.03
    if name != "log15":
        assert result.parameters["inertia.xx"].verdict == "unobservable"
        return
    assert rms["angular_acceleration.x"] < 17.0
    assert rms["angular_acceleration.y"] < 17.0
    for moment in ("xx", "yy"):
        low, high = result.parameters[f"inertia.{moment}"].interval
        assert low < 1.2e-5 < high
        assert high > 1.6e-5


def test_betaflight_gives_ratios_and_no_mass(recorded):
    result = found(recorded("betaflight/sample-short.BFL", "ratios and time constants of a racing quadrotor"))
    assert result.method == "effectiveness"
    assert result.parameters["mass"].verdict == "combination"
    assert not [p for p in result.parameters if p.name in ("mass", "inertia.xx") and p.value is not None]
    taus = [result.parameters.get(f"rotors.m{i}.time_constant") for i in range(1, 5)]
    assert all(0.02 < tau.value < 0.05 for tau in taus)
    assert all(tau.verdict in ("identified", "weak") for tau in taus)
    spins = np.array([result.parameters[f"rotors.m{i}.effectiveness.r_dot"].value for i in range(1, 5)])
    assert np.std(np.abs(spins)) < 0.05 * np.mean(np.abs(spins)), "four rotors of one kind"
    assert max(result.fit["both_ways_sigma"].values()) < 1.0
    assert result.parameters["thrust_to_weight"].value > 3.0


@pytest.mark.parametrize("name", ["LOG00158", pytest.param("LOG00165", marks=pytest.mark.slow)])
def test_intervals_of_simulated_throws_cover(recorded, name):
    file = recorded(f"throw_sim/{name}.BFL", "intervals against exact truth")
    truth = json.loads(file.with_suffix(".truth.json").read_text())
    result = found(file)
    assert result.method == "throw"
    rows = {
        "effectiveness.fz": -np.array(truth["thrust_effectiveness_z_per_w2"]),
        "effectiveness.p": np.array(truth["roll_per_w2"]),
        "effectiveness.q": -np.array(truth["pitch_per_w2"]),
        "effectiveness.r": -np.array(truth["yaw_per_w2"]),
        "effectiveness.r_dot": -np.array(truth["yaw_per_wdot"]),
        "time_constant": np.array(truth["motor_time_constant_s"]),
    }
    inside = []
    for row, values in rows.items():
        for i, value in enumerate(values):
            low, high = result.parameters[f"rotors.m{i + 1}.{row}"].interval
            inside.append(low < value < high)
    assert np.mean(inside) >= 0.85


@pytest.mark.slow
def test_a_real_throw(recorded):
    result = found(recorded("throw_real/LOG00257.BFL", "a real throw through identify"), "mass=0.428")
    assert result.method == "throw"
    k = np.array([result.parameters[f"rotors.m{i}.thrust_coefficient"].value for i in range(1, 5)])
    assert np.mean(k) == pytest.approx(2.66e-7, rel=0.15)
    tau = [result.parameters[f"rotors.m{i}.time_constant"].value for i in range(1, 5)]
    assert 0.018 < np.mean(tau) < 0.028


@pytest.mark.parametrize(
    "name",
    [
        "crazyflie_rpm/brushless_eckart36",
        pytest.param("crazyflie_rpm/payload_eckart32", marks=pytest.mark.slow),
        pytest.param("betaflight/sample-short.BFL", marks=pytest.mark.slow),
    ],
)
def test_parts_of_a_flight_agree_within_their_deviations(recorded, name):
    file = recorded(name, "independent parts of one flight against each other")
    flight = read(file)
    third = flight.duration / 3.0
    parts = [identify(flight.between(i * third, (i + 1) * third)) for i in range(3)]
    apart = []
    for a, b in ((0, 1), (1, 2), (0, 2)):
        for p in parts[a].parameters:
            q = parts[b].parameters.get(p.name)
            if q is not None and p.sigma and q.sigma and "combination" not in (p.verdict, q.verdict):
                apart.append(abs(p.value - q.value) / np.hypot(p.sigma, q.sigma))
    assert len(apart) > 100
    # Every parameter is compared three times, and those of one row go together: not all of 0.95 can be asked.
    assert np.mean(np.array(apart) < 2.0) > 0.92
    assert 0.2 < np.median(apart) < 0.9, "0.67 if deviations are what they say"
    assert np.max(apart) < 5.0
