"""What a recorded flight tells: verdicts, what is missing, and logs that lack something."""

import jax
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.consistency.test_recorded_information import ACCEL, GYRO, KNOWN, NAMES, measured, recorded, vehicle

from haltere.airframe import from_catalogue
from haltere.airframe.equipment import equip
from haltere.estimation.vehicle.parameters import vehicle_of
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
from haltere.observability.information.fisher import Information, ReadingNoise
from haltere.observability.information.recorded import error_slopes
from haltere.observability.information.sensed_flight import prepare_flight


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
    """The same vehicle hovering; its IMU has noise."""
    rng = np.random.default_rng(2)
    flight = with_values(lively, "rotors.speed", lambda v: np.full_like(v, 453.2))
    flight = with_values(flight, "imu.accel", lambda v: [0.0, 0.0, 9.81] + ACCEL * rng.normal(size=v.shape))
    flight = with_values(flight, "imu.gyro", lambda v: GYRO * rng.normal(size=v.shape))
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
    assert moving.duration == pytest.approx(3.25, abs=0.05)  # without a tenth of a second at each end


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


def prepared(flight, sensors):
    question = Question(sensors)
    return prepare_flight(RationalVehicle.from_airframe(vehicle(), question.exteroceptive), flight, sensors)


def test_position_takes_the_attitude_that_was_estimated(lively):
    estimate = lively["pose.wxyz"].renamed("estimate.wxyz")
    ready = prepared(lively.without("pose.wxyz").with_channel(estimate), ("position", "imu"))
    np.testing.assert_allclose(ready.nodes.pose[:, 3:], lively["pose.wxyz"].values, atol=1e-9)
    assert ready.counts.tolist() == [True] * 9 + [False] * 3


def test_position_alone_finds_its_attitude(lively):
    ready = prepared(lively.without("pose.wxyz"), ("position", "imu"))
    shown = lively["pose.wxyz"].values[: len(ready.nodes.pose)]
    angle = 2.0 * np.arccos(np.minimum(np.abs(np.sum(shown * ready.nodes.pose[:, 3:], axis=1)), 1.0))
    assert angle.max() < np.deg2rad(5.0)


def test_rates_are_taken_from_attitudes_where_there_is_no_gyro(lively):
    known, blind = (
        prepared(flight, ("pose",)).nodes
        for flight in (lively, lively.without("imu.accel").without("imu.gyro"))
    )
    assert np.sqrt(np.mean((known.gyro - blind.gyro[: len(known.gyro)]) ** 2)) < 0.1


def test_positions_need_an_attitude_from_somewhere(lively):
    blind = lively.without("imu.accel").without("imu.gyro").without("pose.wxyz")
    with pytest.raises(HaltereError, match=r"positions alone .* estimate\.wxyz"):
        prepared(blind, ("position",))


def turned(airframe):
    """The vehicle with its principal axes off those of the body, and both sensors at an angle."""
    inertia, com = (0.0075, 0.0085, 0.013, 0.0006, 0.0004, -0.0003), (0.01, -0.006, 0.004)
    body = airframe.body.model_copy(update={"inertia": inertia, "com": com})
    imu = airframe.imu[0].model_copy(update={"wxyz": (0.8, 0.0, 0.0, 0.6)})
    pose = airframe.pose[0].model_copy(update={"wxyz": (0.96, 0.28, 0.0, 0.0)})
    return airframe.model_copy(update={"body": body, "imu": (imu,), "pose": (pose,)})


def test_slopes_are_those_of_the_numbers_on_principal_axes(lively):
    """Each parameter of the exact rank, computed anew for coordinates that are a little different."""
    airframe = turned(vehicle())
    exact_vehicle = RationalVehicle.from_airframe(airframe)
    ready = prepare_flight(exact_vehicle, lively, ("pose", "imu"))
    information = Information(exact_vehicle, ReadingNoise.of(airframe, ("pose", "imu")), ())
    T = np.linalg.inv(error_slopes(information, ready))[6:, :-6]  # coordinates per parameter
    entries = exact_vehicle.coordinates.entries[12:]
    step = 1e-3 * information.units
    for k, name in enumerate(entries):
        if "_bias" in name or ".axis." in name:
            continue
        there, back = (on_principal_axes(ready.nominal, sign * step[k] * T[:, k]) for sign in (1.0, -1.0))
        for other in there:
            slope = (there[other] - back[other]) / (2.0 * step[k])
            unit = information.units[entries.index(other)] / information.units[k]
            assert slope == pytest.approx(float(other == name), abs=2e-3 * unit), (name, other)


physical = jax.jit(vehicle_of, static_argnums=0)


def on_principal_axes(nominal, z):
    """Parameters by name at coordinates z, by SciPy."""
    at = physical(nominal.layout, nominal, z)
    moments, axes = np.linalg.eigh(np.asarray(at.inertia))
    order = np.argmax(np.abs(axes), axis=1)
    R_BM = axes[:, order] * np.sign(axes[range(3), order])
    found = {"mass": float(at.mass)}
    found |= {f"inertia.{c}": moments[order[k]] for k, c in enumerate(("xx", "yy", "zz"))}
    vectors = {"gravity": np.asarray(at.gravity)}
    for i, rotor in enumerate(("front", "left", "back", "right")):
        found[f"rotors.{rotor}.thrust_coefficient"] = float(at.thrust[i])
        found[f"rotors.{rotor}.torque_ratio"] = float(at.torque_ratio[i])
        vectors[f"rotors.{rotor}.position"] = R_BM.T @ np.asarray(at.position[i] - at.com)
    nominal_axes = np.linalg.eigh(np.asarray(nominal.inertia))[1]
    order = np.argmax(np.abs(nominal_axes), axis=1)
    nominal_axes = nominal_axes[:, order] * np.sign(nominal_axes[range(3), order])
    for sensor in ("pose", "imu"):
        vectors[f"{sensor}.position"] = R_BM.T @ np.asarray(getattr(at, f"{sensor}_position") - at.com)
        before = Rotation.from_quat(np.roll(np.asarray(getattr(nominal, f"{sensor}_wxyz")), -1))
        now = (
            Rotation.from_quat(np.roll(np.asarray(at.pose_wxyz), -1))
            if sensor == "pose"
            else Rotation.from_matrix(np.asarray(at.R_BI))
        )
        in_M = [Rotation.from_matrix(R).inv() * q for R, q in ((nominal_axes, before), (R_BM, now))]
        vectors[f"{sensor}.rotation"] = (in_M[0].inv() * in_M[1]).as_rotvec()
    return found | {f"{name}.{c}": v[k] for name, v in vectors.items() for k, c in enumerate("xyz")}


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
        prepared(change(lively), sensors)
    assert "\n" not in str(error.value)


def test_rotors_of_a_log_are_taken_in_the_order_of_the_file(lively):
    ready = prepared(renamed_rotors(lively, "m1", "m2", "m3", "m4"), ("pose", "imu"))
    assert "rotors m1, m2, m3, m4 of the log are taken as front, left, back, right" in ready.notes
    plain = prepared(lively, ("pose", "imu"))
    np.testing.assert_array_equal(ready.nodes.speed, plain.nodes.speed)


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
