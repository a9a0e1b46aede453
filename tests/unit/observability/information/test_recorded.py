"""What a recorded flight tells: verdicts, what is missing, and logs that lack something."""

import numpy as np
import pytest
from tests.consistency.test_recorded_information import KNOWN, NAMES, measured, recorded, vehicle

from haltere.airframe import from_catalogue
from haltere.airframe.equipment import equip
from haltere.flight import Channel, Flight
from haltere.foundation import HaltereError
from haltere.foundation.verdict import Limit
from haltere.observability import Question, RationalVehicle, analyse, observe_flight
from haltere.observability.information.excitation import (
    UNITS,
    describe_missing,
    excitation_kind,
    measure_excitation,
)
from haltere.observability.information.filter_flight import prepare_flight


@pytest.fixture(scope="module")
def lively():
    return recorded(*measured(np.random.default_rng(1)))


def with_values(flight, name, change):
    channel = flight[name]
    values = change(np.array(channel.values))
    new = Channel(name, channel.time, values, channel.unit, channel.frame, channel.columns)
    return flight.with_channel(new)


@pytest.fixture(scope="module")
def still(lively):
    """The same vehicle hovering, as its sensors would see it without noise."""
    flight = with_values(lively, "rotors.speed", lambda v: np.full_like(v, 453.2))
    flight = with_values(flight, "imu.accel", lambda v: np.tile([0.0, 0.0, 9.81], (len(v), 1)))
    flight = with_values(flight, "imu.gyro", np.zeros_like)
    flight = with_values(flight, "pose.position", lambda v: np.tile([0.026, 0.038, 2.059], (len(v), 1)))
    return with_values(flight, "pose.wxyz", lambda v: np.tile([1.0, 0.0, 0.0, 0.0], (len(v), 1)))


def test_hovering_lacks_excitation_and_says_which(lively, still):
    moving, hovering = (
        observe_flight(vehicle(), flight, names=("inertia", "imu.position"), known=KNOWN)
        for flight in (lively, still)
    )
    assert [told.verdict for told in moving.parameters[:3]] == ["observable"] * 3
    assert all(told.missing is None for told in moving.parameters[:3])
    yaw = hovering.parameters[2]
    assert (yaw.name, yaw.sigma, yaw.verdict) == ("inertia.zz", None, "unobservable")
    assert yaw.missing.startswith("yaw acceleration too small for inertia.zz: nothing is learnt")
    assert hovering.excitation["yaw acceleration"] < 0.1 * moving.excitation["yaw acceleration"]
    assert moving.duration == pytest.approx(1.5)


def test_what_no_flight_shows_is_told_apart_from_what_this_one_does_not(lively):
    names = ("inertia.zz", "rotors.front.position.z", "imu.gyro_bias.x")
    zz, z, bias = observe_flight(vehicle(), lively, names=names).parameters
    assert (zz.verdict, zz.sigma) == ("combination", None)
    assert "measure" in zz.missing
    assert "mass" in zz.missing
    assert z.verdict == "unobservable"
    assert bias.verdict == "observable"
    general = analyse(RationalVehicle.from_airframe(vehicle()), Question(("pose", "imu")))
    verdicts = {f.name: f.verdict for f in general.parameters}
    assert [verdicts[name] for name in names] == ["combination", "unobservable", "observable"]


def test_fewer_sensors_tell_less(lively):
    names = ("inertia.xx", "rotors.left.thrust_coefficient")
    sigma = {
        sensors: [
            t.sigma for t in observe_flight(vehicle(), lively, sensors, names=names, known=KNOWN).parameters
        ]
        for sensors in (("pose", "imu"), ("pose",), ("imu",))
    }
    for fewer in (("pose",), ("imu",)):
        assert all(a < b for a, b in zip(sigma["pose", "imu"], sigma[fewer], strict=True))


def test_a_log_without_imu_or_pose_is_used_as_far_as_it_goes(lively):
    blind = lively.without("imu.accel").without("imu.gyro")
    (sigma,) = (
        t.sigma for t in observe_flight(vehicle(), blind, ("pose",), names=NAMES[:1], known=KNOWN).parameters
    )
    assert 0.0 < sigma < 0.01
    lost = lively.without("pose.position").without("pose.wxyz")
    (sigma,) = (
        t.sigma for t in observe_flight(vehicle(), lost, ("imu",), names=NAMES[:1], known=KNOWN).parameters
    )
    assert 0.0 < sigma < 0.01


