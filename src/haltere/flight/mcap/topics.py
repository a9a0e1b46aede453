"""Which ROS 2 topic and message each channel of a flight is written to, and the `/channels` topic that tells so.

The last word of a channel's name, its shape and its unit choose the message:

    accel, gyro        (3)  m/s2, rad/s   sensor_msgs/Imu; both in one if their time stamps are equal
    position, wxyz     (3), (4)  m, 1     geometry_msgs/PoseStamped together, else PointStamped, QuaternionStamped
    twist              (6)                geometry_msgs/TwistStamped
    acceleration       (6)                geometry_msgs/AccelStamped
    field              (3)  T             sensor_msgs/MagneticField
    altitude           ()   m             geometry_msgs/PointStamped, its z
    angle, rate, torque, speed, command   sensor_msgs/JointState by column; angle, rate and torque in one if they can
    anything else      (3)                geometry_msgs/Vector3Stamped
    anything else                         sensor_msgs/JointState, its position

A channel `a.b` goes to the topic `/a/b`; channels that share a message to `/a`, those of the truth to
`/truth/pose`.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from haltere.flight.channel import Channel
from haltere.flight.flight import Flight
from haltere.flight.mcap.messages import DEFINITIONS, Bytes, Layout, schema_name
from haltere.foundation.numbers import Floats, Times

TEXTS = ("/channels", "/airframe", "/scenario")

_JOINTS = "sensor_msgs/JointState"
_IMU = "sensor_msgs/Imu"
_ORDER = [1, 2, 3, 0]  # wxyz as the messages' xyzw

#: Last word, shape of a sample, unit (None: any) -> message, field.
_VECTORS: dict[str, tuple[tuple[int, ...], str | None, str, str]] = {
    "accel": ((3,), "m/s2", _IMU, "linear_acceleration"),
    "gyro": ((3,), "rad/s", _IMU, "angular_velocity"),
    "position": ((3,), "m", "geometry_msgs/PointStamped", "point"),
    "wxyz": ((4,), "1", "geometry_msgs/QuaternionStamped", "quaternion"),
    "twist": ((6,), None, "geometry_msgs/TwistStamped", "twist"),
    "acceleration": ((6,), None, "geometry_msgs/AccelStamped", "accel"),
    "field": ((3,), "T", "sensor_msgs/MagneticField", "magnetic_field"),
    "altitude": ((), "m", "geometry_msgs/PointStamped", "point.z"),
}
_BY_NAME = {"angle": "position", "rate": "velocity", "speed": "velocity", "torque": "effort"}
_BY_UNIT = {"rad": "position", "rad/s": "velocity"}

_POSE = ("geometry_msgs/PointStamped", "geometry_msgs/QuaternionStamped")

#: Last words that may share a message: that message, its name, the messages they have alone, their fields in it.
_SHARED: tuple[tuple[str, str, tuple[str, ...], dict[str, str]], ...] = (
    (_IMU, "imu", (_IMU,), {"accel": "linear_acceleration", "gyro": "angular_velocity"}),
    ("geometry_msgs/PoseStamped", "pose", _POSE, {"position": "pose.position", "wxyz": "pose.orientation"}),
    (_JOINTS, "joints", (_JOINTS,), {"angle": "position", "rate": "velocity", "torque": "effort"}),
)
_IMU_FIELDS = {"orientation", "linear_acceleration", "angular_velocity"}


@dataclass(frozen=True)
class MessagePart:
    """The field of a message that holds one channel's samples of `shape`; `names` are those of its numbers."""

    channel: str
    field: str
    shape: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def width(self) -> int:
        """Numbers in a sample."""
        return prod(self.shape)


