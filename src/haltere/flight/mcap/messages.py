"""The standard ROS 2 messages that a flight is written with: their fields, and where numbers stand in their bytes.

`DEFINITIONS` has the fields as `ros2msg` schemas hold them; a `Layout` packs many messages at once.
"""

import re
import struct
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from haltere.foundation.numbers import Floats, Times

_STAMPED = "std_msgs/Header header\n"
_XYZ = "float64 x\nfloat64 y\nfloat64 z"
_LINEAR_ANGULAR = "geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular"

#: Fields of each message, one per line; nested messages by their full names.
DEFINITIONS: dict[str, str] = {
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec",
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id",
    "std_msgs/String": "string data",
    "geometry_msgs/Point": _XYZ,
    "geometry_msgs/Vector3": _XYZ,
    "geometry_msgs/Quaternion": "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1",
    "geometry_msgs/Pose": "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation",
    "geometry_msgs/Twist": _LINEAR_ANGULAR,
    "geometry_msgs/Accel": _LINEAR_ANGULAR,
    "geometry_msgs/PointStamped": _STAMPED + "geometry_msgs/Point point",
    "geometry_msgs/Vector3Stamped": _STAMPED + "geometry_msgs/Vector3 vector",
    "geometry_msgs/QuaternionStamped": _STAMPED + "geometry_msgs/Quaternion quaternion",
    "geometry_msgs/PoseStamped": _STAMPED + "geometry_msgs/Pose pose",
    "geometry_msgs/TwistStamped": _STAMPED + "geometry_msgs/Twist twist",
    "geometry_msgs/AccelStamped": _STAMPED + "geometry_msgs/Accel accel",
    "sensor_msgs/Imu": _STAMPED
    + "geometry_msgs/Quaternion orientation\nfloat64[9] orientation_covariance\n"
    + "geometry_msgs/Vector3 angular_velocity\nfloat64[9] angular_velocity_covariance\n"
    + "geometry_msgs/Vector3 linear_acceleration\nfloat64[9] linear_acceleration_covariance",
    "sensor_msgs/MagneticField": _STAMPED
    + "geometry_msgs/Vector3 magnetic_field\nfloat64[9] magnetic_field_covariance",
    "sensor_msgs/JointState": _STAMPED
    + "string[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort",
}

_SEPARATOR = "=" * 80


def fields(message: str) -> list[tuple[str, str]]:
    """Return the kind and name of each field of a message such as "sensor_msgs/Imu", in order."""
    lines = (line.split() for line in DEFINITIONS[message].splitlines())
    return [(words[0], words[1]) for words in lines]


def schema_name(message: str) -> str:
    """Return the name of a message's schema: "sensor_msgs/msg/Imu" for "sensor_msgs/Imu"."""
    package, _, kind = message.partition("/")
    return f"{package}/msg/{kind}"


def schema_text(message: str) -> str:
    """Return a message's definition followed by those of all messages it is made of."""
    parts = [DEFINITIONS[message]]
    parts += [f"{_SEPARATOR}\nMSG: {part}\n{DEFINITIONS[part]}" for part in _nested(message)]
    return "\n".join(parts) + "\n"


def _nested(message: str) -> list[str]:
    found: list[str] = []
    for kind, _ in fields(message):
        if kind in DEFINITIONS:
            found += [part for part in (kind, *_nested(kind)) if part not in found]
    return found


Bytes = NDArray[np.uint8]

_ENCAPSULATION = b"\x00\x01\x00\x00"
_FORMATS = {"int32": "i", "uint32": "I", "float64": "d"}
_ARRAY = re.compile(r"(\w+)\[(\d*)\]")
_SECOND = 1_000_000_000

#: The largest time stamp that a message can hold, ns: its seconds are int32.
LAST_STAMP = 2**31 * _SECOND - 1


