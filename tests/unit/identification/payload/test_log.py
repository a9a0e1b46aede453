"""Servo readings from bags: ROS JointState, and the Dynamixel driver's motor states of the paper."""

import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.estimation.payload.record import PayloadError
from haltere.flight import Channel, Flight
from haltere.identification.payload.reading import arm_log, weighings
from haltere.logs import read

ARM = "quad-arm"
N = 60
TIME = np.arange(N) * 20_000_000 + 1_000_000_000
ANGLE = np.stack([np.linspace(0.5, 0.7, N), np.linspace(0.8, 0.6, N)], axis=1)
LOAD = np.stack([np.linspace(0.1, 0.2, N), np.linspace(0.05, 0.15, N)], axis=1)
MOTOR_STATE = """
float64 timestamp
int32 id
int32 goal
int32 position
int32 error
int32 speed
float64 load
float64 voltage
int32 temperature
bool moving
"""


def test_joint_states_are_taken_by_name(tmp_path):
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC)
    t = store.types
    path = tmp_path / "arm.bag"
    stall = np.asarray([1.8, 2.5])
    with Writer(path) as writer:
        link = writer.add_connection("/arm/joint_states", "sensor_msgs/msg/JointState", typestore=store)
        for k in range(N):
            stamp = t["builtin_interfaces/msg/Time"](sec=int(TIME[k] // 10**9), nanosec=int(TIME[k] % 10**9))
            message = t["sensor_msgs/msg/JointState"](
                header=t["std_msgs/msg/Header"](seq=k, stamp=stamp, frame_id=""),
                name=["forearm", "upper_arm"],
                position=ANGLE[k, ::-1].copy(),
                velocity=np.zeros(2),
                effort=LOAD[k, ::-1] * stall,
            )
            writer.write(link, int(TIME[k]), store.serialize_ros1(message, message.__msgtype__))
    log = arm_log(read(path), from_catalogue(ARM))
    assert log.record.rate == pytest.approx(50.0)
    assert np.allclose(log.record.angle, ANGLE)
    assert np.allclose(log.record.load, LOAD)
    assert log.record.goal is None


def test_motor_states_of_the_dynamixel_driver(tmp_path):
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC)
    store.register(get_types_from_msg(MOTOR_STATE, "dynamixel_msgs/msg/MotorState"))
    store.register(get_types_from_msg("MotorState[] motor_states\n", "dynamixel_msgs/msg/MotorStateList"))
    state, states = (store.types[f"dynamixel_msgs/msg/{n}"] for n in ("MotorState", "MotorStateList"))
    path = tmp_path / "motors.bag"
    with Writer(path) as writer:
        link = writer.add_connection("/motor_states", "dynamixel_msgs/msg/MotorStateList", typestore=store)
        for k in range(N):
            motors = [
                state(0.0, i, goal, position, 0, 0, load, 12.0, 40, False)
                for i, (goal, position, load) in enumerate(
                    [
                        (2048 + 512, 2048 + 500 + k, LOAD[k, 0]),
                        (512 + 150, 512 + 140, LOAD[k, 1]),
                        (0, 0, 0.0),
                    ]
                )
            ]
            message = states(motor_states=motors)
            writer.write(link, int(TIME[k]), store.serialize_ros1(message, message.__msgtype__))
    log = arm_log(read(path), from_catalogue(ARM))
    assert np.allclose(log.record.load, LOAD)
    assert log.record.angle[0] == pytest.approx(np.deg2rad([500 * 360 / 4096, 140 * 300 / 1024]))
    assert log.record.goal is not None
    assert log.record.goal[0] == pytest.approx(np.deg2rad([45.0, 150 * 300 / 1024]))


def flight(*channels):
    return Flight.of(*channels)


def test_what_is_missing_is_named():
    angle = Channel("joints.angle", TIME, ANGLE, "rad", "")
    with pytest.raises(PayloadError, match=r"joints\.load"):
        arm_log(flight(angle), from_catalogue(ARM))
    with pytest.raises(PayloadError, match=r"joints\.angle"):
        arm_log(flight(Channel("joints.load", TIME, LOAD, "1", "")), from_catalogue(ARM))
    narrow = Channel("joints.angle", TIME, ANGLE[:, :1], "rad", "")
    with pytest.raises(PayloadError, match="1 columns"):
        arm_log(flight(narrow), from_catalogue(ARM))
    slow = Channel("joints.angle", TIME * 10, ANGLE, "rad", "")
    with pytest.raises(PayloadError, match="faster"):
        arm_log(flight(slow), from_catalogue(ARM))


def test_weighings_need_a_known_mass():
    angle, load = Channel("joints.angle", TIME, ANGLE, "rad", ""), Channel("joints.load", TIME, LOAD, "1", "")
    log = arm_log(flight(angle, load), from_catalogue(ARM))
    with pytest.raises(PayloadError, match=r"payload\.mass"):
        weighings(log)


def test_the_imu_gives_the_base():
    angle, load = Channel("joints.angle", TIME, ANGLE, "rad", ""), Channel("joints.load", TIME, LOAD, "1", "")
    accel = Channel("imu.accel", TIME, np.tile([1.0, 0.0, 9.0], (N, 1)), "m/s2", "imu")
    log = arm_log(flight(angle, load, accel), from_catalogue(ARM))
    assert np.allclose(log.record.force, [1.0, 0.0, 9.0])
    assert log.notes == ()


@pytest.mark.parametrize(("extra", "is_negative"), [(0.0, False), (0.1, True)])
def test_less_than_the_empty_arm_is_an_error_of_the_data(extra, is_negative):
    """An arm that is lighter than its airframe says leaves less than nothing for a payload."""
    from haltere.identification.payload.reading import estimate_payload
    from haltere.papers.schmitz import series
    from haltere.papers.schmitz.bench import draw_arms
    from haltere.papers.schmitz.runs import run_of

    record = run_of(series.series_record(draw_arms(1, 78), (45.0, 45.0), 0.0), 0)
    stamps = np.arange(record.samples, dtype=np.int64) * int(1e9 / record.rate) + 1
    names = ("upper_arm", "forearm")
    flight = Flight.of(
        Channel("joints.angle", stamps, record.angle, "rad", "", names),
        Channel("joints.load", stamps, record.load, "1", "", names),
    )
    drawn = from_catalogue(ARM)
    upper, fore = drawn.links
    heavier = drawn.model_copy(update={"links": (upper, fore.model_copy(update={"mass": fore.mass + extra}))})
    reading = estimate_payload(flight, heavier)
    result = reading.to_dict()
    assert ("payload-negative" in [finding.kind for finding in reading.findings]) is is_negative
    assert result["observable"] is not is_negative
    assert (result["mass"] is None) is is_negative
