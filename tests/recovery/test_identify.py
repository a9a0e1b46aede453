"""Random vehicles with known truth, flown in NumPy, through `identify`: within sigma, in every file format."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.unit.identification.made_vehicle import NAMES, draw, record
from tests.unit.logs import writers

from haltere.flight import Channel, Flight
from haltere.flight.mcap import write_mcap
from haltere.identification.known import Known
from haltere.identification.pipeline import identify
from haltere.logs import read


def truths(truth):
    """What `identify` should say of a vehicle."""
    found = {
        "inertia.xx": truth.inertia[0], "inertia.yy": truth.inertia[1], "inertia.zz": truth.inertia[2],
        "inertia.yy/inertia.xx": truth.inertia[1] / truth.inertia[0],
        "inertia.zz/inertia.xx": truth.inertia[2] / truth.inertia[0],
        "thrust_to_weight": np.sum(truth.lift) * truth.top**2 / 9.80665,
    }  # fmt: skip
    found |= {f"imu.position.{a}": truth.imu[k] for k, a in enumerate("xyz")}
    for i, name in enumerate(NAMES):
        numbers = {
            "effectiveness.fx": 0.0, "effectiveness.fy": 0.0, "effectiveness.fz": truth.lift[i],
            "effectiveness.p": truth.torque[0, i], "effectiveness.q": truth.torque[1, i],
            "effectiveness.r": truth.torque[2, i], "effectiveness.p_dot": 0.0, "effectiveness.q_dot": 0.0,
            "effectiveness.r_dot": truth.spin[i], "max_speed": truth.top, "idle_speed": truth.idle,
            "curve": truth.share, "time_constant": truth.tau, "delay": truth.dead, "thrust_coefficient": truth.k[i],
        }  # fmt: skip
        found |= {f"rotors.{name}.{last}": value for last, value in numbers.items()}
    return found


def known(truth):
    given = {"mass": Known(truth.mass), "rotors.*.torque_ratio": Known(truth.ratio)}
    for name, (x, y) in zip(NAMES, truth.places, strict=True):
        given |= {f"rotors.{name}.position.x": Known(x), f"rotors.{name}.position.y": Known(y)}
    return given


def errors(result, truth):
    """In sigma, of all that was told."""
    told = {name: result.parameters.get(name) for name in truths(truth)}
    return {
        name: (told[name].value - value) / told[name].sigma
        for name, value in truths(truth).items()
        if told[name].value is not None
    }


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 5))])
def test_lively_flights(seed):
    rng = np.random.default_rng(seed)
    truth = draw(rng)
    result = identify(record(rng, truth), known=known(truth), method="effectiveness")
    found = errors(result, truth)
    assert max(map(abs, found.values())) < 3.5, found
    assert np.mean([abs(e) < 1.96 for e in found.values()]) > 0.9
    assert len(found) > 60
    assert result.parameters["inertia.xx"].verdict == "identified"
    assert result.parameters["inertia.xx"].sigma < 0.12 * truth.inertia[0]
    assert max(result.fit["both_ways_sigma"].values()) < 1.0
    assert json.dumps(result.to_dict(), allow_nan=False)
    moments = [result.parameters[f"inertia.{m}"].value for m in ("xx", "yy", "zz")]
    assert 2.0 * max(moments) <= sum(moments)


@pytest.mark.slow
def test_coverage_over_many_vehicles():
    inside = []
    for seed in range(20, 50):
        rng = np.random.default_rng(seed)
        truth = draw(rng)
        found = errors(identify(record(rng, truth), known=known(truth), method="effectiveness"), truth)
        inside += [abs(e) < 1.96 for e in found.values()]
    assert np.mean(inside) > 0.95


def test_a_calm_flight_tells_no_inertia():
    rng = np.random.default_rng(7)
    truth = draw(rng)
    result = identify(
        record(rng, truth, 8.0, lively=0.003, noise=3.0), known=known(truth), method="effectiveness"
    )
    for moment in ("xx", "yy"):
        assert result.parameters[f"inertia.{moment}"].verdict in ("unobservable", "weak")
    assert result.parameters["rotors.m1.effectiveness.p"].verdict in ("unobservable", "weak")


def test_commands_alone_admit_the_form_of_the_curve():
    rng = np.random.default_rng(8)
    truth = draw(rng)
    result = identify(record(rng, truth, 20.0, speeds=False), known=known(truth))
    assert result.method == "command"
    assert any("rotor speeds" in step for step in result.next_steps)
    lag = result.parameters.get("rotors.m1.time_constant")
    assert abs(lag.value - truth.tau) < 3.0 * lag.sigma
    for k, moment in enumerate(("xx", "yy")):
        told = result.parameters.get(f"inertia.{moment}")
        assert abs(told.value - truth.inertia[k]) < 3.0 * told.sigma
    assert result.parameters["rotors.m1.effectiveness.p"].verdict == "combination"
    ratio = result.parameters.get("thrust_to_weight")
    assert abs(ratio.value - truths(truth)["thrust_to_weight"]) < 3.0 * ratio.sigma


def test_every_format(tmp_path):
    rng = np.random.default_rng(9)
    truth = draw(rng)
    flight = record(rng, truth, 10.0, rate=250.0)
    slow = flight["imu.gyro"].time[::5]
    level = np.tile([1.0, 0.0, 0.0, 0.0], (len(slow), 1))
    full = flight.with_channel(Channel("pose.position", slow, np.zeros((len(slow), 3)), "m", "world"))
    full = full.with_channel(Channel("pose.wxyz", slow, level, "1", "world"))
    full = full.with_channel(Channel("battery.voltage", slow, np.full(len(slow), 15.0), "V", ""))
    write_mcap(flight, tmp_path / "flight.mcap")
    writers.table(flight, tmp_path / "flight.csv")
    writers.ulog(full, tmp_path / "flight.ulg")
    writers.usd(full, tmp_path / "log00")
    for name in ("flight.mcap", "flight.csv", "flight.ulg", "log00"):
        log = read(tmp_path / name)
        for channel in ("pose.position", "pose.wxyz"):  # the pose is a dummy
            log = log.without(channel) if channel in log else log
        found = errors(identify(log, known=known(truth), method="effectiveness"), truth)
        assert max(map(abs, found.values())) < 3.0, (name, found)
        assert len(found) > 60


def test_streams_in_one_table_or_a_table_each(tmp_path):
    """A magnetometer with a clock of its own leaves the other streams in 5 of 6 rows."""
    rng = np.random.default_rng(9)
    truth = draw(rng)
    flight = record(rng, truth, 6.0, rate=250.0)
    clock = flight["imu.gyro"].time[:-5:5] + 1_500_000
    field = Channel("mag.field", clock, 1e-5 * rng.normal(size=(len(clock), 3)), "T", "mag")
    imu, rotors, compass = (
        [flight["imu.gyro"], flight["imu.accel"]],
        [flight["rotors.speed"], flight["rotors.command"]],
        [field],
    )
    writers.stream_table([imu, rotors], tmp_path / "dense.csv", True)
    writers.stream_table([imu, rotors, compass], tmp_path / "joined.csv", True)
    writers.stream_table([imu, rotors, compass], tmp_path / "apart.csv", False)
    channels = []
    for number, stream in enumerate((imu, rotors, compass)):
        writers.stream_table([stream], tmp_path / f"{number}.csv", True)
        channels += read(tmp_path / f"{number}.csv").channels.values()
    dense, joined, apart = (read(tmp_path / f"{name}.csv") for name in ("dense", "joined", "apart"))
    assert len(joined["imu.gyro"]) == len(flight["imu.gyro"])
    results = []
    for log in (dense, joined, apart, Flight.of(*channels)):
        same = replace(log, source="")
        results.append(identify(same, known=known(truth), method="effectiveness"))
    assert len({json.dumps(result.to_dict()) for result in results}) == 1
    assert max(map(abs, errors(results[0], truth).values())) < 3.5
