"""Mapping files: which columns or topics of a log are which channels, and how these are brought to SI and our axes.

A mapping is a small TOML file:

    [time]
    column = "timestamp_us"
    unit = "us"                       # s, ms, us or ns

    [channels."imu.gyro"]
    columns = ["p", "q", "r"]
    unit = "deg/s"
    axes = "frd"                      # flu (ours) or frd; for world quantities enu (ours) or ned

    [channels."pose.wxyz"]
    columns = ["qx", "qy", "qz", "qw"]
    order = "xyzw"                    # wxyz (ours), xyzw, or rpy: roll, pitch and yaw
    axes = "ned"                      # attitude of an FRD body in an NED world

    [channels."rotors.speed"]
    columns = ["rpm1", "rpm2", "rpm3", "rpm4"]
    unit = "rpm"
    names = ["m1", "m2", "m3", "m4"]

For a ROS bag a channel has `topic` instead of `columns`, and `field` where the message has several. Names of units
are those of `UNITS`.
"""

import tomllib
from collections.abc import Mapping as Lookup
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from haltere.flight import Channel
from haltere.flight.resampling import resample
from haltere.flight.rotations import (
    conjugate,
    enu_flu_from_ned_frd,
    enu_from_ned,
    flu_from_frd,
    normalize,
    rotate,
    wxyz_from_euler,
)
from haltere.foundation.constants import DEGREE, RPM, STANDARD_GRAVITY
from haltere.foundation.numbers import Floats, Times
from haltere.logs.builder import GAUSS, Builder, LogError

#: For each name the SI unit and the factor to it.
UNITS: dict[str, tuple[str, float]] = {
    "1": ("1", 1.0),
    "%": ("1", 0.01),
    "m": ("m", 1.0),
    "cm": ("m", 0.01),
    "mm": ("m", 1e-3),
    "ft": ("m", 0.3048),
    "m/s": ("m/s", 1.0),
    "cm/s": ("m/s", 0.01),
    "mm/s": ("m/s", 1e-3),
    "m/s2": ("m/s2", 1.0),
    "g": ("m/s2", STANDARD_GRAVITY),
    "mg": ("m/s2", STANDARD_GRAVITY * 1e-3),
    "rad": ("rad", 1.0),
    "deg": ("rad", DEGREE),
    "mrad": ("rad", 1e-3),
    "rad/s": ("rad/s", 1.0),
    "deg/s": ("rad/s", DEGREE),
    "mrad/s": ("rad/s", 1e-3),
    "rpm": ("rad/s", RPM),
    "Hz": ("rad/s", 2.0 * np.pi),
    "rev/s": ("rad/s", 2.0 * np.pi),
    "V": ("V", 1.0),
    "mV": ("V", 1e-3),
    "A": ("A", 1.0),
    "T": ("T", 1.0),
    "uT": ("T", 1e-6),
    "gauss": ("T", GAUSS),
    "mgauss": ("T", 1e-3 * GAUSS),
    "N": ("N", 1.0),
    "N m": ("N m", 1.0),
    "kg": ("kg", 1.0),
}

#: Nanoseconds in each unit of time.
TIMES: dict[str, int] = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def _unit(value: Any) -> Any:
    if isinstance(value, str) and value not in UNITS:
        raise ValueError(f"unit '{value}' is not known; give one of {', '.join(UNITS)}")
    return value


def _time_unit(value: Any) -> Any:
    if value not in TIMES:
        raise ValueError(f"unit of time '{value}' is not known; give s, ms, us or ns")
    return value


class _MappingModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TimePart(_MappingModel):
    """Where the time stamps stand."""

    column: str = ""
    unit: Annotated[str, BeforeValidator(_time_unit)] = "s"


class ChannelPart(_MappingModel):
    """Where one channel comes from."""

    columns: tuple[str, ...] = ()
    topic: str = ""
    field: str = ""
    unit: Annotated[str, BeforeValidator(_unit)] = ""
    axes: Literal["", "flu", "frd", "enu", "ned"] = ""
    order: Literal["wxyz", "xyzw", "rpy"] = "wxyz"
    names: tuple[str, ...] = ()
    scale: float = 1.0
    offset: float = 0.0
    frame: str | None = None


class Mapping(_MappingModel):
    """All of a mapping file."""

    time: TimePart = TimePart()
    channels: dict[str, ChannelPart] = Field(default_factory=dict)
    gravity: Literal["included", "excluded"] = "included"
    """Whether `imu.accel` has gravity in it, as an accelerometer does; `excluded` needs an attitude beside."""