class Layout:
    """The bytes of one message with its texts filled in and all numbers zero, and where each number stands.

    Little-endian CDR: four bytes of encapsulation, then the fields in order, each aligned to its own size counted
    from there. A text is a length with its closing zero, the bytes, and the zero; a sequence is a length and its
    elements. All messages of a topic have equal texts and lengths, so one layout holds for all of them and a
    batch of messages is a matrix of bytes.
    """

    def __init__(
        self,
        message: str,
        texts: Mapping[str, str | Sequence[str]],
        lengths: Mapping[str, int] | None = None,
    ) -> None:
        """Lay out a message.

        Args:
            message: Such as "sensor_msgs/Imu".
            texts: The text, or the list of texts, of each text field by its path, such as "header.frame_id".
            lengths: Elements of each sequence of numbers by its path; those not named are empty.
        """
        self._texts, self._lengths = texts, lengths or {}
        self._bytes = bytearray(_ENCAPSULATION)
        self._leaves: dict[str, tuple[int, int]] = {}
        self._message(message, "")
        self.template: Bytes = np.frombuffer(bytes(self._bytes), np.uint8)
        self._constant = np.ones(len(self.template), bool)
        for start, stop in self._leaves.values():
            self._constant[start:stop] = False

    def _message(self, message: str, prefix: str) -> None:
        for kind, name in fields(message):
            path = prefix + name
            array = _ARRAY.fullmatch(kind)
            if kind in DEFINITIONS:
                self._message(kind, path + ".")
            elif kind == "string":
                self._text(str(self._texts[path]))
            elif kind == "string[]":
                texts = self._texts[path]
                self._put("I", len(texts))
                for text in texts:
                    self._text(text)
            elif array:
                count = int(array[2]) if array[2] else self._lengths.get(path, 0)
                if not array[2]:
                    self._put("I", count)
                self._numbers(path, array[1], count)
            else:
                self._numbers(path, kind, 1)

    def _align(self, size: int) -> None:
        self._bytes += bytes(-(len(self._bytes) - len(_ENCAPSULATION)) % size)

    def _put(self, form: str, value: int) -> None:
        self._align(struct.calcsize(form))
        self._bytes += struct.pack("<" + form, value)

    def _text(self, text: str) -> None:
        data = text.encode() + b"\0"
        self._put("I", len(data))
        self._bytes += data

    def _numbers(self, path: str, kind: str, count: int) -> None:
        size = struct.calcsize(_FORMATS[kind])
        if count:  # an empty sequence is its length alone: nothing is aligned after it
            self._align(size)
        start = len(self._bytes)
        self._bytes += bytes(size * count)
        self._leaves[path] = (start, len(self._bytes))

    def block(self, path: str) -> slice:
        """Return where all numbers at or below a path stand, such as those of "pose.position": one run of bytes."""
        inside = [
            bounds for leaf, bounds in self._leaves.items() if leaf == path or leaf.startswith(path + ".")
        ]
        return slice(inside[0][0], inside[-1][1])

    def set(self, rows: Bytes, path: str, values: Floats) -> None:
        """Write float64 values (T, k) to a path of messages (T, size)."""
        block = self.block(path)
        raw = np.frombuffer(np.ascontiguousarray(values, "<f8").tobytes(), np.uint8)
        rows[:, block] = raw.reshape(len(rows), block.stop - block.start)

    def get(self, rows: Bytes, path: str) -> Floats:
        """Return the float64 values (T, k) at a path of messages (T, size)."""
        block = self.block(path)
        raw = np.frombuffer(rows[:, block].tobytes(), "<f8")
        return raw.reshape(len(rows), (block.stop - block.start) // 8).astype(np.float64)

    def set_stamps(self, rows: Bytes, time: Times) -> None:
        """Write time stamps (T,), ns, to the headers of messages (T, size)."""
        for part, kind, numbers in (("sec", "<i4", time // _SECOND), ("nanosec", "<u4", time % _SECOND)):
            block = self.block(f"header.stamp.{part}")
            rows[:, block] = numbers.astype(kind)[:, None].view(np.uint8)

    def messages(self, count: int) -> Bytes:
        """Return messages (count, size) to write into, texts filled in and numbers zero."""
        return np.tile(self.template, (count, 1))

    def matches(self, rows: Bytes) -> bool:
        """Whether messages (T, size) have the texts and lengths of this layout."""
        if rows.shape[1] != len(self.template):
            return False
        return bool(np.all(rows[:, self._constant] == self.template[self._constant]))


def pack_text(text: str) -> bytes:
    """Return a `std_msgs/String` message."""
    return bytes(Layout("std_msgs/String", {"data": text}).template)


def unpack_text(message: bytes) -> str:
    """Return the text of a `std_msgs/String` message; ValueError if it is none."""
    if message[:4] != _ENCAPSULATION or len(message) < 9:
        raise ValueError("not a little-endian text message")
    (size,) = struct.unpack_from("<I", message, 4)
    if size < 1 or 8 + size > len(message):
        raise ValueError("a text longer than its message")
    return message[8 : 7 + size].decode()
