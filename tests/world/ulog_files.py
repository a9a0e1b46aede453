"""Flights as PX4 logs, in the ULog format of https://docs.px4.io/main/en/dev_log/ulog_file_format.

Topics and fields are those of PX4: sensor_combined, actuator_motors, esc_status, vehicle_visual_odometry,
battery_status. PX4's axes are north, east, down and forward, right, down; here x of the world is east, y is north.
Stamps are microseconds since the start of the computer, ten seconds before the flight.
"""

import struct
from pathlib import Path

import numpy as np
from tests.world.flights import Flight
from tests.world.vectors import multiply

BOOT = 10.0  # s between the start of the computer and that of the flight
RPM = 2 * np.pi / 60
MOTORS = 12
ESCS = 8
FORMATS = {
    "sensor_combined": (
        "uint64_t timestamp;float[3] gyro_rad;uint32_t gyro_integral_dt;int32_t accelerometer_timestamp_relative;"
        "float[3] accelerometer_m_s2;uint32_t accelerometer_integral_dt;"
    ),
    "actuator_motors": "uint64_t timestamp;uint64_t timestamp_sample;uint16_t reversible_flags;float[12] control;",
    "esc_report": (
        "uint64_t timestamp;uint32_t esc_errorcount;int32_t esc_rpm;float esc_voltage;float esc_current;"
        "float esc_temperature;uint8_t esc_address;uint8_t esc_state;"
    ),
    "esc_status": "uint64_t timestamp;uint16_t counter;uint8_t esc_count;uint8_t esc_online_flags;esc_report[8] esc;",
    "vehicle_visual_odometry": (
        "uint64_t timestamp;uint64_t timestamp_sample;float[3] position;float[4] q;float[3] velocity;"
        "float[3] angular_velocity;uint8_t pose_frame;uint8_t velocity_frame;uint8_t reset_counter;int8_t quality;"
    ),
    "battery_status": "uint64_t timestamp;float voltage_v;float current_a;float remaining;uint8_t cell_count;",
}
TOPICS = tuple(name for name in FORMATS if name != "esc_report")


def write_ulog(flight: Flight, path: Path) -> None:
    """Write a flight as a ULog file."""
    messages = [_message("B", bytes(40))]
    messages += [_message("F", f"{name}:{text}".encode()) for name, text in FORMATS.items()]
    for key, value in (("sys_name", "PX4"), ("ver_hw", "PX4_SITL"), ("sys_mcu", "none")):
        name = f"char[{len(value)}] {key}".encode()
        messages.append(_message("I", bytes([len(name)]) + name + value.encode()))
    messages += [_message("A", struct.pack("<BH", 0, i) + name.encode()) for i, name in enumerate(TOPICS)]
    data = []
    for i, name in enumerate(TOPICS):
        for stamp, body in _WRITERS[name](flight.streams):
            data.append((stamp, i, _message("D", struct.pack("<HQ", i, stamp) + body)))
    data.sort(key=lambda entry: entry[:2])
    header = b"ULog\x01\x12\x35\x01" + struct.pack("<Q", int(BOOT * 1e6) - 500_000)
    Path(path).write_bytes(b"".join([header, *messages, *(entry[2] for entry in data)]))


def _message(kind: str, body: bytes) -> bytes:
    return struct.pack("<HB", len(body), ord(kind)) + body


def stamps(time) -> list[int]:
    """Microseconds since the start of the computer."""
    return np.round((time + BOOT) * 1e6).astype(np.int64).tolist()


def to_frd(values):
    """Vectors (T, 3) of forward, left, up in forward, right, down."""
    return values * np.array([1.0, -1.0, -1.0])


def to_ned(position):
    """Positions (T, 3) of east, north, up in north, east, down."""
    return position[:, [1, 0, 2]] * np.array([1.0, 1.0, -1.0])


def attitude_to_ned(wxyz):
    """Attitudes (T, 4) of forward, left, up in east, north, up as those of FRD in NED."""
    half = np.sqrt(0.5)
    world, body = np.array([0.0, half, half, 0.0])[:, None], np.array([0.0, 1.0, 0.0, 0.0])[:, None]
    return multiply(multiply(world, wxyz.T), body).T


def _sensor_combined(streams):
    gyro, accel = to_frd(streams["imu.gyro"].values), to_frd(streams["imu.accel"].values)
    time = streams["imu.gyro"].time
    period = int(np.median(np.diff(time)) * 1e6)
    for stamp, g, a in zip(stamps(time), gyro.tolist(), accel.tolist(), strict=True):
        yield stamp, struct.pack("<3fIi3fI", *g, period, 0, *a, period)


def _actuator_motors(streams):
    stream = streams["rotors.command"]
    rest = [float("nan")] * (MOTORS - stream.values.shape[1])
    for stamp, row in zip(stamps(stream.time), stream.values.tolist(), strict=True):
        yield stamp, struct.pack("<QH12f", stamp, 0, *row, *rest)


def _esc_status(streams):
    stream = streams["rotors.speed"]
    count = stream.values.shape[1]
    rows = np.round(stream.values / RPM).astype(int).tolist()
    for k, (stamp, row) in enumerate(zip(stamps(stream.time), rows, strict=True)):
        parts = [struct.pack("<HBB", k % 65536, count, (1 << count) - 1)]
        for i in range(ESCS):
            rpm, seen = (row[i], stamp) if i < count else (0, 0)
            parts.append(struct.pack("<QIi3fBB", seen, 0, rpm, 16.0, 0.0, 40.0, i, 0))
        yield stamp, b"".join(parts)


def _vehicle_visual_odometry(streams):
    position, wxyz = to_ned(streams["pose.position"].values), attitude_to_ned(streams["pose.wxyz"].values)
    nothing = [float("nan")] * 6
    for stamp, p, q in zip(
        stamps(streams["pose.position"].time), position.tolist(), wxyz.tolist(), strict=True
    ):
        yield stamp, struct.pack("<Q3f4f6fBBBb", stamp, *p, *q, *nothing, 1, 0, 0, 100)


def _battery_status(streams):
    stream = streams["battery.voltage"]
    for stamp, (volts,) in zip(stamps(stream.time), stream.values.tolist(), strict=True):
        yield stamp, struct.pack("<3fB", volts, -1.0, -1.0, 4)


_WRITERS = {
    "sensor_combined": _sensor_combined,
    "actuator_motors": _actuator_motors,
    "esc_status": _esc_status,
    "vehicle_visual_odometry": _vehicle_visual_odometry,
    "battery_status": _battery_status,
}
