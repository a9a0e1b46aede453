"""PX4 logs (ULog): NED and FRD brought to ENU and FLU, motor outputs to 0..1, rpm to rad/s.

The IMU comes from `sensor_combined` (calibrated, body axes), or from `vehicle_imu` where that was logged instead. Motor
commands come from `actuator_motors`, or from `actuator_outputs` with the pulse widths of the parameters. Estimates
of the filter on board are kept apart from measurements as `estimate.*`.
"""

from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from pyulog import ULog

from haltere.flight import Flight
from haltere.flight.rotations import enu_flu_from_ned_frd, enu_from_ned, flu_from_frd, normalize
from haltere.foundation.constants import DEGREE, RPM
from haltere.foundation.numbers import Floats, Times
from haltere.logs.builder import GAUSS, Builder, LogError, local, reading, rotor_names

TOPICS = [
    "sensor_combined", "vehicle_imu", "vehicle_angular_velocity", "vehicle_acceleration", "actuator_motors",
    "actuator_outputs", "esc_status", "battery_status", "vehicle_attitude", "vehicle_local_position",
    "vehicle_mocap_odometry", "vehicle_visual_odometry", "vehicle_gps_position", "sensor_gps",
    "vehicle_magnetometer", "vehicle_air_data",
]  # fmt: skip
_INVALID = 2**31 - 1  # a relative time stamp that says there is no sample
_MOTORS = 12
_CIRCLES = 20

SPEED_HINT = (
    "settings: the log has no rotor speed (esc_status); with DShot ESCs set DSHOT_TEL_CFG or bidirectional DShot "
    "(DSHOT_BIDIR_EN), with CAN ESCs they report it themselves"
)
COMMAND_HINT = (
    "settings: the log has no motor commands (actuator_motors, actuator_outputs); set SDLOG_PROFILE bits 0 and 2 "
    "(default set and system identification)"
)
RATE_HINT = (
    "settings: the IMU was logged at {:.0f} Hz; set SDLOG_PROFILE bit 4 (high rate) for identification"
)


