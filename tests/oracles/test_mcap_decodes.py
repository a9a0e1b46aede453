"""The `mcap` reader and its ROS 2 decoder, written by others, find in our files what we put there."""

import json

import numpy as np
import pytest

from haltere.flight import Channel, Flight
from haltere.flight.mcap import write_mcap

NAMES = ("a", "longer", "ü")
START = 1_700_000_000_999_999_990


def channel(name, rng, rate, shape, unit, frame, columns=()):
    time = START + np.arange(rate) * (1_000_000_000 // rate)
    return Channel(name, time, rng.normal(size=(rate, *shape)), unit, frame, columns)


@pytest.fixture(scope="module")
def flight():
    rng = np.random.default_rng(0)
    return Flight.of(
        channel("imu.accel", rng, 200, (3,), "m/s2", "imu"),
        channel("imu.gyro", rng, 200, (3,), "rad/s", "imu"),
        channel("second.gyro", rng, 20, (3,), "rad/s", "second"),
        channel("pose.position", rng, 50, (3,), "m", "world"),
        channel("pose.wxyz", rng, 50, (4,), "1", "world"),
        channel("gps.position", rng, 5, (3,), "m", "world"),
        channel("cam.wxyz", rng, 5, (4,), "1", "world"),
        channel("rotors.speed", rng, 100, (3,), "rad/s", "", NAMES),
        channel("rotors.command", rng, 100, (3,), "1", "", NAMES),
        channel("joints.angle", rng, 100, (1,), "rad", "", ("tilt",)),
        channel("joints.rate", rng, 100, (1,), "rad/s", "", ("tilt",)),
        channel("mag.field", rng, 20, (3,), "T", "mag"),
        channel("baro.altitude", rng, 20, (), "m", "world"),
        channel("truth.position", rng, 250, (3,), "m", "world"),
        channel("truth.wxyz", rng, 250, (4,), "1", "world"),
        channel("truth.twist", rng, 250, (6,), "m/s, rad/s", "body"),
        channel("truth.acceleration", rng, 250, (6,), "m/s2, rad/s2", "body"),
        channel("truth.imu.accel_bias", rng, 250, (3,), "m/s2", "imu"),
        channel("odd.matrix", rng, 10, (2, 2), "1", "none"),
        airframe='name = "x"\n',
        scenario='title = "ü"\n',
        notes=("n",),
    )


@pytest.fixture(scope="module")
def file(flight, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("haltere.flight.mcap.writer.CHUNK_SIZE", 20_000)
        path = tmp_path_factory.mktemp("mcap") / "f.mcap"
        write_mcap(flight, path)
    return path


@pytest.fixture(scope="module")
def decoded(file):
    """Messages by topic, each with its log time."""
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    found = {}
    with file.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True, decoder_factories=[DecoderFactory()])
        for _, channel, message, content in reader.iter_decoded_messages():
            found.setdefault(channel.topic, []).append((message.log_time, content))
    return found


def xyz(v):
    return [v.x, v.y, v.z]


def wxyz(q):
    return [q.w, q.x, q.y, q.z]


def six(v):
    return xyz(v.linear) + xyz(v.angular)


PLACES = {
    "imu.accel": ("/imu", lambda m: xyz(m.linear_acceleration)),
    "imu.gyro": ("/imu", lambda m: xyz(m.angular_velocity)),
    "second.gyro": ("/second/gyro", lambda m: xyz(m.angular_velocity)),
    "pose.position": ("/pose", lambda m: xyz(m.pose.position)),
    "pose.wxyz": ("/pose", lambda m: wxyz(m.pose.orientation)),
    "gps.position": ("/gps/position", lambda m: xyz(m.point)),
    "cam.wxyz": ("/cam/wxyz", lambda m: wxyz(m.quaternion)),
    "rotors.speed": ("/rotors/speed", lambda m: m.velocity),
    "rotors.command": ("/rotors/command", lambda m: m.effort),
    "joints.angle": ("/joints", lambda m: m.position),
    "joints.rate": ("/joints", lambda m: m.velocity),
    "mag.field": ("/mag/field", lambda m: xyz(m.magnetic_field)),
    "baro.altitude": ("/baro/altitude", lambda m: m.point.z),
    "truth.position": ("/truth/pose", lambda m: xyz(m.pose.position)),
    "truth.wxyz": ("/truth/pose", lambda m: wxyz(m.pose.orientation)),
    "truth.twist": ("/truth/twist", lambda m: six(m.twist)),
    "truth.acceleration": ("/truth/acceleration", lambda m: six(m.accel)),
    "truth.imu.accel_bias": ("/truth/imu/accel_bias", lambda m: xyz(m.vector)),
    "odd.matrix": ("/odd/matrix", lambda m: np.reshape(m.position, (2, 2))),
}


@pytest.mark.parametrize("name", PLACES)
def test_values_stamps_and_frames_are_ours(name, flight, decoded):
    topic, get = PLACES[name]
    ours = flight[name]
    assert [time for time, _ in decoded[topic]] == ours.time.tolist()
    stamps = [m.header.stamp.sec * 1_000_000_000 + m.header.stamp.nanosec for _, m in decoded[topic]]
    assert stamps == ours.time.tolist()
    assert {m.header.frame_id for _, m in decoded[topic]} == {ours.frame}
    assert np.array([get(m) for _, m in decoded[topic]]).tobytes() == ours.values.tobytes()


def test_rotors_and_joints_have_their_names(decoded):
    assert {tuple(m.name) for _, m in decoded["/rotors/speed"]} == {NAMES}
    assert {tuple(m.name) for _, m in decoded["/joints"]} == {("tilt",)}
    assert {len(m.position) + len(m.effort) for _, m in decoded["/rotors/speed"]} == {0}


def test_an_imu_says_what_it_does_not_know(decoded):
    both, gyro = decoded["/imu"][0][1], decoded["/second/gyro"][0][1]
    for message in (both, gyro):
        assert message.orientation_covariance[0] == -1.0
        assert message.angular_velocity_covariance[0] == 0.0
    assert both.linear_acceleration_covariance[0] == 0.0
    assert gyro.linear_acceleration_covariance[0] == -1.0


def test_texts_come_first_and_are_ours(flight, decoded):
    assert decoded["/airframe"] == [(flight.start, decoded["/airframe"][0][1])]
    assert decoded["/airframe"][0][1].data == flight.airframe
    assert decoded["/scenario"][0][1].data == flight.scenario
    channels = json.loads(decoded["/channels"][0][1].data)["channels"]
    assert {n: (c["unit"], c["frame"]) for n, c in channels.items()} == {
        n: (c.unit, c.frame) for n, c in flight.channels.items()
    }


def test_the_summary_is_whole(flight, file):
    from mcap.reader import make_reader

    with file.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        header, summary = reader.get_header(), reader.get_summary()
        stamps = [message.log_time for _, _, message in reader.iter_messages(log_time_order=False)]
        span = {"starting_at": START + 10**8, "ending_before": START + 2 * 10**8}
        part = [message.log_time for _, _, message in reader.iter_messages(["/pose"], **span)]
    assert header.profile == "ros2"
    assert stamps == sorted(stamps), "the file itself is in the order of time"
    assert part == [t for t in flight["pose.position"].time if START + 10**8 <= t < START + 2 * 10**8]
    statistics = summary.statistics
    assert statistics.message_count == len(stamps)
    assert (statistics.message_start_time, statistics.message_end_time) == (flight.start, flight.end)
    assert statistics.chunk_count == len(summary.chunk_indexes) > 5
    counts = {summary.channels[i].topic: n for i, n in statistics.channel_message_counts.items()}
    assert counts["/imu"] == 200
    assert {schema.encoding for schema in summary.schemas.values()} == {"ros2msg"}
    assert {channel.message_encoding for channel in summary.channels.values()} == {"cdr"}
    latched = [
        c.topic for c in summary.channels.values() if "transient_local" in c.metadata["offered_qos_profiles"]
    ]
    assert latched == ["/channels", "/airframe", "/scenario"]


def test_a_reader_without_index_sees_the_same(file):
    from mcap.records import Message
    from mcap.stream_reader import StreamReader

    with file.open("rb") as stream:
        records = list(StreamReader(stream, validate_crcs=True).records)
    with file.open("rb") as stream:
        from mcap.reader import make_reader

        count = make_reader(stream).get_summary().statistics.message_count
    assert sum(isinstance(record, Message) for record in records) == count


def test_encoding_by_the_other_library_gives_our_bytes(file):
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory
    from mcap_ros2.writer import serialize_dynamic

    seen = set()
    with file.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        for schema, channel, message, content in reader.iter_decoded_messages():
            if channel.topic in seen:
                continue
            seen.add(channel.topic)
            encode = serialize_dynamic(schema.name, schema.data.decode())[schema.name]
            assert bytes(encode(content)) == message.data, channel.topic
    assert len(seen) > 15
