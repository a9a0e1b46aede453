"""`read`: one file in, one flight out. The first bytes of the file decide which reader takes it."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from haltere.flight import Flight, FlightError
from haltere.logs.builder import LogError

if TYPE_CHECKING:
    from haltere.logs.mapping import Mapping


@dataclass(frozen=True)
class LogFormat:
    """A format of logs: how it is recognised and which function reads it."""

    name: str
    """For people, as in "is a PX4 ULog"."""
    magic: tuple[bytes, ...]
    """What its files begin with, any of these; empty for text, which is recognised by its columns."""
    reader: str
    """"module:function"; imported when such a file is read, because the parsers are heavy."""
    takes_mapping: bool = False
    """Whether the reader has a second argument, the `Mapping` of columns or topics to channels."""


ROS_BAG = LogFormat(
    "ROS bag",
    (b"#ROSBAG V2.0", b"SQLite format 3\x00"),
    "haltere.logs.readers.rosbag:read_bag",
    takes_mapping=True,
)
CSV = LogFormat("CSV table", (), "haltere.logs.readers.csv:read_table", takes_mapping=True)

#: Every format that can be read. To add one: write its reader and add a line here.
FORMATS: tuple[LogFormat, ...] = (
    LogFormat(
        "MCAP file",
        (b"\x89MCAP0\r\n",),
        "haltere.logs.readers.rosbag:read_mcap_log",
        takes_mapping=True,
    ),
    LogFormat("PX4 ULog", (b"ULog\x01\x12\x35",), "haltere.logs.readers.ulog:read_ulog"),
    LogFormat("Blackbox log", (b"H Product:Blackbox",), "haltere.logs.readers.blackbox:read_blackbox"),
    LogFormat(
        "Crazyflie uSD log", (b"\xbc\x01\x00", b"\xbc\x02\x00"), "haltere.logs.readers.crazyflie:read_usd"
    ),
    LogFormat("ArduPilot DataFlash log", (b"\xa3\x95\x80",), "haltere.logs.readers.dataflash:read_dataflash"),
    ROS_BAG,
    CSV,
)

_REFUSED: tuple[tuple[bytes, str], ...] = (
    (
        b"ULogEnc",
        "is an encrypted PX4 log; decrypt it with the key of the vehicle first (SDLOG_CRYPTO settings)",
    ),
    (b"Salted__", "is encrypted (OpenSSL); decrypt it first"),
    (b"-----BEGIN PGP", "is encrypted (PGP); decrypt it first"),
    (b"PK\x03\x04", "is a ZIP archive; unpack it and give the log in it"),
    (b"\x1f\x8b", "is compressed with gzip; unpack it and give the log in it"),
    (b"\xfd7zXZ\x00", "is compressed with xz; unpack it and give the log in it"),
    (b"7z\xbc\xaf", "is a 7z archive; unpack it and give the log in it"),
    (b"BZh", "is compressed with bzip2; unpack it and give the log in it"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd; unpack it and give the log in it"),
    (b"%PDF", "is a PDF document; give a log"),
    (b"\x89PNG", "is a picture; give a log"),
    (b"<", "is a web page or XML; give the log itself (a download may have failed)"),
)
_HEAD = 8192


def sniff(path: Path) -> LogFormat:
    """Return the format of the log at a path; a `LogError` of one line if it is none that can be read.

    The first bytes of the file decide, not its name (`FORMATS`). A folder with metadata.yaml is a ROS 2 bag, and text
    whose first line has commas, semicolons or tabs is a CSV table.
    """
    if path.is_dir():
        if (path / "metadata.yaml").is_file():
            return ROS_BAG
        raise LogError(f"{path}: is a folder without metadata.yaml, so no ROS 2 bag; give a log file in it")
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError as error:
        raise LogError(f"{path}: cannot be read ({error.strerror}); check the name") from None
    if not head:
        raise LogError(f"{path}: is empty; copy it again from the vehicle, or record the flight again")
    for log_format in FORMATS:
        if log_format.magic and head.startswith(log_format.magic):
            return log_format
    for magic, said in _REFUSED:
        if head.startswith(magic):
            raise LogError(f"{path}: {said}")
    if is_table(head):
        return CSV
    if any(magic.startswith(head) for log_format in FORMATS for magic in log_format.magic):
        raise LogError(f"{path}: was cut off within its first bytes; copy it again from the vehicle")
    raise LogError(f"{path}: is no log that is known here; give {known_formats()}{_maybe_encrypted(head)}")


def known_formats() -> str:
    """Return the names of all formats in one line."""
    *names, last = (log_format.name for log_format in FORMATS)
    return f"{', '.join(names)} or {last}"


def is_table(head: bytes) -> bool:
    """Whether the first bytes of a file are text whose first lines are cut into columns."""
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:
            return False
        text = head[: error.start].decode("utf-8-sig")
    if any(ord(letter) < 32 and letter not in "\t\r\n" for letter in text):
        return False
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return len(lines) >= 1 and any(mark in lines[0] for mark in ",;\t")


def _maybe_encrypted(head: bytes) -> str:
    """Return a guess for bytes that all occur about equally often, as encryption and compression make them."""
    if len(head) < 1024:
        return ""
    most = max(head.count(bytes([value])) for value in range(256))
    return " (its bytes look encrypted or compressed: decrypt it first)" if most < 4 * len(head) / 256 else ""


def read(path: str | PathLike[str], *, mapping: "Mapping | str | PathLike[str] | None" = None) -> Flight:
    """Read a log file of any supported format.

    Args:
        path: MCAP, PX4 ULog, Blackbox, Crazyflie uSD, ArduPilot .bin, ROS bag (file or folder) or CSV.
        mapping: For CSV and ROS bags: which column or topic holds which channel, as a `Mapping` or its TOML file.

    Raises:
        LogError: the file cannot be read; the message is one line.
    """
    file = Path(path)
    log_format = sniff(file)
    chosen = mapping
    if isinstance(mapping, str | PathLike):
        from haltere.logs.mapping import load_mapping  # noqa: PLC0415 - most logs need no mapping

        chosen = load_mapping(mapping)
    if chosen is not None and not log_format.takes_mapping:
        raise LogError(f"{file}: is a {log_format.name}, which needs no mapping; leave it out")
    reader = _reader(file, log_format)
    try:
        with np.errstate(all="ignore"):  # a damaged log may hold any numbers
            flight = reader(file, chosen) if log_format.takes_mapping else reader(file)
    except LogError:
        raise
    except FlightError as error:  # a channel that cannot be, whose file it does not know
        raise LogError(f"{file}: {error}") from None
    return replace(flight, source=file.name)


def _reader(file: Path, log_format: LogFormat) -> Callable[..., Flight]:
    module, _, function = log_format.reader.partition(":")
    try:
        reader: Callable[..., Flight] = getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if package == "haltere":
            raise
        raise LogError(f"{file}: reading it needs the package '{package}'; pip install {package}") from None
    return reader
