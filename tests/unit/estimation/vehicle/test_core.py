"""`VehicleCore` from outside: sample by sample and whole, and with readings that are none."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import PositionSensor, from_catalogue
from haltere.estimation.vehicle.core import VehicleCore
from haltere.estimation.vehicle.frames import frames_from_flight
from haltere.flight import Channel, Flight
from haltere.foundation import HaltereError

AIRFRAME = from_catalogue("hummingbird")
HOVER = float(np.sqrt(0.716 * 9.81 / (4 * 8.54858e-6)))
NAMES = tuple(rotor.name for rotor in AIRFRAME.rotors)


def hovering(seconds: float = 0.4) -> Flight:
    """The Hummingbird standing still in the air, without noise."""
    imu = AIRFRAME.imu[0]
    time = np.arange(round(200 * seconds) + 1) * 5_000_000
    poses = time[::4]
    ones = np.ones((len(time), 1))
    channels = [
        Channel("imu.accel", time, ones * [0.0, 0.0, 9.81], "m/s2", imu.name),
        Channel("imu.gyro", time, 0.0 * ones * [1.0, 1.0, 1.0], "rad/s", imu.name),
        Channel("rotors.speed", time, np.full((len(time), 4), HOVER), "rad/s", "", NAMES),
        Channel("pose.position", poses, np.tile(AIRFRAME.pose[0].position, (len(poses), 1)), "m", "world"),
        Channel("pose.wxyz", poses, np.tile([1.0, 0.0, 0.0, 0.0], (len(poses), 1)), "1", "world"),
    ]
    return Flight.of(*channels)


@pytest.fixture(scope="module")
def vehicle() -> VehicleCore:
    hand_measurements = {"mass": (0.716, 1e-3), "distance.front.left": (0.17 * np.sqrt(2), 1e-3)}
    return VehicleCore.from_airframe(AIRFRAME, hand_measurements=hand_measurements, start=0.0)


def test_sample_by_sample_is_the_whole_flight(vehicle: VehicleCore) -> None:
    flight = hovering()
    frames = frames_from_flight(flight, vehicle.coordinates.rotors).frames
    whole = vehicle.estimate(flight)
    belief = vehicle.begin(vehicle.first_state(frames))
    for k in range(frames.position.shape[0]):
        belief = vehicle.pose(belief, frames.position[k], frames.wxyz[k])
        for j in range(frames.steps.dt.shape[1]):
            if float(frames.steps.dt[k, j]) > 0.0:
                s = jax.tree.map(lambda x, k=k, j=j: x[k, j], frames.steps)
                belief = vehicle.step(belief, s.speeds, s.imu, float(s.dt))
    np.testing.assert_allclose(belief.cov, whole.belief.cov, rtol=1e-7, atol=1e-12)
    for name, value in whole.belief.mean.items():
        np.testing.assert_allclose(belief.mean[name], value, rtol=1e-7, atol=1e-9)


def test_standing_still_in_the_air_confirms_the_file(vehicle: VehicleCore) -> None:
    estimate = vehicle.estimate(hovering())
    rows = {row.name: row for row in estimate.table()}
    assert rows["mass"].value == pytest.approx(0.716, abs=1e-6)
    assert rows["mass"].sigma == pytest.approx(1e-3, rel=1e-2)
    assert rows["rotors.front.thrust_coefficient"].value == pytest.approx(8.54858e-6, rel=1e-6)
    assert estimate.rejected == 0


def test_bad_samples_are_skipped_and_the_belief_stays_finite(vehicle: VehicleCore) -> None:
    frames = frames_from_flight(hovering(), vehicle.coordinates.rotors).frames
    belief = vehicle.begin(vehicle.first_state(frames))
    same = vehicle.pose(belief, jnp.full(3, jnp.nan), jnp.full(4, jnp.inf))
    np.testing.assert_array_equal(same.cov, belief.cov)
    later = vehicle.step(belief, np.full(4, HOVER), np.full(6, np.nan), 0.005)
    assert all(np.isfinite(np.asarray(x)).all() for x in jax.tree.leaves(later))
    for dt, speeds in ((-0.01, np.full(4, HOVER)), (0.005, np.full(4, np.nan)), (0.005, np.full(3, HOVER))):
        with pytest.raises(HaltereError):
            vehicle.step(belief, speeds, np.zeros(6), dt)


def test_a_flight_with_holes_is_framed(vehicle: VehicleCore) -> None:
    flight = hovering()
    accel = flight["imu.accel"].values.copy()
    accel[7] = np.nan
    position = flight["pose.position"].values.copy()
    position[3] = np.inf
    speed = flight["rotors.speed"].values.copy()
    speed[20] = np.nan
    for name, values in (("imu.accel", accel), ("pose.position", position), ("rotors.speed", speed)):
        old = flight[name]
        flight = flight.with_channel(Channel(name, old.time, values, old.unit, old.frame, old.columns))
    framed = frames_from_flight(flight, vehicle.coordinates.rotors)
    assert len(framed.notes) == 2
    assert int(np.sum(~np.asarray(framed.frames.pose_valid[:, 0]))) == 1
    estimate = vehicle.estimate(flight)
    assert all(np.isfinite(np.asarray(x)).all() for x in jax.tree.leaves(estimate.belief))


def test_an_outage_of_the_pose_becomes_frames_without_pose() -> None:
    flight = hovering(1.0)
    for name in ("pose.position", "pose.wxyz"):
        old = flight[name]
        keep = (old.time < 300_000_000) | (old.time > 600_000_000)
        flight = flight.with_channel(Channel(name, old.time[keep], old.values[keep], old.unit, old.frame))
    frames = frames_from_flight(flight, NAMES).frames
    assert frames.steps.dt.shape[1] == 4
    assert float(jnp.sum(frames.steps.dt)) == pytest.approx(1.0)
    assert int(np.sum(~np.asarray(frames.pose_valid[:, 0]))) >= 14


def test_a_missing_channel_is_named() -> None:
    with pytest.raises(HaltereError, match=r"no channel 'rotors\.speed'"):
        frames_from_flight(hovering().without("rotors.speed"), NAMES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hand_measurements": {"mas": (0.7, 1e-3)}}, "mass"),
        ({"hand_measurements": {"mass": (0.7, 0.0)}}, "above zero"),
        ({"known": {"inertia.zx": 0.0}}, "inertia"),
        ({"known": {"mass": -1.0}}, "zero or more"),
        ({"hand_measurements": {"distance.front.lef": (0.2, 1e-3)}}, "left"),
    ],
)
def test_faulty_priors_are_named(options: dict, message: str) -> None:
    with pytest.raises(HaltereError, match=message):
        VehicleCore.from_airframe(AIRFRAME, **options)


def test_what_is_known_stays_known() -> None:
    vehicle = VehicleCore.from_airframe(AIRFRAME, known={"mass": 0.0, "inertia.xx": 0.0}, start=0.0)
    rows = {row.name: row for row in vehicle.estimate(hovering()).table()}
    assert rows["mass"].sigma < 1e-9
    assert rows["inertia.xx"].sigma < 1e-9


def test_a_position_sensor_alone_needs_a_first_attitude_in_hover() -> None:
    flight = hovering().without("pose.wxyz")
    vehicle = VehicleCore.from_airframe(AIRFRAME, start=0.0)
    with pytest.raises(HaltereError, match="first_attitude"):
        vehicle.estimate(flight)
    told = VehicleCore.from_airframe(AIRFRAME, start=0.0, first_attitude=(1.0, 0.0, 0.0, 0.0))
    rows = {row.name: row for row in told.estimate(flight).table()}
    assert rows["rotors.front.thrust_coefficient"].value == pytest.approx(8.54858e-6, rel=1e-6)


def test_an_airframe_with_a_position_sensor_only_is_taken() -> None:
    sensor = PositionSensor(position=AIRFRAME.pose[0].position, sigma_position=0.01)
    vehicle = VehicleCore.from_airframe(AIRFRAME.model_copy(update={"pose": (), "position": (sensor,)}))
    np.testing.assert_allclose(vehicle.noise.pose[:3], 0.01)


def test_a_sensor_without_stated_noise_is_refused() -> None:
    silent = AIRFRAME.imu[0].model_copy(update={"sigma_gyro": None})
    with pytest.raises(HaltereError, match=r"imu\.sigma_gyro is 0\.0"):
        VehicleCore.from_airframe(AIRFRAME.model_copy(update={"imu": (silent,)}))


def test_moments_that_no_body_has_are_named(vehicle: VehicleCore) -> None:
    estimate = vehicle.estimate(hovering())
    assert estimate.impossible() is None
    mean = estimate.belief.mean
    flat = {**mean, "shape": jnp.log(jnp.asarray([0.45, 0.45]))}
    odd = replace(estimate, belief=estimate.belief._replace(mean=flat))
    assert "inertia.zz came out larger than the two others together" in (odd.impossible() or "")
    moments = np.asarray(odd.physical["inertia"])
    assert moments[2] < moments[0] + moments[1]
