"""`read_log`: one file in, one flight out, by the reader of its kind, which its first bytes tell."""

import importlib
from collections.abc import Callable
from enum import Enum
from os import PathLike
from pathlib import Path

import numpy as np

from haltere.flight import Flight, FlightError
from haltere.logs.builder import LogError
from haltere.logs.mapping import Mapping, load_mapping


class Kind(Enum):
    """A kind of log; the value is its name for people."""

    MCAP = "MCAP file"
    ULOG = "PX4 ULog"
    BLACKBOX = "Blackbox log"
    USD = "Crazyflie uSD log"
    DATAFLASH = "ArduPilot DataFlash log"
    BAG = "ROS bag"
    CSV = "CSV table"


_MAGIC: tuple[tuple[bytes, Kind], ...] = (
    (b"\x89MCAP0\r\n", Kind.MCAP),
    (b"ULog\x01\x12\x35", Kind.ULOG),
    (b"H Product:Blackbox", Kind.BLACKBOX),
    (b"\xbc\x01\x00", Kind.USD),
    (b"\xbc\x02\x00", Kind.USD),
    (b"\xa3\x95\x80", Kind.DATAFLASH),
    (b"#ROSBAG V2.0", Kind.BAG),
    (b"SQLite format 3\x00", Kind.BAG),
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
KNOWN = "MCAP, ULog, Blackbox, Crazyflie uSD, DataFlash .bin, ROS bag or CSV"
_HEAD = 8192


def sniff(path: Path) -> Kind:
    """Return the kind of log at a path; a `LogError` of one line if it is none that can be read.

    The first bytes tell; the name helps only where bytes cannot.

    | kind | first bytes |
    |---|---|
    | MCAP | 89 "MCAP" 30 0D 0A |
    | ULog of PX4 | "ULog" 01 12 35 |
    | Blackbox of Betaflight, INAV, INDIflight | "H Product:Blackbox" |
    | uSD log of Crazyflie | BC, version 1 or 2 |
    | DataFlash of ArduPilot | A3 95 80: the message that describes messages |
    | ROS 1 bag | "#ROSBAG V2.0" |
    | ROS 2 bag | a folder with metadata.yaml, or one SQLite file |
    | CSV | text whose first line of several has commas, semicolons or tabs |
    """
    if path.is_dir():
        if (path / "metadata.yaml").is_file():
            return Kind.BAG
        raise LogError(f"{path}: is a folder without metadata.yaml, so no ROS 2 bag; give a log file in it")
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError as error:
        raise LogError(f"{path}: cannot be read ({error.strerror}); check the name") from None
    if not head:
        raise LogError(f"{path}: is empty; copy it again from the vehicle, or record the flight again")
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    for magic, said in _REFUSED:
        if head.startswith(magic):
            raise LogError(f"{path}: {said}")
    if is_table(head):
        return Kind.CSV
    if any(magic.startswith(head) for magic, _ in _MAGIC):
        raise LogError(f"{path}: was cut off within its first bytes; copy it again from the vehicle")
    raise LogError(f"{path}: is no log that is known here; give {KNOWN}{_maybe_encrypted(head)}")


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


#: Module and function of each kind; imported only when such a file is read, because their parsers are heavy.
READERS: dict[Kind, tuple[str, str]] = {
    Kind.ULOG: ("ulog", "read_ulog"),
    Kind.BLACKBOX: ("blackbox", "read_blackbox"),
    Kind.USD: ("crazyflie", "read_usd"),
    Kind.DATAFLASH: ("dataflash", "read_dataflash"),
}
MAPPED: dict[Kind, tuple[str, str]] = {
    Kind.MCAP: ("rosbag", "read_mcap_log"),
    Kind.BAG: ("rosbag", "read_bag"),
    Kind.CSV: ("table", "read_table"),
}
_EXTRAS = {"orangebox": "pip install 'haltere[blackbox]'"}


def read_log(path: str | PathLike[str], mapping: Mapping | str | PathLike[str] | None = None) -> Flight:
    """Return the flight in a log file, whatever its format; a `LogError` of one line if it cannot be read.

    Args:
        path: MCAP, PX4 ULog, Blackbox, Crazyflie uSD, ArduPilot .bin, ROS bag (file or folder) or CSV.
        mapping: For CSV and ROS bags: which columns or topics are which channels; a `Mapping` or its TOML file.
    """
    file = Path(path)
    kind = sniff(file)
    chosen = mapping if mapping is None or isinstance(mapping, Mapping) else load_mapping(mapping)
    if chosen is not None and kind not in MAPPED:
        raise LogError(f"{file}: is a {kind.value}, which needs no mapping; leave it out")
    read = _function(file, *(MAPPED.get(kind) or READERS[kind]))
    try:
        with np.errstate(all="ignore"):  # a damaged log may hold any numbers
            return read(file, chosen) if kind in MAPPED else read(file)
    except LogError:
        raise
    except FlightError as error:  # a channel that cannot be, whose file it does not know
        raise LogError(f"{file}: {error}") from None


def _function(file: Path, module: str, name: str) -> Callable[..., Flight]:
    try:
        found: Callable[..., Flight] = getattr(importlib.import_module(f"haltere.logs.{module}"), name)
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        remedy = _EXTRAS.get(package, f"pip install {package}")
        raise LogError(f"{file}: reading it needs the package '{package}'; {remedy}") from None
    return found