class _Onward:
    """A file that notices a parser going round in circles: one that steps back to the same offset again and again.

    pyulog 1.3 does, for ever, where a message of unknown kind reaches beyond the end of a damaged file.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.read, self.tell, self.close = stream.read, stream.tell, stream.close
        self._stream = stream
        self._visits: Counter[int] = Counter()

    def seek(self, offset: int, whence: int = 0) -> int:
        place = self._stream.seek(offset, whence)
        self._visits[place] += 1
        if self._visits[place] > _CIRCLES:
            raise RuntimeError("the same bytes are read again and again")
        return place


class _Log:
    """Topics of a log by name and instance, with their fields as arrays; each can be found once and is then gone."""

    def __init__(self, log: Any) -> None:
        self.parameters: dict[str, Any] = dict(log.initial_parameters)
        self.topics = {(each.name, each.multi_id): each.data for each in log.data_list}

    def find(self, *names: str) -> dict[str, Any] | None:
        """Return the fields of the first of these topics that has samples, lowest instance first."""
        for name in names:
            for instance in range(4):
                data = self.topics.get((name, instance))
                if data is not None and len(data.get("timestamp", ())):
                    return dict(self.topics.pop((name, instance)))
        return None


def read_ulog(file: Path) -> Flight:
    """Return the flight in a ULog file."""
    with reading(file, "PX4 ULog"), file.open("rb") as stream, redirect_stdout(StringIO()):
        raw = ULog(
            _Onward(stream), TOPICS
        )  # prints what it thinks of damaged files, where only results belong
        log = _Log(raw)
        info, damaged, dropouts = raw.msg_info_dict, raw.file_corruption, raw.dropouts
        del raw  # it holds on to the bytes of every topic
    builder = Builder(
        file, f"PX4 ULog, {info.get('ver_hw', 'unknown board')}, {info.get('ver_sw_release_str', '')}"
    )
    if damaged:
        builder.note("broken: parts of the file are damaged and were skipped")
    if dropouts:
        lost = sum(each.duration for each in dropouts) * 1e-3
        builder.note(f"gaps: the logger itself reports {len(dropouts)} dropout(s), {lost:.3f} s in all")
    with reading(file, "PX4 ULog"):
        _imu(builder, log)
        _motors(builder, log)
        _poses(builder, log)
        _other_channels(builder, log)
    if not builder.channels:
        raise LogError(
            f"{file}: holds no signal that is known here (it was cut off early, or logs none of "
            f"{', '.join(TOPICS[:5])}, ...); set SDLOG_PROFILE and fly again"
        )
    return builder.flight("set SDLOG_PROFILE")


def _time(data: dict[str, Any], field: str = "timestamp") -> Times:
    stamps = np.asarray(data.get(field, data["timestamp"]))
    if field != "timestamp" and not np.all(stamps):
        stamps = np.asarray(data["timestamp"])
    limited = np.minimum(stamps.astype(np.uint64), np.uint64(2**62 // 1000)).astype(np.int64)
    limited *= 1000
    return limited


def _vector(data: dict[str, Any], name: str, count: int = 3, kind: Any = np.float64) -> Any:
    """The fields of a vector as an array (T, count) of a kind of number; None if there is no such vector."""
    fields = [f"{name}[{i}]" for i in range(count)]
    if not all(field in data for field in fields):
        return None
    found = np.empty((len(data[fields[0]]), count), kind)
    for place, field in enumerate(fields):
        found[:, place] = data[field]
    return found


def _imu(builder: Builder, log: _Log) -> None:
    data = log.find("sensor_combined")
    if data is not None:
        time = _time(data)
        gyro = _vector(data, "gyro_rad")
        if gyro is not None:
            builder.add("imu.gyro", time, flu_from_frd(gyro, gyro), "rad/s", "imu")
        raw = _vector(data, "accelerometer_m_s2", kind=np.float32)
        offset = np.array(data.get("accelerometer_timestamp_relative", np.zeros(len(time))))
        data.clear()  # and with it the bytes of the topic
        if raw is not None:
            good = offset != _INVALID
            if not good.all():
                time, offset, raw = time[good], offset[good], raw[good]
            accel = raw.astype(np.float64)
            late = time + offset.astype(np.int64) * 1000 if offset.any() else time
            builder.add("imu.accel", late, flu_from_frd(accel, accel), "m/s2", "imu")
    elif (data := log.find("vehicle_imu")) is not None:
        for name, field, si in (
            ("imu.gyro", "delta_angle", "rad/s"),
            ("imu.accel", "delta_velocity", "m/s2"),
        ):
            steps, lengths = _vector(data, field), np.asarray(data[f"{field}_dt"], np.float64) * 1e-6
            if steps is not None:
                rates = steps / np.where(lengths > 0.0, lengths, np.nan)[:, None]
                builder.add(name, _time(data, "timestamp_sample"), flu_from_frd(rates), si, "imu")
    for topic, name, si in (
        ("vehicle_angular_velocity", "imu.gyro", "rad/s"),
        ("vehicle_acceleration", "imu.accel", "m/s2"),
    ):
        found = log.find(topic)
        values = _vector(found, "xyz") if found is not None else None
        if found is not None and values is not None:
            builder.add(name, _time(found, "timestamp_sample"), flu_from_frd(values), si, "imu")
    if "imu.gyro" in builder.channels and 0.0 < builder.channels["imu.gyro"].rate < 150.0:
        builder.note(RATE_HINT.format(builder.channels["imu.gyro"].rate))


def _motors(builder: Builder, log: _Log) -> None:
    count = int(log.parameters.get("CA_ROTOR_COUNT", 0) or 0)
    data = log.find("actuator_motors")
    if data is not None:
        controls = _vector(data, "control", _MOTORS)
        if controls is not None:
            used = count or int(np.sum(np.any(np.isfinite(controls), axis=0)))
            _commands(builder, _time(data, "timestamp_sample"), controls[:, :used])
    elif (data := log.find("actuator_outputs")) is not None:
        outputs = _vector(data, "output", 8)
        if outputs is not None:
            used = count or min(int(np.median(np.asarray(data.get("noutputs", [4])))), 8)
            spinning = [i for i in range(used) if np.ptp(outputs[:, i]) > 0.0 or count]
            low = float(log.parameters.get("PWM_MIN", log.parameters.get("PWM_MAIN_MIN", 1000)))
            high = float(log.parameters.get("PWM_MAX", log.parameters.get("PWM_MAIN_MAX", 2000)))
            width = outputs[:, spinning]
            if width.size and float(np.nanmax(width)) > 2.0:
                builder.note(f"scale: motor commands are pulse widths, 0 at {low:g} us and 1 at {high:g} us")
                width = np.clip((width - low) / (high - low), 0.0, 1.0)
            if spinning:
                _commands(builder, _time(data), width)
            else:
                builder.note("still: all motor outputs are constant in this log: the motors never ran")
    if "rotors.command" not in builder.channels and data is None:
        builder.note(COMMAND_HINT)
    _speeds(builder, log, count)


def _commands(builder: Builder, time: Times, values: Floats) -> None:
    builder.add("rotors.command", time, values, "1", "", rotor_names(values.shape[1]))


def _speeds(builder: Builder, log: _Log, count: int) -> None:
    data = log.find("esc_status")
    if data is None or "esc[0].esc_rpm" not in data:
        builder.note(SPEED_HINT)
        return
    there = [i for i in range(8) if f"esc[{i}].esc_rpm" in data]
    used = count or int(np.median(np.asarray(data.get("esc_count", [len(there)]))))
    rpm = np.stack([np.asarray(data[f"esc[{i}].esc_rpm"], np.float64) for i in there[:used]], axis=1)
    builder.add("rotors.speed", _time(data), np.abs(rpm) * RPM, "rad/s", "", rotor_names(rpm.shape[1]))


def _poses(builder: Builder, log: _Log) -> None:
    data = log.find("vehicle_mocap_odometry", "vehicle_visual_odometry")
    if data is not None:
        place = _vector(data, "position")
        if place is None and {"x", "y", "z"} <= set(data):
            place = np.stack([np.asarray(data[a], np.float64) for a in "xyz"], axis=1)
        turn, time = _vector(data, "q", 4), _time(data, "timestamp_sample")
        if place is not None:
            builder.add("pose.position", time, enu_from_ned(place), "m", "world")
        if turn is not None:
            builder.add("pose.wxyz", time, enu_flu_from_ned_frd(normalize(turn)), "1", "world")
    data = log.find("vehicle_attitude")
    turn = _vector(data, "q", 4) if data is not None else None
    if data is not None and turn is not None:
        time = _time(data, "timestamp_sample")
        builder.add("estimate.wxyz", time, enu_flu_from_ned_frd(normalize(turn)), "1", "world")
    data = log.find("vehicle_local_position")
    if data is not None and {"x", "y", "z", "vx", "vy", "vz"} <= set(data):
        time = _time(data, "timestamp_sample")
        for name, axes, si in (("position", "xyz", "m"), ("velocity", ("vx", "vy", "vz"), "m/s")):
            values = np.stack([np.asarray(data[axis], np.float64) for axis in axes], axis=1)
            builder.add(f"estimate.{name}", time, enu_from_ned(values), si, "world")


def _other_channels(builder: Builder, log: _Log) -> None:
    data = log.find("battery_status")
    if data is not None and "voltage_v" in data:
        builder.add("battery.voltage", _time(data), np.asarray(data["voltage_v"], np.float64), "V")
    data = log.find("vehicle_magnetometer")
    field = _vector(data, "magnetometer_ga") if data is not None else None
    if data is not None and field is not None:
        builder.add("mag.field", _time(data), flu_from_frd(field) * GAUSS, "T", "mag")
    data = log.find("vehicle_air_data")
    if data is not None and "baro_alt_meter" in data:
        builder.add(
            "baro.altitude", _time(data), np.asarray(data["baro_alt_meter"], np.float64), "m", "world"
        )
    data = log.find("vehicle_gps_position", "sensor_gps")
    if data is not None:
        names = (
            ("latitude_deg", "longitude_deg", "altitude_msl_m")
            if "latitude_deg" in data
            else ("lat", "lon", "alt")
        )
        if set(names) <= set(data):
            lat, lon, alt = (np.asarray(data[name], np.float64) for name in names)
            degrees, metres = (1.0, 1.0) if names[0] == "latitude_deg" else (1e-7, 1e-3)
            place = local(lat * degrees * DEGREE, lon * degrees * DEGREE, alt * metres)
            builder.add("gps.position", _time(data), place, "m", "world")
