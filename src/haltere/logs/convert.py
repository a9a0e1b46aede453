"""One channel of a log brought to SI, to our axes and to our order of quaternions, as a mapping says."""

from collections.abc import Mapping as Lookup

import numpy as np

from haltere.flight import Channel
from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.foundation.numbers import Floats, Times
from haltere.logs.builder import Builder
from haltere.logs.fault import LogError
from haltere.logs.frames import (
    conjugate,
    enu_flu_from_ned_frd,
    enu_from_ned,
    flu_from_frd,
    rotated,
    unit,
    wxyz_from_euler,
)
from haltere.logs.mapping import ChannelPart
from haltere.logs.units import DEGREE, UNITS

#: Unit of a channel by the last word of its name, where a mapping names none.
UNIT_BY_NAME = {
    "accel": "m/s2",
    "gyro": "rad/s",
    "position": "m",
    "velocity": "m/s",
    "acceleration": "m/s2",
    "wxyz": "1",
    "speed": "rad/s",
    "command": "1",
    "voltage": "V",
    "field": "T",
    "altitude": "m",
    "angle": "rad",
    "rate": "rad/s",
    "goal": "rad",
    "load": "1",
    "effort": "N m",
    "steps": "1",
    "mass": "kg",
}
_WIDTH = {"accel": 3, "gyro": 3, "position": 3, "velocity": 3, "acceleration": 3, "field": 3, "wxyz": 4}
_WORLD = {"position", "velocity", "acceleration", "altitude", "wxyz"}


def add_mapped(builder: Builder, name: str, part: ChannelPart, time: Times, raw: Floats) -> None:
    """Add the channel that `part` makes of numbers (T, k) at times (T,), ns."""
    last = name.rsplit(".", 1)[-1]
    if last == "wxyz":
        builder.add(name, time, _attitude(builder, name, part, raw), "1", part.frame or "world")
        return
    given = part.unit or UNIT_BY_NAME.get(last, "1")
    si, factor = UNITS[given]
    expected = UNIT_BY_NAME.get(last)
    if expected is not None and UNITS[expected][0] != si:
        raise LogError(
            f"{builder.file}: channel '{name}': unit {given} is none of {UNITS[expected][0]}; give one that is"
        )
    if raw.shape[1] != _WIDTH.get(last, raw.shape[1]):
        raise LogError(
            f"{builder.file}: channel '{name}': {raw.shape[1]} columns; give {_WIDTH[last]}, in the order x, y, z"
        )
    values = raw * (factor * part.scale)
    values += part.offset
    if part.axes in {"frd", "ned"} and raw.shape[1] == 3:
        values = flu_from_frd(values, values) if part.axes == "frd" else enu_from_ned(values)
    frame = part.frame if part.frame is not None else _frame(name, last)
    columns = part.names or (part.columns if last in {"speed", "command"} and part.columns else ())
    if last in {"speed", "command"} and not part.names:
        columns = tuple(f"m{number}" for number in range(1, raw.shape[1] + 1))
    if raw.shape[1] == 1 and last not in {"speed", "command", "angle", "rate", "goal", "load", "effort"}:
        values, columns = values[:, 0], ()
    builder.add(name, time, values, si, frame, tuple(columns))


def _attitude(builder: Builder, name: str, part: ChannelPart, raw: Floats) -> Floats:
    if part.order == "rpy":
        if raw.shape[1] != 3:
            raise LogError(f"{builder.file}: channel '{name}': {raw.shape[1]} columns; give roll, pitch, yaw")
        wxyz = wxyz_from_euler(raw * (DEGREE if part.unit == "deg" else 1.0))
    else:
        if raw.shape[1] != 4:
            raise LogError(f"{builder.file}: channel '{name}': {raw.shape[1]} columns; give {part.order}")
        wxyz = unit(raw[:, [3, 0, 1, 2]] if part.order == "xyzw" else raw)
    return enu_flu_from_ned_frd(wxyz) if part.axes in {"ned", "frd"} else wxyz


def _frame(name: str, last: str) -> str:
    if last in _WORLD:
        return "world"
    return name.rsplit(".", 1)[0] if last in {"accel", "gyro", "field"} else ""


def specific_force(channels: Lookup[str, Channel], excluded: bool) -> Channel | None:
    """Return `imu.accel` for logs that hold an acceleration without gravity, or None where there is nothing to do.

    With the attitude R of the body and the acceleration a of the body in world axes, f_B = R^T (a + g e_z); with an
    accelerometer's reading from which gravity was taken off, f_B = a_B + g R^T e_z.
    """
    attitude = channels.get("pose.wxyz") or channels.get("estimate.wxyz")
    if attitude is None:
        return None
    prefix = attitude.name.rsplit(".", 1)[0]
    up = np.tile([0.0, 0.0, STANDARD_GRAVITY], (len(attitude), 1))
    world = channels.get(f"{prefix}.acceleration")
    if "imu.accel" not in channels and world is not None and np.array_equal(world.time, attitude.time):
        force = rotated(conjugate(attitude.values), world.values + up)
    elif excluded and "imu.accel" in channels and np.array_equal(channels["imu.accel"].time, attitude.time):
        force = channels["imu.accel"].values + rotated(conjugate(attitude.values), up)
    else:
        return None
    return Channel("imu.accel", attitude.time, force, "m/s2", "imu")
