"""Blackbox logs of Betaflight, INAV and INDIflight (.bbl, .bfl).

`blackbox_header` and `blackbox_frames` decode them; here fields become channels. Scales as the firmware writes them:

    gyro    deg/s, times 10 if the header says blackbox_high_resolution; raw counts of 2000 deg/s in 2^15 where
            INDIflight logs its sensor unscaled, which the ratio to gyroADCafterRpm, 1.6384, gives away
    acc     acc_1G counts a g
    motor   from motorOutput[0] to motorOutput[1]
    eRPM    100 electrical revolutions a minute; a revolution has motor_poles / 2 of them
    INDIflight: omega rad/s; quat / 8127 (FRD in NED); extPos, pos mm; vel cm/s; extAtt mrad
"""

from pathlib import Path

import numpy as np

from haltere.flight import Flight
from haltere.flight.rotations import enu_flu_from_ned_frd, enu_from_ned, normalize, wxyz_from_euler
from haltere.foundation.constants import DEGREE, RPM, STANDARD_GRAVITY
from haltere.foundation.numbers import Bools, Floats, Times
from haltere.logs.builder import Builder, LogError, reading, rotor_names, unwrapped
from haltere.logs.readers.blackbox_codes import CodeError
from haltere.logs.readers.blackbox_frames import DecodedSession, FrameTable, decode_frames
from haltere.logs.readers.blackbox_header import SessionHeader, find_sessions, read_header

_QUATERNION = 8127.0
_COUNTS = 32768.0 / 2000.0  # a deg/s of a sensor that is not scaled
_WRAP = 2**32 * 1000  # ns after which the 32-bit counter of us starts anew
LARGEST = 1 << 30
"""Bytes of a file that is read."""


def read_blackbox(file: Path) -> Flight:
    """Return the flight in a Blackbox file; of several, the longest."""
    size = file.stat().st_size
    if size > LARGEST:
        raise LogError(
            f"{file}: has {size >> 20} MB, at most {LARGEST >> 20} MB are read; log at a lower rate"
        )
    with reading(file, "Blackbox log"):
        header, session, others = _longest(file, file.read_bytes())
    table = session.main
    firmware = header.settings.get("Firmware revision", "unknown firmware")
    builder = Builder(file, f"Blackbox log, {firmware}, {len(table)} frames")
    if others:
        builder.note(f"several: the file holds {others + 1} logs; the longest was read")
    if session.breaks or session.lost:
        builder.note(
            f"damaged: {session.breaks} part(s) of the log cannot be read; {session.lost} main frame(s) are left out"
        )
    if not session.complete:
        builder.note(
            "truncated: the log has no end mark: it was cut off, or power was lost; all frames before were read"
        )
    with reading(file, "Blackbox log"):
        time = unwrapped(table["time"].astype(np.int64) * 1000, _WRAP)
        high = _number(header, "blackbox_high_resolution", 0.0) > 0.0
        _imu(builder, table, time, header, 10.0 if high else 1.0)
        _motors(builder, table, time, header)
        if "Indiflight" in firmware:
            _pose(builder, table, time)
        if "vbatLatest" in table:
            volts = table["vbatLatest"]
            builder.add("battery.voltage", time, volts * (0.01 if volts.max() > 100 else 0.1), "V")
    return builder.flight("enable gyro, acc and motor in the Blackbox settings")


def _longest(file: Path, data: bytes) -> tuple[SessionHeader, DecodedSession, int]:
    """Return the longest session of a file that can be read, and how many others there are."""
    sessions = find_sessions(data)
    if not sessions:
        raise LogError(f"{file}: has no header of a Blackbox log; copy it again from the vehicle")
    reason = ""
    for start, end in sorted(sessions, key=lambda each: each[0] - each[1]):
        try:
            header = read_header(data, start, end)
            session = decode_frames(data, header, end)
        except CodeError as error:
            reason = reason or f"its header is broken or of another kind ({error})"
            continue
        if len(session.main):
            return header, session, len(sessions) - 1
        reason = reason or "holds a header but no whole frame"
    raise LogError(f"{file}: {reason}; log for longer, or copy it again from the vehicle")


def _number(header: SessionHeader, name: str, default: float) -> float:
    """Return a setting that is one number, or the default."""
    found = header.numbers(name)
    return found[0] if len(found) == 1 and np.isfinite(found[0]) else default


def _stack(table: FrameTable, name: str, count: int | None = None) -> Floats | None:
    found = [f"{name}[{i}]" for i in range(count or 12) if f"{name}[{i}]" in table]
    if not found or (count is not None and len(found) < count):
        return None
    return np.stack([table[each] for each in found], axis=1)


