"""ROS bags: ROS 1 files, ROS 2 folders, MCAP and SQLite files, by rosbags; axes are ours by REP 103.

Topics are taken by the kind of their messages; where one kind has several topics, the first in the bag gets the
plain name (`imu`, `pose`) and the others that of their topic. A mapping file overrides: `topic` and `field` for each
channel. Stamps are those of the headers; messages without one have the time at which they were recorded. MCAP files
of our own are read bit by bit.
"""

import re
import tempfile
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from haltere.flight import Flight, FlightError
from haltere.flight.mcap import read_mcap
from haltere.flight.rotations import normalize
from haltere.foundation.constants import DEGREE
from haltere.foundation.numbers import Floats
from haltere.logs.builder import Builder, LogError, local, reading, rotor_names
from haltere.logs.mapping import UNIT_BY_NAME, UNITS, ChannelPart, Mapping, add_mapped

Pick = Callable[[Any], list[float]]


def _xyz(v: Any) -> list[float]:
    return [v.x, v.y, v.z]


def _wxyz(q: Any) -> list[float]:
    return [q.w, q.x, q.y, q.z]


def _inner(message: Any) -> Any:
    """Return the pose in PoseStamped, PoseWithCovarianceStamped and Odometry."""
    pose = message.pose
    return pose.pose if hasattr(pose, "pose") else pose


#: Last word of the channel, unit, and the numbers, by the kind of message; the first word is the usual name.
KINDS: dict[str, tuple[str, tuple[tuple[str, str, Pick], ...]]] = {
    "sensor_msgs/msg/Imu": (
        "imu",
        (
            ("accel", "m/s2", lambda m: _xyz(m.linear_acceleration)),
            ("gyro", "rad/s", lambda m: _xyz(m.angular_velocity)),
        ),
    ),
    "geometry_msgs/msg/PoseStamped": (
        "pose",
        (
            ("position", "m", lambda m: _xyz(_inner(m).position)),
            ("wxyz", "1", lambda m: _wxyz(_inner(m).orientation)),
        ),
    ),
    "geometry_msgs/msg/TransformStamped": (
        "pose",
        (
            ("position", "m", lambda m: _xyz(m.transform.translation)),
            ("wxyz", "1", lambda m: _wxyz(m.transform.rotation)),
        ),
    ),
    "geometry_msgs/msg/PointStamped": ("position", (("position", "m", lambda m: _xyz(m.point)),)),
    "sensor_msgs/msg/MagneticField": ("mag", (("field", "T", lambda m: _xyz(m.magnetic_field)),)),
    "sensor_msgs/msg/BatteryState": ("battery", (("voltage", "V", lambda m: [m.voltage]),)),
    "sensor_msgs/msg/NavSatFix": ("gps", (("fix", "rad", lambda m: [m.latitude, m.longitude, m.altitude]),)),
    "mav_msgs/msg/Actuators": ("rotors", (("speed", "rad/s", lambda m: list(m.angular_velocities)),)),
    "actuator_msgs/msg/Actuators": ("rotors", (("speed", "rad/s", lambda m: list(m.velocity)),)),
}
KINDS["geometry_msgs/msg/PoseWithCovarianceStamped"] = KINDS["geometry_msgs/msg/PoseStamped"]
KINDS["nav_msgs/msg/Odometry"] = ("odometry", KINDS["geometry_msgs/msg/PoseStamped"][1])
_JOINTS = "sensor_msgs/msg/JointState"
_DYNAMIXEL = "dynamixel_msgs/msg/MotorStateList"
_PER_JOINT = {"speed", "command", "angle", "rate", "effort", "load", "steps", "goal_steps"}
_FRAMES = {"position": "world", "wxyz": "world", "velocity": "world", "fix": "world"}


@dataclass
class _TopicSeries:
    """Samples of one channel as they come."""

    channel: str
    unit: str
    pick: Pick
    entry: ChannelPart | None = None
    names: tuple[str, ...] = ()
    time: "array[int]" = field(default_factory=lambda: array("q"))
    numbers: "array[float]" = field(default_factory=lambda: array("d"))
    width: int = 0
    odd: int = 0

    def take(self, stamp: int, message: Any) -> None:
        """Add a message; one with another number of values than the first is counted and left out."""
        values = self.pick(message)
        if not self.names and self.channel.startswith("joints."):
            self.names = tuple(getattr(message, "name", ()))
        self.width = self.width or len(values)
        if len(values) != self.width or not values:
            self.odd += 1
            return
        self.time.append(stamp)
        self.numbers.extend(values)