@dataclass(frozen=True)
class Topic:
    """A topic, the kind and frame of its messages, and the channels in them."""

    name: str
    message: str
    frame: str
    parts: tuple[MessagePart, ...]

    def layout(self) -> Layout:
        """Return the layout of its messages."""
        names = self.parts[0].names
        lengths = {part.field: part.width for part in self.parts}
        return Layout(self.message, {"header.frame_id": self.frame, "name": names}, lengths)

    def pack(self, layout: Layout, time: Times, values: Mapping[str, Floats]) -> Bytes:
        """Return messages (T, size) with time stamps (T,), ns, and the values of each channel."""
        rows = layout.messages(len(time))
        layout.set_stamps(rows, time)
        if self.message == _IMU:
            _leave_out_of_imu(layout, rows, _IMU_FIELDS - {p.field for p in self.parts})
        for part in self.parts:
            flat = values[part.channel].reshape(len(time), part.width)
            layout.set(rows, part.field, flat[:, _ORDER] if _is_quaternion(part) else flat)
        return rows

    def unpack(self, layout: Layout, rows: Bytes) -> dict[str, Floats]:
        """Return the values (T, ...) of each channel in messages (T, size)."""
        found = {}
        for part in self.parts:
            flat = layout.get(rows, part.field)
            if _is_quaternion(part):
                flat = flat[:, np.argsort(_ORDER)]
            found[part.channel] = flat.reshape(len(rows), *part.shape)
        return found


def _is_quaternion(piece: MessagePart) -> bool:
    return piece.field in {"quaternion", "pose.orientation"}


def _leave_out_of_imu(layout: Layout, rows: Bytes, missing: set[str]) -> None:
    """Mark what an Imu message does not know as its definition asks: -1 as the first covariance."""
    for field in missing:
        layout.set(rows, f"{field}_covariance", np.tile([-1.0] + 8 * [0.0], (len(rows), 1)))
    layout.set(rows, "orientation.w", np.ones((len(rows), 1)))


def message_part(channel: str, field: str, shape: tuple[int, ...], columns: tuple[str, ...]) -> MessagePart:
    """Return a part; numbers without column names are named by the channel or by their index."""
    last = channel.rsplit(".", 1)[-1]
    names = columns or ((last,) if not shape else tuple(str(index) for index in range(prod(shape))))
    return MessagePart(channel, field, shape, names)


def plan(channels: Iterable[Channel]) -> list[tuple[Topic, Times]]:
    """Return the topics that hold these channels, each with its time stamps (T,), ns."""
    remaining = {channel.name: channel for channel in channels}
    taken: set[str] = set(TEXTS)
    planned = []
    for name, channel in list(remaining.items()):
        if name not in remaining:
            continue
        topic = _shared(remaining, channel, taken) or _alone(channel, taken)
        taken.add(topic.name)
        for each in topic.parts:
            del remaining[each.channel]
        planned.append((topic, channel.time))
    return planned


def _alone(channel: Channel, taken: set[str]) -> Topic:
    message, field = _message(channel)
    parts = (message_part(channel.name, field, channel.values.shape[1:], channel.columns),)
    return Topic(_topic_name(channel.name, taken), message, channel.frame, parts)


def _message(channel: Channel) -> tuple[str, str]:
    last, shape = channel.name.rsplit(".", 1)[-1], channel.values.shape[1:]
    if last in _VECTORS:
        expected, unit, message, field = _VECTORS[last]
        if shape == expected and unit in {None, channel.unit}:
            return message, field
    if len(shape) == 1 and last in _BY_NAME:
        return _JOINTS, _BY_NAME[last]
    if len(shape) == 1 and last == "command":
        return _JOINTS, _BY_UNIT.get(channel.unit, "effort")
    return ("geometry_msgs/Vector3Stamped", "vector") if shape == (3,) else (_JOINTS, "position")


def _shared(remaining: Mapping[str, Channel], channel: Channel, taken: set[str]) -> Topic | None:
    prefix, _, last = channel.name.rpartition(".")
    for message, label, alone, fields in _SHARED:
        if not prefix or last not in fields or _message(channel)[0] not in alone:
            continue
        names = [name for word in fields if (name := f"{prefix}.{word}") in remaining]
        mates = [remaining[name] for name in names if _fits(channel, remaining[name], alone)]
        if len(mates) > 1:
            parts = tuple(
                message_part(
                    mate.name, fields[mate.name.rsplit(".", 1)[-1]], mate.values.shape[1:], mate.columns
                )
                for mate in mates
            )
            topic = f"{prefix}.{label}" if prefix == "truth" else prefix
            return Topic(_topic_name(topic, taken), message, channel.frame, parts)
    return None


