"""A small TOML file that says which columns or topics of a log are which channels, in which units and axes.

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

For a ROS bag a channel has `topic` instead of `columns`, and `field` where the message has several.
"""

import tomllib
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from haltere.logs.fault import LogError
from haltere.logs.units import TIMES, UNITS


def _unit(value: Any) -> Any:
    if isinstance(value, str) and value not in UNITS:
        raise ValueError(f"unit '{value}' is not known; give one of {', '.join(UNITS)}")
    return value


def _time_unit(value: Any) -> Any:
    if value not in TIMES:
        raise ValueError(f"unit of time '{value}' is not known; give s, ms, us or ns")
    return value


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TimePart(_Part):
    """Where the time stamps stand."""

    column: str = ""
    unit: Annotated[str, BeforeValidator(_time_unit)] = "s"


class ChannelPart(_Part):
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


class Mapping(_Part):
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