def test_position_begins_with_the_attitude_that_was_estimated(lively):
    estimate = lively["pose.wxyz"].renamed("estimate.wxyz")
    flight = lively.without("pose.wxyz").with_channel(estimate)
    ready = prepare_flight(vehicle(), flight, ("position", "imu"))
    np.testing.assert_allclose(ready.first["attitude"], lively["pose.wxyz"].values[0], atol=1e-12)
    assert not np.asarray(ready.frames.pose_valid[:, 3:]).any()
    assert np.asarray(ready.frames.pose_valid[:, :3]).any()


def test_position_alone_finds_its_first_attitude(lively):
    ready = prepare_flight(vehicle(), lively.without("pose.wxyz"), ("position", "imu"))
    shown = lively["pose.wxyz"].values[0]
    assert 2.0 * np.arccos(np.abs(shown @ np.asarray(ready.first["attitude"]))) < np.deg2rad(5.0)


def renamed_rotors(flight, *names):
    speed = flight["rotors.speed"]
    values = speed.values[:, : len(names)]
    return flight.with_channel(Channel("rotors.speed", speed.time, values, "rad/s", "", names))


@pytest.mark.parametrize(
    ("change", "sensors", "said"),
    [
        (lambda f: f.without("pose.wxyz"), ("pose", "imu"), "no pose sensor .* try --sensors imu"),
        (lambda f: f.without("imu.gyro"), ("pose", "imu"), "no imu sensor .* try --sensors pose"),
        (lambda f: f.without("rotors.speed"), ("pose", "imu"), "no rotor speeds"),
        (lambda f: renamed_rotors(f, "m1", "m2"), ("pose", "imu"), "2 rotors but hummingbird has 4"),
        (lambda _: Flight(), ("pose", "imu"), "give a log that has it"),
    ],
)
def test_what_is_missing_in_a_log_is_one_line(lively, change, sensors, said):
    with pytest.raises(HaltereError, match=said) as error:
        prepare_flight(vehicle(), change(lively), sensors)
    assert "\n" not in str(error.value)


def test_rotors_of_a_log_are_taken_in_the_order_of_the_file(lively):
    ready = prepare_flight(vehicle(), renamed_rotors(lively, "m1", "m2", "m3", "m4"), ("pose", "imu"))
    assert "rotors m1, m2, m3, m4 of the log are taken as front, left, back, right" in ready.notes
    plain = prepare_flight(vehicle(), lively, ("pose", "imu"))
    np.testing.assert_array_equal(ready.frames.steps.speeds, plain.frames.steps.speeds)


def test_wings_are_refused(lively):
    with pytest.raises(HaltereError, match="wings"):
        observe_flight(from_catalogue("hong-fixed-wing"), lively)


def test_what_the_file_leaves_out_is_assumed_and_said():
    full, notes = equip(from_catalogue("crazyflie"), ("pose", "imu"), {"imu": 500.0})
    assert full.imu[0].rate == 500.0
    assert full.pose[0].sigma_position > 0.0
    assert any("pose" in note for note in notes)
    _, notes = equip(vehicle(), ("pose", "imu"))
    assert notes == ()


def test_excitation_is_named_and_measured():
    assert excitation_kind("inertia.zz") == excitation_kind("rotors.front.torque_ratio") == "yaw acceleration"
    assert excitation_kind("rotors.front.position.x") == "pitch acceleration"
    assert excitation_kind("rotors.front.axis.x") == excitation_kind("mass") == "change of thrust"
    assert excitation_kind("imu.position.z") == "turning"
    rates = np.zeros((100, 3))
    rates[:, 2] = np.arange(100) / 50.0
    measured_ = measure_excitation(rates, np.ones((100, 4)), 0.02)
    assert measured_["yaw acceleration"] == pytest.approx(1.0)
    assert measured_["change of thrust"] == 0.0
    assert set(measured_) == set(UNITS)


def test_the_sentence_about_what_is_missing():
    measured_ = dict.fromkeys(UNITS, 0.3)
    limit = Limit(scale=1.0, fraction=0.25)
    assert describe_missing("inertia.zz", 0.4, limit, measured_) == (
        "yaw acceleration too small for inertia.zz: sigma 40 % at 0.3 rad/s2 rms"
    )
    assert describe_missing("inertia.zz", 0.25 / 1.97, limit, measured_) is None
    assert describe_missing("inertia.zz", 0.25 / 1.95, limit, measured_) is not None
