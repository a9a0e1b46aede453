"""Files that are cut off are read as far as they go; broken ones are refused in one line."""

import json

import numpy as np
import pytest
import zstandard
from mcap.writer import CompressionType, Writer

from haltere.flight import Channel, Flight, FlightError
from haltere.flight.mcap import read_mcap, write_mcap
from haltere.flight.mcap.messages import pack_text


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(2)
    time = np.arange(300) * 5_000_000
    accel = Channel("imu.accel", time, rng.normal(size=(300, 3)), "m/s2", "imu")
    gyro = Channel("imu.gyro", time, rng.normal(size=(300, 3)), "rad/s", "imu")
    speed = Channel(
        "rotors.speed", time[::2] + 1, rng.normal(size=(150, 4)), "rad/s", "", ("a", "b", "c", "d")
    )
    return Flight.of(accel, gyro, speed, airframe="x" * 50, notes=("before",))


@pytest.fixture(scope="module")
def data(small, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("haltere.flight.mcap.writer.CHUNK_SIZE", 10_000)
        file = tmp_path_factory.mktemp("small") / "f.mcap"
        write_mcap(small, file)
    return file.read_bytes()


def read(data, tmp_path):
    file = tmp_path / "f.mcap"
    file.write_bytes(data)
    return read_mcap(file)


def attempt(data, tmp_path):
    """Return the flight and None, or None and the message of the error."""
    try:
        return read(data, tmp_path), None
    except FlightError as error:
        return None, str(error)


def fault(data, tmp_path):
    with pytest.raises(FlightError) as caught:
        read(data, tmp_path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "f.mcap"))
    return str(caught.value)


def is_start_of(part, whole):
    return all(part[n] == whole[n].between(-1, part[n].time[-1] if len(part[n]) else -1) for n in whole.names)


def test_a_file_cut_anywhere_is_read_to_its_last_whole_chunk(small, data, tmp_path):
    lengths = []
    for cut in [*range(1, len(data), 151), len(data) - 1]:
        flight, error = attempt(data[:cut], tmp_path)
        if flight is None:
            assert "cut off" in error
            assert not lengths, "a longer file must not be worse"
            continue
        assert is_start_of(flight, small)
        assert flight.airframe == small.airframe
        assert flight.notes[0] == "before"
        assert flight.notes[1].startswith("truncated: ")
        assert len(flight.notes) == 2
        lengths.append(len(flight["imu.accel"]))
    assert lengths == sorted(lengths)
    assert len(set(lengths)) > 5
    assert lengths[-1] == 300