def read_mcap_log(file: Path, mapping: Mapping | None) -> Flight:
    """Return the flight in an MCAP file: one of ours as it was written, any other as a ROS bag."""
    if mapping is None:
        try:
            return read_mcap(file)
        except FlightError as error:
            if "no flight of ours" not in str(error):
                raise LogError(str(error)) from None
    return read_bag(file, mapping)


def read_bag(file: Path, mapping: Mapping | None) -> Flight:
    """Return the flight in a ROS bag."""
    with (
        reading(file, "ROS bag"),
        tempfile.TemporaryDirectory() as folder,
        AnyReader([_named(file, Path(folder))], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as bag,
    ):
        builder = Builder(file, f"ROS {2 if bag.is2 else 1} bag, {bag.message_count} messages")
        plans = _mapped(file, bag, mapping) if mapping is not None else _planned(bag)
        if not plans:
            kinds = sorted({connection.msgtype for connection in bag.connections})
            raise LogError(
                f"{file}: no topic holds a kind of message that is known here ({', '.join(kinds[:6]) or 'none'}); "
                "name topics and fields in a mapping file (--map)"
            )
        _take(builder, bag, plans)
    for series in [each for plan in plans.values() for each in plan]:
        _add(builder, series)
    return builder.flight("name its topics in a mapping file (--map)")


def _named(file: Path, folder: Path) -> Path:
    """Return the file under a name with the ending that rosbags goes by."""
    if file.is_dir():
        return file
    with file.open("rb") as stream:
        head = stream.read(16)
    ending = ".bag" if head.startswith(b"#ROSBAG") else ".db3" if head.startswith(b"SQLite") else ".mcap"
    if file.suffix == ending:
        return file
    (folder / f"log{ending}").symlink_to(file.resolve())
    return folder / f"log{ending}"


def _planned(bag: Any) -> dict[int, list[_TopicSeries]]:
    """Return, by connection, the channels that its messages hold."""
    plans: dict[int, list[_TopicSeries]] = {}
    taken: set[str] = set()
    for connection in bag.connections:
        topic = re.sub(r"[^\w/]", "_", connection.topic).strip("/").replace("/", ".")
        if connection.msgtype == _JOINTS:
            plan = _joints(topic)
        elif connection.msgtype == _DYNAMIXEL:
            plan = _dynamixel()
        elif connection.msgtype in KINDS:
            usual, parts = KINDS[connection.msgtype]
            first = usual if usual not in taken else topic
            taken.add(usual)
            plan = [_TopicSeries(f"{first}.{last}", si, pick) for last, si, pick in parts]
        else:
            continue
        plans[connection.id] = [series for series in plan if series.channel not in taken]
        taken.update(series.channel for series in plan)
    return plans


def _joints(topic: str) -> list[_TopicSeries]:
    """Return the channels of a JointState topic: rotors by its name, joints otherwise."""
    last = topic.rsplit(".", 1)[-1]
    if "rotor" in topic or "motor" in topic:
        if last == "command":
            return [
                _TopicSeries("rotors.command", "1", lambda m: list(m.effort if len(m.effort) else m.position))
            ]
        return [_TopicSeries("rotors.speed", "rad/s", lambda m: list(m.velocity))]
    return [
        _TopicSeries("joints.angle", "rad", lambda m: list(m.position)),
        _TopicSeries("joints.rate", "rad/s", lambda m: list(m.velocity)),
        _TopicSeries("joints.effort", "N m", lambda m: list(m.effort)),
    ]


def _dynamixel() -> list[_TopicSeries]:
    """Return the channels of a Dynamixel driver's motor states: positions in encoder steps, load as a share."""

    def each(field_name: str) -> Pick:
        return lambda m: [float(getattr(state, field_name)) for state in m.motor_states]

    return [
        _TopicSeries("joints.steps", "1", each("position")),
        _TopicSeries("joints.goal_steps", "1", each("goal")),
        _TopicSeries("joints.load", "1", each("load")),
    ]


def _mapped(file: Path, bag: Any, mapping: Mapping) -> dict[int, list[_TopicSeries]]:
    plans: dict[int, list[_TopicSeries]] = {}
    topics = {connection.topic: connection for connection in bag.connections}
    for name, entry in mapping.channels.items():
        if entry.topic not in topics:
            raise LogError(
                f"{file}: channel '{name}': no topic '{entry.topic}'; the bag has: {', '.join(sorted(topics)[:20])}"
            )
        si = UNITS[entry.unit or UNIT_BY_NAME.get(name.rsplit(".", 1)[-1], "1")][0]
        series = _TopicSeries(name, si, _picker(file, name, entry.field), entry)
        plans.setdefault(topics[entry.topic].id, []).append(series)
    return plans


def _picker(file: Path, channel: str, path: str) -> Pick:
    """Return the function that takes the numbers in a field, such as `twist.linear` or `data`, out of a message."""

    def pick(message: Any) -> list[float]:
        value = message
        for word in path.split(".") if path else ():
            if not hasattr(value, word):
                known = ", ".join(n for n in getattr(value, "__dataclass_fields__", {}) if n != "__msgtype__")
                raise LogError(f"{file}: channel '{channel}': no field '{word}'; there are: {known}")
            value = getattr(value, word)
        for forms in (("w", "x", "y", "z"), ("x", "y", "z")):
            if all(hasattr(value, axis) for axis in forms):
                return [float(getattr(value, axis)) for axis in forms]
        return [float(each) for each in np.atleast_1d(value)]

    return pick


def _take(builder: Builder, bag: Any, plans: dict[int, list[_TopicSeries]]) -> None:
    """Read all messages of the planned connections; a bag that breaks off is read up to there."""
    connections = [connection for connection in bag.connections if connection.id in plans]
    count, bare = 0, 0
    try:
        for connection, logged, raw in bag.messages(connections):
            message = bag.deserialize(raw, connection.msgtype)
            stamp = getattr(getattr(message, "header", None), "stamp", None)
            time = stamp.sec * 1_000_000_000 + stamp.nanosec if stamp is not None else 0
            bare += time <= 0
            for series in plans[connection.id]:
                series.take(time if time > 0 else logged, message)
            count += 1
    except LogError:
        raise
    except Exception as error:  # what a damaged bag raises depends on where it is damaged
        if not count:
            raise
        builder.note(
            f"truncated: the bag breaks off after {count} messages ({' '.join(str(error).split())[:80]})"
        )
    if bare:
        builder.note(
            f"clock: {bare} messages have no stamp of their own; the time of recording is used instead"
        )


def _add(builder: Builder, series: _TopicSeries) -> None:
    if series.odd and series.time:
        builder.note(f"broken: {series.channel}: {series.odd} messages of another length were left out")
    if not series.time:
        return
    time = np.frombuffer(series.time, np.int64)
    values: Floats = np.frombuffer(series.numbers, np.float64).reshape(len(time), series.width)
    if series.entry is not None:
        add_mapped(builder, series.channel, series.entry, time, values)
        return
    first, last = series.channel.rsplit(".", 1)
    if last == "fix":
        place = local(values[:, 0] * DEGREE, values[:, 1] * DEGREE, values[:, 2])
        builder.add(f"{first}.position", time, place, "m", "world")
    elif last == "wxyz":
        builder.add(series.channel, time, normalize(values), "1", "world")
    elif last in _PER_JOINT:
        names = rotor_names(series.width) if first == "rotors" else _distinct(series)
        builder.add(series.channel, time, values, series.unit, "", names)
    else:
        shown = values[:, 0] if series.width == 1 else values
        frame = _FRAMES.get(last, first if last in {"accel", "gyro", "field"} else "")
        builder.add(series.channel, time, shown, series.unit, frame)


def _distinct(series: _TopicSeries) -> tuple[str, ...]:
    """Return the joints' names if there is one for each column, else none."""
    names = series.names
    return names if len(set(names)) == series.width == len(names) and all(names) else ()