def _fits(channel: Channel, mate: Channel, alone: tuple[str, ...]) -> bool:
    """Whether two channels may stand in one message: equal stamps and frames, and equal columns if of joints."""
    columns = [(each.columns, each.values.shape, each.values.ndim == 2) for each in (channel, mate)]
    return (
        _message(mate)[0] in alone
        and channel.frame == mate.frame
        and np.array_equal(channel.time, mate.time)
        and (_JOINTS not in alone or (columns[0] == columns[1] and columns[0][2]))
    )


def _topic_name(name: str, taken: set[str]) -> str:
    """Return `/a/b` for `a.b`, made of what ROS allows in a name, and different from those taken."""
    words = (re.sub(r"[^A-Za-z0-9_]", "_", word) for word in name.split("."))
    topic = "".join(f"/_{word}" if word[0].isdigit() else f"/{word}" for word in words)
    topic = re.sub(r"_{2,}", "_", topic)
    while topic in taken:
        topic += "x"
    return topic


VERSION = 1


@dataclass(frozen=True)
class Entry:
    """What is known of a channel besides its samples."""

    name: str
    unit: str
    frame: str
    columns: tuple[str, ...]
    samples: int


@dataclass(frozen=True)
class Manifest:
    """What the `/channels` topic tells: all channels of a file by name, the topics that hold them, and the notes."""

    entries: dict[str, Entry]
    topics: tuple[Topic, ...]
    notes: tuple[str, ...]


def dumps(flight: Flight, topics: Iterable[Topic]) -> str:
    """Return the text of the `/channels` topic for a flight that is written to these topics.

    It is one JSON object: `version`, `notes`, and `channels` with, by name, `unit`, `frame`, `columns`, `shape` (of
    one sample), `samples` (how many were written), `topic`, `message` and `field`.
    """
    place = {part.channel: (topic, part) for topic in topics for part in topic.parts}
    channels = {}
    for name, channel in flight.channels.items():
        topic, held = place[name]
        channels[name] = {
            "unit": channel.unit,
            "frame": channel.frame,
            "columns": list(channel.columns),
            "shape": list(held.shape),
            "samples": len(channel),
            "topic": topic.name,
            "message": schema_name(topic.message),
            "field": held.field,
        }
    data = {"version": VERSION, "notes": list(flight.notes), "channels": channels}
    return json.dumps(data, ensure_ascii=False)


def loads(text: str) -> Manifest:
    """Return what `dumps` wrote; ValueError says what is wrong with any other text."""
    try:
        data = json.loads(text)
        if data["version"] > VERSION:
            raise ValueError(f"version {data['version']}, this program reads up to {VERSION}; update it")
        entries = {
            name: Entry(name, item["unit"], item["frame"], tuple(item["columns"]), int(item["samples"]))
            for name, item in data["channels"].items()
        }
        return Manifest(entries, _topics(data["channels"]), tuple(data["notes"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__} {error}") from None


def _topics(channels: dict[str, dict[str, Any]]) -> tuple[Topic, ...]:
    heads: dict[str, tuple[str, str]] = {}
    parts: dict[str, list[MessagePart]] = {}
    for name, item in channels.items():
        message = item["message"].replace("/msg/", "/")
        if message not in DEFINITIONS:
            raise ValueError(f"channel '{name}' is in an unknown message {item['message']}")
        topic = item["topic"]
        if heads.setdefault(topic, (message, item["frame"])) != (message, item["frame"]):
            raise ValueError(f"topic {topic} has two kinds of messages")
        shape = tuple(int(size) for size in item["shape"])
        if min(shape, default=0) < 0:
            raise ValueError(f"channel '{name}' has the shape {shape}")
        parts.setdefault(topic, []).append(message_part(name, item["field"], shape, tuple(item["columns"])))
    return tuple(Topic(topic, *head, tuple(parts[topic])) for topic, head in heads.items())