def test_all_channels_end_together_where_the_file_was_cut(data, tmp_path):
    flight = read(data[: len(data) // 2], tmp_path)
    ends = [channel.time[-1] for channel in flight.channels.values()]
    assert max(ends) - min(ends) < 10_000_000
    assert "samples are missing" in flight.notes[-1]
    assert f"{flight.duration:.3f} s" in flight.notes[-1]


def test_a_cut_flight_can_be_written_again(data, tmp_path):
    flight = read(data[: len(data) // 2], tmp_path)
    write_mcap(flight, tmp_path / "again.mcap")
    assert read_mcap(tmp_path / "again.mcap") == flight


def test_a_changed_byte_is_found_or_does_no_harm(small, data, tmp_path):
    found = 0
    for place in range(0, len(data), 131):
        broken = bytearray(data)
        broken[place] ^= 0x41
        flight, error = attempt(bytes(broken), tmp_path)
        if flight is None:
            assert "\n" not in error
            found += 1
            continue
        assert dict(flight.channels) == dict(small.channels), place
        assert flight.notes[1:] == (
            "truncated: the end of the file (its index) is missing or broken; all samples are there",
        )
    assert found > 0.8 * len(data) / 131


def test_a_broken_chunk_in_a_cut_file_is_refused(data, tmp_path):
    broken = bytearray(data[: len(data) * 3 // 4])
    broken[data.index(zstandard.FRAME_HEADER, len(data) // 2) + 50] ^= 1
    assert "is broken at byte" in fault(bytes(broken), tmp_path)


def test_a_chunk_left_out_is_found(data, tmp_path):
    start = data.index(zstandard.FRAME_HEADER, len(data) // 2)
    assert "broken" in fault(data[: start - 10] + data[start + 10 :], tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\x89MCAP", "was cut off within its first bytes"),
        (b"\x89MCAP0\r\n", "was cut off before its first whole chunk"),
        (b"ULog\x01\x12\x35", "is not an MCAP file"),
        (b"name = 'x'\n", "is not an MCAP file"),
        (b"\x89MCAP0\r\n" + bytes(100), "is broken at byte 8"),
    ],
)
def test_other_content_is_refused(content, message, tmp_path):
    assert message in fault(content, tmp_path)


def test_missing_files_and_folders_are_told(tmp_path):
    with pytest.raises(FlightError, match="No such file"):
        read_mcap(tmp_path / "none.mcap")
    with pytest.raises(FlightError, match="is a directory"):
        read_mcap(tmp_path)


def foreign(path, topics, compression=CompressionType.ZSTD):
    """Write texts to topics by the writer of the `mcap` package."""
    writer = Writer(str(path), compression=compression)
    writer.start("ros2", "other")
    schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
    for topic, messages in topics.items():
        channel = writer.register_channel(topic, "cdr", schema)
        for message in messages:
            writer.add_message(channel, 0, message, 0)
    writer.finish()


def test_recordings_of_others_are_refused(tmp_path):
    foreign(tmp_path / "f.mcap", {"/chatter": [pack_text("hello")]})
    with pytest.raises(FlightError, match="has no topic /channels, so it is no flight of ours"):
        read_mcap(tmp_path / "f.mcap")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("no json", "is not understood"),
        ({"version": 2}, "version 2, this program reads up to 1"),
        ({"version": 1}, "KeyError 'channels'"),
        ({"version": 1, "notes": [], "channels": {"a": 3}}, "is not understood"),
        ({"version": 1, "notes": [], "channels": {"a": {"message": "x/msg/Y"}}}, "is not understood"),
    ],
)
def test_a_list_of_channels_that_makes_no_sense_is_refused(change, message, tmp_path):
    text = change if isinstance(change, str) else json.dumps(change)
    foreign(tmp_path / "f.mcap", {"/channels": [pack_text(text)], "/airframe": [pack_text("")]})
    with pytest.raises(FlightError, match=r"f\.mcap: topic /channels") as caught:
        read_mcap(tmp_path / "f.mcap")
    assert message in str(caught.value)


@pytest.mark.parametrize("bad", [{"shape": [-1]}, {"field": "nowhere"}, {"field": 3}, {"shape": ["x"]}])
def test_a_channel_that_makes_no_sense_is_refused(bad, tmp_path):
    entry = {"unit": "1", "frame": "", "columns": [], "shape": [3], "samples": 0, "topic": "/a"}
    entry |= {"message": "geometry_msgs/msg/Vector3Stamped", "field": "vector", **bad}
    text = json.dumps({"version": 1, "notes": [], "channels": {"a": entry}})
    topics = {topic: [pack_text("")] for topic in ("/airframe", "/scenario")}
    foreign(tmp_path / "f.mcap", {"/channels": [pack_text(text)], **topics})
    with pytest.raises(FlightError, match=r"f\.mcap: topic /"):
        read_mcap(tmp_path / "f.mcap")


@pytest.mark.parametrize("compression", list(CompressionType))
def test_files_packed_again_by_other_tools_are_read(small, data, compression, tmp_path):
    (tmp_path / "ours.mcap").write_bytes(data)
    pack_again(tmp_path / "ours.mcap", tmp_path / "f.mcap", compression)
    assert read_mcap(tmp_path / "f.mcap") == small


def pack_again(source, target, compression):
    from mcap.reader import make_reader

    writer = Writer(str(target), compression=compression, use_chunking=compression is not CompressionType.LZ4)
    writer.start("ros2", "other")
    numbers = {}
    with source.open("rb") as stream:
        for schema, channel, message in make_reader(stream).iter_messages():
            if channel.topic not in numbers:
                kind = writer.register_schema(schema.name, schema.encoding, schema.data)
                numbers[channel.topic] = writer.register_channel(channel.topic, "cdr", kind)
            number = numbers[channel.topic]
            writer.add_message(number, message.log_time, message.data, message.log_time, message.sequence)
    writer.finish()


def test_what_a_tool_has_left_out_is_noted(data, tmp_path):
    from mcap.reader import make_reader

    (tmp_path / "ours.mcap").write_bytes(data)
    writer = Writer(str(tmp_path / "f.mcap"))
    writer.start("ros2", "other")
    numbers = {}
    with (tmp_path / "ours.mcap").open("rb") as stream:
        for schema, channel, message in make_reader(stream).iter_messages():
            if channel.topic == "/rotors/speed" or message.log_time > 10**9:
                continue
            if channel.topic not in numbers:
                kind = writer.register_schema(schema.name, schema.encoding, schema.data)
                numbers[channel.topic] = writer.register_channel(channel.topic, "cdr", kind)
            writer.add_message(numbers[channel.topic], message.log_time, message.data, 0, message.sequence)
    writer.finish()
    flight = read_mcap(tmp_path / "f.mcap")
    assert len(flight["rotors.speed"]) == 0
    assert flight["rotors.speed"].values.shape == (0, 4)
    assert flight.notes[-1].startswith("incomplete: ")
