"""Tiny writers of every log format that is read, from a `Flight` in our own units and axes.

They share no code with the readers: units, axes and quaternions are turned by formulas written out here.
"""

import csv
import struct
import zlib

import numpy as np

G = 9.80665


def frd(v):
    return np.column_stack([v[:, 0], -v[:, 1], -v[:, 2]])


def ned(v):
    return np.column_stack([v[:, 1], v[:, 0], -v[:, 2]])


def matrix(q):
    w, x, y, z = q
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def quaternion(R):
    """wxyz of a matrix by its largest component."""
    t = np.array([np.trace(R), R[0, 0], R[1, 1], R[2, 2]])
    k = int(np.argmax(t))
    if k == 0:
        q = np.array([1 + t[0], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    else:
        i, j, m = (k - 1, k % 3, (k + 1) % 3)
        q = np.zeros(4)
        q[0] = R[m, j] - R[j, m]
        q[1 + i] = 1 + 2 * R[i, i] - np.trace(R)
        q[1 + j] = R[j, i] + R[i, j]
        q[1 + m] = R[m, i] + R[i, m]
    return q / np.linalg.norm(q)


def ned_frd(wxyz):
    """Attitude of an FRD body in an NED world."""
    T = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
    D = np.diag([1, -1, -1])
    return np.array([quaternion(T @ matrix(q) @ D) for q in wxyz])


def us(channel):
    return (channel.time // 1000).astype(np.uint64)


# ---------------------------------------------------------------- PX4 ULog


def ulog(flight, path, incompatible=False):
    out = bytearray(b"ULog\x01\x12\x35\x01" + struct.pack("<Q", int(us(flight["imu.gyro"])[0])))

    def message(kind, body):
        out.extend(struct.pack("<HB", len(body), ord(kind)) + body)

    message("B", bytes(8) + bytes([0x80 if incompatible else 0]) + bytes(7) + bytes(24))
    formats = {
        "sensor_combined": "uint64_t timestamp;float[3] gyro_rad;uint32_t gyro_integral_dt;"
        "int32_t accelerometer_timestamp_relative;float[3] accelerometer_m_s2;uint32_t accelerometer_integral_dt;",
        "actuator_motors": "uint64_t timestamp;uint64_t timestamp_sample;float[12] control;",
        "esc_report": "uint64_t timestamp;int32_t esc_rpm;float esc_voltage;",
        "esc_status": "uint64_t timestamp;uint16_t counter;uint8_t esc_count;uint8_t[5] _padding0;esc_report[8] esc;",
        "vehicle_visual_odometry": "uint64_t timestamp;uint64_t timestamp_sample;float[3] position;float[4] q;",
        "battery_status": "uint64_t timestamp;float voltage_v;uint8_t[4] _padding0;",
    }
    for name, fields in formats.items():
        message("F", f"{name}:{fields}".encode())
    key = b"char[4] ver_hw"
    message("I", bytes([len(key)]) + key + b"TEST")
    key = b"int32_t CA_ROTOR_COUNT"
    count = flight["rotors.speed"].values.shape[1]
    message("P", bytes([len(key)]) + key + struct.pack("<i", count))
    topics = [n for n in formats if n != "esc_report"]
    for number, name in enumerate(topics):
        message("A", struct.pack("<BH", 0, number) + name.encode())
    rows = []
    gyro, accel = flight["imu.gyro"], flight["imu.accel"]
    for t, w, f in zip(us(gyro), frd(gyro.values), frd(accel.values), strict=True):
        rows.append((t, 0, struct.pack("<Q3fIi3fI", t, *w, 5000, 0, *f, 5000)))
    command, speed = flight["rotors.command"], flight["rotors.speed"]
    for t, u in zip(us(command), command.values, strict=True):
        rows.append((t, 1, struct.pack("<QQ12f", t, t, *u, *[np.nan] * (12 - count))))
    for t, n in zip(us(speed), speed.values * 60 / (2 * np.pi), strict=True):
        escs = b"".join(struct.pack("<Qif", t, round(x), 15.0) for x in [*n, *[0] * (8 - count)])
        rows.append((t, 2, struct.pack("<QHB5x", t, 0, count) + escs))
    place, turn = flight["pose.position"], flight["pose.wxyz"]
    for t, p, q in zip(us(place), ned(place.values), ned_frd(turn.values), strict=True):
        rows.append((t, 3, struct.pack("<QQ3f4f", t, t, *p, *q)))
    battery = flight["battery.voltage"]
    for t, v in zip(us(battery), battery.values, strict=True):
        rows.append((t, 4, struct.pack("<Qf", t, v)))  # padding at the end is not logged
    for _, number, body in sorted(rows, key=lambda r: (r[0], r[1])):
        message("D", struct.pack("<H", number) + body)
    path.write_bytes(bytes(out))


# ---------------------------------------------------------------- Crazyflie uSD


def usd(flight, path, version=2):
    fast = {
        **{f"acc.{a}": flight["imu.accel"].values[:, i] / G for i, a in enumerate("xyz")},
        **{f"gyro.{a}": np.degrees(flight["imu.gyro"].values[:, i]) for i, a in enumerate("xyz")},
        **{f"rpm.m{i + 1}": v * 30 / np.pi for i, v in enumerate(flight["rotors.speed"].values.T)},
        **{f"motor.m{i + 1}": v * 65535 for i, v in enumerate(flight["rotors.command"].values.T)},
    }
    p, q = flight["pose.position"].values, flight["pose.wxyz"].values
    slow = {
        **{f"locSrv.{a}": p[:, i] for i, a in enumerate("xyz")},
        **{f"locSrv.q{a}": q[:, i] for a, i in (("x", 1), ("y", 2), ("z", 3), ("w", 0))},
    }
    out = bytearray(b"\xbc" + struct.pack("<HH", version, 2))
    for number, name, table in ((0xFFFF, b"fixedFrequency", fast), (9, b"estPose", slow)):
        out += struct.pack("<H", number) + name + b"\0" + struct.pack("<H", len(table))
        for variable in table:
            out += f"{variable}(f)".encode() + b"\0"
    rows = []
    for number, clock, table in ((0xFFFF, flight["imu.gyro"], fast), (9, flight["pose.position"], slow)):
        for t, values in zip(us(clock), np.stack(list(table.values()), axis=1), strict=True):
            stamp = struct.pack("<Q", t) if version == 2 else struct.pack("<I", int(t) // 1000)
            rows.append((t, struct.pack("<H", number) + stamp + struct.pack(f"<{len(values)}f", *values)))
    for _, row in sorted(rows, key=lambda r: r[0]):
        out += row
    path.write_bytes(bytes(out) + struct.pack("<I", zlib.crc32(bytes(out))))


# ---------------------------------------------------------------- ArduPilot DataFlash


class _DataFlash:
    """Messages of a DataFlash log: name to (number, letters, columns, struct form of the body)."""

    def __init__(self, kinds):
        self.kinds, self.out = kinds, bytearray()
        self._describe(0x80, "FMT", "BBnNZ", "Type,Length,Name,Format,Columns", 89)
        for name, (number, letters, columns, form) in kinds.items():
            self._describe(number, name, letters, columns, 3 + struct.calcsize(form))

    def _describe(self, number, name, letters, columns, size):
        body = struct.pack("<BB4s16s64s", number, size, name.encode(), letters.encode(), columns.encode())
        self.out.extend(b"\xa3\x95\x80" + body)

    def message(self, name, *values):
        number, _, _, form = self.kinds[name]
        return b"\xa3\x95" + bytes([number]) + struct.pack(form, *values)

    def write(self, rows, path):
        for _, row in sorted(rows, key=lambda r: r[0]):
            self.out += row
        path.write_bytes(bytes(self.out))


def dataflash(flight, path):
    log = _DataFlash(
        {
            "PARM": (64, "QNf", "TimeUS,Name,Value", "<Q16sf"),
            "IMU": (65, "QBffffff", "TimeUS,I,GyrX,GyrY,GyrZ,AccX,AccY,AccZ", "<QBffffff"),
            "RCOU": (66, "QHHHH", "TimeUS,C1,C2,C3,C4", "<QHHHH"),
            "ESC": (67, "QBf", "TimeUS,Instance,RPM", "<QBf"),
            "XKQ": (68, "QBffff", "TimeUS,C,Q1,Q2,Q3,Q4", "<QBffff"),
            "BAT": (69, "QBf", "TimeUS,Instance,Volt", "<QBf"),
        }
    )
    message = log.message
    for n in range(1, 5):
        log.out += message("PARM", 1, f"SERVO{n}_FUNCTION".encode(), 32.0 + n)
    log.out += message("PARM", 1, b"MOT_PWM_MIN", 1000.0) + message("PARM", 1, b"MOT_PWM_MAX", 2000.0)
    rows = []
    gyro, accel = flight["imu.gyro"], flight["imu.accel"]
    for t, w, f in zip(us(gyro), frd(gyro.values), frd(accel.values), strict=True):
        rows.append((t, message("IMU", t, 0, *w, *f)))
        rows.append((t, message("IMU", t, 1, *(2 * w), *f)))  # a second unit that must not be mixed in
    for t, u in zip(us(flight["rotors.command"]), flight["rotors.command"].values, strict=True):
        rows.append((t, message("RCOU", t, *np.rint(1000 + 1000 * u).astype(int))))
    for t, n in zip(us(flight["rotors.speed"]), flight["rotors.speed"].values * 30 / np.pi, strict=True):
        rows += [(t, message("ESC", t, i, x)) for i, x in enumerate(n)]
    turn = flight["pose.wxyz"]
    for t, q in zip(us(turn), ned_frd(turn.values), strict=True):
        rows.append((t, message("XKQ", t, 0, *q)))
    battery = flight["battery.voltage"]
    for t, v in zip(us(battery), battery.values, strict=True):
        rows.append((t, message("BAT", t, 0, v)))
    log.write(rows, path)


def dataflash_2014(flight, path, outputs="Chan", frame="QUAD", parameters=None):
    """As Copter 3.2 logged: stamps in ms, sensors numbered by name, ESCs in tens of rpm, volts in hundredths."""
    names = ",".join(f"{outputs}{n}" for n in range(1, 9))
    gps = (
        "Status",
        "TimeMS",
        "Week",
        "NSats",
        "HDop",
        "Lat",
        "Lng",
        "RelAlt",
        "Alt",
        "Spd",
        "GCrs",
        "VZ",
        "T",
    )
    log = _DataFlash(
        {
            "PARM": (64, "Nf", "Name,Value", "<16sf"),
            "MSG": (65, "Z", "Message", "<64s"),
            "IMU": (66, "Iffffff", "TimeMS,GyrX,GyrY,GyrZ,AccX,AccY,AccZ", "<Iffffff"),
            "IMU2": (67, "Iffffff", "TimeMS,GyrX,GyrY,GyrZ,AccX,AccY,AccZ", "<Iffffff"),
            "RCOU": (68, "Ihhhhhhhh", "TimeMS," + names, "<I8h"),
            "CURR": (69, "Ihhhhf", "TimeMS,ThrOut,Volt,Curr,Vcc,CurrTot", "<Ihhhhf"),
            "GPS": (70, "BIHBcLLeeEefI", ",".join(gps), "<BIHBhiiiiIifI"),
            **{f"ESC{n}": (70 + n, "Icccc", "TimeMS,RPM,Volt,Curr,Temp", "<Ihhhh") for n in range(1, 5)},
        }
    )
    message = log.message
    for name, value in (parameters or {"MOT_PWM_MIN": 1000.0, "MOT_PWM_MAX": 2000.0}).items():
        log.out += message("PARM", name.encode(), value)
    log.out += message("MSG", b"APM:Copter V3.2 (0)") + message("MSG", f"Frame: {frame}".encode())
    rows = []
    gyro, accel = flight["imu.gyro"], flight["imu.accel"]
    for t, w, f in zip(us(gyro), frd(gyro.values), frd(accel.values), strict=True):
        rows.append((t, message("IMU", t // 1000, *w, *f)))
        rows.append((t, message("IMU2", t // 1000, *(2 * w), *f)))
    for k, (t, u) in enumerate(
        zip(us(flight["rotors.command"]), flight["rotors.command"].values, strict=True)
    ):
        servos = [1500 + k % 200, 1400 + k % 300, 1000, 1000]  # a gimbal moves outputs 5 and 6
        rows.append((t, message("RCOU", t // 1000, *np.rint(1000 + 1000 * u).astype(int), *servos)))
    for t, n in zip(us(flight["rotors.speed"]), flight["rotors.speed"].values * 30 / np.pi, strict=True):
        rows += [(t, message(f"ESC{i + 1}", t // 1000, int(x) // 10, 0, 0, 0)) for i, x in enumerate(n)]
    for k, (t, v) in enumerate(
        zip(us(flight["battery.voltage"]), flight["battery.voltage"].values, strict=True)
    ):
        rows.append((t, message("CURR", t // 1000, 0, round(100 * v), 0, 0, 0.0)))
        ms, fix = t // 1000, 3 if k > 5 else 1
        spot = (523000000, 45000000, 0, 1000) if fix == 3 else (0, 0, 0, 99999)
        rows.append((t, message("GPS", fix, 86_400_000 + ms, 2000, 9, 90, *spot, 0, 0, 0.0, ms)))
    log.write(rows, path)


# ---------------------------------------------------------------- Blackbox


def _variable(value):
    """Unsigned variable byte encoding: seven bits a byte, lowest first."""
    out = bytearray()
    value = int(value)
    while True:
        if value < 128:
            return bytes([*out, value])
        out.append(value & 127 | 128)
        value >>= 7


def blackbox(flight, path, firmware="Betaflight 4.5.1 (test) TEST", end=True):
    """Intra frames only: every field signed, zigzag and variable bytes, no prediction."""
    raw = {
        "time": us(flight["imu.gyro"]).astype(np.int64),
        **{f"gyroADC[{i}]": np.rint(np.degrees(v) * 10) for i, v in enumerate(flight["imu.gyro"].values.T)},
        **{f"accSmooth[{i}]": np.rint(v / G * 2048) for i, v in enumerate(flight["imu.accel"].values.T)},
        **{f"motor[{i}]": np.rint(48 + 1999 * v) for i, v in enumerate(flight["rotors.command"].values.T)},
        **{
            f"eRPM[{i}]": np.rint(v * 30 / np.pi * 7 / 100)
            for i, v in enumerate(flight["rotors.speed"].values.T)
        },
    }
    if "Indiflight" in firmware:
        at = np.clip(np.searchsorted(flight["pose.wxyz"].time, flight["imu.gyro"].time, "right") - 1, 0, None)
        q = ned_frd(flight["pose.wxyz"].values)[at]
        raw |= {f"quat[{i}]": np.rint(v * 8127) for i, v in enumerate(q.T)}
    names = ["loopIteration", *raw]
    lines = [
        "Product:Blackbox flight data recorder by Nicholas Sherlock",
        "Data version:2",
        f"Field I name:{','.join(names)}",
        f"Field I signed:{','.join(['0', '0'] + ['1'] * (len(names) - 2))}",
        f"Field I predictor:{','.join(['0'] * len(names))}",
        f"Field I encoding:{','.join(['1', '1'] + ['0'] * (len(names) - 2))}",
        f"Field P predictor:{','.join(['0'] * len(names))}",
        f"Field P encoding:{','.join(['0'] * len(names))}",
        f"Firmware revision:{firmware}",
        "motorOutput:48,2047",
        "acc_1G:2048",
        "motor_poles:14",
        "blackbox_high_resolution:1",
        "vbatref:1600",
        "minthrottle:1070",
    ]
    out = bytearray("".join(f"H {line}\n" for line in lines).encode())
    for number, row in enumerate(np.stack(list(raw.values()), axis=1).astype(np.int64)):
        out += b"I" + _variable(number) + _variable(row[0])
        for value in row[1:]:
            out += _variable((int(value) << 1) ^ (int(value) >> 63))
    if end:
        out += b"E\xffEnd of log\x00"
    path.write_bytes(bytes(out))


# ---------------------------------------------------------------- CSV


def table(flight, path, pose=False):
    """Columns in our own names, all on the clock of the IMU; the pose, if it is asked for, with empty cells between."""
    clock = flight["imu.gyro"].time
    columns = {"time": clock * 1e-9}
    for name in ("imu.accel", "imu.gyro", "rotors.speed", "rotors.command"):
        channel = flight[name]
        for i, label in enumerate(channel.columns or "xyz"):
            columns[f"{name}.{label}"] = np.interp(clock, channel.time, channel.values[:, i])
    for name, labels in (("pose.position", "xyz"), ("pose.wxyz", "wxyz")) if pose else ():
        at = np.searchsorted(clock, flight[name].time)
        for i, label in enumerate(labels):
            cells = np.full(len(clock), None, object)
            cells[at] = flight[name].values[:, i]
            columns[f"{name}.{label}"] = cells
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def stream_table(streams, path, joined, empty=""):
    """Streams, each a list of channels on one clock, in one table with our own names of columns.

    Samples of several streams with the same stamp stand in one row if they are `joined`, else each in a row of its own;
    cells of other streams are `empty`.
    """
    names, rows = ["time"], []
    for number, stream in enumerate(streams):
        width = len(names)
        for channel in stream:
            labels = channel.columns or ("xyz" if channel.values.ndim == 2 else ("",))
            names += [f"{channel.name}.{label}".rstrip(".") for label in labels]
        values = np.column_stack([channel.values for channel in stream])
        for stamp, sample in zip(stream[0].time.tolist(), values.tolist(), strict=True):
            rows.append((stamp, 0 if joined else number, width, sample))
    table = {}
    for stamp, number, width, sample in sorted(rows, key=lambda row: row[:3]):
        row = table.setdefault(
            (stamp, number), [f"{stamp // 10**9}.{stamp % 10**9:09}"] + [empty] * (len(names) - 1)
        )
        row[width : width + len(sample)] = map(repr, sample)
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([names, *table.values()])


# ---------------------------------------------------------------- ROS bags


def ros_bag(flight, path, version):
    """Imu and PoseStamped messages and rotor speeds as JointState, by the writers of rosbags."""
    from rosbags.rosbag1 import Writer as Writer1
    from rosbags.rosbag2 import StoragePlugin
    from rosbags.rosbag2 import Writer as Writer2
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC if version == 1 else Stores.ROS2_HUMBLE)
    t = store.types
    vector, turn = t["geometry_msgs/msg/Vector3"], t["geometry_msgs/msg/Quaternion"]

    def header(stamp, frame, number):
        time = t["builtin_interfaces/msg/Time"](sec=int(stamp // 10**9), nanosec=int(stamp % 10**9))
        extra = {"seq": number} if version == 1 else {}
        return t["std_msgs/msg/Header"](stamp=time, frame_id=frame, **extra)

    rows = []
    for k, (s, a, w) in enumerate(
        zip(flight["imu.gyro"].time, flight["imu.accel"].values, flight["imu.gyro"].values, strict=True)
    ):
        message = t["sensor_msgs/msg/Imu"](
            header=header(s, "imu", k),
            orientation=turn(x=0.0, y=0.0, z=0.0, w=1.0),
            orientation_covariance=np.zeros(9),
            angular_velocity=vector(*w.tolist()),
            angular_velocity_covariance=np.zeros(9),
            linear_acceleration=vector(*a.tolist()),
            linear_acceleration_covariance=np.zeros(9),
        )
        rows.append((int(s), "/mavros/imu/data_raw", message))
    for k, (s, p, q) in enumerate(
        zip(
            flight["pose.position"].time,
            flight["pose.position"].values,
            flight["pose.wxyz"].values,
            strict=True,
        )
    ):
        pose = t["geometry_msgs/msg/Pose"](
            position=t["geometry_msgs/msg/Point"](*p.tolist()), orientation=turn(*q[[1, 2, 3, 0]].tolist())
        )
        rows.append(
            (
                int(s),
                "/vrpn/pose",
                t["geometry_msgs/msg/PoseStamped"](header=header(s, "world", k), pose=pose),
            )
        )
    for k, (s, n) in enumerate(zip(flight["rotors.speed"].time, flight["rotors.speed"].values, strict=True)):
        none = np.zeros(0)
        message = t["sensor_msgs/msg/JointState"](
            header=header(s, "", k),
            name=[f"m{i}" for i in range(len(n))],
            position=none,
            velocity=n,
            effort=none,
        )
        rows.append((int(s), "/rotors/speed", message))
    kwargs = (
        {}
        if version == 1
        else {
            "version": 9,
            "storage_plugin": StoragePlugin.MCAP if version == "mcap" else StoragePlugin.SQLITE3,
        }
    )
    with (Writer1 if version == 1 else Writer2)(path, **kwargs) as writer:
        links = {}
        for stamp, topic, message in sorted(rows, key=lambda r: r[0]):
            kind = message.__msgtype__
            if topic not in links:
                links[topic] = writer.add_connection(topic, kind, typestore=store)
            pack = store.serialize_ros1 if version == 1 else store.serialize_cdr
            writer.write(links[topic], stamp, pack(message, kind))
