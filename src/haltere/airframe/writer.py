"""Writing an airframe as TOML; what equals its default is left out."""

import re
from os import PathLike
from pathlib import Path
from typing import Any

import tomli_w

from haltere.airframe.airframe import Airframe
from haltere.airframe.errors import AirframeError
from haltere.foundation.files import check_free, write_text

_SENSORS = ("imu", "pose", "position")
_NUMBERS = re.compile(r"\[\n((?: *[-+.\dein]+,\n)+) *\]")
_ROWS = re.compile(r"\[\n((?: *\[[-+.\dein, ]+\],\n)+) *\]")


def dumps(airframe: Airframe) -> str:
    """TOML text that reads back as an equal airframe."""
    data = airframe.model_dump(exclude_none=True, exclude_defaults=True)
    for key in _SENSORS:
        if len(data.get(key, ())) == 1:
            data[key] = data[key][0]
    text = tomli_w.dumps(_plain(data))
    return _ROWS.sub(_on_one_line, _NUMBERS.sub(_on_one_line, text))


def save(airframe: Airframe, path: str | PathLike[str], overwrite: bool = False) -> None:
    """Write the file at `path` in one step: it is never seen half written.

    Args:
        airframe: What to write.
        path: Where to; an existing file is kept unless `overwrite` is set.
        overwrite: Whether an existing file may be replaced.
    """
    file = Path(path)
    check_free(file, overwrite, AirframeError)
    write_text(file, dumps(airframe), AirframeError)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, tuple | list) else value


def _on_one_line(match: re.Match[str]) -> str:
    return "[" + ", ".join(line.strip().removesuffix(",") for line in match[1].splitlines()) + "]"