def mapping_from_text(text: str, source: str = "mapping") -> Mapping:
    """Return the mapping of a TOML text; a `LogError` of one line names the fault."""
    try:
        return Mapping.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise LogError(f"{source}: is no TOML ({error}); mend that line") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(word) for word in first["loc"]) or "the whole"
        reason = first["msg"].removeprefix("Value error, ")
        raise LogError(f"{source}: {place}: {reason}; see docs/logs.md for the fields") from None


def load_mapping(path: str | PathLike[str]) -> Mapping:
    """Return the mapping in a TOML file."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise LogError(f"{file}: cannot be read ({error.strerror}); check the name") from None
    except UnicodeDecodeError:
        raise LogError(f"{file}: is no text; give a TOML mapping file") from None
    return mapping_from_text(text, str(file))


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


def add_mapped(builder: Builder, name: str, entry: ChannelPart, time: Times, raw: Floats) -> None:
    """Add the channel that `entry` makes of numbers (T, k) at times (T,), ns: in SI, our axes and quaternion order."""
    last = name.rsplit(".", 1)[-1]
    if last == "wxyz":
        builder.add(name, time, _attitude(builder, name, entry, raw), "1", entry.frame or "world")
        return
    given = entry.unit or UNIT_BY_NAME.get(last, "1")
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
    values = raw * (factor * entry.scale)
    values += entry.offset
    if entry.axes in {"frd", "ned"} and raw.shape[1] == 3:
        values = flu_from_frd(values, values) if entry.axes == "frd" else enu_from_ned(values)
    frame = entry.frame if entry.frame is not None else _frame(name, last)
    columns = entry.names or (entry.columns if last in {"speed", "command"} and entry.columns else ())
    if last in {"speed", "command"} and not entry.names:
        columns = tuple(f"m{number}" for number in range(1, raw.shape[1] + 1))
    if raw.shape[1] == 1 and last not in {"speed", "command", "angle", "rate", "goal", "load", "effort"}:
        values, columns = values[:, 0], ()
    builder.add(name, time, values, si, frame, tuple(columns))


def _attitude(builder: Builder, name: str, entry: ChannelPart, raw: Floats) -> Floats:
    if entry.order == "rpy":
        if raw.shape[1] != 3:
            raise LogError(f"{builder.file}: channel '{name}': {raw.shape[1]} columns; give roll, pitch, yaw")
        wxyz = wxyz_from_euler(raw * (DEGREE if entry.unit == "deg" else 1.0))
    else:
        if raw.shape[1] != 4:
            raise LogError(f"{builder.file}: channel '{name}': {raw.shape[1]} columns; give {entry.order}")
        wxyz = normalize(raw[:, [3, 0, 1, 2]] if entry.order == "xyzw" else raw)
    return enu_flu_from_ned_frd(wxyz) if entry.axes in {"ned", "frd"} else wxyz


def _frame(name: str, last: str) -> str:
    if last in _WORLD:
        return "world"
    return name.rsplit(".", 1)[0] if last in {"accel", "gyro", "field"} else ""


def specific_force(channels: Lookup[str, Channel], excluded: bool) -> Channel | None:
    """Return `imu.accel` for logs that hold an acceleration without gravity, or None where there is nothing to do.

    With the attitude R of the body and the acceleration a of the body in world axes, f_B = R^T (a + g e_z); with an
    accelerometer's reading from which gravity was taken off, f_B = a_B + g R^T e_z. The attitude is interpolated at the
    times of the acceleration; samples without an attitude nearby are left out.
    """
    attitude = channels.get("pose.wxyz") or channels.get("estimate.wxyz")
    if attitude is None:
        return None
    world = channels.get(f"{attitude.name.rsplit('.', 1)[0]}.acceleration")
    accel = channels.get("imu.accel")
    source = world if accel is None else accel if excluded else None
    if source is None:
        return None
    wxyz = resample(attitude, source.time)
    known = wxyz.finite
    to_body = conjugate(wxyz.values[known])
    up = np.tile([0.0, 0.0, STANDARD_GRAVITY], (len(to_body), 1))
    values = source.values[known]
    force = rotate(to_body, values + up) if accel is None else values + rotate(to_body, up)
    return Channel("imu.accel", source.time[known], force, "m/s2", "imu")