def _imu(builder: Builder, table: FrameTable, time: Times, header: SessionHeader, scale: float) -> None:
    gyro, filtered = _stack(table, "gyroADC", 3), _stack(table, "gyroADCafterRpm", 3)
    if gyro is not None:
        ratio = _ratio(gyro, filtered) if filtered is not None else scale
        if filtered is not None and abs(ratio / (_COUNTS / scale) - 1.0) < 0.03:
            scale = _COUNTS
            builder.note(
                "scale: gyroADC holds raw counts (2000 deg/s in 2^15): it is 1.64 times gyroADCafterRpm; taken as "
                "such, in the sensor's own axes"
            )
        builder.add("imu.gyro", time, gyro * (DEGREE / scale), "rad/s", "imu")
    accel = _stack(table, "accSmooth", 3)
    one_g = _number(header, "acc_1G", 2048.0) or 2048.0
    if accel is not None:
        builder.add("imu.accel", time, accel * (STANDARD_GRAVITY / one_g), "m/s2", "imu")
    raw = _stack(table, "accUnfiltered", 3)
    if raw is not None:
        builder.add("imu_raw.accel", time, raw * (STANDARD_GRAVITY / one_g), "m/s2", "imu")
        builder.note(
            "aliased: imu_raw.accel (accUnfiltered) was decimated without a filter; imu.accel is accSmooth"
        )


def _ratio(gyro: Floats, filtered: Floats) -> float:
    """Return how much larger one gyro is than the other, signs and axes aside."""
    below = float(np.sqrt(np.mean(filtered**2)))
    return float(np.sqrt(np.mean(gyro**2))) / below if below > 1.0 else 0.0


def _motors(builder: Builder, table: FrameTable, time: Times, header: SessionHeader) -> None:
    motors = _stack(table, "motor")
    output = header.numbers("motorOutput")
    low, high = output if len(output) == 2 and np.isfinite(output).all() else (0.0, 0.0)
    speeds, source = _stack(table, "omegaUnfiltered"), "omegaUnfiltered"
    if speeds is None:
        speeds, source = _stack(table, "omega"), "omega"
    if speeds is None:
        poles = _number(header, "motor_poles", 14.0) or 14.0
        for source in ("eRPM", "erpm"):
            electrical = _stack(table, source)
            if electrical is not None:
                speeds = electrical * (100.0 * RPM / (0.5 * poles))
                builder.note(f"scale: rotor speed is {source} * 100 with {poles:g} poles, as the header says")
                break
    if motors is not None and high > low:
        command = np.clip((motors - low) / (high - low), 0.0, 1.0)
        builder.add("rotors.command", time, command, "1", "", rotor_names(command.shape[1]))
    count = motors.shape[1] if motors is not None else 12
    if speeds is not None:
        speeds = speeds[:, : max(count, 1)] if source.startswith("omega") else speeds
        builder.add("rotors.speed", time, speeds, "rad/s", "", rotor_names(speeds.shape[1]))
    else:
        builder.note(
            "settings: the log has no rotor speed; set dshot_bidir = ON and log RPM (Blackbox, eRPM field)"
        )


def _pose(builder: Builder, table: FrameTable, time: Times) -> None:
    """Add what INDIflight knows of its attitude and position; motion capture is held between its samples."""
    quaternion = _stack(table, "quat", 4)
    if quaternion is not None:
        builder.add(
            "estimate.wxyz", time, enu_flu_from_ned_frd(normalize(quaternion / _QUATERNION)), "1", "world"
        )
    for name, field, scale, si in (
        ("estimate.position", "pos", 1e-3, "m"),
        ("estimate.velocity", "vel", 1e-2, "m/s"),
    ):
        values = _stack(table, field, 3)
        if values is not None:
            builder.add(name, time, enu_from_ned(values * scale), si, "world")
    place, angles = _stack(table, "extPos", 3), _stack(table, "extAtt", 3)
    if place is None or angles is None:
        return
    fresh = np.concatenate([[True], np.any(np.diff(np.hstack([place, angles]), axis=0) != 0.0, axis=1)])
    if fresh.sum() > 1:
        fresh |= _at_rest(time, fresh)
        builder.note(
            f"held: motion capture is held between its samples; {int(fresh.sum())} of {len(fresh)} are new and kept"
        )
        builder.add("pose.position", time[fresh], enu_from_ned(place[fresh] * 1e-3), "m", "world")
        wxyz = enu_flu_from_ned_frd(wxyz_from_euler(angles[fresh] * 1e-3))
        builder.add("pose.wxyz", time[fresh], wxyz, "1", "world")


def _at_rest(time: Times, fresh: Bools) -> Bools:
    """Where to keep repeated samples: a vehicle at rest is seen as often as a moving one, though nothing changes."""
    usual = float(np.median(np.diff(time[fresh])))
    last = np.maximum.accumulate(np.where(fresh, np.arange(len(time)), 0))
    periods = np.floor((time - time[last]) / (2.0 * usual))
    return np.asarray((periods >= 1.0) & (np.diff(periods, prepend=0.0) > 0.0))
