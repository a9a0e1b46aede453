"""Flights as ROS 2 recordings in MCAP.

Topics as common drivers name them: /imu/data (sensor_msgs/Imu), /mocap/pose (geometry_msgs/PoseStamped), /rotors/state
(sensor_msgs/JointState, velocities), /rotors/command (actuator_msgs/Actuators, normalized), /battery
(sensor_msgs/BatteryState) and, with an arm, /joint_states. A header's stamp is that of the stream's own clock; the
recorder logs a message some milliseconds later. Message definitions: https://docs.ros.org, common_interfaces.
"""

from pathlib import Path

import numpy as np
from mcap_ros2.writer import Writer
from tests.world.flights import Flight

EPOCH = 1_700_000_000  # s
RECORDED = 3_000_000  # ns after the stamp
LINE = "=" * 80
HEADER = f"""{LINE}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
{LINE}
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""
VECTOR = f"""{LINE}
MSG: geometry_msgs/Vector3
float64 x
float64 y
float64 z
"""
QUATERNION = f"""{LINE}
MSG: geometry_msgs/Quaternion
float64 x
float64 y
float64 z
float64 w
"""
DEFINITIONS = {
    "sensor_msgs/msg/Imu": "std_msgs/Header header\ngeometry_msgs/Quaternion orientation\n"
    "float64[9] orientation_covariance\ngeometry_msgs/Vector3 angular_velocity\n"
    "float64[9] angular_velocity_covariance\ngeometry_msgs/Vector3 linear_acceleration\n"
    f"float64[9] linear_acceleration_covariance\n{QUATERNION}{VECTOR}{HEADER}",
    "geometry_msgs/msg/PoseStamped": "std_msgs/Header header\ngeometry_msgs/Pose pose\n"
    f"{LINE}\nMSG: geometry_msgs/Pose\ngeometry_msgs/Point position\ngeometry_msgs/Quaternion orientation\n"
    f"{LINE}\nMSG: geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z\n{QUATERNION}{HEADER}",
    "sensor_msgs/msg/JointState": "std_msgs/Header header\nstring[] name\nfloat64[] position\n"
    f"float64[] velocity\nfloat64[] effort\n{HEADER}",
    "actuator_msgs/msg/Actuators": "std_msgs/Header header\nfloat64[] position\nfloat64[] velocity\n"
    f"float64[] normalized\n{HEADER}",
    "sensor_msgs/msg/BatteryState": "std_msgs/Header header\nfloat32 voltage\nfloat32 temperature\nfloat32 current\n"
    "float32 charge\nfloat32 capacity\nfloat32 design_capacity\nfloat32 percentage\nuint8 power_supply_status\n"
    "uint8 power_supply_health\nuint8 power_supply_technology\nbool present\nfloat32[] cell_voltage\n"
    f"float32[] cell_temperature\nstring location\nstring serial_number\n{HEADER}",
}


def write_mcap(flight: Flight, path: Path) -> None:
    """Write a flight as a recording of ROS 2."""
    messages = [
        message
        for topic, kind, rows in _topics(flight)
        for message in ((stamp, topic, kind, body) for stamp, body in rows)
    ]
    messages.sort(key=lambda message: message[:2])
    with Path(path).open("wb") as file, Writer(file) as writer:
        schemas = {kind: writer.register_msgdef(kind, text) for kind, text in DEFINITIONS.items()}
        for sequence, (stamp, topic, kind, body) in enumerate(messages):
            log = stamp + RECORDED
            writer.write_message(topic, schemas[kind], body, log, log, sequence)


def _topics(flight):
    streams = flight.streams
    yield "/imu/data", "sensor_msgs/msg/Imu", _imu(streams)
    yield "/mocap/pose", "geometry_msgs/msg/PoseStamped", _pose(streams)
    yield "/rotors/state", "sensor_msgs/msg/JointState", _speeds(streams["rotors.speed"])
    yield "/rotors/command", "actuator_msgs/msg/Actuators", _commands(streams["rotors.command"])
    yield "/battery", "sensor_msgs/msg/BatteryState", _battery(streams["battery.voltage"])
    if "joints.angle" in streams:
        yield "/joint_states", "sensor_msgs/msg/JointState", _joints(streams)


def _headers(time, frame):
    for nanos in (np.round(time * 1e9).astype(np.int64) + EPOCH * 10**9).tolist():
        stamp = {"sec": nanos // 10**9, "nanosec": nanos % 10**9}
        yield nanos, {"stamp": stamp, "frame_id": frame}


def _xyz(values):
    return dict(zip("xyz", values, strict=True))


def _imu(streams):
    gyro, accel = streams["imu.gyro"], streams["imu.accel"]
    unknown = [-1.0] + [0.0] * 8
    rows = zip(_headers(gyro.time, "imu"), gyro.values.tolist(), accel.values.tolist(), strict=True)
    for (nanos, header), rate, force in rows:
        yield (
            nanos,
            {
                "header": header,
                "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
                "orientation_covariance": unknown,
                "angular_velocity": _xyz(rate),
                "angular_velocity_covariance": [0.0] * 9,
                "linear_acceleration": _xyz(force),
                "linear_acceleration_covariance": [0.0] * 9,
            },
        )


def _pose(streams):
    position, wxyz = streams["pose.position"], streams["pose.wxyz"]
    rows = zip(_headers(position.time, "world"), position.values.tolist(), wxyz.values.tolist(), strict=True)
    for (nanos, header), p, (w, x, y, z) in rows:
        pose = {"position": _xyz(p), "orientation": {"x": x, "y": y, "z": z, "w": w}}
        yield nanos, {"header": header, "pose": pose}


def _speeds(stream):
    for (nanos, header), row in zip(_headers(stream.time, ""), stream.values.tolist(), strict=True):
        names = list(stream.columns)
        yield nanos, {"header": header, "name": names, "position": [], "velocity": row, "effort": []}


def _commands(stream):
    for (nanos, header), row in zip(_headers(stream.time, ""), stream.values.tolist(), strict=True):
        yield nanos, {"header": header, "position": [], "velocity": [], "normalized": row}


def _joints(streams):
    angle, rate, effort = (streams[f"joints.{name}"] for name in ("angle", "rate", "effort"))
    rows = zip(angle.values.tolist(), rate.values.tolist(), effort.values.tolist(), strict=True)
    for (nanos, header), (a, r, e) in zip(_headers(angle.time, ""), rows, strict=True):
        yield (
            nanos,
            {"header": header, "name": list(angle.columns), "position": a, "velocity": r, "effort": e},
        )


def _battery(stream):
    numbers = ("temperature", "current", "charge", "capacity", "design_capacity", "percentage")
    kinds = ("power_supply_status", "power_supply_health", "power_supply_technology")
    for (nanos, header), (volts,) in zip(_headers(stream.time, ""), stream.values.tolist(), strict=True):
        body = {"header": header, "voltage": volts, "present": True, "location": "", "serial_number": ""}
        body |= dict.fromkeys(numbers, float("nan")) | dict.fromkeys(kinds, 0)
        yield nanos, body | {"cell_voltage": [], "cell_temperature": []}
