import numpy as np
import pytest

from haltere.flight import Channel
from haltere.flight.mcap.topics import plan


def channel(name, shape=(3,), unit="1", frame="", time=range(4), columns=()):
    time = np.array(time)
    return Channel(name, time, np.zeros((len(time), *shape)), unit, frame, columns)


def topics(*channels):
    return {
        topic.name: (topic.message, {p.channel: p.field for p in topic.parts}) for topic, _ in plan(channels)
    }


def test_a_flight_has_the_topics_that_the_documents_promise(flight):
    kinds = {topic.name: topic.message for topic, _ in plan(flight.channels.values())}
    assert kinds == {
        "/imu": "sensor_msgs/Imu",
        "/pose": "geometry_msgs/PoseStamped",
        "/gps/position": "geometry_msgs/PointStamped",
        "/rotors/speed": "sensor_msgs/JointState",
        "/rotors/command": "sensor_msgs/JointState",
        "/joints": "sensor_msgs/JointState",
        "/joints/command": "sensor_msgs/JointState",
        "/mag/field": "sensor_msgs/MagneticField",
        "/baro/altitude": "geometry_msgs/PointStamped",
        "/truth/pose": "geometry_msgs/PoseStamped",
        "/truth/twist": "geometry_msgs/TwistStamped",
        "/truth/acceleration": "geometry_msgs/AccelStamped",
        "/truth/imu/accel_bias": "geometry_msgs/Vector3Stamped",
        "/odd/matrix": "sensor_msgs/JointState",
        "/odd/nothing": "sensor_msgs/JointState",
    }


def test_accelerometer_and_gyroscope_share_messages_of_equal_stamps():
    accel, gyro = channel("imu.accel", unit="m/s2"), channel("imu.gyro", unit="rad/s")
    fields = {"imu.accel": "linear_acceleration", "imu.gyro": "angular_velocity"}
    assert topics(gyro, accel) == {"/imu": ("sensor_msgs/Imu", fields)}


@pytest.mark.parametrize(
    "gyro",
    [
        channel("imu.gyro", unit="rad/s", time=range(1, 5)),
        channel("imu.gyro", unit="rad/s", frame="other"),
        channel("imu.gyro", unit="deg/s"),
        channel("imu.gyro", (2,), unit="rad/s"),
        channel("imu2.gyro", unit="rad/s"),
    ],
)
def test_what_does_not_fit_together_has_topics_of_its_own(gyro):
    found = topics(channel("imu.accel", unit="m/s2"), gyro)
    assert found["/imu/accel"] == ("sensor_msgs/Imu", {"imu.accel": "linear_acceleration"})
    assert len(found) == 2


def test_joints_share_messages_of_equal_columns():
    ab, cd = ("a", "b"), ("c", "d")
    angle, rate = channel("j.angle", (2,), "rad", columns=ab), channel("j.rate", (2,), "rad/s", columns=ab)
    torque = channel("j.torque", (2,), "N m", columns=ab)
    assert topics(angle, rate, torque) == {
        "/j": ("sensor_msgs/JointState", {"j.angle": "position", "j.rate": "velocity", "j.torque": "effort"})
    }
    assert set(topics(angle, channel("j.rate", (2,), "rad/s", columns=cd))) == {"/j/angle", "/j/rate"}
    assert set(topics(channel("j.angle", ()), channel("j.rate", ()))) == {"/j/angle", "/j/rate"}


def test_commands_go_where_their_unit_belongs():
    fields = [topics(channel("r.command", (2,), unit))["/r/command"][1] for unit in ("rad", "rad/s", "1")]
    assert [found["r.command"] for found in fields] == ["position", "velocity", "effort"]


def test_topic_names_are_what_ros_allows_and_differ():
    found = topics(
        channel("a-b.c"), channel("a_b.c"), channel("2nd.é--x"), channel("channels", ()), channel("x")
    )
    assert list(found) == ["/a_b/c", "/a_b/cx", "/_2nd/_x", "/channelsx", "/x"]
