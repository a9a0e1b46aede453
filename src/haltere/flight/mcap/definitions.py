"""The standard ROS 2 messages that a flight is written with: their fields, as `ros2msg` schemas hold them."""

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
