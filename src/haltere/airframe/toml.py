"""Airframes in TOML: read from a text or a file, and written."""

import re
import tomllib
from os import PathLike
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError

from haltere.airframe.airframe import Airframe
from haltere.airframe.errors import AirframeError, describe
from haltere.foundation.files import check_free, write_text
from haltere.foundation.text import toml_document


def load(path: str | PathLike[str]) -> Airframe:
    """The airframe in the file at `path`."""
    file = Path(path)
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise AirframeError(f"{file}: no such file; give the path of an airframe file in TOML") from None
    except IsADirectoryError:
        raise AirframeError(f"{file}: is a directory; give the path of an airframe file in TOML") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise AirframeError(f"{file}: cannot be read ({reason}); give a file that you may read") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = content[error.start]
        place = f"byte {error.start} is 0x{byte:02x}"
        raise AirframeError(f"{file}: is not text in UTF-8 ({place}); save it as UTF-8") from None
    return loads(text, str(file))


def loads(text: str, source: str = "<text>") -> Airframe:
    """The airframe in a TOML `text`; `source` stands for it in errors."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise AirframeError(f"{source}: {_syntax(str(error), text)}") from None
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        raise AirframeError(f"{source}: is no sound TOML ({reason}); mend or simplify it") from None
    try:
        return Airframe.model_validate(data)
    except ValidationError as error:
        raise AirframeError(describe(error, source, Airframe, data)) from None


def _syntax(message: str, text: str) -> str:
    found = re.fullmatch(r"(.*) \(at (line \d+, column \d+|end of document)\)", message, re.DOTALL)
    reason, place = found.groups() if found else (message, "in the text")
    if place == "end of document":
        place = f"line {text.count(chr(10)) + 1}, end of the text"
    return f"{place}: {' '.join(reason.split())}; mend the TOML there"


_SENSORS = ("imu", "pose", "position")
_NUMBERS = re.compile(r"\[\n((?: *[-+.\dein]+,\n)+) *\]")
_ROWS = re.compile(r"\[\n((?: *\[[-+.\dein, ]+\],\n)+) *\]")


def dumps(airframe: Airframe) -> str:
    """TOML text that reads back as an equal airframe; what equals its default is left out."""
    data = airframe.model_dump(exclude_none=True, exclude_defaults=True)
    for key in _SENSORS:
        if len(data.get(key, ())) == 1:
            data[key] = data[key][0]
    text = toml_document(tomli_w.dumps(_as_lists(data)))
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


def _as_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_lists(entry) for key, entry in value.items()}
    return [_as_lists(entry) for entry in value] if isinstance(value, tuple | list) else value


def _on_one_line(match: re.Match[str]) -> str:
    return "[" + ", ".join(line.strip().removesuffix(",") for line in match[1].splitlines()) + "]"
