"""ArduPilot logs (DataFlash .bin): NED and FRD brought to ENU and FLU, pulse widths to 0..1, rpm to rad/s.

Names and stamps of all generations since Copter 3.1 are known: stamps in microseconds (`TimeUS`) or in milliseconds
(`TimeMS`; `T` of a GPS), sensors numbered by a column or by their name. Motors are the outputs whose SERVOn_FUNCTION is
33 to 40 (motor 1 to 8) or 82 to 85 (9 to 12), of these as many as the frame that the log states has; a log that
does not state functions has its motors on the first outputs.
"""

from pathlib import Path

import numpy as np

from haltere.flight import Flight
from haltere.flight.rotations import (
    enu_flu_from_ned_frd,
    enu_from_ned,
    flu_from_frd,
    normalize,
    wxyz_from_euler,
)
from haltere.foundation.constants import DEGREE, RPM
from haltere.foundation.numbers import Bools, Floats, Times
from haltere.logs.builder import GAUSS, Builder, LogError, local, reading, rotor_names, unwrapped
from haltere.logs.readers.dataflash_messages import MessageTable, load_messages

_ESCS = tuple(f"ESC{n}" for n in range(1, 9))
_OUTPUTS = ("C", "Ch", "Chan")
"""Of the columns of RCOU, before their number: now, in Copter 3.3, and before."""
_WANTED = {"IMU", "ACC", "GYR", "ACC1", "GYR1", "RCOU", "ESC", "CESC", *_ESCS, "ATT", "XKQ", "NKQ", "XKQ1", "NKQ1",
           "XKF1", "NKF1", "EKF1", "BAT", "CURR", "BARO", "MAG", "GPS", "PARM", "MSG"}  # fmt: skip
_COLUMNS = {
    "TimeUS", "TimeMS", "T", "SampleUS", "I", "Instance", "C", "Id", "GyrX", "GyrY", "GyrZ", "AccX", "AccY", "AccZ",
    "RPM", "Q1", "Q2", "Q3", "Q4", "Roll", "Pitch", "Yaw", "PN", "PE", "PD", "VN", "VE", "VD", "Volt", "Alt",
    "MagX", "MagY", "MagZ", "Lat", "Lng", "Status", "Name", "Value", "Message",
    *(f"{c}{n}" for c in _OUTPUTS for n in range(1, 17)),
}  # fmt: skip
_MOTOR_FUNCTIONS = {**{32 + n: n for n in range(1, 9)}, **{73 + n: n for n in range(9, 13)}}
_FRAMES = {
    "QUAD": (1, range(1, 5)),
    "HEXA": (2, range(1, 7)),
    "OCTA": (3, range(1, 9)),
    "OCTA_QUAD": (4, range(1, 9)),
    "Y6": (5, range(1, 7)),
    "TRI": (7, (1, 2, 4)),
    "DODECA_HEXA": (12, range(1, 13)),
    "DECA": (14, range(1, 11)),
}
"""Frames by the name that is logged: the number in FRAME_CLASS, and which of its motors drive a propeller."""
_DSHOT = range(4, 8)
"""Of MOT_PWM_TYPE: digital protocols, whose range is always 1000 to 2000."""

_FIX_3D = 3
"""Of the column Status of a GPS, from here on."""

SPEED_HINT = (
    "settings: the log has no rotor speed (ESC messages); set SERVO_BLH_TRATE, or "
    "SERVO_DSHOT_ESC and bidirectional DShot (SERVO_BLH_BDMASK)"
)
RATE_HINT = "settings: the IMU was logged at {:.0f} Hz; set LOG_BITMASK bit 19 (raw IMU) or INS_RAW_LOG_OPT"
NO_STAMPS = "its IMU has no time stamps, as in logs of Copter 3.0 and before; fly with newer firmware"

Tables = dict[str, MessageTable]


def read_dataflash(file: Path) -> Flight:
    """Return the flight in a DataFlash log."""
    with reading(file, "ArduPilot DataFlash log"):
        tables, skipped = load_messages(file, _WANTED, _COLUMNS)
    count = sum(table.count for table in tables.values())
    builder = Builder(file, f"ArduPilot DataFlash log, {count} messages of {len(tables)} kinds used")
    if skipped > 528:  # pages of block-based logs end in up to 249 unused bytes
        builder.note(f"broken: {skipped} bytes belong to no message and were skipped")
    with reading(file, "ArduPilot DataFlash log"):
        parameters = _parameters(tables)
        stampless = "IMU" in tables and not tables["IMU"].having("TimeUS") | tables["IMU"].having("TimeMS")
        _imu(builder, tables)
        _motors(builder, tables, parameters)
        _other_channels(builder, tables)
    if stampless and "imu.gyro" not in builder.channels:
        raise LogError(f"{file}: {NO_STAMPS}")
    if not builder.channels:
        raise LogError(
            f"{file}: holds no signal that is known here; set LOG_BITMASK and LOG_DISARMED, and fly again"
        )
    return builder.flight("set LOG_BITMASK")


def _parameters(tables: Tables) -> dict[str, float]:
    table = tables.get("PARM")
    if table is None or not table.having("Name", "Value"):
        return {}
    names = [bytes(name).decode("ascii", "replace") for name in table.columns["Name"]]
    return dict(zip(names, table.columns["Value"].astype(np.float64).tolist(), strict=True))


def _first(table: MessageTable) -> Bools:
    """Where the messages are of the first instance of a sensor."""
    for name in ("I", "Instance", "C"):
        if table.having(name):
            return np.asarray(table.columns[name] == np.min(table.columns[name]))
    return np.ones(table.count, bool)


def _time(table: MessageTable, *names: str) -> Times | None:
    """Stamps (T,), ns, of the first of these columns that is there, else of those in micro- or milliseconds."""
    for name in (*names, "TimeUS", "TimeMS"):
        if table.having(name):
            stamps, unit = table.columns[name], 1_000 if name.endswith("US") else 1_000_000
            limited = np.minimum(stamps.astype(np.uint64), np.uint64(2**62 // unit)).astype(np.int64) * unit
            narrow = stamps.dtype.itemsize == 4 and unit == 1_000  # these run over after 71 minutes
            return unwrapped(limited, 2**32 * unit) if narrow else limited
    return None


def _samples(table: MessageTable | None, names: tuple[str, ...], *stamps: str) -> tuple[Times, Floats] | None:
    """Times (T,), ns, and columns (T, k) of the first instance of a sensor; None if any of them is not there."""
    if table is None or not table.having(*names) or (time := _time(table, *stamps)) is None:
        return None
    mine = _first(table)
    values = np.empty((int(mine.sum()), len(names)))
    for offset, name in enumerate(names):
        values[:, offset] = table.columns[name][mine]
    return time[mine], values


def _imu(builder: Builder, tables: Tables) -> None:
    for channel, names, si, sources in (
        ("imu.gyro", ("GyrX", "GyrY", "GyrZ"), "rad/s", ("GYR", "GYR1", "IMU")),
        ("imu.accel", ("AccX", "AccY", "AccZ"), "m/s2", ("ACC", "ACC1", "IMU")),
    ):
        for source in sources:
            table = tables.get(source) if source == "IMU" else tables.pop(source, None)
            found = _samples(table, names, "SampleUS")
            table = None
            if found is not None:
                builder.add(channel, found[0], flu_from_frd(found[1], found[1]), si, "imu")
            found = None
    if "imu.gyro" in builder.channels and 0.0 < builder.channels["imu.gyro"].rate < 150.0:
        builder.note(RATE_HINT.format(builder.channels["imu.gyro"].rate))


def _frame(tables: Tables, parameters: dict[str, float]) -> tuple[str, tuple[int, ...]]:
    """Name of the frame that the log states and the numbers of its motors; nothing if it states none."""
    number = int(parameters.get("FRAME_CLASS", 0.0))
    for name, (own, motors) in _FRAMES.items():
        if number == own:
            return name, tuple(motors)
    if "MSG" in tables and tables["MSG"].having("Message"):
        for message in tables["MSG"].columns["Message"]:
            text = bytes(message).decode("ascii", "replace")
            name = text.removeprefix("Frame: ").split("/")[0].strip()
            if text.startswith("Frame: ") and name in _FRAMES:
                return name, tuple(_FRAMES[name][1])
    return "", ()


def _motors(builder: Builder, tables: Tables, parameters: dict[str, float]) -> None:
    outputs = {}
    for channel in range(1, 17):
        motor = _MOTOR_FUNCTIONS.get(int(parameters.get(f"SERVO{channel}_FUNCTION", 0.0)))
        if motor is not None:
            outputs[motor] = channel
    frame, motors = _frame(tables, parameters)
    table = tables.get("RCOU")
    prefix = next((p for p in _OUTPUTS if table is not None and table.having(f"{p}1")), _OUTPUTS[0])
    if outputs:
        chosen = [outputs[n] for n in sorted(outputs) if not motors or n in motors]
    elif table is None:
        chosen = []
    else:
        there = [n for n in motors or range(1, 9) if table.having(f"{prefix}{n}")]
        moving = [n for n in there if np.ptp(table.columns[f"{prefix}{n}"].astype(np.float64)) > 0.0]
        chosen = there if motors and moving else moving
    found = _samples(table, tuple(f"{prefix}{n}" for n in chosen)) if chosen else None
    if found is not None:
        low, high = _pulse_widths(parameters)
        of = f" (frame {frame})" if frame else ""
        builder.note(f"scale: motor commands are outputs {chosen}{of}, 0 at {low:g} us and 1 at {high:g} us")
        command = np.clip((found[1] - low) / max(high - low, 1.0), 0.0, 1.0)
        builder.add("rotors.command", found[0], command, "1", "", rotor_names(len(chosen)))
    _speeds(builder, tables, chosen)


def _pulse_widths(parameters: dict[str, float]) -> tuple[float, float]:
    """Pulse widths of no and full throttle, us: where no range is set it is that of the throttle's stick."""
    throttle = f"RC{int(parameters.get('RCMAP_THROTTLE', 3.0))}"
    if int(parameters.get("MOT_PWM_TYPE", 0.0)) in _DSHOT:
        return 1000.0, 2000.0
    low = parameters.get("MOT_PWM_MIN", 0.0) or parameters.get(f"{throttle}_MIN", 0.0) or 1000.0
    high = parameters.get("MOT_PWM_MAX", 0.0) or parameters.get(f"{throttle}_MAX", 0.0) or 2000.0
    return low, high


def _speeds(builder: Builder, tables: Tables, outputs: list[int]) -> None:
    """Add rotor speeds: each ESC reports on its own, so all are put on the clock of the first."""
    reports = _reports(tables)
    if not reports:
        builder.note(SPEED_HINT)
        return
    wanted = [n - 1 for n in outputs]
    order = wanted if wanted and set(reports) >= set(wanted) else sorted(reports)
    clock = np.unique(reports[order[0]][0])
    columns = [np.interp(clock, *reports[number]) for number in order]
    builder.note(
        "rotor speeds: each ESC reports on its own; they were interpolated to the clock of the first"
    )
    builder.add("rotors.speed", clock, np.stack(columns, axis=1) * RPM, "rad/s", "", rotor_names(len(order)))


def _reports(tables: Tables) -> dict[int, tuple[Times, Floats]]:
    """Stamps (T,), ns, and rpm (T,) of each ESC, by its number from 0."""
    reports: dict[int, tuple[Times, Floats]] = {}
    for name, instance in (("ESC", "Instance"), ("CESC", "Id")):
        table = tables.get(name)
        time = None if table is None else _time(table)
        if not reports and table is not None and time is not None and table.having("RPM", instance):
            for number in np.unique(table.columns[instance]).tolist():
                mine = table.columns[instance] == number
                reports[int(number)] = (time[mine], table.columns["RPM"][mine].astype(np.float64))
    for number, name in enumerate(_ESCS if not reports else ()):
        found = _samples(tables.get(name), ("RPM",))
        if found is not None:
            tens = (
                1000.0 if tables[name].letters["RPM"] == "c" else 1.0
            )  # logged as rpm / 10, before Copter 3.6
            reports[number] = (found[0], found[1][:, 0] * tens)
    return reports


def _other_channels(builder: Builder, tables: Tables) -> None:
    for source in ("XKQ", "NKQ", "XKQ1", "NKQ1"):
        found = _samples(tables.get(source), ("Q1", "Q2", "Q3", "Q4"))
        if found is not None:
            builder.add("estimate.wxyz", found[0], enu_flu_from_ned_frd(normalize(found[1])), "1", "world")
    found = _samples(tables.get("ATT"), ("Roll", "Pitch", "Yaw"))
    if found is not None:
        turned = enu_flu_from_ned_frd(wxyz_from_euler(found[1] * DEGREE))
        builder.add("estimate.wxyz", found[0], turned, "1", "world")
    for source in ("XKF1", "NKF1", "EKF1"):
        for channel, names, si in (
            ("estimate.position", ("PN", "PE", "PD"), "m"),
            ("estimate.velocity", ("VN", "VE", "VD"), "m/s"),
        ):
            found = _samples(tables.get(source), names)
            if found is not None:
                builder.add(channel, found[0], enu_from_ned(found[1]), si, "world")
    for source, channel, si in (
        ("BAT", "battery.voltage", "V"),
        ("CURR", "battery.voltage", "V"),
        ("BARO", "baro.altitude", "m"),
    ):
        name = "Volt" if si == "V" else "Alt"
        found = _samples(tables.get(source), (name,))
        if found is not None:
            hundredths = 0.01 if tables[source].letters[name] in "hH" else 1.0  # of CURR, before Copter 3.4
            builder.add(channel, found[0], found[1][:, 0] * hundredths, si, "world" if si == "m" else "")
    found = _samples(tables.get("MAG"), ("MagX", "MagY", "MagZ"))
    if found is not None:
        builder.add("mag.field", found[0], flu_from_frd(found[1]) * 1e-3 * GAUSS, "T", "mag")
    fix = _samples(tables.get("GPS"), ("Lat", "Lng", "Alt", "Status"), "TimeUS", "T")
    if fix is not None:
        valid = fix[1][:, 3] >= _FIX_3D
        lat, lon, alt, _ = fix[1][valid].T
        if valid.any():
            builder.add("gps.position", fix[0][valid], local(lat * DEGREE, lon * DEGREE, alt), "m", "world")
